"""Terms: what a text is searched by.

Words lose their endings, so that "compacting" finds "compaction". An identifier is found whole and by its pieces:
``loadState``, ``load_state`` and ``LoadState`` all give ``load``, ``state`` and ``loadstate``. A path gives what
stands between its slashes and dots. Scripts written without spaces give pairs of characters, the usual way to search
Chinese, Japanese, Korean or Thai without a dictionary.

A word is looked at once and then remembered, so the cost of a text is about that of one `findall`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import pairwise

LONGEST = 80
"""Characters of the longest word that is searchable: longer runs are encoded data, not words."""

STOP_WORDS = frozenset(
    "a about after again all also am an and any are as at be been before being but by can could did do does doing"
    " for from had has have having he her here him his how i if in into is it its just me more most my no nor not"
    " now of off on once only or other our out over own same she should so some such than that the their them then"
    " there these they this those through to too under until up very was we were what when where which while who"
    " whom why will with would you your d doesn don isn ll m re s t ve".split()
)

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_HASH = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{7,}\Z")
_VOWEL = re.compile(r"[aeiouy]")
_MOST_PIECES = 8
_ENDINGS = ("ingly", "edly", "ing", "ed")
_SUFFIXES = (
    ("ational", "ate"),
    ("ization", "ize"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ation", "ate"),
    ("ment", ""),
    ("ness", ""),
    ("ally", "al"),
    ("ly", ""),
    ("ful", ""),
    ("ion", ""),
)
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1100, 0x11FF),  # Hangul letters
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x312F),  # Japanese syllables, Bopomofo
    (0x3400, 0x9FFF),  # Chinese characters
    (0xAC00, 0xD7AF),  # Hangul
    (0xF900, 0xFAFF),  # Chinese characters, compatibility forms
    (0x20000, 0x3FFFF),  # Chinese characters, rare ones
)


def terms(text: str) -> list[str]:
    """The terms of ``text`` in order, with repetitions, without function words; their case is folded, so lower but for Cherokee.

    Each is letters and digits only, so it can stand in a search index's query as it is.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [term for word in _WORD.findall(text) for term in _terms_of(word)]


def occurrences(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Positions of the terms ``wanted`` in ``text``: start and end of each word, in order, without overlaps."""
    found: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        for start, end in _places(match[0]):
            if not any(term in wanted for term in terms(match[0][start:end])):
                continue
            start, end = start + match.start(), end + match.start()
            if found and start < found[-1][1]:
                start = found.pop()[0]
            found.append((start, end))
    return found


def _places(word: str) -> Iterator[tuple[int, int]]:
    """The parts of a word that a term can stand for: the word, or pairs of characters written without spaces."""
    start = 0
    for end in range(1, len(word) + 1):
        if end == len(word) or _is_unspaced(word[end]) != _is_unspaced(word[start]):
            if _is_unspaced(word[start]) and end - start > 1:
                yield from ((at, at + 2) for at in range(start, end - 1))
            else:
                yield start, end
            start = end


@lru_cache(maxsize=1 << 16)
def _terms_of(word: str) -> tuple[str, ...]:
    if len(word) > LONGEST:
        return ()
    if not word.isascii():
        return _foreign(word)
    lower = word.lower()
    if lower in STOP_WORDS:
        return ()
    pieces = () if _HASH.match(lower) else tuple(_PIECE.findall(word))
    if not 1 < len(pieces) <= _MOST_PIECES:
        return (stem(lower.replace("_", "")),)
    parts = (stem(piece.lower()) for piece in pieces if piece.lower() not in STOP_WORDS)
    return (*parts, lower.replace("_", ""))


def _foreign(word: str) -> tuple[str, ...]:
    """Terms of a word that is not ASCII: runs of characters written without spaces, and what is between them."""
    found: list[str] = []
    start = 0
    for end in range(1, len(word) + 1):
        if end == len(word) or _is_unspaced(word[end]) != _is_unspaced(word[start]):
            found += _run(word[start:end])
            start = end
    return tuple(found)


def _run(run: str) -> tuple[str, ...]:
    if _is_unspaced(run[0]):
        return tuple(map("".join, pairwise(run))) or (run,)
    if run.isascii():
        return tuple(term for word in _WORD.findall(run) for term in _terms_of(word))
    decomposed = unicodedata.normalize("NFD", run.casefold())
    plain = "".join(char for char in decomposed if char.isalnum())
    return (stem(plain),) if plain else ()


def _is_unspaced(char: str) -> bool:
    code = ord(char)
    return code >= 0x0E00 and any(first <= code <= last for first, last in _UNSPACED)


def stem(word: str) -> str:
    """An English word in lower case without its ending; other words mostly stay as they are.

    A short form of Porter's algorithm ("An algorithm for suffix stripping", 1980): plural, past and -ing forms,
    then one suffix, then a final e; y becomes i.
    """
    if len(word) < 4 or not word.isalpha():
        return word
    word = _suffix(_past(_plural(word)))
    if word.endswith("e") and len(word) > 4:
        return word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _past(word: str) -> str:
    for ending in _ENDINGS:
        bare = word.removesuffix(ending)
        if len(bare) < len(word):
            if len(bare) < 3 or not _VOWEL.search(bare):
                return word
            doubled = len(bare) > 3 and bare[-1] == bare[-2] and bare[-1] not in "lsz"
            return bare[:-1] if doubled else bare
    return word


def _suffix(word: str) -> str:
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word.removesuffix(suffix) + instead
    return word
