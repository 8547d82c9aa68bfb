"""Notes of what was said: a clause without the words that a reader of notes does not miss.

"I've actually been working as a freelance graphic designer" becomes "working as freelance graphic designer". Names, numbers,
negations, modal verbs, prepositions and whom it is about stay, and the order of the words: a note says less, never
something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from autocompact.core.patterns import LazyPattern
from autocompact.core.terms import terms
from autocompact.ledger.common_words import COMMON, DROPPED, JOINING, NUMBER_WORDS, TELLING

_HEDGES: Mapping[str, LazyPattern] = {
    "en": LazyPattern(
        r"\b(?:i (?:think|believe|guess|suppose|mean|feel like|must say|have to say|found that|noticed(?: that)?|realized(?: that)?|should mention(?: that)?|wanted to (?:say|mention)(?: that)?)"
        r"|you (?:know|see)|to be (?:honest|fair|clear|frank)|(?:as|like) (?:you (?:might|may) (?:recall|know|remember)|i (?:said|mentioned)(?: before| earlier)?)|by the way|in fact|of course|as well|in general"
        r"|at this point|at the moment|these days|right now|for what it's worth|needless to say|it turns out(?: that)?|a (?:bit|little|tad)(?= \w)|(?:kind|sort) of|more or less|or (?:so|something)|to say the least"
        r"|i(?:'d| would) (?:love|like) to (?:say|mention|add)|i have to admit|the fact that|in order(?= to\b)|when it comes to|as far as|no doubt|all in all|i know|i remember|one of the things?)\b,?",
        re.IGNORECASE,
    ),
    "de": LazyPattern(
        r"\b(?:ich (?:glaube|denke|finde|meine|schätze),?(?: dass)?|weißt du|ehrlich gesagt|im grunde|unter anderem|ein bisschen|ein wenig|so etwas wie|auf jeden fall)\b,?",
        re.IGNORECASE,
    ),
    "fr": LazyPattern(
        r"\b(?:je (?:pense|crois|trouve|dirais) qu[e']|tu sais|vous savez|pour être honnête|en fait|en effet|bien sûr|un peu|à vrai dire|par ailleurs|d'ailleurs)(?:\b|(?<='))\s*,?",
        re.IGNORECASE,
    ),
    "es": LazyPattern(
        r"\b(?:(?:yo )?(?:creo|pienso|diría) que|sabes|la verdad(?: es que)?|de hecho|por supuesto|un poco|en realidad|por cierto|o sea)\b,?",
        re.IGNORECASE,
    ),
}
_HAVE_DONE = LazyPattern(r"\b(?:i|we|you|they)(?:'ve| have)(?: \w+ly)?(?= (?:been|\w+(?:ed|en|wn)|had|got|done|made|put|set|seen|met|found|bought|lost)\b)", re.IGNORECASE)  # fmt: skip
_WORD = LazyPattern(r"\S+")
_FILLERS: Mapping[str, LazyPattern] = {
    "zh": LazyPattern(r"(?:其实|真的|说实话|老实说|我觉得|我认为|我想说|就是说|对了|总的来说|的话(?=[,,]))[,,]?|[吧呢啊哦嗯呀啦](?=[,,。!!]|$)|哈{2,}"),
    "ja": LazyPattern(r"(?:実は|本当に|とても|すごく|なんか|まあ|えっと|ちなみに|そういえば)、?|(?:んです|です|ます)?(?:よね|ね|よ)(?=[。、!!]|$)|と思います(?=[。、!!]|$)"),
}  # fmt: skip
"""What says nothing, in languages that are written without spaces."""

_EDGE = "\"'“”‘’()[],.;:!?…*_"
_LOOSE = LazyPattern(
    r"^(?:(?:i|and|but|so|or|because|since|as|to|of|for|with|und|aber|oder|denn|et|mais|ou|car|y|e|pero|o)\s+)+(?=\S)"
    r"|(?:\s+(?:and|but|so|or|that|which|to|of|for|with|in|at|as|und|aber|oder|et|mais|ou|y|pero|o))+$",
    re.IGNORECASE,
)


_PASSIVE = ("was", "were")
_DONE = LazyPattern(r"(?:\wed|wn|[aeiou]ken|tten)$")
"""A participle, which tells by itself that it is past."""

_BINDS = LazyPattern(
    r".*n't|not|no|never|none|nobody|neither|nor|hardly|rarely|barely|seldom|almost|except|unable|failed|quit|stopped|refused|cannot|without|would|could|might|may|should|must|nicht|nie|niemand|kaum|selten|außer|kein\w*|soll\w*|könnte\w*|würde\w*|muss|müsste|kann|darf"
    r"|pas|jamais|sans|dois|devrait|pourrait|nunca|jamás|sin|debo|debería|podría"
)
"""What says nothing without the next word: "don't forget Plan B" must not become "don't Plan B"."""

_MARKS = ',.;:!?)]”"'
_SIGNS = ("—", "–", "-", "&", "+", "=", "→")
_DIGIT = LazyPattern(r"\d")
_DANGLING = {
    language: LazyPattern(rf"(?<!\S)(?:(?:{joining})[,;]?\s+)+(?=(?:{joining})(?:\s|[,;.]))", re.IGNORECASE)
    for language, joining in {
        "en": "and|or|but|in|on|at|for|from|by|with|than|through|across",
        "de": "und|oder|aber|in|im|an|am|auf|aus|bei|mit|von|für|zu|zum|zur|als",
        "fr": "et|ou|mais|à|au|aux|dans|en|sur|avec|pour|par",
        "es": "y|o|pero|a|al|en|con|por|para",
    }.items()
}
"""Prepositions whose noun went."""


def note(clause: str, *, language: str) -> str:
    """``clause`` as a note; as it is in a language whose fillers are not known (`DROPPED`).

    Args:
        clause: a sentence or a part of one.
        language: ISO 639-1 code.
    """
    if fillers := _FILLERS.get(language):
        return fillers.compiled.sub("", clause).strip() or clause
    if language not in DROPPED:
        return clause
    text = clause.replace("’", "'")
    if language == "en":
        text = _HAVE_DONE.compiled.sub("", text)
    text = _HEDGES[language].compiled.sub(" ", text)
    told = " ".join(_kept(_WORD.findall(text), language=language)).strip(" ,;:—–-")
    told = _DANGLING[language].sub("", told)
    return _LOOSE.sub("", _LOOSE.sub("", told)).strip(" ,;:—–-.!") or told


def _kept(words: Sequence[str], *, language: str) -> list[str]:
    """The words that a note keeps; the comma after one that is left out goes to the one before."""
    kept: list[str] = []
    for at, word in enumerate(words):
        if _tells(words, at, language=language):
            kept.append(word)
        elif word.endswith((",", ";")) and kept and not kept[-1].endswith((",", ";", ":")):
            kept[-1] += word[-1]
    return kept


def _tells(words: Sequence[str], at: int, *, language: str) -> bool:
    """Whether the word at ``at`` says something: a name, a number and what is counted, a thing, how they belong together."""
    bare = words[at].strip(_EDGE)
    lower = bare.lower()
    if not any(map(str.isalnum, bare)):
        return words[at] in _SIGNS
    if lower in _PASSIVE and _DONE.search(" ".join(words[at + 1 : at + 2]).strip(_EDGE)):
        return False
    if lower in JOINING[language] or lower.endswith("n't") or (bare.isupper() and len(bare) > 1):
        return True
    if lower in DROPPED[language]:
        return False
    if bare[0].isupper() and at:
        return True
    if at and _BINDS.fullmatch(words[at - 1].strip(_EDGE).lower()):
        return True
    if _ends_a_phrase(words, at, language=language):
        return True
    found = terms(bare)
    everyday = all(term in COMMON and term not in TELLING for term in found)
    return (
        not everyday or _has_figure(words[at - 1 : at] if at else ()) or _has_figure(words[at + 1 : at + 2])
    )


def _ends_a_phrase(words: Sequence[str], at: int, *, language: str) -> bool:
    """Whether a mark, a preposition or the end follows: "the sedimentation rate was" must not become "sedimentation was"."""
    if words[at][0] == "(" or words[at][-1] in _MARKS or at + 1 == len(words):
        return True
    after = words[at + 1].strip(_EDGE).lower()
    return after in JOINING[language] or after in ("is", "are")


def _has_figure(words: Sequence[str]) -> bool:
    return any(_DIGIT.search(word) or word.strip(_EDGE).lower() in NUMBER_WORDS for word in words)
