"""A long log is read in stretches: each gives a ledger that goes into the next, as one compaction's does.

So a first compaction of 200,000 messages needs the memory of one stretch, and its ledger is no larger than that of a log
which was compacted all along. Of one message the beginning and the end are read; what stands in the middle of megabytes is
left to recall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from autocompact.core.messages import Message, Part, Text, ToolResult
from autocompact.ledger.wrapping import printed

STRETCH_TOKENS = 500_000
"""Tokens of a stretch at least: more than nearly every context holds."""

FINDINGS_LAST = 5
"""Stretches before the last whose findings are looked for: of older ones, more than 2.5 million tokens back, a quarter of
their need would be left at most. In a log that is compacted all along they have faded long before."""

READ = 200_000
"""Characters of a text that are read at its beginning, and at its end."""

_EDGE = 4_096


def stretches(
    messages: Sequence[Message], *, tokens: Callable[[Message], int], least: int = STRETCH_TOKENS
) -> list[Sequence[Message]]:
    """``messages`` in runs of at least ``least`` tokens, but for the first; each later one begins with a request.

    A turn that is longer than that by half is parted where the model begins to speak.
    """
    found: list[Sequence[Message]] = []
    end, size = len(messages), 0
    for index in range(len(messages) - 1, 0, -1):
        message = messages[index]
        size += tokens(message)
        if size < least:
            continue
        if message.is_request or (2 * size >= 3 * least and message.role == "assistant"):
            found.append(messages[index:end])
            end, size = index, 0
    found.append(messages[:end])
    return found[::-1]


def readable(message: Message) -> Message:
    """``message`` as a person would read it: results in JSON as what was printed, and of long texts the two ends."""
    parts = tuple(map(_plain, message.parts))
    return as_sent(message if parts == message.parts else message.with_parts(parts))


def as_sent(message: Message) -> Message:
    """``message``, of long texts the two ends: cut at white space, so that no word and no secret is parted."""
    if all(map(_is_short, message.parts)):
        return message
    return message.with_parts(
        replace(part, text=_ends(part.text), raw=None) if isinstance(part, Text | ToolResult) else part
        for part in message.parts
    )


def _plain(part: Part) -> Part:
    if not isinstance(part, ToolResult) or (text := printed(part.text)) is part.text:
        return part
    return replace(part, text=text, raw=None)


def _is_short(part: Part) -> bool:
    return not isinstance(part, (Text, ToolResult)) or len(part.text) <= 2 * READ


def _ends(text: str) -> str:
    if len(text) <= 2 * READ:
        return text
    head = text[:READ]
    head = head[: max(head.rfind(" ", -_EDGE), head.rfind("\n", -_EDGE)) + 1] or head
    tail = text[-READ:]
    spaces = [place for place in (tail.find(" ", 0, _EDGE), tail.find("\n", 0, _EDGE)) if place >= 0]
    return f"{head}\n{tail[min(spaces, default=0) :]}"
