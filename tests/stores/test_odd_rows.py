"""Messages that older versions stored without looking: the conversation opens, nothing of them is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from autocompact.compaction.repair import problems
from autocompact.core.messages import Message, Opaque, Text, ToolCall, Usage, text_message
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.errors import InvalidInput
from autocompact.history import opened
from autocompact.history.archive import read_archive, write_archive
from autocompact.stores.encoding import encode_message
from autocompact.stores.queries import migrations
from autocompact.stores.rows import row_id
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_file import APPLICATION_ID
from autocompact.testing.records import KEY
from tests.lengths import turns
from tests.stores.support import connect

VERSION = 4
"""Of the schema, when messages were stored unchecked."""

BAD_RAW = b'{"role":"user","content":"Hello.","n":NaN,"x":"\xff"}'
DEEP_RAW = b'{"role":"user","content":"Deep.","n":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
POISON = (
    b'{"role":"user","content":"half \\ud800"}',
    b'{"role":"user","content":"big","n":1e400}',
    b'{"role":"user","content":"huge","n":' + b"9" * 5_000 + b"}",
    b'{"role":"user","content":"key","\\ud800":1}',
    b'{"role":"user","content":"nul \\u0000"}',
)


def odd(**fields: Any) -> Message:
    return replace(text_message(1, "user", "Hello."), **fields)


def parsed(raw: bytes) -> Message:
    """As the wire made it; what nobody can parse was handed in with parts of its own."""
    return odd(raw=raw, dialect="openai_chat", parts=(Text(text="Hello."),))


ODD = {
    "a role that no API knows": odd(role="robot"),
    "another one": odd(role="developer"),
    "no text": odd(role="assistant", parts=(Text(text=cast("str", None)),)),
    "a number for text": odd(role="assistant", parts=(Text(text=cast("str", 5)),)),
    "a call without arguments": odd(
        role="assistant", parts=(ToolCall(id="a", name="b", arguments=cast("str", None)),)
    ),
    "opaque without bytes": odd(parts=(Opaque(kind="x", raw=cast("bytes", None)),)),
    "no parts": odd(parts=()),
    "usage in words": odd(role="assistant", usage=Usage(prompt=cast("int", "many"))),
    "usage that is no number": odd(role="assistant", usage=Usage(prompt=cast("int", float("nan")))),
    "no id": odd(id=None),
    "bytes that are no JSON": parsed(BAD_RAW),
    "nested too deep": parsed(DEEP_RAW),
    "a dialect that is none": odd(raw=b"{}", dialect=None),
} | {raw[:40].decode(): parsed(raw) for raw in POISON}


def as_stored(path: Path, *log: Message) -> None:
    """A file as a program of those days left it."""
    connection = connect(path)
    for script in migrations("sqlite")[:VERSION]:
        connection.execute(script)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute(
        "INSERT INTO conversations (id, namespace, name, last_seq, title, created, updated) "
        f"VALUES (1, 'default', 'talk', {len(log)}, 'Hello.', '2025-01-01', '2025-02-01')"
    )
    for seq, message in enumerate(log, start=1):
        row = (row_id(1, seq), message.role, message.replaces, encode_message(message))
        connection.execute("INSERT INTO messages (id, role, replaces, body) VALUES (?, ?, ?, ?)", row)
    connection.execute("PRAGMA journal_mode = wal")
    connection.close()


def body(path: Path, seq: int) -> tuple[str, bytes]:
    connection = connect(path)
    row = connection.execute("SELECT role, body FROM messages WHERE id = ?", (row_id(1, seq),)).get
    connection.close()
    return row


@pytest.mark.anyio
@pytest.mark.parametrize("message", ODD.values(), ids=ODD.keys())
async def test_a_conversation_with_an_odd_message_opens_goes_on_and_is_compacted(
    tmp_path: Path, message: Message
) -> None:
    path = tmp_path / "chats.db"
    rest = [
        text_message(n, "user" if n % 2 else "assistant", f"Words of turn {n}. " * 60)
        for n in range(3, turns(20, long=30))
    ]
    as_stored(path, text_message(1, "system", "You are careful."), message, *rest)
    before = body(path, 2)
    async with Compactor(SqliteStore(path), window=4_000, counter=Estimator()) as shared:
        conversation = await shared.open("talk")
        for dialect in ("openai_chat", "openai_responses", "anthropic"):
            assert conversation.messages(dialect=dialect)
        await conversation.say("Go on.")
        context = await conversation.ready()
        assert problems(context.messages) == []
        assert context.cost.tokens <= shared.budget.limit
        assert conversation.records.active is not None
        stored = (await conversation.history())[1]
        assert stored.raw == message.raw
    assert body(path, 2) == before
    async with opened(path) as library:
        archive = await library.archive("talk")
        assert read_archive(write_archive(archive), source="talk") == archive
        await library.search("words of turn")
    async with SqliteStore(path) as store:
        assert (await store.read(KEY))[1] == stored


@pytest.mark.anyio
async def test_words_of_an_unknown_role_are_a_note_with_that_role_and_never_the_users_request(
    tmp_path: Path,
) -> None:
    path = tmp_path / "chats.db"
    as_stored(
        path, text_message(1, "user", "What is the total?"), odd(role="robot", parts=(Text(text="Beep."),))
    )
    async with Compactor(SqliteStore(path), counter=Estimator()) as shared:
        conversation = await shared.open("talk")
        assert [message["content"] for message in conversation.messages()] == [
            "What is the total?",
            "[This message was stored with the role 'robot', which no API knows.]\n\nBeep.",
        ]
        assert conversation.internals.replica.state.request == 1
        fork = await conversation.fork("copy")
        assert fork.context().messages == conversation.context().messages


@pytest.mark.anyio
async def test_bytes_that_are_no_json_are_kept_and_the_words_are_sent(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    as_stored(path, parsed(BAD_RAW), parsed(DEEP_RAW))
    async with Compactor(SqliteStore(path), counter=Estimator()) as shared:
        conversation = await shared.open("talk")
        assert conversation.messages() == [{"role": "user", "content": "Hello."}] * 2
        assert [message.raw for message in await conversation.history()] == [BAD_RAW, DEEP_RAW]


@pytest.mark.anyio
async def test_a_message_that_cannot_be_used_is_refused_by_the_store_itself(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "chats.db") as store:
        with pytest.raises(InvalidInput, match="the message was not stored: role is 'robot'"):
            await store.append(KEY, [odd(role="robot")], after=0)
        assert await store.conversations("default") == ()
