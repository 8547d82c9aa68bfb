"""Shared by the three dialects: parts tied to the JSON they came from, and the assembly of a changed message.

A message that nobody changed is never taken apart: its bytes go out. A changed one is parsed again, and each of its
parts finds the block it came from (`align`), so that unknown fields, cache markers and signatures survive. Only what
is new, or comes from another dialect, is written from the part's own fields.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple, Protocol

from msgspec import Raw

from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.wire import json

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_-]")


class Piece(NamedTuple):
    """A part and its JSON. ``slot`` says where in a message it belongs; each dialect names its own slots."""

    part: Part
    slot: str
    json: bytes | Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Messages as an API takes them.

    Attributes:
        messages: the JSON of each, in order.
        system: the JSON of what the API wants outside of the list (Anthropic ``system``, Responses
            ``instructions``); None where there is none.
    """

    messages: tuple[bytes, ...]
    system: bytes | None = None


class Codec(Protocol):
    """Codec of one dialect: JSON to messages and back.

    Attributes:
        name: the dialect.
        list_field: the member of a request that holds the messages.
        list_required: whether a request without it is rejected.
        system_field: the member that holds the system prompt outside of the list, "" if there is none.
        no_system: the value of that member that says there is none.
        output_fields: the members that limit the reply's tokens; the first one that is there counts.
    """

    name: Dialect
    list_field: str
    list_required: bool
    system_field: str
    no_system: bytes
    output_fields: tuple[str, ...]

    def parse(self, raw: bytes, *, seq: int, role: Role, path: str) -> Message:
        """The message that ``raw`` says; ``role`` is the one of a bare value (a string, a system prompt)."""
        ...

    def render(self, message: Message) -> tuple[bytes, ...]:
        """The JSON of one message on its own: several where the API needs several to say it."""
        ...

    def export(self, messages: Iterable[Message]) -> Exported:
        """A list that the API accepts."""
        ...

    def joins(self, first: Message, second: Message) -> bool:
        """True if `export` may make one message of these two, where one stands right after the other."""
        ...


def intact(message: Message, dialect: Dialect) -> bool:
    """True if the message goes out as the bytes it came as: unchanged, or opaque as a whole."""
    if message.raw is None or message.dialect != dialect:
        return False
    return not message.changed or any(
        isinstance(part, Opaque) and part.raw == message.raw for part in message.parts
    )


def align(
    parts: Sequence[Part],
    originals: Sequence[Piece],
    *,
    fresh: Callable[[Part], Iterable[Piece]],
    patch: Callable[[Piece, ToolCall | ToolResult], Piece],
) -> Iterator[Piece]:
    """The parts with their JSON: the block each one came from, that block patched, or a new one.

    Equal parts share a block in order. A tool result with the ``call_id`` of an original one is that one's block,
    patched (it was masked). So is a call or a result that got another id: where there are as many of them as in the
    original, the first is the first. Originals that no part asks for are dropped.
    """
    pool: dict[Part, list[Piece]] = {}
    # reversed, so that `pop` takes the first of equal parts first
    for piece in reversed(originals):
        pool.setdefault(piece.part, []).append(piece)
    kin = _kin(parts, originals)
    for part in parts:
        if pool.get(part):
            yield pool[part].pop()
        # patched, so that members which we do not know stay
        elif isinstance(part, ToolCall | ToolResult) and (source := kin.get(_identity(part))) is not None:
            yield patch(source, part)
        else:
            yield from fresh(part)


def _identity(part: ToolCall | ToolResult) -> tuple[bool, str]:
    return isinstance(part, ToolCall), part.id if isinstance(part, ToolCall) else part.call_id


