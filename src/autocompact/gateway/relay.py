"""The answer on its way back: byte for byte as it comes, read along for its usage.

A provider that finds a request too large when its stream is already open says so in the first event. Not quite in the
first one in OpenAI's Responses: there ``response.created`` and ``response.in_progress`` go before ``response.failed``.
These say nothing yet, so they are held back for the event after them; comments are not, they keep clients waiting.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias

import aiohttp
import msgspec

from autocompact.core.messages import Dialect, Usage
from autocompact.gateway.client import Client
from autocompact.gateway.exchange import Header, forwarded
from autocompact.wire import parse_usage
from autocompact.wire.sse import Payloads
from autocompact.wire.stream import StreamUsage

Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

MOST_ERROR_BYTES = 1_000_000
_MOST_REPLY_BYTES = 64_000_000
_ERRORS = 400
_PATIENCE_SECONDS = 2.0


class Head:
    """The beginning of a response, held back until it is clear that it is not an overflow.

    Attributes:
        response: the provider's.
        held: bytes of its body that were read already.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.held = b""

    @property
    def streams(self) -> bool:
        """Whether the body is a stream of events."""
        return self.response.headers.get("Content-Type", "").lower().startswith("text/event-stream")

    @property
    def is_sealed(self) -> bool:
        """Whether it is an answer with a content encoding that we do not read."""
        return self.response.status < _ERRORS and inflater(self.response) is None

    async def look(self) -> bytes:
        """What may say that the request was too large: an error's body, or what a stream says first; else b""."""
        if self.response.status >= _ERRORS:
            self.held = await self.read(MOST_ERROR_BYTES)
            return plain(self.held, self.response)
        told = await self._opening() if self.streams else b""
        # nearly every stream begins with words of its answer, which are not to be parsed
        return told if b"error" in told else b""

    async def _opening(self) -> bytes:
        """Hold back the stream until it says something, but not for long: then clients want to see that it is open."""
        self.held = await self.response.content.readany()
        more, told = self.held, first_word(plain(self.held, self.response))
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while told is None and more:
                    more = await self.response.content.readany()
                    self.held += more
                    told = first_word(plain(self.held, self.response))
        except TimeoutError:
            return b""
        return told or b""

    async def read(self, most: int) -> bytes:
        """The next bytes of the body, hardly more than so many."""
        pieces: list[bytes] = []
        size = 0
        while size < most and (piece := await self.response.content.readany()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    async def whole(self) -> bytes:
        """All of the body."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body."""
        while chunk := await self.chunk():
            yield chunk

    async def chunk(self) -> bytes:
        """The next bytes of the body, none at its end."""
        if self.held:
            held, self.held = self.held, b""
            return held
        return await self.response.content.readany()

    @property
    def at_end(self) -> bool:
        """Whether it is known that nothing more comes."""
        return not self.held and self.response.content.at_eof()


class Reader(Protocol):
    """Reads an answer along the way."""

    def feed(self, chunk: bytes) -> None:
        """The next bytes, as they come."""
        ...


class UsageReader:
    """Reads the usage of an answer along the way; what it cannot read it leaves."""

    def __init__(self, dialect: Dialect, response: aiohttp.ClientResponse, *, streams: bool) -> None:
        self._reader = StreamUsage(dialect) if streams else None
        self._inflate = inflater(response)
        self._readable = self._inflate is not None
        self._whole: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        if self._inflate is None or not self._readable:
            return
        try:
            chunk = self._inflate(chunk)
        except zlib.error:
            self._readable = False
            return
        if self._reader is not None:
            self._reader.feed(chunk)
        elif self._size < _MOST_REPLY_BYTES:
            self._size += len(chunk)
            self._whole.append(chunk)

    def usage(self) -> Usage | None:
        """What was reported; to be called at the end."""
        if self._reader is None:
            return parse_usage(b"".join(self._whole))
        self._reader.close()
        return self._reader.usage


def inflater(response: aiohttp.ClientResponse) -> Callable[[bytes], bytes] | None:
    """What makes plain bytes of the body's; None for an encoding that we do not read."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return bytes
    # 47: the largest window, and gzip told from zlib by its head.
    return zlib.decompressobj(wbits=47).decompress if encoding in ("gzip", "deflate") else None


def plain(body: bytes, response: aiohttp.ClientResponse) -> bytes:
    """The body without its content encoding; b"" for one that we do not read."""
    inflate = inflater(response)
    try:
        return inflate(body) if inflate else b""
    except zlib.error:
        return b""


async def relay(head: Head, *, send: Send, ours: Sequence[Header], reader: Reader | None) -> None:
    """Send the response on; each chunk goes to the client first."""
    headers = [*forwarded(head.response.raw_headers), *ours]
    await send({"type": "http.response.start", "status": head.response.status, "headers": headers})
    more = True
    while more:
        chunk = await head.chunk()
        # an end that is known goes with the last bytes, else a client waits for one more packet
        more = not head.at_end
        await send({"type": "http.response.body", "body": chunk, "more_body": more})
        if reader is not None:
            reader.feed(chunk)


async def while_connected(
    work: Coroutine[Any, Any, None], *, client: Client | None, receive: Receive
) -> None:
    """Do ``work``, and give it up as soon as the client goes away."""
    scope = asyncio.timeout(None)
    watching: asyncio.Future[None] | None = None
    done = False

    def leave(_: object = None) -> None:
        if not done:
            # a deadline in the past cancels the work from outside, and is told from a time-out within it by `expired`
            scope.reschedule(asyncio.get_running_loop().time())

    try:
        async with scope:
            if client is None:
                watching = asyncio.ensure_future(_disconnected(receive))
                watching.add_done_callback(leave)
            else:
                client.when_gone(leave)
            await work
    except TimeoutError:
        # the provider was too slow: that is no departure of the client
        if not scope.expired():
            raise
    finally:
        done = True
        if watching is not None:
            watching.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


_SILENT = frozenset({"response.created", "response.in_progress", "response.queued"})


class _Event(msgspec.Struct):
    type: str = ""


_KIND = msgspec.json.Decoder(_Event)


def first_word(text: bytes) -> bytes | None:
    """What a stream that begins with ``text`` says first; None if it may still be anything.

    The data of the first event that is not silent; b"" after comments alone; what is no stream of events as it is.
    """
    said = Payloads().feed(text)
    if said:
        return next((data for data in said if not _is_silent(data)), None)
    if text.startswith(b":"):
        return b""
    return None if text.startswith((b"data:", b"event:", b"id:", b"retry:")) else text


def _is_silent(data: bytes) -> bool:
    try:
        return _KIND.decode(data).type in _SILENT
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
