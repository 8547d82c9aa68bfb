"""Runs one background task that others can wait for; independent of what the task does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

log = logging.getLogger("autocompact")


class Background:
    """Runs one task at a time beside those who use the conversation.

    Attributes:
        elsewhere: the context (id of its compaction, "" without one) for which a worker was asked to prepare the next one.
    """

    def __init__(self) -> None:
        self.elsewhere: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._brief = False

    @property
    def running(self) -> bool:
        """True while a task runs."""
        return self._task is not None

    def start(
        self, work: Coroutine[None, None, None], *, brief: bool, tasks: set[asyncio.Task[None]]
    ) -> None:
        """Run ``work``, which must be no other task's; none may be running.

        Args:
            work: what to do. An error that it raises is logged.
            brief: it takes milliseconds, so `join` waits for it.
            tasks: holds the task while it runs, so that whoever owns them can end it.
        """
        self._brief = brief
        # the event loop holds tasks weakly: without a reference of ours one could be collected while it runs
        self._task = task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        # reading the exception marks it as retrieved, else asyncio would report it a second time
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a compaction could not be prepared", exc_info=error)

    async def join(self) -> None:
        """Wait for a task that is brief, so that what is decided next does not depend on when it ends."""
        if self._brief:
            await self.wait_idle()

    async def wait_idle(self) -> None:
        """Wait until no task runs."""
        while self._task is not None:
            await asyncio.wait([self._task])
            await asyncio.sleep(0)  # `_ended` runs in the loop's next round
