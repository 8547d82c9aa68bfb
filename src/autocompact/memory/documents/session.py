"""Tasks of sessions: found in a summary, and noted in DONE.md when they have come to an end.

An entry of CONTEXT_ARCHIVE.md says when its tasks were noted. What an earlier entry of the same session has noted is
not noted again, however often that session is compacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.archive_entries import Archived, ArchivedTask, entries_in
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.document import Edit
from autocompact.memory.documents.meaning import key_of
from autocompact.memory.documents.pages import DONE, Page, Pages
from autocompact.memory.documents.wording import at_end, block_at, one_line

LONGEST = 200
"""Characters of a task, and of its outcome."""

_Same: TypeAlias = tuple[str, str]

_TITLE = LazyPattern(r"#{1,6}[ \t]+(.+?)[ \t]*#*\s*\Z|\*\*(.+?):?\*\*:?\s*\Z")
_ITEM = LazyPattern(r"\s{0,3}(?:[-*+]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(.+)")
_ENDS = r"partly done|partially done|done|completed?|finished|fixed|merged|shipped|released|failed|abandoned|aborted|cancell?ed"
_OPEN = r"open|unknown|blocked|pending|in progress|not started|reverted|superseded|withdrawn"
_OUTCOME = LazyPattern(
    rf"(.+?)\s*(?:[,;:|(\[]|[—–→]|->|\s-)\s*((?:outcome:\s*)?(?:{_ENDS}|{_OPEN})\b.*)", re.IGNORECASE
)
_MARKS = LazyPattern(r"\*\*|__|`")
_BRACKETS = str.maketrans({"(": "", ")": "", "[": "", "]": ""})
_PARTS = (
    ("Tests", re.compile(r"((?:\d+ (?:tests? )?(?:passed|failed|passing|failing)(?:, )?)+)"), r"\1"),
    ("Files", re.compile(r"(\d+) files?: (.+)"), r"\1 (\2)"),
    ("Commits", re.compile(r"commit ([0-9a-f]{7,40}(?:, [0-9a-f]{7,40})*)"), r"\1"),
    ("Duration", re.compile(r"(\d+ h \d+ min|\d+ min|\d+ s)"), r"\1"),
    ("Tokens", re.compile(r"(\d[\d.]*K?) tokens"), r"\1"),
)
"""Parts of an outcome as `autocompact.memory.documents.reached` writes them, the field that each becomes, and its value."""
_ID = LazyPattern(r"(?:[A-Z][A-Z0-9]{0,9}-|#)\d+\b(?!-)")


def tasks_in_summary(summary: str) -> tuple[ArchivedTask, ...]:
    """The tasks under the heading "Tasks" of a summary, each with its outcome as far as it has one."""
    return tuple(_tasks(summary.splitlines()))


def _tasks(lines: Sequence[str]) -> Iterator[ArchivedTask]:
    is_under = False
    for line in lines:
        if title := _TITLE.match(line):
            is_under = (title[1] or title[2]).strip(" *:").lower() == "tasks"
        elif is_under and (item := _ITEM.match(line)):
            task = _task(item[2], checked=item[1])
            if task.text.lower().strip(" .") not in ("", "none"):
                yield task


def _task(text: str, *, checked: str | None) -> ArchivedTask:
    plain = one_line(_MARKS.sub("", text))
    if told := _OUTCOME.match(plain):
        outcome = re.sub(r"outcome:\s*", "", told[2], flags=re.IGNORECASE).translate(_BRACKETS)
        return ArchivedTask(text=_short(told[1]), outcome=_short(outcome))
    return ArchivedTask(
        text=_short(plain), outcome={"x": "done", " ": "open"}.get((checked or "").lower(), "")
    )


def _short(text: str) -> str:
    text = text.strip(" .,;:")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def plan_noting(pages: Pages, *, today: date) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Note the tasks of sessions that have ended, once each.

    Args:
        pages: the folder.
        today: the day of the run, for entries without a date.

    Returns:
        The files that are other than before, and the tasks that were noted.

    Raises:
        InvalidInput: one of the files is no text.
    """
    archive = pages[CONTEXT_ARCHIVE]
    known: set[_Same] = set()
    new: list[tuple[ArchivedTask, Archived]] = []
    marks: list[Edit] = []
    for entry in entries_in(archive.texts):
        if entry.is_example:
            continue
        for task in filter(lambda each: each.is_ended, entry.tasks):
            same = _same(task, entry)
            if not entry.noted and same not in known:
                new.append((task, entry))
            known.add(same)
        if not entry.noted and entry.conversation:
            line = f"- Tasks noted: {today.isoformat()}"
            marks.append(Edit(start=entry.facts_end, end=entry.facts_end, lines=(line,)))
    if not marks:
        return {}, ()
    changed = {CONTEXT_ARCHIVE: archive.edited(marks)}
    new = [(task, entry) for task, entry in new if entry.conversation]
    if new:
        page = pages[DONE]
        changed[DONE] = page.edited([_adding(page, new, today=today)])
    return changed, tuple(task.text for task, _ in new)


