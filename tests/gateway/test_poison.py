"""Messages that break careless readers, through a gateway: forwarded as they came, and the conversation goes on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.stores.sqlite import SqliteStore
from tests.gateway.serving import NAMESPACE_KEY
from tests.gateway.test_passing import post

pytestmark = pytest.mark.anyio
REPLY = b'{"id":"r","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Fine."}}]}'


@asynccontextmanager
async def any_provider(bodies: list[bytes]) -> AsyncGenerator[str]:
    """A provider that reads nothing of what it is sent; its address."""

    async def answer(request: web.Request) -> web.Response:
        bodies.append(await request.read())
        return web.Response(body=REPLY, content_type="application/json")

    app = web.Application(client_max_size=10**8)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


WORDS = b'{"role":"user","content":"%s"},{"role":"assistant","content":"Fine."},' % (
    b"rounding of totals " * 400
)
POISON = {
    "half a surrogate pair": b'{"role":"user","content":"a\\ud800b"}',
    "a number beyond a double": b'{"role":"user","content":"x","n":1e400}',
    "a whole number of 5,000 digits": b'{"role":"user","content":"x","n":' + b"9" * 5_000 + b"}",
    "NUL": b'{"role":"user","content":"a\\u0000b"}',
    "nested deep": b'{"role":"user","content":"x","n":' + b"[" * 500 + b"]" * 500 + b"}",
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON.keys())
async def test_no_message_breaks_a_conversation_of_the_gateway(tmp_path: Path, poison: bytes) -> None:
    store, bodies = SqliteStore(tmp_path / "gw.db"), list[bytes]()
    async with any_provider(bodies) as upstream:
        config = Config(
            upstreams={"openai": upstream}, namespace_key=NAMESPACE_KEY, window=8_000, keep_from=0.0
        )
        async with running(Gateway(config, store=store)) as url:
            history, sent, name = poison + b',{"role":"assistant","content":"Fine."},', list[bytes](), ""
            for turn in range(8):
                history += WORDS
                last = b'{"role":"user","content":"Turn %d?"}' % turn
                sent.append(b'{"model":"m","max_tokens":100,"messages":[' + history + last + b"]}")
                address = f"{url}/v1/chat/completions"
                status, headers, told = await post(address, sent[-1], Authorization="Bearer k")
                assert (status, told) == (200, REPLY)
                name = headers["x-autocompact-conversation"]
                history += last + b',{"role":"assistant","content":"Fine."},'
            assert bodies[0] == sent[0]
            assert len(bodies[-1]) < len(sent[-1])  # it was compacted
            (space,) = await store.namespaces()
            infos = [info for info in await store.conversations(space) if info.key.conversation == name]
            assert (await store.read(infos[0].key))[0].raw == poison
