"""What only a store on a server can meet: the server dies, is not there, refuses, or stands behind a pooler."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from autocompact.core.budget import Budget
from autocompact.core.messages import Message, text_message
from autocompact.core.search import SHORTLIST
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.errors import InvalidInput, StoreError, StoreTooNew, StoreUnavailable, StoreUnreachable
from autocompact.ports import Key
from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.postgres_index import LargeTenant, LargeTenants, PostgresIndex
from autocompact.stores.postgres_server import PostgresConnection
from autocompact.stores.rows import place
from autocompact.stores.server_doctor import examine_server
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.records import KEY, compaction
from tests.cli.test_serve import ended
from tests.engine.support import step
from tests.lengths import some
from tests.stores.cluster import Cluster, Pooler
from tests.stores.wire import Wire

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]


def _log(count: int, *, after: int = 0) -> list[Message]:
    return [text_message(seq, "user", f"words {seq}") for seq in range(after + 1, after + count + 1)]


async def _loaded(store: PostgresStore) -> list[Message]:
    """The log of `KEY`, from a store that waits for less than a busy machine may take."""
    while True:
        with suppress(StoreUnavailable):
            return list((await store.load(KEY)).messages)


async def test_what_was_acknowledged_is_there_after_the_server_was_killed(
    cluster: Cluster, database: str
) -> None:
    async with PostgresStore(database, busy_seconds=0.5) as store:
        await store.append(KEY, _log(4), after=0)
        cluster.kill()
        try:
            with pytest.raises(StoreUnavailable, match="postgresql://tester@/"):
                await store.append(KEY, _log(2, after=4), after=4)
            with pytest.raises(StoreUnavailable):
                await store.read(KEY)
        finally:
            cluster.start()
        assert await store.read(KEY) == tuple(_log(4))
        await store.append(KEY, _log(2, after=4), after=4)
        assert await store.read(KEY) == tuple(_log(6))


@pytest.mark.parametrize("step, there", [("append:written", 0), ("append:committed", 3)])
async def test_a_server_killed_during_an_append_has_all_of_it_or_nothing(
    cluster: Cluster, database: str, step: str, there: int
) -> None:
    reached: list[str] = []

    def kill(name: str) -> None:
        if name == step and not reached:
            reached.append(name)
            cluster.kill()

    async with PostgresStore(database, failpoint=kill) as store:
        try:
            if there:
                await store.append(KEY, _log(3), after=0)
            else:
                with pytest.raises(StoreUnavailable):
                    await store.append(KEY, _log(3), after=0)
        finally:
            cluster.start()
        assert reached == [step]
        assert len(await store.read(KEY)) == there
        await store.append(KEY, _log(1, after=there), after=there)
        index = PostgresIndex(store)
        assert len(await index.search("default", "words", k=9)) == there + 1


async def test_more_at_once_than_connections_wait_for_their_turn(database: str) -> None:
    keys = [Key(conversation=f"talk {number}") for number in range(60)]
    async with PostgresStore(database, connections=3) as store:
        await asyncio.gather(*(store.append(key, _log(2), after=0) for key in keys))
        found = await asyncio.gather(*(store.read(key) for key in keys))
    assert found == [tuple(_log(2))] * len(keys)


async def test_a_pooler_by_the_transaction_may_stand_between(cluster: Cluster, database: str) -> None:
    pooler = Pooler(cluster, connections=2)
    try:
        stores = [PostgresStore(pooler.url(database), connections=4) for _ in range(3)]
        for turn in range(20):
            (done,) = [
                each
                for each in await asyncio.gather(
                    *(store.append(KEY, _log(1, after=turn), after=turn) for store in stores),
                    return_exceptions=True,
                )
                if each is None
            ]
            assert done is None
        lease = await stores[0].acquire(KEY, holder="one", seconds=60)
        assert lease is not None
        assert await stores[1].acquire(KEY, holder="two", seconds=60) is None
        record = compaction("c1", 20)
        await stores[0].commit(KEY, records=[record], active="c1", expected=None, fence=lease.fence)
        assert (await stores[2].load(KEY)).active == record
        for store in stores:
            await store.aclose()
    finally:
        pooler.stop()


async def _refused(url: str) -> str:
    store = PostgresStore(url)
    with pytest.raises(StoreError) as raised:
        await store.load(KEY)
    await store.aclose()
    said = "\n".join(str(error) for error in _chain(raised.value))
    assert "geheim" not in said
    return str(raised.value)


def _chain(error: BaseException | None) -> Sequence[BaseException]:
    found: list[BaseException] = []
    while error is not None:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


async def test_a_server_that_cannot_be_used_is_named_without_the_password(cluster: Cluster) -> None:
    missing = await _refused(cluster.url("missing", password="geheim"))
    assert "postgresql://tester@/missing does not answer" in missing
    assert 'database "missing" does not exist' in missing
    nowhere = await _refused("postgresql://me:geheim@127.0.0.1:1/chats")
    assert "postgresql://me@127.0.0.1:1/chats does not answer" in nowhere
    assert "Connection refused" in nowhere


@pytest.mark.parametrize(
    "url", ["chats.db", "postgresql:chats", "mysql://me@host/chats", "postgresql://me@host:x/"]
)
def test_a_url_of_something_else_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="postgresql://USER@HOST:PORT/DATABASE"):
        PostgresStore(url)


async def test_a_database_without_an_encoding_takes_every_letter(cluster: Cluster) -> None:
    """One that was made with the locale C: `autocompact migrate` ended with a traceback, at a dash in the tables of the jobs."""
    cluster.sql("CREATE DATABASE plain OWNER tester ENCODING 'SQL_ASCII' TEMPLATE template0")
    url, key = cluster.url("plain"), Key(conversation="Größe", namespace="Käse")
    code, _, said = await ended("migrate", f"--db={url}")
    assert code == 0, said
    log = [text_message(1, "user", "Die Rechnung über 12 € – bitte prüfen.")]
    async with PostgresStore(url) as store:
        await store.append(key, log, after=0)
        assert await store.read(key) == tuple(log)
        (hit,) = await PostgresIndex(store).search("Käse", "prüfen", k=5)
        assert (hit.key, hit.seq) == (key, 1)


async def test_tables_of_a_newer_version_are_left_alone(cluster: Cluster, database: str) -> None:
    async with PostgresStore(database) as store:
        await store.append(KEY, _log(1), after=0)
    cluster.sql("UPDATE autocompact.version SET version = 99", database=database)
    newer = PostgresStore(database)
    with pytest.raises(StoreTooNew, match="version 99"):
        await newer.append(KEY, _log(1, after=1), after=1)
    await newer.aclose()
    assert cluster.sql("SELECT count(*) FROM autocompact.messages", database=database) == "1"


async def test_a_compaction_of_a_newer_program_is_no_damage(cluster: Cluster, database: str) -> None:
    async with PostgresStore(database) as store:
        await store.append(KEY, _log(9), after=0)
        lease = await store.acquire(KEY, holder="one", seconds=60)
        assert lease is not None
        await store.commit(KEY, records=[compaction("c1", 5)], active="c1", expected=None, fence=lease.fence)
        newer = (b"\x00" + msgspec.json.encode({"version": 99, "record": {}})).hex()
        cluster.sql(
            f"UPDATE autocompact.compactions SET record = '\\x{newer}', checksum = NULL", database=database
        )
        with pytest.raises(StoreTooNew, match="version 99"):
            await store.load(KEY)
    found = [each for each in (await examine_server(ServerUrl(database))).findings if each.level == "problem"]
    assert [(each.check, "update autocompact" in each.next) for each in found] == [("compactions", True)]


async def test_who_may_not_make_tables_is_told_who_has_to(cluster: Cluster, database: str) -> None:
    cluster.sql("CREATE ROLE guest LOGIN", database=database)
    said = await _refused(database.replace("tester@", "guest@"))
    assert "autocompact migrate --db URL --grant ROLE" in said


async def test_who_waits_too_long_for_another_is_told_so(cluster: Cluster, database: str) -> None:
    async with PostgresStore(database) as one, PostgresStore(database, busy_seconds=0.2) as other:
        await one.append(KEY, _log(1), after=0)
        reading = asyncio.Event()
        loop = asyncio.get_running_loop()
        let_go = asyncio.Event()

        def hold(step: str) -> None:
            if step == "append:written":
                loop.call_soon_threadsafe(reading.set)
                asyncio.run_coroutine_threadsafe(let_go.wait(), loop).result()

        async with PostgresStore(database, failpoint=hold) as holder:
            holding = asyncio.create_task(holder.append(KEY, _log(1, after=1), after=1))
            await reading.wait()
            with pytest.raises(StoreUnavailable, match="changed by another program"):
                await other.append(KEY, _log(1, after=1), after=1)
            assert await other.read(KEY) == tuple(_log(1))
            let_go.set()
            await holding
        assert await other.read(KEY) == tuple(_log(2))


async def test_a_server_that_hangs_is_given_up_whatever_it_was_asked(cluster: Cluster, database: str) -> None:
    """Also by who only looks whether a connection is still there: each of them kept a thread for as long as the server hung."""
    async with (
        Wire(cluster).laid() as wire,
        PostgresStore(database) as other,
        PostgresStore(wire.url(database), connections=2, busy_seconds=0.2, answer_seconds=0.2) as store,
    ):
        await other.append(KEY, _log(2), after=0)
        assert await _loaded(store) == _log(2)
        wire.freeze()
        # more than there are threads
        asked = [asyncio.wait_for(store.load(KEY), 20) for _ in range(3)]
        for told in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(told, StoreUnavailable), told
        wire.mend()
        assert await _loaded(store) == _log(2)


async def test_a_server_that_falls_silent_amid_a_statement_is_given_up_by_all_who_wait_for_it(
    cluster: Cluster, database: str
) -> None:
    """They waited for half a minute, in which a statement may take its time."""
    asked = threading.Barrier(3)

    def wait(connection: PostgresConnection) -> None:
        asked.wait()
        connection.execute("SELECT pg_sleep(3600)")

    async with (
        Wire(cluster).laid() as wire,
        PostgresStore(wire.url(database), answer_seconds=600, doubt_seconds=0.2) as store,
    ):
        await store.append(KEY, _log(2), after=0)
        waiting = [asyncio.create_task(store.reading(wait)) for _ in range(2)]
        await asyncio.to_thread(asked.wait)
        wire.freeze()
        for told in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(told, StoreUnavailable), told
        assert store.is_away
        wire.mend()


async def test_a_statement_that_takes_its_time_is_waited_for_while_the_server_answers_others(
    database: str,
) -> None:
    def read(connection: PostgresConnection) -> int:
        connection.execute("SELECT pg_sleep(1)")
        return 5

    async with PostgresStore(database, doubt_seconds=0.05) as store:
        assert await store.reading(read) == 5
        assert not store.is_away


async def test_a_server_that_has_no_connection_left_is_there_all_the_same(
    cluster: Cluster, database: str
) -> None:
    """It refuses who asks beside a long statement, which is an answer."""

    def read(connection: PostgresConnection) -> int:
        connection.execute("SELECT pg_sleep(1)")
        return 5

    async with PostgresStore(database, connections=1, doubt_seconds=0.05) as store:
        await store.append(KEY, _log(1), after=0)
        cluster.sql("ALTER ROLE tester CONNECTION LIMIT 1")
        try:
            assert await store.reading(read) == 5
        finally:
            cluster.sql("ALTER ROLE tester CONNECTION LIMIT -1")


async def test_a_statement_that_takes_its_time_behind_a_pooler_is_waited_for_while_it_has_no_other_connection(
    cluster: Cluster, database: str
) -> None:
    """A question beside it stood in the pooler's queue for three seconds: the server was given up, and all who waited were cut."""

    def read(connection: PostgresConnection) -> int:
        connection.execute("SELECT pg_sleep(4)")
        return 5

    pooler = Pooler(cluster, connections=1)
    try:
        url = pooler.url(database)
        async with (
            PostgresStore(url, busy_seconds=30, doubt_seconds=0.05) as store,
            PostgresStore(url, busy_seconds=30, doubt_seconds=0.05) as other,
        ):
            await store.append(KEY, _log(2), after=0)
            assert await _loaded(other) == _log(2)
            slow = asyncio.create_task(store.reading(read))
            # these stand in the pooler's queue
            queued = [asyncio.create_task(each.load(KEY)) for each in (store, other)]
            assert await slow == 5
            assert [list((await each).messages) for each in queued] == [_log(2)] * 2
            assert (store.is_away, other.is_away) == (False, False)
    finally:
        pooler.stop()


