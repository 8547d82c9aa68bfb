"""The work of one compaction: under a lease, on a copy of the log, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from autocompact.compactor.summariser import Summariser
from autocompact.core.compaction import Compaction
from autocompact.core.ladder import Climb, Goal, SummaryReply, SummaryRequest, climb
from autocompact.core.transcript import Transcript
from autocompact.errors import CompactionRunning, ModelError, ModelUnavailable
from autocompact.ports import Key, Lease, Leases

LEASE_SECONDS = 60.0
"""How long a compaction is protected without a sign of life; renewed every third of it."""


@contextlib.asynccontextmanager
async def leased(leases: Leases, key: Key, *, holder: str) -> AsyncGenerator[Lease]:
    """The right to compact ``key``, renewed while the block runs.

    Raises:
        CompactionRunning: somebody else has it.
    """
    lease = await leases.acquire(key, holder=holder, seconds=LEASE_SECONDS)
    if lease is None:
        raise CompactionRunning(
            f"conversation {key.conversation!r} is being compacted already: wait for it to end, then try again"
        )
    heart = asyncio.create_task(_beat(leases, lease))
    try:
        yield lease
    finally:
        heart.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await heart
        await leases.release(lease)


async def _beat(leases: Leases, lease: Lease) -> None:
    while True:
        await asyncio.sleep(LEASE_SECONDS / 3)
        if not await leases.renew(lease, seconds=LEASE_SECONDS):
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """How a compaction ended.

    Attributes:
        success: whether another context is in force now.
        message: a sentence for a person.
        summary: the summary in force, "" if there is none.
        record: the compaction, None if nothing was done.
    """

    success: bool
    message: str
    summary: str = ""
    record: Compaction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Everything one compaction needs; it reads nothing else, so the conversation can go on meanwhile.

    Attributes:
        log: a copy.
        active: the compaction in force.
        goal: what to reach.
        summariser: who is asked for the summary; None makes it offline.
        must_fit: the next request would not fit: if the model fails, the offline summary has to do.
    """

    log: Transcript
    active: Compaction | None
    goal: Goal
    summariser: Summariser | None
    must_fit: bool

    async def run(self) -> Compaction | None:
        """The record to commit, None if there is nothing to gain.

        Raises:
            ModelError: the model did not answer, or with nothing of use, and nothing forces us to go on without.
            IncompressibleContext: what must stay does not fit.
        """
        climbing = climb(self.log, self.goal, active=self.active)
        asked = await asyncio.to_thread(_advance, climbing)
        while isinstance(asked, SummaryRequest):
            reply = await self._reply(asked)
            asked = await asyncio.to_thread(_advance, climbing, lambda reply=reply: climbing.send(reply))
        return asked

    async def _reply(self, request: SummaryRequest) -> SummaryReply | None:
        if self.summariser is None:
            return None
        name = self.summariser.model.name
        try:
            reply = await self.summariser.summarise(request)
        except ModelError as error:
            if not self.must_fit:
                raise
            return SummaryReply(text="", model=name, problem=str(error))
        if reply.problem and not self.must_fit:
            raise ModelUnavailable(f"the summary of {name!r} is of no use: {reply.problem}")
        return reply


def _advance(
    climbing: Climb, step: Callable[[], SummaryRequest] | None = None
) -> SummaryRequest | Compaction | None:
    """One step of the generator; its end is its value, since no StopIteration can leave a thread."""
    try:
        return next(climbing) if step is None else step()
    except StopIteration as end:
        return end.value
