"""What words say about what was asked before: taken back, corrected, approved; and whether a reply finishes its task.

Word lists in the languages of `autocompact.core.language`. They are read where such words mean what they say: at the
beginning of a clause, after words like "okay" or "stop". A status that is not plain is not given: a finished request
that comes back as an open one is done twice, and one that is wrongly taken for withdrawn is never done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.terms import terms
from autocompact.ledger.entries import State

OPENING = 1_500
"""Characters of a message that are looked at, from its beginning and again, of a reply, from its end."""

_CLAUSES = 12
_CLAUSE = LazyPattern(r"[^.!?;:。！？；：\n]+(?:[.:](?=\S)[^.!?;:。！？；：\n]*)*[?？]?")
_LEAD = LazyPattern(
    r"(?:\W{0,3}\b(?:ok(?:ay)?|oh|h+m+|well|hey|stop|halt|wait|please|sorry|nope?|actually|and|but|so|also|then|just|let's"
    r"|bitte|ach|nein|moment|dann|und|aber|attends|stp|s'il (?:te|vous) plaît|non|et|espera|por favor|no|y|pero|aspetta"
    r"|per favore|e|não|espere|стоп|нет|подожди|пожалуйста|请|停|等一下|いや|待って|すみません|아니|잠깐)(?!\w)[\s,，、.!…—–-]{0,4})+",
    re.IGNORECASE,
)
_END = r"(?=\W{0,3}(?:$|[,，.。!！]|please|then|for now|again|instead|after all|bitte|doch|wieder|stp|por favor)|\s+(?:i|we|let|and|but)\b)"
_TAKES_BACK = LazyPattern(
    rf"(?:never ?mind(?! the)|(?:forget|scrap|cancel|drop|skip|abandon) (?:about )?(?:it|that|this|(?:all )?of that|everything){_END}"
    rf"|vergiss (?:das|es)\b{_END}|lass (?:das|es)\b|abbrechen|laisse tomber{_END}|oublie (?:ça|cela)|olvídalo|olvida eso|déjalo"
    rf"|esquece{_END}|deixa pra lá|lascia perdere{_END}|lascia stare|забудь(?: об этом)?{_END}|отмена|отменяется"
    r"|算了|取消吧|取消$|忘了吧|不用了|忘れて(?!い)|やめ(?:て|よう|ます)|取り消し|取り消して|취소|잊어)",
    re.IGNORECASE,
)
_NAMED = r"(?P<{}>[^,，;。\n]{{2,90}}?)"
_CUT = (
    r"(?=\W{0,3}$|[,，(]| (?:please|for now|from|because|since|and|but|then|instead|so|after all|any ?more|bitte|weil|und|aber"
    r"|parce|et|porque|y|perché|e|потому)\b)"
)
_TAKES_BACK_A_THING = LazyPattern(
    rf"(?:(?:forget|scrap|never ?mind|abandon) (?:about )?(?:the|that|this|my|those|these|all the)\s+{_NAMED.format('en')}{_CUT}"
    rf"|we (?:don't|do not|no longer) need (?:the|that|this|a|any)?\s*{_NAMED.format('en2')} (?:any ?more|after all)"
    rf"|(?:vergiss|lass) (?:das|den|die|dem)\s+{_NAMED.format('de')}(?: weg| sein)?{_CUT}|oublie (?:l[ae']|les)\s*{_NAMED.format('fr')}{_CUT}"
    rf"|laisse tomber (?:l[ae']|les)\s*{_NAMED.format('fr2')}{_CUT}|olvida (?:el|la|los|las)\s+{_NAMED.format('es')}{_CUT}"
    rf"|esque(?:ce|ça) (?:[oa]s?)\s+{_NAMED.format('pt')}{_CUT}|lascia perdere (?:il?|la|lo|le|gli)\s+{_NAMED.format('it')}{_CUT}"
    rf"|забудь (?:про|об?)\s+{_NAMED.format('ru')}{_CUT}|(?:不要|不用|不做|取消|忘掉){_NAMED.format('zh')}了"
    rf"|{_NAMED.format('ja')}は(?:やめ|なし|不要|要ら|取り消)|{_NAMED.format('ko')}[은는] ?(?:취소|필요 ?없))",
    re.IGNORECASE,
    needs=r"forget|scrap|mind|abandon|need|vergiss|la(?:ss|isse)|oublie|olvida|esque|lascia",
)
_CORRECTS_A_THING = LazyPattern(
    rf"\b(?:no|not|without|don't use|do not use)\s+(?:the\s+)?{_NAMED.format('en')} (?:after all|any ?more)\b"
    rf"|\binstead of\s+(?:the\s+)?{_NAMED.format('en2')}{_CUT}|\bdoch (?:keine?n?|nicht)\s+{_NAMED.format('de')}{_CUT}"
    rf"|\bfinalement pas (?:de |d')?{_NAMED.format('fr')}{_CUT}|\bal final no\s+{_NAMED.format('es')}{_CUT}|改为不用{_NAMED.format('zh')}(?=$|[，。])",
    re.IGNORECASE,
    needs=r"after all|any ?more|instead|doch|finalement|al final",
)
_CORRECTS = LazyPattern(
    r"(?:no\b(?!w| problem| worries| rush| need| idea| matter| hurry| doubt| objection| question)|nope\b|actually\b|instead\b"
    r"|wait\b(?! for| until| till)|sorry\b(?! for| to)|i meant\b|not (?:as|like|in|the)\b|rather\b|hmm,? no\b|that(?:'s| is) (?:wrong|not)"
    r"|don't\b(?! forget| worry| mind| hesitate)|nein\b|doch\b|stattdessen\b|falsch\b|eigentlich\b|non\b|plutôt\b|en fait\b"
    r"|en realidad\b|mejor\b|na verdade\b|anzi\b|нет\b|лучше\b|不对|不是|不要(?!.{2,30}了)|应该|改成|其实|いや|違|ではなく|やっぱり|아니)"
    r"|[^?？\n]{0,120}\b(?:instead\b(?! of)|change of plan|i changed my mind|changed requirement|correction\b)(?![^.!\n]{0,80}\?)",
    re.IGNORECASE,
)
_APPROVES = LazyPattern(
    r"(?:thanks|thank you|thx|perfect|great|awesome|nice|looks good|lgtm|works|that works|success\b(?!\S*\?)|yes,? that (?:was|is) it"
    r"|danke|super|passt|merci|parfait|gracias|perfecto|obrigad|grazie|perfetto|спасибо|отлично|谢谢|很好|ありがとう|完璧|감사)"
    r"(?![^.!?\n]{0,80}\b(?:but|however|except|although|aber|jedoch|mais|sauf|pero|salvo|mas|ma|però|но)\b|[^。！？\n]{0,40}(?:但|不过|けど|でも|하지만))",
    re.IGNORECASE,
)
_COMPLETES = LazyPattern(
    r"\b(?:done|complete[d]?|implemented|fixed|finished|all (?:\d+ )?tests? pass|committed|pushed|created|updated|added"
    r"|merged|works now|resolved|removed|renamed|erledigt|fertig|abgeschlossen|umgesetzt|behoben|terminé|ajouté|corrigé"
    r"|listo|hecho|completado|feito|concluíd|fatto|completato|готово|выполнено|исправлено)|✅|完了|完成|已经|修复|しました|완료",
    re.IGNORECASE,
)
_LEAVES_OPEN = LazyPattern(
    r"\?\s*$|\b(?:should i|shall i|would you like|do you want|want me to|let me know (?:if|which|how)|not yet|still (?:need|fail|to)"
    r"|remaining\b(?!\W{0,4}(?:none|nothing))|couldn't|could not|unable|blocked|soll ich|möchtest du|noch nicht|voulez-vous|¿)",
    re.IGNORECASE,
)
_BLOCKED = LazyPattern(
    r"(?<!no )(?<!non-)(?<!without )\bblocker\b(?! (?:is |was )?(?:fixed|resolved|removed|gone|cleared))",
    re.IGNORECASE,
)
_LISTS_OPEN = LazyPattern(
    r"^[ \t>*_#-]{0,8}(?:(?:still |left )?open(?: (?:points?|items?|questions?|issues?|tasks?))?|to ?-?do|remaining(?: \w+)?|pending|not (?:yet )?done"
    r"|missing|unfinished|what(?:'s| is) left|(?:noch )?offen(?:e punkte)?|ausstehend|fehlt noch|reste(?: à faire)?|en attente|pendientes?|falta"
    r"|pendentes?|in sospeso|da fare|осталось|не сделано|未完成|待办|剩余|残り|未対応|남은 (?:일|작업)|미완료)"
    r"[*_]{0,2}(?:[ \t]*[:：][*_]{0,2}(?!\W{0,4}(?:none|nothing|no\b|nichts|keine|rien|aucun|nada|ningun|nenhum|niente|nessun|ничего|нет|无|没有|なし|없음))"
    r"|[ \t]*$)|^[ \t]*[-*+] \[ \] \S",
    re.IGNORECASE | re.MULTILINE,
)
_VAGUE = frozenset(
    terms(
        "last first previous earlier other thing things stuff part point idea request task change one question rest whole"
        " plan approach work way bit please sache teil idee aufgabe frage chose partie idée cosa parte tarea"
    )
)


class Reaction(Struct, frozen=True, kw_only=True):
    """What a message makes of an earlier request.

    Attributes:
        state: what became of it.
        about: the terms of the thing that is named; empty: what was asked right before.
        else_previous: where no request speaks of that thing, it is about the one right before.
    """

    state: State
    about: frozenset[str] = frozenset()
    else_previous: bool = True


def reactions(text: str) -> tuple[Reaction, ...]:
    """What the user's words ``text`` make of earlier requests: at most one thing each is taken back or corrected."""
    opening = text[:OPENING]
    corrects = _CORRECTS.begins(opening)
    taken_back = next(_taken_back(opening, corrects=corrects), None)
    if taken_back is not None:
        return (taken_back,)
    thing = _CORRECTS_A_THING.search(opening) if _CORRECTS_A_THING.found_in(opening) else None
    if thing is not None and (about := _about(thing)):
        return (Reaction(state="superseded", about=about, else_previous=corrects),)
    if corrects:
        return (Reaction(state="superseded"),)
    return (Reaction(state="done"),) if _APPROVES.begins(opening) else ()