async def test_a_server_that_hangs_behind_a_pooler_is_given_up_at_the_calls_own_limit(
    cluster: Cluster, database: str
) -> None:
    """The pooler lets everybody in, and keeps them waiting: nobody can tell that from a pooler whose connections are all at work."""
    pooler = Pooler(cluster, connections=1)
    try:
        async with PostgresStore(
            pooler.url(database), busy_seconds=0.2, answer_seconds=1, doubt_seconds=0.05
        ) as store:
            await store.append(KEY, _log(2), after=0)
            assert await _loaded(store) == _log(2)
            cluster.freeze()
            try:
                with pytest.raises(StoreUnavailable):
                    await store.load(KEY)
                assert store.is_away
            finally:
                cluster.mend()
            assert await _loaded(store) == _log(2)
    finally:
        pooler.stop()


async def test_who_reads_waits_no_longer_for_a_whole_table_than_for_another_who_changes_it(
    cluster: Cluster, database: str
) -> None:
    """An administrator's VACUUM FULL held up every request for half a minute."""
    async with (
        PostgresStore(database) as holder,
        PostgresStore(database, busy_seconds=0.2, answer_seconds=600) as store,
    ):
        await holder.append(KEY, _log(1), after=0)
        await store.load(KEY)
        has_it, release = threading.Event(), threading.Event()

        def hold(connection: PostgresConnection) -> None:
            with connection.transaction():
                connection.execute("LOCK TABLE autocompact.messages")
                has_it.set()
                release.wait()

        holding = asyncio.create_task(holder.changing(hold, name="lock", key=KEY))
        await asyncio.to_thread(has_it.wait)
        try:
            with pytest.raises(StoreUnavailable, match="another program"):
                await store.load(KEY)
            assert not store.is_away
        finally:
            release.set()
            await holding


