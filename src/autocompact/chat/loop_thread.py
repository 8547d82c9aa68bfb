"""Loop thread: an event loop in a thread of its own, for programs that block while the chat continues.

A terminal waits for a line, a notebook for the end of a cell; meanwhile answers arrive and compactions are prepared.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

T = TypeVar("T")


class LoopThread:
    """An event loop and its thread; release it with `close`. It does not keep the program from ending."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="autocompact-chat", daemon=True)
        self._thread.start()
        self._held: list[tuple[asyncio.Event, Future[None]]] = []

    def start(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Run ``work`` in the loop; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run ``work`` and wait for its result; Ctrl-C while waiting cancels it."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Call ``function`` in the loop; returns its result."""

        async def work() -> T:
            return function()

        return self.run(work())

    def hold(self, context: AbstractAsyncContextManager[T]) -> T:
        """Enter ``context``; `close` leaves it, in the same task."""
        entered: Future[T] = Future()
        leave = asyncio.Event()

        async def work() -> None:
            async with context as value:
                entered.set_result(value)
                await leave.wait()

        task = self.start(work())
        task.add_done_callback(lambda done: _pass_on(done, entered))
        value = entered.result()
        self._held.append((leave, task))
        return value

    def close(self) -> None:
        """Leave the entered contexts, the last first, then end the loop. Calling it again does nothing.

        Ctrl-C while waiting cancels whatever still runs.
        """
        if self._loop.is_closed():
            return
        try:
            while self._held:
                leave, task = self._held.pop()
                self._loop.call_soon_threadsafe(leave.set)
                task.result()
        finally:
            self._end()

    def _end(self) -> None:
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _pass_on(done: Future[None], entered: Future[T]) -> None:
    """Pass on why a context was not entered."""
    if not entered.done():
        error = None if done.cancelled() else done.exception()
        entered.set_exception(error or RuntimeError("it ended before it began"))


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
    await asyncio.get_running_loop().shutdown_default_executor()
