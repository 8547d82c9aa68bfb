from __future__ import annotations

import errno
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from autocompact.errors import MemoryInUse, StoreUnavailable
from autocompact.memory.files.changes import (
    BACKUPS,
    JOURNAL,
    LOCK,
    Change,
    Written,
    locked,
    read_files,
    recover,
    write,
)

BEFORE = {"from.md": b"entry\n", "to.md": b"old\n"}
AFTER = {"from.md": b"", "to.md": b"old\nentry\n", "new.md": b"index\n"}
CHANGE = Change(before=BEFORE, after=AFTER, sources=("from.md",), backup="run")


class Died(BaseException):
    """The process ends here."""


def dying(step: str):
    def reach(reached: str) -> None:
        if reached == step:
            raise Died

    return reach


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in BEFORE.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.md")}


def test_all_files_change_and_the_old_ones_are_in_the_backup(folder: Path):
    assert write(folder, CHANGE) == Written(backup=folder / BACKUPS / "run")
    assert contents(folder) == AFTER
    assert contents(folder / BACKUPS / "run") == BEFORE
    assert not (folder / JOURNAL).exists()


def test_two_backups_of_one_second_have_two_names(folder: Path):
    write(folder, CHANGE)
    back = Change(before=AFTER, after=BEFORE, backup="run")
    assert write(folder, back) == Written(backup=folder / BACKUPS / "run-2")
    assert write(folder, Change(before=BEFORE, after={"from.md": b"x"})) == Written(backup=None)


def test_where_a_file_was_edited_meanwhile_nothing_is_written(folder: Path):
    (folder / "to.md").write_bytes(b"edited\n")
    assert write(folder, CHANGE) is None
    assert contents(folder) == {"from.md": b"entry\n", "to.md": b"edited\n"}


@pytest.mark.parametrize("step", ["staged old from.md", "staged new new.md"])
def test_what_died_before_its_plan_stood_is_undone(folder: Path, step: str):
    with pytest.raises(Died):
        write(folder, CHANGE, failpoint=dying(step))
    assert recover(folder) == "undone"
    assert contents(folder) == BEFORE
    assert recover(folder) is None


@pytest.mark.parametrize(
    "step", ["planned", "replaced to.md", "replaced new.md", "replaced from.md", "backed up"]
)
def test_what_died_after_that_is_finished(folder: Path, step: str):
    with pytest.raises(Died):
        write(folder, CHANGE, failpoint=dying(step))
    assert recover(folder) == "finished"
    assert contents(folder) == AFTER
    assert contents(folder / BACKUPS / "run") == BEFORE


@pytest.mark.parametrize(
    "step, after",
    [
        ("staged old from.md", BEFORE),
        ("staged new new.md", BEFORE),
        ("planned", BEFORE),
        ("replaced to.md", BEFORE),
        ("replaced new.md", BEFORE),
        ("replaced from.md", AFTER),
        ("backed up", AFTER),
        ("unplanned", AFTER),
        ("cleared", AFTER),
    ],
)
def test_what_a_full_disk_stops_is_undone_at_once_or_whole(folder: Path, step: str, after: dict[str, bytes]):
    def full(reached: str) -> None:
        if reached == step:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder / "to.md"))

    with pytest.raises(StoreUnavailable, match=r"to\.md: No space left on device"):
        write(folder, CHANGE, failpoint=full)
    assert contents(folder) == after
    with locked(folder):
        assert contents(folder) == after
        assert not (folder / JOURNAL).exists()


