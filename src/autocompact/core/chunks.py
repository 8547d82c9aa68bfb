"""A conversation as a document for a summariser, in chunks that fit its window.

Used where the live messages cannot be sent as they are: another model makes the summary, or they would not fit.
Chunks are in order and hold every message: one that is larger than a chunk by itself is split. Only tool outputs
are shortened, to a length that the policy names, and the text says by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import LiteralString, assert_never

from autocompact.core.messages import Message, Role
from autocompact.core.redacted import (
    EMPTY,
    RedactedCall,
    RedactedMedia,
    RedactedMessage,
    RedactedPart,
    RedactedReasoning,
    RedactedResult,
    RedactedText,
    Redactor,
    cut,
    edited,
    filled,
    joined,
    own,
)
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter, truncated

_SPEAKERS: Mapping[Role, LiteralString] = {
    "system": "System",
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool",
}


def document(messages: Sequence[Message], *, output_tokens: int, counter: Counter) -> tuple[Redacted, ...]:
    """Each message as a paragraph: who, its reference, what; secrets taken out.

    Args:
        messages: what to show.
        output_tokens: longest tool output shown; a longer one keeps its head and tail.
        counter: measures it.
    """
    messages = tuple(messages)
    redactor = Redactor()
    redactor.learn(messages)
    return tuple(
        _paragraph(redactor(message), output_tokens=output_tokens, counter=counter) for message in messages
    )


def chunks(paragraphs: Sequence[Redacted], *, room: int, counter: Counter) -> tuple[Redacted, ...]:
    """Paragraphs joined in order to texts of at most ``room`` tokens each; a longer paragraph is split at lines.

    Raises:
        ValueError: ``room`` is not positive.
    """
    if room < 1:
        raise ValueError(f"a chunk needs room, not {room} tokens")
    texts: list[Redacted] = []
    held: list[Redacted] = []
    used = 0
    for paragraph in paragraphs:
        for piece in _pieces(paragraph, room=room, counter=counter) if paragraph else ():
            size = counter.count(piece) + 2  # and the empty line before it
            if held and used + size > room:
                texts.append(joined("\n\n", held))
                held, used = [], 0
            held.append(piece)
            used += size
    if held:
        texts.append(joined("\n\n", held))
    return tuple(texts)


def _pieces(paragraph: Redacted, *, room: int, counter: Counter) -> Iterator[Redacted]:
    """The paragraph in pieces that fit: halves of halves, split after a line or a blank where there is one."""
    if counter.count(paragraph) < room or len(paragraph) <= 1:
        yield paragraph
        return
    middle = len(paragraph) // 2
    ends = (paragraph.rfind("\n", 1, middle), paragraph.rfind(" ", middle // 2, middle))
    at = next((end + 1 for end in ends if end > 0), middle)
    yield from _pieces(cut(paragraph, end=at), room=room, counter=counter)
    yield from _pieces(cut(paragraph, at), room=room, counter=counter)


def _paragraph(message: RedactedMessage, *, output_tokens: int, counter: Counter) -> Redacted:
    speaker = own("Program") if message.synthetic else own(_SPEAKERS[message.role])
    place = filled(" [m{}]", message.seq) if message.seq else EMPTY
    said = (_said(part, output_tokens=output_tokens, counter=counter) for part in message.parts)
    return filled("{}{}: {}", speaker, place, joined("\n", filter(None, said)))


def _said(part: RedactedPart, *, output_tokens: int, counter: Counter) -> Redacted:
    match part:
        case RedactedText() | RedactedReasoning():
            return part.text
        case RedactedCall():
            return filled("calls {} {}", part.name, part.arguments)
        case RedactedResult():
            outcome = own("failed: ") if part.is_error else own("returned: ")
            text = edited(part.text, partial(truncated, tokens=output_tokens, counter=counter))
            return joined("", (outcome, text, *(filled("\n[{}]", label) for label in part.media)))
        case RedactedMedia():
            return joined("\n", filter(None, (filled("[{}]", part.label), part.text)))
        case _:
            assert_never(part)
