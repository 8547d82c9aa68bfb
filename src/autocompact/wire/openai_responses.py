"""OpenAI Responses.

A conversation is a list of items, and each item is one message here: words, a call, a result, a piece of reasoning.
``instructions`` stand outside of the list: here they are the leading message of role system, whose ``raw`` is that
string. ``input`` may be a string, too; then it is the one message of the user.

Every item kind that is answered by an ``…_output`` item with the same ``call_id`` is a call (functions, custom tools,
shell, patches, computer use). What OpenAI's servers call and answer in one item (web search, MCP, …) is opaque, and so
are references and compaction items.

Slots: ``content`` (a block within a message item) and ``item``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, takewhile
from typing import assert_never

import msgspec
from msgspec import Raw

from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.errors import InvalidRequest
from autocompact.wire import json
from autocompact.wire.pieces import (
    Calls,
    Exported,
    Piece,
    align,
    arguments_object,
    as_block,
    data_url,
    document_at,
    image_at,
    intact,
    joined,
    media_note,
    own_block,
    result_of,
    tool_name,
    words,
)

_NULL = Raw(b"null")
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
# A computer's answer must be a picture: a white one of one pixel stands for one that was masked.
_BLANK = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FwAAAABJRU5ErkJggg=="
)
_TURNS = (
    "_call",
    "_request",
    "_output",
    "_result",
    "reasoning",
    "item_reference",
    "mcp_list_tools",
    "compaction",
    "compaction_summary",
)
"""Ends of the types of items that belong to a turn of the model. Any other is something that the client configures, such as
``additional_tools`` and ``configuration_update``."""

_WHERE_ARGUMENTS = ("arguments", "input", "action", "actions", "operation")


class _Wire(msgspec.Struct, gc=False):
    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    content: Raw = _NULL
    arguments: Raw = _NULL
    input: Raw = _NULL
    action: Raw = _NULL
    actions: Raw = _NULL
    operation: Raw = _NULL
    output: Raw = _NULL
    summary: Raw = _NULL

    @property
    def kind(self) -> str:
        """The item's type; an item with a role and no type is a message, one with neither a reference."""
        return self.type or ("message" if self.role is not None else "item_reference")


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None


_WIRE = msgspec.json.Decoder(_Wire)
_BLOCK = msgspec.json.Decoder(_Block)


class OpenAIResponses:
    """The dialect ``openai_responses``."""

    name: Dialect = "openai_responses"
    list_field = "input"
    list_required = False
    system_field = "instructions"
    no_system = b"null"
    output_fields: tuple[str, ...] = ("max_output_tokens",)

    def parse(self, raw: bytes, *, seq: int, role: Role, path: str) -> Message:
        """The message that the item ``raw`` is; a string says what ``role`` says (system: the instructions)."""
        if json.is_string(raw):
            parts: tuple[Part, ...] = (Text(text=json.string(raw, path=path)),)
            return Message(seq=seq, role=role, parts=parts, raw=raw, dialect=self.name)
        wire = json.decode(raw, _WIRE, path=path)
        return Message(
            seq=seq,
            role=_role(wire),
            parts=tuple(piece.part for piece in _pieces(raw, wire, path=path)),
            raw=raw,
            dialect=self.name,
            synthetic=wire.kind == "message" and wire.role not in _ROLES,
            id=wire.id or "",
        )

    def render(self, message: Message) -> tuple[bytes, ...]:
        """The message as items; a system message as instructions."""
        exported = self.export((message,))
        return exported.messages if exported.system is None else (exported.system,)

    def export(self, messages: Iterable[Message]) -> Exported:
        """The messages as items, and leading system messages as instructions.

        Reasoning goes out only as the item it came as; opaque parts of another dialect are left out.
        """
        listed = list(messages)
        calls = Calls(listed, self.name)
        system = list(takewhile(_is_system, listed))
        items = [item for message in listed[len(system) :] for item in _items(message, calls)]
        return Exported(messages=tuple(items), system=_instructions(system, calls))

    def joins(self, first: Message, second: Message) -> bool:
        """Each item stands for itself."""
        del first, second
        return False


def _is_system(message: Message) -> bool:
    own_object = (
        message.dialect == OpenAIResponses.name and message.raw is not None and json.is_object(message.raw)
    )
    is_item = own_object or any(isinstance(part, Opaque) for part in message.parts)
    return message.role == "system" and not is_item


def _role(wire: _Wire) -> Role:
    if wire.kind == "message":
        return _ROLES.get(wire.role or "", "user")
    if _answers(wire):
        return "tool"
    if wire.kind.endswith("_response"):
        return "user"
    return "assistant" if wire.kind.endswith(_TURNS) else _ROLES.get(wire.role or "developer", "system")


