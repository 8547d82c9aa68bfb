"""Cutting a text that is too long: whole lines or sentences go, the least needed first.

A passage is worth what it says of the ledger: the need of every name in it. Headings stay as long as something under
them does, code blocks go or stay whole, and the order is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from autocompact.core.redacted import EMPTY, edited
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter, truncated
from autocompact.ledger.entries import Ledger

_HEADING = re.compile(r"#{1,6} |\*\*[^*\n]+\*\*:?\s*$|(?:\d+\. )?[^\n.!?]{3,60}:\s*$")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\s])|(?<=[。！？])")
_NAME = re.compile(r"[A-Za-z0-9_]{3,}")
_LONG = 240
_WORD_VALUE = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """What is left of a text, and how many of its passages went."""

    text: Redacted
    left_out: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A line, a sentence of a long line, or a block of code; headings open a section."""

    text: str
    section: int
    heading: bool = False
    goes_on: bool = False
    """It follows the passage before it on the same line."""


def shortened_text(text: Redacted, budget: int, *, counter: Counter, ledger: Ledger) -> Shortened:
    """``text`` in at most ``budget`` tokens; as it is if it fits.

    Args:
        text: Markdown or plain.
        budget: tokens, headings included.
        counter: measures it.
        ledger: what makes a passage worth keeping.
    """
    if counter.count(text) <= budget:
        return Shortened(text=text)
    passages = passages_of(text)
    ranked = _ranked(passages, names=_needs(ledger), counter=counter)
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(joined_passages(passages, ranked[:middle])) <= budget:
            low = middle
        else:
            high = middle - 1
    shorter = Redacted(joined_passages(passages, ranked[:low]))  # passages of the text
    return Shortened(text=shorter, left_out=len(ranked) - low, passages=len(ranked))


def fitted(text: Redacted, budget: int, *, counter: Counter) -> Redacted:
    """``text`` in at most ``budget`` tokens, whatever it takes: the last resort."""
    if counter.count(text) <= budget:
        return text
    shorter = edited(text, partial(truncated, tokens=budget, counter=counter))
    return shorter if counter.count(shorter) <= budget else EMPTY


def passages_of(text: str) -> list[Passage]:
    """The passages of ``text`` in order."""
    found: list[Passage] = []
    section = 0
    for block in _lines(text):
        if _HEADING.match(block):
            section += 1
            found.append(Passage(block, section, heading=True))
        elif len(block) <= _LONG or "\n" in block:
            found.append(Passage(block, section))
        else:
            parts = filter(None, _SENTENCE_END.split(block))
            found += (Passage(part, section, goes_on=at > 0) for at, part in enumerate(parts))
    return found


def _lines(text: str) -> list[str]:
    """Lines that say something; the lines of a code block as one."""
    blocks: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            blocks[-1] += f"\n{line}"
            fence = "" if mark is not None and mark[1] == fence else fence
        elif line.strip():
            blocks.append(line)
            fence = mark[1] if mark is not None else ""
    return blocks


def _needs(ledger: Ledger) -> Mapping[str, float]:
    """The need of each word of a key: what tells that a passage is about it."""
    needs: dict[str, float] = {}
    for entry in ledger.entries:
        if entry.kind in ("identifier", "file", "change", "todo", "error", "running"):
            words = _NAME.findall(entry.key)
            for word in words:
                needs[word] = max(needs.get(word, 0.0), entry.need / len(words))
    return needs


def _ranked(passages: Sequence[Passage], *, names: Mapping[str, float], counter: Counter) -> list[int]:
    """Indices of the passages that are no headings, the most needed for their size first."""

    def density(index: int) -> float:
        words = _NAME.findall(passages[index].text)
        value = sum(names.get(word, 0.0) for word in set(words)) + _WORD_VALUE * len(words)
        return value / (counter.count(passages[index].text) + 1)

    texts = [index for index, passage in enumerate(passages) if not passage.heading]
    return sorted(texts, key=lambda index: (-density(index), -index))


def joined_passages(passages: Sequence[Passage], indices: Sequence[int]) -> str:
    """The chosen passages in order, with their headings; sentences of one line side by side."""
    chosen = set(indices)
    sections = {passages[index].section for index in indices}
    shown = [
        index
        for index, passage in enumerate(passages)
        if index in chosen or (passage.heading and passage.section in sections)
    ]
    pieces = [passages[index].text for index in shown[:1]]
    for before, index in pairwise(shown):
        goes_on = passages[index].goes_on and before == index - 1
        starts = passages[index].heading and not passages[before].heading
        pieces += (" " if goes_on else "\n\n" if starts else "\n", passages[index].text)
    return "".join(pieces)
