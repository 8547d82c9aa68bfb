"""A conversation belongs to the event loop that works on it: another one is told so, and does not wait for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from autocompact import Compactor, Conversation
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput
from autocompact.stores.memory import MemoryStore

pytestmark = pytest.mark.requirement("F3")


class Elsewhere:
    """An event loop in a thread of its own."""

    def __enter__(self) -> Elsewhere:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


async def opened(compactor: Compactor) -> Conversation:
    conversation = await compactor.open("talk")
    await conversation.say("Hello.")
    return conversation


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("say", ["And here?"]),
        ("follow", [[{"role": "user", "content": "Hello."}]]),
        ("ready", []),
        ("fork", ["other"]),
    ],
)
def test_a_conversation_that_another_loop_works_on_says_so(name: str, arguments: list[object]) -> None:
    compactor = Compactor(MemoryStore(), window=8_000, counter=Estimator())
    with Elsewhere() as elsewhere:
        conversation = elsewhere.run(opened(compactor))
        with pytest.raises(
            InvalidInput, match=r"'talk' is used in another event loop.*autocompact\.sync\.run"
        ):
            asyncio.run(getattr(conversation, name)(*arguments))
        result = asyncio.run(conversation.compact())
        assert not result.success
        assert "another event loop" in result.message
        assert len(conversation) == 1


def test_once_that_loop_has_ended_the_next_one_goes_on() -> None:
    compactor = Compactor(MemoryStore(), window=8_000, counter=Estimator())
    with Elsewhere() as elsewhere:
        conversation = elsewhere.run(opened(compactor))
    asyncio.run(conversation.say("And here?"))
    assert len(conversation) == 2


def test_the_same_conversation_opened_in_each_loop_is_one_log() -> None:
    compactor = Compactor(MemoryStore(), window=8_000, counter=Estimator())

    async def said_here() -> int:
        conversation = await compactor.open("talk")
        await conversation.say("And here?")
        return len(conversation)

    with Elsewhere() as elsewhere:
        elsewhere.run(opened(compactor))
        assert asyncio.run(said_here()) == 2
