"""The parts of messages, weighed and named for a person."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from autocompact.core.ledger.actions import Action, interpret
from autocompact.core.messages import Message, Part, Text, ToolCall
from autocompact.core.pairing import Place, pairs
from autocompact.core.redaction import redact
from autocompact.core.tokens import MESSAGE_TOKENS, Counter, message_cost


class Weighed(NamedTuple):
    """A part with its message and its tokens, the framing of the message left out.

    Attributes:
        call: the place of the call that a result answers, as an index among the parts; None for any other part.
    """

    message: Message
    part: Part
    tokens: int
    call: int | None = None


_LABEL = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of a message, ``seq`` 0 for a summary. ``what`` is one line, without secrets."""

    seq: int
    what: str
    tokens: int


def weighed(messages: Iterable[Message], counter: Counter) -> list[Weighed]:
    """Every part of ``messages``, a valid context, with its tokens."""
    messages = list(messages)
    calls = {pair.result: pair.call for pair in pairs(messages)}
    starts = list(accumulate((len(message.parts) for message in messages), initial=0))
    return [
        Weighed(
            message=message,
            part=part,
            tokens=_weigh(part, message, counter=counter),
            call=starts[call.message] + call.part if (call := calls.get(Place(index, place))) else None,
        )
        for index, message in enumerate(messages)
        for place, part in enumerate(message.parts)
    ]


def largest(
    parts: Sequence[Weighed], *, cwd: str, most: int, without: Collection[int] = ()
) -> tuple[Piece, ...]:
    """The largest of ``parts``, the largest first.

    Args:
        parts: of a valid context, so that every result has its call among them.
        cwd: the folder that paths are shown from.
        most: how many.
        without: messages (``seq``) whose parts are left out.
    """
    wanted = [each for each in parts if each.message.seq not in without]
    heaviest = sorted(wanted, key=lambda each: (-each.tokens, each.message.seq))[:most]
    return tuple(
        Piece(seq=each.message.seq, what=_what(each, parts, cwd=cwd), tokens=each.tokens) for each in heaviest
    )


def named(action: Action, *, cwd: str) -> str:
    """A call in a few words: the tool and what it was applied to."""
    subject = action.command or next((short_path(path, cwd=cwd) for path, _ in action.files), "")
    subject = subject or next((value for value in action.arguments.values() if isinstance(value, str)), "")
    return f"{action.name} {one_line(subject)}".rstrip()


def one_line(text: str) -> str:
    """The beginning of ``text`` on one line, without secrets."""
    line = " ".join(redact(text[: 20 * _LABEL]).split())
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…"


def short_path(path: str, *, cwd: str) -> str:
    """``path`` as seen from the folder that the session ran in."""
    return path.removeprefix(f"{cwd.rstrip('/')}/") if cwd else path


def _weigh(part: Part, message: Message, *, counter: Counter) -> int:
    alone = Message(seq=0, role=message.role, parts=(part,))
    return message_cost(alone, counter).tokens - MESSAGE_TOKENS


def _what(weighed: Weighed, parts: Sequence[Weighed], *, cwd: str) -> str:
    message, part = weighed.message, weighed.part
    if weighed.call is not None:
        return f"result of {named(called(parts, weighed.call), cwd=cwd)}"
    if isinstance(part, ToolCall):
        return f"call of {named(interpret(part), cwd=cwd)}"
    if message.seq == 0 and message.synthetic:
        return "summary of an earlier compaction"
    speaker = "note of the program" if message.synthetic else message.role
    return f"{speaker}: {one_line(part.text) if isinstance(part, Text) else type(part).__name__.lower()}"


def called(parts: Sequence[Weighed], index: int) -> Action:
    """What the call at ``index`` does."""
    call = parts[index].part
    assert isinstance(call, ToolCall), "a result names the place of a call"
    return interpret(call)