async def test_nobody_waits_for_a_dead_server_twice_and_the_first_request_after_its_restart_is_served(
    cluster: Cluster, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with PostgresStore(database, busy_seconds=0.5) as store:
        await store.append(KEY, _log(1), after=0)
        for turn in range(1, 4):  # also the next time that it dies
            cluster.kill()
            try:
                with pytest.raises(StoreUnavailable) as first:
                    await store.append(KEY, _log(1, after=turn), after=turn)
                assert (type(first.value), store.is_away) == (StoreUnavailable, True)
                for told in await asyncio.gather(
                    *(store.load(KEY) for _ in range(50)), return_exceptions=True
                ):
                    assert isinstance(told, StoreUnreachable), told
            finally:
                cluster.start()
            assert len(await store.read(KEY)) == turn
            assert not store.is_away
            await store.append(KEY, _log(1, after=turn), after=turn)
    said = [record.getMessage() for record in caplog.records if record.name == "autocompact.stores"]
    assert [text.split(":")[0] for text in said] == [
        "the server of the store does not answer",
        "the server of the store answers again",
    ] * 3


async def test_a_restart_that_nobody_noticed_costs_the_next_request_nothing_but_new_connections(
    cluster: Cluster, database: str
) -> None:
    """Each connection of before cost a pause, of one, two and four seconds, so that a request gave up before it had tried all."""
    everybody = threading.Barrier(8)

    def together(connection: PostgresConnection) -> None:
        everybody.wait()

    async with PostgresStore(database, connections=8) as store:
        await store.append(KEY, _log(2), after=0)
        await asyncio.gather(*(store.reading(together) for _ in range(8)))
        cluster.kill()
        cluster.start()
        assert await store.read(KEY) == tuple(_log(2))
        assert not store.is_away
        await asyncio.gather(*(store.reading(together) for _ in range(8)))


async def test_a_server_that_hung_once_is_not_waited_for_until_it_goes_on(
    cluster: Cluster, database: str
) -> None:
    async with (
        Wire(cluster).laid() as wire,
        PostgresStore(database) as other,
        PostgresStore(wire.url(database), busy_seconds=0.2, answer_seconds=0.2) as store,
    ):
        await other.append(KEY, _log(2), after=0)
        assert await _loaded(store) == _log(2)
        wire.freeze()
        with pytest.raises(StoreUnavailable):
            await store.load(KEY)
        for _ in range(5):
            with pytest.raises(StoreUnreachable):
                await store.load(KEY)
        wire.mend()
        assert await _loaded(store) == _log(2)
        assert not store.is_away


async def test_a_server_that_died_behind_a_pooler_is_waited_for_no_longer_than_for_a_connection(
    cluster: Cluster, database: str
) -> None:
    """The pooler kept who only looked whether the connection was still there for half a minute."""
    pooler = Pooler(cluster, connections=2)
    try:
        async with PostgresStore(pooler.url(database), busy_seconds=0.5, answer_seconds=600) as store:
            await store.append(KEY, _log(1), after=0)
            cluster.kill()
            try:
                with pytest.raises(StoreUnavailable):
                    await store.load(KEY)
                assert store.is_away
                with pytest.raises(StoreUnreachable):
                    await store.load(KEY)
            finally:
                cluster.start()
    finally:
        pooler.stop()


async def test_who_has_all_connections_at_work_is_not_taken_for_a_dead_server(
    cluster: Cluster, database: str
) -> None:
    """Those who wait for a connection give up, and the server is asked all the same."""
    begun, release = threading.Event(), threading.Event()

    def hold(connection: PostgresConnection) -> None:
        begun.set()
        release.wait()

    async with PostgresStore(database, busy_seconds=0.2) as store:
        await store.append(KEY, _log(1), after=0)
        cluster.sql("ALTER ROLE tester CONNECTION LIMIT 1")
        try:
            holding = asyncio.create_task(store.reading(hold))
            await asyncio.to_thread(begun.wait)
            cluster.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tester' AND state = 'idle'"
            )
            with pytest.raises(StoreUnavailable, match="gave no connection"):
                await store.load(KEY)
            assert not store.is_away
        finally:
            release.set()
            cluster.sql("ALTER ROLE tester CONNECTION LIMIT -1")
        await holding
        assert (await store.load(KEY)).last_seq == 1


