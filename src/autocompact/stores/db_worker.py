"""Blocking work off the event loop: one thread with one connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from autocompact.errors import StoreUnavailable
from autocompact.ports import Clock
from autocompact.stores.connection import Connection

T = TypeVar("T")

_LEAST_SECONDS = 0.1
"""What is left of the patience with another process for work that waited long for its turn."""


class DbWorker:
    """Does one thing after the other, in the order asked; the first one opens the connection.

    Work that was begun is finished also when the task that waits for it is cancelled. The time in which another process
    may hold a lock counts from when the work was asked for: a lock that is held for long would else make each one wait
    for all those before it.

    A file that was removed, or another that was put in its place, is noticed: SQLite would go on with the one that nobody
    can reach any more, and what it is given would be gone in the end.

    Args:
        name: of the thread.
        path: the file.
        connect: opens the connection, in the thread.
        errors: turns the driver's errors into ours, around everything.
        busy_seconds: how long work may wait for another process.
        clock: tells how long it waited for its turn.
    """

    def __init__(
        self,
        name: str,
        *,
        path: Path,
        connect: Callable[[], Connection],
        errors: Callable[[], AbstractContextManager[None]],
        busy_seconds: float,
        clock: Clock,
    ) -> None:
        # one thread: SQLite serialises writers anyway, and order is the order asked for
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._path = path
        self._connect = connect
        self._errors = errors
        self._busy_seconds = busy_seconds
        self._clock = clock
        self._connection: Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._closed = False

    @property
    def is_open(self) -> bool:
        """True if the connection is there, and its file as well."""
        return self._connection is not None and self._file() == self._opened

    def _file(self) -> tuple[int, int] | None:
        """Device and inode of the present file; None if there is none."""
        try:
            found = self._path.stat()
        except OSError:
            # removed, or its folder cannot be read: either way not the file that was opened
            return None
        return found.st_dev, found.st_ino

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run ``work`` with the connection in the worker thread, and return its result.

        Raises:
            StoreUnavailable: it was closed.
        """
        if self._closed:
            # an executor that was shut down would say so in words of its own
            raise StoreUnavailable("the store was closed: open it again")
        # before the queue: patience counts from when the caller began to wait
        asked = self._clock.monotonic()
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, work, asked)

    def _do(self, work: Callable[[Connection], T], asked: float) -> T:
        with self._errors():
            connection = self._connection
            # a `stat` for each piece of work takes microseconds; writing into a removed file loses everything
            if connection is None or not self.is_open:
                connection = self._opened_anew()
            left = self._busy_seconds - (self._clock.monotonic() - asked)
            # never zero: a lock that is free in a moment should not fail work only because it queued
            patience = max(left, min(self._busy_seconds, _LEAST_SECONDS))
            connection.set_busy_timeout(round(patience * 1000))
            return work(connection)

    def _opened_anew(self) -> Connection:
        self._drop()
        connection = self._connection = self._connect()
        # after connecting, which creates the file
        self._opened = self._file()
        return connection

    async def aclose(self) -> None:
        """Finish what was asked, then close the connection and end the thread."""
        if not self._closed:
            self._closed = True
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            finally:
                self._thread.shutdown(wait=False)

    def _close(self) -> None:
        with self._errors():
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
