"""Schema versions: every earlier one opens and keeps its data, and the schema is what all migrations amount to."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from autocompact.core.messages import Message, ToolCall, ToolResult, text_message
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.errors import StoreError
from autocompact.ports import Key
from autocompact.stores.connection import Connection
from autocompact.stores.encoding import encode_message
from autocompact.stores.queries import migrations, queries, schema
from autocompact.stores.rows import row_id
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_file import APPLICATION_ID
from autocompact.testing.clock import FakeClock
from autocompact.testing.records import KEY, compaction
from autocompact.wire.request import parse_message
from tests.stores.support import connect

VERSIONS = range(1, len(migrations("sqlite")) + 1)
RAW = b'{"role":"assistant", "content":"Done.",  "x_unknown": 1.0}'


def _log() -> list[Message]:
    return [
        text_message(1, "system", "You are terse."),
        text_message(2, "user", "Fix the rounding of the tax."),
        structs.replace(
            parse_message(RAW, seq=3, dialect="openai_chat"), id="m3", time="2026-01-01T00:00:00Z"
        ),
        structs.replace(text_message(4, "user", "No, of the discount."), replaces=2),
    ]


def _as_of(version: int, path: Path) -> None:
    """A database as a program of that schema version left it, with a conversation that has no compaction."""
    connection = connect(path)
    for script in migrations("sqlite")[:version]:
        connection.execute(script)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute(
        "INSERT INTO conversations (id, namespace, name, last_seq, title, created, updated) "
        "VALUES (1, 'default', 'talk', 4, 'Fix the rounding of the tax.', '2025-01-01', '2025-02-01')"
    )
    for message in _log():
        row = (row_id(1, message.seq), message.role, message.replaces, encode_message(message))
        connection.execute("INSERT INTO messages (id, role, replaces, body) VALUES (?, ?, ?, ?)", row)
    connection.execute("PRAGMA journal_mode = wal")
    connection.close()


@pytest.mark.anyio
@pytest.mark.requirement("A3")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_database_of_every_version_opens_and_keeps_its_data(tmp_path: Path, version: int) -> None:
    path, clock = tmp_path / "chats.db", FakeClock()
    _as_of(version, path)
    async with SqliteStore(path, clock=clock) as store:
        assert await store.read(KEY) == tuple(_log())
        (info,) = await store.conversations("default")
        assert (info.last_seq, info.created, info.updated) == (4, "2025-01-01", "2025-02-01")
        assert (info.compressed_context, info.compressed_at) == (None, None)

        lease = await store.acquire(KEY, holder="h", seconds=60)
        assert lease is not None
        record = compaction("c1", 3)
        await store.commit(
            KEY, records=[record], active="c1", expected=None, fence=lease.fence, state=b"kept"
        )
        await store.append(KEY, [text_message(5, "assistant", "Done.")], after=4)
        (info,) = await store.conversations("default")
        assert (info.compressed_context, info.compressed_at) == (record.summary, clock.now())
        assert [message.seq for message in (await store.load(KEY)).earlier] == [1]

    connection = connect(path)
    row = connection.execute("SELECT compressed_context, compressed_at FROM conversations").get
    assert row == (record.summary, clock.now())
    connection.close()


@pytest.mark.anyio
@pytest.mark.requirement("A7")
async def test_the_masks_of_an_older_record_still_take_effect(tmp_path: Path) -> None:
    """Records of version 1 name the masked result by the id of its call, as the context had it."""
    path, steps = tmp_path / "chats.db", 4
    _as_of(VERSIONS[-1], path)
    old = msgspec.to_builtins(replace(compaction("c1", 0), summary="", prefix="", masks=()))
    masks = [("call_0", "[first]"), ("call_0_2", "[second]")]
    old["masks"] = [
        {"seq": seq, "call_id": id, "stub": stub} for seq, (id, stub) in zip((6, 8), masks, strict=True)
    ]
    connection = connect(path)
    for seq in range(steps):
        call = ToolCall(id="call_0", name="read", arguments=f'{{"n":{seq}}}')
        asked = Message(seq=5 + 2 * seq, role="assistant", parts=(call,))
        told = Message(
            seq=6 + 2 * seq, role="tool", parts=(ToolResult(call_id="call_0", text=f"page {seq}"),)
        )
        for message in (asked, told):
            row = (row_id(1, message.seq), message.role, encode_message(message))
            connection.execute("INSERT INTO messages (id, role, body) VALUES (?, ?, ?)", row)
    body = b"\x00" + msgspec.json.encode({"version": 1, "record": old})
    connection.execute(
        "INSERT INTO compactions (conversation, id, status, record) VALUES (1, 'c1', 'active', ?)", (body,)
    )
    connection.execute("UPDATE conversations SET last_seq = ?, active = 'c1'", (4 + 2 * steps,))
    connection.close()

    async with SqliteStore(path) as store:
        conversation = await Compactor(store, window=20_000, counter=Estimator()).open("talk")
        shown = [result.text for message in conversation.context().messages for result in message.results]
        assert shown == ["[first]", "[second]", "page 2", "page 3"]
        (kept,) = await store.compactions(KEY)
        await conversation.records.undo()
        await conversation.records.restore(kept.id)
    async with SqliteStore(path) as store:
        conversation = await Compactor(store, window=20_000, counter=Estimator()).open("talk")
        assert shown == [
            result.text for message in conversation.context().messages for result in message.results
        ]


def test_the_first_version_knows_no_compaction(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    _as_of(1, path)
    connection = connect(path)
    columns = {name for _, name, *_ in connection.execute("PRAGMA table_info (conversations)")}
    assert columns == {"id", "namespace", "name", "last_seq", "title", "created", "updated"}
    connection.close()


def _objects(connection: Connection) -> set[tuple[str, str]]:
    """What the database consists of, without comments and spacing."""
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {
        (name, re.sub(r"\s+|(?<=[(,])|(?=[),])", " ", re.sub(r"--.*", "", sql)).replace(" ", ""))
        for name, sql in found
    }


def test_the_schema_is_what_all_migrations_amount_to(tmp_path: Path) -> None:
    migrated, made = connect(tmp_path / "migrated.db"), connect(tmp_path / "made.db")
    for script in migrations("sqlite"):
        migrated.execute(script)
    made.execute(schema("sqlite"))
    assert _objects(made) == _objects(migrated)
    for connection in (migrated, made):
        connection.close()


def test_every_query_is_one_statement_that_the_schema_answers(tmp_path: Path) -> None:
    connection = connect(tmp_path / "chats.db")
    connection.execute(schema("sqlite"))
    for name, sql in queries("sqlite").items():
        assert ";" not in sql, name
        connection.execute(f"EXPLAIN {sql}", _Anything() if ":" in sql else (None,) * sql.count("?"))
    connection.close()


class _Anything(dict[str, None]):
    def __missing__(self, key: str) -> None:
        return None


@pytest.mark.anyio
async def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    _as_of(1, path)
    connection = connect(path)
    connection.execute("CREATE TABLE leases (in_the_way INTEGER)")
    connection.close()
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(StoreError, match="leases"):
        await store.load(Key(conversation="talk"))
    await store.aclose()
    assert path.read_bytes() == before
