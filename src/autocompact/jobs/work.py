"""The work of each job. All of it may run twice, or stop anywhere: leases, compare-and-swap and locks of folders see to that."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from autocompact.compaction.modes import Mode
from autocompact.core.budget import Budget
from autocompact.engine.compactor import NamedCompactor
from autocompact.memory.schedule import Schedule
from autocompact.ports import Clock, Key, Model, Order, SystemClock
from autocompact.stores.expiry import expire_idle
from autocompact.stores.postgres import PostgresStore

log = logging.getLogger("autocompact.jobs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work on one store.

    Attributes:
        store: the conversations.
        mode: when and how to compact the conversations of a model, by its name.
        windows: of models by the beginning of their names.
        ctok: count the tokens of Claude's models with ctok.
        summaries: the model that makes summaries; None makes them offline.
        days: after how many days without an update a namespace's conversations expire; 0 is never.
        schedule: the upkeep of the memory folder of this machine, with the monthly report; None for none.
        clock: what time it is.
    """

    store: PostgresStore
    mode: Callable[[str], Mode]
    windows: Mapping[str, int] = field(default_factory=dict[str, int])
    ctok: bool = False
    summaries: Model | None = None
    days: Callable[[str], int] = lambda _: 0
    schedule: Schedule | None = None
    clock: Clock = field(default_factory=SystemClock)

    async def prepare(self, key: Key, order: Order) -> None:
        """Prepare a compaction of a conversation.

        Raises:
            CompactionRunning: somebody else compacts it.
            AutocompactError: it could not be made, or not be stored.
        """
        # not closed: the store and the model are those of all jobs
        compactor = NamedCompactor(
            self.store,
            name=order.model,
            budget=Budget(window=order.window, reserve=order.reserve),
            mode=self.mode(order.model),
            windows=self.windows,
            ctok=self.ctok,
            summaries=self.summaries,
            clock=self.clock,
        )
        conversation = await compactor.open(key.conversation, namespace=key.namespace)
        # deleted since it was ordered: nothing may come back
        if len(conversation):
            await conversation.internals.preparation.make_ordered(order)

    async def index(self) -> None:
        """Index what was appended without an index.

        Raises:
            StoreError: the store could not do it.
        """
        await self.store.catch_up()

    async def expire(self) -> None:
        """Delete what has expired, and give free the space of what was deleted.

        Raises:
            StoreError: the store could not do it.
        """
        deleted = await expire_idle(self.store, days=self.days, now=self.clock.now())
        if deleted:
            log.info("conversations expired", extra={"count": deleted})
        await self.store.purge()

    async def upkeep(self) -> None:
        """Do what is due in the memory folder: observations each week, tasks and the report each month.

        Raises:
            MemoryInUse: somebody else works in the folder.
        """
        if self.schedule is not None:
            await self.schedule.look()
