"""What speaks for and against a sentence of a user being a standing instruction: its cues, as bits of one number.

A cue is a class of words (`autocompact.ledger.cue_words`) and where it stands: anywhere, as the first word, or as the first
word of a later clause. What is quoted counts apart: it is nobody's rule. A sentence is read in one language, that of most of
its words; Chinese, Japanese and Korean together, and by what begins the sentence and what ends a clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from autocompact.ledger.cue_words import CHAT, WORDS

CLASSES = tuple(name for name in WORDS if name != "of")
SIGNS = (
    "number", "code", "quote", "quoted", "asks", "polite", "short", "long", "colon", "comma", "noun", "kinds",
    "english", "european", "eastern", "plain", "prohibits",
)  # fmt: skip
"""Facts about a sentence beside its words. ``quoted``: a quote in it has the words of a rule; ``noun``: nothing is known of its
first word but that it names something; ``kinds``: that is an English plural. Told by `autocompact.ledger.rules`: ``polite``, it
asks for what it orders; ``plain`` and ``prohibits``, it has the form of an order that lasts, or of a prohibition."""

SHORT, LONG = 5, 24
"""Words up to which a sentence is short, and from which on it is long."""

_SHORT_EAST, _LONG_EAST = 11, 61
"""The same in characters of Chinese, Japanese or Korean."""

LANGUAGES: Sequence[str] = ("en", "de", "fr", "es", "pt", "it", "ru")

BIT: Mapping[str, int] = {
    name: 1 << at
    for at, name in enumerate(
        (*CLASSES, *(f"^{name}" for name in CLASSES), *(f",{name}" for name in CLASSES), *SIGNS)
    )
}
"""The bit of each cue: "never" is a class anywhere, "^never" that of the first word, ",never" that of a later clause's."""

_FIRST, _LATER = len(CLASSES), 2 * len(CLASSES)
"""How far the bits of a class are shifted for what begins a sentence, and a later clause."""

_RULEFUL = sum(BIT[name] for name in ("dont", "none", "forbid", "oblige", "always", "only", "every"))
_NAMES = sum(
    BIT[name] for name in ("work", "style", "product", "standard", "policy", "unit", "date", "told", "plural")
)
_TOKEN = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*'?|[,;:—–(.!?]|%")
_QUOTE = re.compile(
    r"(?<!\w)'[^'\n]{8,600}'(?!\w)|\"[^\"\n]{2,}(?:\"|$)|“[^”\n]{2,}(?:”|$)|«[^»\n]{2,}(?:»|$)|„[^“”\n]{2,}(?:[“”]|$)"
    r"|「[^」\n]{2,}(?:」|$)|『[^』\n]{2,}(?:』|$)"
)
_CODE = re.compile(r"`[^`]*`?")
_ELIDED = re.compile(r"\b([ldjsnmtc]|qu)'(?=\w\w)")
"""French and Italian words that lose their end before another: "d'ici" is read as "d' ici"."""

_KINDS = re.compile(r"[a-z-]{3,40}[^su\W]s")
_EAST = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DIGIT_EAST = re.compile(r"\d|[一二三四五六七八九十百]")
_LEADS = frozenset(
    "ok okay so and but also btw hey hi oh well hmm then now please actually fyi note reminder just again anyway though pls"
    " und aber also bitte übrigens et mais donc alors bon y pero entonces bueno por favor e mas ma и но".split()
)
"""Words before the first one that counts."""

_JOINS = frozenset(
    "and but so then or und aber also oder et mais donc alors ou y pero o e mas ma и но а".split()
)
_ENDS_CLAUSE = frozenset(",;:—–(.!?")

_NOTHING: Mapping[str, int] = {}
_Phrases = Mapping[str, Sequence[tuple[Sequence[str], str, int]]]


def cues(sentence: str) -> int:
    """The cues of a sentence as bits of `BIT`, but for those that only `autocompact.ledger.rules` tells."""
    seen = 0
    if "`" in sentence:
        sentence, seen = _CODE.sub(" X ", sentence), BIT["code"]
    own = _QUOTE.sub(" ", sentence)
    if own != sentence:
        quoted = " ".join(quote[0] for quote in _QUOTE.finditer(sentence))
        seen |= BIT["quote"] | (BIT["quoted"] if _of_words(quoted) & _RULEFUL else 0)
    return seen | _of_marks(own) | _of_words(own)


def bits(names: Iterable[str]) -> int:
    """The bits of the cues with these names."""
    return sum(BIT[name] for name in names)


def _of_marks(text: str) -> int:
    seen = BIT["asks"] if text.rstrip("\"')` ").endswith(("?", "？")) else 0
    seen |= BIT["colon"] if ":" in text or "：" in text else 0
    return seen | (BIT["comma"] if "," in text or "，" in text or "、" in text else 0)


