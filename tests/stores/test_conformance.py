"""Every store does what the port says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from autocompact.core.messages import Message, text_message
from autocompact.errors import Conflict
from autocompact.ports import Clock, Key
from autocompact.stores.memory import MemoryStore
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.write_behind import WriteBehind
from autocompact.testing.records import KEY, talk
from autocompact.testing.stores import StoreConformance, StoreUnderTest
from tests.stores.cluster import Cluster


class TestMemoryStore(StoreConformance):
    async def make_store(self, clock: Clock) -> MemoryStore:
        return MemoryStore(clock=clock)


class TestSqliteStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    async def make_store(self, clock: Clock) -> SqliteStore:
        return SqliteStore(self.folder / "chats.db", clock=clock)


# Threads of the driver's pool draw their jitter from `random` at any time, also while Hypothesis draws.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
class TestPostgresStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _in_a_database(self, cluster: Cluster) -> None:
        # held to row-level security in every table
        self.database = cluster.for_programs()

    async def make_store(self, clock: Clock) -> PostgresStore:
        return PostgresStore(self.database, clock=clock)


class Patient(WriteBehind):
    """Waits for each append, so that it gets the stamp of its time."""

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        await super().append(key, messages, after=after, resent=resent)
        active = (await self.load(key)).active
        return active.id if active else None


class TestWriteBehind(StoreConformance):
    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.failures: list[type[Exception]] = []

    async def make_store(self, clock: Clock) -> WriteBehind:
        store = SqliteStore(self.folder / "chats.db", clock=clock)
        return Patient(store, failed=lambda _, error: self.failures.append(type(error)))

    async def test_of_concurrent_appends_at_one_place_one_succeeds(self, store: StoreUnderTest) -> None:
        """The others are told of it at once or later."""
        appends = (store.append(KEY, [text_message(1, "user", f"writer {n}")], after=0) for n in range(8))
        told = [type(each) for each in await asyncio.gather(*appends, return_exceptions=True) if each]
        assert len(await store.read(KEY)) == 1
        assert {*told, *self.failures} == {Conflict}

    async def test_appending_elsewhere_than_at_the_end_is_a_conflict(self, store: StoreUnderTest) -> None:
        """And changes nothing; it is told later. What is stored there already is no other message."""
        log = talk("user", "assistant", "user")
        await store.append(KEY, log[1:], after=1)
        assert await store.read(KEY) == ()
        await store.append(KEY, log, after=0)
        assert await store.read(KEY) == tuple(log)
        await store.append(KEY, log[2:], after=2)
        assert await store.read(KEY) == tuple(log)
        assert self.failures == [Conflict]
        await store.append(KEY, [text_message(3, "user", "Something else.")], after=2)
        assert await store.read(KEY) == tuple(log)
        assert self.failures == [Conflict, Conflict]
        with pytest.raises(Conflict):
            await store.append(KEY, [], after=2)
