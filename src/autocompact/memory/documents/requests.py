"""Tells tasks from the other requests of a session.

"Yes", "go on", "commit this", "option 3": what is to be done stands somewhere else, and nobody who reads DONE.md a month
later can tell. A request is a task if it has two words at least that say something, whatever the language; words of
assent, thanks and going on say nothing, nor do plain figures and words such as "this" and "step".
"""

from __future__ import annotations

from functools import lru_cache

from autocompact.core.patterns import LazyPattern
from autocompact.core.terms import terms

_LEAST = 2
_NAMED = LazyPattern(r"\b[A-Za-z]+-\d+\b|\b\d+\.\d+\b")
"""Names of tickets and versions."""
_OPENING = 400
"""Characters that are looked at."""
_EMPTY = (
    "yes yeah yep yup no nope ok okay k sure fine right correct exactly agreed alright indeed maybe hmm oh ah wow yo hi hello hey",
    "good great perfect nice cool awesome excellent lgtm looks sounds seems works working thanks thank thx ty cheers lot much sorry",
    "go going ahead on continue proceed resume carry keep retry try again next more now stop wait hold done finished ready",
    "please really very quite just simply actually basically also still already currently there here these those them they we you me my your ours all any every when while how what who why where want need must",
    "this that it one thing stuff step task option point item part number idea mean think know see say said ask question do let get give",
    "bitte mach mache ja jo jup nein gut genau passt super danke weiter los nochmal stimmt richtig klar gern gerne hallo toll prima fertig",
    "oui ouais non merci parfait continuer continuez vas y allez accord bien bonjour encore exact voilà fais faites",
    "sí si vale gracias perfecto continúa continuar sigue seguir adelante bien hola dale claro otra vez hazlo",
    "sim não obrigado obrigada perfeito certo ótimo grazie sì perfetto va bene vai avanti continua fallo",
    "да нет спасибо продолжай продолжайте отлично хорошо давай ладно сделай это",
    "是 是的 好 好的 对 行 可以 继续 谢谢 没问题 请 はい いいえ お願いします 続けて ありがとう ありがとうございます 了解 いいです",
    "네 예 응 아니 좋아 좋아요 계속 계속해 계속해줘 감사합니다 고마워",
)


def is_task(request: str) -> bool:
    """True if a request of a user says what is to be done."""
    return says_something(request)


def says_something(text: str, *, besides: str = "") -> bool:
    """True if the beginning of ``text`` has two words that say something; those of ``besides`` say nothing either."""
    opening = text[:_OPENING]
    named = {name.lower() for name in _NAMED.findall(opening)}
    empty = _saying_nothing() | _forms(besides)
    return len(({*terms(opening)} - empty | named) - _figures(opening)) >= _LEAST


def _figures(text: str) -> set[str]:
    return {term for term in terms(text) if term.isdecimal()}


def _saying_nothing() -> frozenset[str]:
    return _forms(" ".join(_EMPTY))


@lru_cache(maxsize=4)
def _forms(words: str) -> frozenset[str]:
    """The words as they stand, and as terms."""
    return frozenset(form for word in words.split() for form in (word, *terms(word)))
