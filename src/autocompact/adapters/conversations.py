"""The conversations of a framework's agents: opened once, made smaller after an overflow, read whole."""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop, to_thread
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

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


_MOST_KEPT = 64
"""Conversations of an event loop that stay in memory while nobody uses them: a server has one for each of its users."""


class _Opened:
    """The conversations that were opened in one event loop: the last ones, and those that somebody still has."""

    def __init__(self) -> None:
        self.known: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        self._kept: OrderedDict[str, Conversation] = OrderedDict()

    def keep(self, name: str, conversation: Conversation) -> None:
        """Keep a conversation that is used now, in place of the one that was used longest ago."""
        self._kept[name] = conversation
        self._kept.move_to_end(name)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


class Conversations:
    """The conversations of one compactor, each opened once in an event loop.

    Args:
        compactor: opens them.
        namespace: where they are.
    """

    def __init__(self, compactor: Compactor, *, namespace: str = "default") -> None:
        self._compactor = compactor
        self._namespace = namespace
        self._opened: WeakKeyDictionary[AbstractEventLoop, _Opened] = WeakKeyDictionary()

    async def get(self, name: str) -> Conversation:
        """The conversation of that name, for the running event loop."""
        opened = self._of_this_loop()
        found = opened.known.get(name)
        if found is None:
            loaded = await self._compactor.open(name, namespace=self._namespace)
            # another call may have opened it meanwhile: two logs of one conversation would get in each other's way
            found = opened.known.setdefault(name, loaded)
        opened.keep(name, found)
        found.internals.replica.use_lookup(_NO_TOOLS)
        return found

    def _of_this_loop(self) -> _Opened:
        loop = get_running_loop()
        if loop not in self._opened:
            # what a conversation waited for may refer to its loop, and would keep both for ever
            for ended in [each for each in self._opened if each.is_closed()]:
                del self._opened[ended]
            self._opened[loop] = _Opened()
        return self._opened[loop]


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
