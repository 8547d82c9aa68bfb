"""Where the anchors of the rules stand in a text: one search for all of them.

Most texts hold none of the seventy anchors, and most of the others one or two. Looking for one anchor after the other
costs a short text ten times as much as this search. It stops only at characters that are seldom in ordinary text: of
each anchor one is chosen, its *pivot* ("k" of "token"), so that few different characters are the pivots of all, and the
rest of the anchor is compared around it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from autocompact.core.strides import STRIDE

Places: TypeAlias = Mapping[str, Sequence[int]]
"""Of each anchor that a text holds, where it begins, in order; an anchor that it does not hold is not in it."""

_Around: TypeAlias = tuple[str, bytes, int]
"""An anchor, its bytes, and how many of them stand before its pivot."""

_COMMON = ' etsarinocl\ndumpfh\tg/-.b"k1w:,y20v4()536x=789_{j}`zq?*+[]\\!%'
"""Characters of recorded agent sessions, in lower case, the most frequent first."""


_LINE = 64
"""Characters on both sides of a place, all the same, that make it one amid a line; more than an anchor has."""

_SAME = re.compile(rb"(.)\1*+", re.DOTALL)


class Anchors:
    """The anchors of tables of rules: literals, of which those that Latin-1 can write are searched for.

    Args:
        literals: in lower case; one may be a part of another.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        searched = sorted({each for each in literals if is_searched(each)})
        pivots = _pivots(searched)
        groups: dict[str, list[str]] = {}
        for each in searched:
            groups.setdefault(next(pivot for pivot in pivots if pivot in each), []).append(each)
        branches = (_branch(pivot, group) for pivot, group in groups.items())
        self._any = re.compile("|".join(branches).encode("latin-1"))
        self._longest = max(map(len, searched), default=0)
        # by what is found of an anchor, from its pivot on: the anchors that can stand around this pivot
        self._around: dict[bytes, tuple[_Around, ...]] = {}
        for pivot, group in groups.items():
            around = {each: (each, each.encode("latin-1"), each.index(pivot)) for each in group}
            by_next: dict[str, list[tuple[str, str]]] = {}
            for each in group:
                end = each[each.index(pivot) :]
                by_next.setdefault(end[:2], []).append((end, each))
            alone = by_next.get(pivot, [])
            for like in by_next.values():
                near = dict.fromkeys((*like, *alone))
                for found in dict.fromkeys(end for end, _ in like):
                    self._around[found.encode("latin-1")] = tuple(
                        around[each]
                        for end, each in (chain(*by_next.values()) if found == pivot else near)
                        if end.startswith(found) or found.startswith(end)
                    )

    def places(self, lower: bytes) -> Places:
        """Where each anchor begins in ``lower``, a text in lower case with one byte for each character.

        Within a line of one character repeated (``::::``) none is looked for, but for its first and last places.
        """
        found: dict[str, list[int]] = {}
        size, at = len(lower), 0
        for start in range(0, size, STRIDE):
            end = min(size, start + STRIDE)
            at = max(at, start)
            # an anchor may begin before the end of a stride and end behind it
            while (match := self._any.search(lower, at, min(size, end + self._longest))) is not None:
                at = match.start()
                if at >= end:
                    break
                for anchor, literal, before in self._around[match[0]]:
                    if at >= before and lower.startswith(literal, at - before):
                        found.setdefault(anchor, []).append(at - before)
                at = self._behind(lower, at)
        return found

    def _behind(self, lower: bytes, at: int) -> int:
        """The place to go on from after ``at``: the next one, or the end of the line that it is amid, less an anchor's length."""
        if lower[at - _LINE : at + _LINE] != lower[at : at + 1] * (2 * _LINE):
            return at + 1
        line = _SAME.match(lower, at)
        assert line is not None, "a character is the same as itself"
        return max(at + 1, line.end() - _LINE)


def is_searched(anchor: str) -> bool:
    """True for an anchor that Latin-1 can write."""
    return all(ord(character) < 0x100 for character in anchor)


def _branch(pivot: str, anchors: Iterable[str]) -> str:
    """A pattern that matches where one of ``anchors`` stands around ``pivot``.

    What follows the pivot is compared first: `re` passes over an alternative at once whose first letter is another, but
    tries each that begins with what stands before.
    """
    ends: list[tuple[str, str]] = []
    for each in anchors:
        before, _, after = each.partition(pivot)
        ends.append((after, f"(?<={re.escape(before + pivot + after)})" if before else ""))
    return re.escape(pivot) + _either(ends)


def _either(ends: Sequence[tuple[str, str]]) -> str:
    """A pattern for any of the texts, each with what is asked behind it; letters that begin several stand there once."""
    by_first: dict[str, list[tuple[str, str]]] = {}
    for text, behind in ends:
        by_first.setdefault(text[:1], []).append((text[1:], behind))
    branches = [_branch_of(first, rests) for first, rests in by_first.items()]
    return f"(?:{'|'.join(branches)})"


def _branch_of(first: str, rests: Sequence[tuple[str, str]]) -> str:
    if not first:
        return "|".join(behind for _, behind in rests)
    return re.escape(first) + (_either(rests) if len(rests) > 1 else re.escape(rests[0][0]) + rests[0][1])


def _pivots(literals: Iterable[str]) -> list[str]:
    """Few and rare characters, of which each literal has one; the rarest first."""
    left: list[frozenset[str]] = [frozenset(each) for each in literals]
    holders = Counter(chain.from_iterable(left))
    found: list[str] = []
    while left:
        best = min(sorted(+holders), key=lambda character: _frequency(character) / holders[character])
        found.append(best)
        holders.subtract(chain.from_iterable(each for each in left if best in each))
        left = [each for each in left if best not in each]
    return sorted(found, key=_frequency)


def _frequency(character: str) -> float:
    """How often a character comes, roughly: as the rank in `_COMMON` tells."""
    return 1 / (1 + _COMMON.index(character)) if character in _COMMON else 0.0
