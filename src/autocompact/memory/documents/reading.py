"""Reads the lines of a note: its text, dates, confirmations, reason, other fields, and the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.counts import (
    CONFIRM,
    COUNT,
    FIGURE,
    counted,
    find_behind,
    says_none,
)
from autocompact.memory.documents.dates import DATE, find_dates, read_date, without_dates
from autocompact.memory.documents.dialects import NAMES, Dialect
from autocompact.memory.documents.doubts import TICKS, VARIANT, doubtful_end, doubtful_line
from autocompact.memory.documents.tables import Cell

_SESSION = (
    r"(?:sessions?|sitzung(?:en)?|séances?|sesi[oó]n(?:es)?|sess(?:ion[ei]|ões|ão)|会话|會話|セッション|세션)"
)
_LEAD = LazyPattern(
    rf"[*_(\[]{{0,3}}({DATE})[*_)\]]{{0,3}}\s*(?:[:–—|-]\s*)?(?:\*\*)?(?:\s+|\Z)", re.IGNORECASE
)
_TAIL = LazyPattern(
    r"\s*(?:[(（]([^()（）]*)[)）]|\[([^\[\]]*)\]|\s[–—-]+\s+([^–—()\[\]]*confirm[^–—()\[\]]*)"
    rf"|((?:[{TICKS}]{VARIANT}?\s?)+))[.*_\s]*\Z",
    re.IGNORECASE,
)
_SESSIONS = LazyPattern(rf"(?:\b(?:across|in|over|über|sur|en)\s+)?(\d{{1,4}})\s*{_SESSION}", re.IGNORECASE)
_FILLER = LazyPattern(
    r"\b(?:confirmed|confirmations?|seen|observed|noted|recorded|added|first|last|again|on|and|since|times|date|am|und|et|le|y|el)\b"
    r"|[\s,;:.&×+，、；：]",
    re.IGNORECASE,
)
_FIELD = LazyPattern(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?([^\W\d_]+(?:[ -][^\W\d_]+){0,3})(?:\*\*|__)?\s*(?::(?:\*\*|__)?(?:\s+|\Z)|：\s*)(.*)"
)
_LONGEST_NAME = 25
_COLON = LazyPattern("[:：]")
_LABEL = LazyPattern(
    r"(?:\*\*|__)?(?:observations?|patterns?|beobachtung|muster|observación|patrón|osservazione|наблюдение|观察|模式|観察)"
    r"(?:\*\*|__)?\s*[:：](?:\*\*|__)?\s*(?=\S)",
    re.IGNORECASE,
)
_OTHER_FIELD = LazyPattern(
    r"\s*(?:\*\*|__)?(?:action|status|category|context|evidence|source|confidence|impact|example)(?:\*\*|__)?\s*:",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»"}
_CELLS = LazyPattern(r"\s*\|(.+)\|\s*")
MARK = LazyPattern(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
NESTED = LazyPattern(r"\s*(?:[-*+]|\d{1,9}[.)])\s+|\s*(?:>|```|~~~)")
_FIRST_DATE = LazyPattern(DATE, re.IGNORECASE)
_FENCE = LazyPattern(r"\s*(?:```|~~~)")
_MOST_DIGITS = 9
_DATES = ("date", "ended", "last")
_OWN = frozenset((*NAMES.values(), "ended"))


@dataclass(slots=True, kw_only=True)
class Place:
    """Position of a note's confirmations, present or to be added. Never changed, as notes are not.

    Attributes:
        line: which line of the document.
        start: first column of what is replaced.
        end: column after it.
        form: in brackets behind the text, in a field, as list items under a field, or nowhere yet.
        lead: what else stands in the brackets, before the figure; the beginning of a list item.
    """

    line: int
    start: int
    end: int
    form: Literal["brackets", "field", "items", "none"]
    lead: str = ""


@dataclass(slots=True)
class Found:
    """The part of a note that was read so far."""

    text: str = ""
    number: int | None = None
    dates: list[date] = field(default_factory=list)
    count: int = 0
    sessions: int = 0
    confirmed: list[date] = field(default_factory=list)
    seen: list[date] = field(default_factory=list)
    why: str = ""
    also: list[str] = field(default_factory=list)
    fields: list[tuple[str, str]] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    place: Place | None = None


def read_head(
    found: Found, texts: Sequence[str], *, lines: Sequence[tuple[int, int]], dialect: Dialect
) -> None:
    """The text, and what stands before and behind it; ``lines`` are (line, first column)."""
    parts = [unclosed(texts[line][column:]) for line, column in lines]
    if match := _LEAD.match(parts[0]):
        found.dates += filter(None, [read_date(match[1])])
        parts[0] = parts[0][match.end() :] if found.dates else parts[0]
    is_labelled = dialect.labelled and _LABEL.match(parts[0]) is not None
    parts[0] = without_label(parts[0]) if is_labelled else parts[0]
    line, column = lines[-1]
    column = len(unclosed(texts[line])) - len(parts[-1])
    while match := _tail(parts[-1]):
        if not _read_tail(found, match, line=line, column=column):
            break
        parts[-1] = parts[-1][: match.start()]
    if dialect.labelled and found.place is None and (doubtful := doubtful_end(" ".join(parts))):
        found.unread.append(doubtful)
    found.text = " ".join(" ".join(parts).split())
    if is_labelled and _QUOTES.get(found.text[:1]) == found.text[-1:] != found.text:
        found.text = found.text[1:-1]


def _tail(text: str) -> re.Match[str] | None:
    """Brackets, marks or confirmations at the end, as the last group of a match."""
    return (_TAIL.search(text) if _may_end(text) else None) or find_behind(text)


def _may_end(text: str) -> bool:
    """True if it is worth looking for brackets or confirmations at the end: a search takes longer."""
    return text.rstrip(" .*_")[-1:] in (*")]）", *TICKS, VARIANT) or "onfirm" in text or "ONFIRM" in text


def without_label(text: str) -> str:
    """``text`` without "Observation:" or "Pattern:" in front."""
    while match := _LABEL.match(text):
        text = text[match.end() :]
    return text


def is_labelled(line: str) -> bool:
    """True if a line begins with "Observation:" or "Pattern:" and says more."""
    return _LABEL.match(line) is not None


def begins_field(line: str, dialect: Dialect) -> bool:
    """True if a line in or below a note is a field, or the cells of one that was archived."""
    return (
        field_of(line, dialect) is not None
        or line.lstrip().startswith("|")
        or (dialect.labelled and _OTHER_FIELD.match(line) is not None)
    )


def begins_with_date(line: str) -> bool:
    """True if a date stands in front, as a note has it."""
    return _LEAD.match(line.lstrip()) is not None


def counts_confirmations(line: str) -> bool:
    """True if a line says how often something was confirmed."""
    return COUNT.search(line) is not None


def unclosed(line: str) -> str:
    """``line`` without the hashes that may close a heading, and without what is blank at its end."""
    line = line.rstrip()
    bare = line.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() else line


def _read_tail(found: Found, match: re.Match[str], *, line: int, column: int) -> bool:
    """Take what the brackets at the end say; False if they belong to the text.

    Several dates are the one of the note, if nothing else says that, and those of its confirmations.
    """
    inside = match[match.lastindex or 0]
    if ticks := sum(map(inside.count, TICKS)):
        return _read_ticks(found, match, line=line, column=column, ticks=ticks)
    sessions = _SESSIONS.search(inside)
    if sessions:
        inside = f"{inside[: sessions.start()]}{inside[sessions.end() :]}"
    count = COUNT.search(inside)
    dates = find_dates(inside)
    uncounted = f"{inside[: count.start()]} {inside[count.end() :]}" if count else inside
    left = _FILLER.sub("", without_dates(uncounted))
    is_confirmed = count is not None or CONFIRM.search(inside) is not None
    # One date more is part of the text, as is a second count.
    is_more = bool(found.dates if len(dates) == 1 and not is_confirmed else found.place)
    if left or is_more or not (count or dates):
        return False
    before = CONFIRM.split(inside, maxsplit=1)[0]
    is_dated = not found.dates and (not is_confirmed or bool(find_dates(before)))
    found.dates += dates[:is_dated]
    confirmed = dates[is_dated:]
    if is_confirmed or confirmed:
        found.confirmed += confirmed
        found.count = max(found.count, counted(count) if count else 0)
        start, end = column + match.start(), column + match.end()
        lead = _up_to_date(before) if is_dated else ""
        found.sessions = int(sessions[1]) if sessions else 0
        found.place = Place(line=line, start=start, end=end, form="brackets", lead=lead)
    return True


def _read_ticks(found: Found, match: re.Match[str], *, line: int, column: int, ticks: int) -> bool:
    """Take marks, each a confirmation; False if there are words beside them, or confirmations already."""
    if found.place or match[match.lastindex or 0].strip(f"{TICKS}{VARIANT} "):
        return False
    found.count = ticks
    found.place = Place(line=line, start=column + match.start(), end=column + match.end(), form="brackets")
    return True


def _up_to_date(inside: str) -> str:
    """Text in brackets up to its first date, with the separator after it."""
    match = _FIRST_DATE.search(inside)
    return f"{inside[: match.end()]}, " if match else ""


def field_of(text: str, dialect: Dialect) -> tuple[str, str, int] | None:
    """Parse a line ``Name: value``: the field, its value, and the column where that begins."""
    if len(text) > 2 * _LONGEST_NAME and not _COLON.search(text, 0, 2 * _LONGEST_NAME):
        return None
    match = _FIELD.match(text)
    name = dialect.names.get(match[1].strip().lower()) if match else None
    return (name, match[2].rstrip(), match.start(2)) if match and name else None


def read_body(
    found: Found, texts: Sequence[str], *, lines: range, dialect: Dialect, indented: bool = True
) -> None:
    """The fields in further lines, and what is none.

    Below a heading (``indented`` False) a field begins at the margin, and dates alone may be groups.
    """
    is_fenced, is_listing = False, False
    for line in lines:
        text = texts[line]
        if not text:
            found.rest.append(text)
            is_listing = False
            continue
        is_field = (
            _COLON.search(text) is not None
            and not is_fenced
            and (indented or not text.startswith((" ", "\t")))
        )
        told = field_of(text, dialect) if is_field else None
        if told is None and _FENCE.match(text):
            is_fenced = not is_fenced
        if found.place is None and indented and not (is_fenced or dialect.titled) and _bare_date(text):
            # A list of nothing but dates says when it was confirmed.
            found.place, is_listing = Place(line=line, start=0, end=0, form="items"), True
        if is_listing and told is None and _read_listed(found, text, line=line):
            continue
        is_listing = False
        if told is None or not _read_field(found, told, line=line):
            found.rest.append(text)
            is_known = told is not None and told[0] == "confirmed"
            is_read = dialect.labelled and not (is_fenced or is_known)
            if is_read and (indented or not text.startswith((" ", "\t"))):
                _read_other(found, text, has_cells=indented)
        else:
            is_listing = not told[1]


def read_cell(found: Found, cell: Cell, *, name: str, column: str, line: int, dialect: Dialect) -> None:
    """Take a cell of a row.

    Args:
        found: what was read so far.
        cell: its words, and where they stand.
        name: of its column.
        column: what the column holds.
        line: the row.
        dialect: what fields the file has.
    """
    value = cell.text
    if column == "confirmed" and not value:
        found.place = Place(line=line, start=cell.start, end=cell.end, form="field")
    elif column == "number" and (number := _number(value.strip("#. "))) is not None:
        found.number = number
    elif column == "sessions" and (sessions := _number(value)) is not None:
        found.sessions = sessions
    elif value:
        is_field = column in dialect.names.values()
        if not (is_field and _read_field(found, (column, value, cell.start), line=line)):
            found.rest.append(f"{name}: {value}")


def _number(text: str) -> int | None:
    """The number that ``text`` is; None for words, and for more digits than anything is counted in."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _bare_date(text: str) -> bool:
    """A list item that is a date and nothing else."""
    match = MARK.match(text)
    return match is not None and read_date(text[match.end() :].strip(" *_")) is not None


