"""Anthropic Messages.

A message holds blocks; results are blocks of the user message that follows the calls, before anything else in it. The
system prompt stands outside of the list: here it is the leading message of role system, whose ``raw`` is the value of
``system``. Calls that the provider's own servers answer (``server_tool_use``, MCP) stand in one message with their
results, so they are opaque.

There is one slot, ``content``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import groupby, takewhile
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
    intact,
    media_note,
    own_block,
    plain_text,
    result_of,
    tool_name,
    words,
)

_NULL = Raw(b"null")
_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_OPENING = words("[The record of the conversation begins with the assistant.]")


class _Wire(msgspec.Struct, gc=False):
    role: str
    content: Raw = _NULL


class _Source(msgspec.Struct, gc=False):
    type: str
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    thinking: str | None = None
    source: _Source | None = None
    title: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = _NULL
    tool_use_id: str | None = None
    content: Raw = _NULL
    is_error: bool | None = None


_WIRE = msgspec.json.Decoder(_Wire)
_BLOCK = msgspec.json.Decoder(_Block)


class Anthropic:
    """The dialect ``anthropic``."""

    name: Dialect = "anthropic"
    list_field = "messages"
    list_required = True
    system_field = "system"
    no_system = b"[]"
    output_fields: tuple[str, ...] = ("max_tokens",)

    def parse(self, raw: bytes, *, seq: int, role: Role, path: str) -> Message:
        """The message that ``raw`` says; a string or a list of blocks is the system prompt."""
        if not json.is_object(raw):
            parts = tuple(piece.part for piece in _pieces(Raw(raw), path=path))
            return Message(seq=seq, role=role, parts=parts, raw=raw, dialect=self.name)
        wire = json.decode(raw, _WIRE, path=path)
        if wire.role not in ("user", "assistant", "system"):
            parts = (Opaque(kind=wire.role, raw=raw),)
            return Message(seq=seq, role="user", parts=parts, raw=raw, dialect=self.name, synthetic=True)
        parts = tuple(piece.part for piece in _pieces(wire.content, path=f"{path}.content"))
        says: Role = wire.role
        # this API has no role for results: they come in messages of the user, mixed with words or alone
        if says == "user" and parts and all(isinstance(part, ToolResult) for part in parts):
            says = "tool"
        return Message(seq=seq, role=says, parts=parts, raw=raw, dialect=self.name)

    def render(self, message: Message) -> tuple[bytes, ...]:
        """The message as one of this API; a system message as the value of ``system``."""
        calls = Calls((message,), self.name)
        if _is_system(message):
            system = _system((message,), calls)
            return () if system is None else (system,)
        unit = _unit(message, calls)
        return (_render(unit),) if unit.raw is not None or unit.pieces else ()

    def export(self, messages: Iterable[Message]) -> Exported:
        """The messages as this API takes them, and the system prompt apart.

        Roles alternate, the first message is the user's, results come first in theirs, and reasoning goes out only
        as the signed block it came as. Opaque parts of another dialect are left out. A system message in the midst
        of the conversation becomes a marked text of the user's side.
        """
        listed = list(messages)
        calls = Calls(listed, self.name)
        system = list(takewhile(_is_system, listed))
        units = (_unit(message, calls) for message in listed[len(system) :])
        said = (unit for unit in units if unit.raw is not None or unit.pieces)
        merged = _opened_by_user(_merged(_with_system_last(said)))
        return Exported(messages=tuple(_render(unit) for unit in merged), system=_system(system, calls))

    def joins(self, first: Message, second: Message) -> bool:
        """Roles alternate: all that is not the model's is the user's side."""
        return (first.role == "assistant") == (second.role == "assistant")


def _is_system(message: Message) -> bool:
    own_object = message.dialect == Anthropic.name and message.raw is not None and json.is_object(message.raw)
    return message.role == "system" and not own_object


def _pieces(content: Raw, *, path: str) -> Iterator[Piece]:
    blocks = json.contents(content, path=path)
    for index, block in enumerate(blocks):
        yield Piece(_part(block, path=f"{path}[{index}]"), "content", block)


def _part(raw: Raw, *, path: str) -> Part:
    if json.is_string(raw):
        return Text(text=json.string(raw, path=path))
    block = json.decode(raw, _BLOCK, path=path)
    match block.type:
        case "text" if block.text is not None:
            return Text(text=block.text)
        case "thinking" | "redacted_thinking":
            return Reasoning(text=block.thinking or "", raw=bytes(raw))
        case "tool_use":
            return _call(block, path=path)
        case "tool_result":
            return _result(block, path=path)
        case "image" | "document" if block.source is not None:
            return _media(block, block.source, raw=raw)
        case _:
            return Opaque(kind=block.type, raw=bytes(raw))


def _call(block: _Block, *, path: str) -> ToolCall:
    for name, value in (("id", block.id), ("name", block.name)):
        if value is None:
            raise InvalidRequest(f"{path}.{name}: a tool_use block must have one")
    return ToolCall(id=block.id or "", name=block.name or "", arguments=json.string(block.input))


def _result(block: _Block, *, path: str) -> ToolResult:
    if block.tool_use_id is None:
        raise InvalidRequest(f"{path}.tool_use_id: a tool_result block must name the call it answers")
    parts = [piece.part for piece in _pieces(block.content, path=f"{path}.content")]
    return result_of(block.tool_use_id, parts, is_error=bool(block.is_error))


def _media(block: _Block, source: _Source, *, raw: Raw) -> Image | Document:
    plain = source.type == "text"
    keep = None if source.type in ("base64", "url", "text") else bytes(raw)
    media_type, data, url = source.media_type or "", source.data or "", source.url or ""
    if block.type == "image":
        return Image(media_type=media_type, data=data, url=url, raw=keep)
    return Document(
        media_type=media_type,
        name=block.title or "",
        data="" if plain else data,
        url=url,
        text=data if plain else "",
        raw=keep,
    )


def _unit(message: Message, calls: Calls) -> Unit:
    role = "user" if message.role == "tool" else message.role
    if intact(message, Anthropic.name) and json.is_object(message.raw or b""):
        return Unit(role=role, message=message, raw=message.raw)
    return _opened(message, calls)


def _opened(message: Message, calls: Calls) -> Unit:
    """The message as pieces: those of its own bytes where it has them."""
    role = "user" if message.role == "tool" else message.role
    was, members = _original(message)
    if role == "system" and not members:
        role = "user"
        message = structs.replace(message, role="user", parts=tuple(_marked(part) for part in message.parts))
    pieces = list(
        align(
            message.parts,
            was,
            fresh=partial(_fresh, message=message, calls=calls),
            patch=_patched,
        )
    )
    return Unit(role=role, message=message, pieces=pieces, members=members, was=was)


def _original(message: Message) -> tuple[list[Piece], dict[str, Raw]]:
    if message.raw is None or message.dialect != Anthropic.name:
        return [], {}
    if not json.is_object(message.raw):
        return list(_pieces(Raw(message.raw), path="system")), {}
    members = json.members(message.raw, path="message")
    return list(_pieces(members.get("content", _NULL), path="message.content")), members


def _marked(part: Part) -> Part:
    """A system message where this API takes none: marked, so that it does not pass for the user's words."""
    return Text(text=f"<system>\n{part.text}\n</system>") if isinstance(part, Text) else part