def _kin(parts: Sequence[Part], originals: Sequence[Piece]) -> dict[tuple[bool, str], Piece]:
    """The original block of each call and each result, by kind and id."""
    kin: dict[tuple[bool, str], Piece] = {}
    for kind in (ToolCall, ToolResult):
        now = [part for part in parts if isinstance(part, kind)]
        were = [(piece, piece.part) for piece in originals if isinstance(piece.part, kind)]
        # as many as before: then order tells which is which, though the ids changed
        if len(now) == len(were):
            kin |= {
                _identity(part): piece
                for part, (piece, was) in zip(now, were, strict=True)
                if _akin(part, was)
            }
        kin |= {_identity(was): piece for piece, was in were if kind is ToolResult}
    return kin


def _akin(part: ToolCall | ToolResult, was: ToolCall | ToolResult) -> bool:
    """True if a part can be that original under another id."""
    if isinstance(part, ToolCall) and isinstance(was, ToolCall):
        return (part.name, part.arguments) == (was.name, was.arguments)
    return True


@dataclass(slots=True, kw_only=True)
class Unit:
    """A message to be written: either its bytes as they came, or pieces to assemble.

    Attributes:
        role: who speaks on the wire.
        message: what it was made from.
        raw: the bytes as they came; None once it is to be put together.
        pieces: what it says.
        members: the original's members, unknown ones included; empty if it has none.
        was: the pieces of the original, to see which members need not change.
    """

    role: str
    message: Message
    raw: bytes | None = None
    pieces: list[Piece] = field(default_factory=list[Piece])
    members: Mapping[str, Raw] = field(default_factory=dict[str, Raw])
    was: Sequence[Piece] = ()

    def slot(self, name: str) -> list[Piece]:
        """The pieces that belong there."""
        return [piece for piece in self.pieces if piece.slot == name]

    def same(self, name: str) -> bool:
        """True if the pieces that belong there are those of the original."""
        return bool(self.members) and self.slot(name) == [piece for piece in self.was if piece.slot == name]


class Calls:
    """The ids of tool calls as they go out, in the order in which they go out.

    A call that goes out as the block it came as keeps its id, whatever it looks like. Any other gets one that every
    API accepts: of the right letters and length, and not used before in the same list (some servers count from zero
    in every turn). A result names its call by the very id that went out: the first call of its id that has no result.
    """

    def __init__(self, messages: Sequence[Message], dialect: Dialect) -> None:
        self._messages = messages
        self._dialect = dialect
        self._unanswered: dict[str, deque[str]] = {}
        self._last: dict[str, str] = {}
        self._used: set[str] = set()
        self._times: dict[str, int] = {}

    @cached_property
    def native(self) -> Mapping[str, ToolCall]:
        """The calls that go out as they came, by id: of an id that is used again the last one."""
        return {call.id: call for call in self._native_calls}

    @cached_property
    def _native_calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            call
            for message in self._messages
            if message.dialect == self._dialect
            for call in message.calls
            if message.raw is not None or call.raw is not None
        )

    @cached_property
    def _identities(self) -> frozenset[int]:
        return frozenset(map(id, self._native_calls))

    def send(self, call: ToolCall) -> str:
        """The id for a call that is written anew."""
        # sent as the bytes it came as, so its id is given
        if id(call) in self._identities:
            return call.id
        usable = sent = _usable_id(call.id)
        # servers that count from zero in each turn would make two calls one
        while sent in self._used or sent in self.native:
            times = self._times[usable] = self._times.get(usable, 1) + 1
            sent = _usable_id(f"{usable}_{times}")
        self._used.add(sent)
        self._unanswered.setdefault(call.id, deque()).append(sent)
        return sent

    def answer(self, call_id: str) -> str:
        """The id by which a result that is written anew names its call."""
        # first in, first out: of two calls with one id the first result belongs to the first
        if waiting := self._unanswered.get(call_id):
            self._last[call_id] = waiting.popleft()
            return self._last[call_id]
        if call_id in self.native:
            return call_id
        return self._last.get(call_id) or _usable_id(call_id)