async def test_damage_is_found_when_it_is_read(cluster: Cluster, database: str) -> None:
    async with PostgresStore(database) as store:
        await store.append(KEY, _log(3), after=0)
        cluster.sql("DELETE FROM autocompact.messages WHERE id % 16 = 2", database=database)
        with pytest.raises(StoreError, match="message 2 is missing"):
            await store.read(KEY)
        cluster.sql("UPDATE autocompact.messages SET body = body || '\\x00'", database=database)
        with pytest.raises(StoreError, match="message 1 is damaged"):
            await store.read(KEY)


async def test_programs_that_open_a_store_at_once_index_what_is_missing_once(
    cluster: Cluster, database: str
) -> None:
    async with PostgresStore(database, indexer=None) as without:
        for number in range(4):
            await without.append(Key(conversation=f"talk {number}"), _log(40), after=0)
    stores = [PostgresStore(database) for _ in range(6)]
    await asyncio.gather(*(store.catch_up() for store in stores))
    for store in stores:
        await store.aclose()
    counted = "SELECT count(*), sum(passages) FROM autocompact.conversations"
    assert cluster.sql(counted, database=database) == "4|160"
    assert cluster.sql("SELECT count(*) FROM autocompact.passages", database=database) == "160"


STEPS = (
    "acquire:begun",
    "acquire:committed",
    "commit:begun",
    "commit:written",
    "commit:committed",
    "release:written",
)