def _patched(piece: Piece, part: ToolCall | ToolResult) -> Piece:
    members: dict[str, object] = dict(json.members(piece.json, path="message"))
    if isinstance(part, ToolCall):
        members["id"] = part.id
        return Piece(part, "content", json.encode(members))
    members["tool_use_id"] = part.call_id
    members["content"] = json.fragment(_result_content(part, native=True))
    if part.is_error or "is_error" in members:
        members["is_error"] = part.is_error
    return Piece(part, "content", json.encode(members))


def _result_content(result: ToolResult, *, native: bool) -> bytes:
    if not result.media:
        return json.encode(result.text)
    pieces = [words(result.text)] if result.text.strip() else []
    pieces += [_media_piece(media, media.raw if native else None) for media in result.media]
    return json.array(as_block(piece) for piece in pieces)


def _fresh(part: Part, *, message: Message, calls: Calls) -> Iterable[Piece]:
    own = own_block(part, message, dialect=Anthropic.name)
    own_dialect = message.dialect == Anthropic.name
    match part:
        case Text():
            return [words(part.text)] if part.text.strip() else []
        case Reasoning():
            return [Piece(part, "content", own)] if own else []
        case ToolCall():
            return [Piece(part, "content", _call_block(part, calls))]
        case ToolResult():
            return [Piece(part, "content", _result_block(part, calls, native=own_dialect))]
        case Image() | Document():
            return [_media_piece(part, own) if message.role != "assistant" else words(media_note(part))]
        case Opaque():
            return [Piece(part, "content", own)] if own else []
        case _:
            assert_never(part)


def _call_block(call: ToolCall, calls: Calls) -> bytes:
    given = json.fragment(arguments_object(call.arguments))
    return json.encode(
        {"type": "tool_use", "id": calls.send(call), "name": tool_name(call.name), "input": given}
    )


