"""An index of one text: does it say this sentence, and where does it name that?

A text is compared by its *tokens*: names and numbers whole, words by their first letters (so that "implementing" is
found as "implemented"), Chinese, Japanese and Korean by single signs; words that every text has are left out. A
sentence is said where enough of its tokens stand close together, its numbers and its negation among them. Tokens are
weighed by how rare they are in the text: that it says "test" somewhere proves little.

Nothing is assumed about the form of the text, and each question is answered from the places of the rarest tokens, so
that the cost of a question does not grow with the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from math import fsum, log2

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.ledger.passages import sentences

STEM = 6
"""Letters by which a word is compared."""

SHARE = 0.8
"""Weight of the tokens of a sentence that must stand together where it is said."""

NEAR = 120
"""Characters before and after the length of a sentence in which its tokens may stand."""

CLOSE = 60
"""Characters around a token in which a negation means what it says."""

_SHORT = 400
_PLACES = 24
_ANCHORS = 3
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_TOKEN = LazyPattern(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
_ASCII_TOKEN = LazyPattern(r"\w+", re.ASCII)
_ATOM = LazyPattern(r"[A-Za-z0-9_]+")
_NAME = LazyPattern(r"[_0-9]|[^\W_][A-Z]")
_EXACT = LazyPattern(r"[_0-9]|[a-z][A-Z]")
_REFERENCE = LazyPattern(r"(?<![A-Za-z0-9_])m([1-9][0-9]{0,17})(?![A-Za-z0-9_])")
_RANGE = LazyPattern(r"(?<![A-Za-z0-9_])m([1-9][0-9]{0,17})[–-]m([1-9][0-9]{0,17})(?![A-Za-z0-9_])")
_NEGATION = LazyPattern(
    r"\b(?:not|no|never|none|cannot|without|nicht|nie|niemals|kein\w*|ohne|pas|jamais|aucun\w*|sans|nunca|jamás|sin|não|non"
    r"|mai|senza|не|нет|никогда|без)\b|n't\b|[不没無无未别勿]|ない|ません|않|안 |말|없",
    re.IGNORECASE,
)
_QUANTIFIER = LazyPattern(
    r"\b(?:all|every|each|both|only|always|entire|any|alle[nrs]?|jede[nrsm]?|nur|immer|tou[ts]|toutes?|chaque|seulement|todos?|todas?|cada|solo|siempre"
    r"|tutti|tutte|ogni|все|всё|каждый|только)\b|全部|所有|每|只|すべて|全て|だけ|모든|모두",
    re.IGNORECASE,
)
_ENDINGS = ("ing", "ed", "es", "s")
_NOTHING = frozenset([""])
_STOP = frozenset(
    "the and for that this with from are was were have has had but you your will can all its into out our they"
    " them their there then than when what which who how why where would could should been being does did done just"
    " also only more most some any each other one two now let see use used using here very about not never none cannot"
    " der die das und ist ein eine einer eines den dem des mit auf für von les des une est dans que qui pour los las una"
    " por con para del".split()
)


def _pattern_for(text: str) -> re.Pattern[str]:
    """What finds the words of ``text``: two times as fast where it is ASCII, with the same result."""
    return (_ASCII_TOKEN if text.isascii() else _TOKEN).compiled


def _atoms(line: str, first: int) -> list[tuple[str, int]]:
    """The words of names in ``line``, which begins at character ``first`` of its text, each with its place."""
    return [(match.group(), first + match.start()) for match in _ATOM.finditer(line)]


@lru_cache(maxsize=1 << 16)
def _token(word: str) -> str:
    """What ``word`` is compared by; "" if every text has it."""
    lower = word.lower()
    if _NAME.search(word):
        return lower
    return _stem(lower) if lower not in _STOP and (len(lower) > 2 or lower[0] >= "\u3040") else ""


def _stem(word: str) -> str:
    """The first letters of ``word`` without an English ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            word = word.removesuffix(ending)
            break
    return word[:STEM]


def content(text: str) -> frozenset[str]:
    """The distinct tokens of ``text``."""
    return _remembered(text) if len(text) <= _SHORT else _content(text)


