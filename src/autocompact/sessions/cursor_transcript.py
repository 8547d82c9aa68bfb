"""Transcripts of Cursor's agent: JSON lines of ``{role, message: {content}}`` in ``~/.cursor/projects/…/agent-transcripts``.

They hold what was said and which tools were called, not what came of the calls: each is answered by a note that says so. Where the
model's thoughts were, Cursor writes ``[REDACTED]``, which is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from autocompact.core.messages import UNRECORDED, Part, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, as_text
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session

_THOUGHTS = "[REDACTED]"


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")


class _Message(msgspec.Struct):
    content: str | list[_Block] = ""


class _Line(msgspec.Struct):
    role: Literal["user", "assistant"] | None = None
    message: _Message = msgspec.field(default_factory=_Message)
    type: str = ""


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of such a transcript."""
    return set(fields) == {"role", "message"} and bytes(fields["message"]).lstrip()[:1] == b"{"


def read(lines: Iterable[bytes]) -> Session:
    """Read a transcript from its lines."""
    source, log = Lines(lines, _Line), Log()
    for number, line in source:
        if line.role is None:
            if line.type != "turn_ended":
                source.skip(number, f"unknown type {line.type!r}")
            continue
        parts = list(_parts(line.message.content, number))
        log.add(line.role, parts, line=number)
        results = [
            ToolResult(call_id=part.id, text=UNRECORDED) for part in parts if isinstance(part, ToolCall)
        ]
        log.add("tool", results, line=number)
    return Session(
        format="cursor",
        messages=tuple(log.messages),
        skipped=tuple(source.skipped),
        lines=tuple(log.lines),
    )


def _parts(content: str | list[_Block], number: int) -> Iterator[Part]:
    for place, block in enumerate([_Block(text=content)] if isinstance(content, str) else content):
        if block.name is not None:
            yield ToolCall(id=f"{number}.{place}", name=block.name, arguments=as_text(block.input))
        elif text := (block.text or "").replace(_THOUGHTS, "").strip():
            yield Text(text=text)
