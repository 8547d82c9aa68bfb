"""Carries compactions out: under a lease made, committed with a compare-and-swap, put in force, told and archived.

If anything fails before the commit, nothing has changed. The commit and what follows from it in memory happen
together, also if the caller is cancelled in the midst of it.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from autocompact.compaction.ladder import LAST_REQUEST, Goal
from autocompact.compaction.pins import with_pins
from autocompact.compaction.record import Compaction, Trigger
from autocompact.compaction.transcript import View
from autocompact.compactor.deletion import delete_conversation
from autocompact.compactor.state import EngineState, Settled
from autocompact.compactor.work import CHANGED, LEASE_SECONDS, Work, finished, leased
from autocompact.core.budget import Breaker
from autocompact.core.messages import Message, Text
from autocompact.errors import (
    AutocompactError,
    Conflict,
    IncompressibleContext,
    ModelError,
    StoreError,
    log_data,
)
from autocompact.events import BreakerOpened, CompactionCompleted, CompactionStarted
from autocompact.ledger.summary import frame
from autocompact.memory.context_archive import ArchiveEntry
from autocompact.memory.session import tasks_in_summary
from autocompact.memory_files import append_to_archive
from autocompact.ports import Lease
from autocompact.stores.companions import note_archive_folder

if TYPE_CHECKING:
    from autocompact.compactor.conversation import Conversation

NOTHING = "there is nothing to compact"
NO_GAIN = f"{NOTHING} yet: a summary would take no less than what it stands for"

_NUMBER = re.compile(r"c(\d+)")

log = logging.getLogger("autocompact")


class Execution:
    """The compactions of one conversation, one at a time."""

    def __init__(self, conversation: Conversation) -> None:
        self._of = conversation

    @asynccontextmanager
    async def leased(self, *, patience: float = 0.0, preparing: bool = False) -> AsyncGenerator[Lease]:
        """The right to compact this conversation, and its present state.

        Args:
            patience: seconds to wait while somebody else has it.
            preparing: it is for the preparation in the background; anybody else waits for one that needs no model.

        Raises:
            CompactionRunning: somebody else has it.
            Conflict: somebody else compacted, or undid, since this program looked last; it has looked now.
        """
        of = self._of
        if not preparing:
            await of.ahead.join()
        before = of.active_id
        async with leased(of.shared.store, of.key, holder=of.shared.holder, patience=patience) as lease:
            await of.sync()
            if of.active_id != before:
                raise Conflict(
                    f"conversation {of.key.conversation!r} was compacted by another program meanwhile: "
                    "look at it, then try again"
                )
            yield lease

    async def run(self, goal: Callable[[], Goal], *, model_free: bool, must_fit: bool) -> Compaction | None:
        """Compact to ``goal`` and put the result in force; None if there is nothing to gain.

        Raises:
            CompactionRunning: somebody else does; where the result ``must_fit``, only after that took long.
            AutocompactError: it failed, and nothing has changed.
        """
        record = await self.carry_out(
            lambda: self.make(self.plan(goal(), model_free=model_free, must_fit=must_fit)),
            trigger=goal().trigger,
            patience=2 * LEASE_SECONDS if must_fit else 0.0,
        )
        if record is not None and self._of.shared.mode.recount and self._of.shared.model is not None:
            try:
                await self._of.recount()
            except ModelError as error:
                log.warning("the context could not be recounted", extra=log_data(error))
        return record

    async def carry_out(
        self, make: Callable[[], Awaitable[Compaction | None]], *, trigger: Trigger, patience: float = 0.0
    ) -> Compaction | None:
        """Put in force what ``make`` makes under the lease. Listeners hear once that it begins and once that it ended."""
        of, name = self._of, self._of.key.conversation
        async with self.leased(patience=patience) as lease:
            of.shared.subscribers.tell(CompactionStarted(conversation_id=name, trigger=trigger))
            record: Compaction | None = None
            rewritten = of.rewritten
            try:
                record = await make()
                if record is None:
                    if trigger in ("threshold", "overflow"):
                        await self.count_failure(self.nothing, used=of.usage().used, fence=lease.fence)
                    self._tell_end(self.nothing)
                    return None
                return await finished(self._conclude(record, fence=lease.fence, rewritten=rewritten))
            except BaseException as error:
                if record is None or of.active_id != record.id:
                    await self._failed(error, fence=lease.fence, trigger=trigger)
                raise

    async def _conclude(self, record: Compaction, *, fence: int, rewritten: int) -> Compaction:
        peak = max(self._of.state.peak, record.receipt.tokens_before)
        record = await self.commit(record, fence=fence, rewritten=rewritten)
        await self._archive(record, peak=peak)
        self._of.shared.subscribers.tell(
            CompactionCompleted(
                conversation_id=self._of.key.conversation, success=True, receipt=record.receipt
            )
        )
        return record

    def _tell_end(self, message: str) -> None:
        self._of.shared.subscribers.tell(
            CompactionCompleted(conversation_id=self._of.key.conversation, success=False, message=message)
        )

    @property
    def nothing(self) -> str:
        """Why no compaction was made."""
        return NO_GAIN if self._of.context().messages else NOTHING

    # Making and committing

    def plan(self, goal: Goal, *, model_free: bool, must_fit: bool) -> Work:
        """Everything that a compaction to ``goal`` needs, as it is now."""
        of = self._of
        last = next((m for m in reversed(of.context().messages) if m.is_request), None)
        # where an earlier compaction put the last request inside its summary, the last one shown may be a pinned one
        hidden = of.state.request if last is None or of.state.request > last.seq else 0
        quotable = hidden > 0 or last is None or _can_be_quoted(last)
        return Work(
            log=of.transcript.snapshot(),
            active=of.active,
            context=of.context(),
            goal=replace(goal, inline_request=goal.inline_request and quotable),
            request=hidden,
            summariser=None if model_free else of.shared.summariser(of.meter.tools, system=of.meter.system),
            must_fit=must_fit,
            rewritten=of.rewritten,
        )

    async def make(self, work: Work) -> Compaction | None:
        """The record of ``work``, with its times; nothing changes.

        Raises:
            Conflict: the log turned out to hold other messages than ``work`` was made from.
        """
        of, clock = self._of, self._of.shared.clock
        started = clock.monotonic()
        if work.request:  # an earlier compaction put it inside its summary
            (request,) = await of.history(from_seq=work.request, through_seq=work.request)
            work = replace(work, goal=replace(work.goal, request=request))
        try:
            record = await work.run()
        except IncompressibleContext as error:
            raise of.meter.refusal(error.breakdown, limit=error.limit) from error
        of.check_same_log(work.rewritten)
        of.transcript.learn(work.log)
        if record is None:
            return None
        receipt = replace(record.receipt, seconds=clock.monotonic() - started, time=clock.now())
        parent = work.active.id if work.active else ""
        return replace(record, id=self.next_id(), parent=parent, receipt=receipt)

    def next_id(self) -> str:
        """A new record's id; unique while the lease is held."""
        return f"c{self._made() + 1}"

    def _made(self) -> int:
        of = self._of
        records = (of.active, of.ahead.prepared)
        return max(of.state.made, *(_number(record.id) for record in records if record), 0)

    async def commit(self, record: Compaction, *, fence: int, rewritten: int) -> Compaction:
        """Put ``record`` in force, in the store and here; ``rewritten`` is the conversation's when it was begun.

        Raises:
            Conflict: the history it covers, or the compaction in force, changed meanwhile.
        """
        of = self._of
        await of.sync()  # for pins that somebody else set meanwhile
        async with of.changing:
            of.check_same_log(rewritten)
            if not of.admits(record):
                raise Conflict(CHANGED)
            record = replace(with_pins(record, of.state.pins, log=of.transcript), status="active")
            transcript = of.transcript.after(record)
            view = View(transcript, record)
            state = self._settled(record, view)
            expected = of.active_id or None
            await of.shared.store.commit(
                of.key,
                records=[record],
                active=record.id,
                expected=expected,
                fence=fence,
                state=state.encode(),
            )
            opened = state.breaker.is_open and not of.state.breaker.is_open
            of.state, of.ahead.prepared = state, None
            of.put_in_force(transcript, view)
        if opened:
            self._tell_breaker(state.breaker)
        return record

    def _settled(self, record: Compaction, view: View) -> EngineState:
        """The state with ``record`` in force."""
        of, receipt = self._of, record.receipt
        cost = view.context().cost + of.meter.overhead
        breaker = of.state.breaker.succeeded(before=receipt.tokens_before, after=receipt.tokens_after)
        if breaker.failures:  # of no use: by hand that is nobody's business
            after = of.meter.gauge.rebased(record.id).read(of.meter.load_of(cost, context=record.id)).used
            useless = replace(breaker, tokens=after, fixed=min(of.fixed, after))
            breaker = of.state.breaker if receipt.trigger == "manual" else useless
        return msgspec.structs.replace(
            of.state,
            breaker=breaker,
            calibration=of.meter.gauge.calibration,
            unseen=of.meter.gauge.unseen,
            peak=0,
            settled=Settled(context=record.id, last_seq=len(of), cost=cost),
            made=max(self._made(), _number(record.id)),
        )

    async def _archive(self, record: Compaction, *, peak: int) -> None:
        folder = self._of.shared.memory_folder
        if folder is None:
            return
        key, store = self._of.key, self._of.shared.store
        name = key.conversation
        command = f"`autocompact show {name} --from {record.from_seq} --through {record.through_seq}`"
        entry = ArchiveEntry(
            conversation=name,
            namespace=key.namespace,
            record=record,
            peak_tokens=peak,
            transcript=command,
            tasks=tasks_in_summary(record.summary) or None,
            model=self._of.shared.model_name,
            metrics=self._of.shared.keep_metrics,
        )
        try:
            # where it is archived is known before it is, so that deleting the conversation finds it
            await note_archive_folder(store, key, folder=str(folder.absolute()))
            await asyncio.to_thread(append_to_archive, folder, entry)
            if not await store.read(key, from_seq=1, through_seq=1):  # it was deleted meanwhile
                await delete_conversation(store, key, folders=(folder,))
        except (OSError, AutocompactError) as error:
            log.warning("CONTEXT_ARCHIVE.md could not be written", extra=log_data(error))

    # Failures

    async def _failed(self, error: BaseException, *, fence: int, trigger: Trigger) -> None:
        if trigger != "manual" and isinstance(error, AutocompactError) and not isinstance(error, Conflict):
            await self.count_failure(str(error), used=self._of.usage().used, fence=fence)
        cancelled = isinstance(error, asyncio.CancelledError)
        self._tell_end("it was cancelled" if cancelled else str(error) or type(error).__name__)

    async def count_failure(self, reason: str, *, used: int, fence: int) -> None:
        """Remember that an automatic compaction failed at ``used`` tokens; several in a row open the breaker."""
        of = self._of
        before = of.state.breaker
        breaker = before.failed(reason, tokens=used, fixed=of.fixed)
        of.state = msgspec.structs.replace(of.state, breaker=breaker)
        expected = of.active_id or None
        try:
            await of.shared.store.commit(
                of.key, active=expected, expected=expected, fence=fence, state=of.state.encode()
            )
        except StoreError as error:
            log.warning("a failure could not be stored", extra=log_data(error))
        if breaker.is_open and not before.is_open:
            self._tell_breaker(breaker)

    def _tell_breaker(self, breaker: Breaker) -> None:
        self._of.shared.subscribers.tell(
            BreakerOpened(conversation_id=self._of.key.conversation, reason=breaker.reason)
        )


def _can_be_quoted(message: Message) -> bool:
    """Whether its words are all of it, and stay word for word what they are inside a summary message."""
    quoted = f"{LAST_REQUEST}{message.text.strip()}"
    return all(isinstance(part, Text) for part in message.parts) and quoted in frame(quoted, placement="user")


def _number(id: str) -> int:
    match = _NUMBER.fullmatch(id)
    return int(match[1]) if match else 0