def _answers(wire: _Wire) -> str:
    """The id of the call that this item answers; "" if it is not a result."""
    if not wire.kind.endswith("_output"):
        return ""
    # the local shell's answer names the call in ``id``
    return wire.call_id or (wire.id or "" if wire.kind == "local_shell_call_output" else "")


def _pieces(raw: bytes | Raw, wire: _Wire, *, path: str) -> list[Piece]:
    if wire.kind == "message" and wire.role in _ROLES:
        return list(_content(wire.content, path=f"{path}.content"))
    return [Piece(_item(raw, wire, path=path), "item", raw)]


def _item(raw: bytes | Raw, wire: _Wire, *, path: str) -> Part:
    if wire.kind == "reasoning":
        blocks = [*_content(wire.summary, path=f"{path}.summary"), *_content(wire.content, path=path)]
        text = "\n".join(piece.part.text for piece in blocks if isinstance(piece.part, Text))
        return Reasoning(text=text, raw=bytes(raw))
    if wire.kind == "function_call":
        return _function_call(wire, path=path)
    if wire.kind == "function_call_output" and wire.call_id is None:
        raise InvalidRequest(f"{path}.call_id: a result must name the call it answers")
    if answered := _answers(wire):
        return _result(answered, wire.output, path=f"{path}.output")
    if wire.kind.endswith("_call") and wire.call_id:
        name = wire.name or wire.kind.removesuffix("_call")
        return ToolCall(id=wire.call_id, name=name, arguments=_arguments(wire), raw=bytes(raw))
    return Opaque(kind=wire.kind if wire.kind != "message" else str(wire.role), raw=bytes(raw))


def _function_call(wire: _Wire, *, path: str) -> ToolCall:
    for name, value in (("call_id", wire.call_id), ("name", wire.name)):
        if value is None:
            raise InvalidRequest(f"{path}.{name}: a function_call must have one")
    return ToolCall(id=wire.call_id or "", name=wire.name or "", arguments=json.string(wire.arguments))


def _arguments(wire: _Wire) -> str:
    values = (json.string(getattr(wire, name)) for name in _WHERE_ARGUMENTS)
    return next((value for value in values if value), "")


def _result(call_id: str, output: Raw, *, path: str) -> ToolResult:
    if json.is_object(output):
        parts = [_block(output, path=path)]
    else:
        parts = [piece.part for piece in _content(output, path=path)]
    return result_of(call_id, parts)


def _content(raw: Raw, *, path: str) -> Iterator[Piece]:
    for index, block in enumerate(json.contents(raw, path=path)):
        yield Piece(_block(block, path=f"{path}[{index}]"), "content", block)


def _block(raw: Raw, *, path: str) -> Part:
    if json.is_string(raw):
        return Text(text=json.string(raw, path=path))
    block = json.decode(raw, _BLOCK, path=path)
    match block.type:
        case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" if (
            block.text is not None
        ):
            return Text(text=block.text)
        case "refusal" if block.refusal is not None:
            return Text(text=block.refusal, raw=bytes(raw))
        case "input_image" | "computer_screenshot":
            return image_at(block.image_url or "", None if block.image_url else bytes(raw))
        case "input_file":
            where = block.file_data or block.file_url or ""
            return document_at(where, name=block.filename or "", raw=None if where else bytes(raw))
        case _:
            return Opaque(kind=block.type, raw=bytes(raw))


def _items(message: Message, calls: Calls) -> Iterator[bytes]:
    if intact(message, OpenAIResponses.name) and message.raw is not None and json.is_object(message.raw):
        yield message.raw
        return
    was, members = _original(message)
    fresh = partial(_fresh, message=message, calls=calls)
    pieces = align(message.parts, was, fresh=fresh, patch=_patched)
    for slot, group in groupby(pieces, key=lambda piece: piece.slot):
        if slot == "item":
            yield from (bytes(piece.json) for piece in group)
        else:
            yield _message_item(list(group), message.role, members=members)
            members = dict[str, Raw]()


def _original(message: Message) -> tuple[Sequence[Piece], Mapping[str, Raw]]:
    """The pieces of the message's own bytes, and its members if it is a message item."""
    if message.raw is None or message.dialect != OpenAIResponses.name:
        return (), {}
    if json.is_string(message.raw):
        return list(_content(Raw(message.raw), path="message")), {}
    wire = json.decode(message.raw, _WIRE, path="message")
    members = json.members(message.raw, path="message") if wire.kind == "message" else {}
    return _pieces(message.raw, wire, path="message"), members


def _message_item(pieces: Sequence[Piece], role: Role, *, members: Mapping[str, Raw]) -> bytes:
    says = "user" if role == "tool" else role
    kind = "output_text" if role == "assistant" else "input_text"
    item: dict[str, object] = dict(members) or {"type": "message", "role": says}
    if len(pieces) == 1 and json.is_string(pieces[0].json):
        item["content"] = json.fragment(bytes(pieces[0].json))
    else:
        item["content"] = json.fragment(json.array(as_block(piece, kind) for piece in pieces))
    return json.encode(item)


