"""Excerpts and pages: as much of a text as fits a number of tokens, cut where it does least harm."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from autocompact.core.terms import occurrences, terms
from autocompact.core.tokens import Counter, truncated

_CHARACTERS_PER_TOKEN = 16
_MARKS = 4
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|(?<=[。！？；])")
_LONG = 160


class Page(Struct, frozen=True, kw_only=True):
    """A run of a text. ``end`` is the offset at which the next page begins, None if there is none."""

    text: str
    start: int
    end: int | None


def excerpt(text: str, wanted: Mapping[str, float], *, max_tokens: int, counter: Counter) -> str:
    """The part of ``text`` that says most of what is wanted, in at most ``max_tokens``, cut between lines, sentences or words.

    The shortest run of sentences with the greatest weight of distinct terms, then what stands around it, more after it than
    before it. What is left out at an end is marked by "…".

    Args:
        text: what is quoted from.
        wanted: the terms that are looked for and what each weighs.
        max_tokens: bound of the result.
        counter: measures it.
    """
    if counter.count(text) <= max_tokens:
        return text.strip("\n")
    units = list(_units(text))
    sizes = [counter.count(text[start:end]) + 1 for start, end in units]
    held = [set(terms(text[start:end])).intersection(wanted) for start, end in units]
    room = max_tokens - _MARKS
    first, last = _core(held, sizes, wanted=wanted, room=room)
    size = sum(sizes[first : last + 1])
    while (grown := _grown(len(units), first, last=last)) is not None and (
        size := size + sizes[grown]
    ) <= room:
        first, last = min(first, grown), max(last, grown)
    shown = text[units[first][0] : units[last][1]]
    if counter.count(shown) > room:
        return truncated(shown, max_tokens, counter=counter)
    before = _mark(text[: units[first][0]][-1:]) if first else ""
    after = _mark(shown[-1:])[::-1] if last < len(units) - 1 else ""
    return before + shown.strip() + after


def marked(text: str, wanted: Collection[str], *, before: str = "**", after: str = "**") -> str:
    """``text`` with a mark before and after each word that ``wanted`` terms stand for."""
    pieces: list[str] = []
    at = 0
    for start, end in occurrences(text, wanted):
        pieces += (text[at:start], before, text[start:end], after)
        at = end
    return "".join((*pieces, text[at:]))


def _mark(beside: str) -> str:
    """The mark of something left out, on a line of its own where whole lines are left out."""
    return "…\n" if beside == "\n" else "… "


def _units(text: str) -> Iterator[tuple[int, int]]:
    """Lines; of long ones the sentences, of long sentences pieces at a space. Blank ones belong to the one before."""
    position = 0
    for line in text.splitlines(keepends=True):
        end = position + len(line)
        cuts = [position + match.end() for match in _SENTENCE.finditer(line)] if len(line) > _LONG else []
        for start, stop in pairwise([position, *(cut for cut in cuts if cut < end), end]):
            yield from _pieces(text, start, stop=stop)
        position = end


def _pieces(text: str, start: int, *, stop: int) -> Iterator[tuple[int, int]]:
    while stop - start > _LONG:
        space = text.rfind(" ", start + _LONG // 2, start + _LONG)
        cut = space + 1 if space > 0 else start + _LONG
        yield start, cut
        start = cut
    yield start, stop


def _core(
    held: Sequence[set[str]], sizes: Sequence[int], *, wanted: Mapping[str, float], room: int
) -> tuple[int, int]:
    """First and last unit of the shortest run within ``room`` that has the greatest weight of distinct terms."""
    best, chosen = (-1.0, 0), (0, 0)
    for first, terms_here in enumerate(held):
        if first and not terms_here:
            continue
        size, seen, weight = 0, set[str](), 0.0
        for last in range(first, len(held)):
            size += sizes[last]
            if last > first and size > room:
                break
            weight += sum(wanted[term] for term in held[last] - seen)
            seen |= held[last]
            if (round(weight, 6), -size) > best:
                best, chosen = (round(weight, 6), -size), (first, last)
    return chosen


def _grown(count: int, first: int, *, last: int) -> int | None:
    """The next unit to take: two after for each one before, because what follows explains more often."""
    below, above = last + 1 < count, first > 0
    if below and (not above or (last - first) % 3 != 2):
        return last + 1
    return first - 1 if above else None


def page(text: str, *, offset: int, max_tokens: int, counter: Counter) -> Page:
    """Cut a page of at most ``max_tokens`` out of ``text``, from character ``offset`` on; it ends with a line where it can.

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
