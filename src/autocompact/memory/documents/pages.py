"""The files of a memory folder, by name, and one of them as it is worked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.dialects import OF_ARCHIVE, OF_OBSERVATIONS, OF_RULES, OF_TASKS, Dialect
from autocompact.memory.documents.document import Edit, read_document
from autocompact.memory.documents.notes import Note, notes_in
from autocompact.memory.documents.outline import Outline, outline

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


_DIALECTS: Mapping[str, Dialect] = {RULES: OF_RULES, DONE: OF_TASKS, OBSERVATION_ARCHIVE: OF_ARCHIVE}


class Page:
    """A file of the folder: its lines, its outline, its notes, each found when it is first asked for.

    Args:
        content: all of it.
        name: one of `NAMES`.

    Raises:
        InvalidInput: it is no text.
    """

    def __init__(self, content: bytes, *, name: str) -> None:
        self.name = name
        self.document = read_document(content, name=name)

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts of its lines."""
        return self.document.texts

    @cached_property
    def outline(self) -> Outline:
        """Outline of its headings and list items."""
        return outline(self.texts)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """Notes on the page: observations, rules or tasks."""
        dialect = _DIALECTS.get(self.name, OF_OBSERVATIONS)
        return tuple(notes_in(self.texts, self.outline.root, dialect=dialect))

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file after ``edits``; a file that was empty gets its heading first."""
        if edits and not any(text.strip() for text in self.texts):
            edits = [Edit(start=0, end=0, lines=(*HEADINGS[self.name], "")), *edits]
        return self.document.edited(edits)


class Pages:
    """The files of a folder by name; one that is missing is as if empty.

    The layers and the index look at the same files one after the other: each is read once.

    Args:
        files: their contents.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self._read: dict[str, Page] = {}

    def __getitem__(self, name: str) -> Page:
        """The file ``name``.

        Raises:
            InvalidInput: it is no text.
        """
        if name not in self._read:
            self._read[name] = Page(self.files.get(name, b""), name=name)
        return self._read[name]

    def changed(self, after: Mapping[str, bytes]) -> Pages:
        """The folder with other contents; files that are not in ``after`` are not read again."""
        pages = Pages({**self.files, **after})
        pages._read = {name: page for name, page in self._read.items() if name not in after}
        return pages
