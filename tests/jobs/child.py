"""Workers that die at a step of a job: ``python -m tests.jobs.child URL``.

Reads lines ``JOB STEP`` and answers each with ``killed`` or ``done``: the job was begun by a process of its own, which killed itself
at that step of it, counted from 0, or had no more steps. Each runs two minutes later than the one before by its clock, when the lease
of a dead one is over.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from autocompact.core.messages import Message
from autocompact.jobs.work import Work
from autocompact.models.vocabulary import default_counter
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.postgres_index import PostgresIndexer
from autocompact.stores.postgres_server import PostgresConnection
from autocompact.testing.clock import FakeClock
from tests.jobs.test_jobs import KEY, MODE, ORDER

_BETWEEN_SECONDS = 120.0


class Steps:
    """Kills the process at one of them."""

    def __init__(self, fatal: int) -> None:
        self.names: list[str] = []
        self._fatal = fatal

    def reached(self, name: str) -> None:
        if len(self.names) == self._fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)


class SteppedIndexer(PostgresIndexer):
    """An index whose changes are steps, too."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def index(
        self, connection: PostgresConnection, messages: Sequence[Message], *, conversation: int
    ) -> None:
        self._steps.reached("index:begun")
        super().index(connection, messages, conversation=conversation)
        self._steps.reached("index:written")


async def work(url: str, job: str, *, fatal: int, clock: FakeClock) -> None:
    steps = Steps(fatal)
    options: dict[str, Any] = {"clock": clock, "failpoint": steps.reached}
    async with PostgresStore(url, indexer=SteppedIndexer(steps), **options) as store:
        works = Work(store=store, mode=lambda _: MODE, days=lambda _: 7, clock=clock)
        match job:
            case "prepare":
                await works.prepare(KEY, ORDER)
            case "index":
                await works.index()
            case _:
                clock.advance(8 * 86_400)
                await works.expire()


def main(url: str) -> None:
    """Begin a process for each line; what they import and load is there before."""
    default_counter(ORDER.model).count("")
    clock = FakeClock()
    for line in sys.stdin:
        job, step = line.split()
        clock.advance(_BETWEEN_SECONDS)
        if not (process := os.fork()):
            asyncio.run(work(url, job, fatal=int(step), clock=clock))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        answer = {signal.SIGKILL: "killed", 0: "done" if not status else "failed"}[by]
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
