"""The process of a command: how often it looks for garbage, and how it ends."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Callable
from typing import cast

_USUAL = gc.get_threshold()
_NEW_OBJECTS = 500_000
"""After so many the garbage collector looks at the youngest; 700 by default."""


def collect_seldom() -> None:
    """Keep the garbage collector out of a command that is soon done.

    Modules and messages are made by the ten thousand and stay: a look at them for every 700 takes a twentieth of a command.
    """
    gc.set_threshold(_NEW_OBJECTS)


def collect_as_usual() -> None:
    """Collect garbage as any program does, from now on: this one goes on for hours."""
    gc.set_threshold(*_USUAL)


def process_of(program: Callable[[], int]) -> int:
    """Run ``program``, to which this process belongs, and end as soon as everything else that waits for the end is done.

    Python would then free every module and a vocabulary of 200,000 tokens, one by one: a tenth of a short command, for
    memory that goes back with the process anyway.

    Returns:
        The exit code of ``program``, which is the process's whatever is made of it.
    """
    # a pipe of Windows, and a Latin-1 locale, cannot write the arrows of a report: they are spelled out as on stderr
    if isinstance(sys.stdout, io.TextIOWrapper):
        cast("io.TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    end = _Ending()
    end.code = program()
    return end.code


class _Ending:
    def __init__(self) -> None:
        self.code: int | None = None
        """The program's exit code; None until it has come to its end, and after an error that nobody caught."""
        # what is registered first is called last
        atexit.register(self)

    def __call__(self) -> None:
        if self.code is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:  # closed (>&-)
                    stream.flush()
        except (OSError, ValueError):
            return  # Python meets it again, and says so
        os._exit(self.code)
