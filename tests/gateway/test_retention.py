"""Old conversations expire, deleted ones leave nothing behind, and what is in use stays."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from autocompact.errors import StoreCorrupt
from autocompact.gateway import AccessToken, Config, Gateway
from autocompact.gateway.conversations import Conversations
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.namespaces import namespace_of_token
from autocompact.gateway.retention import INTERVAL_SECONDS, Retention
from autocompact.gateway.server import running
from autocompact.ports import ConversationStore, Key
from autocompact.stores.connection import Connection
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.tables import Tables
from autocompact.testing import FakeClock, FakeProvider
from autocompact.testing.records import talk
from tests.gateway.serving import NAMESPACE_KEY, config
from tests.gateway.test_compaction import WINDOW, big, everything_in, listed, send

pytestmark = pytest.mark.anyio

DAY = 24 * 60 * 60


class Pauses:
    """Waits until a test says that the time is over; counts how often it was asked to."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[float] = asyncio.Queue()
        self.over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.put_nowait(seconds)
        await self.over.wait()
        self.over.clear()


def retention(
    store: ConversationStore,
    clock: FakeClock,
    *,
    pause: Pauses | None = None,
    days: int | None = None,
    tokens: tuple[AccessToken, ...] = (),
) -> Retention:
    keys: Any = {"openai": "sk"} if tokens else {}
    return Retention(
        Config(
            upstreams={},
            namespace_key=NAMESPACE_KEY,
            upstream_keys=keys,
            access_tokens=tokens,
            expire_after_days=days,
        ),
        conversations=Conversations(store, size=4),
        metrics=Metrics(),
        clock=clock,
        pause=pause or Pauses(),
    )


async def names(store: ConversationStore, namespace: str) -> list[str]:
    return [info.key.conversation for info in await store.conversations(namespace)]


@pytest.mark.parametrize("days", [None, 0])
async def test_without_a_number_of_days_nothing_ever_expires(days: int | None) -> None:
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    await store.append(Key(conversation="old", namespace="a"), talk("user"), after=0)
    clock.advance(10_000 * DAY)
    assert await retention(store, clock, days=days).sweep() == 0


async def test_a_conversation_expires_so_many_days_after_its_last_message() -> None:
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    old, new = Key(conversation="old", namespace="a"), Key(conversation="new", namespace="a")
    await store.append(old, talk("user"), after=0)
    await store.append(new, talk("user"), after=0)
    keeping = retention(store, clock, days=7)
    clock.advance(7 * DAY)
    await store.append(new, talk("user", "assistant")[1:], after=1)
    assert await keeping.sweep() == 0
    clock.advance(1)
    assert await keeping.sweep() == 1
    assert await names(store, "a") == ["new"]


async def test_an_access_token_may_have_days_of_its_own() -> None:
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    tokens = (
        AccessToken.of("short", expire_after_days=1),
        AccessToken.of("usual"),
        AccessToken.of("never", expire_after_days=0),
    )
    keeping = retention(store, clock, days=30, tokens=tokens)
    spaces = [namespace_of_token(token, namespace_key=NAMESPACE_KEY) for token in tokens]
    assert [keeping.days(space) for space in spaces] == [1, 30, 0]
    for space in spaces:
        await store.append(Key(conversation="talk", namespace=space), talk("user"), after=0)
    left: list[list[str]] = []
    for _ in range(2):
        clock.advance(16 * DAY)
        await keeping.sweep()
        left.append([space for space in spaces if await names(store, space)])
    assert left == [spaces[1:], spaces[2:]]


async def test_there_is_a_sweep_at_the_start_and_after_each_pause() -> None:
    clock, pause = FakeClock(), Pauses()
    store = MemoryStore(clock=clock)
    keeping = retention(store, clock, pause=pause, days=1)
    for turn in range(3):
        await store.append(Key(conversation=f"talk {turn}", namespace="a"), talk("user"), after=0)
        clock.advance(2 * DAY)
        if turn:
            pause.over.set()
        else:
            keeping.start()
        assert await asyncio.wait_for(pause.asked.get(), 10) == INTERVAL_SECONDS
        assert await names(store, "a") == []
    await keeping.aclose()


