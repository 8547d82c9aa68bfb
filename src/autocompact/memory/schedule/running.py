"""Runs what is due, beside a server: one process at a time, and each day once.

What ran is noted in ``.schedule.json`` of the memory folder. On the first start nothing has been missed: it is noted
from then on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date, tzinfo
from pathlib import Path
from typing import Protocol

import msgspec

from autocompact.errors import AutocompactError, MemoryInUse, log_data
from autocompact.memory.schedule.times import JOBS, Job, day_of, due, last_due, seconds_to_next_day
from autocompact.ports import Clock, SystemClock
from autocompact.runtime.files import PRIVATE_FILE, replace_file

STATE, LOCK = ".schedule.json", ".schedule.lock"

log = logging.getLogger("autocompact.memory")


class Work(Protocol):
    """The work of a job."""

    async def __call__(self, day: date, /) -> None:
        """Run it for the day on which it was due."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterSessions:
    """Work that runs in addition after a number of sessions were archived.

    Attributes:
        count: how many sessions there are in the archive.
        most: after how many new ones it runs.
        work: what it does.
    """

    count: Callable[[], int]
    most: int
    work: Work


class _State(msgspec.Struct, kw_only=True):
    """State of the schedule: the day that each job last ran for, and the number of sessions at the last look at the tasks."""

    weekly: date
    monthly: date
    sessions: int = 0


class Schedule:
    """Runs jobs when they are due, in the background of an event loop.

    Args:
        folder: the memory folder, which holds what was done; nothing runs while there is none.
        jobs: what each job does; one that is missing does nothing.
        after: what runs besides, by the number of sessions; a monthly run counts as one.
        clock: what time it is.
        zone: the local time zone; None is that of the machine.
        pause: waits for so many seconds, between two looks at the calendar.
    """

    def __init__(
        self,
        folder: Path,
        *,
        jobs: Mapping[Job, Work],
        after: AfterSessions | None = None,
        clock: Clock | None = None,
        zone: tzinfo | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._folder = folder
        self._jobs = jobs
        self._after = after
        self._clock = clock or SystemClock()
        self._zone = zone
        self._pause = pause
        self._running: asyncio.Task[None] | None = None

    @property
    def has_folder(self) -> bool:
        """True if there is a memory folder to work in."""
        return self._folder.is_dir()

    def start(self) -> None:
        """Run what is due now, and then whenever something is."""
        self._running = asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """End it; a job that runs is finished first, so that nothing is left half done."""
        if self._running is not None:
            self._running.cancel()
            # `_run` lets the job end before it does
            await asyncio.wait([self._running])

    async def look(self) -> tuple[Job, ...]:
        """Run what is due; the jobs that ran. Another process that is at it is left alone.

        A job that fails is logged and due until it can; the others run all the same.

        Raises:
            MemoryInUse: somebody else works in the folder; what did not run is due.
            OSError: the folder cannot be read or written.
        """
        from filelock import FileLock, Timeout

        if not self.has_folder:
            return ()
        # no waiting: who holds it does the very same work
        lock = FileLock(self._folder / LOCK, timeout=0, mode=PRIVATE_FILE)
        try:
            lock.acquire()
        except Timeout:
            return ()
        try:
            return await self._due()
        finally:
            lock.release()

    async def _due(self) -> tuple[Job, ...]:
        state, now = self._read(), self._clock.now()
        # a first start: nothing was missed, so nothing is caught up
        if state is None:
            days = {job: last_due(job, day_of(job, now, zone=self._zone)) for job in JOBS}
            self._write(_State(**days, sessions=await self._sessions(0)))
            return ()
        ran: list[Job] = []
        for job, day in due({"weekly": state.weekly, "monthly": state.monthly}, now, zone=self._zone):
            if job in self._jobs:
                if not await _could(self._jobs[job], day, job=job):
                    continue
                ran.append(job)
            # noted after it succeeded: a failed job stays due
            setattr(state, job, day)
            if job == "monthly":
                # a monthly run has looked at all of them
                state.sessions = await self._sessions(state.sessions)
            self._write(state)
        await self._after_sessions(state, day_of("weekly", now, zone=self._zone))
        return tuple(ran)

    async def _after_sessions(self, state: _State, today: date) -> None:
        sessions = await self._sessions(state.sessions)
        if self._after is not None and sessions - state.sessions >= self._after.most:
            if not await _could(self._after.work, today, job="after sessions"):
                return
            state.sessions = sessions
            self._write(state)

    async def _sessions(self, known: int) -> int:
        """Number of sessions now; ``known`` where that cannot be read."""
        if self._after is None:
            return known
        try:
            return await asyncio.to_thread(self._after.count)
        except (AutocompactError, OSError) as error:
            log.warning("the archived sessions could not be counted", extra=log_data(error))
            return known

    def _read(self) -> _State | None:
        """Read the state; None if it was never written, or cannot be read."""
        try:
            return msgspec.json.decode((self._folder / STATE).read_bytes(), type=_State)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _write(self, state: _State) -> None:
        replace_file(self._folder / STATE, msgspec.json.encode(state) + b"\n")

    async def _run(self) -> None:
        while True:
            looking = asyncio.ensure_future(self._quietly())
            try:
                # a job in the middle of its files is not to be cut off by a server that stops
                await asyncio.shield(looking)
            except asyncio.CancelledError:
                await looking
                raise
            await self._pause(seconds_to_next_day(self._clock.now(), zone=self._zone))

    async def _quietly(self) -> None:
        try:
            await self.look()
        except MemoryInUse:
            log.info("upkeep waits: another run is at the memory folder")
        except (AutocompactError, OSError) as error:
            log.warning("upkeep could not be done", extra=log_data(error))
        except Exception:
            # nobody awaits the schedule: it would end, and nobody would know
            log.exception("upkeep failed")


async def _could(work: Work, day: date, *, job: str) -> bool:
    """Run a job; whether it could be done."""
    try:
        await work(day)
    except MemoryInUse:
        raise
    except (AutocompactError, OSError) as error:
        said = log_data(error) | {"job": job, "due": day.isoformat()}
        log.warning("upkeep could not be done: compress-context --all --dry-run says why", extra=said)
        return False
    except Exception:
        log.exception("upkeep failed", extra={"job": job, "due": day.isoformat()})
        return False
    return True
