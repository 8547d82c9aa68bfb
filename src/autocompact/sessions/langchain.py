"""LangChain messages as JSON: ``messages_to_dict``, ``dumpd`` and the plain dump of a message, in a list or an object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import (
    Document,
    Image,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from autocompact.sessions.building import Log, as_text, decoded, items, kind_of, string
from autocompact.sessions.session import Session, Skipped

_ROLES: Mapping[str, Role] = {
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessage": "system",
    "tool": "tool",
    "ToolMessage": "tool",
    "function": "tool",
    "FunctionMessage": "tool",
}
_CHAT = frozenset({"chat", "ChatMessage", "ChatMessageChunk"})
"""Messages that name their role themselves."""
_OF_CHAT: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
}
_MEDIA = frozenset({"image", "file", "document", "audio", "video", "media"})
_LISTS = ("messages", "history")
_STATES = ("values", "channel_values")
"""Where a dumped state of LangGraph holds them."""


class _Url(msgspec.Struct):
    url: str = ""


class _Source(msgspec.Struct):
    """Anthropic's form of an image or a document."""

    media_type: msgspec.Raw = msgspec.Raw(b"")
    data: msgspec.Raw = msgspec.Raw(b"")
    url: msgspec.Raw = msgspec.Raw(b"")


class _File(msgspec.Struct):
    """OpenAI's form of a file."""

    filename: msgspec.Raw = msgspec.Raw(b"")
    file_data: msgspec.Raw = msgspec.Raw(b"")


class _Block(msgspec.Struct):
    """A block of any provider: one name may hold a text in the blocks of one, and an object in those of another."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    reasoning: str | None = None
    summary: msgspec.Raw = msgspec.Raw(b"")
    image_url: _Url | str | None = None
    base64: msgspec.Raw = msgspec.Raw(b"")
    data: msgspec.Raw = msgspec.Raw(b"")
    url: msgspec.Raw = msgspec.Raw(b"")
    mime_type: msgspec.Raw = msgspec.Raw(b"")
    source: msgspec.Raw = msgspec.Raw(b"")
    file: msgspec.Raw = msgspec.Raw(b"")


class _Call(msgspec.Struct):
    name: str = ""
    args: msgspec.Raw = msgspec.Raw(b"{}")
    id: str | None = None


class _Unreadable(msgspec.Struct):
    """A call whose arguments are no JSON, or not of the tool's shape."""

    name: msgspec.Raw = msgspec.Raw(b"")
    args: msgspec.Raw = msgspec.Raw(b"")
    id: msgspec.Raw = msgspec.Raw(b"")


class _Function(msgspec.Struct, frozen=True):
    name: str = ""
    arguments: str = "{}"


class _OlderCall(msgspec.Struct):
    id: str | None = None
    function: _Function = _Function()


class _Older(msgspec.Struct):
    """Fields in which older versions keep what the provider sent."""

    tool_calls: list[_OlderCall] | None = None
    function_call: _Function | None = None