class Unpurgeable(MemoryStore):
    """Cannot clear its files at first, and says so when it was asked."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.purged: asyncio.Queue[bool] = asyncio.Queue()
        self.failures = 1

    async def purge(self) -> None:
        self.failures -= 1
        self.purged.put_nowait(self.failures < 0)
        if self.failures >= 0:
            raise OSError("the disk is busy")


async def test_files_are_cleared_at_the_start_after_a_deletion_and_again_if_that_failed() -> None:
    clock, pause = FakeClock(), Pauses()
    store = Unpurgeable(clock)
    keeping = retention(store, clock, pause=pause, days=1)
    keeping.start()
    assert await asyncio.wait_for(store.purged.get(), 10) is False  # the process before may have left traces
    await asyncio.wait_for(pause.asked.get(), 10)
    pause.over.set()
    assert await asyncio.wait_for(store.purged.get(), 10) is True
    await asyncio.wait_for(pause.asked.get(), 10)
    keeping.deleted(1, reason="asked")
    assert await asyncio.wait_for(store.purged.get(), 10) is True
    await keeping.aclose()
    assert store.purged.empty()


async def test_what_is_deleted_while_the_files_are_cleared_is_cleared_at_once_too() -> None:
    """The clearing that ran did not know of it, and the next one came an hour later."""
    clock, pause = FakeClock(), Pauses()

    class Slow(MemoryStore):
        begun: asyncio.Queue[None] = asyncio.Queue()
        may_end = asyncio.Event()

        async def purge(self) -> None:
            self.begun.put_nowait(None)
            await self.may_end.wait()

    store = Slow(clock=clock)
    keeping = retention(store, clock, pause=pause, days=1)
    keeping.start()
    await asyncio.wait_for(store.begun.get(), 10)
    keeping.deleted(1, reason="asked")
    store.may_end.set()
    await asyncio.wait_for(store.begun.get(), 10)
    store.may_end.clear()
    keeping.deleted(1, reason="asked")
    await asyncio.wait_for(store.begun.get(), 10)
    keeping.deleted(1, reason="asked")
    store.may_end.set()
    await asyncio.wait_for(store.begun.get(), 10)
    await keeping.aclose()


async def test_what_is_in_use_is_not_removed_and_what_was_is_begun_anew(tmp_path: Path) -> None:
    clock = FakeClock()
    store = SqliteStore(tmp_path / "conversations.db", clock=clock)
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        chosen = config(provider, window=WINDOW, expire_after_days=1)
        gateway = Gateway(chosen, store=store, clock=clock)
        async with running(gateway) as url:
            first, _ = await send(url, big(50))
            clock.advance(2 * DAY)
            (kept,) = gateway.turns.conversations.known
            async with kept.lock:
                assert await gateway.retention.sweep() == 0
            lease = await store.acquire(
                kept.conversation.internals.replica.key, holder="another process", seconds=60
            )
            assert lease is not None
            assert await gateway.retention.sweep() == 0
            await store.release(lease)
            assert await gateway.retention.sweep() == 1
            assert list(gateway.turns.conversations.known) == []
            assert await listed(url) == []
            again, _ = await send(url, big(51))
            (line,) = await listed(url)
    assert first["x-autocompact-action"] == again["x-autocompact-action"] == "compacted"
    assert line["messages"] == len(big(51))


async def test_a_gateway_that_starts_removes_what_expired_while_it_was_off(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "conversations.db"
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        chosen = config(provider, window=WINDOW, expire_after_days=1)
        async with running(Gateway(chosen, store=SqliteStore(path, clock=clock), clock=clock)) as url:
            await send(url, big(50))
            (line,) = await listed(url)
        clock.advance(2 * DAY)
        async with running(Gateway(chosen, store=SqliteStore(path, clock=clock), clock=clock)) as url:

            async def gone() -> None:
                while await listed(url):
                    pass

            await asyncio.wait_for(gone(), 30)
    assert line["messages"] == len(big(50))


def secrets_in(number: int) -> list[Any]:
    """A conversation of words that occur nowhere else."""
    return [
        {"role": ("user", "assistant")[turn % 2], "content": f"{secret(number, turn)} is it"}
        for turn in range(201)
    ]


def secret(number: int, turn: int) -> str:
    return sha256(f"{number} {turn}".encode()).hexdigest()


def found_in(folder: Path, number: int) -> int:
    data = everything_in(folder)
    return sum(secret(number, turn)[-32:].encode() in data for turn in range(201))


@pytest.mark.parametrize("which", ["/{id}", ""], ids=["one", "all"])
async def test_a_deleted_conversation_is_in_no_table_no_file_and_no_cache(tmp_path: Path, which: str) -> None:
    store = SqliteStore(tmp_path / "conversations.db")
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        gateway = Gateway(config(provider, window=WINDOW), store=store)
        async with running(gateway) as url, aiohttp.ClientSession() as session:
            headers, _ = await send(url, secrets_in(1))
            await send(url, secrets_in(2), key="other")
            assert [len(await listed(url, key)) for key in ("k", "other")] == [1, 1]  # stored by now
            assert (found_in(tmp_path, 1), found_in(tmp_path, 2)) == (201, 201)
            path = which.format(id=headers["x-autocompact-conversation"])
            mine = {"Authorization": "Bearer k"}
            async with session.delete(f"{url}/autocompact/conversations{path}", headers=mine) as told:
                answer = (told.status, await told.text())
            known = [
                kept.conversation.internals.replica.key.namespace
                for kept in gateway.turns.conversations.known
            ]
            assert (len(known), len(await listed(url, "other")), await listed(url)) == (1, 1, [])
            metrics = gateway.metrics.text().decode()
    assert answer == ((204, "") if which else (200, '{"deleted":1}'))
    assert (found_in(tmp_path, 1), found_in(tmp_path, 2)) == (0, 201)
    assert 'autocompact_conversations_deleted_total{reason="asked"} 1.0' in metrics


async def test_traces_that_a_killed_process_left_are_cleared_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    async with FakeProvider("Fine.", window=WINDOW) as provider:
        async with running(Gateway(config(provider, window=WINDOW), store=SqliteStore(path))) as url:
            await send(url, secrets_in(1))
            await send(url, secrets_in(2), key="other")
            await listed(url)
        async with SqliteStore(path) as killed:  # it deleted, and came no further
            (first,) = await killed.conversations((await killed.namespaces())[0])
            number = 1 if secret(1, 0) in first.title else 2
            await killed.delete(first.key)
            assert await killed.reading(left) == 1
        store = SqliteStore(path)
        async with running(Gateway(config(provider, window=WINDOW), store=store)), asyncio.timeout(30):
            while await store.reading(left):
                pass
    assert (found_in(tmp_path, number), found_in(tmp_path, 3 - number)) == (0, 201)


def left(connection: Connection) -> int | None:
    return Tables(connection).unpurged()


async def test_a_time_that_reaches_back_before_the_calendar_keeps_its_own_and_nobody_elses() -> None:
    """The sum of a namespace's days failed, and with it the sweep of all that came after it."""
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    tokens = (
        AccessToken.of("forever", expire_after_days=1_000_000),
        AccessToken.of("a day", expire_after_days=1),
    )
    keeping = retention(store, clock, tokens=tokens)
    spaces = [namespace_of_token(token, namespace_key=NAMESPACE_KEY) for token in tokens]
    for space in spaces:
        await store.append(Key(conversation="talk", namespace=space), talk("user"), after=0)
    clock.advance(2 * DAY)
    assert await keeping.sweep() == 1
    assert [await names(store, space) for space in spaces] == [["talk"], []]


async def test_a_damaged_conversation_keeps_no_other_from_expiring_and_these_from_being_cleared() -> None:
    """Each sweep ended at it, and what it had deleted before was not cleared from the files."""
    clock = FakeClock()

    class Damaged(MemoryStore):
        purges = 0

        async def expire(self, key: Key, *, before: str) -> bool:
            if key.conversation == "damaged":
                raise StoreCorrupt("the search index of 'damaged' cannot be read")
            return await super().expire(key, before=before)

        async def purge(self) -> None:
            self.purges += 1

    store = Damaged(clock=clock)
    keeping = retention(store, clock, days=1)
    await keeping.purge()
    for name in ("first", "damaged", "last"):
        await store.append(Key(conversation=name, namespace="a"), talk("user"), after=0)
        clock.advance(1)
    clock.advance(2 * DAY)
    with pytest.raises(StoreCorrupt):
        await keeping.sweep()
    assert await names(store, "a") == ["damaged"]
    await keeping.purge()
    assert store.purges == 2