def _patched(piece: Piece, part: ToolCall | ToolResult) -> Piece:
    if isinstance(part, ToolCall):
        return Piece(part, "item", _with_id(piece.json, part.id))
    members = json.members(piece.json, path="message")
    kind = json.string(members["type"])
    id = "call_id" if "call_id" in members else "id"
    return Piece(part, "item", json.encode(members | {id: part.call_id} | _output(kind, part)))


def _with_id(raw: bytes | Raw, id: str) -> bytes:
    return json.encode(json.members(raw, path="call") | {"call_id": id})


def _output(kind: str, result: ToolResult) -> dict[str, object]:
    """The members of a result item that say the result. A list of found tools cannot say anything else: it stays."""
    match kind:
        case "computer_call_output":
            return {"output": {"type": "computer_screenshot", "image_url": _screen(result)}}
        case "shell_call_output":
            # of the exit code no more is known by now than whether it was an error
            outcome = {"type": "exit", "exit_code": int(result.is_error)}
            return {"output": [{"stdout": result.text, "stderr": "", "outcome": outcome}]}
        case "tool_search_output":
            return {}
        case _ if result.media and kind in ("function_call_output", "custom_tool_call_output"):
            pieces = [words(result.text)] if result.text else []
            pieces += [_media_piece(media) for media in result.media]
            return {"output": json.fragment(json.array(as_block(piece, "input_text") for piece in pieces))}
        case _:
            return {"output": result.text}


def _screen(result: ToolResult) -> str:
    shown = (data_url(part, "image/png") for part in result.media if isinstance(part, Image))
    return next((url for url in shown if url), _BLANK)


def _fresh(part: Part, *, message: Message, calls: Calls) -> Iterable[Piece]:
    own = own_block(part, message, dialect=OpenAIResponses.name)
    match part:
        case Text():
            if own and message.role == "assistant":
                return [Piece(part, "content", own)]
            return [words(part.text)] if part.text else []
        case Reasoning() | Opaque():
            return [Piece(part, "item", own)] if own else []
        case ToolCall():
            return [Piece(part, "item", _with_id(own, part.id) if own else _call_item(part, calls))]
        case ToolResult():
            return [Piece(part, "item", _result_item(part, calls))]
        case Image() | Document():
            if own:
                return [Piece(part, "content", own)]
            return [_media_piece(part) if message.role != "assistant" else words(media_note(part))]
        case _:
            assert_never(part)


def _call_item(call: ToolCall, calls: Calls) -> bytes:
    return json.encode(
        {
            "type": "function_call",
            "call_id": calls.send(call),
            "name": tool_name(call.name),
            "arguments": arguments_object(call.arguments).decode(),
        }
    )


def _result_item(result: ToolResult, calls: Calls) -> bytes:
    kind = _answer_kind(calls.native.get(result.call_id))
    names_id = kind == "local_shell_call_output"
    members: dict[str, object] = {"type": kind, "id" if names_id else "call_id": calls.answer(result.call_id)}
    if kind == "apply_patch_call_output":
        members["status"] = "failed" if result.is_error else "completed"
    if kind == "tool_search_output":
        members["tools"] = []
    return json.encode(members | _output(kind, result))


def _answer_kind(call: ToolCall | None) -> str:
    if call is None or call.raw is None:
        return "function_call_output"
    kind = json.string(json.members(call.raw, path="call")["type"])
    return "tool_search_output" if kind == "tool_search_call" else f"{kind}_output"


def _media_piece(part: Image | Document) -> Piece:
    """The block of a picture or a document, or a note in its place if the API takes none like it."""
    if isinstance(part, Image):
        url = data_url(part, "image/png")
        block: dict[str, str] = {"type": "input_image", "image_url": url, "detail": "auto"} if url else {}
    elif part.data:
        data = data_url(part, "application/pdf")
        block = {"type": "input_file", "filename": part.name or "document", "file_data": data}
    else:
        block = {"type": "input_file", "file_url": part.url} if part.url else {}
    return Piece(part, "content", json.encode(block)) if block else words(media_note(part))


def _instructions(messages: Sequence[Message], calls: Calls) -> bytes | None:
    if len(messages) == 1 and intact(messages[0], OpenAIResponses.name):
        return messages[0].raw
    pieces: list[Piece] = []
    for message in messages:
        was, _ = _original(message)
        texts = [part for part in message.parts if isinstance(part, Text)]
        pieces += align(texts, was, fresh=partial(_fresh, message=message, calls=calls), patch=_patched)
    return joined(pieces) if pieces else None