def _of_words(text: str) -> int:
    if not text.isascii() and _EAST.search(text):
        return _of_eastern(text)
    text = text.lower().replace("’", "'")
    tokens = _TOKEN.findall(_ELIDED.sub(r"\1' ", text) if "'" in text else text)
    words = [token for token in tokens if token not in _ENDS_CLAUSE]
    language, classes = _in_one_language(words)
    seen = BIT["english" if language == "en" else "european"] | _of_size(len(words), most=SHORT, least=LONG)
    left, starts, shift = iter(classes), True, _FIRST
    for token in tokens:
        if token in _ENDS_CLAUSE:
            starts = True
            continue
        found = next(left)
        seen |= found | (BIT["number"] if token[0].isdecimal() else 0)
        if starts and token not in _LEADS:
            seen |= found << shift | (_of_first(token, found, language=language) if shift == _FIRST else 0)
            starts, shift = False, _LATER
        else:
            starts = starts or token in _JOINS
    return seen


def _of_size(size: int, *, most: int, least: int) -> int:
    return BIT["short"] if size <= most else BIT["long"] if size >= least else 0


def _of_first(word: str, found: int, *, language: str) -> int:
    seen = 0 if found & ~_NAMES else BIT["noun"]
    return seen | (BIT["kinds"] if language == "en" and _KINDS.fullmatch(word) else 0)


def _of_eastern(text: str) -> int:
    seen = BIT["eastern"] | _of_size(len(text), most=_SHORT_EAST, least=_LONG_EAST)
    seen |= BIT["number"] if _DIGIT_EAST.search(text) else 0
    for pattern, at_end, bit in _eastern():
        if pattern.search(text):
            seen |= bit | (bit << _FIRST if pattern.match(text) else 0)
            seen |= bit << _LATER if at_end.search(text) else 0
    return seen


@cache
def _eastern() -> tuple[tuple[re.Pattern[str], re.Pattern[str], int], ...]:
    """Of each class what finds it, what finds it at the end of a clause, and its bit."""
    return tuple(
        (re.compile(words), re.compile(rf"(?:{words})(?:[。！!.、，,]|$)"), BIT[name])
        for name in CLASSES
        for words in (WORDS[name]["east"],)
    )


def _in_one_language(words: Sequence[str]) -> tuple[str, list[int]]:
    """The language of most of the words, and the classes of each in it."""
    known = [_known(word) for word in words]
    counts: dict[str, int] = dict.fromkeys(LANGUAGES, 0)
    for by_language in known:
        for language in by_language:
            counts[language] += 1
    language = max(counts, key=counts.__getitem__)
    found = [by_language.get(language, 0) for by_language in known]
    phrases = _phrases()
    for at, word in enumerate(words):
        for rest, of, bit in phrases.get(word, ()):
            if of == language and tuple(words[at + 1 : at + 1 + len(rest)]) == rest:
                found[at] |= bit
    return language, found


@lru_cache(maxsize=1 << 14)
def _known(word: str) -> Mapping[str, int]:
    """The classes of a word, by language."""
    words, stems = _words()
    if (found := words.get(word)) is not None:
        return found
    beginnings = (word[:end] for end in range(len(word), 2, -1))
    return next((stems[beginning] for beginning in beginnings if beginning in stems), _NOTHING)


@cache
def _words() -> tuple[Mapping[str, Mapping[str, int]], Mapping[str, Mapping[str, int]]]:
    """The classes of whole words, and of all words that begin so, each by language."""
    words: dict[str, dict[str, int]] = {}
    stems: dict[str, dict[str, int]] = {}
    for parts, language, bit in _table():
        if len(parts) == 1:
            table = stems if parts[0].endswith("*") else words
            known = table.setdefault(parts[0].rstrip("*"), {})
            known[language] = known.get(language, 0) | bit
    for short, long in CHAT.items():
        words.setdefault(short, {})["en"] = words[long]["en"]
    return words, stems


@cache
def _phrases() -> _Phrases:
    """Phrases by their first word: what follows it, the language, and the class."""
    found: dict[str, list[tuple[Sequence[str], str, int]]] = {}
    for (first, *rest), language, bit in _table():
        if rest:
            found.setdefault(first, []).append((tuple(rest), language, bit))
    return found


def _table() -> Iterable[tuple[Sequence[str], str, int]]:
    for name, by_language in WORDS.items():
        for language in LANGUAGES:
            for entry in by_language[language].split():
                parts = [part for part in _ELIDED.sub(r"\1'_", entry).split("_") if part]
                yield parts, language, BIT.get(name, 0)
