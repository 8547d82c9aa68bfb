"""Clients that compact by themselves, as coding agents do: at a share of the window, by the usage that is reported."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import aiohttp
import pytest

from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider, Received
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Client, Json, Speaker, Wire, official
from tests.gateway.test_long_conversations import conversations, log_of

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7", "B6")]

WINDOW = 16_000
SHARE = 0.9
"""Where common agents compact. What the gateway sends never exceeds the window less the reserve for the reply."""

SUMMARISE = "Summarise what was said so far."
SUMMARY = "SUMMARY: modules were built, none failed."


def words(turn: int) -> str:
    return log_of(turn, 1) * 3


def model(asked: Received) -> str:
    return SUMMARY if asked.raw.rstrip(b"}]\n \t").find(SUMMARISE.encode(), -4_000) >= 0 else "Fine."


@dataclass(slots=True, kw_only=True)
class Agent:
    """Holds its history, and replaces it by a summary of the model's once a reply reports too much.

    Attributes:
        speaker: the API it speaks.
        client: asks.
        limit: reported tokens from which it compacts.
        history: what it sends.
        reported: tokens of every prompt, as it was told.
        compacted: how often it compacted.
    """

    speaker: Speaker
    client: Client
    limit: float
    history: list[Json] = field(default_factory=list[Json])
    reported: list[int] = field(default_factory=list[int])
    compacted: int = 0

    async def say(self, text: str, *, stream: bool = False) -> str:
        """One turn, and the compaction after it if that is due."""
        self.history = self.history or self.speaker.begun()
        said = await self._asked(text, stream=stream)
        if self.reported[-1] > self.limit:
            await self.compact()
        return said

    async def compact(self) -> None:
        """What `/compact` does in such an agent."""
        summary = await self._asked(SUMMARISE)
        self.history = [*self.speaker.begun(), self.speaker.user(f"Go on from this. {summary}")]
        self.history.append({"role": "assistant", "content": "Understood."})
        self.compacted += 1

    async def _asked(self, text: str, *, stream: bool = False) -> str:
        self.history.append(self.speaker.user(text))
        body: Any = self.speaker.request(self.history)
        said = self.speaker.heard(await self.client.ask(body, stream=stream))
        self.history += said.items
        self.reported.append(said.prompt)
        return said.text


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_usage_is_true_so_a_client_that_goes_by_it_never_compacts_on_top(
    speaker: Speaker, stream: bool
) -> None:
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(FakeProvider(model, window=WINDOW, cache_minimum=0))
        url = await stack.enter_async_context(gateway_before(provider, window=WINDOW))
        client, opened = official(speaker, url)
        await stack.enter_async_context(opened)
        agent = Agent(speaker=speaker, client=client, limit=SHARE * WINDOW)
        for turn in range(40):
            assert await agent.say(words(turn), stream=stream) == "Fine."
    assert agent.compacted == 0
    assert agent.reported == [asked.tokens for asked in provider.requests]
    assert max(agent.reported) > 0.6 * WINDOW
    assert sum(after < before for before, after in pairwise(agent.reported)) >= 2


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_without_the_gateway_the_same_client_does_compact(speaker: Speaker) -> None:
    async with FakeProvider(model, window=WINDOW) as provider, aiohttp.ClientSession() as session:
        client = Wire(session, provider.url, path=speaker.path)
        agent = Agent(speaker=speaker, client=client, limit=SHARE * WINDOW)
        for turn in range(40):
            await agent.say(words(turn))
    assert agent.compacted > 0


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_a_client_that_compacts_all_the_same_is_followed_without_loss_or_doubling(
    speaker: Speaker,
) -> None:
    store = MemoryStore()
    async with (
        FakeProvider(model, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW, store=store, keep_from=0.0) as url,
        aiohttp.ClientSession() as session,
    ):
        agent = Agent(speaker=speaker, client=Wire(session, url, path=speaker.path), limit=SHARE * WINDOW)
        for turn in range(30):
            await agent.say(words(turn))
        asked = provider.requests[-1]
        assert len(asked.messages) < len(agent.history) - 1  # the gateway has compacted
        before = len(agent.history)
        await agent.compact()
        for turn in range(30, 32):
            await agent.say(words(turn))
        after = provider.requests[-1]
        kept = sorted(await conversations(session, url), key=lambda one: one["messages"])
    # what the client sends now is its own summary and what it said since, once, and nothing of the gateway's summary
    assert after.messages == agent.history[: len(after.messages)]
    assert len(after.messages) == len(agent.history) - 1
    assert after.raw.count(SUMMARY.encode()) == 1
    # the old log is whole, the request for the summary included; the new one is a conversation of its own
    assert [one["messages"] for one in kept] == [len(agent.history) - 1, before + 1]


@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_such_a_client_is_compacted_again_when_its_new_history_has_grown(speaker: Speaker) -> None:
    async with (
        FakeProvider(model, window=WINDOW) as provider,
        gateway_before(provider, window=WINDOW) as url,
        aiohttp.ClientSession() as session,
    ):
        agent = Agent(speaker=speaker, client=Wire(session, url, path=speaker.path), limit=SHARE * WINDOW)
        for turn in range(60):
            await agent.say(words(turn))
            if turn == 25:
                await agent.compact()
    assert agent.compacted == 1
    assert max(agent.reported) < SHARE * WINDOW
    assert len(provider.requests[-1].messages) < len(agent.history) - 10
