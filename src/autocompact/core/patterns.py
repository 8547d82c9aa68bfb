"""Regular expressions that are compiled when they are first used, so that importing a module of many costs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Protocol

SELDOM = 20_000
"""Characters: an expression for ASCII takes 1 to 6 ms to make, and saves 0.1 to 0.2 µs for each character."""


class Substitute(Protocol):
    """`re.Pattern.sub`."""

    def __call__(self, repl: str | Callable[[re.Match[str]], str], string: str, *, count: int = 0) -> str:
        """``string`` with what the pattern finds replaced."""
        ...


class LazyPattern:
    """A regular expression, compiled at its first use.

    Args:
        source: the expression.
        flags: those of `re`.
        needs: an expression for a part that every match in ASCII text has, in lower case where ``flags`` ignore case. One
            that is quickly looked for spares most texts the search of an expression that may begin anywhere.
        seldom: characters of ASCII text that are looked at with the expression itself, before one for ASCII is made.
    """

    def __init__(self, source: str, flags: int = 0, *, needs: str = "", seldom: int = SELDOM) -> None:
        self.source, self.flags, self.needs, self.seldom = source, flags, needs, seldom
        self._folds = bool(flags & re.IGNORECASE)
        self._asked = 0
        """Characters asked about so far: up to ``seldom`` of them an expression for ASCII takes longer to make than it saves."""

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The expression itself."""
        return re.compile(self.source, self.flags)

    # from the first use on, these are attributes like those of `re.Pattern`
    @cached_property
    def search(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.search`."""
        return self.compiled.search

    @cached_property
    def match(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.match`."""
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.fullmatch`."""
        return self.compiled.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """`re.Pattern.finditer`."""
        return self.compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[str]]:
        """`re.Pattern.findall`, of an expression with at most one group."""
        return self.compiled.findall

    @cached_property
    def split(self) -> Callable[..., list[str]]:
        """`re.Pattern.split`, of an expression without groups."""
        return self.compiled.split

    @cached_property
    def sub(self) -> Substitute:
        """`re.Pattern.sub`."""
        return self.compiled.sub

    def found_in(self, text: str) -> bool:
        """True if `search` finds it, several times as fast where ``text`` is ASCII."""
        if not text.isascii():
            return self.search(text) is not None
        folded = text.lower() if self._folds else text
        if self.needs and self._needed.search(folded) is None:
            return False
        self._asked += len(text)
        if self._asked <= self.seldom:
            return self.search(text) is not None
        words, rest = self._searched
        return (words is not None and words.search(f"\n{folded}") is not None) or (
            rest is not None and rest.search(folded) is not None
        )

    def begins(self, text: str) -> bool:
        """True if `match` finds it, several times as fast where ``text`` is ASCII."""
        if not text.isascii():
            return self.match(text) is not None
        folded = text.lower() if self._folds else text
        if self.needs and self._needed.search(folded) is None:
            return False
        self._asked += len(text)
        return (self.match(text) if self._asked <= self.seldom else self._ascii.match(folded)) is not None

    def rules_out(self, text: str) -> bool:
        """True if `found_in` says no, and says it fast: of ``text`` in ASCII, once that is worth an expression of its own."""
        self._asked += len(text)
        return self._asked > self.seldom and text.isascii() and not self.found_in(text)

    @cached_property
    def _needed(self) -> re.Pattern[str]:
        return re.compile(self.needs)

    @cached_property
    def _ascii(self) -> re.Pattern[str]:
        """The expression for ASCII text, which is in lower case unless case counts.

        With IGNORECASE, `re` tries each branch of an alternative in full, without it only those whose first letter fits.
        """
        return self._for_ascii(_NEVER if (fits := self._fitting) is None else fits)

    @cached_property
    def _searched(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        r"""The pattern `_ascii` for searches, split in two: alternatives that begin at a word, and the others.

        A search tries the whole expression at each character, but one that begins with a class of characters only
        where these stand. So ``\b(?:so|if)`` is looked for as ``\W(?:so|if)``, in a text with a line break before it.
        """
        parts = () if (fits := self._fitting) is None else _alternatives(fits)
        words = [part.removeprefix(r"\b") for part in parts if _begins_a_word(part)]
        rest = [part for part in parts if not _begins_a_word(part)]
        return (
            self._for_ascii(rf"\W(?:{'|'.join(_together(chain.from_iterable(map(_spread, words))))})")
            if words
            else None,
            self._for_ascii("|".join(rest)) if rest else None,
        )

    @property
    def _fitting(self) -> str | None:
        source = self.source
        if self._folds:
            source = _CAPITAL.sub(lambda found: found[0].lower() if len(found[0]) == 1 else found[0], source)
        return _in_ascii(source)

    def _for_ascii(self, source: str) -> re.Pattern[str]:
        return re.compile(source, self.flags & ~re.IGNORECASE)


def any_of(*patterns: LazyPattern) -> LazyPattern:
    """One pattern that is found where one of ``patterns`` is, for `LazyPattern.rules_out` before each of them is looked for."""
    return LazyPattern("|".join(pattern.source for pattern in patterns), patterns[0].flags)


_CAPITAL = re.compile(r"\\.|\(\?P|[A-Z]")
"""A capital letter, or an escape or the beginning of a named group, whose letters mean something else."""
_NEVER = "(?!)"


# An expression for ASCII text ---------------------------------------------------------------------------------
#
# The alternatives of most expressions are words of ten languages. `re` tries one after the other at every place, so
# those that ASCII text cannot have are left out, and those that begin alike become one ("a(?:lways|t all)"). That says
# whether there is a match, which is all that is asked, not which one is the first.

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,?\d*\})[?+]?")
_LETTER = re.compile(r"[a-z](?![*+?{])")
_IN_WORD = re.compile(r"\w|\\[wd]")
_BEHIND_WORDS = re.compile(r"\(\?<[!=][\w ]+\)")
"""A look at words before, which is the same behind a line break."""


