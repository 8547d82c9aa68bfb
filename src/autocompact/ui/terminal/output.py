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


@contextmanager
def progress(what: str, *, stream: TextIO | None = None, patience: float = PATIENCE) -> Generator[None]:
    """Show on a terminal that ``what`` goes on and for how long, once it takes more than ``patience`` seconds."""
    screen: TextIO = sys.stderr if stream is None else stream
    if not screen.isatty():
        yield
        return
    done = threading.Event()
    shower = threading.Thread(
        target=_show, args=(what,), kwargs={"screen": screen, "done": done, "patience": patience}
    )
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()


def _show(what: str, *, screen: TextIO, done: threading.Event, patience: float) -> None:
    start = time.monotonic()
    if done.wait(patience):
        return
    while True:
        shown = f"{visible(what)} … {time.monotonic() - start:.0f} s"
        screen.write(f"\r{shown}")
        screen.flush()
        if done.wait(PATIENCE):
            break
    screen.write(f"\r{' ' * len(shown)}\r")
    screen.flush()
