"""A conversation as a document for a summariser, in chunks that fit its window.

Used where the live messages cannot be sent as they are: another model makes the summary, or they would not fit.
Chunks are in order and hold every message: one that is larger than a chunk by itself is split. Only tool outputs
are shortened, to a length that the policy names, and the text says by how much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.core.redaction import redact
from autocompact.core.references import reference
from autocompact.core.tokens import Counter, truncated

SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}


def document(messages: Sequence[Message], *, output_tokens: int, counter: Counter) -> tuple[str, ...]:
    """Each message as a paragraph: who, its reference, what; secrets taken out.

    Args:
        messages: what to show.
        output_tokens: longest tool output shown; a longer one keeps its head and tail.
        counter: measures it.
    """
    return tuple(_paragraph(message, output_tokens=output_tokens, counter=counter) for message in messages)


def chunks(paragraphs: Sequence[str], *, room: int, counter: Counter) -> tuple[str, ...]:
    """Paragraphs joined in order to texts of at most ``room`` tokens each; a longer paragraph is split at lines.

    Raises:
        ValueError: ``room`` is not positive.
    """
    if room < 1:
        raise ValueError(f"a chunk needs room, not {room} tokens")
    texts: list[str] = []
    held: list[str] = []
    used = 0
    for paragraph in paragraphs:
        for piece in _pieces(paragraph, room=room, counter=counter) if paragraph else ():
            size = counter.count(piece) + 2  # and the empty line before it
            if held and used + size > room:
                texts.append("\n\n".join(held))
                held, used = [], 0
            held.append(piece)
            used += size
    if held:
        texts.append("\n\n".join(held))
    return tuple(texts)


def _pieces(paragraph: str, *, room: int, counter: Counter) -> Iterator[str]:
    """The paragraph in pieces that fit: halves of halves, split after a line or a blank where there is one."""
    if counter.count(paragraph) < room or len(paragraph) <= 1:
        yield paragraph
        return
    middle = len(paragraph) // 2
    ends = (paragraph.rfind("\n", 1, middle), paragraph.rfind(" ", middle // 2, middle))
    at = next((end + 1 for end in ends if end > 0), middle)
    yield from _pieces(paragraph[:at], room=room, counter=counter)
    yield from _pieces(paragraph[at:], room=room, counter=counter)


def _paragraph(message: Message, *, output_tokens: int, counter: Counter) -> str:
    speaker = "Program" if message.synthetic else SPEAKERS[message.role]
    place = f" [{reference(message.seq)}]" if message.seq else ""
    said = "\n".join(
        text for part in message.parts if (text := _said(part, output_tokens=output_tokens, counter=counter))
    )
    return f"{speaker}{place}: {redact(said)}"


def _said(part: Part, *, output_tokens: int, counter: Counter) -> str:
    match part:
        case Text() | Reasoning():
            return part.text
        case ToolCall():
            return f"calls {part.name} {part.arguments}"
        case ToolResult():
            outcome = "failed: " if part.is_error else "returned: "
            media = "".join(f"\n[{_name(item)}]" for item in part.media)
            return f"{outcome}{truncated(part.text, output_tokens, counter=counter)}{media}"
        case Image() | Document():
            return f"[{_name(part)}]" + (f"\n{part.text}" if isinstance(part, Document) and part.text else "")
        case _:
            return f"[{part.kind}]"


def _name(media: Image | Document) -> str:
    kind = "image" if isinstance(media, Image) else "document"
    name = media.name if isinstance(media, Document) else ""
    return " ".join(word for word in (kind, name or media.media_type) if word)
