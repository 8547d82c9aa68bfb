"""Excerpts and pages: as much of a text as fits a number of tokens, cut where it does least harm."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from autocompact.core.terms import occurrences, terms
from autocompact.core.tokens import Counter, truncated

_CHARACTERS_PER_TOKEN = 16
_CHARACTERS_AROUND = 2
"""Characters for each token of an excerpt in which the terms of a long line are looked for together."""
_LONGEST_WORD = 40
_MARKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A run of a text. ``end`` is the offset at which the next page begins, None if there is none."""

    text: str
    start: int
    end: int | None


def excerpt(text: str, wanted: Collection[str], *, max_tokens: int, counter: Counter) -> str:
    """The lines of ``text`` around the one that holds most of the terms ``wanted``, in at most ``max_tokens``.

    What is left out at an end is marked by "…".
    """
    if counter.count(text) <= max_tokens:
        return text.strip("\n")
    lines = text.strip("\n").split("\n")
    held = [len(set(terms(line)).intersection(wanted)) for line in lines]
    first = last = held.index(max(held))
    size = counter.count(lines[first]) + _MARKS
    if size > max_tokens:
        return _around(lines[first], wanted, max_tokens=max_tokens, counter=counter)
    while (grown := _grown(lines, first, last=last)) is not None and (
        size := size + counter.count(lines[grown]) + 1
    ) <= max_tokens:
        first, last = min(first, grown), max(last, grown)
    before, after = "…\n" if first else "", "\n…" if last < len(lines) - 1 else ""
    return before + "\n".join(lines[first : last + 1]) + after


def _around(line: str, wanted: Collection[str], *, max_tokens: int, counter: Counter) -> str:
    """As much of a long line as fits, around the place where most of the terms stand together."""
    places = occurrences(line, wanted)
    reach = _CHARACTERS_AROUND * max_tokens
    best = most = 0
    last = 0
    for first, (start, _) in enumerate(places):
        while last < len(places) and places[last][1] <= start + reach:
            last += 1
        if last - first > most:
            best, most = max(0, start - reach // 4), last - first
    best = line.find(" ", best, best + _LONGEST_WORD) + 1 or best if best else 0
    cut = truncated(line[best:], max_tokens - (_MARKS if best else 0), counter=counter)
    return f"… {cut}" if best else cut


def marked(text: str, wanted: Collection[str], *, before: str = "**", after: str = "**") -> str:
    """``text`` with a mark before and after each word that ``wanted`` terms stand for."""
    pieces: list[str] = []
    at = 0
    for start, end in occurrences(text, wanted):
        pieces += (text[at:start], before, text[start:end], after)
        at = end
    return "".join((*pieces, text[at:]))


def _grown(lines: list[str], first: int, *, last: int) -> int | None:
    """The next line to take: two after for each one before, because what follows a line explains it more often."""
    below, above = last + 1 < len(lines), first > 0
    if below and (not above or (last - first) % 3 != 2):
        return last + 1
    return first - 1 if above else None


def page(text: str, *, offset: int, max_tokens: int, counter: Counter) -> Page:
    """As much of ``text`` from character ``offset`` on as fits ``max_tokens``; it ends with a line where it can.

    Verbatim: pages one after the other are the text. A page holds one character at least.
    """
    rest = text[offset : offset + max_tokens * _CHARACTERS_PER_TOKEN]
    if offset + len(rest) >= len(text) and counter.count(rest) <= max_tokens:
        return Page(text=rest, start=offset, end=None)
    low, high = 1, len(rest)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(rest[:middle]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    line_end = rest.rfind("\n", low // 2, low) + 1
    size = line_end or low
    end = offset + size
    return Page(text=rest[:size], start=offset, end=end if end < len(text) else None)
