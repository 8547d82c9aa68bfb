"""The hook by which a store keeps a search index up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from autocompact.core.messages import Message, text_message
from autocompact.ports import Key
from autocompact.stores.connection import Connection
from autocompact.stores.memory import MemoryStore
from autocompact.stores.rows import row_id
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.records import KEY, compaction

pytestmark = pytest.mark.anyio

OTHER = Key(conversation="other")


class Lengths:
    """An index of how long each message is, which takes no swearing."""

    def index(self, connection: Connection, messages: Sequence[Message], *, conversation: int) -> None:
        connection.execute("CREATE TABLE IF NOT EXISTS lengths (id INTEGER PRIMARY KEY, length INTEGER)")
        for message in messages:
            row = (row_id(conversation, message.seq), len(message.text))
            connection.execute("INSERT INTO lengths VALUES (?, ?)", row)
            if message.text == "damn":
                raise ValueError(message.text)

    def delete(self, connection: Connection, *, conversation: int) -> None:
        first, last = row_id(conversation, 0), row_id(conversation + 1, 0)
        connection.execute("DELETE FROM lengths WHERE id BETWEEN ? AND ?", (first, last))

    def tidy(self, connection: Connection, *, begun: bool) -> bool:
        return False


def _indexed(connection: Connection) -> list[int]:
    return [length for (length,) in connection.execute("SELECT length FROM lengths ORDER BY id")]


def _log(*texts: str, after: int = 0) -> list[Message]:
    return [text_message(seq, "user", text) for seq, text in enumerate(texts, start=after + 1)]


async def test_messages_are_indexed_with_the_append_and_removed_with_the_conversation(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "chats.db", indexer=Lengths()) as store:
        await store.append(KEY, _log("a", "bb"), after=0)
        await store.append(OTHER, _log("other"), after=0)
        await store.append(KEY, _log("ccc", after=2), after=2)
        assert await store.reading(_indexed) == [1, 2, 3, 5]
        await store.delete(KEY)
        assert await store.reading(_indexed) == [5]


async def test_an_index_that_fails_undoes_the_append(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "chats.db", indexer=Lengths()) as store:
        await store.append(KEY, _log("a"), after=0)
        with pytest.raises(ValueError, match="damn"):
            await store.append(KEY, _log("oh", "damn", after=1), after=1)
        assert len(await store.read(KEY)) == 1
        assert await store.reading(_indexed) == [1]
        await store.append(KEY, _log("sorry", after=1), after=1)
        assert await store.reading(_indexed) == [1, 5]


async def test_what_was_appended_without_an_index_is_caught_up_with(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    texts = ["x" * (n % 7) for n in range(1203)]
    async with SqliteStore(path, indexer=Lengths()) as store:
        await store.append(KEY, _log(*texts[:3]), after=0)
    async with SqliteStore(path, indexer=None) as store:
        await store.append(KEY, _log(*texts[3:], after=3), after=3)
        await store.append(OTHER, _log("other"), after=0)
        await store.commit(KEY, records=[compaction("c", 9)], active="c", expected=None, fence=0)
        assert await store.reading(_indexed) == [0, 1, 2]
    for _ in range(2):
        async with SqliteStore(path, indexer=Lengths()) as store:
            assert await store.reading(_indexed) == [*map(len, texts), 5]


async def test_what_another_process_left_out_is_indexed_with_the_next_append(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with SqliteStore(path, indexer=Lengths()) as indexing, SqliteStore(path, indexer=None) as other:
        await indexing.append(KEY, _log("a"), after=0)
        await other.append(KEY, _log("bb", after=1), after=1)
        assert await indexing.reading(_indexed) == [1]
        await indexing.append(KEY, _log("ccc", after=2), after=2)
        assert await indexing.reading(_indexed) == [1, 2, 3]


class Words:
    """An index in memory."""

    def __init__(self) -> None:
        self.of: dict[Key, list[str]] = {}

    def index(self, key: Key, messages: Sequence[Message]) -> None:
        self.of.setdefault(key, []).extend(message.text for message in messages)

    def delete(self, key: Key) -> None:
        del self.of[key]


async def test_the_store_in_memory_tells_its_index_too() -> None:
    words = Words()
    store = MemoryStore(indexer=words)
    await store.append(KEY, _log("a", "b"), after=0)
    await store.append(OTHER, _log("c"), after=0)
    assert words.of == {KEY: ["a", "b"], OTHER: ["c"]}
    await store.delete(KEY)
    assert words.of == {OTHER: ["c"]}