def _result_block(result: ToolResult, calls: Calls, *, native: bool) -> bytes:
    members: dict[str, object] = {"type": "tool_result", "tool_use_id": calls.answer(result.call_id)}
    members["content"] = json.fragment(_result_content(result, native=native))
    if result.is_error:
        members["is_error"] = True
    return json.encode(members)


def _media_piece(part: Image | Document, own: bytes | None) -> Piece:
    """The block of a picture or a document, or a note in its place if the API takes none like it."""
    source = _image_source(part) if isinstance(part, Image) else _document_source(part)
    if own:
        return Piece(part, "content", own)
    if source is None:
        return words(media_note(part))
    block: dict[str, object] = {"type": "image" if isinstance(part, Image) else "document", "source": source}
    if isinstance(part, Document) and part.name:
        block["title"] = part.name
    return Piece(part, "content", json.encode(block))


def _image_source(part: Image) -> dict[str, str] | None:
    media_type = part.media_type or _PICTURES[1]
    if part.data:
        # any other picture makes the whole request a 400
        usable = media_type in _PICTURES
        return {"type": "base64", "media_type": media_type, "data": part.data} if usable else None
    return {"type": "url", "url": part.url} if part.url else None


def _document_source(part: Document) -> dict[str, str] | None:
    text = part.text or plain_text(part)
    if text:
        return {"type": "text", "media_type": "text/plain", "data": text}
    if part.data:
        pdf = part.media_type in ("", "application/pdf")
        return {"type": "base64", "media_type": "application/pdf", "data": part.data} if pdf else None
    return {"type": "url", "url": part.url} if part.url else None


def _merged(units: Iterable[Unit]) -> Iterator[Unit]:
    """Units whose roles alternate; neighbours that both go out as they came stay as they are."""
    last: Unit | None = None
    for unit in units:
        if last is None:
            last = unit
        elif last.role == unit.role and not (last.raw is not None and unit.raw is not None):
            last = _merge(last, unit)
        else:
            yield last
            last = unit
    if last is not None:
        yield last


def _with_system_last(units: Iterable[Unit]) -> Iterator[Unit]:
    """Units of which each turn of the user ends with its system message, one at most.

    The API takes a system message in the midst of the conversation only between a user message and one of the model, or at
    the end ("Mid-conversation system messages", 2026). What a client sends keeps to that; a summary before it may not.
    """
    for speaks, turn in groupby(units, key=lambda unit: unit.role == "assistant"):
        told = list(turn)
        system = [unit for unit in told if unit.role == "system"]
        if speaks or not system or told == [*told[:-1], *system]:
            yield from told
        else:
            yield from (unit for unit in told if unit.role != "system")
            yield reduce(_merge, system)


def _merge(first: Unit, second: Unit) -> Unit:
    calls = Calls((), Anthropic.name)
    one, two = (unit if unit.raw is None else _opened(unit.message, calls) for unit in (first, second))
    return replace(one, pieces=[*one.pieces, *two.pieces], members=one.members or two.members, was=())


def _opened_by_user(units: Iterable[Unit]) -> Iterator[Unit]:
    for index, unit in enumerate(units):
        # the API refuses a list that begins with the model
        if not index and unit.role == "assistant":
            yield Unit(role="user", message=structs.replace(unit.message, role="user"), pieces=[_OPENING])
        yield unit


def _render(unit: Unit) -> bytes:
    if unit.raw is not None:
        return unit.raw
    members: dict[str, object] = dict(unit.members) or {"role": unit.role}
    members["content"] = json.fragment(_content(_ordered(unit)))
    return json.encode(members)


def _ordered(unit: Unit) -> list[Piece]:
    """Results first; reasoning first where a merge put something before it."""
    if unit.role == "user":
        return sorted(unit.pieces, key=lambda piece: not isinstance(piece.part, ToolResult))
    # sorted() keeps the order of equals; with thinking switched on, the API wants a turn with calls to begin with its
    # thinking
    if unit.pieces and not isinstance(unit.pieces[0].part, Reasoning):
        return sorted(unit.pieces, key=lambda piece: not isinstance(piece.part, Reasoning))
    return unit.pieces


def _system(messages: Sequence[Message], calls: Calls) -> bytes | None:
    if len(messages) == 1 and intact(messages[0], Anthropic.name):
        return messages[0].raw
    pieces: list[Piece] = []
    for message in messages:
        was, _ = _original(message)
        fresh = partial(_fresh, message=message, calls=calls)
        pieces += align(message.parts, was, fresh=fresh, patch=_patched)
    return _content(pieces) if pieces else None


def _content(pieces: Sequence[Piece]) -> bytes:
    if len(pieces) == 1 and json.is_string(pieces[0].json):
        return bytes(pieces[0].json)
    return json.array(as_block(piece) for piece in pieces)
