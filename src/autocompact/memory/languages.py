"""Words of German, French and Spanish for `meaning`, and which language a text is in.

What English relates by a few known words ("before", "from … to") other languages also say by cases and the order of
words. So two texts in another language say the same only if what carries something stands in the same order: a
repetition with other articles, spellings of figures or forms of a listed verb is found, anything else stays apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from autocompact.core.terms import STOP_WORDS, stem

Tongue: TypeAlias = Literal["english", "german", "french", "spanish", "other"]

ELISION = re.compile(r"(jusqu|lorsqu|puisqu|qu|[cdjlmnst])'(?=\w)")
"""What French leaves of a short word before a vowel."""


def fold(word: str) -> str:
    """``word`` in lower case without accents."""
    if word.isascii():
        return word.lower()
    return "".join(char for char in unicodedata.normalize("NFD", word.casefold()) if char.isalnum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the words of a language do; all folded.

    Attributes:
        light: they change nothing about what a note says.
        negations: they say no.
        limits: they say for how much a note holds.
        figures: figures in words. "One" is as often an article, and the French nine is also "new".
        forms: without their endings, forms of a verb, and verbs that say the same, to the first of them.
        signs: all words above, by which the language is known.
    """

    light: frozenset[str]
    negations: frozenset[str]
    limits: frozenset[str]
    figures: Mapping[str, str]
    forms: Mapping[str, str]
    signs: frozenset[str]


def _words(*, light: str, negations: str, limits: str, figures: str, forms: tuple[str, ...]) -> Words:
    numbered = dict(pair.split("=") for pair in figures.split())
    groups = [_folded(group) for group in forms]
    return Words(
        light=frozenset(_folded(light)),
        negations=frozenset(_folded(negations)),
        limits=frozenset(_folded(limits)),
        figures={fold(word): figure for word, figure in numbered.items()},
        forms={stem(word): stem(group[0]) for group in groups for word in group},
        signs=frozenset(_folded(" ".join([light, negations, limits, *numbered, *forms]))) - STOP_WORDS,
    )


def _folded(words: str) -> list[str]:
    return [fold(word) for word in words.split()]


OF: Mapping[Tongue, Words] = {
    "german": _words(
        light="der die das des dem den ein eine einen einem einer eines und oder ist sind war waren wird werden wurde"
        " hat haben es sie wir man ich im in am an auf bei beim mit von vom zu zum zur für durch aus dass daß auch"
        " dann immer bitte muss muß müssen soll sollen sollte sollten dieser diese dieses diesen hier da so sich sein",
        negations="nicht nichts nie niemals niemand nirgends kein keine keinen keinem keiner keines ohne weder",
        limits="nur außer bis sofern ausschließlich lediglich bloß mindestens höchstens",
        figures="zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12",
        forms=(
            "brauchen braucht benötigen benötigt erfordern erfordert",
            "verwenden verwende verwendet benutzen benutze benutzt nutzen nutze nutzt",
            "löschen lösche löscht entfernen entferne entfernt",
            "scheitern scheitert fehlschlagen",
            "minute minuten",
            "sekunde sekunden",
            "datei dateien",
            "ordner verzeichnis",
        ),
    ),
    "french": _words(
        light="le la les un une des du de d l et ou est sont était a ont il elle on nous vous au aux à en dans sur par"
        " pour avec ce cet cette ces que qui se sa son ses toujours doit doivent faut il y être ne devrait aussi alors",
        negations="pas jamais rien aucun aucune personne sans ni",
        limits="seulement uniquement sauf excepté hormis exclusivement jusque plus moins",
        figures="deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 dix=10 onze=11 douze=12",
        forms=(
            "utiliser utilise utilisez utilisent employer employez",
            "nécessiter nécessite nécessitent exiger exige exigent requérir requiert requièrent",
            "supprimer supprime supprimez effacer efface effacez",
            "modifier modifie modifiez",
            "lancer lance lancez exécuter exécute exécutez",
            "échouer échoue échouent",
            "dossier répertoire",
        ),
    ),
    "spanish": _words(
        light="el la los las un una unos unas de del al a y o es son era fue ha han se lo su sus en con por para que"
        " este esta estos estas ese esa siempre debe deben hay ser está están también entonces favor como",
        negations="nunca jamás sin ni nada nadie ningún ninguno ninguna tampoco",
        limits="solo sólo solamente únicamente excepto salvo hasta exclusivamente",
        figures="dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12",
        forms=(
            "usar usa usen utilizar utiliza utilice utilicen emplear",
            "necesitar necesita necesitan requerir requiere requieren",
            "borrar borra borre eliminar elimina elimine",
            "modificar modifica modifique editar edita edite",
            "ejecutar ejecuta ejecute",
            "fallar falla fallan",
            "carpeta directorio",
        ),
    ),
}


_SIGNS = frozenset[str]().union(*(known.signs for known in OF.values()))
# Signs that are English words too.
_DOUBTFUL = frozenset(
    "die war hat man so da bloss pour par sur son est des las con sin para ha as plus minute employer modifier".split()
)


def tongue(words: Iterable[str]) -> Tongue:
    """The language that most of the known words of a text are of.

    Args:
        words: those of the text.
    """
    text = " ".join(words).lower().replace("’", "'")
    lower = set(text.split(" "))
    if text.isascii() and "'" not in text and lower.isdisjoint(_SIGNS):
        return "english"
    folded = {fold(word) for word in lower}
    elided = sum(ELISION.match(word) is not None for word in lower)
    leads: dict[Tongue, int] = {
        name: _lead(folded, known, also=elided if name == "french" else 0) for name, known in OF.items()
    }
    leads["english"] = 0
    best = max(leads, key=lambda name: leads[name])
    return "other" if best == "english" and not text.isascii() and lower.isdisjoint(STOP_WORDS) else best


def _lead(words: set[str], known: Words, *, also: int) -> int:
    """By how much the signs of a language outweigh English words that it has not; below 0 if it has no signs."""
    found = words & known.signs
    if not found and not also:
        return -1
    # "A" may be the name of something.
    english = sum(len(word) > 1 for word in (words & STOP_WORDS) - known.light)
    return 2 * (len(found) + also - english) - len(found & _DOUBTFUL)
