"""Filters of a search: by date, speaker, kind and file, as arguments of the tool or as words of the query.

``kind:output``, ``speaker:user``, ``file:src/tax.py``, ``date:2022-09``, ``after:2022-09-01`` and ``before:2022-10`` in a
query filter as the arguments of these names do. A date that a question merely mentions ("in September 2022", "2022年9月",
"yesterday") and "what did I say" only prefer: a question also names dates and people that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, TypeAlias, get_args

from autocompact.core.actions import Action, interpret
from autocompact.core.messages import Message, ToolCall
from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import redacted_call
from autocompact.core.search import Kind
from autocompact.errors import InvalidInput

Speaker: TypeAlias = Literal["user", "assistant", "tool"]
Sort: TypeAlias = Literal["words", "call", "edit", "command", "output", "reasoning", "document"]
Span: TypeAlias = tuple[str, str]
"""First day, and the day after the last: ISO 8601 dates, which compare as texts."""

_OF_SPEAKER: Mapping[Speaker, frozenset[Kind]] = {
    "user": frozenset(["request", "document"]),
    "assistant": frozenset(["words", "reasoning", "call"]),
    "tool": frozenset(["output"]),
}
_OF_SORT: Mapping[Sort, frozenset[Kind]] = {
    "words": frozenset(["request", "words"]),
    "call": frozenset(["call"]),
    "edit": frozenset(["call"]),
    "command": frozenset(["call"]),
    "output": frozenset(["output"]),
    "reasoning": frozenset(["reasoning"]),
    "document": frozenset(["document"]),
}
_SPOKEN: tuple[Sort | None, ...] = ("words", "reasoning", "document")
_MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        [
            "january jan januar janvier enero",
            "february feb februar février febrero",
            "march mar märz mars marzo",
            "april apr avril abril",
            "may mai mayo",
            "june jun juni juin junio",
            "july jul juli juillet julio",
            "august aug août agosto",
            "september sep sept septembre septiembre",
            "october oct oktober okt octobre octubre",
            "november nov novembre noviembre",
            "december dec dezember dez décembre diciembre",
        ],
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = (
    re.compile(r"(?<![\w.-])(?P<y>(?:19|20)\d\d)-(?P<m>\d\d)(?:-(?P<d>\d\d))?(?:T[\d:.Z+-]*)?(?![\w-])"),
    re.compile(r"(?P<y>(?:19|20)\d\d)年(?:(?P<m>\d\d?)月(?:(?P<d>\d\d?)日)?)?"),
    re.compile(
        rf"(?:\b(?P<d>\d\d?)(?:st|nd|rd|th|\.)? (?:of |de )?)?\b(?P<n>{_MONTH})\.?,? (?:de )?(?P<y>(?:19|20)\d\d)\b",
        re.IGNORECASE,
    ),
    re.compile(rf"\b(?P<n>{_MONTH}) (?P<d>\d\d?)(?:st|nd|rd|th)?,? (?P<y>(?:19|20)\d\d)\b", re.IGNORECASE),
)
_YEAR = LazyPattern(r"(?P<y>(?:19|20)\d\d)")
_YESTERDAY = LazyPattern(r"\b(?:yesterday|gestern|hier|ayer)\b|昨天|昨日", re.IGNORECASE)
_TODAY = LazyPattern(r"\b(?:today|heute|aujourd'hui|hoy)\b|今天|今日", re.IGNORECASE)
_MINE = LazyPattern(
    r"\b(?:did I|have I|I had|I) (?:say|said|tell|told|ask|asked|mention|mentioned|want|wanted|decide|decided)\b"
    r"|\bwhat (?:the|did the) user\b|\b(?:habe|hatte) ich\b.*\b(?:gesagt|erwähnt|gefragt)\b|我(?:说|提到|问)过?",
    re.IGNORECASE,
)
_YOURS = LazyPattern(
    r"\b(?:did|have) you (?:say|said|tell|told|suggest|suggested|recommend|recommended|propose|proposed|answer)\b",
    re.IGNORECASE,
)
_NAMED = LazyPattern(
    r"(?<!\S)(?P<name>kind|speaker|from|file|date|on|after|since|before|until):(?P<value>\"[^\"]*\"|\S+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Conditions on a search result; an empty value does not filter.

    Attributes:
        speaker: whose words.
        kind: the sort of part.
        file: path of a file that the call touches, or the end of one; of what was said, one that it names.
        days: when it was said.
    """

    speaker: Speaker | None = None
    kind: Sort | None = None
    file: str = ""
    days: Span | None = None

    @property
    def kinds(self) -> frozenset[Kind] | None:
        """The kinds of passages that are left, None for all.

        Raises:
            InvalidInput: the speaker never says what is asked for.
        """
        allowed = [_OF_SPEAKER[self.speaker]] if self.speaker else []
        allowed += [_OF_SORT[self.kind]] if self.kind else []
        if not allowed:
            return None
        kinds = allowed[0] & allowed[-1]
        if not kinds:
            raise InvalidInput(f"speaker {self.speaker!r} has nothing of kind {self.kind!r}: leave one out")
        return kinds

    def __bool__(self) -> bool:
        return self != Filters()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query, read.

    Attributes:
        text: the words to look for, without the filters.
        filters: what a result has to be.
        preferred: what is likelier meant, by the question's words.
    """

    text: str
    filters: Filters
    preferred: Filters


def read_query(query: str, *, filters: Filters, now: str = "") -> Asked:
    """The query without its filters, which are joined with those given.

    Args:
        query: as the model wrote it.
        filters: given as arguments; they count more than those in the query.
        now: ISO 8601 stamp that "yesterday" is relative to, "" if unknown.

    Raises:
        InvalidInput: a filter has a value that it cannot have; the message lists what it can.
    """
    found = {match["name"]: match["value"].strip('"') for match in _NAMED.finditer(query)}
    text = " ".join(_NAMED.sub(" ", query).split()) if found else query.strip()
    named = make_filters(
        speaker=found.get("speaker", found.get("from", "")),
        kind=found.get("kind", ""),
        file=found.get("file", ""),
        after=found.get("after", found.get("since", "")),
        before=found.get("before", found.get("until", "")),
        date_=found.get("date", found.get("on", "")),
    )
    joined = Filters(
        speaker=filters.speaker or named.speaker,
        kind=filters.kind or named.kind,
        file=filters.file or named.file,
        days=filters.days or named.days,
    )
    speaker: Speaker | None = "user" if _MINE.search(text) else "assistant" if _YOURS.search(text) else None
    return Asked(
        text=text, filters=joined, preferred=Filters(speaker=speaker, days=_mentioned(text, now=now))
    )


def make_filters(
    *, speaker: str = "", kind: str = "", file: str = "", after: str = "", before: str = "", date_: str = ""
) -> Filters:
    """Filters from words.

    Raises:
        InvalidInput: a value that cannot be.
    """
    days: Span | None = _span("date", date_) if date_ else None
    if after or before:
        first = _span("after", after)[0] if after else "0000"
        stop = _span("before", before)[0] if before else "9999"
        days = (max(first, days[0]), min(stop, days[1])) if days else (first, stop)
        if days[0] >= days[1]:
            raise InvalidInput(f"no day is after {after!r} and before {before!r}: turn them round")
    return Filters(
        speaker=_choice("speaker", speaker, choices=get_args(Speaker)),  # pyright: ignore[reportArgumentType] - checked against the literal
        kind=_choice("kind", kind, choices=get_args(Sort)),  # pyright: ignore[reportArgumentType] - checked against the literal
        file=file,
        days=days,
    )


def _choice(name: str, value: str, *, choices: tuple[str, ...]) -> str | None:
    if value and value.lower() not in choices:
        raise InvalidInput(f"{name} {value!r} is unknown: use one of {', '.join(choices)}")
    return value.lower() or None


def _span(name: str, value: str) -> Span:
    found = _days(value) or (_in_year(value) if _YEAR.fullmatch(value) else None)
    if found is None:
        raise InvalidInput(f"{name} {value!r} is no date: write 2022, 2022-09, 2022-09-14 or September 2022")
    return found


def _in_year(year: str) -> Span:
    return f"{year}-01-01", f"{int(year) + 1}-01-01"


def is_relative(query: str) -> bool:
    """True if the query names a day that only the present tells."""
    return bool(_YESTERDAY.search(query) or _TODAY.search(query))


def _mentioned(text: str, *, now: str) -> Span | None:
    for pattern, back in ((_YESTERDAY, 1), (_TODAY, 0)):
        if now and pattern.search(text):
            day = date.fromisoformat(now[:10]) - timedelta(days=back)
            return day.isoformat(), (day + timedelta(days=1)).isoformat()
    return _days(text)


def _days(text: str) -> Span | None:
    """The days of the first date in ``text``; None if there is none, or if no calendar has it."""
    match = next(filter(None, (pattern.search(text) for pattern in _DATES)), None)
    if match is None:
        return None
    groups = match.groupdict()
    month = _MONTHS[groups["n"].lower()] if groups.get("n") else int(groups["m"] or 0)
    if not month:
        return _in_year(groups["y"])
    try:
        first = date(int(groups["y"]), month, int(groups["d"] or 1))
    except ValueError:
        return None
    stop = first + timedelta(days=1) if groups["d"] else (first + timedelta(days=31)).replace(day=1)
    return first.isoformat(), stop.isoformat()


def is_on(time: str, days: Span | None) -> bool:
    """True if a stamp is within the days; one that is unknown is not."""
    return days is None or bool(time and days[0] <= time[:10] < days[1])


def fits(filters: Filters, message: Message, *, call: ToolCall | None, text: str) -> bool:
    """True if a passage of a message is what the filters ask for, as far as its kind does not tell.

    Args:
        filters: what it has to be.
        message: it holds the passage.
        call: the call that the passage is, or that it answers.
        text: the part with the passage.
    """
    if not is_on(message.time, filters.days):
        return False
    if filters.speaker == "assistant" and message.role != "assistant":
        return False
    action = interpret(redacted_call(call)) if call else None
    if filters.kind == "edit" and (action is None or action.verb not in ("edit", "create", "delete")):
        return False
    if filters.kind == "command" and (action is None or action.verb != "run"):
        return False
    return not filters.file or _is_about(filters, action, text=text)


def _is_about(filters: Filters, action: Action | None, *, text: str) -> bool:
    """True if a passage is about the file: a call that touches it, or the output of one.

    Text that only mentions the file is meant where somebody asks for what was said.
    """
    named = re.compile(rf"(?<![\w.-]){re.escape(filters.file)}(?![\w-]|\.\w)")
    if filters.kind in _SPOKEN or filters.speaker == "user":
        return named.search(text) is not None
    if action is None:
        return False
    # a tool that we do not know may call its path anything
    values = (value for value in action.arguments.values() if isinstance(value, str) and " " not in value)
    paths = [path for path, _ in action.files] or values
    return named.search(action.command) is not None or any(
        (found := named.search(path)) is not None and found.end() == len(path) for path in paths
    )
