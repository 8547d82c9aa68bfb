"""Compactions that are prepared: made in the background, stored, and activated at the threshold.

What one gives depends on the log alone, never on the scheduler: log, goal and summariser are fixed when it starts. One
that is made without a model takes milliseconds and is waited for by whatever is decided next (`Background.join`); one
that a model makes is waited for at the threshold.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from autocompact.compaction.goal import Goal
from autocompact.compaction.receipts import weigh
from autocompact.compaction.record import Compaction
from autocompact.engine.background import Background
from autocompact.engine.decisions import Decisions
from autocompact.engine.execution import Execution
from autocompact.engine.replica import Replica
from autocompact.engine.shared import Shared
from autocompact.engine.work import Work, finished
from autocompact.errors import AutocompactError, CompactionRunning, Conflict, log_data
from autocompact.ports import Order, Workers

log = logging.getLogger("autocompact")


class Preparation:
    """Prepares compactions of one conversation.

    Args:
        replica: the conversation's log and state.
        decisions: the goals of compactions.
        execution: makes compactions and activates them.
        background: where they are made.
    """

    def __init__(
        self, replica: Replica, *, decisions: Decisions, execution: Execution, background: Background
    ) -> None:
        self._replica = replica
        self._decisions = decisions
        self._execution = execution
        self._background = background

    def start(self, goal: Goal) -> None:
        """Make one for the log as it is now, in the background, unless one is being made; or have a worker make it."""
        # one at a time; the running one is for an earlier and thus shorter log, which is fine
        if self._background.running:
            return
        shared = self._replica.shared
        if shared.workers is not None:
            self._background.start(
                self._ordered(goal, workers=shared.workers), brief=False, tasks=shared.tasks
            )
            return
        # before the task starts: what is prepared must not depend on when the scheduler runs it
        work = self._execution.plan(goal, model_free=False, must_fit=False)
        self._background.start(
            self._run(work, used=self._replica.used().tokens),
            brief=work.summariser is None,
            tasks=self._replica.shared.tasks,
        )

    async def _ordered(self, goal: Goal, *, workers: Workers) -> None:
        """Have a worker make it; make it here where there is none."""
        replica = self._replica
        context = replica.active_id
        if await workers.prepare(replica.key, order_of(goal, replica.shared)):
            self._background.elsewhere = context
        else:
            await self.make(goal)

    async def make(self, goal: Goal) -> None:
        """Make one for the log as it is now, and store it; a failure is logged, and counts towards the breaker."""
        work = self._execution.plan(goal, model_free=False, must_fit=False)
        await self._run(work, used=self._replica.used().tokens)

    async def make_ordered(self, order: Order) -> None:
        """Make the one that another program ordered, unless there is one that still holds.

        Raises:
            CompactionRunning: somebody else compacts, or died doing it: once the lease has expired it can be made.
            AutocompactError: it could not be made, or not be stored.
        """
        if self._replica.state.prepared is None:
            goal = goal_of(order, self._decisions.goal(order.target, trigger="prepared"))
            work = self._execution.plan(goal, model_free=False, must_fit=False)
            await self._prepared(work, used=self._replica.used().tokens)

    async def _prepared(self, work: Work, *, used: int) -> None:
        """Make the compaction of ``work``, and store it."""
        execution, replica = self._execution, self._replica
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

    async def _run(self, work: Work, *, used: int) -> None:
        replica = self._replica
        try:
            await self._prepared(work, used=used)
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
        if replica.state.prepared is None and self._background.elsewhere == replica.active_id:
            await replica.find_prepared()
        self._background.elsewhere = None
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


def order_of(goal: Goal, shared: Shared) -> Order:
    """What a worker has to know of ``goal``, which it cannot see in the store."""
    return Order(
        model=shared.model_name,
        window=shared.budget.window,
        reserve=shared.budget.reserve,
        limit=goal.limit,
        target=goal.target,
        summary_tokens=goal.summary_tokens,
        tail_tokens=goal.tail_tokens,
        first_rung=goal.first_rung,
        overhead=goal.overhead,
        working_set_tokens=goal.working_set_tokens,
    )


def goal_of(order: Order, own: Goal) -> Goal:
    """The goal that was ordered.

    Args:
        order: its figures.
        own: the worker's, with the pins and notes that the store has.
    """
    return replace(
        own,
        limit=order.limit,
        target=order.target,
        summary_tokens=order.summary_tokens,
        tail_tokens=order.tail_tokens,
        first_rung=order.first_rung,
        overhead=order.overhead,
        working_set_tokens=order.working_set_tokens,
    )
