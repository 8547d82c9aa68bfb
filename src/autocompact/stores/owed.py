"""Messages that a store could not take just then, tried again until it does.

Who brought them was answered and may never come again: the last turn of a conversation has no next request that brings it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Protocol

from autocompact.core.messages import Message
from autocompact.errors import StoreUnavailable
from autocompact.ports import Key

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 15.0


class _Append(Protocol):
    def __call__(
        self, key: Key, messages: Sequence[Message], /, *, after: int
    ) -> Coroutine[object, object, object]:
        """Append messages of which some may be there; `Conflict` if others are in their place."""
        ...


class Owed:
    """Tries again in the background what could not be stored. Use it from one event loop.

    Args:
        append: stores messages.
        stored: called with what was stored after all.
        most_bytes: raw bytes that may wait; what does not fit is not tried again.
        pause_seconds: before the first try; each pause after a failure is twice as long, up to `LONGEST_PAUSE_SECONDS`.
    """

    def __init__(
        self,
        append: _Append,
        *,
        stored: Callable[[Key, Sequence[Message]], object],
        most_bytes: int,
        pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._append = append
        self._stored = stored
        self._most_bytes = most_bytes
        self._pause = pause_seconds
        self._waiting: dict[Key, Sequence[Message]] = {}
        self._trying: asyncio.Task[None] | None = None

    def add(self, key: Key, messages: Sequence[Message]) -> None:
        """Try messages again that follow each other and begin no conversation; they take the place of what waits of it.

        A conversation that is begun anew here would come back after another program deleted it.
        """
        self.drop(key)
        others = sum(len(message.raw or b"") for waiting in self._waiting.values() for message in waiting)
        own = sum(len(message.raw or b"") for message in messages)
        if messages[0].seq == 1 or others + own > self._most_bytes:
            return
        self._waiting[key] = messages
        # the task ends when nothing waits
        if self._trying is None:
            self._trying = asyncio.create_task(self._try())

    def drop(self, key: Key) -> None:
        """Forget what waits of a conversation: it was deleted, or its client brought it again."""
        self._waiting.pop(key, None)

    async def _try(self) -> None:
        pause = self._pause
        while self._waiting:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            await self._try_once()
        self._trying = None

    async def _try_once(self) -> None:
        for key, messages in tuple(self._waiting.items()):
            try:
                await self._append(key, messages, after=messages[0].seq - 1)
            except StoreUnavailable:
                # nor would it take the others now; one that another program holds must not keep them waiting each time
                if (latest := self._waiting.pop(key, None)) is not None:
                    self._waiting[key] = latest
                return
            except Exception:  # noqa: BLE001 - it was told when it failed first; another program was faster, or the disk is damaged
                self._forget(key, messages)
            else:
                self._forget(key, messages)
                self._stored(key, messages)

    def _forget(self, key: Key, messages: Sequence[Message]) -> None:
        # a later request may have put its own in their place meanwhile
        if self._waiting.get(key) is messages:
            del self._waiting[key]

    async def aclose(self) -> None:
        """Try what waits a last time."""
        if self._trying is not None:
            self._trying.cancel()
            with suppress(asyncio.CancelledError):
                await self._trying
            await self._try_once()
