"""Exact token counts without tiktoken's index, for a process that counts little.

tiktoken indexes a vocabulary of 200,000 tokens before it counts the first text, which takes as long as counting three million
characters. So the first texts are counted here, from the ranks as they were read. The algorithm is the published one: a text
is cut into pieces by the encoding's pattern, and in each piece the two neighbours that make the token of the lowest rank
become one, until no two do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

_MOST_TEXT = 20_000
"""Characters of one text: it is cut in one call, which holds the interpreter for 3 ms then."""

_MOST = 600_000
"""Steps in all, of 0.2 µs: they take as long as the index takes to build. A character is one, and a merge one for each pair."""

_LONGEST_PIECE = 500
"""Characters of a piece that is no token: its merges take steps by the square of that."""

_NONE = 2**62
"""Higher than any rank: the two make no token."""

# Letters and digits of Latin-1; the signs beyond it that are counted here are neither.
_LATIN: Mapping[str, str] = {
    "Lu": "A-ZÀ-ÖØ-Þ",
    "Ll": "a-zµß-öø-ÿ",
    "Lo": "ªº",
    "Lt": "",
    "Lm": "",
    "M": "",
    "L": "A-Za-zªµºÀ-ÖØ-öø-ÿ",
    "N": "0-9²³¹¼½¾",
}
_CLASS = re.compile(r"\[[^\]]*\]|\\p\{\w+\}")
_CATEGORY = re.compile(r"\\p\{(\w+)\}")
_FOREIGN = re.compile(
    "[^\t\n\r -~\xa0-ÿ\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u23ff\u2500-\u2775\u2794-\u27bf]"
)
"""A character that `re` and tiktoken may not take for the same, or that is a letter or digit beyond Latin-1."""


class _TooLong(Exception):
    """Raised for a piece whose merges would take too many steps."""


class Pieces:
    """Counts tokens of short texts in Latin letters.

    Args:
        pattern: of the encoding, as tiktoken has it.
        ranks: of its tokens.
    """

    def __init__(self, pattern: str, ranks: Mapping[bytes, int]) -> None:
        self._cut = re.compile(_CLASS.sub(_in_latin, pattern)).findall
        self._ranks = ranks
        self._left = _MOST
        self._tokens = cache(self._merged)
        self._counted: dict[str, int] = {}
        """Texts, of which a quarter come again: a summary is weighed alone, in its message and in the receipt."""

    def count(self, text: str) -> int | None:
        """Tokens of ``text``; None if it is better counted by tiktoken, as are all that follow."""
        if (tokens := self._counted.get(text)) is not None:
            return tokens
        self._left -= len(text)
        if len(text) > _MOST_TEXT or self._left < 0 or _FOREIGN.search(text):
            return None
        try:
            tokens = self._counted[text] = sum(map(self._tokens, self._cut(text)))
        except _TooLong:
            return None
        return tokens

    def _merged(self, piece: str) -> int:
        """Tokens of ``piece``."""
        whole, ranks = piece.encode(), self._ranks
        if whole in ranks:
            return 1
        if len(piece) > _LONGEST_PIECE:
            raise _TooLong
        self._left -= len(piece) ** 2 // 2
        parts = [whole[at : at + 1] for at in range(len(whole))]
        # of each two neighbours; looked up anew only beside a merge
        pairs = [ranks.get(one + other, _NONE) for one, other in pairwise(parts)]
        while pairs and (lowest := min(pairs)) != _NONE:
            at = pairs.index(lowest)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del pairs[at]
            if at:
                pairs[at - 1] = ranks.get(parts[at - 1] + parts[at], _NONE)
            if at < len(pairs):
                pairs[at] = ranks.get(parts[at] + parts[at + 1], _NONE)
        return len(parts)


def _in_latin(found: re.Match[str]) -> str:
    r"""A class of characters for `re`, which knows no categories (``\p{Lu}``)."""
    letters = _CATEGORY.sub(lambda category: _LATIN[category[1]], found[0])
    return letters if letters.startswith("[") else f"[{letters}]"
