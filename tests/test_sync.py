"""autocompact from synchronous code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from autocompact import Compactor, MemoryStore, sync
from autocompact.errors import InvalidInput
from autocompact.sync import LoopThread

pytestmark = pytest.mark.requirement("F3")


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


def test_a_conversation_is_used_from_any_thread_of_a_program() -> None:
    compactor = Compactor(MemoryStore(), window=8_000)
    conversation = sync.run(compactor.open("trip"))
    threads = [threading.Thread(target=lambda: sync.run(conversation.say("Hello."))) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(conversation) == 8
    said = [{"role": "user", "content": "Hello."}]
    assert sync.run(conversation.follow(said)) == said
    sync.close()
    assert sync.run(compactor.open("other")).internals.replica.key.conversation == "other", (
        "a later call starts anew"
    )
    sync.close()
    sync.close()


def test_what_is_raised_comes_out(thread: LoopThread) -> None:
    async def wrong() -> None:
        raise LookupError("it is not there")

    with pytest.raises(LookupError, match="it is not there"):
        thread.run(wrong())


def test_a_call_from_the_loop_itself_is_refused_instead_of_waiting_for_ever(thread: LoopThread) -> None:
    async def nested() -> None:
        thread.run(asyncio.Event().wait())

    with pytest.raises(InvalidInput, match="await it there instead"):
        thread.run(nested())


def test_what_still_runs_is_cancelled_when_the_thread_is_ended(thread: LoopThread) -> None:
    begun = threading.Event()
    ended: list[type[BaseException]] = []

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            thread.run(for_ever())
        except CancelledError as error:
            ended.append(type(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    begun.wait()
    thread.close()
    waiting.join()
    assert ended == [CancelledError]
