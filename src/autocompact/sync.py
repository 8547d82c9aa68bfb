"""autocompact from synchronous code: one thread with an event loop, for everything that is asynchronous.

    from autocompact import Compactor, SqliteStore, sync

    compactor = Compactor(SqliteStore("chats.db"))
    conversation = sync.run(compactor.open("trip"))
    context = sync.run(conversation.follow(messages))

All calls run on the same loop, so what one of them opened can be used by the next one, from whichever thread. The thread is
started by the first call and ends with the process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from autocompact.errors import InvalidInput

T = TypeVar("T")


class LoopThread:
    """An event loop in a thread of its own, started when it is first needed; after a fork, in the child anew."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop, and wait for what it returns or raises.

        An interrupt (Ctrl-C) while one waits cancels it.

        Raises:
            InvalidInput: this is called on the loop itself, which would wait for itself for ever.
        """
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise InvalidInput(
                "sync.run was called from code that sync.run is running: await it there instead"
            )
        future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            return future.result()
        except CancelledError:
            raise
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="autocompact-sync", daemon=True
                )
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """End the thread; what still runs on its loop is cancelled. A later `run` starts another one."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None or not thread.is_alive():
            return
        asyncio.run_coroutine_threadsafe(_cancelled(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancelled() -> None:
    """Cancel all other tasks of the running loop, and wait for their end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


_THREAD = LoopThread()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on autocompact's own event loop; what it returns or raises. See `LoopThread.run`."""
    return _THREAD.run(coroutine)


def close() -> None:
    """End the thread of `run`, e.g. at the end of a test. See `LoopThread.close`."""
    _THREAD.close()
