"""A proxy that answers in OpenAI's form with Anthropic's figures besides: cached tokens count once in the meter."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore
from tests.gateway.serving import NAMESPACE_KEY
from tests.gateway.test_compaction import big, send

pytestmark = pytest.mark.anyio

WINDOW, READ = 16_000, 5_000


async def _answer(request: web.Request) -> web.Response:
    body = await request.json()
    prompt = len(await request.read()) // 5
    assert body["messages"]
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": 2,
        "total_tokens": prompt + 2,
        "prompt_tokens_details": {"cached_tokens": READ},
        "cache_read_input_tokens": READ,
        "cache_creation_input_tokens": 0,
    }
    message = {"role": "assistant", "content": "Fine."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return web.json_response({"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})  # fmt: skip


@pytest.mark.requirement("B1")
async def test_tokens_that_a_proxy_reports_twice_fill_the_window_once() -> None:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", _answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        config = Config(
            upstreams={"openai": f"http://127.0.0.1:{port}"}, namespace_key=NAMESPACE_KEY, window=WINDOW
        )
        messages: list[Any] = big(32)
        async with running(Gateway(config, store=MemoryStore())) as url:
            for _ in range(3):
                headers, _ = await send(url, messages)
                assert headers["x-autocompact-compaction"] == "none"
                assert int(headers["x-autocompact-tokens"]) < 9_000
                messages += [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More"}]
    finally:
        await runner.cleanup()
