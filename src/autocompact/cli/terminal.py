"""What the terminal can do, and saying so while work takes long."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

import click

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
    """Whether what goes to ``stream`` may be coloured."""
    return color() is not False and stream.isatty()


_UNSAFE = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
"""What would move the cursor, change colours, reverse the reading order, or cannot be written at all."""

_CONTROLS = re.compile(_UNSAFE)
_NO_COLORS = re.compile(rf"(\x1b\[[0-9;]{{0,20}}m)|{_UNSAFE}")


def visible(text: str) -> str:
    """``text`` of somebody else as a terminal can show it without doing what it says: controls are spelled out."""
    text = text.replace("\r\n", "\n")
    return _CONTROLS.sub(lambda match: _spelled(match[0]), text) if text else text


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _checked(text: str) -> str:
    """``text`` with our own colours and no other control character, whatever was forgotten to be made `visible`."""
    return _NO_COLORS.sub(lambda match: match[1] or _spelled(match[0]), text)


def tell(text: str) -> None:
    """Show ``text`` to the person: on stderr."""
    click.echo(_checked(text), err=True, color=color())


def display(text: str) -> None:
    """Show ``text``, which is for a person, on stdout."""
    click.echo(_checked(text), color=color())


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
