"""A compaction made ahead: prepared in the background, stored, activated at the threshold.

What it gives depends on the log alone, never on the scheduler: log, goal and summariser are fixed when it starts. One
that is made without a model takes milliseconds and is waited for by whatever is decided next (`Ahead.join`); one that
a model makes is waited for at the threshold.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from autocompact.compaction.ladder import Goal
from autocompact.compaction.receipts import weigh
from autocompact.compaction.record import Compaction
from autocompact.compactor.work import Work, finished
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
        self._offline = False

    @property
    def running(self) -> bool:
        """True while one is being made."""
        return self._task is not None

    @property
    def busy(self) -> bool:
        """True while one is being made, or is prepared."""
        return self.running or self.prepared is not None

    def start(self, goal: Goal) -> None:
        """Make one for the log as it is now, in the background, unless one is being made."""
        if self._task is not None:
            return
        work = self._of.execution.plan(goal, model_free=False, must_fit=False)
        tasks = self._of.shared.tasks  # the conversation may be given another compactor meanwhile
        self._offline = work.summariser is None
        self._task = task = asyncio.create_task(self._run(work, used=self._of.usage().used))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a compaction could not be prepared", exc_info=error)

    async def join(self) -> None:
        """Wait for one that is made without a model, so that the next decision does not depend on when it ends."""
        if self._offline:
            await self.settled()

    async def settled(self) -> None:
        """Wait until none is being made."""
        while self._task is not None:
            await asyncio.wait([self._task])
            await asyncio.sleep(0)

    async def _run(self, work: Work, *, used: int) -> None:
        execution = self._of.execution
        try:
            async with execution.leased(preparing=True) as lease:
                try:
                    record = await execution.make(work)
                except Conflict:
                    raise
                except AutocompactError as error:
                    await execution.count_failure(str(error), used=used, fence=lease.fence)
                    raise
                if record is None:
                    await execution.count_failure(execution.nothing, used=used, fence=lease.fence)
                else:
                    await finished(self._keep(record, fence=lease.fence, rewritten=work.rewritten))
        except (Conflict, CompactionRunning):
            log.info("another program was faster", extra={"conversation": self._of.key.conversation})
        except AutocompactError as error:
            log.warning("a compaction could not be prepared", extra=log_data(error))

    async def _keep(self, record: Compaction, *, fence: int, rewritten: int) -> None:
        of = self._of
        async with of.changing:
            if rewritten != of.rewritten or not of.admits(record):
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
