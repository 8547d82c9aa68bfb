"""MEMORY.md: the index of the folder, between two comments; what stands around them is its writer's.

Topic files of other programs stand in it too, unless the text around it names them already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date

from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.document import Edit
from autocompact.memory.documents.others import description_of, linked_in, text_of
from autocompact.memory.documents.outline import Section
from autocompact.memory.documents.pages import (
    DECISIONS,
    DONE,
    MEMORY,
    OBSERVATION_ARCHIVE,
    OBSERVATIONS,
    RULES,
    TASK_ARCHIVE,
    Page,
    Pages,
)
from autocompact.memory.documents.task_table import rows_in
from autocompact.memory.documents.wording import at_end

BEGIN, END = "<!-- autocompact: index, written at each upkeep -->", "<!-- autocompact: end of the index -->"
_HOLDS: Mapping[str, str] = {
    RULES: "what was confirmed often enough to be a rule",
    OBSERVATIONS: "what was noticed, with its confirmations",
    DONE: "the last tasks, in detail",
    DECISIONS: "what was decided, and why",
    TASK_ARCHIVE: "older tasks, a row each, by month",
    OBSERVATION_ARCHIVE: "observations that were not confirmed for long",
    CONTEXT_ARCHIVE: "compactions: summary, figures, where the original is",
}

_NO_TOPICS: Mapping[str, bytes] = {}


def plan_index(pages: Pages, topics: Mapping[str, bytes] = _NO_TOPICS) -> dict[str, bytes]:
    """MEMORY.md with its index as the folder is now; nothing if it says so already, or there is nothing to list.

    A folder of another program, with files of its own names, gets no MEMORY.md; where it has one, its topic files that
    nothing leads to are listed.

    Args:
        pages: the folder.
        topics: names and contents of its files that are not ours.

    Raises:
        InvalidInput: a file is no text.
    """
    page = pages[MEMORY]
    begin, end = _place(page.texts)
    around = page.texts if begin is None else (*page.texts[:begin], *page.texts[end:])
    known = linked_in("\n".join(around))
    rows = [_topic(name, content) for name, content in topics.items() if name not in known]
    lines = tuple(_index(pages, rows))
    if begin is None:
        is_ours = any(name in pages.files for name in _HOLDS)
        if not is_ours and not (rows and MEMORY in pages.files):
            return {}
        edit = at_end(page.document, page.outline, lines=lines)
    else:
        edit = Edit(start=begin, end=end, lines=lines)
    same = begin is not None and page.texts[begin:end] == lines
    return {} if same else {MEMORY: page.edited([edit])}


def _place(texts: tuple[str, ...]) -> tuple[int | None, int]:
    if BEGIN in texts:
        begin = texts.index(BEGIN)
        if END in texts[begin:]:
            return begin, texts.index(END, begin) + 1
    return None, 0


def _index(pages: Pages, topics: Iterable[str]) -> Iterator[str]:
    yield from (BEGIN, "", "| file | holds | entries | newest |", "|---|---|---|---|")
    for name, holds in _HOLDS.items():
        if name in pages.files:
            entries, newest = _count(pages[name])
            yield f"| [{name}]({name}) | {holds} | {entries} | {newest or ''} |"
    yield from (*topics, "", END)


def _topic(name: str, content: bytes) -> str:
    """The row of another program's file: what it says that it holds, its items, the newest date of an entry."""
    text = text_of(content, name=name)
    page = Page(text.encode(), name=name)
    newest = max((note.last for note in page.notes if note.last), default=None)
    target = name.replace("|", "%7C")
    target = f"<{target}>" if " " in name or "(" in name else target
    shown = name.replace("|", "\\|")
    return f"| [{shown}]({target}) | {description_of(text)} | {_leaves(page.outline.root)} | {newest or ''} |"


def _count(page: Page) -> tuple[int, date | None]:
    """Count the entries of a file, with the date of the newest where that is known."""
    if page.name == TASK_ARCHIVE:
        rows = rows_in(page.texts)
        return len(rows), max((row.date for row in rows if row.date), default=None)
    if page.notes or page.name not in (DECISIONS, CONTEXT_ARCHIVE):
        return len(page.notes), max((note.last for note in page.notes if note.last), default=None)
    return _leaves(page.outline.root), None


def _leaves(section: Section) -> int:
    """List items, and headings with nothing but text under them."""
    inner = sum(_leaves(each) for each in section.sections)
    return inner + len(section.items) if inner or section.items else int(section.level > 1)
