"""What is kept free for the reply, and how often a conversation is compacted, with the figures of real clients."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import aiohttp
import pytest

from autocompact.core.messages import ToolCall
from autocompact.gateway.compactors import counts_output, reserve_for
from autocompact.models.vocabulary import default_counter
from autocompact.testing import Answer, FakeProvider, Received
from tests.gateway.serving import gateway_before
from tests.gateway.speakers import SPEAKERS, Json, Speaker, Wire, encoded

pytestmark = pytest.mark.anyio

CHAT, RESPONSES, MESSAGES = SPEAKERS
WINDOW = 30_000
TURNS = 60
OUTPUT = "The build printed a line, and another one that is of no interest. " * 38
"""Of a tool: about 500 tokens."""


def reader(asked: Received) -> Answer:
    return Answer(calls=(ToolCall(id=f"call_{len(asked.messages)}", name="read", arguments='{"n":1}'),))


@dataclass(slots=True, kw_only=True)
class Agent:
    """Calls a tool in every turn, as coding agents do.

    Attributes:
        speaker: the API it speaks.
        client: sends.
        carried: words of its system prompt.
        output: tokens that it asks for.
        history: what it sends.
        compactions: those that were in force, in order.
        statuses: of the answers.
        warnings: that the answers brought.
    """

    speaker: Speaker
    client: Wire
    carried: int
    output: int
    history: list[Json] = field(default_factory=list[Json])
    compactions: list[str] = field(default_factory=list[str])
    statuses: list[int] = field(default_factory=list[int])
    warnings: list[str] = field(default_factory=list[str])

    async def work(self, turns: int) -> None:
        """So many turns."""
        self.history = self.history or [*self._begun(), self.speaker.user("Read all the modules.")]
        for _ in range(turns):
            body = self.speaker.request(self.history, output=self.output) | self._system()
            status, headers, told = await self.client.post(encoded(body))
            self.statuses.append(status)
            assert status == 200, told
            self.warnings.append(headers.get("x-autocompact-warning", ""))
            compaction = headers.get("x-autocompact-compaction", "none")
            if compaction != "none" and compaction not in self.compactions:
                self.compactions.append(compaction)
            said = self.speaker.heard(_json(told))
            self.history += [*said.items, *self.speaker.results(said.calls, [OUTPUT] * len(said.calls))]

    def _begun(self) -> list[Json]:
        words = "Work well. " * (self.carried // 3)
        return [{"role": "system", "content": words}] if self.speaker is CHAT else []

    def _system(self) -> Json:
        name = {"anthropic": "system", "openai_responses": "instructions"}.get(self.speaker.dialect)
        return {name: "Work well. " * (self.carried // 3)} if name else {}


def _json(told: bytes) -> Any:
    import json

    return json.loads(told)


@asynccontextmanager
async def agent_before(
    provider: FakeProvider, speaker: Speaker, *, carried: int, output: int, window: int = WINDOW
) -> AsyncGenerator[Agent]:
    async with (
        gateway_before(provider, window=window) as url,
        aiohttp.ClientSession() as session,
    ):
        yield Agent(
            speaker=speaker,
            client=Wire(session, url, path=speaker.path),
            carried=carried,
            output=output,
        )


@pytest.mark.requirement("E5", "E7")
@pytest.mark.parametrize("speaker", SPEAKERS, ids=lambda speaker: speaker.dialect)
async def test_an_answer_as_long_as_claude_code_asks_for_is_no_reason_to_compact_at_every_turn(
    speaker: Speaker,
) -> None:
    async with (
        FakeProvider(reader) as provider,
        agent_before(provider, speaker, carried=9_000, output=128_000) as agent,
    ):
        await agent.work(TURNS)
    assert 1 <= len(agent.compactions) <= TURNS // 10
    assert max(asked.tokens for asked in provider.requests) <= WINDOW
    assert not any(agent.warnings)


@pytest.mark.requirement("E5", "E7")
@pytest.mark.parametrize("speaker", [CHAT, MESSAGES], ids=lambda speaker: speaker.dialect)
async def test_a_provider_that_counts_the_answer_says_so_once_and_is_obeyed_from_then_on(
    speaker: Speaker,
) -> None:
    async with (
        FakeProvider(reader, window=WINDOW, flavour="openai") as provider,
        agent_before(provider, speaker, carried=3_000, output=16_000) as agent,
    ):
        await agent.work(TURNS)
    assert len(provider.requests) <= TURNS + 1
    assert len(agent.compactions) <= TURNS // 5


async def test_a_server_of_ones_own_that_counts_the_answer_never_has_to_say_so() -> None:
    async with (
        FakeProvider(reader, window=WINDOW, flavour="vllm") as provider,
        agent_before(provider, CHAT, carried=3_000, output=12_000) as agent,
    ):
        await agent.work(TURNS)
    assert len(provider.requests) == TURNS
    assert len(agent.compactions) <= TURNS // 8


@pytest.mark.requirement("E5", "E7")
async def test_a_client_that_carries_more_than_the_threshold_is_warned_once_and_compacted_seldom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="autocompact.gateway"):
        async with (
            FakeProvider(reader) as provider,
            agent_before(provider, MESSAGES, carried=21_500, output=32_000) as agent,
        ):
            await agent.work(TURNS)
    kept = [warning for warning in agent.warnings if warning]
    assert len(kept) >= TURNS - 5
    assert "the threshold of" in kept[0]
    assert "--window" in kept[0] or "larger window" in kept[0]
    logged = [cast("Any", record) for record in caplog.records if "within its limits" in record.message]
    assert [record.reason for record in logged] == [kept[0]]
    assert len(agent.compactions) <= TURNS // 3
    assert max(asked.tokens for asked in provider.requests) <= WINDOW


class Half:
    """Counts half of what we do."""

    name = "half"

    def count(self, text: str) -> int:
        return default_counter().count(text) // 2


@pytest.mark.requirement("E5", "E7")
async def test_a_count_of_ours_above_the_window_is_corrected_by_the_first_answer() -> None:
    async with (
        FakeProvider(reader, window=WINDOW, output_counts=False, counter=Half()) as provider,
        agent_before(provider, MESSAGES, carried=WINDOW, output=8_000) as agent,
    ):
        await agent.work(TURNS)
    assert "cannot be kept to" in agent.warnings[0]
    assert agent.statuses == [200] * TURNS
    assert 1 <= len(agent.compactions) <= TURNS // 10
    assert len(provider.requests) == TURNS


@pytest.mark.requirement("E5", "E7")
async def test_a_message_that_fits_nowhere_goes_with_the_context_and_the_answer_says_what_is_too_large() -> (
    None
):
    async with (
        FakeProvider(reader) as provider,
        agent_before(provider, MESSAGES, carried=3_000, output=500) as agent,
    ):
        await agent.work(TURNS)
        before = provider.requests[-1].tokens
        agent.history.append({"role": "user", "content": OUTPUT * 70})
        await agent.work(1)
    assert before < WINDOW < provider.requests[-1].tokens < WINDOW + before + 10_000
    assert agent.compactions
    assert "cannot be made smaller" in agent.warnings[-1]
    assert "What fills it: " in agent.warnings[-1]


@pytest.mark.parametrize(
    "address, counts",
    [
        ("https://api.openai.com", False),
        ("https://mine.openai.azure.com", False),
        ("https://api.anthropic.com", False),
        ("http://127.0.0.1:8000", True),
        ("https://notopenai.com", True),
        (None, True),
    ],
)
def test_who_is_expected_to_count_the_answer(address: str | None, counts: bool) -> None:
    assert counts_output(address) == counts


@pytest.mark.parametrize(
    "asked, counts, learned, reserve",
    [
        (None, True, False, 7_500),
        (100, True, False, 7_500),
        (16_384, True, False, 16_384),
        (32_000, True, False, 7_500),
        (32_000, True, True, 32_000),
        (128_000, False, False, 7_500),
        (128_000, False, True, 52_500),
    ],
)
def test_the_reserve_is_what_is_enforced(
    asked: int | None, counts: bool, learned: bool, reserve: int
) -> None:
    assert reserve_for(60_000, asked, counts=counts, learned=learned) == reserve
