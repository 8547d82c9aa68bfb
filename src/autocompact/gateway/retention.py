"""Forgetting: conversations that nobody used for long, and the traces of what was deleted.

A sweep at the start and then once an hour deletes what has expired; one that is in use, here or in another process on
the same store, is never touched. Deleting is done when it returns. What is left after it, copies that lie in unused
places of the files, is cleared in the background, because all that is stored has to be written anew for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from autocompact.errors import log_data
from autocompact.gateway.config import Config
from autocompact.gateway.conversations import Conversations
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.namespaces import namespace_of_token
from autocompact.ports import Clock, SystemClock

INTERVAL_SECONDS = 3_600

log = logging.getLogger("autocompact.gateway")


class Retention:
    """Keeps the store of one gateway free of what should be gone.

    Args:
        config: how long conversations are kept.
        conversations: of the gateway.
        metrics: counts what was deleted.
        clock: what time it is, as the store's stamps have it.
        pause: waits for so many seconds, between two sweeps.
    """

    def __init__(
        self,
        config: Config,
        *,
        conversations: Conversations,
        metrics: Metrics,
        clock: Clock | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._days = {
            namespace_of_token(token, config=config): token.expire_after_days
            for token in config.access_tokens
            if token.expire_after_days is not None
        }
        self._default = config.expire_after_days or 0
        self._conversations = conversations
        self._metrics = metrics
        self._clock = clock or SystemClock()
        self._pause = pause
        self._unclean = True  # a process before this one may have been killed between deleting and clearing
        self._wake = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    def days(self, namespace: str) -> int:
        """After how many days without an update a conversation of the namespace expires; 0 is never."""
        return self._days.get(namespace, self._default)

    async def sweep(self) -> int:
        """Delete what has expired; how many conversations that were.

        Raises:
            StoreError: the store could not do it.
        """
        store, deleted = self._conversations.store, 0
        for namespace in await store.namespaces():
            if not (days := self.days(namespace)):
                continue
            before = self._stamp(days)
            for key in await store.idle(namespace, before=before):
                deleted += await self._conversations.expire(key, before=before)
        if deleted:
            self.deleted(deleted, reason="expired")
        return deleted

    def _stamp(self, days: int) -> str:
        """So many days ago."""
        now = datetime.fromisoformat(self._clock.now())
        return (now - timedelta(days=days)).isoformat(timespec="milliseconds")

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
            await self._quietly(self.sweep)
            await self._quietly(self.purge)
            pausing = asyncio.ensure_future(self._pause(INTERVAL_SECONDS))
            try:
                while not pausing.done():
                    self._wake.clear()
                    await self._woken(pausing)
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
            self._metrics.failed(type(error).__name__)
            log.warning("old conversations could not be removed", extra=log_data(error))
