"""One client's huge message is nobody else's business: others are answered while it is worked on."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E1")]

MEGABYTES = 8
PATH = "/v1/chat/completions"
JSON = {"content-type": "application/json"}


def request(*contents: str) -> bytes:
    roles = ("user", "assistant")
    listed = [{"role": roles[place % 2], "content": text} for place, text in enumerate(contents)]
    return json.dumps({"model": "gpt-4o", "messages": listed}).encode()


class Uploaded:
    """A body that says when all of it is on its way."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.done = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self._body), 65_536):
            yield self._body[start : start + 65_536]
        self.done.set()


def texts() -> dict[str, str]:
    size = MEGABYTES * 1_000_000
    return {
        "hex": random.Random(1).randbytes(size // 2).hex(),
        "lines": "".join(f"line {number} of src/pkg/file_{number}.py: ok\n" for number in range(size // 40)),
    }


@pytest.mark.parametrize("kind", ["hex", "lines"])
async def test_others_are_answered_while_a_message_of_8_mb_is_taken(kind: str, tmp_path: Path) -> None:
    body = Uploaded(request(texts()[kind]))
    answered = 0
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(
            provider, store=SqliteStore(tmp_path / "kept.db"), window=20_000_000, keep_from=0.0
        ) as url,
        aiohttp.ClientSession(url, headers=JSON) as session,
    ):

        async def post(body: Any) -> int:
            async with session.post(PATH, data=body) as response:
                await response.read()
                return response.status

        large = asyncio.create_task(post(body))
        await body.done.wait()
        while not large.done():
            # each a new conversation, and kept
            assert await post(request(f"What is {answered}?", "A number.", "Which one?")) == 200
            answered += 1
        assert await large == 200
    assert answered >= 10