def test_what_is_too_large_for_the_disk_changes_nothing(folder: Path):
    script = (
        "import resource, sys; from pathlib import Path; from autocompact.memory.files.changes import Change, write;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        "write(Path(sys.argv[1]), Change(before={}, after={'a.md': b'a', 'new.md': b'x' * 9999}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False
    )
    assert "StoreUnavailable" in ended.stderr
    assert contents(folder) == BEFORE
    assert not (folder / JOURNAL).exists()


@pytest.mark.parametrize("step", ["unplanned", "cleared"])
def test_what_died_when_all_was_done_stays_done(folder: Path, step: str):
    with pytest.raises(Died):
        write(folder, CHANGE, failpoint=dying(step))
    recover(folder)
    assert contents(folder) == AFTER
    assert not (folder / JOURNAL).exists()


@pytest.mark.parametrize("step", ["planned", "replaced to.md", "replaced new.md", "replaced from.md"])
@pytest.mark.parametrize("name", ["from.md", "to.md", "new.md"])
def test_an_edit_after_a_death_is_kept_and_no_entry_is_lost(folder: Path, step: str, name: str):
    with pytest.raises(Died):
        write(folder, CHANGE, failpoint=dying(step))
    with (folder / name).open("ab") as file:
        file.write(b"mine\n")
    recover(folder)
    assert b"mine\n" in (folder / name).read_bytes()
    assert b"entry\n" in (folder / "from.md").read_bytes() + (folder / "to.md").read_bytes()
    assert not (folder / JOURNAL).exists()


def test_an_edit_in_the_middle_of_a_change_takes_it_back(folder: Path):
    def edit(reached: str) -> None:
        if reached == "replaced to.md":
            (folder / "new.md").write_bytes(b"mine\n")

    assert write(folder, CHANGE, failpoint=edit) is None
    assert contents(folder) == {**BEFORE, "new.md": b"mine\n"}


def test_a_folder_keeps_what_is_autocompacts_own_out_of_the_repository_whoever_made_it(tmp_path: Path):
    folder = tmp_path / "a" / "memory"
    with locked(folder):
        assert read_files(folder, ("DONE.md",)) == {}
    ignored = (folder / ".gitignore").read_text().split("\n")
    assert {f"/{LOCK}", f"/{JOURNAL}/", f"/{BACKUPS}/"} <= set(ignored)
    with locked(tmp_path):
        pass
    assert (tmp_path / ".gitignore").read_bytes() == (folder / ".gitignore").read_bytes()
    (folder / ".gitignore").write_text("mine\n")
    with locked(folder):
        pass
    assert (folder / ".gitignore").read_text() == "mine\n"


def test_a_file_that_is_read_only_is_refused_and_nothing_changes(folder: Path):
    before = contents(folder)
    (folder / "from.md").chmod(0o444)
    with locked(folder), pytest.raises(StoreUnavailable, match=r"from\.md' is read-only.*chmod u\+w"):
        write(folder, CHANGE)
    assert contents(folder) == before
    assert not (folder / JOURNAL).exists()
    (folder / "from.md").chmod(0o644)
    with locked(folder):
        assert write(folder, CHANGE) is not None


def test_only_one_at_a_time_and_whoever_comes_next_mends_what_is_left(folder: Path):
    with pytest.raises(Died), locked(folder):
        write(folder, CHANGE, failpoint=dying("planned"))
    with locked(folder):
        assert contents(folder) == AFTER
        refused: list[BaseException] = []

        def other() -> None:
            try:
                with locked(folder, patience=0.05):
                    pass
            except MemoryInUse as error:
                refused.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "try again when it has ended" in str(refused[0])
    with FileLock(folder / LOCK, timeout=1):
        pass


def test_what_the_disk_refuses_is_told_with_the_folder(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    with (
        pytest.raises(StoreUnavailable, match=r"file/memory.*Not a directory"),
        locked(tmp_path / "file" / "memory"),
    ):
        pass
    (tmp_path / "DONE.md").mkdir()
    with pytest.raises(StoreUnavailable, match="Is a directory"):
        read_files(tmp_path, ("DONE.md",))


def test_a_link_of_a_repository_that_leads_to_a_device_is_named(folder: Path):
    (folder / "OBSERVATIONS.md").symlink_to("/dev/zero")
    with pytest.raises(StoreUnavailable, match=r"OBSERVATIONS\.md: it is a device or a pipe"):
        read_files(folder, ["OBSERVATIONS.md"])