def _content(text: str) -> frozenset[str]:
    return frozenset(map(_token, _pattern_for(text).findall(text))) - _NOTHING


_remembered = lru_cache(maxsize=1 << 12)(_content)
"""Of sentences and lines: each is asked for with every context that is checked."""


def exact(text: str) -> frozenset[str]:
    """The tokens of ``text`` that no other word stands for: names of code and numbers."""
    words = _pattern_for(text).findall(text)
    return frozenset(word.lower() for word in words if _EXACT.search(word))


def negated(text: str) -> bool:
    """True if ``text`` says that something is not so."""
    return _NEGATION.found_in(text)


def quantified(text: str) -> bool:
    """True if ``text`` says that something is so of all, of each, or of one alone."""
    return _QUANTIFIER.found_in(text)


def said_in(text: str) -> list[str]:
    """The sentences of ``text`` that say something, a line end ending each of them; the whole if none does alone."""
    parts = [
        sentence for line in text.splitlines() for part in line.split("; ") for sentence in sentences(part)
    ]
    return [part for part in parts if len(content(part)) > 1] or [text]


class _Wanted(Struct, frozen=True, kw_only=True):
    """The tokens of a sentence as one text weighs them.

    A set has another order in each process: `fsum` rounds once, so that a sum is the same in any order.
    """

    weights: Mapping[str, float]
    numbers: frozenset[str]
    total: float

    def weight_in(self, there: Iterable[str]) -> float:
        """What those of them weigh that are ``there``."""
        return fsum([self.weights[token] for token in there if token in self.weights])


