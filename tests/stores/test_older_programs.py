"""An update while programs run: those of the version before go on after ``migrate --pre``, beside those of this one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, LiteralString, TypeVar, cast

import psycopg
import pytest

from autocompact.cli import main
from autocompact.core.messages import Message, text_message
from autocompact.ports import Key
from autocompact.stores.encoding import encode_message
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.postgres_index import PostgresIndex, PostgresIndexer
from autocompact.stores.postgres_server import DIALECT, PostgresConnection
from autocompact.stores.queries import migrations, post_migrations
from autocompact.stores.tables import Tables
from autocompact.testing.records import compaction
from tests.stores.cluster import PROGRAM, USER, Cluster

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]

T = TypeVar("T")

OLDER_VERSION = 2
KEY = Key(conversation="talk", namespace="red")

# What programs of schema version 2 say in other words than those of today; the rest of their statements is the same.
LOCK: LiteralString = "SELECT set_config('lock_timeout', '5000ms', true), pg_advisory_xact_lock(1)"
TO_INDEX: LiteralString = (
    "SELECT id, indexed_seq, last_seq FROM autocompact.conversations WHERE indexed_seq < last_seq"
)
COUNT_PLACES: LiteralString = """SELECT (
    SELECT count(*) FROM (
        SELECT 1 FROM autocompact.passages
        WHERE words @> ARRAY[asked.term] AND id BETWEEN %(first)s AND %(last)s LIMIT 9
    ) AS held
) FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS asked (term, number) ORDER BY number"""
PLACES: LiteralString = """SELECT id, array_positions(words, %(term)s) FROM autocompact.passages
WHERE words @> %(terms)s::text[] AND ('{}' = '{}' OR words && '{}') AND id BETWEEN %(first)s AND %(last)s LIMIT 9"""
GRANTS: LiteralString = f"""GRANT USAGE ON SCHEMA autocompact TO {PROGRAM};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA autocompact TO {PROGRAM}"""


def as_of_then(owner: str) -> None:
    """Make the tables as a program of that version did."""
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE SCHEMA autocompact")
        connection.execute("CREATE TABLE autocompact.version (version BIGINT NOT NULL)")
        connection.execute("INSERT INTO autocompact.version (version) VALUES (%s)", [OLDER_VERSION])
        for script in migrations(DIALECT)[:OLDER_VERSION]:
            connection.execute(cast("LiteralString", script))
        connection.execute(GRANTS)


class OlderProgram:
    """Does what a program of that version does, which names no tenant."""

    def __init__(self, url: str) -> None:
        self._url = url

    def _changing(self, work: Callable[[PostgresConnection, Tables], T]) -> T:
        with psycopg.connect(self._url, prepare_threshold=None) as connection:
            connection.execute(LOCK)
            ours = PostgresConnection(connection)
            return work(ours, Tables(ours, dialect=DIALECT))

    def may_start(self) -> bool:
        def known(connection: PostgresConnection, _: Tables) -> bool:
            return connection.execute("SELECT version FROM autocompact.version").get <= OLDER_VERSION

        return self._changing(known)

    def append(self, text: str) -> None:
        def append(connection: PostgresConnection, tables: Tables) -> None:
            row = tables.find(KEY) or tables.add(KEY, now="2026-01-01T00:00:00.000Z")
            message = text_message(row.last_seq + 1, "user", text)
            tables.extend(row, messages=[message], bodies=[encode_message(message)])
            PostgresIndexer().index(connection, [message], conversation=row.id)
            tables.extended(replace(row, last_seq=message.seq, indexed_seq=message.seq))

        self._changing(append)

    def compact(self, id: str, through: int) -> None:
        def compact(_: PostgresConnection, tables: Tables) -> None:
            row = tables.find(KEY)
            assert row is not None
            fence = tables.give_lease(KEY, holder="older", expires=1)
            record = compaction(id, through)
            tables.put_records(row.id, [record])
            tables.activate(row, record, now="2026-01-01T00:00:00.000Z")
            tables.seal(row.id)
            tables.end_lease(fence)

        self._changing(compact)

    def read(self) -> tuple[Message, ...]:
        def read(_: PostgresConnection, tables: Tables) -> tuple[Message, ...]:
            row = tables.find(KEY)
            return () if row is None else tables.messages(row.id, through_seq=row.last_seq)

        return self._changing(read)

    def search(self, term: str) -> tuple[int, int]:
        """How many passages hold a term, by either statement."""

        def search(connection: PostgresConnection, _: Tables) -> tuple[int, int]:
            assert not list(connection.execute(TO_INDEX))
            space = connection.execute(
                "SELECT id FROM autocompact.search_namespaces WHERE name = %s", [KEY.namespace]
            ).get
            asked: dict[str, Any] = {"term": f"{space}_{term}", "terms": [f"{space}_{term}"]}
            asked |= {"first": 0, "last": 1 << 62}
            return connection.execute(COUNT_PLACES, asked).get, len(list(connection.execute(PLACES, asked)))

        return self._changing(search)


async def test_older_programs_run_on_after_pre_beside_newer_ones_and_end_with_the_rest(
    cluster: Cluster,
) -> None:
    owner = cluster.new_database()
    programs = owner.replace(f"{USER}@", f"{PROGRAM}@")
    as_of_then(owner)
    older = OlderProgram(programs)
    older.append("the first invoice")
    older.compact("c1", 1)

    for _ in range(2):
        assert await asyncio.to_thread(main, ["migrate", "--db", owner, "--pre", "--grant", PROGRAM]) == 0
    # a program of this version that may make tables leaves the rest for whoever asked for "--pre"
    for url in (programs, owner):
        async with PostgresStore(url) as newer:
            before = len(await newer.read(KEY))
            await newer.append(KEY, [text_message(before + 1, "user", "a newer invoice")], after=before)
            lease = await newer.acquire(KEY, holder="newer", seconds=60)
            assert lease is not None
            await newer.release(lease)
            assert older.may_start()
            older.append("an older invoice")
            read = await newer.read(KEY)
            assert older.read() == read
            assert len(read) == before + 2
            assert [record.id for record in await newer.compactions(KEY)] == ["c1"]
            assert len(await PostgresIndex(newer).search("red", "invoice", k=9)) == len(read)
            assert older.search("invoic") == (len(read), len(read))
            assert not await newer.read(Key(conversation="talk", namespace="blue"))

    assert await asyncio.to_thread(main, ["migrate", "--db", owner]) == 0
    assert not older.may_start()
    assert older.read() == ()
    async with PostgresStore(programs) as newer:
        assert await newer.read(KEY) == read


def test_what_comes_before_the_end_of_older_programs_needs_nothing_of_it(cluster: Cluster) -> None:
    """All but those that end older programs can be run by themselves, and these after them."""
    owner, ending = cluster.new_database(), post_migrations(DIALECT)
    assert ending
    scripts = list(enumerate(migrations(DIALECT), 1))
    with psycopg.connect(owner) as connection:
        connection.execute("CREATE SCHEMA autocompact")
        for _, script in sorted(scripts, key=lambda one: (one[0] in ending, one[0])):
            connection.execute(cast("LiteralString", script))
