"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from autocompact.runtime.files import (
    close_to_others,
    give_name,
    make_file,
    make_folder,
    read_file,
    replace_file,
)


def test_a_new_file_holds_the_content_and_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    replace_file(tmp_path / "out.md", b"context")
    assert (tmp_path / "out.md").read_bytes() == b"context"
    assert [path.name for path in tmp_path.iterdir()] == ["out.md"]


def test_the_pieces_are_joined(tmp_path: Path) -> None:
    replace_file(tmp_path / "out.md", (piece for piece in (b"con", b"", b"text")))
    assert (tmp_path / "out.md").read_bytes() == b"context"


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    replace_file(tmp_path / "out", b"")
    make_file(tmp_path / "made")
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_all_folders_that_are_made_are_for_their_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    folders = (tmp_path, tmp_path / "a", tmp_path / "a" / "b")
    assert [stat.S_IMODE(path.stat().st_mode) for path in folders] == [0o755, 0o700, 0o700]


def test_a_file_that_is_there_is_not_emptied_and_can_be_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"kept")
    path.chmod(0o644)
    make_file(path)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"kept", 0o644)
    for _ in range(2):
        close_to_others(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    close_to_others(tmp_path / "nowhere")


def test_an_existing_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old and longer")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_whoever_has_the_old_file_open_goes_on_reading_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        replace_file(path, b"new")
        assert reader.read() == b"old"


def test_an_error_while_the_pieces_are_made_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        replace_file(path, pieces())
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_a_missing_folder_and_a_folder_in_its_place_are_errors_that_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "missing" / "out", b"x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        replace_file(tmp_path / "folder", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_link_stays_a_link_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    replace_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_name_of_the_longest_length_can_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    replace_file(path, b"x")
    assert path.read_bytes() == b"x"


def test_a_device_is_written_to_and_not_replaced() -> None:
    null = Path(os.devnull)
    replace_file(null, b"gone")
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, [b"one ", b"two"])
    reader.join()
    assert received == [b"one two"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("never_ends", ["/dev/zero", "pipe"])
def test_what_may_never_end_is_not_read(tmp_path: Path, never_ends: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "settings.json").symlink_to(tmp_path / never_ends)
    with pytest.raises(OSError, match=r"device or a pipe, which may never end: '.*settings\.json'"):
        read_file(tmp_path / "settings.json")
    (tmp_path / "own.json").write_bytes(b"{}")
    assert read_file(tmp_path / "own.json") == b"{}"


def test_where_the_file_system_has_no_second_names_the_file_that_is_there_stays(tmp_path: Path) -> None:
    # a folder cannot have a second name on any file system, as no file on FAT
    made, there = tmp_path / "made", tmp_path / "there"
    made.mkdir()
    there.write_bytes(b"somebody's")
    with pytest.raises(FileExistsError):
        give_name(made, there)
    assert there.read_bytes() == b"somebody's"
    give_name(made, tmp_path / "free")
    assert (tmp_path / "free").is_dir()
