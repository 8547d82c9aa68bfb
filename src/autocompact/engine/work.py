"""The work of one compaction: under a lease, on a copy of the log, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import SummaryNeeded, SummaryReply, finish, plan
from autocompact.compaction.receipts import Check, checked
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context, Transcript
from autocompact.core.messages import Message
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import redact
from autocompact.engine.summariser import Summariser
from autocompact.errors import (
    AutocompactError,
    CompactionRunning,
    ModelError,
    ModelUnavailable,
    StoreError,
    log_data,
)
from autocompact.ports import Key, Lease, Leases

T = TypeVar("T")

LEASE_SECONDS = 6.0
"""How long a compaction is protected without a sign of life, and how long the next program waits for one that was
killed; renewed every third of it. A store that answers slowly makes it longer, see `_ANSWERS`."""

_ANSWERS = 5
"""Answers of the store that a lease outlasts: one that ran out while it was renewed would give the work to two programs, of which
the fence then lets one commit."""

CHANGED = "the history changed while it was compacted; the result was thrown away"

_NUMBER = re.compile(r"c(\d+)")
_FIRST_LOOK, _LATER_LOOK = 0.02, 0.5

log = logging.getLogger("autocompact")


async def finished(work: Coroutine[object, object, T]) -> T:
    """The result of ``work``, which runs to its end also if the caller is cancelled meanwhile.

    So that what is in the store and what is in memory cannot part in the middle of a change.
    """
    task = asyncio.ensure_future(work)
    try:
        # shield alone would return to the cancelled caller at once, before the store is written
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait([task])
        raise


def numbered(messages: Iterable[Message], *, after: int) -> tuple[Message, ...]:
    """The messages with the numbers that follow ``after``."""
    return tuple(
        # a frozen message that has its number already is not copied
        message if message.seq == seq else replace(message, seq=seq, places=())
        for seq, message in enumerate(messages, after + 1)
    )


def number_of(record: Compaction) -> int:
    """The number in a record's id ("c3"); 0 where a program of another kind named it."""
    match = _NUMBER.fullmatch(record.id)
    return int(match[1]) if match else 0


@contextlib.asynccontextmanager
async def leased(
    leases: Leases,
    key: Key,
    *,
    holder: str,
    patience: float = 0.0,
    seconds: float = LEASE_SECONDS,
    monotonic: Callable[[], float] = time.monotonic,
) -> AsyncGenerator[Lease]:
    """The right to compact ``key``, renewed while the block runs.

    Args:
        leases: who gives it.
        key: the conversation.
        holder: who asks.
        patience: seconds to wait while somebody else has it.
        seconds: how long it holds without a sign of life, at least.
        monotonic: by which the store's answers are timed.

    Raises:
        CompactionRunning: somebody else has it.
    """
    begun = monotonic()

    async def acquire() -> Lease | None:
        nonlocal begun
        begun = monotonic()
        return await leases.acquire(key, holder=holder, seconds=seconds)

    lease = await _acquired(acquire, leases, patience=patience)
    # a summary may take minutes; the lease is short so that a killed process blocks the others for seconds only
    pace = _Pace(seconds, monotonic=monotonic)
    pace.answered(after=monotonic() - begun)
    heart = asyncio.create_task(_beat(leases, lease, pace=pace))
    try:
        yield lease
    finally:
        # a beat after the release would bring the lease back
        heart.cancel()
        await finished(_released(leases, lease, heart=heart))


async def _acquired(
    acquire: Callable[[], Coroutine[object, object, Lease | None]], leases: Leases, *, patience: float
) -> Lease:
    waited, pause = 0.0, _FIRST_LOOK
    while True:
        # shielded: a lease granted after the caller was cancelled must be given
        # back, else it blocks everybody until it expires
        asking = asyncio.ensure_future(acquire())
        try:
            lease = await asyncio.shield(asking)
        except asyncio.CancelledError:
            await finished(_release_when_given(leases, asking))
            raise
        if lease is not None:
            return lease
        if waited >= patience:
            raise CompactionRunning(
                "this conversation is being compacted already: wait for it to end, then try again"
            )
        await asyncio.sleep(pause)
        # first looks are close together, since a compaction without a model ends in milliseconds
        waited, pause = waited + pause, min(2 * pause, _LATER_LOOK)


