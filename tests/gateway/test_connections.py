"""What is no request yet: heads and bodies that come slowly, large heads, many connections."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
import uvicorn
from aiohttp import web

from autocompact.gateway import Gateway, Limits
from autocompact.gateway.server import address_of, configuration, listening
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider, Recorded
from tests.gateway.serving import config, gateway_before
from tests.gateway.test_passing import ODD, post

pytestmark = pytest.mark.anyio

QUICK = Limits(head_seconds=0.05, body_seconds=0.05)
HEAD = b"POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


class Wire:
    """A connection without a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()

    async def answer(self) -> tuple[int, Mapping[str, Any]]:
        """The status and the JSON of a whole answer."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = b""
        if "transfer-encoding: chunked" in head:
            while size := int(await self._reader.readline(), 16):
                body += (await self._reader.readexactly(size + 2))[:-2]
            await self._reader.readline()
        else:
            body = await self._reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
        return int(head.split()[1]), json.loads(body)

    async def some(self, size: int) -> bytes:
        """The next so many bytes."""
        return await self._reader.readexactly(size)

    async def head(self) -> bytes:
        """What is left of a head."""
        return await self._reader.readuntil(b"\r\n\r\n")

    async def rest(self) -> bytes:
        """What comes until the other side closes; its wait ends only then."""
        try:
            return await self._reader.read()
        except ConnectionResetError:
            return b""


@asynccontextmanager
async def wire_to(url: str, *, buffer: int = 0) -> AsyncGenerator[Wire]:
    """A connection; with ``buffer``, one that takes in hardly more bytes than are read."""
    parts = urlsplit(url)
    if buffer:
        bound = socket.socket()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        bound.connect((parts.hostname, parts.port))
        reader, writer = await asyncio.open_connection(sock=bound, limit=buffer)
    else:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()


async def trickle(wire: Wire, line: bytes) -> None:
    """Send ``line`` again and again, a byte at a time, until the other side has had enough."""
    try:
        while True:
            for byte in line:
                await wire.send(bytes([byte]))
                await asyncio.sleep(0)
    except ConnectionError:
        pass


@pytest.mark.parametrize("path, kind", [(b"messages", "anthropic"), (b"chat/completions", "openai")])
async def test_a_head_that_trickles_is_answered_and_closed_while_others_are_served(
    path: bytes, kind: str
) -> None:
    limits = Limits(head_seconds=0.5, head_bytes=100_000_000)
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=limits) as url,
        wire_to(url) as wire,
    ):
        await wire.send(HEAD % path)
        slow = asyncio.create_task(trickle(wire, b"X-More: and more\r\n"))
        served, _, _ = await post(f"{url}/v1/chat/completions", ODD)
        status, told = await wire.answer()
        assert await wire.rest() == b""
        slow.cancel()
    assert (served, status) == (200, 408)
    assert "did not come within 0.5 seconds" in told["error"]["message"]
    assert (told.get("type") == "error") == (kind == "anthropic")


async def test_a_body_that_trickles_is_answered_and_closed_while_others_are_served() -> None:
    limits = Limits(body_seconds=0.5, body_rate=100_000_000)
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=limits) as url,
        wire_to(url) as wire,
    ):
        await wire.send(HEAD % b"chat/completions", b"Content-Length: 50000000\r\n\r\n")
        slow = asyncio.create_task(trickle(wire, b" "))
        served, _, _ = await post(f"{url}/v1/chat/completions", ODD)
        status, told = await wire.answer()
        assert await wire.rest() == b""
        slow.cancel()
    assert (served, status) == (200, 408)
    assert "slower than 100,000,000 bytes a second" in told["error"]["message"]


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
async def test_a_request_that_offers_another_protocol_is_answered_in_this_one_with_its_body(
    chunked: bool,
) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n"
    framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(ODD)
    head = HEAD % b"chat/completions" + offer + framing + b"\r\n\r\n"
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(ODD), ODD) if chunked else ODD
    async with FakeProvider() as provider, gateway_before(provider) as url, wire_to(url) as wire:
        await wire.send(head + body[:20], body[20:] + head + body)
        answers = [await wire.answer(), await wire.answer()]
        await wire.send(HEAD % b"chat/completions", b"Content-Length: %d\r\n\r\n" % len(ODD), ODD)
        answers.append(await wire.answer())
    assert [status for status, _ in answers] == [200] * 3
    assert [asked.raw for asked in provider.requests] == [ODD] * 3
    assert not {"upgrade", "http2-settings"} & provider.requests[0].headers.keys()


UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
"""What Codex asks for before it sends a request by HTTP."""


@pytest.mark.parametrize("path", [b"/v1/responses", b"/responses?model=m", b"/v1/realtime", b"/elsewhere"])
async def test_a_web_socket_is_refused_at_once_with_the_status_after_which_clients_go_on_with_http(
    path: bytes,
) -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url, wire_to(url) as wire:
        await wire.send(UPGRADE % path)
        head, _, body = (await wire.rest()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
    assert b"upgrade: HTTP/1.1" in head
    assert "by HTTP" in json.loads(body)["error"]["message"]
    assert provider.requests == []


async def test_a_body_that_keeps_its_rate_takes_as_long_as_it_takes() -> None:
    limits = Limits(head_seconds=0.5, body_seconds=0.1, body_rate=0)
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=limits) as url,
        wire_to(url) as wire,
        wire_to(url) as silent,
    ):
        await wire.send(HEAD % b"chat/completions", b"Content-Length: %d\r\n\r\n" % len(ODD), ODD[:10])
        assert await silent.rest() == b""  # by then, the body was looked at several times
        await wire.send(ODD[10:])
        assert (await wire.answer())[0] == 200


async def test_one_who_says_nothing_is_told_nothing() -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=QUICK) as url,
        wire_to(url) as wire,
    ):
        assert await wire.rest() == b""


async def test_blank_lines_are_no_head() -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=QUICK) as url,
        wire_to(url) as wire,
    ):
        slow = asyncio.create_task(trickle(wire, b"\r\n"))
        assert (await wire.answer())[0] == 408
        slow.cancel()


@pytest.mark.parametrize(
    "pieces",
    [
        [HEAD % b"messages", b"X-Long: ", b"x" * 5000],
        [HEAD % b"messages" + b"X-Long: " + b"x" * 5000 + b"\r\nContent-Length: 2\r\n\r\n{}"],
        [b"GET /v1/messages?" + b"x" * 5000],
        [HEAD % b"messages" + b"".join(b"X-%d: y\r\n" % n for n in range(40)) + b"\r\n"],
    ],
)
async def test_a_head_that_is_too_large_is_refused_in_the_words_of_the_api(pieces: list[bytes]) -> None:
    limits = Limits(head_bytes=4000, headers=30)
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=limits) as url,
        wire_to(url) as wire,
    ):
        await wire.send(*pieces)
        status, told = await wire.answer()
        assert await wire.rest() == b""
        assert provider.requests == []
    assert status == 431
    assert "the request" in told["error"]["message"]


CHUNKED = HEAD % b"chat/completions" + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"hello\r\n\r\n", "method"),
        (b"TRACK /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "use GET, POST or DELETE"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "use http://"),
        (b"GET /v1/models HTTP/1.1\r\nno colon\r\n\r\n", "the head of the request"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nno colon\r\n\r\n", "chunks or trailers"),
        (CHUNKED + b"zz\r\n", "chunks or trailers"),
    ],
)
async def test_what_is_no_http_is_refused_with_what_is_wrong(sent: bytes, why: str) -> None:
    async with FakeProvider() as provider, gateway_before(provider) as url, wire_to(url) as wire:
        await wire.send(sent)
        status, told = await wire.answer()
    assert (status, told["error"]["type"]) == (400, "invalid_request_error")
    assert why in told["error"]["message"]


async def test_a_second_request_on_a_connection_has_its_own_time_and_size() -> None:
    limits = Limits(head_bytes=300, head_seconds=0.5, idle_seconds=60)
    request = HEAD % b"chat/completions" + b"Content-Length: %d\r\n\r\n" % len(ODD) + ODD
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=limits) as url,
        wire_to(url) as wire,
    ):
        for _ in range(3):
            await wire.send(request)
            assert (await wire.answer())[0] == 200
        await wire.send(request + request + b"POST /v1/")
        assert (await wire.answer())[0] == 200
        assert (await wire.answer())[0] == 200
        await wire.send(b"late")
        assert (await wire.answer())[0] == 408


async def test_there_are_only_so_many_connections() -> None:
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=Limits(connections=1)) as url,
        wire_to(url) as first,
    ):
        request = HEAD % b"chat/completions" + b"Content-Length: %d\r\n\r\n" % len(ODD) + ODD
        await first.send(request)
        assert (await first.answer())[0] == 200
        async with wire_to(url) as second:
            status, told = await second.answer()
            assert await second.rest() == b""
        assert (status, told["error"]["message"]) == (503, "too many connections are open")
        await first.send(request)
        assert (await first.answer())[0] == 200


async def test_an_idle_connection_is_closed() -> None:
    request = HEAD % b"chat/completions" + b"Content-Length: %d\r\n\r\n" % len(ODD) + ODD
    async with (
        FakeProvider() as provider,
        gateway_before(provider, limits=Limits(idle_seconds=0.1)) as url,
        wire_to(url) as wire,
    ):
        await wire.send(request)
        assert (await wire.answer())[0] == 200
        assert await wire.rest() == b""


ASKING = HEAD % b"chat/completions" + b"Content-Length: %d\r\n" % len(ODD)


class Endless:
    """An upstream whose answers never end.

    Attributes:
        gone: who asked and went away, by the header ``Who``.
    """

    def __init__(self) -> None:
        self.gone: list[str] = []
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[Self]:
        runner = web.AppRunner(app := web.Application(), handler_cancellation=True, shutdown_timeout=1)
        app.router.add_post("/{path:.*}", self._answer)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            while True:
                await response.write(b"data: " + b"x" * 60_000 + b"\n\n")
        finally:
            self.gone.append(request.headers["Who"])


async def test_who_takes_nothing_of_an_answer_is_given_up_and_who_takes_it_slowly_is_not() -> None:
    limits = Limits(send_seconds=2, head_seconds=0.25)
    async with (
        FakeProvider() as provider,
        Endless().serving() as upstream,
        gateway_before(provider, limits=limits, upstreams={"openai": upstream.url}) as url,
        wire_to(url) as stopped,
    ):
        async with wire_to(url) as slow:
            await slow.send(ASKING, b"Who: slow\r\n\r\n", ODD)
            await stopped.send(ASKING, b"Who: stopped\r\n\r\n", ODD)
            while not upstream.gone:
                async with wire_to(url) as clock:
                    assert await clock.rest() == b""
                await slow.some(1_000_000)
            assert upstream.gone == ["stopped"]
            await slow.some(50_000_000)  # more than what connections hold: it goes on
        assert await stopped.rest() != b""


@asynccontextmanager
async def narrow_gateway(provider: FakeProvider, limits: Limits) -> AsyncGenerator[str]:
    """A gateway whose system takes in hardly more of an answer than its clients do."""
    bound = listening("127.0.0.1", 0)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    gateway = Gateway(config(provider, limits=limits), store=MemoryStore())
    serving = uvicorn.Server(configuration(gateway))
    task = asyncio.create_task(serving.serve(sockets=[bound]))
    try:
        yield address_of(bound)
    finally:
        serving.should_exit = True
        await task
        bound.close()


@pytest.mark.parametrize("header", [b"", b"Connection: close\r\n"])
async def test_a_closed_connection_does_not_wait_for_ever_for_its_client_to_take_the_rest(
    header: bytes,
) -> None:
    limits = Limits(connections=1, idle_seconds=0.1, send_seconds=0.1, head_seconds=0.1)
    reply = Recorded(body=b"x" * 60_000)  # an answer that is written whole, before the client takes any
    async with (
        FakeProvider(lambda _: reply) as provider,
        narrow_gateway(provider, limits) as url,
        wire_to(url, buffer=4_096) as stopped,
    ):
        await stopped.send(ASKING, header, b"\r\n", ODD)
        await provider.wait_for_requests(1)
        told = b"503"
        while told:  # one who comes too early is told that there are too many, and then who says nothing is told nothing
            async with wire_to(url) as next_one:
                told = await next_one.rest()
