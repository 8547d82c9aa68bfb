"""What the application hears of a client: from our own connections, and from the server of somebody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest
import uvicorn

from autocompact.gateway import Gateway, Limits
from autocompact.gateway.server import address_of, listening
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider, Recorded
from tests.gateway.serving import config, gateway_before
from tests.gateway.test_connections import HEAD, wire_to
from tests.gateway.test_passing import ODD

pytestmark = pytest.mark.anyio

Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[str]]


@asynccontextmanager
async def served_by_uvicorn(provider: FakeProvider, *, http: Any, **settings: Any) -> AsyncGenerator[str]:
    """The gateway as an ASGI application like any other."""
    gateway = Gateway(config(provider, **settings), store=MemoryStore())
    bound = listening("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(gateway, http=http, ws="none", lifespan="on", log_config=None, access_log=False)
    )
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield address_of(bound)
    finally:
        server.should_exit = True
        await serving
        bound.close()


@pytest.fixture(params=["ours", "httptools", "h11"])
def serve(request: pytest.FixtureRequest) -> Serve:
    return gateway_before if request.param == "ours" else partial(served_by_uvicorn, http=request.param)


def asked(*headers: bytes, body: bytes = ODD) -> bytes:
    return HEAD % b"chat/completions" + b"".join(line + b"\r\n" for line in headers) + b"\r\n" + body


LENGTH = b"Content-Length: %d" % len(ODD)


async def test_a_body_is_the_same_in_however_many_pieces_it_comes(serve: Serve) -> None:
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(ODD[at : at + 7]), ODD[at : at + 7]) for at in range(0, len(ODD), 7)
    )
    whole, chunked = asked(LENGTH), asked(b"Transfer-Encoding: chunked", body=chunks + b"0\r\n\r\n")
    async with FakeProvider() as provider, serve(provider) as url, wire_to(url) as wire:
        for request in (whole, chunked):
            for pieces in ([request], [request[:200], request[200:]], [bytes([byte]) for byte in request]):
                await wire.send(*pieces)
                assert (await wire.answer())[0] == 200
    assert [request.raw for request in provider.requests] == [ODD] * 6


async def test_a_body_without_a_length_that_grows_too_large_is_refused(serve: Serve) -> None:
    chunk = b"190\r\n" + b"x" * 400 + b"\r\n"
    limits = Limits(body_bytes=1_000)
    async with FakeProvider() as provider, serve(provider, limits=limits) as url, wire_to(url) as wire:
        await wire.send(asked(b"Transfer-Encoding: chunked", body=chunk * 4))
        assert (await wire.answer())[0] == 413
        await wire.send(chunk, b"0\r\n\r\n", asked(LENGTH))
        assert (await wire.answer())[0] == 200
    assert [request.raw for request in provider.requests] == [ODD]


async def test_a_client_that_waits_to_be_told_to_go_on_is_told(serve: Serve) -> None:
    async with FakeProvider() as provider, serve(provider) as url, wire_to(url) as wire:
        for _ in range(2):
            await wire.send(asked(LENGTH, b"Expect: 100-continue", body=b""))
            assert await wire.some(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
            await wire.send(ODD)
            assert (await wire.answer())[0] == 200
    assert [request.raw for request in provider.requests] == [ODD] * 2


async def test_requests_sent_one_behind_the_other_are_answered_in_their_order(serve: Serve) -> None:
    bodies = [ODD.replace(b"Gr", b"%d" % number) for number in range(5)]
    sent = b"".join(asked(b"Content-Length: %d" % len(body), body=body) for body in bodies)
    answers = [Recorded(body=b'{"number":%d}' % number) for number in range(5)]
    async with FakeProvider(answers) as provider, serve(provider) as url, wire_to(url) as wire:
        await wire.send(sent)
        assert [(await wire.answer())[1] for _ in bodies] == [{"number": number} for number in range(5)]
    assert [request.raw for request in provider.requests] == bodies


async def test_a_client_that_goes_away_ends_what_runs_for_it(serve: Serve) -> None:
    body = json.dumps(
        {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    ).encode()
    async with FakeProvider() as provider, serve(provider) as url:
        provider.fail("silent")
        async with wire_to(url) as wire:
            await wire.send(asked(b"Content-Length: %d" % len(body), body=body))
            await provider.wait_for_requests(1)
        await asyncio.wait_for(provider.wait_for_abandoned(), 10)


async def test_an_answer_that_is_only_a_head_is_sent() -> None:
    """Though heads wait for what follows them."""
    async with FakeProvider(models=["m"]) as provider, gateway_before(provider) as url, wire_to(url) as wire:
        for _ in range(2):
            await wire.send(b"HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await wire.some(12) == b"HTTP/1.1 200"
            await wire.head()
        await wire.send(b"HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert (await wire.rest()).startswith(b"HTTP/1.1 200")
