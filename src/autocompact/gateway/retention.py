"""Forgetting: conversations that nobody used for long, and the traces of what was deleted.

A sweep at the start and then once an hour deletes what has expired; one that is in use, here or in another process on
the same store, is never touched. Deleting is done when it returns. What is left after it, copies that lie in unused
places of the files, is cleared in the background, because all that is stored has to be written anew for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from autocompact.gateway.config import AccessToken, Config
from autocompact.gateway.conversations import Conversations
from autocompact.gateway.failures import note_failure
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.namespaces import namespace_of_token
from autocompact.ports import Clock, Key, SystemClock, Workers
from autocompact.stores.expiry import expire_idle

INTERVAL_SECONDS = 3_600

log = logging.getLogger("autocompact.gateway")


def days_of(
    tokens: Iterable[AccessToken], *, usual: int | None, namespace_key: bytes
) -> Callable[[str], int]:
    """The function that says after how many days without an update a conversation of a namespace expires; 0 is never.

    Args:
        tokens: those that have days of their own, and others.
        usual: of every other namespace.
        namespace_key: see `Config`.
    """
    own = {
        namespace_of_token(token, namespace_key=namespace_key): token.expire_after_days
        for token in tokens
        if token.expire_after_days is not None
    }
    return lambda namespace: own.get(namespace, usual or 0)


class Retention:
    """Keeps the store of one gateway free of what should be gone.

    Args:
        config: how long conversations are kept.
        conversations: of the gateway.
        metrics: counts what was deleted.
        clock: what time it is, as the store's stamps have it.
        pause: waits for so many seconds, between two sweeps.
        workers: sweep in place of this process, where there are any.

    Attributes:
        days: after how many days without an update a conversation of a namespace expires; 0 is never.
    """

    def __init__(
        self,
        config: Config,
        *,
        conversations: Conversations,
        metrics: Metrics,
        clock: Clock | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
        workers: Workers | None = None,
    ) -> None:
        self.days = days_of(
            config.access_tokens, usual=config.expire_after_days, namespace_key=config.namespace_key
        )
        self._workers = workers
        self._conversations = conversations
        self._metrics = metrics
        self._clock = clock or SystemClock()
        self._pause = pause
        self._unclean = True  # a process before this one may have been killed between deleting and clearing
        self._wake = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def sweep(self) -> int:
        """Delete what has expired; how many conversations that were.

        Raises:
            StoreError: the store could not do it.
        """
        return await expire_idle(
            self._conversations.store, days=self.days, now=self._clock.now(), expire=self._expire
        )

    async def _expire(self, key: Key, *, before: str) -> bool:
        expired = await self._conversations.expire(key, before=before)
        if expired:
            # counted one by one: also those before one that cannot be deleted left traces
            self.deleted(1, reason="expired")
        return expired

    async def _own_sweep(self) -> None:
        """Sweep, unless workers do."""
        if self._workers is None or not await self._workers.there():
            await self.sweep()

    def deleted(self, count: int, *, reason: str) -> None:
        """Conversations were deleted: clear the files of their traces soon."""
        self._metrics.deleted(count, reason=reason)
        self._unclean = self._unclean or count > 0
        self._wake.set()

    async def purge(self) -> None:
        """Clear the files now, if something was deleted since the last time.

        Raises:
            StoreError: the store could not do it; it is tried again after the next sweep.
        """
        if self._unclean:
            # before the work, so that what is deleted meanwhile is not taken for cleared
            self._unclean = False
            try:
                await self._conversations.store.purge()
            except BaseException:
                self._unclean = True
                raise

    # In the background

    def start(self) -> None:
        """Sweep now, then once per interval, and clear the files whenever something was deleted."""
        self._running = asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """End it. What was deleted is cleared from the files before."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        await self._quietly(self.purge)

    async def _run(self) -> None:
        while True:
            await self._quietly(self._own_sweep)
            await self._quietly(self.purge)
            pausing = asyncio.ensure_future(self._pause(INTERVAL_SECONDS))
            try:
                while not pausing.done():
                    await self._woken(pausing)
                    # before the work: what is deleted while the files are cleared wakes it once more
                    self._wake.clear()
                    await self._quietly(self.purge)
            finally:
                pausing.cancel()

    async def _woken(self, pausing: asyncio.Future[object]) -> None:
        """Wait for the end of the pause, or for something that was deleted."""
        waking = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait({pausing, waking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waking.cancel()

    async def _quietly(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - it must not end the gateway; the next sweep tries again
            note_failure(error, "old conversations could not be removed", metrics=self._metrics)
