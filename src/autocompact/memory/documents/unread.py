"""Finds what looks like an entry but is not read as one: tables, paragraphs; in an entry, ambiguous figures and dates.

It stays where it is, whatever runs; its writer may not know why, so a run names the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.dates import ambiguous_dates
from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.outline import Section
from autocompact.memory.documents.pages import Page
from autocompact.memory.documents.reading import begins_with_date, counts_confirmations
from autocompact.memory.documents.task_table import RULER

Kind: TypeAlias = Literal["table", "paragraph", "figure", "date"]

_FENCE = LazyPattern(r"\s*(```|~~~)")
_NO_TEXT = LazyPattern(r"\s*(?:>|<|\Z)| {4}|\t")
_NUMBERED = LazyPattern(r"(?:\*\*)?(?:\[[ xX]\]\s|rule\s*\d|(?:[A-Z][A-Z0-9]{0,9}-|#)\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something that was not read: its file, first line (from 1) and kind, and the words of a figure or a date."""

    file: str
    line: int
    kind: Kind
    text: str = ""


def unread_in(page: Page) -> list[Unread]:
    """The places in a file of observations, rules or tasks, in order."""
    doubtful = [_doubtful(page, note, text=text) for note in page.notes for text in note.unread]
    known = bytearray(len(page.texts) + 1)
    _mark(known, page.outline.root)
    for note in page.notes:
        known[note.start : note.end] = b"\1" * (note.end - note.start)
        above = note.start - 1
        # the head of the table that a row stands in
        while note.form == "row" and above >= 0 and page.texts[above].startswith("|") and not known[above]:
            known[above] = 1
            above -= 1
    found: list[Unread] = []
    for block in _blocks(page.texts, known):
        lines = [page.texts[line] for line in block]
        if len(lines) > 2 and any("|" in line and RULER.fullmatch(line) for line in lines[1:]):
            found.append(Unread(file=page.name, line=block.start + 1, kind="table"))
        elif begins_with_date(lines[0]) or counts_confirmations(lines[0]) or _NUMBERED.match(lines[0]):
            found.append(Unread(file=page.name, line=block.start + 1, kind="paragraph"))
    return sorted([*doubtful, *found], key=lambda each: each.line)


def _doubtful(page: Page, note: Note, *, text: str) -> Unread:
    line = next((at for at in range(note.start, note.end) if text in page.texts[at]), note.start)
    is_date = bool(ambiguous_dates(text))
    return Unread(file=page.name, line=line + 1, kind="date" if is_date else "figure", text=text)


def _mark(known: bytearray, section: Section) -> None:
    """Mark the lines of headings and items."""
    known[section.start : section.body] = b"\1" * (section.body - section.start)
    for item in section.items:
        known[item.start : item.stop] = b"\1" * len(item)
    for inner in section.sections:
        _mark(known, inner)


def _blocks(texts: Sequence[str], known: Sequence[int]) -> Iterator[range]:
    """The paragraphs outside of these lines, fences, quotations, comments and code."""
    start, last, is_fenced, is_comment = -1, -2, False, False
    for line in (line for line, text in enumerate(texts) if text and not known[line]):
        text = texts[line]
        is_fence = _FENCE.match(text) is not None
        is_fenced ^= is_fence
        is_comment = (is_comment or text.lstrip().startswith("<!--")) and "-->" not in text
        if is_fenced or is_fence or is_comment or _NO_TEXT.match(text):
            continue
        if line != last + 1:
            if start >= 0:
                yield range(start, last + 1)
            start = line
        last = line
    if start >= 0:
        yield range(start, last + 1)
