"""A conversation that rests until the provider's cache has dropped it is compacted when it goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anthropic
import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock, FakeProvider
from tests.gateway.serving import config

pytestmark = pytest.mark.anyio

WINDOW = 16_000
MODE = replace(DEFAULT, policy=replace(DEFAULT.policy, cold=0.5))
WORDS = "The build of the module printed line after line and nothing of interest to anybody. " * 24


async def actions(clock: FakeClock, rests: list[float], *, model: str, mark: dict[str, str]) -> list[str]:
    """What was done to a request after each rest, in seconds, of a conversation at 60 % of the threshold."""
    messages: list[Any] = []
    told: list[str] = []
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        gateway = Gateway(config(provider, window=WINDOW, mode=MODE), store=MemoryStore(), clock=clock)
        async with (
            running(gateway) as url,
            anthropic.AsyncAnthropic(api_key="sk-ant", base_url=url, max_retries=0) as client,
        ):
            for rest in [0.0] * 16 + rests:
                clock.advance(rest)
                block: Any = {"type": "text", "text": WORDS, "cache_control": mark}
                sent: list[Any] = [*messages, {"role": "user", "content": [block]}]
                answer = await client.messages.with_raw_response.create(
                    model=model, max_tokens=100, messages=sent
                )
                told.append(answer.headers["x-autocompact-action"])
                messages += [
                    {"role": "user", "content": WORDS},
                    {"role": "assistant", "content": "Fine."},
                ]
    assert set(told[:16]) == {"forwarded"}
    return told[16:]


@pytest.mark.parametrize(
    ("model", "mark", "rests", "done"),
    [
        ("claude-opus-4-5", {"type": "ephemeral"}, [299, 301], ["forwarded", "compacted"]),
        ("claude-opus-4-5", {"type": "ephemeral", "ttl": "1h"}, [301, 3_601], ["forwarded", "compacted"]),
        ("a-model-of-ours", {"type": "ephemeral"}, [301, 90_000], ["forwarded", "forwarded"]),
    ],
)
async def test_a_conversation_that_rested_longer_than_the_cache_holds_it_is_compacted(
    model: str, mark: dict[str, str], rests: list[float], done: list[str]
) -> None:
    assert await actions(FakeClock(), rests, model=model, mark=mark) == done
