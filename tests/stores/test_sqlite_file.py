"""Files that cannot be used are refused with a clear error, and stay as they are."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import apsw
import pytest

from autocompact.core.messages import text_message
from autocompact.errors import Conflict, InvalidInput, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_file import check_file
from autocompact.testing import FakeClock
from tests.stores.support import ask, child, connect, contents, finish

pytestmark = pytest.mark.anyio

KEY = Key(conversation="talk")
MESSAGE = text_message(1, "user", "words")


def oct_modes(modes: tuple[int, int]) -> str:
    return " ".join(map(oct, modes))


def protect(folder: Path, file_mode: int, *, folder_mode: int) -> None:
    (folder / "chats.db").chmod(file_mode)
    folder.chmod(folder_mode)


async def _written(path: Path, messages: int = 40) -> SqliteStore:
    store = SqliteStore(path, busy_seconds=0.05)
    log = [
        text_message(seq, "user", f"words {seq} {os.urandom(500).hex()}") for seq in range(1, messages + 1)
    ]
    await store.append(KEY, log, after=0)
    return store


async def _refused(path: Path, error: type[StoreError]) -> str:
    store = SqliteStore(path, busy_seconds=0.05)
    with pytest.raises(error) as raised:
        await store.read(KEY)
    with pytest.raises(error):
        await store.append(KEY, [text_message(41, "user", "more")], after=40)
    await store.aclose()
    return str(raised.value)


async def test_a_store_without_a_file_is_refused_and_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"':memory:' is no file, .* use MemoryStore"):
        SqliteStore(":memory:")
    assert not contents(tmp_path)


async def test_a_closed_store_leaves_one_file(tmp_path: Path) -> None:
    store = await _written(tmp_path / "chats.db")
    await store.aclose()
    await store.aclose()
    assert list(contents(tmp_path)) == ["chats.db"]
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.load(KEY)


async def test_nothing_is_opened_before_the_first_use(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db")
    await store.aclose()
    assert contents(tmp_path) == {}


async def test_a_file_of_a_newer_program_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    await (await _written(path)).aclose()
    connection = connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = contents(tmp_path)
    assert "99" in await _refused(path, StoreTooNew)
    assert contents(tmp_path) == before


async def test_a_newer_version_that_is_only_in_the_write_ahead_log_is_noticed_too(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    await (await _written(path)).aclose()
    connection = connect(path)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = contents(tmp_path, but=[".db-shm"])
    assert set(before) == {"chats.db", "chats.db-wal"}
    await _refused(path, StoreTooNew)
    assert contents(tmp_path, but=[".db-shm"]) == before


@pytest.mark.parametrize(
    "content", [b"x", b"Dear diary,\n" * 1000, bytes(8192), b"SQLite format 3\x00" * 100]
)
async def test_what_is_no_database_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "chats.db"
    path.write_bytes(content)
    assert "not a database" in await _refused(path, StoreCorrupt)
    assert contents(tmp_path) == {"chats.db": content}


async def test_a_database_of_another_program_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    connection = connect(path)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = contents(tmp_path)
    assert "another program" in await _refused(path, StoreCorrupt)
    assert contents(tmp_path) == before


async def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    path.touch()
    await (await _written(path)).aclose()
    assert path.stat().st_size > 0


async def test_a_folder_or_a_path_without_one_is_refused(tmp_path: Path) -> None:
    assert "is not a file" in await _refused(tmp_path, StoreUnavailable)
    assert "no folder" in await _refused(tmp_path / "missing" / "chats.db", StoreUnavailable)
    assert contents(tmp_path) == {}


async def test_a_store_that_could_not_be_opened_works_once_it_can(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "later" / "chats.db")
    with pytest.raises(StoreUnavailable):
        await store.load(KEY)
    (tmp_path / "later").mkdir()
    assert (await store.load(KEY)).last_seq == 0
    await store.aclose()


@pytest.mark.parametrize("damage", ["overwritten", "cut off"])
async def test_a_damaged_file_is_reported_and_not_touched(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "chats.db"
    await (await _written(path)).aclose()
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        whole[:4096] if damage == "cut off" else whole[:4096] + b"\xaa" * middle + whole[4096 + middle :]
    )
    before = contents(tmp_path)
    await _refused(path, StoreCorrupt)
    assert contents(tmp_path) == before


async def test_a_file_that_another_process_is_in_the_middle_of_writing_is_not_called_damaged(
    tmp_path: Path,
) -> None:
    store = await _written(tmp_path / "whole.db")
    await store.aclose()
    whole, path = (tmp_path / "whole.db").read_bytes(), tmp_path / "chats.db"
    path.write_bytes(whole[:4096])  # the first page counts all pages, the others are yet to come
    waited: list[float] = []

    def written_meanwhile(seconds: float) -> None:
        waited.append(seconds)
        path.write_bytes(whole[: 8192 if len(waited) < 3 else len(whole)])

    check_file(path, pause=written_meanwhile)
    assert len(waited) == 3


async def test_a_file_locked_by_another_process_is_reported_and_works_once_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    await (await _written(path)).aclose()
    holder = child("hold_lock", path)
    assert ask(holder) == "locked"
    store = SqliteStore(path, busy_seconds=0.05)
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.read(KEY)
    holder.communicate("\n", timeout=60)
    assert len(await store.read(KEY)) == 40
    await store.aclose()


async def test_the_wait_for_a_lock_begins_when_something_is_asked_for(tmp_path: Path) -> None:
    path, clock = tmp_path / "chats.db", FakeClock()
    other = connect(path)
    steps: list[str] = []

    def fail_point(step: str) -> None:
        steps.append(step)
        if steps == ["append:begun"]:
            clock.advance(600)  # for so long the others wait for their turn
        if steps == ["append:begun", "append:written", "append:committed"]:
            other.execute("BEGIN IMMEDIATE")

    store = SqliteStore(path, busy_seconds=600, clock=clock, failpoint=fail_point)
    appends = [store.append(Key(conversation=str(n)), [MESSAGE], after=0) for n in range(20)]
    async with asyncio.timeout(60):
        first, *others = await asyncio.gather(*appends, return_exceptions=True)
    assert first is None
    assert {type(error) for error in others} == {StoreUnavailable}
    other.execute("ROLLBACK")
    other.close()
    await store.append(KEY, [MESSAGE], after=0)
    await store.aclose()


async def test_a_file_that_was_removed_is_begun_anew_and_a_folder_that_was_removed_is_reported(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    store = await _written(folder / "chats.db")
    shutil.rmtree(folder)
    with pytest.raises(StoreUnavailable, match="there is no folder"):
        await store.read(KEY)
    with pytest.raises(StoreUnavailable, match="there is no folder"):
        await store.append(KEY, [text_message(41, "user", "more")], after=40)
    folder.mkdir()
    with pytest.raises(Conflict):
        await store.append(KEY, [text_message(41, "user", "more")], after=40)
    assert await store.read(KEY) == ()
    await store.append(KEY, [MESSAGE], after=0)
    await store.aclose()
    again = SqliteStore(folder / "chats.db")
    assert len(await again.read(KEY)) == 1
    await again.aclose()


async def test_a_file_that_was_put_in_place_of_the_one_in_use_is_used(tmp_path: Path) -> None:
    store = await _written(tmp_path / "chats.db")
    await (await _written(tmp_path / "backup.db", messages=3)).aclose()
    for name in ("chats.db-wal", "chats.db-shm"):
        (tmp_path / name).unlink()
    (tmp_path / "backup.db").rename(tmp_path / "chats.db")
    assert len(await store.read(KEY)) == 3
    await store.append(KEY, [text_message(4, "user", "more")], after=3)
    await store.aclose()
    assert list(contents(tmp_path)) == ["chats.db"]


@pytest.fixture(params=[(0o444, 0o777), (0o444, 0o555), (0o666, 0o555)], ids=oct_modes)
async def protected(request: pytest.FixtureRequest) -> AsyncGenerator[Path]:
    """A folder with a store, of which the file, the folder or both cannot be written by others.

    It lies where everybody can enter, which pytest's own folders do not.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await (await _written(folder / "chats.db")).aclose()
        protect(folder, request.param[0], folder_mode=request.param[1])
        yield folder
        protect(folder, 0o644, folder_mode=0o755)


async def test_a_file_or_folder_that_cannot_be_written_is_reported_and_not_touched(protected: Path) -> None:
    before = contents(protected)
    stranger = child("open_unprivileged", protected)
    answer = ask(stranger)
    assert finish(stranger) == 0
    assert answer.startswith("StoreUnavailable")
    assert contents(protected) == before


async def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    writer = child("run_out_of_space", path, 600_000)
    problem, appended, readable = ask(writer).split()
    assert finish(writer) == 0
    assert problem == "StoreUnavailable"
    assert int(appended) == int(readable) > 0
    store = SqliteStore(path)
    log = await store.read(KEY)
    assert len(log) == int(appended) + 1
    assert log[-1].text == "last words"
    await store.aclose()


async def test_a_name_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db")
    with pytest.raises(InvalidInput, match="surrogate"):
        await store.load(Key(conversation="cut \ud83d"))
    await store.aclose()


async def test_a_conversation_with_more_messages_than_ids_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "chats.db")
    with pytest.raises(StoreError, match="at most"):
        await store.append(KEY, [text_message(1 << 24, "user", "too many")], after=(1 << 24) - 1)
    await store.aclose()
