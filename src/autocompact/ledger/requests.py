"""What the user asked for, and what became of it.

A status is only given where the conversation shows it: the model closes a turn by saying that it is done, the user
thanks, corrects or withdraws, or the log ends in the middle of the turn. Everything else is unknown, because a
finished request that comes back as an open one makes the agent do it twice; where the model closed the turn with other
words, the message that has them is told.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct

from autocompact.core.redacted import EMPTY, edited, filled, joined
from autocompact.core.redaction import Redacted
from autocompact.core.spoken import spoken
from autocompact.core.terms import terms
from autocompact.ledger.courtesies import is_acknowledgement, is_greeting, is_offer, proposes
from autocompact.ledger.entries import ASKERS, Entry, State
from autocompact.ledger.questions import question_of
from autocompact.ledger.reactions import OPENING, finishes, reactions
from autocompact.ledger.scan import Said, Scan

MENTIONED = 0.6
"""Share of the terms of a thing that a request must hold to speak of it."""

LOOK_BACK = 50
"""Requests that are looked through for the one that speaks of a thing."""


class _Turn(Struct):
    """A request, the words the model closed the turn with, and what an earlier ledger knew of it.

    Attributes:
        about: who asked, if not the user (`ASKERS`), or the question that the user answers.
        is_offered: the model had offered help in general, so that there is nothing that a yes agrees to.
        works: the model called a tool in it.
        is_courtesy: it asks for nothing.
    """

    seq: int
    text: Redacted
    closing: Said | None = None
    known: tuple[State, int] = ("", 0)
    about: Redacted = EMPTY
    is_offered: bool = False
    works: bool = False
    is_courtesy: bool = False


def find_requests(found: Scan, *, earlier: Iterable[Entry] = ()) -> list[Entry]:
    """The user's requests in order, verbatim, with what became of each; ``earlier`` ones may be settled only now."""
    turns = [
        _Turn(seq=e.seq, text=e.text, known=_no_longer_open(e.state, e.state_seq), about=e.where)
        for e in earlier
    ]
    _add_turns(turns, found)
    told = _told(turns)
    entries: list[Entry] = []
    asking = [index for index, turn in enumerate(turns) if not turn.is_courtesy]
    for index in asking:
        turn, is_last = turns[index], index == asking[-1]
        # what a courtesy followed is no longer under way
        under_way = index == len(turns) - 1
        state, evidence = told.get(index) or _settled(turn, is_last=under_way, last_seq=found.last_seq)
        entries.append(
            Entry(
                kind="request",
                text=turn.text,
                seq=turn.seq,
                key=filled("request {}", turn.seq),
                state=state,
                state_seq=evidence,
                where=turn.about,
                need=1.0 if is_last else 0.5 if state in ("superseded", "withdrawn") else 0.8,
            )
        )
    return entries


def _no_longer_open(state: State, evidence: int) -> tuple[State, int]:
    """What was under way when an earlier ledger was made need not be so now."""
    return ("", 0) if state == "open" else (state, evidence)


def _add_turns(turns: list[_Turn], found: Scan) -> None:
    for said in found.said:
        if said.by in ("user", "lead", "reply"):
            _request(turns, said)
        elif said.by == "assistant" and turns and said.text.strip():
            turns[-1].closing = said
    _reopen(turns, [call.seq for call in found.calls if not call.ends])
    _add_questions(turns)
    _mark_courtesies(turns)


def _request(turns: list[_Turn], said: Said) -> None:
    text = edited(said.text, spoken)
    if text and turns and turns[-1].seq == said.seq:
        turns[-1].text = joined("\n", (turns[-1].text, text))
    elif text:
        turns.append(_Turn(seq=said.seq, text=text, about=ASKERS.get(said.by, EMPTY)))


def _reopen(turns: list[_Turn], calls: list[int]) -> None:
    """Words followed by another tool call of the same turn are no closing words."""
    starts = [turn.seq for turn in turns]
    for call in calls:
        turn = bisect_right(starts, call) - 1
        closing = None
        if turn >= 0:
            turns[turn].works = True
            closing = turns[turn].closing
        if closing is not None and call >= closing.seq:
            turns[turn].closing = None


def _add_questions(turns: list[_Turn]) -> None:
    """Note what the user answers of the words that the turn before was closed with."""
    for before, turn in pairwise(turns):
        if before.closing is not None and not turn.about:
            question = question_of(before.closing.text, turn.text)
            turn.is_offered = is_offer(question)
            turn.about = EMPTY if turn.is_offered else question


def _mark_courtesies(turns: list[_Turn]) -> None:
    """Mark who greets, and who acknowledges words that closed a turn and asked and proposed nothing."""
    for before, turn in zip([None, *turns], turns, strict=False):
        turn.is_courtesy = not turn.about and (
            is_greeting(turn.text)
            or (is_acknowledgement(turn.text) and before is not None and _agrees_to_nothing(before, turn))
        )


def _agrees_to_nothing(before: _Turn, turn: _Turn) -> bool:
    """True if an acknowledgement follows words that leave nothing to do, and the model took it for no order."""
    closing = before.closing
    if closing is None or turn.works:
        return False
    if turn.is_offered:
        return True
    return not proposes(closing.text) and (turn.closing is not None or finishes(closing.text))


def _told(turns: list[_Turn]) -> dict[int, tuple[State, int]]:
    """What the user's later words say of each request, by its index; the last word counts."""
    told: dict[int, tuple[State, int]] = {}
    for index, turn in enumerate(turns[1:], start=1):
        for reaction in reactions(turn.text):
            about, before = reaction.about, turns[max(0, index - LOOK_BACK) : index]
            target = _mentioning(before, about) if about else None
            if target is not None:
                told[target + max(0, index - LOOK_BACK)] = (reaction.state, turn.seq)
            elif reaction.else_previous:
                told[_asked_before(turns, index)] = (reaction.state, turn.seq)
    return told


def _asked_before(turns: list[_Turn], index: int) -> int:
    """The request right before that at ``index``, courtesies left out where there is one before them."""
    before = range(index - 1, max(-1, index - 1 - LOOK_BACK), -1)
    return next((at for at in before if not turns[at].is_courtesy), index - 1)


def _mentioning(turns: list[_Turn], about: frozenset[str]) -> int | None:
    """The request that speaks most of these terms, the latest of equals; None if none speaks of most of them."""
    shares = [
        (len(about.intersection(terms(turn.text[:OPENING]))), index) for index, turn in enumerate(turns)
    ]
    most, index = max(shares)
    return index if most >= MENTIONED * len(about) else None


def _settled(turn: _Turn, *, is_last: bool, last_seq: int) -> tuple[State, int]:
    """What the turn itself shows: the model said that it is done, or is still at it."""
    if turn.closing is None:
        return ("open", last_seq) if is_last and not turn.known[0] else turn.known
    if finishes(turn.closing.text):
        return "done", turn.closing.seq
    # of an answer that is the next message nobody needs to be told where it stands
    return ("", turn.closing.seq) if turn.closing.seq > turn.seq + 1 else turn.known
