"""Sentences that say the same of one thing after another: an account tells one of them, with a count.

An agent that works through a hundred files says a hundred times what it found, in the same words but for the names. Each
has a name that no other one has, so each looks new; together they fill an account in which the cause of it all has no room.
"""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import filled, joined, own, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.entries import Entry

LEAST = 4
"""Sentences of one form from which on one of them stands for all."""

_NAMES = 120
"""Characters of the names that are listed beside the count, at most."""

_SLOT = LazyPattern(r"`[^`\s]{1,80}`|[\w./-]*(?:\d|[^\W_][._/][^\W_]|[a-z][A-Z])[\w./-]*")
"""What may differ: numbers, paths, names of code."""

_WORD = LazyPattern(r"[^\W\d_]{2,}|[\u3040-\u9fff\uac00-\ud7af]")
_LEAST_WORDS = 5
"""Words besides the names: with fewer the names are what is said."""


@lru_cache(maxsize=1 << 12)
def form(text: str) -> str:
    """The sentence without its names and numbers; "" where too little of it would be left.

    Kept of the last ones: an account asks for the form of each finding several times, and so does each later compaction.
    """
    return _told_of(_SLOT.sub("#", text))


def form_of_change(change: Entry) -> str:
    """What a change amounts to without what its file's path has of it; "" likewise. Other names are what was changed."""
    return _told_of(_SLOT.sub(lambda name: "#" if name[0].strip("`") in change.key else name[0], change.text))


def _told_of(bare: str) -> str:
    return bare if len(_WORD.findall(bare)) >= _LEAST_WORDS else ""


def repeated(forms: Iterable[str]) -> frozenset[str]:
    """Those forms that occur so often that one sentence stands for all."""
    return frozenset(each for each, count in Counted(forms).items() if each and count >= LEAST)


def told_once(findings: Sequence[Entry], *, by: Callable[[str], str] = form) -> list[Entry]:
    """The findings, of those that have ``by`` in common only the most needed, which says how many there are, where, and of what."""
    often = repeated(by(entry.text) for entry in findings)
    groups: dict[str, list[Entry]] = {}
    told: list[Entry] = []
    for entry in findings:
        found = by(entry.text)
        if found in often:
            groups.setdefault(found, []).append(entry)
        else:
            told.append(entry)
    return [*told, *map(_one_for_all, groups.values())]


def _one_for_all(group: Sequence[Entry]) -> Entry:
    best = max(group, key=lambda entry: (entry.need, entry.seq, entry.state_seq))
    in_order = sorted(group, key=lambda entry: (entry.seq, entry.state_seq))
    first, last = in_order[0].seq, in_order[-1].seq
    places = filled("m{}", first) if first == last else filled("m{}–m{}", first, last)
    count = filled("{}×, {}", len(group), places)
    names = _listed(
        name
        for entry in in_order
        if entry is not best
        for name in pieces(entry.text, partial(_differing, other=best.text))
    )
    note = filled("{}: {}", count, names) if names else count
    return replace(best, text=filled("{} [{}]", best.text, note))


def _differing(text: str, other: str) -> list[str]:
    """The first name or number that ``other`` has not at its place; none where they are all the same."""
    pairs = zip(_SLOT.findall(text), _SLOT.findall(other), strict=True)
    return [mine for mine, theirs in pairs if mine != theirs][:1]


def _listed(names: Iterable[Redacted]) -> Redacted:
    """The names, each once, as far as they fit."""
    kept: list[Redacted] = []
    left = _NAMES
    for name in dict.fromkeys(names):
        left -= len(name) + 2
        if left < 0:
            kept.append(own("…"))
            break
        kept.append(name)
    return joined(", ", kept)
