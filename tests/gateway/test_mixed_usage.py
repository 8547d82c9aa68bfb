"""A proxy that answers in OpenAI's form with Anthropic's figures besides: cached tokens count once in the meter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.gateway.tool_reply import told_figures
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


@pytest.mark.requirement("B1")
def test_what_came_from_the_cache_is_told_of_the_same_prompt_as_the_prompt() -> None:
    def figures(prompt: int, written: int) -> dict[str, object]:
        cached = {"prompt_cache_hit_tokens": prompt - 20, "prompt_cache_miss_tokens": 20}
        both = {"input_tokens": prompt, "output_tokens": written}
        total = {"total_tokens": prompt + written}
        return {"prompt_tokens": prompt, "completion_tokens": written, **both, **total, **cached}

    told = json.loads(told_figures([figures(100, 5), figures(900, 7)]))
    assert told == figures(100, 12)
