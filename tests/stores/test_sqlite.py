"""What the SQLite store does off the event loop."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from autocompact.core.messages import text_message
from autocompact.errors import StoreUnavailable
from autocompact.stores.connection import Connection
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.records import KEY

pytestmark = pytest.mark.anyio


class Gate:
    """Holds the writer at a step until it is opened."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.opened = threading.Event()
        self.reached = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def __call__(self, step: str) -> None:
        if step == self.step:
            self._loop.call_soon_threadsafe(self.reached.set)
            assert self.opened.wait(timeout=60)


async def test_reading_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    gate = Gate("append:written")
    async with SqliteStore(tmp_path / "chats.db", failpoint=gate) as store:
        append = asyncio.create_task(store.append(KEY, [text_message(1, "user", "hello")], after=0))
        await gate.reached.wait()
        assert (await store.load(KEY)).last_seq == 0
        gate.opened.set()
        await append
        assert (await store.load(KEY)).last_seq == 1


async def test_an_append_that_was_begun_is_finished_when_nobody_waits_for_it(tmp_path: Path) -> None:
    gate = Gate("append:begun")
    async with SqliteStore(tmp_path / "chats.db", failpoint=gate) as store:
        append = asyncio.create_task(store.append(KEY, [text_message(1, "user", "hello")], after=0))
        await gate.reached.wait()
        append.cancel()
        with pytest.raises(asyncio.CancelledError):
            await append
        gate.opened.set()
        await store.append(KEY, [text_message(2, "user", "again")], after=1)
        assert [message.text for message in await store.read(KEY)] == ["hello", "again"]


async def test_closing_waits_for_what_was_asked(tmp_path: Path) -> None:
    gate = Gate("append:begun")
    store = SqliteStore(tmp_path / "chats.db", failpoint=gate)
    append = asyncio.create_task(store.append(KEY, [text_message(1, "user", "hello")], after=0))
    await gate.reached.wait()
    closing = asyncio.create_task(store.aclose())
    gate.opened.set()
    await asyncio.gather(append, closing)
    async with SqliteStore(tmp_path / "chats.db") as again:
        assert len(await again.read(KEY)) == 1


async def test_what_reads_cannot_write(tmp_path: Path) -> None:
    def write(connection: Connection) -> None:
        connection.execute("DELETE FROM conversations")

    async with SqliteStore(tmp_path / "chats.db") as store:
        await store.append(KEY, [text_message(1, "user", "hello")], after=0)
        with pytest.raises(Exception, match="readonly"):
            await store.reading(write)
        assert len(await store.read(KEY)) == 1


async def test_every_commit_is_flushed_to_the_disk(tmp_path: Path) -> None:
    """FULL, in WAL: what was said is there after a power cut, too."""
    settings: list[object] = []
    store = SqliteStore(tmp_path / "chats.db")

    class Asked:
        def index(self, connection: Connection, *_: object, **__: object) -> None:
            settings.extend(
                connection.execute(f"PRAGMA {name}").get
                for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
            )

        def delete(self, connection: Connection, *, conversation: int) -> None:
            raise NotImplementedError

        def tidy(self, connection: Connection, *, begun: bool) -> bool:
            raise NotImplementedError

    store = SqliteStore(tmp_path / "chats.db", indexer=Asked())
    await store.append(KEY, [text_message(1, "user", "hello")], after=0)
    await store.aclose()
    assert settings == ["wal", 2, 1, 1]


async def test_a_lease_that_could_not_be_given_back_holds_nobody_up(tmp_path: Path) -> None:
    full: set[str] = set()

    def fails(step: str) -> None:
        if step in full:
            raise StoreUnavailable("the disk is full")

    path = tmp_path / "chats.db"
    async with SqliteStore(path, failpoint=fails) as store, SqliteStore(path) as other:
        lease = await store.acquire(KEY, holder="one", seconds=60)
        assert lease is not None
        full.update(("release:written", "acquire:written"))
        with pytest.raises(StoreUnavailable):
            await store.release(lease)
        with pytest.raises(StoreUnavailable):
            await store.acquire(KEY, holder="two", seconds=60)
        assert await other.acquire(KEY, holder="other", seconds=60) is None
        full.clear()
        later = await store.acquire(KEY, holder="two", seconds=60)
        assert later is not None
        assert await store.acquire(KEY, holder="three", seconds=60) is None
        await store.release(later)
        theirs = await other.acquire(KEY, holder="other", seconds=60)
        assert theirs is not None
        assert await store.acquire(KEY, holder="four", seconds=60) is None
    assert lease.fence < later.fence < theirs.fence
