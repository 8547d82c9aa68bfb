"""The conversations of a framework's agents: opened once, made smaller after an overflow, read whole."""

from __future__ import annotations

from asyncio import get_running_loop, to_thread
from collections.abc import Coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from autocompact import sync
from autocompact.core.lookup import Lookup
from autocompact.engine import Compactor, Conversation
from autocompact.engine.bridges import restored_from
from autocompact.engine.following import current
from autocompact.errors import IncompressibleContext
from autocompact.models.sdk_errors import is_overflow
from autocompact.ports import Bridge

T = TypeVar("T")

_NO_TOOLS = Lookup(tools=False)
"""A framework's agent does not have the memory tools."""


class Conversations:
    """The conversations of one compactor, each opened once in an event loop.

    Args:
        compactor: opens them.
        namespace: where they are.
    """

    def __init__(self, compactor: Compactor, *, namespace: str = "default") -> None:
        self._compactor = compactor
        self._namespace = namespace
        self._opened: WeakKeyDictionary[object, dict[str, Conversation]] = WeakKeyDictionary()

    async def get(self, name: str) -> Conversation:
        """The conversation of that name, for the running event loop."""
        opened = self._opened.setdefault(get_running_loop(), {})
        if name not in opened:
            opened[name] = await self._compactor.open(name, namespace=self._namespace)
        opened[name].internals.replica.use_lookup(_NO_TOOLS)
        return opened[name]


async def has_shrunk(conversation: Conversation, error: BaseException) -> bool:
    """Compact after a failed model call, if that says that the request was too large; True if something was gained.

    Then `Conversation.follow` gives a smaller list for the same messages.
    """
    if is_overflow(error) is None:
        return False
    await conversation.internals.background.wait_idle()
    try:
        return await conversation.internals.fitting.shrink()
    except IncompressibleContext:  # what the provider said is the better error
        return False


async def on_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it on autocompact's own event loop, for frameworks that call from several loops and from synchronous code."""
    return await to_thread(sync.run, work)


async def restored(conversation: Conversation, *, bridge: Bridge[T]) -> list[T]:
    """All messages of the framework, as the log holds them; replaced ones are left out."""
    return list(restored_from(current(await conversation.history()), bridge=bridge))
