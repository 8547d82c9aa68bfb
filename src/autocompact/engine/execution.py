"""Carries compactions out: made under a lease, committed with a compare-and-swap, activated, notified and archived.

If anything fails before the commit, nothing has changed. The commit and what follows from it in memory happen
together, also if the caller is cancelled in the midst of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from autocompact.compaction.goal import Goal
from autocompact.compaction.record import Compaction, Trigger
from autocompact.core.messages import Usage
from autocompact.core.tokens import message_cost, size
from autocompact.engine.archiving import archive
from autocompact.engine.background import Background
from autocompact.engine.guarded import GuardedModel
from autocompact.engine.replica import Replica
from autocompact.engine.work import Work, finished, leased
from autocompact.errors import (
    AutocompactError,
    Conflict,
    IncompressibleContext,
    ModelError,
    log_data,
)
from autocompact.events import CompactionCompleted, CompactionStarted, Event
from autocompact.memory.documents.context_archive import ArchiveEntry
from autocompact.memory.documents.reached import tasks_of
from autocompact.ports import Lease
from autocompact.runtime.off_loop import LARGE, off_loop, off_loop_if
from autocompact.stores.leases import LONGEST_SECONDS

NOTHING = "there is nothing to compact"
NO_GAIN = f"{NOTHING} yet: a summary would take no less than what it stands for"

log = logging.getLogger("autocompact")


class Execution:
    """The compactions of one conversation, one at a time.

    Args:
        replica: the conversation's log and state.
        background: where compactions are prepared: a brief preparation is waited for.
    """

    def __init__(self, replica: Replica, *, background: Background) -> None:
        self._replica = replica
        self._background = background

    @asynccontextmanager
    async def leased(self, *, patience: float = 0.0, preparing: bool = False) -> AsyncGenerator[Lease]:
        """Hold the right to compact this conversation, with its present state loaded.

        Args:
            patience: seconds to wait while somebody else has it.
            preparing: it is for the preparation in the background; anybody else waits for one that needs no model.

        Raises:
            CompactionRunning: somebody else has it.
            Conflict: somebody else compacted, or undid, since this program looked last; it has looked now.
        """
        replica = self._replica
        # a preparation that waited for itself would never end
        if not preparing:
            await self._background.join()
        before = replica.active_id
        shared, key = replica.shared, replica.key
        async with leased(shared.store, key, holder=shared.holder, patience=patience) as lease:
            # between the look and the lease another process may have finished its
            # compaction: what we decide on must be what is there now
            await replica.sync()
            # the caller decided on another context; whether it still wants to compact this one is its decision
            if replica.active_id != before:
                raise Conflict(
                    f"conversation {key.conversation!r} was compacted by another program meanwhile: "
                    "look at it, then try again"
                )
            yield lease

    async def run(self, goal: Callable[[], Goal], *, model_free: bool, must_fit: bool) -> Compaction | None:
        """Compact to ``goal`` and activate the result; None if there is nothing to gain.

        Raises:
            CompactionRunning: somebody else does; where the result ``must_fit``, only after that took long.
            AutocompactError: it failed, and nothing has changed.
        """
        record = await self.carry_out(
            # the goal is asked for under the lease: the context may have changed while we waited
            lambda: self.make(self.plan(goal(), model_free=model_free, must_fit=must_fit)),
            trigger=goal().trigger,
            patience=2 * LONGEST_SECONDS if must_fit else 0.0,
        )
        shared = self._replica.shared
        # after the lease is released: counting asks a provider, which may take
        # seconds, and changes nothing that the lease protects
        if record is not None and shared.mode.recount and shared.model is not None:
            try:
                await self.recount()
            except ModelError as error:
                log.warning("the context could not be recounted", extra=log_data(error))
        return record

    async def recount(self) -> int:
        """The exact tokens of the context, as the model's provider counts them; the meter goes by it from now on.

        Raises:
            ModelError: the provider did not answer, or there is no model.
        """
        replica = self._replica
        shared, meter = replica.shared, replica.state.meter
        if shared.model is None:
            raise ModelError("no model counts this conversation: give the compactor one")
        # taken before the request goes out, since the conversation may grow while the provider counts
        load = replica.load()
        tokens = await GuardedModel(shared.model).count(replica.sent(), tools=meter.tools)
        replica.observe_usage(Usage(prompt=tokens), sent=load)
        return tokens

    async def carry_out(
        self, make: Callable[[], Awaitable[Compaction | None]], *, trigger: Trigger, patience: float = 0.0
    ) -> Compaction | None:
        """Activate what ``make`` makes under the lease. Listeners are notified once when it begins and once when it ends."""
        replica, name = self._replica, self._replica.key.conversation
        async with self.leased(patience=patience) as lease:
            # under the lease, so that a listener never sees two compactions of one conversation overlap
            self._emit(CompactionStarted(conversation_id=name, trigger=trigger))
            record: Compaction | None = None
            rewrites = replica.state.rewrites
            try:
                # slow part: the log may grow meanwhile, but nothing else may be activated
                record = await make()
                if record is None:
                    # an automatic compaction that gains nothing would be tried again on every turn: it counts
                    # towards the breaker. What a person asked for does not.
                    if trigger in ("threshold", "overflow"):
                        used = replica.used().tokens
                        await replica.count_failure(self.no_op_reason, used=used, fence=lease.fence)
                    self._emit_end(self.no_op_reason)
                    return None
                # not to be cancelled between the commit and the new state in memory
                return await finished(self._conclude(record, fence=lease.fence, rewrites=rewrites))
            except BaseException as error:
                # after a cancellation it may be active all the same: then it did not fail
                if record is None or replica.active_id != record.id:
                    await self._failed(error, fence=lease.fence, trigger=trigger)
                raise

    async def _conclude(self, record: Compaction, *, fence: int, rewrites: int) -> Compaction:
        # read before activation, which resets it
        peak = max(self._replica.state.peak, record.receipt.tokens_before)
        record = await self._replica.activate(record, fence=fence, rewrites=rewrites)
        # after the commit: an entry for a compaction that was then refused could not be taken back
        await self._archive(record, peak=peak)
        name = self._replica.key.conversation
        self._emit(CompactionCompleted(conversation_id=name, success=True, receipt=record.receipt))
        return record

    def _emit(self, event: Event) -> None:
        self._replica.shared.subscribers.emit(event)

    def _emit_end(self, message: str) -> None:
        name = self._replica.key.conversation
        self._emit(CompactionCompleted(conversation_id=name, success=False, message=message))

    @property
    def no_op_reason(self) -> str:
        """The reason why no compaction was made."""
        return NO_GAIN if self._replica.context().messages else NOTHING

    # Making

    def plan(self, goal: Goal, *, model_free: bool, must_fit: bool) -> Work:
        """Everything that a compaction to ``goal`` needs, as it is now."""
        replica, context = self._replica, self._replica.context()
        state, shared = replica.state, replica.shared
        last = next((m for m in reversed(context.messages) if m.is_request), None)
        # where an earlier compaction put the last request inside its summary, the last one shown may be a pinned one
        hidden = state.request if last is None or state.request > last.seq else 0
        meter = state.meter
        return Work(
            # a copy that shares the messages, so that the ladder can read it in a thread while turns go on
            log=replica.transcript.snapshot(),
            active=replica.active,
            context=context,
            goal=goal,
            request=hidden,
            summariser=None if model_free else shared.summariser(meter.tools, system=meter.system),
            must_fit=must_fit,
            rewrites=state.rewrites,
            check=shared.check,
        )

    async def make(self, work: Work) -> Compaction | None:
        """The record of ``work``, with its times; nothing changes.

        Raises:
            Conflict: the log turned out to hold other messages than ``work`` was made from.
        """
        replica, clock = self._replica, self._replica.shared.clock
        started = clock.monotonic()
        await replica.learn_secrets()
        if work.request:  # an earlier compaction put it inside its summary
            (request,) = await replica.history(from_seq=work.request, through_seq=work.request)
            work = replace(work, goal=replace(work.goal, request=request))
        if (summariser := work.summariser) is not None and self._replica.shared.memory_folder is not None:
            informed = await off_loop(lambda: self._replica.shared.informed(summariser))
            work = replace(work, summariser=informed)
        try:
            record = await work.run()
        except IncompressibleContext as error:
            raise replica.refusal(error.breakdown, limit=error.limit) from error
        # the work took time: if another program's messages took the place of
        # ours, the summary tells of messages that are gone
        replica.check_same_log(work.rewrites)
        # the copy met secrets and weights that the live log need not find again
        replica.transcript.learn(work.log)
        if record is None:
            return None
        receipt = replace(record.receipt, seconds=clock.monotonic() - started, time=clock.now())
        parent = work.active.id if work.active else ""
        return replace(record, id=replica.next_id(), parent=parent, receipt=receipt)

    async def _archive(self, record: Compaction, *, peak: int) -> None:
        shared, key, counter = self._replica.shared, self._replica.key, self._replica.transcript.counter
        if shared.memory_folder is None:
            return
        name = key.conversation
        messages = await self._replica.history(from_seq=record.from_seq, through_seq=record.through_seq)
        by_seq = {message.seq: message for message in messages}
        read = partial(
            tasks_of,
            record,
            messages,
            tokens=lambda seq: message_cost(by_seq[seq], counter).tokens,
        )
        entry = ArchiveEntry(
            conversation=name,
            namespace=key.namespace,
            record=record,
            peak_tokens=peak,
            transcript=f"`autocompact show {name} --from {record.from_seq} --through {record.through_seq}`",
            tasks=await off_loop_if(sum(map(size, messages)) > LARGE, read),
            model=shared.model_name,
            metrics=shared.keep_metrics,
        )
        await archive(entry, folder=shared.memory_folder.absolute(), store=shared.store, key=key)

    async def _failed(self, error: BaseException, *, fence: int, trigger: Trigger) -> None:
        # a conflict means that somebody else compacted, so nothing is wrong with compaction here
        if trigger != "manual" and isinstance(error, AutocompactError) and not isinstance(error, Conflict):
            await self._replica.count_failure(str(error), used=self._replica.used().tokens, fence=fence)
        # listeners saw it begin, so they see it end, whatever the reason
        cancelled = isinstance(error, asyncio.CancelledError)
        self._emit_end("it was cancelled" if cancelled else str(error) or type(error).__name__)
