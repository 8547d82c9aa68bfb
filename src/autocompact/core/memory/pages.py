"""The files of a memory folder, by name, and one of them as it is worked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from autocompact.core.memory.context_archive import CONTEXT_ARCHIVE
from autocompact.core.memory.document import Document, Edit, read_document
from autocompact.core.memory.notes import OF_OBSERVATIONS, OF_RULES, Dialect, Note, notes_in
from autocompact.core.memory.outline import Outline, outline

MEMORY, RULES = "MEMORY.md", "ACTIVE_RULES.md"
OBSERVATIONS, OBSERVATION_ARCHIVE = "OBSERVATIONS.md", "OBSERVATION_ARCHIVE.md"
DONE, TASK_ARCHIVE = "DONE.md", "TASK_ARCHIVE.md"
DECISIONS = "DECISIONS.md"
NAMES = (
    MEMORY,
    RULES,
    OBSERVATIONS,
    OBSERVATION_ARCHIVE,
    DONE,
    TASK_ARCHIVE,
    DECISIONS,
    CONTEXT_ARCHIVE,
)
HEADINGS: Mapping[str, tuple[str, ...]] = {
    MEMORY: ("# Memory",),
    RULES: ("# Active rules",),
    OBSERVATIONS: ("# Observations",),
    OBSERVATION_ARCHIVE: ("# Observation archive",),
    DONE: ("# Done",),
    TASK_ARCHIVE: ("# Task archive",),
}
"""How a file of ours begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A file of the folder: its lines, its outline, its notes."""

    name: str
    document: Document
    outline: Outline
    notes: tuple[Note, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Its lines."""
        return self.document.texts

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after ``edits``; a file that was empty gets its heading first."""
        if edits and not any(text.strip() for text in self.texts):
            edits = [Edit(start=0, end=0, lines=(*HEADINGS[self.name], "")), *edits]
        return self.document.edited(edits)


def open_page(files: Mapping[str, bytes], name: str, *, dialect: Dialect | None = None) -> Page:
    """The file ``name``, as if empty where there is none.

    Args:
        files: the folder, by name.
        name: one of `NAMES`.
        dialect: what its notes look like; by default as in the files of that name.

    Raises:
        InvalidInput: it is no text.
    """
    return _opened(
        name, files.get(name, b""), dialect=dialect or (OF_RULES if name == RULES else OF_OBSERVATIONS)
    )


@lru_cache(maxsize=8)
def _opened(name: str, content: bytes, *, dialect: Dialect) -> Page:
    """The layers and the index look at the same files one after the other."""
    document = read_document(content, name=name)
    found = outline(document.texts)
    read = notes_in(document.texts, found.root, dialect=dialect)
    return Page(name=name, document=document, outline=found, notes=tuple(read))
