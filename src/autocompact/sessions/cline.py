"""Cline sessions (``~/.cline/data/sessions``): one document with Anthropic's blocks, results in a shape of Cline's own.

What the person typed stands in ``<user_input>``, which is taken off. The older ``api_conversation_history.json`` are plain
Anthropic messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import Image, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, iso_time, string
from autocompact.sessions.session import Session, Skipped

_TYPED = re.compile(r"\s*<user_input[^>]*>(.*)</user_input>\s*", re.DOTALL)
_NOTE = re.compile(r"\s*<(?:environment_details|system-reminder|explicit_instructions)\b")


class _Source(msgspec.Struct):
    media_type: str = ""
    data: str = ""


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"")
    is_error: bool | None = None
    source: _Source | None = None


class _Piece(msgspec.Struct):
    """A piece of a result: text as Anthropic has it, or what one command or file of the call gave."""

    text: str | None = None
    result: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Model(msgspec.Struct, frozen=True):
    id: str = ""


class _Metrics(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: str | list[_Block]
    id: str = ""
    ts: float = 0
    model_info: _Model = _Model()
    metrics: _Metrics | None = None


class _Document(msgspec.Struct):
    messages: list[msgspec.Raw]
    system_prompt: msgspec.Raw = msgspec.Raw(b"")


_document = msgspec.json.Decoder(_Document).decode
_message = msgspec.json.Decoder(_Message).decode
_pieces = msgspec.json.Decoder(list[_Piece]).decode
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a document with these fields is a session of Cline: its messages are as Anthropic has them, under a session id."""
    try:
        messages = _objects(fields.get("messages", b""))
    except msgspec.DecodeError:
        return False
    if "sessionId" not in fields or not messages:
        return False
    return all(
        string(message.get("role", b"")) in ("user", "assistant")
        and message.keys().isdisjoint(("tool_calls", "parts", "toolInvocations"))
        for message in messages
    )


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from the lines of its one document.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = _document(b"".join(lines))
    log, skipped = Log(), list[Skipped]()
    prompt = string(document.system_prompt)
    log.add("system", [Text(text=prompt)] if prompt else (), line=1)
    for index, raw in enumerate(document.messages):
        try:
            _add(log, _message(raw))
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    return Session(
        format="cline",
        messages=tuple(log.messages),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=log.model,
    )


def _add(log: Log, message: _Message) -> None:
    time = iso_time(message.ts / 1000)
    blocks = (
        [_Block(type="text", text=message.content)] if isinstance(message.content, str) else message.content
    )
    said = [part for block in blocks for part in _part(block)]
    if message.role == "assistant":
        log.add(
            *("assistant", said),
            line=1,
            id=message.id,
            time=time,
            model=message.model_info.id,
            usage=_usage(message.metrics),
        )
        return
    for block in blocks:
        if block.type == "tool_result":
            log.add("tool", [_result(block)], line=1, time=time)
    log.add_user(said, is_note=lambda text: bool(_NOTE.match(text)), line=1, id=message.id, time=time)


def _part(block: _Block) -> Iterable[Part]:
    if block.type == "tool_use":
        yield ToolCall(id=block.id or "", name=block.name or "", arguments=as_text(block.input))
    elif block.type == "image" and block.source is not None:
        yield Image(media_type=block.source.media_type, data=block.source.data)
    elif block.thinking:
        yield Reasoning(text=block.thinking)
    elif block.text:
        typed = _TYPED.fullmatch(block.text)
        yield Text(text=typed[1] if typed else block.text)


def _result(block: _Block) -> ToolResult:
    try:
        pieces = _pieces(block.content)
    except msgspec.DecodeError:
        text = as_text(block.content)
    else:
        texts = (each.text or as_text(each.result) or as_text(each.error) for each in pieces)
        text = "\n".join(each for each in texts if each)
    return ToolResult(call_id=block.tool_use_id or "", text=text, is_error=bool(block.is_error))


def _usage(metrics: _Metrics | None) -> Usage | None:
    if metrics is None or not metrics.input_tokens:
        return None
    return Usage(prompt=metrics.input_tokens, completion=metrics.output_tokens)
