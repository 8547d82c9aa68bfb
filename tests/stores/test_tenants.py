"""Row-level security: the server shows a transaction the tenant that it names, whatever the program's queries forget."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import errors

from autocompact.cli import main
from autocompact.core.messages import text_message
from autocompact.errors import StoreError
from autocompact.ports import Key
from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres import PostgresStore
from autocompact.stores.postgres_index import PostgresIndex
from autocompact.stores.postgres_roles import role_of
from autocompact.stores.server_doctor import examine_server
from autocompact.testing.records import compaction
from tests.stores.cluster import PROGRAM, SUPERUSER, USER, Cluster, Pooler

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9")]

RED, BLUE = Key(conversation="talk", namespace="red"), Key(conversation="talk", namespace="blue")
TABLES = ("conversations", "messages", "compactions", "leases", "passages", "search_namespaces")
COUNT = "SELECT " + ", ".join(f"(SELECT count(*) FROM autocompact.{table})" for table in TABLES)

FOUND = """SELECT
    (SELECT coalesce(sum(cardinality(ids)), 0) FROM autocompact.find_in_tenant('{invoic}', 9)),
    (SELECT coalesce(sum(cardinality(ids)), 0) FROM autocompact.find_between('{invoic}', 0, 1::bigint << 60, 9)),
    (SELECT coalesce(sum(cardinality(ids)), 0) FROM autocompact.passages_with('{invoic}', '{}', 0, 1::bigint << 60, 9)),
    (SELECT count(*) FROM autocompact.newest_with('{invoic}', 0, 1::bigint << 60, 9)),
    (SELECT count(*) FROM autocompact.read_passages(ARRAY[(1 << 24) + 1, (2 << 24) + 1, (3 << 24) + 1]))"""
"""What the functions of the search index find in the two conversations."""


@pytest.fixture(scope="module")
def programs(cluster: Cluster) -> str:
    """The URL of a database with two tenants, as a role that owns nothing."""
    return cluster.for_programs()


@pytest.fixture(scope="module")
def pooler(cluster: Cluster) -> Generator[Pooler]:
    """One connection for all."""
    pooler = Pooler(cluster, connections=1)
    yield pooler
    pooler.stop()


@pytest.fixture
async def store(programs: str) -> AsyncGenerator[PostgresStore]:
    """With a message, a compaction and a lease of each of two tenants."""
    async with PostgresStore(programs) as store:
        for key in (RED, BLUE):
            if (await store.load(key)).last_seq:
                continue
            await store.append(
                key, [text_message(1, "user", f"the {key.namespace} colour of invoices")], after=0
            )
            lease = await store.acquire(key, holder="test", seconds=60)
            assert lease is not None
            await store.commit(
                key, records=[compaction("c1", 1)], active="c1", expected=None, fence=lease.fence
            )
        yield store


def answer(url: str, *statements: LiteralString, tenant: str | None = None) -> tuple[Any, ...] | None:
    """The first row of the last statement, in one transaction of plain psycopg."""
    with psycopg.connect(url, prepare_threshold=None) as connection:
        if tenant is not None:
            connection.execute("SELECT set_config('autocompact.tenant', %s, true)", [tenant])
        for statement in statements[:-1]:
            connection.execute(statement)
        cursor = connection.execute(statements[-1])
        return cursor.fetchone() if cursor.description else None


INSERTS: dict[str, LiteralString] = {
    "conversation": "INSERT INTO autocompact.conversations (namespace, name, created, updated) VALUES ('red', 'new', '', '')",
    "lease": "INSERT INTO autocompact.leases (namespace, name, holder, expires) VALUES ('red', 'new', 'me', 1)",
    "message": "INSERT INTO autocompact.messages (id, role, body) VALUES ((1::bigint << 24) + 7, 'user', '')",
    "compaction": "INSERT INTO autocompact.compactions (conversation, id, status, record) VALUES (1, 'c7', 'active', '')",
    "passage": "INSERT INTO autocompact.passages VALUES ((1::bigint << 24) + 7, 1, 1, 0, 1, 0, 1, '{1_x}')",
    "namespace": "INSERT INTO autocompact.search_namespaces (name) VALUES ('green')",
}


async def test_who_forgets_to_say_whose_sees_nothing_and_adds_nothing(
    programs: str, store: PostgresStore
) -> None:
    del store
    # "" is what is left on a connection after a transaction that did say it
    for tenant in (None, "", "red", "=", "=green", "=re", "=red "):
        assert answer(programs, COUNT, tenant=tenant) == (0,) * len(TABLES), tenant
        assert answer(
            programs,
            "SELECT count(*) FROM autocompact.places('{invoic}', '{}', 0, 1::bigint << 60, 9, false)",
        ) == (0,)
        assert answer(programs, FOUND, tenant=tenant) == (0, 0, 0, 0, 0), tenant
    assert answer(programs, COUNT, tenant="*") == (2,) * len(TABLES)
    for name, statement in INSERTS.items():
        for tenant in (None, "=blue"):
            with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
                answer(programs, statement, tenant=tenant)
        # it is the tenant that was missing, not something else
        own = "=green" if name == "namespace" else "=red"
        assert answer(programs, statement, "ROLLBACK", tenant=own) is None
    for change in ("DELETE FROM autocompact.messages", "UPDATE autocompact.conversations SET title = 'x'"):
        assert answer(programs, change + " RETURNING 1") is None


async def test_a_tenant_sees_what_is_its_own_in_every_table_and_in_the_index(
    programs: str, store: PostgresStore
) -> None:
    index = PostgresIndex(store)
    for key, other in ((RED, "blue"), (BLUE, "red")):
        assert answer(programs, COUNT, tenant=f"={key.namespace}") == (1,) * len(TABLES)
        assert len(await index.search(key.namespace, "invoices", k=9)) == 1
        assert not await index.search(key.namespace, other, k=9)
        assert answer(programs, FOUND, tenant=f"={key.namespace}") == (1, 1, 1, 1, 1)
    assert await store.namespaces() == ("blue", "red")


def test_a_row_is_looked_up_in_its_own_conversation_however_many_there_are(cluster: Cluster) -> None:
    url, rows = cluster.for_programs(), "FROM generate_series(1, 2000) AS n"
    cluster.sql(
        f"""INSERT INTO autocompact.conversations (namespace, name, created, updated) SELECT 'red', n::text, '', '' {rows};
        INSERT INTO autocompact.messages (id, role, body) SELECT (1 << 24) + n, 'user', '' {rows};
        INSERT INTO autocompact.passages SELECT (1 << 24) + n, 1, 1, 0, 1, 0, 1, '{{1_x}}' {rows};
        INSERT INTO autocompact.compactions (conversation, id, status, record) SELECT 1, n::text, 'active', '' {rows}; ANALYZE""",
        database=url,
    )
    some = "id BETWEEN 1 << 24 AND (1 << 24) + 1000"
    selects: dict[str, LiteralString] = {
        "messages": f"SELECT count(*) FROM autocompact.messages WHERE {some}",
        "passages": f"SELECT count(*) FROM autocompact.passages WHERE {some}",
        "compactions": "SELECT count(*) FROM autocompact.compactions WHERE conversation = 1",
    }
    for table, select in selects.items():
        row = answer(url, "EXPLAIN (FORMAT JSON) " + select, tenant="=red")
        assert row is not None
        plan = row[0][0]["Plan"]
        scans = {node.get("Relation Name"): node["Node Type"] for node in nodes(plan)}
        assert scans["conversations"] == "Index Scan", (table, plan)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A step of a plan, and those below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


async def test_a_pooler_hands_nobody_a_connection_with_anothers_tenant(
    programs: str, store: PostgresStore, pooler: Pooler
) -> None:
    url = pooler.url(programs)
    async with PostgresStore(url, connections=1) as pooled:
        for key in (RED, BLUE, RED):
            assert (await pooled.load(key)).last_seq == 1
            # the one connection that the pooler has, right after
            assert answer(url, COUNT) == (0,) * len(TABLES)
            await pooled.append(key, [], after=1)
            assert answer(url, COUNT) == (0,) * len(TABLES)
    assert await store.read(RED) != await store.read(BLUE)


async def test_the_owner_is_held_to_it_but_for_the_index_and_a_superuser_is_not(
    cluster: Cluster, programs: str, store: PostgresStore
) -> None:
    del store
    owner, keeper = (programs.replace(f"{PROGRAM}@", f"{name}@") for name in (USER, SUPERUSER))
    assert answer(owner, COUNT) == tuple(2 * (table == "passages") for table in TABLES)
    assert answer(keeper, COUNT) == (2,) * len(TABLES)
    assert role_of(ServerUrl(programs)).remark == ""
    assert not (await examine_server(ServerUrl(programs))).findings
    for url, said in ((owner, "'tester' owns the tables"), (keeper, "'keeper' is a superuser")):
        (note,) = (await examine_server(ServerUrl(url))).findings
        assert (note.level, note.check) == ("note", "tenants")
        assert said in note.what
        assert "--grant ROLE" in note.next
    assert cluster.sql("SELECT count(*) FROM autocompact.messages", database=programs) == "2"


def test_a_role_gets_what_it_needs_and_no_more(
    cluster: Cluster, programs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        answer(programs, "UPDATE autocompact.version SET version = 1")
    with pytest.raises(errors.InsufficientPrivilege):
        answer(programs, "ALTER TABLE autocompact.messages DISABLE ROW LEVEL SECURITY")
    assert answer(programs, "SELECT count(*) FROM procrastinate_jobs") == (0,)
    owner = programs.replace(f"{PROGRAM}@", f"{USER}@")
    assert main(["migrate", "--db", owner, "--grant", "nobody-there"]) == 2
    assert "nobody-there" in capsys.readouterr().err
    assert main(["migrate", "--db", "chats.db", "--grant", PROGRAM]) == 2
    assert "is a file, which knows no roles" in capsys.readouterr().err
    assert main(["migrate", "--db", owner, "--grant", PROGRAM]) == 0
    assert f"{PROGRAM} may use it" in capsys.readouterr().out
    cluster.sql("CREATE ROLE bystander LOGIN", database=programs)
    with pytest.raises(errors.InsufficientPrivilege):
        answer(programs.replace(f"{PROGRAM}@", "bystander@"), COUNT, tenant="*")


async def test_what_the_server_refuses_is_told_as_the_stores_error(programs: str) -> None:
    async with PostgresStore(programs) as store:
        with pytest.raises(StoreError, match="row-level security"):
            await store.changing(
                lambda connection: connection.execute(INSERTS["conversation"]), name="test", key=BLUE
            )