class _Usage(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Message(msgspec.Struct):
    content: msgspec.Raw = msgspec.Raw(b"")
    id: str | None = None
    name: str | None = None
    tool_calls: list[_Call] | None = None
    invalid_tool_calls: msgspec.Raw = msgspec.Raw(b"")
    tool_call_id: str | None = None
    status: str | None = None
    additional_kwargs: _Older | None = None
    usage_metadata: _Usage | None = None
    response_metadata: dict[str, msgspec.Raw] | None = None


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_path = msgspec.json.Decoder(list[str]).decode
_block = msgspec.json.Decoder(_Block).decode
_file = msgspec.json.Decoder(_File).decode
_source = msgspec.json.Decoder(_Source).decode
_unreadable = msgspec.json.Decoder(_Unreadable).decode
_message = msgspec.json.Decoder(_Message).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a message of LangChain, or holds a list of them."""
    if _opened(fields) is not None:
        return True
    return _list_in(fields) is not None


def read(lines: Iterable[bytes]) -> Session:
    """Read a list of messages, or an object that holds one.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = b"".join(lines)
    if document.lstrip().startswith(b"["):
        raws = _items(document)
    else:
        held = _list_in(_fields(document))
        raws = [msgspec.Raw(document)] if held is None else _items(held)
    log, skipped = Log(), list[Skipped]()
    for index, raw in enumerate(raws):
        try:
            opened = _opened(_fields(raw))
            if opened is None:
                skipped.append(Skipped(line=0, reason=f"message {index} is of no kind that is known"))
            else:
                _add(log, _message(opened[1]), role=opened[0])
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    return Session(
        format="langchain",
        messages=tuple(log.messages),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=log.model,
    )


def _list_in(fields: Mapping[str, msgspec.Raw]) -> msgspec.Raw | None:
    """The list of messages that an object holds, as it is or in a state of LangGraph."""
    states = (_fields(fields[name]) for name in _STATES if bytes(fields.get(name, b"")).startswith(b"{"))
    return next(
        (
            held[name]
            for held in (fields, *states)
            for name in _LISTS
            if name in held and _is_list(held[name])
        ),
        None,
    )


def _is_list(raw: msgspec.Raw) -> bool:
    try:
        first = next(iter(_items(raw)), msgspec.Raw(b""))
        return _opened(_fields(first)) is not None
    except msgspec.DecodeError:
        return False


def _opened(fields: Mapping[str, msgspec.Raw]) -> tuple[Role, bytes] | None:
    """The role and the members of a message in any of the three shapes; None where it is none."""
    kind = kind_of(fields)
    if kind == "constructor" and "kwargs" in fields:
        try:
            kind = _path(fields.get("id", b""))[-1]
        except (msgspec.DecodeError, IndexError):
            return None
        members = bytes(fields["kwargs"])
    elif "data" in fields:
        members = bytes(fields["data"])
    elif "content" in fields and ("role" not in fields or kind in _CHAT):
        members = msgspec.json.encode(fields)
    else:
        return None
    if kind in _CHAT:
        return _OF_CHAT.get(string(_fields(members).get("role", b"")).lower(), "user"), members
    return (_ROLES[kind], members) if kind in _ROLES else None


def _add(log: Log, message: _Message, *, role: Role) -> None:
    parts = _parts(message)
    if role == "tool":
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        media = tuple(part for part in parts if isinstance(part, Image | Document))
        failed = message.status == "error"
        id = message.tool_call_id or message.name or ""
        parts = [ToolResult(call_id=id, text=text, is_error=failed, media=media)]
    parts += _calls(message)
    usage, metadata = message.usage_metadata, message.response_metadata or {}
    model = string(metadata.get("model_name", b"")) or string(metadata.get("model", b""))
    spent = (
        Usage(prompt=usage.input_tokens, completion=usage.output_tokens)
        if usage and usage.input_tokens
        else None
    )
    log.add(role, parts, line=1, id=message.id or "", model=model, usage=spent)


def _calls(message: _Message) -> list[ToolCall]:
    read = [ToolCall(id=c.id or "", name=c.name, arguments=as_text(c.args)) for c in message.tool_calls or ()]
    read += [
        ToolCall(id=string(c.id), name=string(c.name), arguments=as_text(c.args) or "{}")
        for c in (decoded(_unreadable, raw) for raw in items(message.invalid_tool_calls))
        if c is not None
    ]
    older = message.additional_kwargs or _Older()
    if read:
        return read
    if older.tool_calls:
        return [
            ToolCall(id=c.id or "", name=c.function.name, arguments=c.function.arguments)
            for c in older.tool_calls
        ]
    asked = older.function_call
    return [ToolCall(id=asked.name, name=asked.name, arguments=asked.arguments)] if asked else []


def _parts(message: _Message) -> list[Part]:
    if not bytes(message.content).startswith(b"["):
        text = string(message.content)
        return [Text(text=text)] if text else []
    parts: list[Part] = []
    for raw in _items(message.content):
        block = decoded(_block, raw) or _Block(text=as_text(raw))
        if block.text:
            parts.append(Text(text=block.text))
        elif (shown := _media(block)) is not None:
            parts.append(shown)
        elif thought := _thought(block):
            parts.append(Reasoning(text=thought))
    return parts


def _thought(block: _Block) -> str:
    return block.thinking or block.reasoning or string(block.summary) or _summary(block)


def _summary(block: _Block) -> str:
    summaries = (decoded(_block, raw) or _Block(text=string(raw)) for raw in items(block.summary))
    return "\n".join(each.text for each in summaries if each.text)


def _media(block: _Block) -> Image | Document | None:
    """A picture or a file in any of the forms in which LangChain passes them on."""
    if block.image_url is not None:
        return Image(url=block.image_url if isinstance(block.image_url, str) else block.image_url.url)
    if (file := decoded(_file, block.file)) is not None:
        return Document(name=string(file.filename), data=string(file.file_data).partition(";base64,")[2])
    if name := string(block.file):
        return Document(name=name)
    source = decoded(_source, block.source)
    if source is not None:
        media_type, data, url = string(source.media_type), string(source.data), string(source.url)
    else:
        media_type, data = string(block.mime_type), string(block.base64) or string(block.data)
        url = string(block.url) or string(block.source)
    if block.type not in _MEDIA or not (data or url):
        return None
    kind = Image if block.type == "image" else Document
    return kind(media_type=media_type, data=data, url=url)
