"""Entries of CONTEXT_ARCHIVE.md as a search shows them: the words of the summary, with references that name their conversation."""

from __future__ import annotations

import re

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.archive_entries import NO_TASKS, Archived, entries_in
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE

_REFERENCE = LazyPattern(r"(?<![\w:./#\\])(?<!\d )m([1-9]\d{0,17})(?![\w/\\])(?!\.\w)")
"""A reference as summaries and ledgers write it; "120 m2" and "m1.large" are none."""
_QUOTED = LazyPattern(r"> ?")
_EMPTY = ("tasks:", "summary:", f"- {NO_TASKS}")
_BLANKS = LazyPattern(r"\n{3,}")


def archived_in(name: str, section: str) -> Archived | None:
    """The entry that a section of the memory file ``name`` is; None if it is none."""
    found = entries_in(section.split("\n")) if name == CONTEXT_ARCHIVE else []
    return found[0] if found and found[0].start == 0 else None


def words_of(entry: Archived, section: str) -> str:
    """Text of an entry on its conversation: tasks and summary, without figures and marks."""
    lines = section.split("\n")[entry.facts_end : entry.end]
    shown = (_QUOTED.sub("", line, count=1) for line in lines if line.strip().lower() not in _EMPTY)
    return _BLANKS.sub("\n\n", "\n".join(shown)).strip("\n")


def full_references(entry: Archived, text: str) -> str:
    """``text`` with references such as ``m12`` as ``NAME:m12``: read elsewhere, they would name other messages."""

    def full(match: re.Match[str]) -> str:
        is_there = entry.through_seq is None or int(match[1]) <= entry.through_seq
        return f"{entry.conversation}:{match[0]}" if is_there else match[0]

    return _REFERENCE.sub(full, text)
