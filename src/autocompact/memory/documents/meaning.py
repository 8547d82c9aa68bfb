"""Decides when two observations say the same.

A wrong merge loses what somebody noticed, a missed one only leaves two lines. So two texts are taken for the same only if
they are equal in their normal form (`key_of`): the same words in the same order, with the same figures, units and negations,
but for capitals, punctuation, plurals within an English sentence and a few words that change nothing. Texts that share most of
their words (`near_pairs`) are proposed to a person or a model as "same?".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.core.terms import terms

NEAR = 0.55
"""Share of common words (Dice coefficient) from which two texts are proposed as the same to a person."""
WORTH_JUDGING = 0.33
"""The same for a model, which is asked about many pairs at once and minds it less if they are different."""

Difference: TypeAlias = Literal["figure", "negation", ""]

_PAUSES = ",;:.!?，、。；：！？…"
_SPLIT = LazyPattern(rf"[{re.escape(_PAUSES)}]+(?=\s|\Z)|[，、。；：！？]+|[^\s，、。；：！？]+")
_FULL_WIDTH = {0xFF00 + code - 0x20: code for code in range(0x21, 0x7F)} | {0x3000: 0x20, 0x2019: 0x27}
_MARKS = "\"'`*“”„«»‹›‘"
_BRACKETS = ("()", "[]", "{}", "<>")
_THOUSANDS = LazyPattern(r"\d{1,3}(?:,\d{3})+")
_NOT = LazyPattern(
    r"(do|does|did|is|are|was|were|has|have|had|should|could|would|must|ca|wo)n't", re.IGNORECASE
)
_NEGATED = {"ca": "can", "wo": "will"}
_WORD = LazyPattern(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_VOWEL = LazyPattern(r"[aeiouy]")
_NO_PLURALS = frozenset(
    "always perhaps means glasses nichts links rechts alles customs goods arms windows works grounds savings contents"
    " manners thanks physics economics politics ethics species series teams rails slides".split()
)
"""Words that mean something else without their last letter, and products."""
_ENGLISH = frozenset(
    "is are be were must should would and or not of to for with by from when if it its that this these have can may"
    " need needs before after never always without only don't doesn't".split()
)
"""Words that a sentence has in English only. Elsewhere a last "s" is no plural ("debes", "tu lances", "montags")."""
_STRESSED = frozenset(
    "never always not no must only all any every don't do does before after first note important warning nie niemals immer"
    " nicht nur kein keine muss alle jamais toujours pas doit seulement nunca siempre debe solo sólo todo".split()
)
"""Words that people write in capitals for stress; other capitals are a name's ("WHO", "IT")."""
_PLACED = frozenset(
    "first then only later now just also finally zuerst erst dann nur auch jetzt später d'abord puis seulement aussi ensuite"
    " primero luego solo sólo después también".split()
)
"""Words for which a pause says what they go with: "build, first test", "build first, test"."""
_SHORTEST_PLURAL = 5
# Articles of other languages than English stay: in German they say who does what to whom ("der Frau hilft die Ärztin"), in
# French and Spanish they are pronouns as well ("el job las borra").
_LIGHT = frozenset("the a an please bitte".split())
_ARTICLES = frozenset("the a an".split())
_POLITE = frozenset("Sie Ihr Ihre Ihrem Ihren Ihrer Ihres Ihnen".split())
"""German words that mean somebody else in small letters: "das müssen Sie prüfen", "das müssen sie prüfen"."""
_BEFORE_AMOUNTS = frozenset("few little lot".split())
NEGATIONS = frozenset(
    "not no never none nor neither cannot without nicht nie niemals kein keine keinen keiner ohne pas jamais rien aucun"
    " aucune sans nunca jamás sin ningún ninguna não sem nunca non mai senza не нет никогда без".split()
)
_NEGATING = LazyPattern(r"不|没|沒|别|勿|ない|ません|なし|않|말|없")


@lru_cache(maxsize=1 << 15)
def key_of(text: str) -> str:
    """The normal form of ``text``: equal for texts that say the same in the same words and order.

    A text without any word is its own normal form.
    """
    words = list(_words(unicodedata.normalize("NFC", text).translate(_FULL_WIDTH)))
    return " ".join(words) or text


def key_of_label(text: str) -> str:
    """The normal form of a label, which is no sentence: its plurals count as English."""
    return " ".join(map(_singular, key_of(text).split(" ")))


