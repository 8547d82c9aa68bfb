"""Counts of confirmations as people write them: ``9 confirmations``, ``confirmed three times``, ``dreimal bestätigt``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

from autocompact.core.patterns import LazyPattern

Words: TypeAlias = Mapping[str, int]


def _numbered(words: str) -> Words:
    return {word: number for number, forms in enumerate(words.split(), 1) for word in forms.split("|")}


_WORDS: Words = {
    **_numbered("one two three four five six seven eight nine ten eleven twelve"),
    **_numbered("ein|eine|einer zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
    **_numbered("un|une deux trois quatre cinq six sept huit neuf dix onze douze"),
    # "once" is eleven in Spanish and one time in English: `read_number` looks at what follows.
    **_numbered("una dos tres cuatro cinco seis siete ocho nueve diez once doce"),
    **_numbered("un due tre quattro cinque sei sette otto nove dieci undici dodici"),
    **_numbered("um|uma dois|duas três quatro cinco seis sete oito nove dez onze doze"),
    **_numbered("один два|дважды три|трижды четыре пять шесть семь восемь девять десять"),
    **_numbered("once twice thrice"),
    "dozen": 12,
    "a dozen": 12,
}
"""Numbers as words, in the languages in which we know the word for a confirmation."""
_HAN: Words = {**dict(zip("一二三四五六七八九", range(1, 10), strict=True)), "两": 2, "兩": 2}
_TEN = "十"

_CONFIRMED = r"(?:confirm\w*|bestätig\w*|conferm\w*|подтвержд\w*|确认|確認|확인)"
_TIMES = r"(?:times|-?(?:fold|fach)|[x×]|mal|fois|veces|vezes|volte|раз|次|回|회)"
_BY_LENGTH = "|".join(sorted(_WORDS, key=len, reverse=True))
NUMBER = rf"(?:\d{{1,6}}|(?<!\w)(?:{_BY_LENGTH})(?=(?:mal|fach|fold)\b|\W|\Z)|[{''.join(_HAN)}{_TEN}]{{1,3}})"
"""A regular expression without groups for a number in figures or words, for use with ``re.IGNORECASE``."""
_COUNTS = (
    f"({NUMBER})\\s*(?:{_TIMES}\\s*)?{_CONFIRMED}",
    f"{_CONFIRMED}\\s*[:=：]?\\s*({NUMBER})(?![\\d-])\\s*{_TIMES}?",
    rf"\b(?:seen|observed)\s+({NUMBER})\s+times",
    r"\b(?:seen|observed)\s+(once|twice|thrice)\b",
)
COUNT = LazyPattern("|".join(_COUNTS), re.IGNORECASE)
"""Finds a count of confirmations; `counted` reads it."""
_BARE = "|".join(pattern.replace("(" + NUMBER + ")", NUMBER) for pattern in _COUNTS[:3])
_BEHIND = LazyPattern(
    rf"(?:\s[–—|·-]+\s+|[,;.:]\s+|\s*[，；。：、]\s*)(?!confirm\s)((?:{_BARE}|(?:seen|observed)\s+(?:twice|thrice)\b)[^–—()\[\]]*)[.*_\s]*\Z",
    re.IGNORECASE,
)
_ALONE = LazyPattern(
    rf"[共计計约約已]?({_BY_LENGTH}|[{''.join(_HAN)}{_TEN}]{{1,3}})(?:mal|fach|fold|[次回票人件遍度個个名번회])?",
    re.IGNORECASE,
)
CONFIRM = LazyPattern(f"{NUMBER}\\s*(?:{_TIMES}\\s*)?{_CONFIRMED}|{_CONFIRMED}", re.IGNORECASE)
"""Finds the word for confirmations, with the count before it."""
FIGURE = LazyPattern(
    rf"[x×]?\s?({NUMBER})(?:\s*{_TIMES})?(?:\s*{_CONFIRMED})?(?=\s*(?:\Z|[(（:,;.]|(?:across|in|over|über)\b))",
    re.IGNORECASE,
)
"""Matches a count that a field has as its value."""
_OCCASIONS = (
    "occasions?|people|persons?|users|reviewers|colleagues|runs|projects|gelegenheiten|personen|leuten|kollegen|läufen|projekten"
    "|reprises|personnes|utilisateurs|ocasiones|personas|usuarios"
)
# A count with a word beside it that only counts have, wherever it stands: "Users confirmed 5 times that it is slow".
_SURELY = LazyPattern(
    f"{NUMBER}\\s*{_TIMES}\\s*{_CONFIRMED}|(?!confirm\\s){_CONFIRMED}\\s*[:=：]?\\s*{NUMBER}\\s*{_TIMES}"
    rf"|(?!confirm\s){_CONFIRMED}\s+(?:once|twice|thrice)\b|\b(?:once|twice|thrice)\s+{_CONFIRMED}"
    rf"|(?!confirm\s){_CONFIRMED}\s+(?:on|at|by|in|bei|von|an|à|par|en|por)\s+{NUMBER}\s+(?:{_OCCASIONS})\b"
    rf"|{NUMBER}\s*(?:confirmations?|bestätigungen|confirmaciones|confirmações|conferme|подтверждени\w+)(?!\w)",
    re.IGNORECASE,
)
_VAGUE = "several|many|often|again|repeatedly|mehr\\w+|oft|plusieurs|souvent|varias|muchas|more|多|何度"
_MANY = LazyPattern(
    rf"[(（\[](?=[^()（）\[\]]*{_CONFIRMED})(?=[^()（）\[\]]*(?:\d|times|mal\b|fois|veces|vezes|volte|раз|[次回회]|{NUMBER}|{_VAGUE}))"
    r"[^()（）\[\]]*[)）\]][.*_\s]*\Z",
    re.IGNORECASE,
)
_STEMS = ("confirm", "bestätig", "conferm", "подтвержд", "确认", "確認", "확인")
_SEEN = ("seen ", "observed ")
_FAR = 80
"""Characters at the end of a text in which its confirmations are looked for."""
_NO_COUNT = frozenset("0 no none nil never yet keine keins aucune ninguna 无 無 なし - – — n/a".split())


def read_number(text: str, *, after: str = "") -> int:
    """The number that ``text``, which matches `NUMBER`, says.

    Args:
        text: figures or a word.
        after: what stands behind it, which tells the Spanish "once" from the English one.
    """
    word = text.lower()
    if word.isdecimal():
        return int(word)
    if word == "once" and after.lstrip().lower().startswith("vec"):
        return 11
    return _WORDS[word] if word in _WORDS else _han(word)


def number_in(token: str) -> int:
    """The number that a word alone says, by itself or with what counts behind it (``eight``, ``achtfach``, ``八回``); else 0."""
    match = _ALONE.fullmatch(token)
    return 0 if match is None else read_number(match[1])


def _han(text: str) -> int:
    tens, is_ten, ones = text.partition(_TEN)
    if not is_ten:
        return _HAN[tens[-1]]
    return _HAN.get(tens, 1) * 10 + _HAN.get(ones, 0)


def counted(match: re.Match[str]) -> int:
    """The count in a match of `COUNT` or `FIGURE`."""
    group = next(at for at, found in enumerate(match.groups(), 1) if found)
    return read_number(match[group], after=match.string[match.end(group) :])


def _may_count(text: str) -> bool:
    """True if a word for confirmations stands near the end of ``text``: the other searches take longer."""
    return _has(text[-_FAR:], *_STEMS, *_SEEN)


def _has(text: str, *words: str) -> bool:
    lower = text.lower()
    return any(word in lower for word in words)


def counts_in(text: str) -> bool:
    """True if ``text`` says somewhere how often something was confirmed or seen."""
    return _has(text, *_STEMS, *_SEEN) and COUNT.search(text) is not None


def find_behind(text: str) -> re.Match[str] | None:
    """The count at the end of ``text`` that a sign parts from the rest, as the only group of a match."""
    return _BEHIND.search(text, max(len(text) - _FAR, 0)) if _may_count(text) else None


def doubtful_count(text: str) -> str:
    """The words in ``text`` that count confirmations in a place or way in which nobody reads them, "" if there are none."""
    if not _has(text, *_STEMS):
        return ""
    match = _MANY.search(text) or _SURELY.search(text)
    return match[0].strip() if match else ""


def says_none(value: str) -> bool:
    """True if the value of a field says that there are no confirmations."""
    return _NO_COUNT.issuperset(value.lower().strip(" .*_").split())
