"""Capabilities of the terminal, and progress of work that takes long."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

import click

from autocompact.ui.text import checked, visible

NARROWEST, WIDEST, USUAL = 60, 110, 80
PATIENCE = 1.0
"""Seconds after which work that goes on is shown."""


def width(stream: TextIO) -> int:
    """Columns to use: of the terminal, or what ``COLUMNS`` says; 80 where there is no terminal."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
    except (ValueError, OSError, AttributeError):  # no number, no terminal, closed (>&-)
        columns = USUAL
    return max(NARROWEST, min(WIDEST, columns))


def columns(stream: TextIO) -> int:
    """Columns of the terminal that ``stream`` is now; 0 if it is none, or does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (ValueError, OSError):
        return 0


def color() -> bool | None:
    """False where the user wants none (https://no-color.org); None leaves it to whether it is a terminal."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None


def is_styled(stream: TextIO) -> bool:
    """True if what goes to ``stream`` may be coloured."""
    return color() is not False and stream.isatty()


def tell(text: str) -> None:
    """Show ``text`` to the person: on stderr."""
    click.echo(checked(text), err=True, color=color())


def display(text: str) -> None:
    """Show ``text``, which is for a person, on stdout."""
    click.echo(checked(text), color=color())


class Progress:
    """Work that goes on: its name, its present stage, and the share of that stage that is done."""

    def __init__(self, what: str) -> None:
        self._what, self._stage, self._whole, self._done = what, "", 0, 0

    def begin(self, stage: str, *, whole: int = 0) -> None:
        """Begin ``stage``, of which ``whole`` is to be done (in any unit); 0 where nobody knows."""
        self._stage, self._whole, self._done = stage, whole, 0

    def advance(self, done: int) -> None:
        """Note that so much more of the stage is done."""
        self._done += done

    def __str__(self) -> str:
        stage = f": {self._stage}" if self._stage else ""
        # what is counted once more makes no more than all
        share = f", {min(1.0, self._done / self._whole):.0%}" if self._whole else ""
        return f"{self._what}{stage}{share}"


@contextmanager
def progress(what: str, *, stream: TextIO | None = None, patience: float = PATIENCE) -> Generator[Progress]:
    """Show on a terminal that ``what`` goes on and for how long, once it takes more than ``patience`` seconds."""
    screen: TextIO = sys.stderr if stream is None else stream
    work = Progress(what)
    if not screen.isatty():
        yield work
        return
    done = threading.Event()
    shower = threading.Thread(
        target=_show, args=(work,), kwargs={"screen": screen, "done": done, "patience": patience}
    )
    shower.start()
    try:
        yield work
    finally:
        done.set()
        shower.join()


def _show(work: Progress, *, screen: TextIO, done: threading.Event, patience: float) -> None:
    start = time.monotonic()
    if done.wait(patience):
        return
    longest = 0
    while True:
        shown = f"{visible(str(work))} … {time.monotonic() - start:.0f} s"
        room = columns(screen) - 1
        # a line that wraps cannot be written over: of a long path the end stays, and how far the work is
        if 0 < room < len(shown):
            shown = f"…{shown[1 - room :]}"
        longest = max(longest, len(shown))
        # padded: what a longer stage left there goes
        screen.write(f"\r{shown:<{longest}}")
        screen.flush()
        if done.wait(PATIENCE):
            break
    screen.write(f"\r{' ' * longest}\r")
    screen.flush()
