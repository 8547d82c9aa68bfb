"""Another process on the same file: ``python -m tests.stores.child COMMAND ...``, one answer per line of input."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from autocompact.core.messages import text_message
from autocompact.errors import Conflict, StoreError
from autocompact.ports import Key
from autocompact.stores.naming import store_place
from autocompact.stores.opening import open_store
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.table_store import TableStore
from autocompact.testing.clock import FakeClock
from autocompact.testing.records import KEY, compaction
from autocompact.wire.request import parse_message
from tests.stores.support import connect

OTHER = Key(conversation="other")


def hear() -> str:
    """The next line of input."""
    return sys.stdin.readline()


def say(*words: object) -> None:
    """Answer a line."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def hold_lock(path: str) -> None:
    """Keep everybody else out until a line comes."""
    connection = connect(Path(path))
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    hear()
    say("locked")
    hear()
    connection.close()


async def die_at(path: str, step: str) -> None:
    """Append, take the lease, compact and delete, until the step at which the process is killed."""

    def kill(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    place = store_place(path)
    store = (
        SqliteStore(place, clock=FakeClock(), failpoint=kill)
        if isinstance(place, Path)
        else PostgresStore(place, clock=FakeClock(), failpoint=kill)
    )
    await store.append(KEY, [text_message(n, "user", f"more {n}") for n in (5, 6)], after=4)
    lease = await store.acquire(KEY, holder="victim", seconds=60)
    assert lease is not None
    await store.commit(
        KEY,
        records=[compaction("c2", 5, parent="c1")],
        active="c2",
        expected="c1",
        fence=lease.fence,
        state=b"new",
    )
    await store.delete(OTHER)
    await store.aclose()


async def compete(path: str, name: str) -> None:
    """For each line (number of the round, id in force): try to be the one who compacts and appends."""
    async with open_store(store_place(path)) as store:
        while line := await asyncio.to_thread(hear):
            turn, _, expected = line.strip().partition(" ")
            if turn:
                say(await _compete(store, name, turn=int(turn), expected=expected))


async def _compete(store: TableStore[Any], name: str, *, turn: int, expected: str) -> str:
    raw = b'{"role": "user",  "content": "%d by %s \\u00e9"}' % (turn, name.encode())
    message = parse_message(raw, seq=turn, dialect="openai_chat")
    try:
        await store.append(KEY, [message], after=turn - 1)
        appended = "appended"
    except Conflict:
        appended = "conflict"
    lease = await store.acquire(KEY, holder=name, seconds=60)
    if lease is None:
        return f"{appended} refused"
    try:
        record = compaction(f"{turn}-{name}", turn, parent=expected)
        await store.commit(
            KEY, records=[record], active=record.id, expected=expected or None, fence=lease.fence
        )
    except Conflict:
        return f"{appended} conflict"
    else:
        return f"{appended} won"
    finally:
        await store.release(lease)


async def run_out_of_space(path: str, limit: str) -> None:
    """Append until the disk is full, and once more after somebody made room."""
    store = SqliteStore(path)
    await store.load(KEY)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
    seq = 0
    try:
        while True:
            words = os.urandom(20_000).hex()
            await store.append(KEY, [text_message(seq + 1, "user", words)], after=seq)
            seq += 1
    except StoreError as error:
        problem = type(error).__name__
    readable = len(await store.read(KEY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.append(KEY, [text_message(seq + 1, "user", "last words")], after=seq)
    await store.aclose()
    await asyncio.to_thread(hear)
    say(problem, seq, readable)


async def open_unprivileged(folder: str) -> None:
    """Try to use ``chats.db`` in a folder as somebody who may not write there."""
    async with SqliteStore(Path(tempfile.mkdtemp(), "warm.db")) as store:
        await store.append(KEY, [text_message(1, "user", "load everything that is loaded late")], after=0)
        await store.read(KEY)
    shutil.rmtree(store.path.parent)
    if os.geteuid() == 0:
        os.seteuid(65534)
    store = SqliteStore(Path(folder, "chats.db"))
    await asyncio.to_thread(hear)
    try:
        say(len(await store.read(KEY)))
    except StoreError as error:
        say(type(error).__name__, error)
    await store.aclose()


COMMANDS: dict[str, Callable[..., Coroutine[object, object, None]]] = {
    "die_at": die_at,
    "compete": compete,
    "run_out_of_space": run_out_of_space,
    "open_unprivileged": open_unprivileged,
}

if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "hold_lock":
        hold_lock(*arguments)
    else:
        asyncio.run(COMMANDS[command](*arguments))
