"""Ctrl-C at a prompt, without a moment in which it is lost.

A signal only sets a flag; Python looks at it when the main thread comes back from what it waits for. That wait is not
ended where the signal comes just before it begins (Python's readline looks at the flag only after it was woken), or
where the system gave the signal to another thread. So a thread watches for signals and wakes the main thread until it
has looked.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

PAUSE = 0.05
"""Seconds in which the main thread usually has looked."""


@contextmanager
def interruptible() -> Generator[None]:
    """Within it, Ctrl-C raises `KeyboardInterrupt` once, whatever the main thread waits for. Enter it in that thread.

    Where the system cannot wake a thread (Windows), nothing is changed.
    """
    if not hasattr(signal, "pthread_kill") or threading.current_thread() is not threading.main_thread():
        yield
        return
    looked = threading.Event()

    def look(*_: object) -> None:
        if not looked.is_set():
            looked.set()
            raise KeyboardInterrupt

    watcher = _Watcher(looked)
    before = signal.signal(signal.SIGINT, look)
    try:
        try:
            yield
        finally:
            looked.set()
    finally:
        watcher.end()
        signal.signal(signal.SIGINT, before)


class _Watcher:
    """The thread, and the pipe through which it learns of signals."""

    def __init__(self, looked: threading.Event) -> None:
        self._looked = looked
        self._main = threading.get_ident()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="autocompact-interrupts", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while signals := os.read(self._reading, 64):
            while signal.SIGINT in signals and not self._looked.wait(PAUSE):
                signal.pthread_kill(self._main, signal.SIGINT)

    def end(self) -> None:
        """Watch no more."""
        signal.set_wakeup_fd(self._before)
        os.close(self._writing)
        self._thread.join()
        os.close(self._reading)
