"""A compaction made ahead: prepared in the background, kept durably, put in force at the threshold without waiting."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from autocompact.compactor.work import finished
from autocompact.core.compaction import Compaction
from autocompact.core.ladder import Goal
from autocompact.core.receipts import weigh
from autocompact.errors import AutocompactError, CompactionRunning, Conflict, log_data
from autocompact.events import CompactionDiscarded, CompactionPrepared

if TYPE_CHECKING:
    from autocompact.compactor.conversation import Conversation

log = logging.getLogger("autocompact")


class Ahead:
    """The prepared compaction of one conversation.

    Attributes:
        prepared: the record that waits, None if there is none.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.prepared: Compaction | None = None
        self._of = conversation
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether one is being made now."""
        return self._task is not None

    @property
    def busy(self) -> bool:
        """Whether one is being made or waits."""
        return self.running or self.prepared is not None

    def start(self, goal: Callable[[], Goal]) -> None:
        """Make one in the background, unless one is being made."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(goal))
            self._of.shared.tasks.add(self._task)
            self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._of.shared.tasks.discard(task)
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a compaction could not be prepared", exc_info=error)

    async def settled(self) -> None:
        """Wait until none is being made."""
        while self._task is not None:
            await asyncio.wait([self._task])
            await asyncio.sleep(0)

    async def _run(self, goal: Callable[[], Goal]) -> None:
        execution = self._of.execution
        try:
            async with execution.leased() as lease:
                try:
                    record = await execution.make(goal(), model_free=False, must_fit=False)
                except AutocompactError as error:
                    await execution.count_failure(str(error), fence=lease.fence)
                    raise
                if record is None:
                    await execution.count_failure(execution.nothing, fence=lease.fence)
                else:
                    await finished(self._keep(record, fence=lease.fence))
        except (Conflict, CompactionRunning):
            log.info("another program was faster", extra={"conversation": self._of.key.conversation})
        except AutocompactError as error:
            log.warning("a compaction could not be prepared", extra=log_data(error))

    async def _keep(self, record: Compaction, *, fence: int) -> None:
        of = self._of
        async with of.changing:
            if not of.admits(record):
                self._discard(record)
                return
            prepared = replace(record, status="prepared")
            state = msgspec.structs.replace(of.state, made=int(record.id.removeprefix("c")))
            expected = of.active_id or None
            await of.shared.store.commit(
                of.key,
                records=[prepared],
                active=expected,
                expected=expected,
                fence=fence,
                state=state.encode(),
            )
            of.state, self.prepared = state, prepared
        of.shared.subscribers.tell(
            CompactionPrepared(conversation_id=of.key.conversation, compaction_id=record.id)
        )

    def review(self) -> None:
        """Throw the prepared compaction away if it does not fit the log or the compaction in force any more."""
        if self.prepared is not None and not self._of.admits(self.prepared):
            self._discard(self.prepared)

    async def swap_in(self) -> bool:
        """Put the prepared compaction in force; False if there is none, or none that still helps.

        Raises:
            CompactionRunning: somebody else compacts.
            StoreError: it could not be stored.
        """
        record, of = self.prepared, self._of
        if record is None:
            return False
        record = weigh(record, of.transcript, before=of.cost(), overhead=of.meter.overhead)
        receipt = record.receipt
        if receipt.tokens_after > of.meter.counted(of.shared.budget.limit) or (
            receipt.tokens_after >= receipt.tokens_before
        ):
            self._discard(record)
            return False

        async def still() -> Compaction:
            if not of.admits(record):
                raise Conflict("the history changed since this compaction was prepared; it was thrown away")
            return record

        await of.execution.carry_out(still, trigger="prepared")
        return True

    def _discard(self, record: Compaction) -> None:
        self.prepared = None
        name = self._of.key.conversation
        self._of.shared.subscribers.tell(CompactionDiscarded(conversation_id=name, compaction_id=record.id))