def _in_ascii(source: str) -> str | None:
    """The part of the pattern ``source`` that ASCII text can match; None if it cannot match."""
    parts = (_sequence(part) for part in _alternatives(source))
    kept = [part for part in parts if part is not None]
    return "|".join(_together(kept)) if kept else None


def _alternatives(source: str) -> list[str]:
    found, depth = [""], 0
    for token in _TOKEN.findall(source):
        depth += (token == "(") - (token == ")")
        if token == "|" and not depth:
            found.append("")
        else:
            found[-1] += token
    return found


def _sequence(source: str) -> str | None:
    pieces: list[str] = []
    for atom, quantifier in _atoms(source):
        can_lack = quantifier[:1] in ("?", "*") or quantifier.startswith(("{0", "{,"))
        if atom.startswith("(?:") and not quantifier[1:].endswith("+"):  # a possessive one keeps its order
            inner = _in_ascii(atom[3:-1])
            if inner is not None:
                pieces.append(f"(?:{inner}){quantifier}")
            elif not can_lack:
                return None
        elif atom.isascii() or atom[0] in "[(" or can_lack:
            pieces.append(atom + quantifier)
        else:
            return None
    return "".join(pieces)


def _atoms(source: str) -> Iterator[tuple[str, str]]:
    """Characters, escapes, classes and groups, each with the quantifier behind it."""
    at = 0
    while at < len(source):
        start, depth = at, 0
        while at == start or depth:
            token = _TOKEN.match(source, at)
            assert token is not None, "an expression that compiles has balanced groups"
            depth += (token[0] == "(") - (token[0] == ")")
            at = token.end()
        quantifier = _QUANTIFIER.match(source, at)
        yield source[start:at], quantifier[0] if quantifier else ""
        at = quantifier.end() if quantifier else at


def _together(parts: Iterable[str]) -> Iterator[str]:
    """The alternatives, those that begin with the same letter as one."""
    by_letter: dict[str, list[str]] = {}
    for part in parts:
        if _LETTER.match(part):
            by_letter.setdefault(part[0], []).append(part[1:])
        else:
            yield part
    for letter, rests in by_letter.items():
        yield letter + (rests[0] if len(rests) == 1 else f"(?:{'|'.join(_together(dict.fromkeys(rests)))})")


def _spread(source: str) -> Iterable[str]:
    """The alternatives of a part that is nothing but a group of them, so that they can become one with those of other parts."""
    atom, quantifier = next(_atoms(source), ("", ""))
    tail = source[len(atom) :]
    if not atom.startswith("(?:") or quantifier or tail not in ("", r"\b"):
        return (source,)
    return (alternative + tail for alternative in _alternatives(atom[3:-1]))


def _begins_a_word(source: str) -> bool:
    r"""True if ``source`` is ``\b`` and then a letter or digit, and looks at no more than words before it."""
    bare = _BEHIND_WORDS.sub("", source)
    looks_back = "(?<" in bare or not {"^", r"\A"}.isdisjoint(_TOKEN.findall(bare))
    return bare.startswith(r"\b") and not looks_back and _first_is_in_word(bare.removeprefix(r"\b"))


def _first_is_in_word(source: str) -> bool:
    atom, quantifier = next(_atoms(source), ("", ""))
    if quantifier[:1] in ("?", "*") or quantifier.startswith(("{0", "{,")):
        return False
    if atom.startswith("(?:"):
        return all(map(_first_is_in_word, _alternatives(atom[3:-1])))
    return _IN_WORD.fullmatch(atom) is not None