def _read_listed(found: Found, text: str, *, line: int) -> bool:
    """Read one item of a list under a field without a value: a date under ``Confirmations:``, else more of the value."""
    match = NESTED.match(text)
    if match is None:
        return False
    value = text[match.end() :].strip(" *_")
    if found.place is not None and found.place.form == "items":
        day = read_date(value)
        if day is None:
            return False
        found.confirmed.append(day)
        found.place = Place(line=line, start=len(text), end=len(text), form="items", lead=match[0])
    else:
        name, before = found.fields[-1]
        found.fields[-1] = name, f"{before}; {value}" if before else value
    return True


def _read_field(found: Found, told: tuple[str, str, int], *, line: int) -> bool:
    """Take a field; False if its value is none that the field can have."""
    name, value, column = told
    if name == "why" and value and not found.why:
        found.why = value
    elif name == "also" and value:
        found.also.append(value)
    elif name == "confirmed":
        return _read_confirmed(found, value, line=line, column=column)
    elif name in _DATES:
        return _read_dates(found, find_dates(value), name=name)
    elif name not in _OWN:
        found.fields.append((name, value))
    else:
        return False
    return True


def _read_dates(found: Found, dates: Sequence[date], *, name: str) -> bool:
    """Take the dates of a field, False if it has none: a note has one of its own, all others are kept besides."""
    if not dates:
        return False
    is_own = name == "ended" or (name == "date" and not found.dates)
    if is_own:
        found.dates.insert(0, dates[0])
    found.seen += dates[is_own:]
    return True


def _read_other(found: Found, text: str, *, has_cells: bool) -> None:
    """Take the confirmations of archived cells; note what may be confirmations in a field that nobody knows."""
    if has_cells and (cells := _CELLS.fullmatch(text)):
        told = (_FIELD.match(cell) for cell in cells[1].split("|"))
        known = {match[1].lower(): match[2].strip() for match in told if match}
        found.count = max(found.count, _number(known.get("confirmations", "")) or 0)
        return
    if doubtful := doubtful_line(text):
        found.unread.append(doubtful)


def _read_confirmed(found: Found, value: str, *, line: int, column: int) -> bool:
    dates = find_dates(value)
    figure, ticks = FIGURE.match(value), sum(map(value.count, TICKS))
    if value and not dates and figure is None and (not ticks or value.strip(f"{TICKS}{VARIANT} ")):
        if not says_none(value):
            found.unread.append(value)
        return False
    found.confirmed += dates
    found.count = max(found.count, counted(figure) if figure else ticks)
    sessions = _SESSIONS.search(value)
    found.sessions = int(sessions[1]) if sessions else found.sessions
    end = column + len(value)
    found.place = Place(line=line, start=column, end=end, form="field" if value else "items")
    return True
