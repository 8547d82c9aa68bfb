"""OpenAI Chat Completions, as OpenAI and the many servers that copy it speak it.

One message holds its content, its calls, and a few members of its own; each tool result is a message of role
``tool``. Not every server keeps to the letter, so ids may be empty, arguments an object instead of a string, and
contents a list where OpenAI wants a string.

Slots: ``content``, ``tool_calls``, ``result`` (the piece is the whole message), ``media`` (what a result showed, which
must wait until the last result of its group), and the members ``reasoning``, ``refusal``, ``audio``, ``function_call``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import assert_never

import msgspec
from msgspec import Raw, structs

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
    Unit,
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
    "tool": "tool",
    "function": "tool",
}
_OLD = "function:"  # calls of the API before tools have a name, but no id: this and the name is theirs here
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: Raw = _NULL


class _Custom(msgspec.Struct, gc=False):
    name: str
    input: str = ""


class _Call(msgspec.Struct, gc=False):
    id: str
    type: str = "function"
    function: _Function | None = None
    custom: _Custom | None = None


class _Wire(msgspec.Struct, gc=False):
    role: str
    content: Raw = _NULL
    tool_calls: list[Raw] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    refusal: str | None = None
    audio: Raw = _NULL
    function_call: _Function | None = None
    reasoning_content: Raw = _NULL
    reasoning: Raw = _NULL
    reasoning_details: Raw = _NULL


class _Url(msgspec.Struct, gc=False):
    url: str


class _File(msgspec.Struct, gc=False):
    file_data: str | None = None
    filename: str | None = None
    file_id: str | None = None


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: _Url | str | None = None
    file: _File | None = None


_WIRE = msgspec.json.Decoder(_Wire)
_CALL = msgspec.json.Decoder(_Call)
_BLOCK = msgspec.json.Decoder(_Block)


class OpenAIChat:
    """The dialect ``openai_chat``."""

    name: Dialect = "openai_chat"
    list_field = "messages"
    list_required = True
    system_field = ""
    no_system = b""
    output_fields: tuple[str, ...] = ("max_completion_tokens", "max_tokens")

    def parse(self, raw: bytes, *, seq: int, role: Role, path: str) -> Message:
        """The message that ``raw`` says. A role that is not known gives an opaque part that is not the user's word."""
        del role  # a message of this API always says its own
        wire = json.decode(raw, _WIRE, path=path)
        known = _ROLES.get(wire.role)
        return Message(
            seq=seq,
            role=known or "user",
            parts=tuple(piece.part for piece in _pieces(raw, wire, path=path)),
            raw=raw,
            dialect=self.name,
            synthetic=known is None,
        )

    def render(self, message: Message) -> tuple[bytes, ...]:
        """The message as this API says it; each result is a message of its own."""
        return self.export((message,)).messages

    def export(self, messages: Iterable[Message]) -> Exported:
        """The messages as this API takes them.

        Calls that must share a message are merged into one, each result becomes a message of its own, and pictures
        inside of results follow after the last result as a user message that says where they come from. Reasoning
        and opaque parts of another dialect are left out.
        """
        listed = list(messages)
        calls = Calls(listed, self.name)
        units = (unit for message in listed for unit in _units(message, calls))
        return Exported(messages=tuple(_render(unit) for unit in _merged(units)))

    def joins(self, first: Message, second: Message) -> bool:
        """Calls of one step share a message."""
        return first.role == second.role == "assistant"


def _pieces(raw: bytes | Raw, wire: _Wire, *, path: str) -> list[Piece]:
    role = _ROLES.get(wire.role)
    if role is None:
        return [Piece(Opaque(kind=wire.role, raw=bytes(raw)), "message", raw)]
    if role == "tool":
        return [_result(raw, wire, path=path)]
    return [*_thoughts(wire), *_content(wire, path), *_extras(wire), *_calls(wire, path)]


def _result(raw: bytes | Raw, wire: _Wire, *, path: str) -> Piece:
    call_id = f"{_OLD}{wire.name}" if wire.role == "function" else wire.tool_call_id
    if call_id is None:
        raise InvalidRequest(f"{path}.tool_call_id: a tool message must name the call it answers")
    parts = [piece.part for piece in _content(wire, path)]
    return Piece(result_of(call_id, parts), "result", raw)


def _thoughts(wire: _Wire) -> Iterator[Piece]:
    if wire.reasoning_content is wire.reasoning is wire.reasoning_details is _NULL:
        return
    found = {name: raw for name in _THOUGHTS if bytes(raw := getattr(wire, name)) not in (b"null", b'""')}
    if found:
        text = next((json.string(raw) for raw in found.values() if json.is_string(raw)), "")
        raw = json.encode(found)
        yield Piece(Reasoning(text=text, raw=raw), "reasoning", raw)


def _content(wire: _Wire, path: str) -> Iterator[Piece]:
    for index, block in enumerate(json.contents(wire.content, path=f"{path}.content")):
        yield Piece(_block(block, f"{path}.content[{index}]"), "content", block)


