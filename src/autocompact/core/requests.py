"""What the user asked for, and what became of it.

A status is only given where the conversation shows it: the model closes a turn by saying that it is done, the user
thanks, corrects or withdraws, or the log ends in the middle of the turn. Everything else is unknown, because a
finished request that comes back as an open one makes the agent do it twice.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from autocompact.core.entries import Entry, State
from autocompact.core.scan import Said, Scan
from autocompact.core.wrapping import spoken

_CORRECTS = re.compile(
    r"(?:no\b(?!w)|nope\b|actually\b|instead\b|wait\b|sorry\b|i meant\b|not (?:as|like|in|the)\b|rather\b|hmm,? no\b"
    r"|that(?:'s| is) (?:wrong|not)|don't\b|nein\b|doch\b|stattdessen\b|falsch\b|eigentlich\b|non\b|plutôt\b|en fait\b"
    r"|en realidad\b|mejor\b|na verdade\b|anzi\b|нет\b|лучше\b|不对|不是|不要|应该|改成|其实|いや|違|ではなく|やっぱり|아니)"
    r"|.{0,120}\b(?:instead of|instead|change of plan|i changed my mind|changed requirement|correction)\b",
    re.IGNORECASE,
)
_WITHDRAWS = re.compile(
    r"(?:never ?mind|forget (?:it|that|about)|scrap that|cancel (?:that|it)|drop (?:that|it)\b|abandon|skip (?:that|it)\b"
    r"|vergiss|lass (?:das|es)\b|abbrechen|laisse tomber|olvídalo|esquece|lascia perdere|забудь|отмена|算了|取消|忘了|やめ|取り消|취소)",
    re.IGNORECASE,
)
_APPROVES = re.compile(
    r"(?:thanks|thank you|thx|perfect|great|awesome|nice|looks good|lgtm|works|that works|success\b(?!\S*\?)|yes,? that (?:was|is) it"
    r"|danke|super|passt|merci|parfait|gracias|perfecto|obrigad|grazie|perfetto|спасибо|отлично|谢谢|很好|ありがとう|完璧|감사)",
    re.IGNORECASE,
)
_COMPLETES = re.compile(
    r"\b(?:done|complete[d]?|implemented|fixed|finished|all (?:\d+ )?tests? pass|committed|pushed|created|updated|added"
    r"|merged|works now|resolved|removed|renamed|erledigt|fertig|abgeschlossen|umgesetzt|behoben|terminé|ajouté|corrigé"
    r"|listo|hecho|completado|feito|concluíd|fatto|completato|готово|выполнено|исправлено)|✅|完了|完成|已经|修复|しました|완료",
    re.IGNORECASE,
)
_LEAVES_OPEN = re.compile(
    r"\?\s*$|\b(?:should i|shall i|would you like|do you want|want me to|let me know (?:if|which|how)|not yet|still (?:need|fail|to)"
    r"|remaining|couldn't|could not|unable|blocked|soll ich|möchtest du|noch nicht|voulez-vous|¿)",
    re.IGNORECASE,
)
_CLOSING = 600
_OPENING = 1_500


@dataclass(slots=True)
class _Turn:
    """A request, and the words the model closed the turn with."""

    seq: int
    text: str
    closing: Said | None = None


def find_requests(found: Scan) -> list[Entry]:
    """The user's requests in order, verbatim, with what became of each."""
    turns = _turns(found)
    entries: list[Entry] = []
    for index, turn in enumerate(turns):
        after = turns[index + 1] if index + 1 < len(turns) else None
        state, evidence = _state(turn, after, last_seq=found.last_seq)
        corrected = state == "superseded"
        entries.append(
            Entry(
                kind="request",
                text=turn.text,
                seq=turn.seq,
                key=f"request {turn.seq}",
                state=state,
                state_seq=evidence,
                need=1.0 if after is None else 0.5 if corrected or state == "withdrawn" else 0.8,
            )
        )
    return entries


def _turns(found: Scan) -> list[_Turn]:
    turns: list[_Turn] = []
    for said in found.said:
        if said.by == "user":
            _request(turns, said)
        elif said.by == "assistant" and turns and said.text.strip():
            turns[-1].closing = said
    _reopen(turns, [call.seq for call in found.calls])
    return turns


def _request(turns: list[_Turn], said: Said) -> None:
    text = spoken(said.text)
    if text and turns and turns[-1].seq == said.seq:
        turns[-1].text += f"\n{text}"
    elif text:
        turns.append(_Turn(seq=said.seq, text=text))


def _reopen(turns: list[_Turn], calls: list[int]) -> None:
    """Words followed by another tool call of the same turn are no closing words."""
    starts = [turn.seq for turn in turns]
    for call in calls:
        turn = bisect_right(starts, call) - 1
        closing = turns[turn].closing if turn >= 0 else None
        if closing is not None and call >= closing.seq:
            turns[turn].closing = None


def _state(turn: _Turn, after: _Turn | None, *, last_seq: int) -> tuple[State, int]:
    if after is not None:
        opening = after.text[:_OPENING]
        if _WITHDRAWS.match(opening):
            return "withdrawn", after.seq
        if _CORRECTS.match(opening):
            return "superseded", after.seq
        if _APPROVES.match(opening):
            return "done", after.seq
    if turn.closing is None:
        return ("open", last_seq) if after is None else ("", 0)
    closing = turn.closing.text[-_CLOSING:]
    whole = turn.closing.text[:_OPENING]
    if not _LEAVES_OPEN.search(closing) and (_COMPLETES.search(closing) or _COMPLETES.search(whole)):
        return "done", turn.closing.seq
    return "", 0
