"""The conversations that adapters have open."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from weakref import ref

import pytest

from autocompact import Compactor, SqliteStore
from autocompact.adapters.conversations import Conversations
from autocompact.core.messages import text_message
from autocompact.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio


async def test_calls_at_the_same_time_get_one_conversation(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "talks.db") as store:
        conversations = Conversations(Compactor(store))
        first, second = await asyncio.gather(conversations.get("trip"), conversations.get("trip"))

        assert first is second
        assert await conversations.get("trip") is first


async def test_a_server_with_many_users_keeps_the_last_conversations_and_those_in_use(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "talks.db") as store:
        conversations = Conversations(Compactor(store))
        used = await conversations.get("in use")
        others = [ref(await conversations.get(f"user {number}")) for number in range(300)]
        gc.collect()

        assert sum(each() is not None for each in others) == 64
        assert await conversations.get("in use") is used


def test_the_conversations_of_event_loops_that_ended_go_with_them() -> None:
    compactor = Compactor(MemoryStore())
    conversations = Conversations(compactor)

    async def used() -> ref[object]:
        conversation = await conversations.get("trip")
        # two that wait for one lock bind it to the loop
        await asyncio.gather(*(conversation.append(text_message(0, "user", "Go on.")) for _ in range(2)))
        return ref(asyncio.get_running_loop())

    ended = [asyncio.run(used()) for _ in range(5)]
    gc.collect()
    assert sum(each() is not None for each in ended) <= 1
