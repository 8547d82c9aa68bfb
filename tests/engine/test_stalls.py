"""The library never holds up its caller's event loop: large texts are counted, and large logs opened, beside it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TypeVar

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.core.messages import text_message
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.errors import IncompressibleContext
from autocompact.stores.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

T = TypeVar("T")

LARGE = "word " * 20_000


@dataclass
class Waiting:
    """Counts a large text only after the event loop went on; held up, it gives up and says so."""

    name: str = "waiting"
    asked: threading.Event = field(default_factory=threading.Event)
    went_on: threading.Event = field(default_factory=threading.Event)
    held_up: int = 0

    def count(self, text: str) -> int:
        if len(text) > 16_384:
            self.asked.set()
            self.held_up += not self.went_on.wait(5)
        return Estimator().count(text)


async def beside(counter: Waiting, work: Coroutine[object, object, T]) -> T:
    """What ``work`` returns, which counts a large text while the loop goes on."""
    counter.asked.clear()
    counter.went_on.clear()
    task = asyncio.create_task(work)
    assert await asyncio.to_thread(counter.asked.wait, 5)
    counter.went_on.set()
    return await task


async def test_a_large_message_is_counted_beside_the_event_loop(tmp_path: Path) -> None:
    counter = Waiting()
    async with Compactor(SqliteStore(tmp_path / "c.db"), window=200_000, counter=counter) as compactor:
        conversation = await compactor.open("c")
        await beside(counter, conversation.say(LARGE))
        assert conversation.internals.replica.cost().tokens > 10_000
        await beside(counter, conversation.append(text_message(0, "assistant", LARGE)))
    assert counter.held_up == 0


async def test_a_conversation_with_large_messages_is_opened_beside_the_event_loop(tmp_path: Path) -> None:
    counter = Waiting()
    counter.went_on.set()
    async with Compactor(SqliteStore(tmp_path / "c.db"), window=200_000, counter=counter) as compactor:
        conversation = await compactor.open("c")
        await conversation.say(LARGE)
        cost = conversation.internals.replica.cost()
        again = await beside(counter, compactor.open("c"))
        assert again.internals.replica.cost() == cost
    assert counter.held_up == 0


async def test_what_fills_a_context_that_is_refused_is_counted_beside_the_event_loop(tmp_path: Path) -> None:
    counter = Waiting()
    off = replace(DEFAULT, policy=replace(DEFAULT.policy, enabled=False))
    store = SqliteStore(tmp_path / "c.db")
    async with Compactor(store, mode=off, window=4_000, counter=counter) as compactor:
        conversation = await compactor.open("c")
        await beside(counter, conversation.say(LARGE))
        with pytest.raises(IncompressibleContext) as refused:
            await beside(counter, conversation.ready())
        assert refused.value.breakdown
    assert counter.held_up == 0


async def test_the_ledger_does_not_read_a_large_request_in_the_event_loop(tmp_path: Path) -> None:
    """Whether a request of 10 MB can stand inside a summary took the loop 0.4 seconds, at each try."""
    on_loop = set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "/autocompact/ledger/" in frame.f_code.co_filename:
            on_loop.add(frame.f_code.co_qualname)

    async with Compactor(SqliteStore(tmp_path / "c.db"), window=4_000, counter=Estimator()) as compactor:
        conversation = await compactor.open("c")
        for turn in range(4):
            await conversation.say(f"{turn}: {LARGE[:4_000]}")
            await conversation.say("Done.", role="assistant")
        await conversation.say(LARGE)
        sys.setprofile(note)
        try:
            with pytest.raises(IncompressibleContext):
                await conversation.ready()
        finally:
            sys.setprofile(None)
    assert on_loop == set()
