"""ACTIVE_RULES.md: numbered rules, each with its reason and its dates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.dialects import NAMES, OF_RULES
from autocompact.memory.documents.document import Edit
from autocompact.memory.documents.meaning import Difference
from autocompact.memory.documents.notes import BARE_RULE, Note
from autocompact.memory.documents.pages import Page
from autocompact.memory.documents.tables import Table, table_of
from autocompact.memory.documents.wording import across, at_end, listed, quoted

_NUMBERED = LazyPattern(r"(#{1,6}\s+(?:[^\W\d]+\s*)?[#№-]?\s*)\d{1,6}(\s*[:.)–—-]+\s+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule by its number (None where somebody gave it none) and its words."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two rules or observations (these have no number) that are nearly the same.

    Attributes:
        first: the earlier one.
        second: the later one.
        differ: in a negation or a figure, as far as that shows.
    """

    first: Rule
    second: Rule
    differ: Difference = ""


def next_number(page: Page) -> int:
    """The number for a new rule: one more than the highest."""
    return max((note.number or 0 for note in page.notes), default=0) + 1


def adding(page: Page, notes: Sequence[Note], *, today: date) -> list[Edit]:
    """The edits that add ``notes`` as rules, in the form that the last rule of the file has."""
    if not notes:
        return []
    last = page.notes[-1] if page.notes else None
    first = next_number(page)
    if last is not None and last.form == "item" and last.number is not None:
        bullet = last.mark[: len(last.mark) - len(last.mark.lstrip())], last.mark[-1]
        lines = [
            line
            for n, note in enumerate(notes, first)
            for line in _as_item(note, n, bullet=bullet, today=today)
        ]
        return [Edit(start=last.end, end=last.end, lines=tuple(lines))]
    table = (
        table_of(page.texts, last.start, dialect=OF_RULES)
        if last is not None and last.form == "row"
        else None
    )
    if last is not None and table is not None:
        rows = [_as_row(note, n, table=table, today=today) for n, note in enumerate(notes, first)]
        return [Edit(start=last.end, end=last.end, lines=tuple(rows))]
    is_bare = last is not None and last.form == "heading" and BARE_RULE.match(page.texts[last.start])
    lead, end = (is_bare[1], "") if is_bare else _form(page, last)
    lines = [
        line
        for n, note in enumerate(notes, first)
        for line in (
            "",
            *([f"{lead}{n}", ""] if is_bare else []),
            *_as_heading(note, lead="" if is_bare else f"{lead}{n}{end}", today=today),
        )
    ]
    return [at_end(page.document, page.outline, lines=lines[1:])]


def _form(page: Page, last: Note | None) -> tuple[str, str]:
    """Text before and after the number in the heading of the last rule."""
    if last is None or last.form != "heading":
        return "## Rule ", ": "
    line = page.texts[last.start]
    match = _NUMBERED.match(line)
    return (match[1], match[2]) if match else (f"{last.mark} Rule ", ": ")


def _as_heading(note: Note, *, lead: str, today: date) -> Iterator[str]:
    yield f"{lead}{note.text}"
    yield ""
    yield from (f"- {each}" for each in _fields(note, today=today))
    if note.rest:
        yield ""
        yield from quoted(note.rest)


def _as_row(note: Note, number: int, *, table: Table, today: date) -> str:
    """The rule as a row; a field without a column stands behind a break, and the number before the words."""
    told = {
        "text": note.text if "number" in table.columns else f"{number}. {note.text}",
        "number": str(number),
    }
    others: list[str] = []
    for field in _fields(note, today=today):
        name, _, value = field.partition(": ")
        column = NAMES.get(name.lower(), name.lower())
        if column in table.columns and column not in told:
            told[column] = value
        else:
            others.append(field)
    return table.row(told, [*others, *(line.lstrip("> ") for line in quoted(note.rest))])


def _as_item(note: Note, number: int, *, bullet: tuple[str, str], today: date) -> Iterator[str]:
    mark = f"{bullet[0]}{number}{bullet[1]}"
    indent = " " * (len(mark) + 1)
    yield f"{mark} {note.text}"
    yield from (f"{indent}- {each}" for each in _fields(note, today=today))
    yield from (f"{indent}{line}" for line in quoted(note.rest))


def _fields(note: Note, *, today: date) -> Iterator[str]:
    since = f" since {note.date}" if note.date else ""
    is_known = bool(note.seen) or len(note.confirmed) >= note.confirmations
    days = (*note.confirmed, *note.seen) if is_known else ()
    last = f", last on {max(days)}" if days else ""
    yield f"Why: {note.why or f'it was confirmed {note.confirmations} times{since}{last}'}"
    if note.date:
        yield f"Observed: {note.date}"
    told = ": ".join(filter(None, (across(note.sessions) if note.sessions else "", listed(note.confirmed))))
    yield f"Confirmations: {note.confirmations}{f' ({told})' if told else ''}"
    if note.seen:
        yield f"Last seen: {listed(note.seen)}"
    yield f"Rule since: {today}"
    yield from (f"Also noted: {text}" for text in note.also)