def _words(text: str) -> Iterator[str]:
    """The normal forms of the words, and "," for a pause that may decide what is meant; "?" for a question."""
    tokens = [each for token in _SPLIT.findall(text) for each in _expanded(token)]
    lower = [token.lower() for token in tokens]
    is_english = not _ENGLISH.isdisjoint(lower)
    is_paused = not _PLACED.isdisjoint(lower) or any(map(_is_negation, lower))
    # words since a sentence began, and those of them that are kept
    since = kept = 0
    for place, token in enumerate(tokens):
        if token[0] in _PAUSES and not any(map(str.isalnum, token)):
            if "?" in token or (is_paused and place + 1 < len(tokens)):
                yield "?" if "?" in token else ","
            if token[0] not in ",;，、；":
                since = kept = 0
            continue
        since += 1
        before, after = tokens[place - 1 : place], tokens[place + 1 : place + 2]
        is_amount = bool(after) and after[0].lower() in _BEFORE_AMOUNTS
        # A capital letter alone is a name ("copy A to B"); after the first word an article makes that a verb: "polish the texts".
        if (
            lower[place] in _LIGHT
            and token != "A"
            and not is_amount
            and (kept != 1 or lower[place] not in _ARTICLES)
        ):
            continue
        # A capital within a sentence makes a name of a word ("use Go", "ask May"), one at its beginning says nothing.
        is_name = token[0].isupper() and token[1:].islower() and (since > 1 or token in _POLITE)
        is_counted = bool(before) and before[0][-1:].isdigit()
        # At the beginning nobody can tell a plural from a product: "Pages builds".
        folds = is_english and kept > 0
        yield _normal(
            token, as_it_is=is_name or is_counted, is_english=is_english or "the" in lower, folds=folds
        )
        kept += 1


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


def _normal(token: str, *, as_it_is: bool, is_english: bool, folds: bool) -> str:
    """The word without its capitals, and without its plural if it ``folds``.

    A comma is a decimal point elsewhere: only English figures lose it.
    """
    if is_english and _THOUSANDS.fullmatch(token):
        return token.replace(",", "")
    # The capitals of units ("Mb", "MB"), options, identifiers, single letters and initials ("US") mean something.
    if as_it_is or len(token) < 2 or not _WORD.fullmatch(token):
        return token
    if not (token[1:].islower() or token.lower() in _STRESSED):
        return token
    return _singular(token.lower()) if folds else token.lower()


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
"""Texts that may have a word in common for it to lead from one to another: a word of more says little."""
_STEM = 6
"""Letters that stand for a word, in any language: "scheitert" and "Scheitern", "sauvegarder" and "sauvegardée"."""
_FUNCTION = frozenset(
    "der die das den dem des ein eine einen einem einer ist sind zu zum zur im in am an auf mit und oder nicht fur von vor nach"
    " bei nur muss mussen soll sollen darf durfen werden wird immer nie niemals le la les l un une des du de d a au aux est sont et"
    " ou ne n pas dans pour par avec sur doit doivent faut il jamais toujours el los las al del es son y o no se en con por para"
    " sin hay que debe deben nunca siempre".split()
)
"""Words of German, French and Spanish that say little, as `terms` has them."""
_KATAKANA = LazyPattern(r"[ァ-ヺー]+")
_HAN = LazyPattern(r"[㐀-䶿一-鿿豈-﫿]")


def _words_of(text: str) -> frozenset[str]:
    """The words that make two texts near: without function words and endings; Chinese characters, and runs of katakana.

    Pairs of characters, by which one searches, tell an order of words; what is near may have another.
    """
    found = [term for term in terms(text) if term not in _FUNCTION] or terms(text)
    if not text.isascii():
        own = (*_KATAKANA.findall(text), *_HAN.findall(text))
        if own:
            found = [term for term in found if not "\u3040" <= term[0] <= "\u9fff"]
            found += own
    return frozenset(term[:_STEM] if term.isalpha() else term for term in found)


def near_pairs(texts: Sequence[str], *, least: float = NEAR) -> Iterator[tuple[int, int, float]]:
    """The pairs among ``texts`` that share words and have different normal forms: their positions, in order, and the share.

    Args:
        texts: any number.
        least: the share from which on.
    """
    found = [_words_of(text) for text in texts]
    counts = Counter(word for each in found for word in each)
    by_word: dict[str, list[int]] = {}
    for later, told in enumerate(found):
        shared: Counter[int] = Counter()
        for word in told:
            if counts[word] <= _MOST_COMMON:
                shared.update(by_word.get(word, ()))
                by_word.setdefault(word, []).append(later)
        for earlier in sorted(shared):
            share = _share(found[earlier], told)
            if share >= least and key_of(texts[earlier]) != key_of(texts[later]):
                yield earlier, later, share


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0


def near_to(text: str, others: Iterable[str]) -> Iterator[str]:
    """Yield those of ``others`` that share most of their words with ``text``."""
    told = _words_of(text)
    return (other for other in others if _share(told, _words_of(other)) >= NEAR)


def difference(one: str, other: str) -> Difference:
    """In what two texts that are near differ, as far as that can be told without a reader: a figure, or else a negation."""
    figures = [re.findall(r"\d+(?:[.,:]\d+)*", text) for text in (one, other)]
    if figures[0] != figures[1]:
        return "figure"
    return "negation" if (_negations(one) - _negations(other)) % 2 else ""


def _negations(text: str) -> int:
    words = key_of(text).split()
    return sum(word in NEGATIONS for word in words) + len(_NEGATING.findall(text))
