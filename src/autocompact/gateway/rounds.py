"""A turn whose model may search: the answer is relayed, and where it calls our tools the model is asked again."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeAlias

import aiohttp

from autocompact.core.messages import Usage
from autocompact.errors import AutocompactError
from autocompact.gateway.config import Provider
from autocompact.gateway.exchange import Exchange, Header, Refusal, Refused, forwarded
from autocompact.gateway.memory_tools import MOST_ROUNDS, Memory
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.raw_json import Members, object_of, parts_of
from autocompact.gateway.relay import MOST_ERROR_BYTES, Event, Head, Send, inflater, plain, relay
from autocompact.gateway.tool_events import SIEVES
from autocompact.gateway.tool_reply import REPLIES
from autocompact.gateway.tool_stream import Sieve
from autocompact.wire import Reply, parse_reply
from autocompact.wire.stream import StreamReader

Ask: TypeAlias = Callable[[bytes], Awaitable[aiohttp.ClientResponse]]
Plain: TypeAlias = Callable[[], Awaitable[bytes]]

_OK = 200
_OF_THE_RESULTS = frozenset({400, 413, 422})
"""What servers answer to a request that they do not take; what passes by itself, or concerns the client, is not ours."""

_PASSING = frozenset({408, 429, 500, 502, 503, 504, 529})
"""What passes by itself. In a stream that has begun no client can ask for the round again, so it is asked for once more here."""

_PAUSE, _LONGEST = 1.0, 2.0
"""Seconds before that, and at most where the server says how many: its client waits amid an answer."""

_ERRORS = 400
_OF_THE_BODY = frozenset({b"content-length", b"content-encoding"})


log = logging.getLogger("autocompact.gateway")


def readable(exchange: Exchange) -> Exchange:
    """The same request, which asks for an answer without content encoding."""
    name = b"accept-encoding"
    kept = tuple(header for header in exchange.headers if header[0] != name)
    return replace(exchange, headers=(*kept, (name, b"identity")))


class Rounds:
    """Relays one answer that may take several rounds.

    Args:
        memory: the tools of this turn.
        exchange: the client's request.
        ask: sends the body of a request upstream.
        plain: the body of the client's own request, compacted, without a word of the memory tools.
        metrics: counts what happens.
    """

    def __init__(
        self, memory: Memory, exchange: Exchange, *, ask: Ask, plain: Plain, metrics: Metrics
    ) -> None:
        self._memory = memory
        self._provider: Provider = exchange.provider
        self._ask = ask
        self._plain = plain
        self._metrics = metrics
        self._response: aiohttp.ClientResponse | None = None
        self._number = 1
        self._last = False
        self._begun = False

    async def relay(self, head: Head, *, send: Send, ours: Sequence[Header]) -> Usage | None:
        """Send the answer on.

        Returns:
            The usage of the first round: that of the client's own context; None if it is not known.
        """
        try:
            if head.response.status != _OK:
                await relay(head, send=send, ours=ours, reader=None)
                return None
            if head.streams:
                return await self._stream(head, send=send, ours=ours)
            return await self._whole(head, send=send, ours=ours)
        finally:
            if self._response is not None:
                self._response.close()

    async def _next(self, reply: Reply) -> Head:
        """Answer the calls of the round, and ask again.

        What the server does not take with our results in it is asked once more as the client asked it, without our tools:
        the client's own request was fine.

        Raises:
            Refused: the upstream cannot be reached.
        """
        answered = await self._memory.answer(
            reply, metrics=self._metrics, last=self._number == MOST_ROUNDS - 1
        )
        self._last = not answered or self._number == MOST_ROUNDS
        self._number += 1
        body = self._memory.body(last=self._last) if answered else await self._plain()
        head = await self._asked(body)
        if self._begun and (pause := _pause(head.response)) is not None:
            await asyncio.sleep(pause)
            head = await self._asked(body)
        # sealed: asked for none (`readable`), yet it has an encoding that we cannot read, so no call could be found
        # in it
        is_refused = answered and head.response.status in _OF_THE_RESULTS
        if is_refused or head.is_sealed:
            self._last = True
            self._metrics.failed("MemoryRefused")
            log.warning(
                "a server refused the answers of the memory tools", extra={"status": head.response.status}
            )
            head = await self._asked(await self._plain())
        return head

    async def _asked(self, body: bytes) -> Head:
        if self._response is not None:
            self._response.close()
        self._metrics.asked_again()
        self._response = await self._ask(body)
        return Head(self._response)

    def _counted(self, reply: Reply | None) -> None:
        if self._number > 1 and reply is not None and reply.usage is not None:
            self._metrics.paid_again(reply.usage.prompt)

    # An answer in one piece

    async def _whole(self, head: Head, *, send: Send, ours: Sequence[Header]) -> Usage | None:
        replies = REPLIES[self._memory.dialect]()
        body = await head.whole()
        reply = self._read(head, body)
        first = reply.usage if reply is not None else None
        while reply is not None and replies.add(plain(body, head.response), last=self._last):
            head = await self._next(reply)
            body = await head.whole()
            reply = self._read(head, body)
            self._counted(reply)
        # an error, or nothing that we know, goes to the client as it is
        edits = replies.edits() if reply is not None else {}
        await _sent(head, body, edits=edits, send=send, ours=ours)
        return first

    def _read(self, head: Head, body: bytes) -> Reply | None:
        if head.response.status != _OK:
            return None
        try:
            return parse_reply(plain(body, head.response), dialect=self._memory.dialect)
        except AutocompactError:
            return None

    # A streamed answer

    async def _stream(self, head: Head, *, send: Send, ours: Sequence[Header]) -> Usage | None:
        await send(_start(head, ours=ours, without=_OF_THE_BODY))
        self._begun = True
        sieve = SIEVES[self._memory.dialect]()
        first: Usage | None = None
        while True:
            sieve.begin(last=self._last)
            reply = await self._round(head, sieve, send=send)
            self._counted(reply)
            # what the client's own context weighs; later rounds carry our results as well
            first = first if self._number > 1 else reply.usage
            if not sieve.again:
                break
            try:
                head = await self._next(reply)
                problem = await self._problem(head)
            except Refused as refused:
                problem = refused.refusal.body(self._provider)
            if problem:
                log.warning(
                    "an answer ended with an error", extra={"reason": "the model could not be asked again"}
                )
                await send(_piece(sieve.error(problem)))
                break
        # chunked, since nobody knew how many rounds there would be: this ends it
        await send({"type": "http.response.body", "body": b""})
        return first

    async def _round(self, head: Head, sieve: Sieve, *, send: Send) -> Reply:
        """Relay the events of one round; what the model said in it."""
        reader = StreamReader(self._memory.dialect)
        async for chunk in _decoded(head):
            if piece := sieve.feed(chunk):
                await send(_piece(piece))
            reader.feed(chunk)
        if piece := sieve.end():
            await send(_piece(piece))
        reader.close()
        return reader.reply()

    async def _problem(self, head: Head) -> bytes:
        """The JSON of the error if a later round is no stream; else b""."""
        if head.response.status == _OK and head.streams and not head.is_sealed:
            return b""
        body = plain(await head.read(MOST_ERROR_BYTES), head.response)
        try:
            if head.response.status >= _ERRORS and "error" in parts_of(body):
                return self._retryable(body) if head.response.status in _PASSING else body
        except AutocompactError:
            pass  # not the format of the API: our own words for it then
        message = f"the upstream answered {head.response.status} when the model was asked again"
        return Refusal(status=502, message=message).body(self._provider)

    def _retryable(self, body: bytes) -> bytes:
        """The error of a later round with the one type that clients of Anthropic's API try again for amid a stream."""
        if self._memory.dialect != "anthropic":
            return body
        members = parts_of(body)
        error = parts_of(members["error"]) | {"type": b'"overloaded_error"'}
        return object_of(members | {"error": object_of(error)})


