"""Messages of Pydantic AI as ``ModelMessagesTypeAdapter.dump_json`` writes them: requests and responses made of parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import Document, Image, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, string
from autocompact.sessions.session import Session, Skipped

_LISTS = ("all_messages", "new_messages", "message_history", "messages")


class _Media(msgspec.Struct):
    kind: str = ""
    url: str = ""
    data: str = ""
    media_type: str | None = None


class _Part(msgspec.Struct):
    part_kind: str
    content: msgspec.Raw = msgspec.Raw(b"")
    tool_name: str | None = None
    tool_call_id: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"")
    outcome: str | None = None
    timestamp: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct):
    kind: str
    parts: list[_Part]
    instructions: str | None = None
    usage: _Usage | None = None
    model_name: str | None = None
    timestamp: str | None = None


class _Kinds(msgspec.Struct):
    part_kind: str


class _Shape(msgspec.Struct):
    kind: str
    parts: list[_Kinds]


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_shape = msgspec.json.Decoder(_Shape).decode
_message = msgspec.json.Decoder(_Message).decode
_media = msgspec.json.Decoder(_Media).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a message of Pydantic AI, or holds a list of them."""
    return _is_message(msgspec.json.encode(fields)) or _list_in(fields) is not None


def read(lines: Iterable[bytes]) -> Session:
    """Read a list of messages, an object that holds one, or a message alone.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = b"".join(lines)
    if document.lstrip().startswith(b"["):
        raws = _items(document)
    else:
        held = _list_in(_fields(document))
        raws = [msgspec.Raw(document)] if held is None else _items(held)
    reader = _Reader()
    for index, raw in enumerate(raws):
        try:
            reader.feed(_message(raw), index=index)
        except msgspec.DecodeError as error:
            reader.skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    log = reader.log
    return Session(
        format="pydantic_ai",
        messages=tuple(log.messages),
        skipped=tuple(reader.skipped),
        lines=tuple(log.lines),
        model=log.model,
    )


def _is_message(raw: msgspec.Raw | bytes) -> bool:
    try:
        return _shape(raw).kind in ("request", "response")
    except msgspec.DecodeError:
        return False


def _list_in(fields: Mapping[str, msgspec.Raw]) -> msgspec.Raw | None:
    for name in _LISTS:
        raw = fields.get(name, msgspec.Raw(b""))
        if bytes(raw).startswith(b"[") and any(_is_message(item) for item in _items(raw)[:1]):
            return raw
    return None


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self.skipped: list[Skipped] = []
        self._instructions = ""

    def feed(self, message: _Message, *, index: int) -> None:
        told = message.instructions or ""
        if told and told != self._instructions:  # sent with each request, kept where it changes
            self.log.add("system", [Text(text=told)], line=1, time=message.timestamp or "")
            self._instructions = told
        if message.kind == "response":
            self._reply(message, index=index)
            return
        for part in message.parts:
            self._asked(part, time=part.timestamp or message.timestamp or "", index=index)

    def _asked(self, part: _Part, *, time: str, index: int) -> None:
        """A part of a request: each kind stands in another role."""
        match part.part_kind:
            case "system-prompt":
                self.log.add("system", _content(part.content), line=1, time=time)
            case "user-prompt":
                self.log.add("user", _content(part.content), line=1, time=time)
            case "tool-return" | "builtin-tool-return":
                self.log.add("tool", [_result(part)], line=1, time=time)
            case "retry-prompt" if part.tool_name and part.tool_call_id:
                self.log.add("tool", [_result(part)], line=1, time=time)
            case "retry-prompt" | "retry-feedback":
                said = [Text(text=as_text(part.content))]
                self.log.add("user", said, line=1, synthetic=True, time=time)
            case kind:
                self.skipped.append(Skipped(line=0, reason=f"message {index} has a part of kind {kind!r}"))

    def _reply(self, message: _Message, *, index: int) -> None:
        time, model, usage = message.timestamp or "", message.model_name or "", _usage(message.usage)
        said: list[Part] = []
        for part in message.parts:
            if part.part_kind == "builtin-tool-return":  # the provider ran the tool within its reply
                self.log.add("assistant", said, line=1, time=time, model=model, usage=usage)
                self.log.add("tool", [_result(part)], line=1, time=time)
                said, usage = [], None
            elif made := _said(part):
                said += made
            elif part.part_kind not in ("text", "thinking"):
                reason = f"message {index} has a part of kind {part.part_kind!r}"
                self.skipped.append(Skipped(line=0, reason=reason))
        self.log.add("assistant", said, line=1, time=time, model=model, usage=usage)


def _said(part: _Part) -> list[Part]:
    match part.part_kind:
        case "text":
            return [Text(text=text)] if (text := string(part.content)) else []
        case "thinking":
            return [Reasoning(text=text)] if (text := string(part.content)) else []
        case "tool-call" | "builtin-tool-call":
            asked = as_text(part.args) or "{}"
            return [ToolCall(id=part.tool_call_id or "", name=part.tool_name or "", arguments=asked)]
        case "file":
            return [_attached(_media(part.content))]
        case _:
            return []


def _result(part: _Part) -> ToolResult:
    failed = part.part_kind == "retry-prompt" or part.outcome not in (None, "success")
    return ToolResult(call_id=part.tool_call_id or "", text=as_text(part.content), is_error=failed)


def _content(raw: msgspec.Raw) -> list[Part]:
    """A prompt: text, or a list of texts and media."""
    if not bytes(raw).startswith(b"["):
        return [Text(text=text)] if (text := string(raw)) else []
    return [
        Text(text=string(item)) if bytes(item).startswith(b'"') else _attached(_media(item))
        for item in _items(raw)
    ]


def _attached(media: _Media) -> Part:
    kind = media.media_type or ""
    if kind.startswith("image/") or media.kind == "image-url":
        return Image(media_type=kind, data=media.data, url=media.url)
    return Document(media_type=kind, data=media.data, url=media.url)


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None or not usage.input_tokens:
        return None
    return Usage(prompt=usage.input_tokens, completion=usage.output_tokens or 0)
