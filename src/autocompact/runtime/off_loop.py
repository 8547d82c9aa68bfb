"""Slow work beside the event loop: what takes more than a moment runs in a few threads of its own.

Not in the loop's own threads, where name look-ups wait: a few large texts would hold up every new connection. A thread
hands the interpreter's lock over every few milliseconds, unless one call of a C function takes longer; tokenizer, hashes
and compression work without the lock, and a regular expression is best given no more than a few hundred kilobytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

LARGE = 16_384
"""Characters or bytes that are counted on the loop at most: 1 ms of plain text, 10 ms of the worst."""

LARGE_BODY = 1_000_000
"""Bytes of a request that are parsed, hashed and compared on the loop at most, which takes 5 ms."""

_THREADS = 4


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="autocompact-slow")


async def off_loop(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread and returns or raises what it does; nothing that it reads may change meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)


async def off_loop_if(large: bool, work: Callable[[], T]) -> T:
    """`off_loop` where the work is ``large``; a small one is done at once, which costs less than to hand it over."""
    return await off_loop(work) if large else work()
