"""Runs what waits (stores, models) to its end, from the command line."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


def run(work: Coroutine[object, object, T]) -> T:
    """The result of ``work``. Ctrl-C cancels it, so that it gives back what it opened."""
    import asyncio  # commands that only read a file are there without it

    quieted()
    return asyncio.run(work)


def quieted() -> None:
    """Keep logs off the screen where nobody listens: what matters is said by the command."""
    for name in ("autocompact", "stamina"):
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
