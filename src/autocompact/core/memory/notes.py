"""Notes: observations and rules, as they stand in a document.

A note is a list item or a heading with what belongs to it. Its date stands in front (``- 2026-10-03: …``), behind
(``… (2026-10-03)``), in a field (``Date: 2026-10-03``) or in the heading above. Its confirmations are a figure
(``(8 confirmations)``, ``Confirmations: 8``) or a list of dates. What is none of this belongs to its ``rest`` and goes
wherever the note goes.

A heading below the title is a note, with everything under it, if it says one of these things itself; else it is a
group, and the items under it are notes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, TypeAlias

from autocompact.core.memory.dates import DATE, find_dates, read_date, read_month, without_dates
from autocompact.core.memory.outline import Section

Form: TypeAlias = Literal["item", "heading"]

_LEAD = re.compile(
    rf"[*_(\[]{{0,3}}({DATE})[*_)\]]{{0,3}}\s*(?:[:–—|-]\s*)?(?:\*\*)?(?:\s+|\Z)", re.IGNORECASE
)
_TAIL = re.compile(
    r"\s*(?:\(([^()]*)\)|\[([^\[\]]*)\]|\s[–—-]+\s+([^–—()\[\]]*confirm[^–—()\[\]]*))[.*_\s]*\Z",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"(\d{1,6})\s*(?:(?:times|[x×])\s+)?(?:confirmations?|confirmed)\b|\bconfirm(?:ed|ations?)\s*[:=]?\s*(\d{1,6})(?![\d-])\s*(?:times|[x×])?"
    r"|\b(?:seen|observed)\s+(\d{1,6})\s+times",
    re.IGNORECASE,
)
_CONFIRM = re.compile(r"\d+\s*(?:(?:times|[x×])\s+)?confirm|confirm", re.IGNORECASE)
_FILLER = re.compile(
    r"\b(?:confirmed|confirmations?|seen|observed|noted|recorded|added|first|last|again|on|and|since|times|date)\b"
    r"|[\s,;:.&×+]",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"\s*(?:[-*+]\s+)?(?:\*\*|__)?([A-Za-z][A-Za-z -]{1,24}?)(?:\*\*|__)?\s*:(?:\*\*|__)?(?:\s+|\Z)(.*?)\s*\Z"
)
_NESTED = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+|\s*(?:>|```|~~~)")
_BULLET = re.compile(r"(\s*(?:[-*+]|\d{1,9}[.)]))\s+(?:\[[ xX]\]\s+)?")
_HASHES = re.compile(r"\s*#{1,6}\s+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_RULE = re.compile(r"(?:(?:rule|r)\s*[#-]?\s*|#)?(\d{1,6})\s*[:.)–—-]+\s+", re.IGNORECASE)
_GROUP = frozenset(
    "week of day session sessions notes observation observations updated last log sprint the month on from to until"
    " done tasks completed number no new old recent".split()
)
NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("date", "noted", "noted on", "first seen", "first noted", "observed", "observed on"), "date"
    ),
    **dict.fromkeys(("recorded", "recorded on", "created", "added", "seen", "seen on"), "date"),
    **dict.fromkeys(
        ("confirmations", "confirmation", "confirmed", "confirmed on", "seen again"), "confirmed"
    ),
    **dict.fromkeys(("last confirmed", "last seen", "last confirmation"), "last"),
    **dict.fromkeys(("why", "reason", "because", "rationale"), "why"),
    "also noted": "also",
}
_OWN = frozenset(NAMES.values())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """What notes of one kind of file look like.

    Attributes:
        names: what each field is called, and what it is: ``date``, ``confirmed``, ``last``, ``why``, ``also``, or
            anything else, which comes along in `Note.fields`.
        numbered: a heading that begins with a number is a note.
    """

    names: Mapping[str, str]
    numbered: bool = False


OF_OBSERVATIONS = Dialect(names=NAMES)
OF_RULES = Dialect(names=NAMES, numbered=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a note's confirmations stand, or would stand.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An observation or a rule.

    Attributes:
        start: its first line in the document.
        end: the line after its last.
        form: list item or heading.
        mark: how it begins: indentation and bullet, or the hashes of the heading.
        text: what it says, without dates and confirmations.
        number: of a rule or of an item in an ordered list.
        date: when it was noted, None if nobody wrote it down.
        confirmations: how often it was confirmed since.
        confirmed: the dates known of these, in order.
        last: when it was last noted or confirmed, None if no date is known.
        why: its reason.
        also: the same in other words.
        fields: other fields that its dialect knows, as name and value.
        rest: further lines, as they stand, without common indentation.
        place: where its confirmations stand.
    """

    start: int
    end: int
    form: Form
    mark: str
    text: str
    number: int | None
    date: date | None
    confirmations: int
    confirmed: tuple[date, ...]
    last: date | None
    why: str
    also: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    rest: tuple[str, ...]
    place: Place

    @property
    def is_marked(self) -> bool:
        """It has something that only notes have: a date, confirmations, a reason."""
        return bool(self.date or self.confirmations or self.why or self.fields or self.place.form != "none")

    @property
    def wordings(self) -> tuple[str, ...]:
        """What it says, in all the words in which it was noted."""
        return (self.text, *self.also)


