"""Ctrl-C at a prompt."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Generator

import pytest

from autocompact.cli.talk.interrupts import interruptible
from tests.cli.pseudo_terminal import PATIENCE


@pytest.fixture
def silent() -> Generator[int]:
    """A pipe's end at which nothing ever comes."""
    reading, writing = os.pipe()
    yield reading
    os.close(reading)
    os.close(writing)


def test_an_interrupt_that_another_thread_got_ends_the_wait_of_the_main_thread(silent: int) -> None:
    """Which is as if it had come in the moment before the wait began."""
    waiting = threading.Event()

    def catch() -> None:
        waiting.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    catching = threading.Thread(target=catch)
    catching.start()
    with pytest.raises(KeyboardInterrupt):
        _wait(silent, begun=waiting)
    catching.join()


def _wait(silent: int, *, begun: threading.Event) -> None:
    with interruptible():
        begun.set()
        select.select([silent], [], [], PATIENCE)


def test_many_interrupts_at_once_are_one() -> None:
    caught = 0
    try:
        with interruptible():
            for _ in range(20):
                try:
                    signal.raise_signal(signal.SIGINT)
                except KeyboardInterrupt:
                    caught += 1
    finally:
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert caught == 1


def test_without_an_interrupt_everything_is_as_it_was_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    threads = threading.active_count()
    with interruptible():
        pass

    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1
    assert threading.active_count() == threads


def test_another_thread_is_left_alone() -> None:
    handlers: list[object] = []

    def look() -> None:
        with interruptible():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