def finishes(reply: str) -> bool:
    """Whether a reply that ends a turn says that its task is done, and leaves nothing open."""
    beginning, last = reply[:OPENING], reply[-600:]
    # a short reply is its beginning and its end
    if (
        _LEAVES_OPEN.found_in(last)
        or _BLOCKED.search(beginning)
        or any(map(_LISTS_OPEN.found_in, {beginning, reply[-OPENING:]}))
    ):
        return False
    return any(map(_COMPLETES.found_in, {last, beginning}))


def _taken_back(opening: str, *, corrects: bool) -> Iterator[Reaction]:
    """Where a clause takes something back; "actually", "no" before a thing that is named corrects a part."""
    for clause in _CLAUSE.findall(opening)[:_CLAUSES]:
        lead = _LEAD.match(clause) if _LEAD.begins(clause) else None
        said = clause[lead.end() if lead else 0 :].strip()
        if said.endswith(("?", "？")):
            continue
        if _TAKES_BACK.begins(said):
            yield Reaction(state="withdrawn")
        elif _TAKES_BACK_A_THING.begins(said) and (thing := _TAKES_BACK_A_THING.match(said)):
            about = _about(thing)
            state: State = "superseded" if corrects else "withdrawn"
            yield Reaction(state=state, about=about, else_previous=not about)


def _about(match: re.Match[str]) -> frozenset[str]:
    named = next(filter(None, match.groups()))
    return frozenset(terms(named)) - _VAGUE