@pytest.mark.parametrize("at", some(STEPS, gate=3))
async def test_a_server_killed_at_a_step_of_a_compaction_leaves_one_or_none(
    cluster: Cluster, database: str, at: str
) -> None:
    killed: list[str] = []

    def kill(name: str) -> None:
        if name == at and not killed:
            killed.append(name)
            cluster.kill()

    budget = Budget(window=6_000, reserve=600)
    async with PostgresStore(database, failpoint=kill, busy_seconds=0.2) as store:
        compactor = Compactor(store, window=budget.window, reserve=budget.reserve, counter=Estimator())
        conversation = await compactor.open("task")
        number, was_down = 0, False
        while conversation.records.active is None:
            try:
                await step(conversation, number)
                await conversation.ready()
            except StoreUnavailable:
                assert killed
                was_down = True
                cluster.start()
                cluster.sql("UPDATE autocompact.leases SET expires = 0", database=database)
                conversation = await compactor.open("task")
            number += 1
        await conversation.internals.background.wait_idle()
        if not was_down:
            cluster.start()
        log, records = (
            await store.read(Key(conversation="task")),
            await store.compactions(Key(conversation="task")),
        )
        assert killed == [at]
        assert [message.seq for message in log] == list(range(1, len(log) + 1))
        assert [record.status for record in records if record.status != "prepared"] == ["active"]
        again = await compactor.open("task")
        assert again.records.active == records[-1]


async def test_a_word_that_is_common_in_a_tenant_is_found_without_reading_the_others_passages(
    cluster: Cluster, database: str
) -> None:
    """The planner does not know what it costs to unpack a passage's words, and read those of every tenant, 120 ms of a million."""
    said = "invoice " * 200
    async with PostgresStore(database) as store:
        for number in range(12):
            key = Key(conversation=f"talk {number}", namespace=f"team {number % 2}")
            await store.append(key, [text_message(seq, "user", said) for seq in range(1, 101)], after=0)
        cluster.sql("VACUUM ANALYZE autocompact.passages", database=database)

        def read(connection: PostgresConnection) -> tuple[int, int]:
            newest = connection.execute("SELECT (max(id) - 3) << 24 FROM autocompact.conversations").get
            asked = "SELECT count(*) FROM autocompact.newest_with(ARRAY['invoic'], %s, %s, 500)"
            found = connection.execute(asked, (newest, (1 << 63) - 1)).get
            # those that an index leads to count as the index's, those of a bitmap as the table's
            fetched = """SELECT sum(pg_stat_get_xact_tuples_fetched(oid)) FROM pg_class
                WHERE oid IN ('autocompact.passages'::regclass, 'autocompact.passages_pkey'::regclass)"""
            return found, int(connection.execute(fetched).get)

        assert await store.reading(read, tenant="team 1") == (200, 200)