class Statements:
    """The index of one text.

    Attributes:
        text: what was indexed, each line end and run of white space as one blank.
        lines: its lines that are not empty.
        references: numbers of the messages that it refers to one by one.
    """

    def __init__(self, text: str, *, wanted: Iterable[str] = ()) -> None:
        """Index ``text``; with ``wanted`` only the tokens that occur in these texts."""
        self.lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        self.text = text = " ".join(self.lines)
        self._line_starts = list(accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.references = {int(number) for number in _REFERENCE.findall(text)}
        self._ranges = [(int(first), int(last)) for first, last in _RANGE.findall(text)]
        # the words of all texts first, most of which are in several: each is compared by its token once
        words = set[str]().union(*(_pattern_for(each).findall(each) for each in wanted))
        known = frozenset(map(_token, words)) - _NOTHING
        self._starts: list[int] = []
        self._tokens: list[str] = []
        self._by_token: dict[str, list[int]] = {}
        self._atoms: dict[str, list[int]] = {}
        for line, first in zip(self.lines, self._line_starts, strict=False):
            words = [(match.group(), first + match.start()) for match in _pattern_for(line).finditer(line)]
            atoms = words if line.isascii() else _atoms(line, first)
            for word, at in words:
                token = _token(word)
                if token in known or (token and not known):
                    self._by_token.setdefault(token, []).append(at)
                    self._starts.append(at)
                    self._tokens.append(token)
            for word, at in atoms:
                self._atoms.setdefault(word, []).append(at)

    def refers_to(self, seq: int) -> bool:
        """True if a reference, or a range of them, points to message ``seq``."""
        return seq in self.references or any(first <= seq <= last for first, last in self._ranges)

    def line_of(self, at: int) -> int:
        """The index of the line in which character ``at`` of the text stands."""
        return bisect_right(self._line_starts, at) - 1

    def start_of(self, line: int) -> int:
        """The character of the text with which line ``line`` begins."""
        return self._line_starts[line]

    def all_said(self, sentence: str, *, share: float = SHARE, near: int = NEAR) -> Iterator[int]:
        """The places where ``sentence`` is said, by the place of one of its tokens.

        Args:
            sentence: words to look for.
            share: weight of its tokens that must stand together.
            near: characters around its own length in which they may stand.
        """
        wanted = self._weighed(content(sentence))
        if not self._holds_enough(wanted, share=share):
            return
        refuses, counts = negated(sentence), quantified(sentence)
        half, close_by = near + len(sentence) // 2, min(CLOSE, len(sentence))
        # a negation means what stands near it, so it is looked for close by; "all" may stand at the other end of the
        # sentence
        far = max(CLOSE, len(sentence))
        for at in self._anchors(wanted.weights):
            if self._stand(wanted, at=at, near=half, share=share):
                wide = self.text[max(0, at - half) : at + half]
                close = self.text[max(0, at - close_by) : at + close_by]
                if counts and not quantified(self.text[max(0, at - far) : at + far]):
                    continue
                # the sentence refuses: a negation anywhere near will do; it does not: one close by would turn it
                # round
                if negated(wide) if refuses else not negated(close):
                    yield at

    def holds(
        self, wanted: frozenset[str], *, at: int, size: int = 0, near: int = NEAR, share: float = SHARE
    ) -> bool:
        """True if around character ``at`` enough of ``wanted`` stand, all its numbers among them."""
        return self._stand(self._weighed(wanted), at=at, size=size, near=near, share=share)

    def _holds_enough(self, wanted: _Wanted, *, share: float) -> bool:
        """True if the whole text has what has to stand together; most sentences fail here, at the first look."""
        known = self._by_token
        return (
            wanted.numbers <= known.keys()
            and wanted.weight_in(known.keys() & wanted.weights) >= share * wanted.total
        )

    def _stand(self, wanted: _Wanted, *, at: int, near: int, share: float, size: int = 0) -> bool:
        there = self._between(at - near, at + size + near)
        return wanted.numbers <= there and wanted.weight_in(there) >= share * wanted.total

    def share(self, sentence: str, *, near: int = NEAR) -> float:
        """Weight of the tokens of ``sentence`` that stand together at its best place, 0.0 to 1.0."""
        wanted = self._weighed(content(sentence))
        half = near + len(sentence) // 2
        found = (
            wanted.weight_in(self._between(at - half, at + half)) for at in self._anchors(wanted.weights)
        )
        return max(found, default=0.0) / wanted.total if wanted.weights else 1.0

    def _anchors(self, wanted: Iterable[str]) -> Iterator[int]:
        """Places of the rarest of the tokens, of each the last ones."""
        rare = sorted(
            (token for token in wanted if token in self._by_token),
            key=lambda token: (len(self._by_token[token]), token),
        )
        for token in rare[:_ANCHORS]:
            # the end of a text has the newest state of a thing
            yield from reversed(self._by_token[token][-_PLACES:])

    def _weighed(self, wanted: frozenset[str]) -> _Wanted:
        known = self._by_token
        # counted in this text alone, so that the verdict depends on nothing else
        weights = {token: 1.0 / (1.0 + log2(1 + len(known.get(token, ())))) for token in wanted}
        numbers = frozenset([token for token in wanted if token.isdecimal()])
        return _Wanted(weights=weights, numbers=numbers, total=fsum(weights.values()))

    def _between(self, start: int, end: int) -> frozenset[str]:
        first = bisect_left(self._starts, start)
        return frozenset(self._tokens[first : bisect_left(self._starts, end)])

    def named(self, name: str) -> Iterator[int]:
        """Where ``name`` stands as a name of its own, the last place first."""
        atoms = list(_ATOM.finditer(name))
        if not atoms:
            at = self.text.find(name) if name else -1
            yield from (at,) if at >= 0 else ()
            return
        rarest, found = atoms[0], self._atoms.get(atoms[0].group(), ())
        for atom in atoms[1:]:
            places = self._atoms.get(atom.group(), ())
            # the rarest word of the name has the fewest places to look at
            if len(places) < len(found):
                rarest, found = atom, places
        for place in reversed(found):
            at = place - rarest.start()
            if at >= 0 and self.text.startswith(name, at) and not self._glued(at, at + len(name)):
                yield at

    def _glued(self, start: int, end: int) -> bool:
        """Whether the characters from ``start`` to ``end`` are only part of a longer name."""
        return any(
            bool(_ATOM.fullmatch(self.text[edge - 1 : edge + 1])) and 0 < edge < len(self.text)
            for edge in (start, end)
        )