@dataclass(slots=True)
class _Found:
    """What was read of a note so far."""

    text: str = ""
    number: int | None = None
    dates: list[date] = field(default_factory=list[date])
    count: int = 0
    confirmed: list[date] = field(default_factory=list[date])
    later: list[date] = field(default_factory=list[date])
    why: str = ""
    also: list[str] = field(default_factory=list[str])
    fields: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    rest: list[str] = field(default_factory=list[str])
    place: Place | None = None


def notes_in(texts: Sequence[str], root: Section, *, dialect: Dialect) -> list[Note]:
    """The notes of a document in the order in which they stand there.

    Args:
        texts: its lines.
        root: its outline.
        dialect: what notes look like in it.
    """
    return list(_notes(texts, root, above=None, dialect=dialect))


def _notes(texts: Sequence[str], section: Section, *, above: date | None, dialect: Dialect) -> Iterator[Note]:
    if day := date_of_group(section.title):
        above = day
    elif section.level and (whole := _as_note(texts, section, dialect=dialect)):
        yield _dated(whole, above)
        return
    for item in section.items:
        note = _of_item(texts, item, dialect=dialect)
        if note.text:
            yield _dated(note, above)
    for inner in section.sections:
        yield from _notes(texts, inner, above=above, dialect=dialect)


def _dated(note: Note, above: date | None) -> Note:
    """The note with the date of the heading above where it has none of its own."""
    if note.date or above is None:
        return note
    return replace(note, date=above, last=max(note.last or above, above))


def reads_as(line: str, note: Note) -> bool:
    """Whether ``line`` behind a bullet would be read as the date, text and confirmations of ``note``."""
    read = _of_item([f"- {line}"], range(1), dialect=OF_OBSERVATIONS)
    return (read.date, read.text, read.confirmations) == (note.date, note.text, note.confirmations)


def date_of_group(title: str) -> date | None:
    """The date or month that a title consists of, ``Week of 2026-10-03`` included."""
    dates = find_dates(title)
    if not dates:
        return read_month(title.strip(" :"))
    words = re.findall(r"[^\W\d_]+", without_dates(title).lower())
    return dates[-1] if _GROUP.issuperset(words) else None


def _as_note(texts: Sequence[str], section: Section, *, dialect: Dialect) -> Note | None:
    """The section as one note with all that stands in it, None if it is a group."""
    found = _Found()
    # The last line of a heading that takes several is its underline.
    last = section.body - (section.body - section.start > 1)
    lines = [
        (line, len(match[0]) if (match := _HASHES.match(texts[line])) else 0)
        for line in range(section.start, last)
    ]
    if dialect.numbered and (match := _RULE.match(texts[section.start][lines[0][1] :])):
        found.number = int(match[1])
        lines[0] = (section.start, lines[0][1] + match.end())
    _read_head(found, texts, lines=lines)
    inner = section.sections[0].start if section.sections else section.end
    # What is indented belongs to an item, and so may be a field of that.
    _read_body(found, texts, lines=range(section.body, inner), dialect=dialect, indented=False)
    found.rest += texts[inner : section.end]
    note = _note(
        found,
        start=section.start,
        end=section.end,
        form="heading",
        mark="#" * section.level,
        lines=lines,
        texts=texts,
    )
    is_note = note.number is not None or (note.is_marked and section.level > 1)
    return note if note.text and is_note else None


def _of_item(texts: Sequence[str], item: range, *, dialect: Dialect) -> Note:
    first = texts[item.start]
    match = _BULLET.match(first)
    mark, column = (match[1], len(match[0])) if match else (first.rstrip(), len(first))
    figure = mark.strip(" .)")
    found = _Found(number=int(figure) if figure.isdigit() else None)
    lines = [(item.start, column)]
    for line in item[1:]:
        text = texts[line]
        if not text.strip() or _NESTED.match(text) or _field(text, dialect):
            break
        lines.append((line, len(text) - len(text.lstrip())))
    _read_head(found, texts, lines=lines)
    _read_body(found, texts, lines=range(lines[-1][0] + 1, item.stop), dialect=dialect)
    return _note(found, start=item.start, end=item.stop, form="item", mark=mark, lines=lines, texts=texts)


def _read_head(found: _Found, texts: Sequence[str], *, lines: Sequence[tuple[int, int]]) -> None:
    """The text, and what stands before and behind it; ``lines`` are (line, first column)."""
    parts = [_unclosed(texts[line][column:]) for line, column in lines]
    if match := _LEAD.match(parts[0]):
        found.dates += filter(None, [read_date(match[1])])
        parts[0] = parts[0][match.end() :] if found.dates else parts[0]
    line, column = lines[-1]
    column = len(_unclosed(texts[line])) - len(parts[-1])
    while match := _TAIL.search(parts[-1]):
        if not _read_tail(found, match, line=line, column=column):
            break
        parts[-1] = parts[-1][: match.start()]
    found.text = " ".join(" ".join(parts).split())