async def test_the_newest_passages_of_a_tenant_are_found_without_those_of_others_between_them(
    cluster: Cluster, database: str
) -> None:
    """All tenants' were gone through between two ids, and all of the tenant's conversations for the last few of them."""
    said, tables = "invoice " * 200, ("passages", "conversations")
    async with PostgresStore(database) as store:
        for number in range(12):
            key = Key(conversation=f"talk {number}", namespace=f"team {number % 2}")
            await store.append(key, [text_message(seq, "user", said) for seq in range(1, 101)], after=0)
        cluster.sql(
            """INSERT INTO autocompact.conversations (id, namespace, name, created, updated, passages) OVERRIDING SYSTEM VALUE
            SELECT -n, 'team 1', 'old ' || n, '', '', 1 FROM generate_series(1, 2000) AS n""",
            database=database,
        )
        cluster.sql("VACUUM ANALYZE autocompact.passages, autocompact.conversations", database=database)

        def read(connection: PostgresConnection) -> tuple[int, int, int]:
            asked = "SELECT count(*) FROM autocompact.newest_in_tenant(ARRAY['invoic'], 150, 100, 500, false)"
            # the server may not have told yet what the connection's transactions of before have read
            before = [fetched(connection, table) for table in tables]
            found = connection.execute(asked).get
            passages, talks = (
                fetched(connection, table) - there for table, there in zip(tables, before, strict=True)
            )
            return found, passages, talks

        def fetched(connection: PostgresConnection, table: str) -> int:
            # those that an index leads to count as the index's, those of a bitmap as the table's
            asked = """SELECT pg_stat_get_xact_tuples_fetched(%(table)s::regclass) + coalesce(sum(
                pg_stat_get_xact_tuples_fetched(indexrelid)), 0) FROM pg_index WHERE indrelid = %(table)s::regclass"""
            return int(connection.execute(asked, {"table": f"autocompact.{table}"}).get)

        found, passages, conversations = await store.reading(read, tenant="team 1")
        assert (found, passages) == (200, 200)
        assert conversations < 100


async def test_where_few_of_the_newest_passages_hold_all_words_the_older_ones_are_looked_at(
    database: str,
) -> None:
    def read(connection: PostgresConnection) -> list[int]:
        asked = "SELECT * FROM autocompact.newest_in_tenant(ARRAY['red', 'blue'], 10, 3, 500, true)"
        return [id & 0xFFFFFF for (id,) in connection.execute(asked)]

    async with PostgresStore(database) as store:
        said = ["red blue"] * 5 + ["red"] * 50
        log = [text_message(seq, "user", text) for seq, text in enumerate(said, 1)]
        await store.append(KEY, log, after=0)
        assert await store.reading(read, tenant=KEY.namespace) == [5, 4, 3, 2, 1]
        assert await store.reading(read, tenant="nobody's") == []


@pytest.mark.parametrize("every", [1, 2, 9])
async def test_reading_the_newest_passages_finds_those_that_the_index_does(database: str, every: int) -> None:
    """Whether many of them hold the words, so that it comes to its end, or few."""

    def read(connection: PostgresConnection) -> tuple[list[int], list[int]]:
        asked = "SELECT * FROM autocompact.newest_in_tenant(ARRAY['red', 'blue'], 1000, 100, 100, %s)"
        by_reading, by_index = (
            [id for (id,) in connection.execute(asked, (reads,))] for reads in (True, False)
        )
        return by_reading, by_index

    async with PostgresStore(database) as store:
        for number in range(3):
            key = Key(conversation=f"talk {number}", namespace="team")
            log = [text_message(n, "user", f"red{' blue' * (n % every == 0)}") for n in range(1, 401)]
            await store.append(key, log, after=0)
        by_reading, by_index = await store.reading(read, tenant="team")
        assert by_reading == by_index
        assert len(by_index) == 100


async def test_what_the_planner_knows_to_be_common_in_a_tenant_is_told_to_nobody_else(
    cluster: Cluster, database: str
) -> None:
    def known(connection: PostgresConnection) -> list[str]:
        return [term for (term,) in connection.execute("SELECT * FROM autocompact.common_terms(301)")]

    async with PostgresStore(database) as store:
        for word in ("red", "blue"):
            log = [text_message(seq, "user", f"{word} {seq}") for seq in range(1, 1301)]
            await store.append(Key(conversation="talk", namespace=f"{word} team"), log, after=0)
        cluster.sql("VACUUM ANALYZE autocompact.passages", database=database)
        assert await store.reading(known, tenant="red team") == ["red"]
        assert await store.reading(known, tenant="nobody's") == []
        index, anew = PostgresIndex(store, large=1), PostgresIndex(store)
        for query in ("red", "red 77", "blue"):
            found = await index.search("red team", query, k=5)
            assert found == await anew.search("red team", query, k=5)
            assert bool(found) == (query != "blue")


