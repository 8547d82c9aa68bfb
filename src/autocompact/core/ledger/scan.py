"""One pass over the messages: what was said, what was called, what came back, which names stood where.

Each message is redacted before anything else looks at it. Everything the ledger says is worked out from this; no other place walks over the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from autocompact.core.ledger.actions import Action, interpret
from autocompact.core.ledger.outcomes import Outcome, read_outcome
from autocompact.core.ledger.sightings import NoSightings, Piece, Sightings
from autocompact.core.ledger.stretches import readable
from autocompact.core.ledger.wrapping import unnumbered
from autocompact.core.messages import Message
from autocompact.core.pairing import Pairing, Place
from autocompact.core.redacted import (
    EMPTY,
    RedactedCall,
    RedactedMessage,
    RedactedReasoning,
    RedactedResult,
    RedactedText,
    edited,
    filled,
    redacted,
)
from autocompact.core.redaction import Redacted


@dataclass(slots=True)
class Call:
    """One tool call with its answer, as far as there is one; ``outcome`` is that of a command, ``id`` its place in the log."""

    seq: int
    action: Action
    id: Redacted
    output: Redacted = EMPTY
    is_error: bool = False
    answered: int = 0
    outcome: Outcome | None = None

    @property
    def subject(self) -> Redacted:
        """The file or command it is about."""
        return self.action.files[0][0] if self.action.files else self.action.command


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Words of the person (``by`` "user"), the model or the program around it ("program")."""

    seq: int
    by: str
    text: Redacted


@dataclass(slots=True)
class Scan:
    """What one pass found. ``last_seq`` is the last message, ``pending`` whether it waits for the model or a tool."""

    calls: list[Call] = field(default_factory=list[Call])
    said: list[Said] = field(default_factory=list[Said])
    sightings: Sightings = field(default_factory=Sightings)
    last_seq: int = 0


def scan(
    messages: Iterable[Message],
    *,
    redactor: Callable[[Message], RedactedMessage] = redacted,
    with_names: bool = True,
) -> Scan:
    """Walk over the messages once. System prompts are left out: they stay in the context anyway.

    Args:
        messages: in order.
        redactor: gives each message without secrets, e.g. a `Redactor` that others share.
        with_names: note where each name stands, which is most of the work.
    """
    found = Scan(sightings=Sightings() if with_names else NoSightings())
    pairing = Pairing()
    calls: dict[Place, Call] = {}
    for index, message in enumerate(messages):
        found.last_seq = message.seq
        answered = {pair.result: pair.call for pair in pairing.push(message)}
        if message.role == "system":
            continue
        for place, part in enumerate(redactor(readable(message)).parts):
            here = Place(index, place)
            if isinstance(part, RedactedCall):
                calls[here] = _call(found, part, seq=message.seq, place=place)
            elif isinstance(part, RedactedResult):
                _result(found, part, seq=message.seq, call=calls.pop(answered.get(here, here), None))
            elif isinstance(part, RedactedText):
                speaker = "assistant" if message.role == "assistant" else "program"
                by = "user" if message.is_request else speaker
                _text(found, part.text, seq=message.seq, by=by)
            elif isinstance(part, RedactedReasoning) and part.text:
                found.sightings.add(Piece(seq=message.seq, source="reasoning", text=part.text))
    return found


def _text(found: Scan, text: Redacted, *, seq: int, by: str) -> None:
    found.said.append(Said(seq=seq, by=by, text=text))
    source = "user" if by == "user" else "assistant" if by == "assistant" else "summary"
    found.sightings.add(Piece(seq=seq, source=source, text=text))


def _call(found: Scan, part: RedactedCall, *, seq: int, place: int) -> Call:
    call = Call(seq=seq, action=interpret(part), id=filled("{}.{}", seq, place))
    found.calls.append(call)
    source = "edit" if call.action.verb in ("edit", "create") else "call"
    found.sightings.add(Piece(seq=seq, source=source, text=call.action.text, where=call.subject))
    return call


def _result(found: Scan, part: RedactedResult, *, seq: int, call: Call | None) -> None:
    text = edited(part.text, unnumbered)
    if call is not None:
        call.output, call.is_error, call.answered = part.text, part.is_error, seq
        if call.action.command:
            call.outcome = read_outcome(part.text, is_error=part.is_error)
    found.sightings.add(Piece(seq=seq, source="result", text=text, where=call.subject if call else EMPTY))