def _same(task: ArchivedTask, entry: Archived) -> _Same:
    """Key that makes two tasks of a session one: the id that a task begins with, or its text."""
    found = _ID.match(task.text)
    return entry.conversation, found[0] if found else key_of(task.text)


def _adding(page: Page, new: Sequence[tuple[ArchivedTask, Archived]], *, today: date) -> Edit:
    """The edit that adds tasks in the form and order that the file has."""
    notes = page.notes
    is_heading = bool(notes) and notes[-1].form == "heading"
    level = len(notes[-1].mark) if is_heading else 2
    blocks = [
        _as_heading(task, entry, level=level, today=today)
        if is_heading
        else _as_item(task, entry, today=today)
        for task, entry in new
    ]
    first, last = (notes[0].date, notes[-1].date) if notes else (None, None)
    if first and last and first > last:
        lines = [line for block in reversed(blocks) for line in (*block, *([""] if is_heading else []))]
        return Edit(start=notes[0].start, end=notes[0].start, lines=tuple(lines))
    if notes and notes[-1].form == "row":
        return block_at(page.document, notes[-1].end, lines=[line for block in blocks for line in block])
    if notes and not is_heading:
        return Edit(
            start=notes[-1].end, end=notes[-1].end, lines=tuple(line for block in blocks for line in block)
        )
    lines = [line for block in blocks for line in (*([""] if is_heading else []), *block)]
    return at_end(page.document, page.outline, lines=lines[is_heading:])


def _day(entry: Archived, today: date) -> str:
    return entry.day or today.isoformat()


def _as_item(task: ArchivedTask, entry: Archived, *, today: date) -> tuple[str, ...]:
    return (
        f"- {_day(entry, today)}: {_short(task.text)}",
        *(f"  - {field}" for field in _fields(task)),
        f"  - Session: {entry.conversation}",
    )


def _as_heading(task: ArchivedTask, entry: Archived, *, level: int, today: date) -> tuple[str, ...]:
    return (
        f"{'#' * level} {_short(task.text)}",
        "",
        f"- Date: {_day(entry, today)}",
        *(f"- {field}" for field in _fields(task)),
        f"- Session: {entry.conversation}",
    )


def _fields(task: ArchivedTask) -> Iterator[str]:
    """What is known of how a task ended: the parts of its outcome that have a name of their own, each by that name."""
    told: list[str] = []
    named: dict[str, str] = {}
    for part in task.outcome.split("; "):
        name, value = _named(part)
        if name and name not in named:
            named[name] = value
        else:
            told.append(part)
    yield f"Outcome: {'; '.join(told)}"
    yield from (f"{name}: {value}" for name, value in named.items())


def _named(part: str) -> tuple[str, str]:
    """The field that a part of an outcome is, and its value; two times "" for what has no name of its own."""
    for name, pattern, template in _PARTS:
        if match := pattern.fullmatch(part):
            return name, match.expand(template)
    return "", ""
