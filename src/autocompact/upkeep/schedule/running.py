"""Runs what is due, beside a server: one process at a time, and each day once.

What ran is noted in ``.schedule.json`` of the memory folder. On the first start nothing has been missed: it is noted
from then on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, tzinfo
from pathlib import Path
from typing import Protocol

import msgspec

from autocompact.errors import AutocompactError, MemoryInUse
from autocompact.files import replace_file
from autocompact.ports import Clock, SystemClock
from autocompact.upkeep.schedule.times import JOBS, Job, due, last_due, local_day, seconds_to_next_day

STATE, LOCK = ".schedule.json", ".schedule.lock"

log = logging.getLogger("autocompact.upkeep")


class Work(Protocol):
    """What a job does."""

    async def __call__(self, day: date) -> None:
        """Run it for the day on which it was due."""
        ...


class Schedule:
    """Runs jobs when they are due, in the background of an event loop.

    Args:
        folder: the memory folder, which holds what was done; nothing runs while there is none.
        jobs: what each job does; one that is missing does nothing.
        clock: what time it is.
        zone: the local time zone; None is that of the machine.
        pause: waits for so many seconds, between two looks at the calendar.
    """

    def __init__(
        self,
        folder: Path,
        *,
        jobs: Mapping[Job, Work],
        clock: Clock | None = None,
        zone: tzinfo | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._folder = folder
        self._jobs = jobs
        self._clock = clock or SystemClock()
        self._zone = zone
        self._pause = pause
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Run what is due now, and then whenever something is."""
        self._running = asyncio.create_task(self._run())

    async def aclose(self) -> None:
        """End it; a job that runs is finished first, so that nothing is left half done."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def look(self) -> tuple[Job, ...]:
        """Run what is due; the jobs that ran. Another process that is at it is left alone.

        Raises:
            AutocompactError: a job could not do it; it is due until it can.
            OSError: the folder cannot be read or written.
        """
        from filelock import FileLock, Timeout

        if not self._folder.is_dir():
            return ()
        lock = FileLock(self._folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return ()
        try:
            return await self._due()
        finally:
            lock.release()

    async def _due(self) -> tuple[Job, ...]:
        done, today = self._read(), local_day(self._clock.now(), zone=self._zone)
        if done is None:
            self._write({job: last_due(job, today) for job in JOBS})
            return ()
        ran: list[Job] = []
        for job, day in due(done, today):
            if job in self._jobs:
                await self._jobs[job](day)
                ran.append(job)
            done[job] = day
            self._write(done)
        return tuple(ran)

    def _read(self) -> dict[Job, date] | None:
        """For which day each job ran last; None if that was never written down, or cannot be read."""
        try:
            return msgspec.json.decode((self._folder / STATE).read_bytes(), type=dict[Job, date])
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _write(self, done: Mapping[Job, date]) -> None:
        replace_file(self._folder / STATE, msgspec.json.encode(done) + b"\n")

    async def _run(self) -> None:
        while True:
            looking = asyncio.ensure_future(self._quietly())
            try:
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
            log.warning("upkeep could not be done", extra={"reason": type(error).__name__})