async def test_the_index_counts_a_common_word_without_its_passages(cluster: Cluster, database: str) -> None:
    """To look up 300 of them took three quarters of the time."""
    async with PostgresStore(database) as store:
        said = [f"invoice {'tax' * (seq % 400 == 0)}" for seq in range(1, 1301)]
        log = [text_message(seq, "user", text) for seq, text in enumerate(said, 1)]
        await store.append(Key(conversation="talk", namespace="team"), log, after=0)
        cluster.sql("VACUUM ANALYZE autocompact.passages", database=database)

        def read(connection: PostgresConnection) -> tuple[list[tuple[int, int | None]], int]:
            asked = "SELECT held, cardinality(ids) FROM autocompact.find_terms(ARRAY['invoic', 'tax', 'lake'], 301, 300)"
            found = list(connection.execute(asked))
            fetched = "SELECT pg_stat_get_xact_tuples_fetched('autocompact.passages'::regclass)"
            return found, connection.execute(fetched).get

        found, fetched = await store.reading(read, tenant="team")
        assert found == [(301, None), (3, 3), (0, 0)]
        # one of each that there is to see that the index leads to it, and the rare ones
        assert fetched <= 5
        assert await store.reading(read, tenant="nobody's") == ([], 0)


async def test_what_was_deleted_and_is_in_the_index_still_hides_no_rare_word(database: str) -> None:
    """What the index counts are all of them, until they are vacuumed away."""
    async with PostgresStore(database) as store:
        kept = Key(conversation="kept")
        await store.append(kept, [text_message(1, "user", "the blue lake")], after=0)
        for count, words in ((190, "lake"), (210, "blue")):
            log = [text_message(seq, "user", f"the {words}") for seq in range(1, count + 1)]
            await store.append(KEY, log, after=0)
            await store.delete(KEY)
        for index in (PostgresIndex(store), PostgresIndex(store, large=1)):
            for query in ("lake", "blue", "blue lake"):
                assert [hit.key for hit in await index.search(KEY.namespace, query, k=5)] == [kept]
        await store.delete(kept)
        log = [text_message(seq, "user", "the green") for seq in range(1, 311)]
        await store.append(KEY, log, after=0)
        for index in (PostgresIndex(store), PostgresIndex(store, large=1)):
            assert await index.search(KEY.namespace, "blue lake", k=5) == ()
            (hit,) = await index.search(KEY.namespace, "blue lake green", k=1)
            assert hit.seq > 300


@pytest.mark.parametrize("asked", [3, 12])
async def test_places_found_at_the_server_rank_as_those_of_a_file(
    database: str, tmp_path: Path, asked: int
) -> None:
    """Of a short question's words the server says where they stand, of a long one's it hands out what is said."""
    chance = random.Random(3)
    words = "lake river stone cloud forest meadow harbour valley island desert canyon glacier".split()
    said = [" ".join(chance.sample(words, k=8) * chance.randint(1, 3)) for _ in range(35)] + ["water"] * 250
    chance.shuffle(said)
    log = [text_message(seq, "user", text) for seq, text in enumerate(said, 1)]
    query = " ".join(words[:asked])
    found: list[list[tuple[int, float]]] = []
    for store in (SqliteStore(tmp_path / "chats.db"), PostgresStore(database)):
        async with store:
            await store.append(KEY, log, after=0)
            for conversation in (None, KEY.conversation):
                hits = await store.index.search(KEY.namespace, query, k=50, conversation=conversation)
                found.append([(hit.seq, hit.score) for hit in hits])
            if isinstance(store, PostgresStore):
                hits = await PostgresIndex(store, large=1).search(KEY.namespace, query, k=50)
                found.append([(hit.seq, hit.score) for hit in hits])
    assert found[0] == found[2] == found[4]
    assert found[1] == found[3]


async def test_the_server_chooses_the_likeliest_of_many_passages_as_a_file_does(
    database: str, tmp_path: Path
) -> None:
    """It hands out no more of them than are ranked."""
    chance = random.Random(4)
    said = [
        " ".join(["lake"] * chance.randint(1, 6) + ["river"] * chance.randint(0, 3) + ["deep"] * (at % 7))
        for at in range(145)
    ]
    said += ["deep water"] * 105
    chance.shuffle(said)
    log = [text_message(seq, "user", text) for seq, text in enumerate(said, 1)]
    found: list[list[tuple[int, float]]] = []
    for store in (SqliteStore(tmp_path / "chats.db"), PostgresStore(database)):
        async with store:
            await store.append(KEY, log, after=0)
            for query in ("lake", "the lake and the river", "a deep lake"):
                hits = await store.index.search(KEY.namespace, query, k=100)
                found.append([(hit.seq, hit.score) for hit in hits])
            if isinstance(store, PostgresStore):
                wanted = await store.reading(_lakes, tenant=KEY.namespace)
                assert len(wanted) == SHORTLIST < sum("lake" in text for text in said)
                assert sorted(place(id)[1] for id in wanted) == sorted(seq for seq, _ in found[0])
                hits = await PostgresIndex(store, large=1).search(KEY.namespace, "a deep lake", k=100)
                assert [(hit.seq, hit.score) for hit in hits] == found[2]
    assert found[:3] == found[3:]