def _block(raw: Raw, path: str) -> Part:
    if json.is_string(raw):
        return Text(text=json.string(raw))
    block = json.decode(raw, _BLOCK, path=path)
    if block.type == "text" and block.text is not None:
        return Text(text=block.text)
    if block.type == "refusal" and block.refusal is not None:
        return Text(text=block.refusal, raw=bytes(raw))
    if block.type == "image_url" and block.image_url is not None:
        return image_at(block.image_url if isinstance(block.image_url, str) else block.image_url.url)
    if block.type == "file" and block.file is not None:
        keep = None if block.file.file_data else bytes(raw)
        return document_at(block.file.file_data or "", name=block.file.filename or "", raw=keep)
    return Opaque(kind=block.type, raw=bytes(raw))


def _extras(wire: _Wire) -> Iterator[Piece]:
    if wire.refusal:
        raw = json.encode({"type": "refusal", "refusal": wire.refusal})
        yield Piece(Text(text=wire.refusal, raw=raw), "refusal", raw)
    if json.is_object(wire.audio):
        yield Piece(Opaque(kind="audio", raw=bytes(wire.audio)), "audio", wire.audio)


def _calls(wire: _Wire, path: str) -> Iterator[Piece]:
    for index, raw in enumerate(wire.tool_calls or ()):
        yield Piece(_call(raw, f"{path}.tool_calls[{index}]"), "tool_calls", raw)
    if wire.function_call is not None:
        name, arguments = wire.function_call.name, json.string(wire.function_call.arguments)
        yield Piece(ToolCall(id=f"{_OLD}{name}", name=name, arguments=arguments), "function_call", b"")


def _call(raw: Raw, path: str) -> Part:
    call = json.decode(raw, _CALL, path=path)
    if call.type == "function":
        if call.function is None:
            raise InvalidRequest(f"{path}.function: a call must name its function")
        return ToolCall(id=call.id, name=call.function.name, arguments=json.string(call.function.arguments))
    if call.custom is not None:
        return ToolCall(id=call.id, name=call.custom.name, arguments=call.custom.input, raw=bytes(raw))
    return Opaque(kind=call.type, raw=bytes(raw))


def _units(message: Message, calls: Calls) -> list[Unit]:
    if intact(message, OpenAIChat.name):
        return [Unit(role=message.role, message=message, raw=message.raw)]
    role = "user" if message.role == "tool" else message.role
    whole = _opened(message, calls) if message.dialect == OpenAIChat.name else None
    if whole is None:
        pieces = [piece for part in message.parts for piece in _fresh(part, message=message, calls=calls)]
        whole = Unit(role=role, message=message, pieces=pieces)
    results = [replace(whole, role="tool", pieces=[piece]) for piece in whole.slot("result")]
    media = whole.slot("media")
    rest = [piece for piece in whole.pieces if piece.slot not in ("result", "media")]
    units = results
    if media:
        units.append(Unit(role="media", message=message, pieces=media))
    if rest:
        units.append(replace(whole, role=role, pieces=rest))
    return units


def _opened(message: Message, calls: Calls) -> Unit | None:
    """The message taken apart into pieces of its own bytes; None if it has none."""
    if message.raw is None:
        return None
    wire = json.decode(message.raw, _WIRE, path="message")
    was = _pieces(message.raw, wire, path="message")
    pieces = list(
        align(message.parts, was, fresh=partial(_fresh, message=message, calls=calls), patch=_patched)
    )
    of_result = wire.role in ("tool", "function")
    members = {} if of_result else json.members(message.raw, path="message")
    return Unit(role=message.role, message=message, pieces=pieces, members=members, was=was)


def _patched(piece: Piece, part: ToolCall | ToolResult) -> Piece:
    if isinstance(part, ToolCall):
        raw = _with_id(piece.json, part.id) if piece.slot == "tool_calls" else piece.json
        return Piece(part, piece.slot, raw)
    members: dict[str, object] = dict(json.members(piece.json, path="message"))
    if "tool_call_id" in members:
        members["tool_call_id"] = part.call_id
    if part.media:
        content = [words(part.text)] if part.text else []
        content += [_media_piece(media) for media in part.media]
        members["content"] = json.fragment(json.array(as_block(each) for each in content))
    else:
        members["content"] = part.text
    return Piece(part, "result", json.encode(members))


def _with_id(raw: bytes | Raw, id: str) -> bytes:
    members: dict[str, object] = dict(json.members(raw, path="call"))
    return json.encode(members | {"id": id})


def _fresh(part: Part, *, message: Message, calls: Calls) -> Iterable[Piece]:
    own = own_block(part, message, dialect=OpenAIChat.name)
    match part:
        case Text():
            if own and message.role == "assistant":
                return [Piece(part, "content", own)]
            return [words(part.text)] if part.text else []
        case Reasoning():
            return [Piece(part, "reasoning", own)] if own else []
        case ToolCall():
            return [Piece(part, "tool_calls", _call_block(part, own, calls=calls))]
        case ToolResult():
            return _fresh_result(part, calls)
        case Image() | Document():
            new = _media_piece(part) if message.role == "user" else words(media_note(part))
            return [Piece(part, "content", own) if own else new]
        case Opaque():
            return []
        case _:
            assert_never(part)