def _unclosed(line: str) -> str:
    """``line`` without the hashes that may close a heading, and without what is blank at its end."""
    line = line.rstrip()
    bare = line.rstrip("#")
    return bare.rstrip() if bare[-1:].isspace() else line


def _read_tail(found: _Found, match: re.Match[str], *, line: int, column: int) -> bool:
    """Take what the brackets at the end say; False if they belong to the text."""
    inside = match[1] or match[2] or match[3] or ""
    count = _COUNT.search(inside)
    dates = find_dates(inside)
    left = _FILLER.sub("", without_dates(_COUNT.sub(" ", inside, count=1)))
    is_confirmed = count is not None or "confirm" in inside.lower()
    if left or not (count or dates) or found.place or (found.dates and not is_confirmed):
        return False
    before = _CONFIRM.split(inside, maxsplit=1)[0]
    noted = find_dates(before) if is_confirmed else dates
    found.dates += noted[:1]
    if is_confirmed:
        found.confirmed += dates[len(noted) :]
        found.count = max(found.count, int(next(filter(None, count.groups()))) if count else 0)
        end = column + match.end()
        lead = before if noted else ""
        found.place = Place(line=line, start=column + match.start(), end=end, form="brackets", lead=lead)
    return True


def _field(text: str, dialect: Dialect) -> tuple[str, str, int] | None:
    """What a line ``Name: value`` tells, its value, and the column where that begins."""
    match = _FIELD.match(text)
    name = dialect.names.get(match[1].strip().lower()) if match else None
    return (name, match[2], match.start(2)) if match and name else None


def _read_body(
    found: _Found, texts: Sequence[str], *, lines: range, dialect: Dialect, indented: bool = True
) -> None:
    is_fenced, is_listing = False, False
    for line in lines:
        text = texts[line]
        is_field = ":" in text and not is_fenced and (indented or not text.startswith((" ", "\t")))
        told = _field(text, dialect) if is_field else None
        if _FENCE.match(text):
            is_fenced = not is_fenced
        if is_listing and told is None and _read_listed(found, text, line=line):
            continue
        is_listing = False
        if told is None or not _read_field(found, told, line=line):
            found.rest.append(text)
        else:
            is_listing = not told[1]


def _read_listed(found: _Found, text: str, *, line: int) -> bool:
    """One item of a list under a field without a value: a date under ``Confirmations:``, else more of the value."""
    match = _NESTED.match(text)
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


def _read_field(found: _Found, told: tuple[str, str, int], *, line: int) -> bool:
    """Take a field; False if its value is none that the field can have."""
    name, value, column = told
    dates = find_dates(value)
    if name == "why" and value and not found.why:
        found.why = value
    elif name == "also" and value:
        found.also.append(value)
    elif name == "date" and dates:
        found.dates.append(dates[0])
    elif name == "last" and dates:
        found.later += dates
    elif name == "confirmed":
        return _read_confirmed(found, value, line=line, column=column)
    elif name not in _OWN:
        found.fields.append((name, value))
    else:
        return False
    return True


def _read_confirmed(found: _Found, value: str, *, line: int, column: int) -> bool:
    dates = find_dates(value)
    figure = re.match(r"(\d{1,6})(?:\s*(?:times|[x×]))?(?=\s*(?:\Z|[(:,;]))", value)
    if value and not dates and figure is None:
        return False
    found.confirmed += dates
    found.count = max(found.count, int(figure[1]) if figure else 0)
    end = column + len(value)
    found.place = Place(line=line, start=column, end=end, form="field" if value else "items")
    return True


def _note(
    found: _Found,
    *,
    start: int,
    end: int,
    form: Form,
    mark: str,
    lines: Sequence[tuple[int, int]],
    texts: Sequence[str],
) -> Note:
    if found.place is None:
        at = lines[-1][0]
        column = len(_unclosed(texts[at]))
        found.place = Place(line=at, start=column, end=column, form="none")
    known = [*found.dates, *found.confirmed, *found.later]
    return Note(
        start=start,
        end=end,
        form=form,
        mark=mark,
        text=found.text,
        number=found.number,
        date=found.dates[0] if found.dates else None,
        confirmations=max(found.count, len(found.confirmed)),
        confirmed=tuple(sorted(found.confirmed)),
        last=max(known, default=None),
        why=found.why,
        also=tuple(found.also),
        fields=tuple(found.fields),
        rest=_rest(found.rest),
        place=found.place,
    )


def _rest(lines: Sequence[str]) -> tuple[str, ...]:
    """``lines`` without common indentation, and without the blank ones around them."""
    lines = [line if line.strip() else "" for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    if lines and lines[0].startswith((" ", "\t")):
        lines = textwrap.dedent("\n".join(lines)).split("\n")
    return tuple(lines)