def _lakes(connection: PostgresConnection) -> list[int]:
    """The likeliest passages that hold a word, as a search asks for them."""
    asked = "SELECT unnest(ids) FROM autocompact.find_in_tenant(ARRAY['lake'], 301)"
    ids = [id for (id,) in connection.execute(asked)]
    likeliest = """SELECT id FROM autocompact.read_likeliest(
        %s::bigint[], array_fill(1, ARRAY[%s])::bigint[], ARRAY['lake'], ARRAY['2'], 1.2, %s)"""
    return [id for (id,) in connection.execute(likeliest, [ids, len(ids), SHORTLIST])]


async def test_where_common_words_stand_beside_rare_ones_comes_with_their_count(database: str) -> None:
    """It is asked for next in any case."""
    async with PostgresStore(database) as store:
        said = ["the lake of invoices"] * 9 + ["the river of invoices"] * 7 + ["the meadow of invoices"] * 400
        said[3] += " and a meadow"
        log = [text_message(seq, "user", text) for seq, text in enumerate(said, 1)]
        await store.append(KEY, log, after=0)

        def read(connection: PostgresConnection) -> list[tuple[int, int | None, list[int] | None]]:
            asked = """SELECT * FROM autocompact.find_beside(
                ARRAY['invoic', 'lake', 'zebra', 'meadow', 'river', 'the'], '{1,6}', 301, 300, 2)"""
            rows = [(number, held, ids) for number, held, ids in connection.execute(asked)]
            return [
                (number, held, ids if number == 0 or ids is None else sorted(place(id)[1] for id in ids))
                for number, held, ids in rows
            ]

        lake, river = list(range(1, 10)), list(range(10, 17))
        assert await store.reading(read, tenant=KEY.namespace) == [
            (2, 9, lake),
            (3, 0, []),
            (4, 301, None),
            (5, 7, river),
            (0, None, [5, 2]),
            (1, None, lake + river),
            (4, None, [4]),
        ]
        assert await store.reading(read, tenant="nobody's") == []


def test_the_tenants_that_searched_last_are_remembered_and_no_more() -> None:
    """Of 2,000 tenants as many terms each were, some 400 MB."""
    tenants, until = LargeTenants(most=2), time.monotonic() + 600
    red, blue, green = (LargeTenant(total=total, until=until) for total in (1, 2, 3))
    tenants.add("red", red)
    tenants.add("blue", blue)
    assert tenants.get("red") is red
    tenants.add("green", green)
    assert [tenants.get(name) for name in ("red", "blue", "green")] == [red, None, green]
    # what is known anew takes the place of what was
    tenants.add("red", LargeTenant(total=4, until=0.0))
    assert [tenants.get(name) for name in ("red", "green")] == [None, green]


async def test_what_is_remembered_of_a_large_tenant_hides_nothing_that_is_new(database: str) -> None:
    async with PostgresStore(database) as store:
        index, anew = PostgresIndex(store, large=1), PostgresIndex(store)
        words = [f"the invoice of customer {number}" for number in range(400)]
        log = [text_message(seq, "user", text) for seq, text in enumerate(words, 1)]
        await store.append(KEY, log, after=0)
        for query in ("invoice", "invoice customer 77", "customer of the invoice", "nothing there"):
            # the second time with what was found out the first time
            for _ in range(2):
                found = [hit.seq for hit in await index.search(KEY.namespace, query, k=5)]
                assert found == [hit.seq for hit in await anew.search(KEY.namespace, query, k=5)]
        await store.append(KEY, [text_message(401, "user", "the invoice of zebra")], after=400)
        for query in ("zebra", "zebra invoice"):
            assert [hit.seq for hit in await index.search(KEY.namespace, query, k=1)] == [401]
        assert 401 in [hit.seq for hit in await index.search(KEY.namespace, "invoice", k=100)]
        await store.delete(KEY)
        assert await index.search(KEY.namespace, "invoice", k=5) == ()


async def test_a_store_that_was_closed_says_so_and_a_second_close_does_nothing(database: str) -> None:
    """What is said of a file's; its threads said it in words of their own, which no caller takes for a store's error."""
    store = PostgresStore(database)
    await store.append(KEY, _log(1), after=0)
    await store.aclose()
    await store.aclose()
    for call in (lambda: store.load(KEY), lambda: store.append(KEY, _log(1, after=1), after=1), store.purge):
        with pytest.raises(StoreUnavailable, match="the store was closed: open it again"):
            await call()
