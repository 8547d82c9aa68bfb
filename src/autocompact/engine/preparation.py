"""Compactions that are prepared: made in the background, stored, and activated at the threshold.

What one gives depends on the log alone, never on the scheduler: log, goal and summariser are fixed when it starts. One
that is made without a model takes milliseconds and is waited for by whatever is decided next (`Background.join`); one
that a model makes is waited for at the threshold.
"""

from __future__ import annotations

import logging

from autocompact.compaction.goal import Goal
from autocompact.compaction.receipts import weigh
from autocompact.compaction.record import Compaction
from autocompact.engine.background import Background
from autocompact.engine.execution import Execution
from autocompact.engine.replica import Replica
from autocompact.engine.work import Work, finished
from autocompact.errors import AutocompactError, CompactionRunning, Conflict, log_data

log = logging.getLogger("autocompact")


class Preparation:
    """Prepares compactions of one conversation.

    Args:
        replica: the conversation's log and state.
        execution: makes compactions and activates them.
        background: where they are made.
    """

    def __init__(self, replica: Replica, *, execution: Execution, background: Background) -> None:
        self._replica = replica
        self._execution = execution
        self._background = background

    def start(self, goal: Goal) -> None:
        """Make one for the log as it is now, in the background, unless one is being made."""
        # one at a time; the running one is for an earlier and thus shorter log, which is fine
        if self._background.running:
            return
        # before the task starts: what is prepared must not depend on when the scheduler runs it
        work = self._execution.plan(goal, model_free=False, must_fit=False)
        self._background.start(
            self._run(work, used=self._replica.used().tokens),
            brief=work.summariser is None,
            tasks=self._replica.shared.tasks,
        )

    async def _run(self, work: Work, *, used: int) -> None:
        execution, replica = self._execution, self._replica
        try:
            async with execution.leased(preparing=True) as lease:
                try:
                    record = await execution.make(work)
                except Conflict:
                    # another program was faster: no failure of the model, so it
                    # does not count towards the breaker
                    raise
                except AutocompactError as error:
                    await replica.count_failure(str(error), used=used, fence=lease.fence)
                    raise
                if record is None:
                    await replica.count_failure(execution.no_op_reason, used=used, fence=lease.fence)
                else:
                    # stored whole or not at all, also when the application closes
                    await finished(replica.keep_prepared(record, fence=lease.fence, rewrites=work.rewrites))
        except (Conflict, CompactionRunning):
            log.info("another program was faster", extra={"conversation": replica.key.conversation})
        except AutocompactError as error:
            log.warning("a compaction could not be prepared", extra=log_data(error))

    async def activate(self) -> bool:
        """Activate the prepared compaction; False if there is none, or none that still helps.

        Raises:
            CompactionRunning: somebody else compacts.
            StoreError: it could not be stored.
        """
        replica = self._replica
        record, meter, shared = replica.state.prepared, replica.state.meter, replica.shared
        if record is None:
            return False
        # weighed again: messages came since it was made, and they stay verbatim behind it
        record = weigh(record, replica.transcript, before=replica.cost(), overhead=meter.overhead)
        receipt = record.receipt
        limit = meter.to_estimate(shared.budget.limit, model=shared.model_name)
        # overtaken by what was said since: a fresh one can fold more
        if receipt.tokens_after > limit or receipt.tokens_after >= receipt.tokens_before:
            replica.discard_prepared(record)
            return False

        # asked again under the lease, where nobody can change the log any more
        async def still() -> Compaction:
            if not replica.admits(record):
                raise Conflict("the history changed since this compaction was prepared; it was thrown away")
            return record

        await self._execution.carry_out(still, trigger="prepared")
        return True