async def _release_when_given(leases: Leases, asking: asyncio.Future[Lease | None]) -> None:
    with contextlib.suppress(StoreError):
        if (lease := await asking) is not None:
            await leases.release(lease)


async def _released(leases: Leases, lease: Lease, *, heart: asyncio.Task[None]) -> None:
    """Wait for the last beat, so that none comes after; a lease that cannot be released expires."""
    await asyncio.wait([heart])
    try:
        await leases.release(lease)
    except StoreError as error:
        log.warning("a lease could not be released", extra=log_data(error))


class _Pace:
    """How long a lease has to hold, by how fast the store answers.

    Args:
        least: seconds where it answers at once.
        monotonic: times the answers.

    Attributes:
        seconds: to ask for with the next sign of life.
        pause: seconds until that.
    """

    def __init__(self, least: float, *, monotonic: Callable[[], float]) -> None:
        self.seconds = self._least = least
        self.pause = 0.0
        self.monotonic = monotonic

    def answered(self, *, after: float) -> None:
        """The store gave the lease for `seconds`, and took ``after`` of them for it."""
        # else most of it is over already
        self.pause = self.seconds / 3 if 3 * after <= self.seconds else 0.0
        self.seconds = max(self._least, _ANSWERS * after)


async def _beat(leases: Leases, lease: Lease, *, pace: _Pace) -> None:
    while True:
        await asyncio.sleep(pace.pause)
        begun = pace.monotonic()
        try:
            # lost: the fence makes the commit fail, so there is nothing to protect any more
            if not await leases.renew(lease, seconds=pace.seconds):
                return
        except StoreError as error:
            log.warning("a lease could not be renewed", extra=log_data(error))
        pace.answered(after=pace.monotonic() - begun)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """The outcome of a compaction.

    Attributes:
        success: True if another context is active now.
        message: a sentence for a person.
        summary: the active summary, "" if there is none.
        record: the compaction, None if nothing was done.
        error: what went wrong, None if nothing did.
    """

    success: bool
    message: str
    summary: str = ""
    record: Compaction | None = None
    error: AutocompactError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Everything one compaction needs; it reads nothing else, so the conversation can go on meanwhile.

    Attributes:
        log: a copy.
        active: the active compaction.
        context: the context of ``log`` under ``active``.
        goal: what to reach.
        summariser: who is asked for the summary; None makes it offline.
        must_fit: the next request would not fit: if the model fails, the offline summary has to do.
        request: ``seq`` of the user's last request where the context does not show it; 0 where it does.
        rewrites: of the state when the copy was made, see `Replica.check_same_log`.
        check: completes the receipt of the record.
    """

    log: Transcript
    active: Compaction | None
    context: Context
    goal: Goal
    summariser: Summariser | None
    must_fit: bool
    request: int = 0
    rewrites: int = 0
    check: Check = checked

    async def run(self) -> Compaction | None:
        """The record to commit, None if there is nothing to gain.

        Raises:
            ModelError: the model did not answer, or with nothing of use, and nothing forces us to go on without.
            IncompressibleContext: what must stay does not fit.
        """
        # in a thread, since counting and extraction of a long log take longer than a loop may be held up
        planned = await asyncio.to_thread(
            plan, self.log, self.goal, active=self.active, context=self.context, check=self.check
        )
        if not isinstance(planned, SummaryNeeded):
            return planned
        reply = None if self.summariser is None else await self._reply(planned, self.summariser)
        return await asyncio.to_thread(finish, planned, reply, check=self.check)

    async def _reply(self, planned: SummaryNeeded, summariser: Summariser) -> SummaryReply:
        request = await asyncio.to_thread(lambda: planned.request)
        name = summariser.model.name
        try:
            reply = await summariser.summarise(request)
        except ModelError as error:
            if not self.must_fit:
                # better no compaction now than a worse one: the next turn tries again
                raise
            return SummaryReply(text=EMPTY, model=name, problem=redact(str(error)))
        # the ladder would fall back to the offline summary; that is only
        # wanted where the request would not fit otherwise
        if reply.problem and not self.must_fit:
            raise ModelUnavailable(f"the summary of {name!r} is of no use: {reply.problem}")
        return reply
