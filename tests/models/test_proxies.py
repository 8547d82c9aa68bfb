"""Models are asked through the proxy that the environment names; servers on this computer never are."""

from __future__ import annotations

import sys

import pytest
from anyio import run_process

from autocompact.testing import FakeProvider

pytestmark = pytest.mark.anyio

ASKING = """
import asyncio, sys
from autocompact.core.messages import text_message
from autocompact.models.openai_compatible import OpenAICompatible

async def main():
    async with OpenAICompatible("m", base_url="http://model.invalid/v1") as model:
        print((await model.complete([text_message(1, "user", "Hello.")])).text)

asyncio.run(main())
"""
NAMING = "import sys; from autocompact.models.proxies import proxy_for; print(*map(proxy_for, sys.argv[1:]))"


async def printed(*arguments: str, **environ: str) -> str:
    env = {"PYTHONPATH": "src", **environ}
    return (await run_process([sys.executable, "-c", *arguments], env=env)).stdout.decode().strip()


async def test_a_request_goes_through_the_proxy() -> None:
    async with FakeProvider("Through it.") as proxy:
        assert await printed(ASKING, HTTP_PROXY=proxy.url) == "Through it."


async def test_what_is_near_or_excepted_has_none() -> None:
    asked = (
        "https://a.example/v1",
        "http://a.example/v1",
        "https://b.example",
        "http://127.0.0.1:1",
        "http://[::1]:1",
    )
    proxies = {
        "HTTPS_PROXY": "proxy.example:3128",
        "ALL_PROXY": "socks5://s.example",
        "NO_PROXY": "b.example",
    }
    assert await printed(NAMING, *asked, **proxies) == "http://proxy.example:3128 None None None None"
