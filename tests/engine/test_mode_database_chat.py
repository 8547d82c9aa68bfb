"""Design A: a chat that keeps its conversations in a database, walked from the first message to the third compaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.compaction.modes import DATABASE_CHAT, Mode
from autocompact.core.budget import Policy
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.events import CompactionCompleted, CompactionStarted, Event
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider, Received
from tests.models.support import AT_ONCE

pytestmark = pytest.mark.anyio

TOOLS = b'[{"type":"function","function":{"name":"lookup","parameters":{"type":"object"}}}]'


def summary(number: int) -> str:
    return (
        f"<summary>\n## Summary\nThe user plans trip {number}.\n\n## Decisions\nBy train, because of the dog.\n\n"
        "## Files\nnone\n\n## State\nDone: tickets.\nPending: hotel.\n\n## Context\nTwo people and a dog.\n</summary>"
    )


def model(provider: FakeProvider) -> OpenAICompatible:
    return OpenAICompatible("fake", base_url=provider.url, retries=AT_ONCE)


def chat(path: Path, provider: FakeProvider | None, *, mode: Mode = DATABASE_CHAT) -> Compactor:
    return Compactor(
        SqliteStore(path),
        model=model(provider) if provider else None,
        mode=mode,
        window=6_000,
        reserve=600,
        counter=Estimator(),
    )


async def turn(conversation: Conversation, number: int) -> None:
    """What the application does for one message of a person."""
    await conversation.say(f"Question {number}: where do we change trains? " + "Details follow. " * 20)
    await conversation.ready()
    call = ToolCall(id=f"t{number}", name="lookup", arguments="{}")
    await conversation.append(Message(seq=0, role="assistant", parts=(call,)))
    found = "\n".join(f"platform {line}: train {number}-{line} to Basel" for line in range(40))
    await conversation.append(Message(seq=0, role="tool", parts=(ToolResult(call_id=call.id, text=found),)))
    await conversation.ready()
    await conversation.say(f"Answer {number}: in Basel.", role="assistant")


def scripted() -> Callable[[Received], str]:
    made: list[int] = []

    def reply(asked: Received) -> str:
        made.append(1)
        return summary(len(made))

    return reply


@pytest.mark.requirement("A1", "A3", "A7", "A8", "A10", "A11", "B6")
async def test_a_chat_compacts_at_80_percent_merges_later_and_keeps_every_message(tmp_path: Path) -> None:
    async with FakeProvider(scripted()) as provider, chat(tmp_path / "chats.db", provider) as shared:
        heard: list[Event] = []
        also: list[Event] = []
        shared.subscribe(heard.append)
        shared.subscribe(also.append)
        conversation = await shared.open("trip")
        conversation.internals.replica.use_tools(TOOLS)
        await conversation.say("You help with travel.", role="system")
        ratios: list[float] = []
        number = 0
        while len(await conversation.records.all()) < 3:
            number += 1
            before = shared.budget.ratio(conversation.usage().used)
            await turn(conversation, number)
            ratios.append(before)
            assert shared.budget.ratio(conversation.usage().used) < 1
        assert max(ratios) <= 0.95
        records = await conversation.records.all()
        # the page shows every message, the model what follows the compaction, the figures are of that
        assert len(await conversation.history()) == 1 + 4 * number
        system, *rest = conversation.messages()
        prompt, _, section = str(system["content"]).partition("# Conversation Summary")
        assert prompt.strip() == "You help with travel."
        assert f"The user plans trip {len(provider.requests)}." in section
        assert len(rest) < 4 * number
        assert (
            conversation.internals.replica.cost().tokens
            == conversation.context().cost.tokens + conversation.internals.replica.state.meter.overhead.tokens
        )
        assert conversation.internals.replica.state.meter.overhead.tokens > 0
        # the first takes all, a later one what came since, merged with the earlier summary
        assert [record.from_seq for record in records] == [1, *(r.through_seq + 1 for r in records[:-1])]
        asked = [request.last_text for request in provider.requests]
        assert "Question 1: where" in asked[0]
        assert "Question 1: where" not in "".join(text.partition("</conversation>")[0] for text in asked[1:])
        assert all(f"The user plans trip {made}." in text for made, text in enumerate(asked[1:], 1))
        # told to both, stored for everybody
        assert also == heard
        kinds = [type(event) for event in heard]
        assert kinds == [CompactionStarted, CompactionCompleted] * 3
        (info,) = await shared.store.conversations("default")
        assert conversation.records.active is not None
        assert info.compressed_context == conversation.records.active.summary
        assert info.compressed_at is not None


@pytest.mark.requirement("A12")
async def test_tool_results_are_cut_to_the_configured_length_in_what_is_summarised(tmp_path: Path) -> None:
    mode = replace(DATABASE_CHAT, output_tokens=20)
    async with (
        FakeProvider(scripted()) as provider,
        chat(tmp_path / "chats.db", provider, mode=mode) as shared,
    ):
        conversation = await shared.open("trip")
        await turn(conversation, 1)
        assert (await conversation.compact()).success
        text = provider.requests[0].last_text
        assert "platform 0" in text
        assert "platform 20" not in text


@pytest.mark.requirement("A12")
@pytest.mark.parametrize("asked, used", [(0.1, 0.5), (0.7, 0.7), (0.99, 0.95)])
async def test_the_threshold_stays_within_its_bounds_and_says_so(
    tmp_path: Path, asked: float, used: float
) -> None:
    policy = Policy(ratio=asked, tail_tokens=0)
    async with chat(tmp_path / "chats.db", None, mode=replace(DATABASE_CHAT, policy=policy)) as shared:
        assert policy.threshold_ratio == used
        assert bool(policy.notes) == (asked != used)
        conversation = await shared.open("trip")
        sizes: list[int] = []
        while conversation.records.active is None:
            sizes.append(conversation.usage().used)
            await conversation.say("More about the trip: " + "we go by train. " * 30)
            await conversation.ready()
        limit = policy.threshold(shared.budget)
        assert all(size < limit for size in sizes)


@pytest.mark.requirement("A6", "A11")
async def test_an_empty_conversation_is_a_no_op_and_both_events_come(tmp_path: Path) -> None:
    async with chat(tmp_path / "chats.db", None) as shared:
        heard: list[Event] = []
        shared.subscribe(heard.append)
        result = await (await shared.open("empty")).compact()
        assert (result.success, result.message, result.summary) == (False, "there is nothing to compact", "")
        assert heard == [
            CompactionStarted(conversation_id="empty", trigger="manual"),
            CompactionCompleted(
                conversation_id="empty", success=False, message="there is nothing to compact"
            ),
        ]


@pytest.mark.requirement("A11")
async def test_a_failure_is_logged_and_the_turn_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeProvider(scripted()) as provider, chat(tmp_path / "chats.db", provider) as shared:
        conversation = await shared.open("trip")
        await conversation.say("You help with travel.", role="system")
        number = 0
        while not conversation.should_compact():
            number += 1
            await conversation.say(f"Part {number}: " + "we go by train. " * 30)
        provider.fail("quota", times=9)
        before = conversation.context()
        with caplog.at_level(logging.WARNING, logger="autocompact"):
            assert await conversation.ready() == before
        assert "an automatic compaction failed" in caplog.messages


@pytest.mark.requirement("A13")
async def test_a_second_one_is_refused_also_from_another_program(tmp_path: Path) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def reply(_: Received) -> str:
        asked.set()
        await go_on.wait()
        return summary(1)

    path = tmp_path / "chats.db"
    async with FakeProvider(reply) as provider, chat(path, provider) as shared, chat(path, provider) as other:
        conversation = await shared.open("trip")
        for number in range(4):
            await turn(conversation, number)
        running = asyncio.create_task(conversation.compact())
        await asked.wait()
        second = await (await other.open("trip")).compact()
        assert not second.success
        assert "being compacted already" in second.message
        go_on.set()
        assert (await running).success
        assert len(provider.requests) == 1


@pytest.mark.requirement("A14")
async def test_edited_and_regenerated_messages_are_kept_but_neither_sent_nor_summarised(
    tmp_path: Path,
) -> None:
    async with FakeProvider(scripted()) as provider, chat(tmp_path / "chats.db", provider) as shared:
        conversation = await shared.open("trip")
        await conversation.say("You help with travel.", role="system")
        await conversation.say("We go to Olten.")
        await conversation.say("Olten it is.", role="assistant")
        edited = Message(seq=0, role="user", parts=(Text(text="We go to Basel."),), replaces=2)
        await conversation.append(edited)
        await conversation.say("Basel it is.", role="assistant")
        again = Message(seq=0, role="assistant", parts=(Text(text="Basel, gladly."),), replaces=5)
        await conversation.append(again)
        for number in range(4):
            await turn(conversation, number)
        assert (await conversation.compact()).success
        asked = provider.requests[0].last_text
        assert "Olten" not in asked
        assert "Basel it is." not in asked
        assert "Basel, gladly." in asked
        assert "Olten" not in str(conversation.messages())
        log = await conversation.history()
        assert [m.text for m in log[1:3]] == ["We go to Olten.", "Olten it is."]


@pytest.mark.requirement("A3")
async def test_a_summary_is_readable_from_the_store_and_goes_with_an_undo(tmp_path: Path) -> None:
    async with chat(tmp_path / "chats.db", None) as shared:
        conversation = await shared.open("trip")
        for number in range(4):
            await turn(conversation, number)
        result = await conversation.compact()
        snapshot = await shared.store.load(Key(conversation="trip"))
        assert snapshot.active is not None
        assert snapshot.active.summary == result.summary
        await conversation.records.undo()
        (info,) = await shared.store.conversations("default")
        assert (info.compressed_context, info.compressed_at) == (None, None)
