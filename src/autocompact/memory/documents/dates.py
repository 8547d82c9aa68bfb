"""Dates as people write them: ``2026-10-03``, ``3 Oct 2026``, ``October 3rd, 2026``, ``03.10.2026``, ``10/23/2026``.

With slashes nobody can tell day from month where both are 12 or less and differ: that is no date (`ambiguous_dates`).
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

from autocompact.core.patterns import LazyPattern

_MONTHS: Sequence[str] = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_FOREIGN = {"mär": 3, "mai": 5, "okt": 10, "dez": 12}
_NAME = (
    r"(?:jan(?:uar[y]?)?|feb(?:ruar[y]?)?|mar(?:ch)?|märz?|apr(?:il)?|ma[yi]|june?|juni|jul[yi]?|aug(?:ust)?"
    r"|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\.?"
)
_CLOCK = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?)?"
DATE = (
    r"(?<![\w./-])(?:"
    rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}{_CLOCK}|\d{{4}}/\d{{1,2}}/\d{{1,2}}{_CLOCK}|\d{{4}}\.\d{{1,2}}\.\d{{1,2}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?[ -]{_NAME},?[ -]\d{{4}}"
    rf"|{_NAME} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}/\d{1,2}/\d{4}"
    r")(?![\w/-]|\.\d)"
)
"""A regular expression without groups, for use with ``re.IGNORECASE``."""
_DATE = LazyPattern(DATE, re.IGNORECASE)
_SLASHES = LazyPattern(r"(\d{1,2})/(\d{1,2})/\d{4}")
_YEAR = LazyPattern(r"\d{4}")
_PARTS = LazyPattern(r"\d+|[a-zä]{3,}", re.IGNORECASE)
_MONTH = LazyPattern(rf"(?:(\d{{4}})[-/](\d{{1,2}})|({_NAME}) (\d{{4}}))", re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def read_date(text: str) -> date | None:
    """The date that ``text`` is, None if it is no date, or one that no calendar has."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    parts = _PARTS.findall(match[0])[:3]
    numbers = [int(part) if part.isdigit() else _month(part) for part in parts]
    if len(parts[0]) == 4 and parts[0].isdigit():
        return _date(numbers[0], numbers[1], day=numbers[2])
    if not parts[0].isdigit():
        return _date(numbers[2], numbers[0], day=numbers[1])
    first, second, year = numbers
    both = [_date(year, second, day=first)]
    if "/" in match[0]:
        both.append(_date(year, first, day=second))
    days = {day for day in both if day}
    return days.pop() if len(days) == 1 else None


def ambiguous_dates(text: str) -> list[str]:
    """Every date with slashes in ``text`` that may be two days."""
    if "/" not in text:
        return []
    found = (match.split()[0] for match in _DATE.findall(text))
    return [each for each in found if (parts := _SLASHES.fullmatch(each)) and _is_ambiguous(parts)]


def _is_ambiguous(parts: re.Match[str]) -> bool:
    first, second = int(parts[1]), int(parts[2])
    return first != second and 0 < first <= 12 and 0 < second <= 12


def find_dates(text: str) -> list[date]:
    """Every date in ``text``, in the order in which they stand there."""
    if not _YEAR.search(text):
        return []
    return [day for match in _DATE.findall(text) if (day := read_date(match))]


def without_dates(text: str) -> str:
    """``text`` with each date taken out."""
    return _DATE.sub(" ", text) if _YEAR.search(text) else text


def read_month(text: str) -> date | None:
    """The last day of the month that ``text`` names (``2026-10``, ``October 2026``), None if it names none."""
    match = _MONTH.fullmatch(text.strip()) if _YEAR.search(text) else None
    if match is None:
        return None
    year, month = (int(match[1]), int(match[2])) if match[1] else (int(match[4]), _month(match[3]))
    first = _date(year, month, day=1)
    return first.replace(day=monthrange(year, month)[1]) if first else None


def _month(name: str) -> int:
    name = name.lower()[:3]
    return _FOREIGN.get(name) or _MONTHS.index(name) + 1


def _date(year: int, month: int, *, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