def _usable_id(value: str) -> str:
    if _ID.fullmatch(value):
        return value
    # hashed, so that the same id always becomes the same one, and the prefix stays byte-stable
    return f"call_{blake2b(value.encode(errors='replace'), digest_size=12).hexdigest()}"


def own_block(part: Part, message: Message, *, dialect: Dialect) -> bytes | None:
    """The block that the part itself carries, if it is one of this dialect."""
    return part.raw if message.dialect == dialect else None


def tool_name(value: str) -> str:
    """A tool's name within the letters and the length (64) that every API takes."""
    return _NOT_NAME.sub("_", value)[:64] or "tool"


def arguments_object(arguments: str) -> bytes:
    """The arguments as a JSON object: what is not one (free text of a custom tool) becomes ``{"input": text}``."""
    raw = arguments.strip().encode(errors="replace")
    if not raw:
        return b"{}"
    if json.is_object(raw) and json.is_valid(raw):
        return raw
    return json.encode({"input": arguments})


def media_note(part: Image | Document) -> str:
    """Text in place of a picture or a document that the API does not accept here."""
    if isinstance(part, Image):
        return f"[image: {part.url}]" if part.url else "[image left out]"
    name = part.name or part.url or part.media_type or "without a name"
    return f"[document {name}]\n{part.text}" if part.text else f"[document left out: {name}]"


def plain_text(part: Document) -> str:
    """The text of a document whose data is text; "" for any other, and for data that is not base64."""
    if not part.media_type.startswith("text/"):
        return ""
    try:
        return b64decode(part.data).decode(errors="replace")
    except ValueError:
        return ""


def data_url(part: Image | Document, default: str) -> str:
    """URL of the data: its own, or a data URL with the media type (``default`` if unknown); "" if there is none."""
    if part.data:
        return f"data:{part.media_type or default};base64,{part.data}"
    return part.url


def split_data_url(url: str) -> tuple[str, str]:
    """Media type and base64 data of a data URL; two empty strings for any other."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        return "", ""
    return head[5:-7].partition(";")[0], data


def image_at(url: str, raw: bytes | None = None) -> Image:
    """The picture at a URL, a data URL included."""
    media_type, data = split_data_url(url)
    return Image(media_type=media_type, data=data, raw=raw) if data else Image(url=url, raw=raw)


def document_at(url: str, *, name: str, raw: bytes | None = None) -> Document:
    """The document at a URL, a data URL included; base64 without a header is data of an unknown kind."""
    media_type, data = split_data_url(url)
    if data:
        return Document(media_type=media_type, name=name, data=data, raw=raw)
    if "://" in url[:12] or not url:
        return Document(name=name, url=url, raw=raw)
    return Document(name=name, data=url, raw=raw)


def result_of(call_id: str, parts: Sequence[Part], *, is_error: bool = False) -> ToolResult:
    """A result from the parts of its content; a block of an unknown kind is shown as its JSON."""
    return ToolResult(
        call_id=call_id,
        text="\n".join(_as_text(part) for part in parts if not isinstance(part, Image | Document)),
        is_error=is_error,
        media=tuple(part for part in parts if isinstance(part, Image | Document)),
    )


def _as_text(part: Part) -> str:
    return part.text if isinstance(part, Text) else (part.raw or b"").decode(errors="replace")


def as_block(piece: Piece, kind: str = "text") -> bytes:
    """The JSON of a block; a bare text becomes a block of that kind, with the very bytes of the string."""
    raw = bytes(piece.json)
    return b'{"type":"' + kind.encode() + b'","text":' + raw + b"}" if json.is_string(raw) else raw


def joined(pieces: Sequence[Piece]) -> bytes:
    """Texts as one JSON string, a blank line between two; it begins with the very bytes of the first."""
    return b'"' + b"\\n\\n".join(bytes(piece.json)[1:-1] for piece in pieces) + b'"'


def words(text: str) -> Piece:
    """A new text: its JSON is a string, which each dialect wraps into a block where it needs one."""
    return Piece(Text(text=text), "content", json.encode(text))
