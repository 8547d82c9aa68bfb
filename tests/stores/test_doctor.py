"""What the doctor finds in a store file, and what a backup is."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from autocompact.core.messages import text_message
from autocompact.errors import InvalidInput, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from autocompact.ports import Key
from autocompact.stores.backup import back_up
from autocompact.stores.doctor import WORDS_COMPARED, examine, seal
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.records import KEY, talk
from tests.lengths import turns
from tests.stores import bit_flips
from tests.stores.support import connect, contents

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("F9")]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "chats.db"
    asyncio.run(bit_flips.write(path))
    return path


@pytest.fixture
def file(tmp_path: Path, written: Path) -> Path:
    path = tmp_path / "chats.db"
    shutil.copyfile(written, path)
    path.chmod(0o600)
    return path


def _change(path: Path, sql: str) -> None:
    connection = connect(path)
    connection.execute(sql)
    connection.close()


def _found(path: Path, *, level: str = "problem") -> dict[str, str]:
    return {each.check: each.what for each in examine(path).findings if each.level == level}


async def test_a_healthy_file_has_no_problems_and_its_rows_are_counted(file: Path) -> None:
    found = examine(file)
    assert found.findings == ()
    counts = {
        name: found.counts[name] for name in ("conversations", "messages", "compactions", "leases_held")
    }
    assert counts == {"conversations": 24, "messages": 960, "compactions": 72, "leases_held": 0}


async def test_a_file_in_use_can_be_examined_and_is_not_changed(file: Path, tmp_path: Path) -> None:
    async with SqliteStore(file) as store:
        await store.append(KEY, talk("user", "assistant"), after=0)
        before = contents(tmp_path, but=[".db-shm"])
        assert examine(file).problems == ()
        assert contents(tmp_path, but=[".db-shm"]) == before
        await store.append(KEY, talk("user", "assistant", "user")[2:], after=2)


async def test_deleting_and_purging_leave_a_healthy_file(file: Path) -> None:
    async with SqliteStore(file) as store:
        for key in bit_flips.KEYS[:9]:
            assert await store.delete(key)
        assert examine(file).problems == ()
        await store.purge()
    assert examine(file).problems == ()


@pytest.mark.parametrize(
    ("sql", "check", "what"),
    [
        ("UPDATE messages SET body = zeroblob(20) WHERE id = (1 << 24) + 7", "messages", "checksum"),
        ("UPDATE messages SET role = 'user' WHERE id = (1 << 24) + 1", "messages", "checksum"),
        ("DELETE FROM messages WHERE id = (1 << 24) + 7", "conversations", "40; it has 39 messages"),
        (
            "UPDATE messages SET id = (77 << 24) + 1 WHERE id = (1 << 24) + 7",
            "messages",
            "of no conversation: 1 message",
        ),
        ("UPDATE conversations SET last_seq = 39 WHERE id = 1", "conversations", "the last is 40"),
        ("UPDATE conversations SET compressed_context = 'x' WHERE id = 1", "compactions", "is not that of"),
        ("UPDATE conversations SET active = 'gone' WHERE id = 1", "compactions", "'gone' is active"),
        ("UPDATE compactions SET record = zeroblob(9) WHERE number = 1", "compactions", "should have 3"),
        ("DELETE FROM compactions WHERE number = 1", "compactions", "should have 3 compactions, it has 2"),
        ("DELETE FROM passages WHERE id = (1 << 24) + 3", "search", "words"),
        ("UPDATE search_namespaces SET passages = 1", "search", "the namespaces count 2"),
        (
            "UPDATE passages SET seq = 400 WHERE id = (1 << 24) + 3",
            "search",
            "of messages that are not there",
        ),
        (
            "UPDATE passages SET start = start + 1 WHERE id = (1 << 24) + 3",
            "words",
            "not those of the messages",
        ),
        ("DROP INDEX messages_edits", "version", "the index is missing"),
        (
            "INSERT INTO leases VALUES (99, 'a', 'talk-0', 'h', 9999999999999)",
            "leases",
            "the clock was wrong",
        ),
    ],
)
def test_what_is_wrong_is_found_and_comes_with_what_to_do(
    file: Path, *, sql: str, check: str, what: str
) -> None:
    _change(file, sql)
    file.chmod(0o600)
    problems = examine(file).problems
    assert any(each.check == check and what in each.what for each in problems), problems
    assert all(each.next and each.where for each in problems)


def test_a_damaged_page_is_found(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[20 * 4096 : 20 * 4096 + 12] = b"\xaa" * 12
    file.write_bytes(content)
    assert examine(file).problems


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_file_that_others_may_read_is_found(file: Path) -> None:
    file.chmod(0o644)
    (problem,) = examine(file).problems
    assert (problem.check, problem.next) == ("modes", f"chmod 600 {file}")


async def test_messages_that_are_not_in_the_index_yet_are_a_note(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    async with SqliteStore(path, indexer=None) as store:
        await store.append(KEY, talk("user", "assistant"), after=0)
    path.chmod(0o600)
    assert _found(path) == {}
    assert "not in the search index yet: 2 messages" in _found(path, level="note")["search"]


def test_the_words_of_the_index_are_compared_with_the_messages(file: Path) -> None:
    _change(file, "UPDATE passages SET start = start + 1 WHERE id = (1 << 24) + 3")
    assert [each.check for each in examine(file, deep=True).problems] == ["words"]


async def test_the_words_of_a_large_index_are_compared_only_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    log = [text_message(seq, "user", f"pump {seq}") for seq in range(1, WORDS_COMPARED + 2)]
    async with SqliteStore(path) as store:
        await store.append(KEY, log, after=0)
    path.chmod(0o600)
    assert "--deep" in next(each.next for each in examine(path).findings)
    assert examine(path, deep=True).findings == ()


async def test_messages_of_an_older_version_are_taken_as_they_are_until_they_are_sealed(file: Path) -> None:
    _change(file, "UPDATE messages SET checksum = NULL WHERE id >> 24 = 1")
    assert _found(file) == {}
    assert "without a checksum, of an older version: 40 messages" in _found(file, level="note")["messages"]
    assert seal(file) == 40
    assert seal(file) == 0
    assert examine(file).findings == ()


async def test_a_compaction_of_a_newer_program_is_no_damage(file: Path) -> None:
    newer = (b"\x00" + msgspec.json.encode({"version": 99, "record": {}})).hex()
    _change(file, f"UPDATE compactions SET record = x'{newer}', checksum = NULL WHERE number = 2")
    (only,) = examine(file).findings
    assert (only.check, "update autocompact" in only.what, "restore" in only.next) == (
        "compactions",
        True,
        False,
    )
    async with SqliteStore(file) as store:
        with pytest.raises(StoreTooNew, match="version 99"):
            await store.load(bit_flips.KEYS[0])


async def test_what_cannot_be_examined_is_refused(tmp_path: Path, file: Path) -> None:
    with pytest.raises(StoreUnavailable, match="there is no file"):
        examine(tmp_path / "missing.db")
    with pytest.raises(StoreUnavailable, match="is not a file"):
        examine(tmp_path)
    (tmp_path / "notes.txt").write_bytes(b"notes" * 100)
    with pytest.raises(StoreCorrupt, match="not a database"):
        examine(tmp_path / "notes.txt")
    _change(file, "PRAGMA user_version = 99")
    with pytest.raises(StoreTooNew):
        examine(file)


# What a store says of damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        ("UPDATE messages SET body = zeroblob(20) WHERE id = (1 << 24) + 37", "message 37"),
        ("UPDATE messages SET body = x'01ff' WHERE id = (1 << 24) + 37", "message 37"),
        ("DELETE FROM messages WHERE id = (1 << 24) + 37", "message 37 is missing"),
        ("UPDATE conversations SET last_seq = 41 WHERE id = 1", "the entry of conversation"),
        ("UPDATE conversations SET state = x'00' WHERE id = 1", "the entry of conversation"),
        ("UPDATE compactions SET record = x'01ff' WHERE number = 2", "compaction 'c1'"),
        ("DELETE FROM compactions WHERE number = 2", "compaction 'c1', which is active, is missing"),
    ],
)
async def test_damage_is_refused_with_file_conversation_and_message(file: Path, sql: str, where: str) -> None:
    key = bit_flips.KEYS[0]
    _change(file, sql)
    async with SqliteStore(file) as store:
        with pytest.raises(StoreCorrupt) as caught:
            await store.load(key)
        for said in (str(file), key.conversation, where, "autocompact doctor"):
            assert said in str(caught.value)
        assert (await store.load(bit_flips.KEYS[1])).last_seq == 40  # the others can be read
        assert await store.delete(key)  # and the damaged one can go


@pytest.mark.parametrize("body", ["x''", "x'02'", "x'0093c1'", "x'0081a372617701'", "zeroblob(9)", "x'01'"])
async def test_only_store_errors_leave_a_store_also_for_rows_without_a_checksum(
    file: Path, body: str
) -> None:
    _change(file, f"UPDATE messages SET body = {body}, checksum = NULL WHERE id = (1 << 24) + 37")
    _change(file, f"UPDATE compactions SET record = {body}, checksum = NULL WHERE number = 1")
    async with SqliteStore(file) as store:
        for work in (store.load(bit_flips.KEYS[0]), store.compactions(bit_flips.KEYS[0])):
            with pytest.raises(StoreError):
                await work


def _spoil_names(file: Path) -> None:
    """Flip a bit of one name in the index of the names; the table stays as it is."""
    connection = connect(file)
    root = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_conversations_1'"
    ).get
    connection.close()
    content = bytearray(file.read_bytes())
    content[content.index(b"talk-3", (root - 1) * 4096, root * 4096) + 5] ^= 0x40
    file.write_bytes(content)


async def test_a_conversation_that_the_index_of_names_lost_is_not_taken_for_a_new_one(file: Path) -> None:
    _spoil_names(file)
    async with SqliteStore(file) as store:
        with pytest.raises(StoreCorrupt, match="index of the conversations' names is damaged"):
            await store.load(Key(conversation="talk-99", namespace="a"))
        with pytest.raises(StoreCorrupt):
            await store.conversations("a")
    assert examine(file).problems


async def test_no_flipped_bit_is_silent(tmp_path: Path) -> None:
    counts = await bit_flips.experiment(turns(30, long=200), seed=3)
    assert counts.get("SILENT", 0) == 0
    assert counts["refused when read"] > 5


async def test_a_damaged_entry_is_not_sealed_by_what_catches_up_with_the_index(file: Path) -> None:
    _change(file, "UPDATE conversations SET title = 'x', indexed_seq = 39 WHERE id = 1")
    async with SqliteStore(file) as store:
        with pytest.raises(StoreCorrupt, match="the entry of conversation 'talk-0' is damaged"):
            await store.load(bit_flips.KEYS[0])
        assert (await store.load(bit_flips.KEYS[1])).last_seq == 40


# Backups -------------------------------------------------------------------------------------------------------


async def test_a_backup_holds_everything_while_others_write(file: Path, tmp_path: Path) -> None:
    async with SqliteStore(file) as store:
        await store.append(KEY, talk("user", "assistant"), after=0)
        copy, expected = tmp_path / "copy.db", await bit_flips.read(file)
        found = back_up(file, copy)
        await store.append(KEY, [text_message(3, "user", "later")], after=2)
    assert found.counts["conversations"] == 25
    assert copy.stat().st_mode & 0o777 == 0o600
    assert contents(tmp_path).keys() == {"chats.db", "copy.db"}
    assert await bit_flips.read(copy) == expected
    async with SqliteStore(copy) as store:
        assert (await store.load(KEY)).last_seq == 2


async def test_a_backup_is_made_while_another_writes_and_has_what_was_committed(
    file: Path, tmp_path: Path
) -> None:
    writer = connect(file)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE conversations SET title = 'half done'")
    assert back_up(file, tmp_path / "copy.db").problems == ()
    writer.execute("ROLLBACK")
    writer.close()
    assert (await bit_flips.read(tmp_path / "copy.db")) == await bit_flips.read(file)


async def test_a_backup_overwrites_nothing_unless_it_is_told_to(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"mine")
    with pytest.raises(InvalidInput, match="--overwrite"):
        back_up(file, copy)
    assert copy.read_bytes() == b"mine"
    back_up(file, copy, overwrite=True)
    assert examine(copy).problems == ()
    with pytest.raises(InvalidInput, match="is the store itself"):
        back_up(file, file, overwrite=True)
    with pytest.raises(StoreUnavailable, match="no folder"):
        back_up(file, tmp_path / "missing" / "copy.db")
    with pytest.raises(StoreUnavailable, match="there is no file"):
        back_up(tmp_path / "missing.db", tmp_path / "other.db")


async def test_a_damaged_file_is_not_backed_up_and_leaves_no_half_copy(file: Path, tmp_path: Path) -> None:
    _change(file, "UPDATE messages SET body = zeroblob(20) WHERE id = (1 << 24) + 7")
    with pytest.raises(StoreCorrupt, match="no backup was made: conversation 'talk-0', message 7"):
        back_up(file, tmp_path / "copy.db")
    assert contents(tmp_path).keys() == {"chats.db"}
