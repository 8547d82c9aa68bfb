"""How a model is asked: with the live prefix, else in chunks with nothing left out, else by map and reduce."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.core.messages import Message, text_message
from autocompact.core.tokens import Estimator, message_cost
from autocompact.engine import Compactor, Conversation
from autocompact.errors import ModelOverflow
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import ModelReply
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider, Received
from tests.engine.support import SUMMARY, TalkingModel, compactor, work
from tests.models.support import AT_ONCE

pytestmark = pytest.mark.anyio
MODE = replace(DEFAULT, background=False)
TOOLS = b'[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object"}}}]'


class Body(msgspec.Struct):
    """A request, its messages and tools as the bytes they came as."""

    messages: list[msgspec.Raw]
    tools: msgspec.Raw


def answer(asked: Received) -> str:
    return SUMMARY if "<summary>" in asked.last_text else "Rounded."


@pytest.mark.parametrize("outside", ["", "You are careful, and you stand outside of the log. " * 30])
async def test_the_request_reuses_the_live_prefix_byte_for_byte_and_the_cache_hits(outside: str) -> None:
    async with FakeProvider(answer, cache_minimum=0) as provider:
        model = OpenAICompatible("fake", base_url=provider.url, retries=AT_ONCE)
        async with Compactor(
            MemoryStore(), model=model, mode=MODE, window=60_000, counter=Estimator()
        ) as shared:
            conversation = await shared.open("task")
            conversation.internals.replica.use_tools(TOOLS, system=outside)
            if not outside:
                await conversation.say("You are careful. " * 30, role="system")
            await work(conversation, 25)
            await conversation.say("And now?")
            await conversation.ready()
            await model.complete(conversation.internals.replica.sent(), tools=TOOLS)
            await conversation.say("Rounded.", role="assistant")
            result = await conversation.compact()
            assert result.success
            live, asked = provider.requests
            sent, repeated = (msgspec.json.decode(r.raw, type=Body) for r in (live, asked))
            assert len(repeated.messages) > 20
            assert list(map(bytes, repeated.messages[:-1])) == list(
                map(bytes, sent.messages[: len(repeated.messages) - 1])
            )
            assert bytes(sent.tools) == bytes(repeated.tools)
            instruction = message_cost(text_message(1, "user", asked.last_text), Estimator()).tokens
            assert asked.cached >= asked.tokens - instruction - 20


class Narrow(TalkingModel):
    """A summary model with a window of its own, which it enforces."""

    window: int | None = 3_000

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        tokens = sum(message_cost(message, Estimator()).tokens for message in messages)
        assert self.window is not None
        if tokens + (max_tokens or 0) > self.window:
            raise ModelOverflow(f"{tokens} tokens", status=400)
        return await super().complete(messages, max_tokens=max_tokens, tools=tools)


async def opened(summary_model: TalkingModel, *, window: int = 200_000) -> Conversation:
    shared = Compactor(
        MemoryStore(),
        model=TalkingModel(name="main"),
        summary_model=summary_model,
        mode=MODE,
        window=window,
        counter=Estimator(),
    )
    return await shared.open("task")


def documents(model: TalkingModel) -> list[str]:
    texts = [request[-1].text.partition("</conversation>")[0] for request in model.requests]
    return [text for text in texts if numbers([text])]


def numbers(texts: list[str]) -> list[int]:
    return [int(number) for text in texts for number in re.findall(r"^\w+ \[m(\d+)\]:", text, re.MULTILINE)]


async def test_what_would_overflow_goes_in_chunks_in_order_with_nothing_left_out() -> None:
    model = Narrow(name="narrow")
    conversation = await opened(model)
    await work(conversation, 20)
    result = await conversation.compact()
    assert result.success
    assert result.record is not None
    assert 2 <= len(model.requests) <= 4
    assert numbers(documents(model)) == list(range(1, result.record.through_seq + 1))
    assert all("The totals were rounded per line." in request[-1].text for request in model.requests[1:])


async def test_a_far_larger_history_is_summarised_in_parts_and_these_summarised_again() -> None:
    model = Narrow(name="narrow")
    conversation = await opened(model)
    await work(conversation, 150)
    result = await conversation.compact()
    assert result.success
    assert result.record is not None
    parts = documents(model)
    assert len(parts) >= 15
    assert sorted(set(numbers(parts))) == list(range(1, result.record.through_seq + 1))
    assert len(model.requests) > len(parts)  # the summaries were summarised


@pytest.mark.parametrize("bad", [3, 7])
async def test_a_part_without_a_usable_summary_fails_the_whole_so_that_nothing_is_left_out_silently(
    bad: int,
) -> None:
    def reply(messages: Sequence[Message]) -> ModelReply:
        number = len(model.requests)
        return ModelReply(text="<summary>cut" if number == bad else SUMMARY, stop_reason="length")

    model = Narrow(name="narrow", reply=reply)
    conversation = await opened(model)
    await work(conversation, 20 if bad == 3 else 60)
    before = conversation.context()
    result = await conversation.compact()
    assert not result.success
    assert re.search(r"part \d+ of \d+: the reply was cut off", result.message) or "cut off" in result.message
    assert conversation.context() == before


async def test_a_live_request_that_overflows_after_all_is_asked_again_in_chunks() -> None:
    def reply(messages: Sequence[Message]) -> ModelReply | Exception:
        return (
            ModelReply(text=SUMMARY)
            if messages[-1].text.startswith("<conversation>")
            else ModelOverflow("too long")
        )

    model = TalkingModel(reply=reply)
    conversation = await compactor(model=model, mode=MODE, window=8_000).open("task")
    await work(conversation, 12)
    assert (await conversation.compact()).success
    assert not model.requests[0][-1].text.startswith("<conversation>")
    assert all(request[-1].text.startswith("<conversation>") for request in model.requests[1:])


async def test_a_summary_model_too_small_for_any_chunk_says_so() -> None:
    model = Narrow(name="tiny")
    model.window = 400
    conversation = await opened(model)
    await work(conversation, 12)
    result = await conversation.compact()
    assert not result.success
    assert "Name a model with a larger window" in result.message
