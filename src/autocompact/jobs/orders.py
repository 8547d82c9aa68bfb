"""Gives jobs to workers, from a gateway."""

from __future__ import annotations

import asyncio
import logging
import time

from procrastinate import App
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from psycopg_pool import AsyncConnectionPool

from autocompact.jobs.queue import PREPARE, arguments_of, connector_of, lock_of, pool_options
from autocompact.ports import Key, Order
from autocompact.stores.naming import ServerUrl

ALIVE_SECONDS = 30
"""A worker that gave no sign of life for so long is taken for dead."""

ANSWER_SECONDS = 5.0
"""A server that says nothing for so long is lost, or hangs: what is ordered of workers is done here then."""

_LOOK_SECONDS = 5.0
_CONNECTIONS = 2
_ANY = "SELECT EXISTS (SELECT 1 FROM procrastinate_workers WHERE last_heartbeat > now() - %(seconds)s * interval '1 second') AS there"

log = logging.getLogger("autocompact.jobs")


class QueuedWorkers:
    """Implements `Workers` by the queue in a database. Nothing is opened before the first use.

    Args:
        url: of the database.
        answer_seconds: how long to wait for an answer; one that does not come counts as no worker.
    """

    def __init__(self, url: ServerUrl, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._pool = AsyncConnectionPool(**pool_options(url, connections=_CONNECTIONS), open=False)
        self._app = App(connector=connector_of(url, connections=_CONNECTIONS))
        self._answer_seconds = answer_seconds
        self._opening = asyncio.Lock()
        self._is_open = False
        self._there = False
        self._looked: float | None = None

    async def prepare(self, key: Key, order: Order) -> bool:
        """See `Workers.prepare`."""
        if not await self.there():
            return False
        lock = lock_of(key)
        task = self._app.configure_task(
            PREPARE.task, queue=PREPARE.task, priority=PREPARE.priority, lock=lock, queueing_lock=lock
        )
        try:
            async with asyncio.timeout(self._answer_seconds):
                await task.defer_async(**arguments_of(key, order))
        except AlreadyEnqueued:
            pass
        except (ConnectorException, OSError) as error:
            self._failed(error)
            return False
        return True

    async def there(self) -> bool:
        """See `Workers.there`; what was seen holds for some seconds."""
        async with self._opening:
            if self._looked is None or time.monotonic() - self._looked > _LOOK_SECONDS:
                self._there = await self._look()
                self._looked = time.monotonic()
        return self._there

    async def _look(self) -> bool:
        try:
            if not self._is_open:
                # not by the queue itself, which waits half a minute for a server that is not there
                await self._pool.open(wait=False)
                await self._app.open_async(self._pool)
                self._is_open = True
            async with asyncio.timeout(self._answer_seconds):
                found = await self._app.connector.execute_query_one_async(_ANY, seconds=ALIVE_SECONDS)
        except (ConnectorException, OSError) as error:
            self._failed(error)
            return False
        return bool(found["there"])

    def _failed(self, error: Exception) -> None:
        # usual where no worker ever ran: the tables are not there. The message of a driver may quote an address.
        log.info(
            "no job could be given to a worker", extra={"reason": type(error.__cause__ or error).__name__}
        )

    async def aclose(self) -> None:
        """See `Workers.aclose`."""
        if self._is_open:
            self._is_open = False
            await self._app.close_async()
        # apart from the queue: it was opened first, and what came after may have failed
        await self._pool.close()
