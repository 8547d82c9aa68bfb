"""Notes of what was said: a clause without the words that a reader of notes does not miss.

"I've actually been working as a freelance graphic designer" becomes "working as freelance graphic designer". Names,
numbers, negations, modal verbs and prepositions stay, and the order of the words: a note says less, never something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from autocompact.core.patterns import LazyPattern
from autocompact.ledger.common_words import DROPPED

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
_WORD = re.compile(r"\S+")
_EDGE = "\"'“”‘’()[],.;:!?…*_"
_LOOSE = re.compile(
    r"^(?:(?:i|and|but|so|or|because|since|as|to|of|for|with|und|aber|oder|denn|et|mais|ou|car|y|e|pero|o)\s+)+(?=\S)"
    r"|(?:\s+(?:and|but|so|or|that|which|to|of|for|with|in|at|as|und|aber|oder|et|mais|ou|y|pero|o))+$",
    re.IGNORECASE,
)


def note(clause: str, *, language: str) -> str:
    """``clause`` as a note; as it is in a language whose fillers are not known (`DROPPED`).

    Args:
        clause: a sentence or a part of one.
        language: ISO 639-1 code.
    """
    dropped = DROPPED.get(language)
    if dropped is None:
        return clause
    text = clause.replace("’", "'")
    if language == "en":
        text = _HAVE_DONE.compiled.sub("", text)
    text = _HEDGES[language].compiled.sub(" ", text)
    kept: list[str] = []
    for word in _WORD.findall(text):
        bare = word.strip(_EDGE)
        if bare.lower() in dropped and not bare.isupper():
            _carry_comma(kept, word)
        elif bare or word in ("—", "–", "-", "&", "+", "=", "→"):
            kept.append(word)
    told = " ".join(kept).strip(" ,;:—–-")
    return _LOOSE.sub("", _LOOSE.sub("", told)).strip(" ,;:—–-.!") or told


def _carry_comma(kept: list[str], word: str) -> None:
    """The comma after a word that is left out goes to the one before."""
    if word.endswith((",", ";")) and kept and not kept[-1].endswith((",", ";", ":")):
        kept[-1] += word[-1]