def _pause(response: aiohttp.ClientResponse) -> float | None:
    """Seconds after which a round is asked for again; None if that is not worth the wait, or would not help."""
    if response.status not in _PASSING:
        return None
    told = response.headers.get("retry-after", "")
    if not told:
        return _PAUSE
    # a date is not waited for: whoever sends one means more than two seconds
    return float(told) if told.isdecimal() and float(told) <= _LONGEST else None


async def _decoded(head: Head) -> AsyncIterator[bytes]:
    """The body without its content encoding."""
    decode = inflater(head.response)
    async for chunk in head.chunks():
        try:
            yield decode(chunk) if decode else chunk
        except zlib.error as error:
            raise ConnectionError("the upstream's answer is not encoded as it says") from error


def _start(head: Head, *, ours: Sequence[Header], without: Collection[bytes] = ()) -> Event:
    headers = [*forwarded(head.response.raw_headers, without=without), *ours]
    return {"type": "http.response.start", "status": head.response.status, "headers": headers}


def _piece(body: bytes) -> Event:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _sent(head: Head, body: bytes, *, edits: Members, send: Send, ours: Sequence[Header]) -> None:
    """Send a whole answer, with some members changed; its very bytes if there are none to change."""
    if not edits:
        await send(_start(head, ours=ours))
    else:
        body = object_of(parts_of(plain(body, head.response)) | edits)
        length = (b"content-length", str(len(body)).encode())
        await send(_start(head, ours=(*ours, length), without=_OF_THE_BODY))
    await send({"type": "http.response.body", "body": body})
