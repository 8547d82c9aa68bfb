"""Compactions made ahead: durable, swapped in without waiting, thrown away when they do not fit any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Policy, Prepare
from autocompact.core.messages import Message, Text
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import ModelUnavailable
from autocompact.events import (
    BreakerOpened,
    CompactionCompleted,
    CompactionDiscarded,
    CompactionStarted,
    Event,
)
from autocompact.ports import ModelReply
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from tests.engine.support import SUMMARY, HeldModel, TalkingModel, compactor, step, work

pytestmark = pytest.mark.anyio
MODE = replace(DEFAULT, policy=Policy(tail_tokens=0))


async def prepared(conversation: Conversation) -> int:
    """Work until one is prepared; how many steps that took."""
    number = 0
    while conversation.records.prepared is None:
        await step(conversation, number)
        await conversation.ready()
        await conversation.internals.background.wait_idle()
        number += 1
    return number


async def until_swapped(conversation: Conversation, number: int) -> None:
    while conversation.records.active is None:
        await step(conversation, number)
        await conversation.ready()
        number += 1


@pytest.mark.requirement("E4")
async def test_after_a_restart_what_was_prepared_is_swapped_in_without_asking_again(tmp_path: Path) -> None:
    model = TalkingModel()

    def shared() -> Compactor:
        store = SqliteStore(tmp_path / "chats.db")
        return Compactor(store, model=model, mode=MODE, window=8_000, reserve=800, counter=Estimator())

    async with shared() as first:
        conversation = await first.open("task")
        number = await prepared(conversation)
    async with shared() as second:
        again = await second.open("task")
        assert again.records.prepared == conversation.records.prepared
        await until_swapped(again, number)
        assert again.internals.replica.active_id == "c1"
        assert len(model.requests) == 1


@pytest.mark.requirement("E4")
@pytest.mark.parametrize("change", ["edit", "compaction", "undo"])
async def test_what_does_not_fit_any_more_is_thrown_away_at_once_also_if_another_program_changed_it(
    change: str,
) -> None:
    store, model = MemoryStore(), TalkingModel()
    conversation = await compactor(model=model, mode=MODE, window=8_000, store=store).open("task")
    await work(conversation, 6)
    assert (await conversation.compact()).success
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    await prepared(conversation)
    other = await compactor(model=model, store=store).open("task")
    match change:
        case "edit":
            seq = len(other) - 3
            await other.append(Message(seq=0, role="user", parts=(Text(text="Anew."),), replaces=seq))
        case "compaction":
            assert (await other.compact()).success
        case _:
            await other.records.undo()
    await conversation.internals.replica.sync()
    assert conversation.records.prepared is None
    assert not conversation.internals.decisions.busy


@pytest.mark.requirement("E4")
async def test_nobody_waits_for_it_below_the_threshold_and_at_the_threshold_everybody_gets_it() -> None:
    model = HeldModel()
    conversation = await compactor(model=model, mode=MODE, window=8_000).open("task")
    number = 0
    while not conversation.should_compact():
        await conversation.ready()
        assert conversation.records.active is None
        await step(conversation, number)
        number += 1
    await model.asked.wait()
    assert conversation.internals.background.running
    assert not (await conversation.compact()).success  # by hand: refused, not queued
    asyncio.get_running_loop().call_later(0, model.go_on.set)
    context = await conversation.ready()
    assert conversation.internals.replica.active_id == "c1"
    assert context.messages[-1].results[0].call_id == f"c{number - 1}"  # rebased on what came since
    assert len(model.requests) == 1


async def test_a_preparation_that_fails_is_silent_but_counts_and_gains_nothing_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = TalkingModel(reply=lambda _: ModelUnavailable("overloaded", status=529))
    conversation = await compactor(model=model, mode=MODE, window=8_000).open("task")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    await work(conversation, 24)
    assert isinstance(conversation.internals.decisions.decide(), Prepare)
    with caplog.at_level(logging.WARNING, logger="autocompact"):
        for _ in range(6):
            await conversation.ready()
            await conversation.internals.background.wait_idle()
    assert "a compaction could not be prepared" in caplog.messages
    assert len(model.requests) == 3
    assert heard == [BreakerOpened(conversation_id="task", reason="overloaded")]


async def test_where_nothing_can_be_gained_the_model_is_not_asked_turn_after_turn() -> None:
    model = TalkingModel(reply=lambda _: ModelReply(text=SUMMARY, stop_reason="stop"))
    conversation = await compactor(model=model, mode=MODE, window=8_000).open("task")
    await conversation.say("word " * 5_500)  # one request that stays verbatim
    await conversation.say("ok", role="assistant")
    for _ in range(8):
        await conversation.ready()
        await conversation.internals.background.wait_idle()
    assert len(model.requests) <= 3
    assert conversation.records.active is None


async def test_closing_ends_what_runs_in_the_background() -> None:
    class Hanging(TalkingModel):
        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    store = MemoryStore()
    async with compactor(model=Hanging(), mode=MODE, window=8_000, store=store) as shared:
        conversation = await shared.open("task")
        await work(conversation, 24)
        await conversation.ready()
        assert conversation.internals.background.running
    assert not conversation.internals.background.running
    assert await store.acquire(conversation.internals.replica.key, holder="next", seconds=1) is not None


async def test_a_swap_that_is_refused_or_fails_stops_nobody_and_ends_once() -> None:
    store = MemoryStore()
    conversation = await compactor(model=TalkingModel(), mode=MODE, window=8_000, store=store).open("task")
    number = await prepared(conversation)
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    lease = await store.acquire(conversation.internals.replica.key, holder="other", seconds=60)
    assert lease is not None
    while not conversation.should_compact():
        await step(conversation, number)
        number += 1
    before = conversation.context()
    assert await conversation.ready() == before
    assert not any(isinstance(event, CompactionStarted) for event in heard)
    await store.release(lease)
    await conversation.ready()
    assert conversation.internals.replica.active_id == "c1"
    ends = [event for event in heard if isinstance(event, CompactionCompleted)]
    assert [end.success for end in ends] == [True]
    assert not any(isinstance(event, CompactionDiscarded) for event in heard)
