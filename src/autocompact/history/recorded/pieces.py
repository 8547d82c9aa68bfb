"""The parts of messages, weighed and named for a person."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import LiteralString, NamedTuple

from msgspec import Struct

from autocompact.core.actions import Action, interpret
from autocompact.core.messages import Document, Image, Message, Opaque, Part, Reasoning
from autocompact.core.pairing import Place, pairs
from autocompact.core.redacted import (
    EMPTY,
    RedactedCall,
    RedactedPart,
    RedactedText,
    Redactor,
    cut,
    edited,
    filled,
    one_line,
    own,
)
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import MESSAGE_TOKENS, Counter, message_cost

_LABEL = 70


class Weighed(NamedTuple):
    """A part with its message and its tokens, the framing of the message left out.

    Attributes:
        clean: the part without secrets.
        call: the place of the call that a result answers, as an index among the parts; None for any other part.
    """

    message: Message
    part: Part
    clean: RedactedPart
    tokens: int
    call: int | None = None


class Piece(Struct, frozen=True, kw_only=True):
    """One part of a message, ``seq`` 0 for a summary. ``what`` is one line."""

    seq: int
    what: Redacted
    tokens: int


def weighed(messages: Iterable[Message], counter: Counter) -> list[Weighed]:
    """Every part of ``messages``, a valid context, with its tokens."""
    messages = list(messages)
    calls = {pair.result: pair.call for pair in pairs(messages)}
    redactor = Redactor()
    # all of them first: what makes a value a secret may be said only after it
    redactor.learn(messages)
    starts = list(accumulate((len(message.parts) for message in messages), initial=0))
    return [
        Weighed(
            message=message,
            part=part,
            clean=clean,
            tokens=_weigh(part, message, counter=counter),
            call=starts[call.message] + call.part if (call := calls.get(Place(index, place))) else None,
        )
        for index, message in enumerate(messages)
        for place, (part, clean) in enumerate(zip(message.parts, redactor(message).parts, strict=True))
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


def named(action: Action, *, cwd: str) -> Redacted:
    """A call in a few words: the tool and what it was applied to."""
    subject = action.command or next((short_path(path, cwd=cwd) for path, _ in action.files), EMPTY)
    subject = subject or next((value for value in action.arguments.values() if isinstance(value, str)), EMPTY)
    return edited(filled("{} {}", action.name, beginning(subject)), str.rstrip)


def beginning(text: Redacted) -> Redacted:
    """The beginning of ``text`` on one line."""
    # of megabytes only a beginning, in which there are words enough however many blanks
    line = one_line(cut(text, end=20 * _LABEL))
    return line if len(line) <= _LABEL else filled("{}…", cut(line, end=_LABEL - 1))


def short_path(path: Redacted, *, cwd: str) -> Redacted:
    """``path`` as seen from the folder that the session ran in."""
    folder = f"{cwd.rstrip('/')}/"
    return cut(path, len(folder)) if cwd and path.startswith(folder) else path


def _weigh(part: Part, message: Message, *, counter: Counter) -> int:
    # by the one definition of a cost, not by one of its own
    alone = Message(seq=0, role=message.role, parts=(part,))
    return message_cost(alone, counter).tokens - MESSAGE_TOKENS


def _what(weighed: Weighed, parts: Sequence[Weighed], *, cwd: str) -> Redacted:
    message, part = weighed.message, weighed.clean
    if weighed.call is not None:
        return filled("result of {}", named(called(parts, weighed.call), cwd=cwd))
    if isinstance(part, RedactedCall):
        return filled("call of {}", named(interpret(part), cwd=cwd))
    if message.seq == 0 and message.synthetic:
        return own("summary of an earlier compaction")
    said = beginning(part.text) if isinstance(part, RedactedText) else own(_KINDS[type(weighed.part)])
    return filled("{}: {}", own("note of the program" if message.synthetic else message.role), said)


_KINDS: Mapping[type[Part], LiteralString] = {
    Reasoning: "reasoning", Image: "image", Document: "document", Opaque: "opaque",
}  # fmt: skip


def called(parts: Sequence[Weighed], index: int) -> Action:
    """The action of the call at ``index``."""
    call = parts[index].clean
    assert isinstance(call, RedactedCall), "a result names the place of a call"
    return interpret(call)
