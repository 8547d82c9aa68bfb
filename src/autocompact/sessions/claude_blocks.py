"""The blocks of an Anthropic message as Claude Code records them."""

from __future__ import annotations

import msgspec

from autocompact.core.messages import Document, Image, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


class _Source(msgspec.Struct):
    type: str = ""
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"")
    is_error: bool | None = None
    source: _Source | None = None
    title: str | None = None


class _Kind(msgspec.Struct):
    type: str = ""


_block = msgspec.json.Decoder(_Block).decode
_kind = msgspec.json.Decoder(_Kind).decode
_content = msgspec.json.Decoder(str | list[msgspec.Raw]).decode


def parse_content(raw: msgspec.Raw | bytes) -> tuple[Part, ...]:
    """The parts of a message's ``content``: a string, or a list of blocks. Unknown blocks become `Opaque`.

    Raises:
        msgspec.DecodeError: it is neither.
    """
    content = _content(raw)
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return tuple(_part(block) for block in content)


def _part(raw: msgspec.Raw) -> Part:
    try:
        block = _block(raw)
    except msgspec.DecodeError:
        return _opaque(raw)
    match block.type:
        case "text":
            return Text(text=block.text or "")
        case "thinking" | "redacted_thinking":
            return Reasoning(text=block.thinking or "", raw=bytes(raw))
        case "tool_use":
            return ToolCall(
                id=block.id or "", name=block.name or "", arguments=str(bytes(block.input), "utf-8")
            )
        case "tool_result":
            return _result(block)
        case "image" | "document" if block.source is not None:
            return _media(block, block.source)
        case _:
            return _opaque(raw)


def _opaque(raw: msgspec.Raw) -> Opaque:
    try:
        kind = _kind(raw).type
    except msgspec.DecodeError:
        kind = ""
    return Opaque(kind=kind or "unknown", raw=bytes(raw))


def _result(block: _Block) -> ToolResult:
    texts: list[str] = []
    media: list[Image | Document] = []
    for part in _result_parts(block.content):
        if isinstance(part, Image | Document):
            media.append(part)
        elif isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Opaque):
            texts.append(str(part.raw, "utf-8"))
    return ToolResult(
        call_id=block.tool_use_id or "",
        text="\n".join(texts),
        is_error=bool(block.is_error),
        media=tuple(media),
    )


def _result_parts(content: msgspec.Raw) -> tuple[Part, ...]:
    raw = bytes(content)
    if raw in (b"", b"null"):
        return ()
    try:
        return parse_content(raw)
    except msgspec.DecodeError:
        return (Text(text=str(raw, "utf-8")),)


def _media(block: _Block, source: _Source) -> Image | Document:
    data, url = source.data or "", source.url or ""
    if block.type == "image":
        return Image(media_type=source.media_type or "", data=data, url=url)
    text = data if source.type == "text" else ""
    return Document(
        media_type=source.media_type or "",
        name=block.title or "",
        data="" if text else data,
        url=url,
        text=text,
    )
