"""Decides when two observations say the same.

A wrong merge loses what somebody noticed, a missed one only leaves two lines. So two texts are taken for the same only if
they are equal in their normal form (`key_of`): the same words in the same order, with the same figures, units and negations,
but for capitals, punctuation, English plurals and a few words that change nothing. Texts that share most of their words
(`near_pairs`) are proposed to a person or a model as "same?".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from autocompact.core.terms import terms

NEAR = 0.6
"""Share of common terms (Dice coefficient) from which two texts are proposed as the same."""

Difference: TypeAlias = Literal["figure", "negation", ""]

_PAUSES = ",;:.!?，、。；：！？…"
_SPLIT = re.compile(rf"[{re.escape(_PAUSES)}]+(?=\s|\Z)|[，、。；：！？]+|[^\s，、。；：！？]+")
_FULL_WIDTH = {0xFF00 + code - 0x20: code for code in range(0x21, 0x7F)} | {0x3000: 0x20, 0x2019: 0x27}
_MARKS = "\"'`*“”„«»‹›‘"
_BRACKETS = ("()", "[]", "{}", "<>")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_NOT = re.compile(
    r"(do|does|did|is|are|was|were|has|have|had|should|could|would|must|ca|wo)n't", re.IGNORECASE
)
_NEGATED = {"ca": "can", "wo": "will"}
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_VOWEL = re.compile(r"[aeiouy]")
_NO_PLURALS = frozenset("always perhaps means glasses nichts links rechts alles".split())
_SHORTEST_PLURAL = 5
# Articles of other languages than English stay: in German they say who does what to whom ("der Frau hilft die Ärztin"), in
# French and Spanish they are pronouns as well ("el job las borra").
_LIGHT = frozenset("the a an please bitte".split())
_POLITE = frozenset("Sie Ihr Ihre Ihrem Ihren Ihrer Ihres Ihnen".split())
"""German words that mean somebody else in small letters: "das müssen Sie prüfen", "das müssen sie prüfen"."""
_BEFORE_AMOUNTS = frozenset("few little lot".split())
NEGATIONS = frozenset(
    "not no never none nor neither cannot without nicht nie niemals kein keine keinen keiner ohne pas jamais rien aucun"
    " aucune sans nunca jamás sin ningún ninguna não sem nunca non mai senza не нет никогда без".split()
)
_NEGATING = re.compile(r"不|没|沒|别|勿|ない|ません|なし|않|말|없")


@lru_cache(maxsize=1 << 15)
def key_of(text: str) -> str:
    """The normal form of ``text``: equal for texts that say the same in the same words and order.

    A text without any word is its own normal form.
    """
    words = list(_words(unicodedata.normalize("NFC", text).translate(_FULL_WIDTH)))
    return " ".join(words) or text


def _words(text: str) -> Iterator[str]:
    """The normal forms of the words. A pause stays where it is a question, or beside a negation, which it may end."""
    tokens = [each for token in _SPLIT.findall(text) for each in _expanded(token)]
    begins = True
    for place, token in enumerate(tokens):
        if token[0] in _PAUSES and not any(map(str.isalnum, token)):
            near = (*tokens[max(0, place - 1) : place], *tokens[place + 1 : place + 2])
            is_inner = place + 1 < len(tokens)
            if "?" in token or (is_inner and any(_is_negation(each.lower()) for each in near)):
                yield token
            begins = begins or token[0] not in ",;，、；"
            continue
        before, after = tokens[place - 1 : place], tokens[place + 1 : place + 2]
        is_amount = bool(after) and after[0].lower() in _BEFORE_AMOUNTS
        # A capital letter alone is a name: "copy A to B".
        if token.lower() in _LIGHT and token != "A" and not is_amount:
            continue
        # A capital within a sentence makes a name of a word ("use Go", "ask May"), one at its beginning says nothing.
        is_name = token[0].isupper() and token[1:].islower() and (not begins or token in _POLITE)
        yield _normal(token, as_it_is=is_name or (bool(before) and before[0][-1:].isdigit()))
        begins = False


def _is_negation(word: str) -> bool:
    return word in NEGATIONS or _NEGATING.search(word) is not None


def _expanded(token: str) -> Iterator[str]:
    """A token without quotation marks and brackets around it, pauses at its end and contractions as tokens of their own."""
    token = token.strip(_MARKS)
    end = len(token.rstrip(_PAUSES))
    token, pause = token[:end].strip(_MARKS), token[end:]
    for opening, closing in _BRACKETS:
        if closing not in token.strip(closing) and opening not in token[1:]:
            token = token.removeprefix(opening)
        if opening not in token:
            token = token.removesuffix(closing)
    if match := _NOT.fullmatch(token):
        yield _NEGATED.get(match[1].lower(), match[1])
        token = "not"
    elif token.lower() == "cannot":
        yield "can"
        token = "not"
    if token:
        yield token
    if pause:
        yield pause


def _normal(token: str, *, as_it_is: bool) -> str:
    if _THOUSANDS.fullmatch(token):
        return token.replace(",", "")
    # The capitals of units ("Mb", "MB"), options, identifiers, single letters and initials ("US") mean something.
    if as_it_is or len(token) < 2 or not _WORD.fullmatch(token):
        return token
    if not (token[1:].islower() or (token.isupper() and len(token) > 2)):
        return token
    return _singular(token.lower())


def _singular(word: str) -> str:
    is_plural = (
        len(word) >= _SHORTEST_PLURAL
        and word.endswith("s")
        and not word.endswith(("ss", "us", "is", "'s"))
        and word not in _NO_PLURALS
        and word.isascii()
        and _VOWEL.search(word[:-1])
    )
    if not is_plural:
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses")) else word[:-1]


# What is nearly the same


_MOST_COMMON = 64
"""Texts that may have a term in common for it to lead from one to another: a term of more says little."""


def near_pairs(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The pairs among ``texts`` that share most of their terms and have different normal forms, by position, in order."""
    found = [frozenset(terms(text)) for text in texts]
    counts = Counter(term for each in found for term in each)
    by_term: dict[str, list[int]] = {}
    for later, told in enumerate(found):
        shared: Counter[int] = Counter()
        leading = [term for term in told if counts[term] <= _MOST_COMMON]
        for term in leading:
            shared.update(by_term.get(term, ()))
            by_term.setdefault(term, []).append(later)
        for earlier in sorted(shared):
            if is_near(found[earlier], told) and key_of(texts[earlier]) != key_of(texts[later]):
                yield earlier, later


def is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two sets of terms have enough in common."""
    return 2 * len(one & other) >= NEAR * (len(one) + len(other)) > 0


def near_to(text: str, others: Iterable[str]) -> Iterator[str]:
    """Yield those of ``others`` that share most of their terms with ``text``."""
    told = frozenset(terms(text))
    return (other for other in others if is_near(told, frozenset(terms(other))))


def difference(one: str, other: str) -> Difference:
    """In what two texts that are near differ, as far as that can be told without a reader: a negation, or a figure."""
    first, second = _negations(one), _negations(other)
    if (first - second) % 2:
        return "negation"
    figures = [re.findall(r"\d+(?:[.,:]\d+)*", text) for text in (one, other)]
    return "figure" if figures[0] != figures[1] else ""


def _negations(text: str) -> int:
    words = key_of(text).split()
    return sum(word in NEGATIONS for word in words) + len(_NEGATING.findall(text))
