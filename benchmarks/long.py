"""A conversation of 200,000 messages that was never compacted: to open it, and to compact it for the first time.

    python -m benchmarks.long [--messages 200000] [--first]

A SQLite store on disk, no model; each turn is a request, a call, its output of four lines and an answer, about 46 tokens
a message. The conversation is opened in a process of its own, whose peak memory is what counts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from autocompact.core.messages import Message, Text, ToolCall, ToolResult, text_message
from autocompact.engine import Compactor
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from benchmarks.gateway import before_others
from benchmarks.peers.bench import peak_megabytes
from benchmarks.speed import verdict

HERE = Path(__file__).parent
KEY = Key(conversation="long")
WINDOW = 200_000
BATCH = 2_000


def turn(seq: int) -> Iterator[Message]:
    """Four messages from ``seq`` on."""
    module, item = seq % 5_000, seq
    call = ToolCall(id=f"c{seq}", name="Read", arguments=f'{{"file_path":"src/module_{module}.py"}}')
    lines = (f"src/module_{module}.py:{line}: rounded the total of item {item} to cents" for line in range(4))
    yield text_message(
        seq, "user", f"Please look at module_{module} and tell me if the totals of item {item} are right."
    )
    yield Message(seq=seq + 1, role="assistant", parts=(Text(text=f"Looking at {item}."), call))
    yield Message(seq=seq + 2, role="tool", parts=(ToolResult(call_id=call.id, text="\n".join(lines)),))
    yield text_message(
        seq + 3, "assistant", f"The totals of item {item} are right: they are rounded per line."
    )


async def fill(path: Path, count: int) -> None:
    async with SqliteStore(path) as store:
        for start in range(0, count, BATCH):
            messages = [message for at in range(start, start + BATCH, 4) for message in turn(at + 1)]
            await store.append(KEY, messages, after=start)


async def measured(path: Path) -> None:
    """In the process that is measured: seconds to open and to compact, by the clock and of the processor; tokens; peak memory."""
    async with Compactor(SqliteStore(path), window=WINDOW) as compactor:
        begun, begun_work = time.perf_counter(), time.process_time()
        conversation = await compactor.open(KEY.conversation)
        before = conversation.usage().used
        opened, opened_work = time.perf_counter(), time.process_time()
        await conversation.ready()
        done, done_work = time.perf_counter(), time.process_time()
        after = conversation.usage().used
        await compactor.open(KEY.conversation)
        again = time.perf_counter() - done
    print(opened - begun, opened_work - begun_work, done - opened, done_work - opened_work, again)
    print(before, after, peak_megabytes())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--first", action="store_true", help="before other work of the machine")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        asyncio.run(measured(options.measure))
        return
    today, load = datetime.datetime.now(datetime.UTC).date(), os.getloadavg()[0]
    print(
        f"{today}, Python {platform.python_version()}, {os.cpu_count()} CPUs, load {load:.1f} at the start\n"
    )
    first = before_others() if options.first else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as folder, first:
        path = Path(folder, "long.db")
        asyncio.run(fill(path, options.messages))
        child = [sys.executable, "-m", "benchmarks.long", "--measure", str(path)]
        done = subprocess.run(child, cwd=HERE.parent, capture_output=True, check=True, text=True)
    opening, opening_work, compacting, work, again, before, after, peak = map(float, done.stdout.split())
    print(f"{options.messages:,} messages, {before:,.0f} tokens; {after:,.0f} after the compaction.")
    print(
        f"open {opening:.1f} s (processor {opening_work:.1f} s), compact {compacting:.1f} s ({work:.1f} s),"
    )
    print(f"open again {again:.2f} s, peak memory {peak:.0f} MB.\n\nTargets:")
    verdict("seconds for the first compaction", compacting, most=20)
    verdict("seconds of the processor for it", work, most=20)
    verdict("MB at most", peak, most=300)


if __name__ == "__main__":
    main()
