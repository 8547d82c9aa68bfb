"""Takes notes out of a file, and the headings that nothing is left under."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from autocompact.memory.documents.document import Edit
from autocompact.memory.documents.notes import Note, date_of_group
from autocompact.memory.documents.outline import Section
from autocompact.memory.documents.pages import Page


def removing(page: Page, notes: Iterable[Note]) -> list[Edit]:
    """The edits that take ``notes`` out, with the blank lines after each where others stand before it.

    A heading that is only a date, and an item that is a group, goes with the last of the notes under it: it says nothing
    any more.
    """
    blocks = [range(note.start, note.end) for note in notes]
    if not blocks:
        return []
    gone = set(chain.from_iterable(blocks))
    emptied = _emptied(page.texts, page.outline.root, gone=gone)
    gone.update(*emptied)
    edits: list[Edit] = []
    before = -1
    for block in sorted((*blocks, *emptied), key=lambda each: each.start):
        # Where blocks touch, the line that stays before the first is that of all of them.
        before = before if block.start - 1 in gone else block.start - 1
        is_apart = before >= 0 and page.texts[before].strip() != ""
        end = block.stop if is_apart else _without_blanks(page.texts, block.stop)
        edits.append(Edit(start=block.start, end=end))
    return edits


def _emptied(texts: Sequence[str], section: Section, *, gone: set[int]) -> list[range]:
    """The first lines of groups in which something was and nothing is left."""
    if section.level and section.start in gone:
        return []
    found = [each for inner in section.sections for each in _emptied(texts, inner, gone=gone)]
    for item in section.items:
        if item.start not in gone and _is_gone(texts, item[1:], gone=gone):
            found.append(item[:1])
    if section.level and date_of_group(section.title):
        left = gone.union(*found)
        if _is_gone(texts, range(section.body, section.end), gone=left):
            found.append(range(section.start, section.body))
    return found


def _is_gone(texts: Sequence[str], lines: range, *, gone: set[int]) -> bool:
    return not gone.isdisjoint(lines) and all(line in gone or not texts[line].strip() for line in lines)


def _without_blanks(texts: Sequence[str], start: int) -> int:
    """The first line from ``start`` on that is not blank."""
    return next((line for line in range(start, len(texts)) if texts[line].strip()), len(texts))
