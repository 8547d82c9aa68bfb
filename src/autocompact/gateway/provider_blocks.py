"""Compactions of the provider's own: where a request holds one, and where something stands beside it.

Anthropic's ``compaction`` block holds a readable summary; OpenAI's item is sealed. Both go back to the provider as they
came, and what the request has before them the provider ignores. What is put beside is an item of its own behind OpenAI's.
Behind Anthropic's stands the rest of the model's answer, so it is a text in the next message of the user, before the
user's words but behind the results of tools, which come first. There it stays, request for request, so the prompt cache holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import aiohttp
import msgspec
from msgspec import Raw

from autocompact.core.messages import Dialect
from autocompact.errors import InvalidRequest
from autocompact.gateway.native import holds_compaction
from autocompact.gateway.relay import inflater
from autocompact.wire import Request, json
from autocompact.wire.sse import Payloads

_NULL = Raw(b"null")
_KINDS = ("compaction", "compaction_summary")
_MOST_BYTES = 64_000_000
_DIGEST = 16


class _Item(msgspec.Struct, gc=False):
    """A block of Anthropic's, or an item of OpenAI's Responses."""

    type: str | None = None
    role: str | None = None
    content: Raw = _NULL
    encrypted_content: str | None = None


class _Told(msgspec.Struct, gc=False):
    """A reply, or an event of one."""

    content: list[Raw] = []
    output: list[Raw] = []
    content_block: Raw = _NULL
    delta: Raw = _NULL
    item: Raw = _NULL


_ITEM = msgspec.json.Decoder(_Item)
_TOLD = msgspec.json.Decoder(_Told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The last compaction of the provider's in a request.

    Attributes:
        place: of its message in the list, from 0.
        part: of the block in the content of its message; 0 where the message is the block.
        text: its summary; "" for a sealed one.
        digest: names it.
    """

    place: int
    part: int
    text: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Where something stands beside a block.

    Attributes:
        place: of a message in the list, from 0.
        part: the place in its content, from 0; None for a message of its own before that one.
    """

    place: int
    part: int | None = None

    @property
    def evidence(self) -> int:
        """How many messages stand before it, the one that holds it included."""
        return self.place + (self.part is not None)


def find_block(raws: Sequence[bytes], dialect: Dialect) -> Block | None:
    """The last compaction with content in these messages; None if there is none."""
    for place in range(len(raws) - 1, -1, -1):
        if not holds_compaction(raws[place]):
            continue
        for part, raw in reversed(list(enumerate(_blocks(raws[place], dialect)))):
            if found := _summary(raw):
                text, digest = found
                return Block(place=place, part=part, text=text, digest=digest)
    return None


def place_beside(request: Request, block: Block) -> Beside | None:
    """Where something stands beside the block; None while there is no such place."""
    if request.dialect == "openai_responses":
        return Beside(place=block.place + 1)
    raws = request.raws[request.messages.listed.start :]
    if _read(raws[block.place]).role == "user":
        return Beside(place=block.place, part=block.part + 1)
    places = range(block.place + 1, len(raws))
    first = next((place for place in places if _read(raws[place]).role == "user"), None)
    if first is None:
        return None
    found = Beside(place=first, part=0)
    for place in range(
        first, len(raws)
    ):  # messages of the user in a row are one turn, which begins with the results
        results, count = _leading_results(raws[place])
        if results:
            found = Beside(place=place, part=results)
        if results < count or not count:
            break
    return found


def _leading_results(raw: bytes) -> tuple[int, int]:
    """How many results of tools a message begins with, and how many blocks it has."""
    blocks = _blocks(raw, "anthropic")
    results = 0
    while results < len(blocks) and _read(blocks[results]).type == "tool_result":
        results += 1
    return results, len(blocks)


def with_text(request: Request, text: str, *, beside: Beside) -> bytes:
    """The body with ``text`` there; every other byte stays."""
    body, name = request.raw, "messages" if request.dialect == "anthropic" else "input"
    raws = request.raws[request.messages.listed.start :]
    start = request.spans[name][0]
    if beside.part is None:
        block = {"type": "input_text", "text": text}
        item = json.encode({"type": "message", "role": "user", "content": [block]})
        return _with_item(body, item, items=raws, place=beside.place, start=start)
    begin = _start_of(body, raws, place=beside.place, start=start)
    raw = raws[beside.place]
    changed = _with_block(raw, json.encode({"type": "text", "text": text}), part=beside.part)
    return body[:begin] + changed + body[begin + len(raw) :]


def _with_block(raw: bytes, block: bytes, *, part: int) -> bytes:
    start, end = json.spans(raw, json.members(raw, path="message"))["content"]
    content = raw[start:end]
    if json.is_string(content):
        own = b'{"type":"text","text":' + content + b"}"
        return raw[:start] + b"[" + block + b"," + own + b"]" + raw[end:]
    return _with_item(raw, block, items=_blocks(raw, "anthropic"), place=part, start=start)


def _with_item(body: bytes, item: bytes, *, items: Sequence[bytes], place: int, start: int) -> bytes:
    """``body`` with a further item in the list that begins at ``start``."""
    if place == len(items):
        at = _start_of(body, items, place=place - 1, start=start) + len(items[-1])
        return body[:at] + b"," + item + body[at:]
    at = _start_of(body, items, place=place, start=start)
    return body[:at] + item + b"," + body[at:]


def _start_of(body: bytes, items: Sequence[bytes], *, place: int, start: int) -> int:
    """Where an item begins in ``body``; only commas and white space stand between the items."""
    at = start + 1
    for item in items[:place]:
        # each is looked for behind the one before it: two messages may have the same bytes
        at = body.index(item, at) + len(item)
    return body.index(items[place], at)


def _read(raw: bytes | Raw) -> _Item:
    return json.decode(raw, _ITEM, path="message")


def _blocks(raw: bytes, dialect: Dialect) -> list[bytes]:
    """The blocks of a message; the item itself where the API has no messages."""
    if dialect != "anthropic":
        return [raw]
    content = _read(raw).content
    return [bytes(block) for block in json.items(content, path="content")] if json.is_array(content) else []


def _summary(raw: bytes | Raw) -> tuple[str, str] | None:
    """Words and name of a compaction; None if it is none, or one that failed."""
    item = _read(raw)
    if item.type not in _KINDS:
        return None
    text = json.string(item.content) if json.is_string(item.content) else ""
    named = text or item.encrypted_content or ""
    return (text, digest_of(named)) if named else None


def digest_of(named: str) -> str:
    """The name of a compaction with this content."""
    return blake2b(named.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


class BlockReader:
    """Reads along which compactions an answer brings; what it cannot read it leaves."""

    def __init__(self, response: aiohttp.ClientResponse, *, streams: bool) -> None:
        self._payloads = Payloads() if streams else None
        self._inflate = inflater(response)
        self._whole: list[bytes] = []
        self._size = 0
        self._found: list[str] = []

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        if self._inflate is None:
            return
        try:
            chunk = self._inflate(chunk)
        except zlib.error:
            self._inflate = None
            return
        if self._payloads is not None:
            self._found += [digest for data in self._payloads.feed(chunk) for digest in _brought(data)]
        elif self._size < _MOST_BYTES:
            self._size += len(chunk)
            self._whole.append(chunk)

    def digests(self) -> set[str]:
        """The names of the compactions; to be called at the end."""
        return {*self._found, *_brought(b"".join(self._whole))}


def _brought(data: bytes) -> Iterator[str]:
    """The compactions in a reply, or in an event of one."""
    if b'"compaction' not in data:
        return
    try:
        told = json.decode(data, _TOLD, path="answer")
        for raw in (*told.content, *told.output, told.content_block, told.delta, told.item):
            if found := _summary(_as_block(raw)):
                yield found[1]
    except InvalidRequest:
        return


def _as_block(raw: Raw) -> Raw | bytes:
    """A delta of a compaction holds what the block holds."""
    # each event has only some of these members
    if not json.is_object(raw):
        return b"{}"
    item = _read(raw)
    if item.type != "compaction_delta":
        return raw
    content = None if item.content == _NULL else json.fragment(bytes(item.content))
    return json.encode(
        {"type": "compaction", "content": content, "encrypted_content": item.encrypted_content}
    )
