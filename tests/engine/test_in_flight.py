"""A compaction that is being made while its conversation is loaded again: it counts only for the log it was made from."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.core.messages import text_message
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import Conflict
from autocompact.ports import Key
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.write_behind import WriteBehind
from tests.engine.support import HeldModel, TalkingModel, work

pytestmark = pytest.mark.anyio
MODE = replace(DEFAULT, background=False)


def engine(store: WriteBehind | MemoryStore, model: TalkingModel) -> Compactor:
    return Compactor(store, model=model, mode=MODE, window=8_000, reserve=800, counter=Estimator())


def _ignored(key: Key, error: Exception) -> None:
    del key, error


async def theirs(other: SqliteStore, conversation: Conversation, count: int) -> None:
    """Messages of another program, where this one is about to write its own."""
    last = len(conversation)
    said = [text_message(last + n, "user" if n % 2 else "assistant", f"Other {n}.") for n in range(1, count)]
    await other.append(conversation.internals.replica.key, said, after=last)


async def test_a_compaction_of_messages_that_were_lost_meanwhile_is_thrown_away(tmp_path: Path) -> None:
    """Its hashes were taken over by the log that was loaded, so it was compared with itself."""
    path, model = tmp_path / "chats.db", HeldModel()
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front = WriteBehind(one, failed=_ignored)
        async with engine(front, model) as shared:
            conversation = await shared.open("task")
            await work(conversation, 3)
            await front.settled()
            await theirs(other, conversation, 40)
            await work(conversation, 12, start=5)
            making = asyncio.create_task(conversation.records.preview())
            await model.asked.wait()
            await conversation.internals.replica.reload()
            model.go_on.set()
            with pytest.raises(Conflict, match="the history changed"):
                await making
            assert conversation.records.active is None
            assert conversation.context().messages[-1].text == "Other 39."
            assert (await other.load(conversation.internals.replica.key)).active is None


async def test_a_log_that_was_loaded_again_as_it_was_takes_the_compaction() -> None:
    model = HeldModel()
    async with engine(MemoryStore(), model) as shared:
        conversation = await shared.open("task")
        await work(conversation, 15)
        making = asyncio.create_task(conversation.compact())
        await model.asked.wait()
        await conversation.internals.replica.reload()
        model.go_on.set()
        assert (await making).success
        assert conversation.internals.replica.active_id == "c1"


async def test_what_was_prepared_to_mask_messages_that_were_lost_meanwhile_is_thrown_away(
    tmp_path: Path,
) -> None:
    """No hash of a record reaches the messages behind what it covers: one that only masks was never compared."""
    path = tmp_path / "chats.db"
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front = WriteBehind(one, failed=_ignored)
        async with Compactor(front, window=40_000, reserve=800, counter=Estimator()) as shared:
            conversation = await shared.open("task")
            await work(conversation, 2)
            await front.settled()
            await theirs(other, conversation, 60)
            await work(conversation, 24, start=5)
            goal = conversation.internals.decisions.goal(0, trigger="prepared")
            target = conversation.internals.replica.cost().tokens * 3 // 4
            conversation.internals.preparation.start(
                replace(goal, target=target, limit=target + 500, tail_tokens=500)
            )
            await conversation.internals.background.wait_idle()
            assert conversation.context().messages[-1].text == "Other 59."
            assert conversation.records.prepared is None
            assert conversation.internals.replica.state.breaker.failures == 0
            assert await conversation.records.all() == ()
