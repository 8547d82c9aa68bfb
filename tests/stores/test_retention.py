"""That deleted text leaves the files, not only the tables."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from autocompact.core.messages import text_message
from autocompact.errors import StoreUnavailable
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndex
from autocompact.testing.records import compaction
from tests.stores.support import connect

pytestmark = pytest.mark.anyio

GONE, KEPT = Key(conversation="gone", namespace="ours"), Key(conversation="kept", namespace="theirs")


def word(name: str, number: int) -> str:
    """A word that occurs once in the world, so nothing of it is compressed away."""
    return sha256(f"{name} {number}".encode()).hexdigest()


async def filled(store: SqliteStore, key: Key) -> None:
    for seq in range(1, 301):
        message = text_message(seq, "user", f"{word(key.conversation, seq)} is the word")
        await store.append(key, [message], after=seq - 1)
    record = compaction("c1", 200)
    await store.commit(key, records=[record], active="c1", expected=None, fence=0, state=b"state")


def traces(folder: Path, key: Key) -> int:
    """Words of the conversation of which half or more stands in any file (FTS5 leaves out what two terms share)."""
    data = b"".join(file.read_bytes() for file in folder.iterdir())
    return sum(word(key.conversation, seq)[-32:].encode() in data for seq in range(1, 301))


async def test_nothing_of_a_deleted_conversation_stays_in_the_files(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db")
    await filled(store, GONE)
    await filled(store, KEPT)
    assert (traces(tmp_path, GONE), traces(tmp_path, KEPT)) == (300, 300)
    await store.delete(GONE)
    await store.purge()
    assert (traces(tmp_path, GONE), traces(tmp_path, KEPT)) == (0, 300)
    index = SqliteIndex(store)
    assert await index.search("ours", word("gone", 7), k=5) == ()
    assert [hit.seq for hit in await index.search("theirs", word("kept", 7), k=5)] == [7]
    await store.aclose()
    connection = connect(store.path)
    counts = {
        table: connection.execute(f"SELECT count(*) FROM {table}").get
        for table in ("conversations", "messages", "compactions", "passages", "leases", "search_namespaces")
    }
    connection.close()
    assert counts == {
        "conversations": 1,
        "messages": 300,
        "compactions": 1,
        "passages": 300,
        "leases": 0,
        "search_namespaces": 1,
    }


async def test_a_write_ahead_log_that_others_read_is_said_not_to_be_empty(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db", busy_seconds=0.01)
    await filled(store, GONE)
    reader = connect(store.path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM messages").get == 300
    await store.delete(GONE)
    with pytest.raises(StoreUnavailable, match="read by another program"):
        await store.purge()
    reader.execute("ROLLBACK")
    await store.purge()
    reader.close()
    assert traces(tmp_path, GONE) == 0
    await store.aclose()


async def test_a_store_without_a_search_index_is_purged_too(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db", indexer=None)
    await filled(store, GONE)
    await store.delete(GONE)
    await store.purge()
    await store.aclose()
    assert traces(tmp_path, GONE) == 0


async def test_a_file_is_written_anew_only_after_a_deletion_of_whichever_process(tmp_path: Path) -> None:
    store, other = SqliteStore(tmp_path / "chats.db"), SqliteStore(tmp_path / "chats.db")
    steps: list[str] = []
    watching = SqliteStore(tmp_path / "chats.db", failpoint=steps.append)
    await filled(store, GONE)
    await watching.purge()
    assert steps == []
    await other.delete(GONE)
    await other.aclose()
    await watching.purge()
    assert "purged:committed" in steps
    steps.clear()
    await watching.purge()
    assert steps == []
    assert traces(tmp_path, GONE) == 0
    await watching.aclose()
    await store.aclose()
