"""The store on a PostgreSQL server against the one in a SQLite file: time of each thing that a request does, and space.

    python -m benchmarks.server [--conversations N] [--rounds N]

Both run in the same process on the same machine, the server beside it with ``fsync`` on, through a socket. Wall time, since
most of it passes in the server: compare the two columns with each other, not with other machines.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from autocompact.core.messages import Message, text_message
from autocompact.ports import Key
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.table_store import TableStore
from tests.stores.cluster import Cluster

MESSAGES = 40
WORDS = [
    f"{stem}{ending}"
    for stem in ("load", "round", "invoice", "cache", "tax", "file")
    for ending in range(200)
]


def message(seq: int, chance: random.Random) -> Message:
    """About 90 words, as common and as rare as those of a vocabulary of 1,200."""
    text = " ".join(WORDS[min(int(chance.expovariate(1 / 150)), len(WORDS) - 1)] for _ in range(90))
    return text_message(seq, "user" if seq % 2 else "assistant", text)


async def timed(work: Callable[[int], Awaitable[object]], *, rounds: int) -> list[float]:
    """Milliseconds of each."""
    taken: list[float] = []
    for number in range(rounds):
        start = time.perf_counter()
        await work(number)
        taken.append((time.perf_counter() - start) * 1000)
    return taken


async def measured(store: TableStore[Any], *, conversations: int, rounds: int) -> dict[str, list[float]]:
    """The times of each thing on a store that holds ``conversations`` of `MESSAGES` messages."""
    chance = random.Random(7)
    keys = [Key(conversation=f"talk {number}") for number in range(conversations)]
    for key in keys:
        await store.append(key, [message(seq, chance) for seq in range(1, MESSAGES + 1)], after=0)
    ends = dict.fromkeys(keys, MESSAGES)

    async def append(number: int) -> None:
        key = keys[number % len(keys)]
        await store.append(key, [message(ends[key] + 1, chance)], after=ends[key])
        ends[key] += 1

    async def lease(number: int) -> None:
        held = await store.acquire(keys[number % len(keys)], holder="benchmark", seconds=60)
        assert held is not None
        await store.release(held)

    def query() -> str:
        return " ".join(chance.choices(WORDS[:400], k=3))

    index = store.index
    return {
        "append a message": await timed(append, rounds=rounds),
        "load a conversation": await timed(lambda _: store.load(chance.choice(keys)), rounds=rounds),
        "take and give back a lease": await timed(lease, rounds=rounds),
        "search a conversation": await timed(
            lambda _: index.search("default", query(), k=5, conversation=chance.choice(keys).conversation),
            rounds=rounds,
        ),
        "search all conversations": await timed(
            lambda _: index.search("default", query(), k=5), rounds=rounds
        ),
    }


async def compared(folder: Path, *, conversations: int, rounds: int) -> None:
    """Print a table."""
    cluster = Cluster()
    cluster.start(fsync="on", shared_buffers="256MB", autovacuum="on")
    try:
        url = cluster.new_database()
        async with SqliteStore(folder / "chats.db") as file, PostgresStore(url) as server:
            on_file = await measured(file, conversations=conversations, rounds=rounds)
            on_server = await measured(server, conversations=conversations, rounds=rounds)
        print(
            f"{conversations:,} conversations of {MESSAGES} messages, {rounds:,} rounds; ms, median and 99th percentile"
        )
        for name, theirs in on_file.items():
            ours = on_server[name]
            print(
                f"{name:<28} file {median(theirs):7.2f} {quantiles(theirs, n=100)[98]:7.2f}   "
                f"server {median(ours):7.2f} {quantiles(ours, n=100)[98]:7.2f}   x {median(ours) / median(theirs):.1f}"
            )
        stored = _bytes(folder)
        held = int(cluster.sql("SELECT pg_database_size(current_database())", database=url))
        empty = int(cluster.sql("SELECT pg_database_size('template1')"))
        print(f"bytes stored: file {stored:,}, server {held - empty:,}, x {(held - empty) / stored:.2f}")
    finally:
        cluster.remove()


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=500)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        asyncio.run(compared(folder, conversations=asked.conversations, rounds=asked.rounds))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