def _fresh_result(result: ToolResult, calls: Calls) -> list[Piece]:
    call_id = calls.answer(result.call_id)
    if call_id.startswith(_OLD):
        members = {"role": "function", "name": call_id.removeprefix(_OLD), "content": result.text}
    else:
        members = {"role": "tool", "tool_call_id": call_id, "content": result.text}
    shown = [words(f"[shown by the tool, result of call {call_id}]")] if result.media else []
    shown += [_media_piece(media) for media in result.media]
    return [Piece(result, "result", json.encode(members)), *(piece._replace(slot="media") for piece in shown)]


def _call_block(call: ToolCall, own: bytes | None, *, calls: Calls) -> bytes:
    if own:
        return _with_id(own, call.id)
    function = {"name": tool_name(call.name), "arguments": arguments_object(call.arguments).decode()}
    return json.encode({"id": calls.send(call), "type": "function", "function": function})


def _media_piece(part: Image | Document) -> Piece:
    """The block of a picture or a file, or a note in its place if the API takes none like it."""
    if isinstance(part, Image):
        url = data_url(part, "image/png")
        block: dict[str, object] = {"type": "image_url", "image_url": {"url": url}} if url else {}
    else:
        file = {"filename": part.name or "document", "file_data": data_url(part, "application/pdf")}
        block = {"type": "file", "file": file} if part.data else {}
    return Piece(part, "content", json.encode(block)) if block else words(media_note(part))


def _merged(units: Iterable[Unit]) -> Iterator[Unit]:
    """Units that the API takes in this order: calls together, media after the results they came with."""
    last: Unit | None = None
    waiting: list[Unit] = []
    for unit in units:
        if unit.role == "media":
            waiting.append(unit)
        elif last is not None and _joins(last, unit):
            last = _merge(last, unit)
        else:
            if last is not None:
                yield last
            if unit.role != "tool":
                yield from waiting
                waiting = []
            last = unit
    if last is not None:
        yield last
    yield from waiting


def _joins(last: Unit, unit: Unit) -> bool:
    if last.role != "assistant" or unit.role != "assistant":
        return False
    # messages of this API stay apart, with their bytes, unless the calls of one step were torn apart
    foreign = last.message.dialect != OpenAIChat.name and unit.message.dialect != OpenAIChat.name
    return foreign or bool(last.message.calls)


_MOVED = {"refusal": "content"}  # a merged message has one member, but its content takes any number


def _merge(first: Unit, second: Unit) -> Unit:
    calls = Calls((first.message, second.message), OpenAIChat.name)
    one, two = (unit if unit.raw is None else _opened(unit.message, calls) for unit in (first, second))
    assert one is not None, "bytes that came can be taken apart"
    assert two is not None, "bytes that came can be taken apart"
    parts = (*first.message.parts, *second.message.parts)
    base = one if one.members else two
    return Unit(
        role="assistant",
        message=structs.replace(first.message, parts=parts),
        pieces=[
            *one.pieces,
            *(piece._replace(slot=_MOVED.get(piece.slot, piece.slot)) for piece in two.pieces),
        ],
        members=base.members,
        was=base.was,
    )


def _render(unit: Unit) -> bytes:
    if unit.raw is not None:
        return unit.raw
    if unit.role == "tool":
        return bytes(unit.pieces[0].json)
    role = "user" if unit.role == "media" else unit.role
    members: dict[str, object] = dict(unit.members) or {"role": role}
    _put_content(members, unit)
    if not unit.same("tool_calls"):
        members.pop("tool_calls", None)
        if calls := unit.slot("tool_calls"):
            members["tool_calls"] = json.fragment(json.array(piece.json for piece in calls))
    for name in ("refusal", "audio", "function_call"):
        if not unit.slot(name) and not unit.same(name):
            members.pop(name, None)
    _put_thoughts(members, unit)
    return json.encode(members)


def _put_content(members: dict[str, object], unit: Unit) -> None:
    if unit.same("content") and "content" in members:
        return
    pieces = unit.slot("content") or unit.slot("media")
    if not pieces:
        calls = unit.slot("tool_calls") or unit.slot("function_call")
        # OpenAI takes null beside calls alone; strict servers want the member there in any case
        members["content"] = None if calls else ""
    elif all(json.is_string(piece.json) for piece in pieces):
        members["content"] = json.fragment(joined(pieces))
    else:
        members["content"] = json.fragment(json.array(as_block(piece) for piece in pieces))


def _put_thoughts(members: dict[str, object], unit: Unit) -> None:
    if unit.same("reasoning"):
        return
    for name in _THOUGHTS:
        members.pop(name, None)
    for piece in unit.slot("reasoning")[:1]:
        members.update(json.members(piece.json, path="reasoning"))
