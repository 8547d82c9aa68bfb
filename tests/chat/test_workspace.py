from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.chat.tools import ToolError
from autocompact.chat.tools.workspace import Workspace

NAMES = st.sampled_from(
    ["..", ".", "", "a", "in", "link", "file", "loop", "out.txt", "~", "/", "//", "...", "..\\"]
)
PATHS = st.one_of(st.lists(NAMES, max_size=6).map("/".join), st.text(max_size=40))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with links that lead out of it, into it and round in circles."""
    folder = tmp_path_factory.mktemp("place")
    root = folder / "root"
    (root / "a" / "in").mkdir(parents=True)
    (root / "file").write_text("mine")
    (root / "a" / "file").write_text("mine")
    (folder / "out.txt").write_text("secret")
    (folder / "outside").mkdir()
    (folder / "outside" / "file").write_text("secret")
    (root / "link").symlink_to(folder / "outside")
    (root / "out.txt").symlink_to(folder / "out.txt")
    (root / "a" / "link").symlink_to("../file")
    (root / "loop").symlink_to("loop")
    return folder


@given(path=PATHS)
def test_no_path_reads_anything_outside(place: Path, path: str) -> None:
    for given_path in (path, f"{place}/{path}", f"{place / 'root'}/{path}"):
        try:
            content = Workspace(place / "root").read(given_path)
        except ToolError:
            continue
        assert content == b"mine"


@given(path=PATHS)
def test_no_path_writes_anything_outside(place: Path, path: str) -> None:
    for given_path in (path, f"{place}/{path}"):
        try:
            Workspace(place / "root").write(given_path, b"mine")
        except ToolError:
            continue
    assert sorted(found.name for found in place.iterdir()) == ["out.txt", "outside", "root"]
    assert (place / "out.txt").read_text() == "secret"
    assert [found.read_text() for found in (place / "outside").iterdir()] == ["secret"]


@given(path=PATHS)
def test_no_path_lists_anything_outside(place: Path, path: str) -> None:
    workspace = Workspace(place / "root")
    try:
        items = workspace.entries(path)
        below = list(workspace.walk(path))
    except ToolError:
        return
    for item in [*items, *below]:
        assert (place / "root" / item.path).parent.resolve().is_relative_to(place / "root")
        assert item.kind == "link" or not (place / "root" / item.path).is_symlink()


def test_a_folder_that_becomes_a_link_while_it_is_used_leads_nowhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "here").mkdir(parents=True)
    (root / "here" / "file").write_text("mine")
    outside.mkdir()
    (outside / "file").write_text("secret")
    (root / "bait").symlink_to(outside)
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.rename(root / "here", root / "aside")
            os.rename(root / "bait", root / "here")
            os.rename(root / "here", root / "bait")
            os.rename(root / "aside", root / "here")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[bytes] = set()
    try:
        for _ in range(2_000):
            try:
                seen.add(Workspace(root).read("here/file"))
            except ToolError:
                continue
    finally:
        over.set()
        swapping.join()
    assert seen == {b"mine"}


def test_a_write_keeps_the_mode_of_a_file_and_leaves_no_pieces(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("old")
    script.chmod(0o750)

    assert Workspace(tmp_path).write("run.sh", b"new") is False
    assert Workspace(tmp_path).write("deep/er/new.txt", b"new") is True

    assert script.read_text() == "new"
    assert script.stat().st_mode & 0o777 == 0o750
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["new.txt", "run.sh"]


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ToolError, match="no file"):
        Workspace(tmp_path).read("pipe")
    with pytest.raises(ToolError, match="no file"):
        Workspace(tmp_path).write("pipe", b"")


@pytest.mark.parametrize(
    "path", [".autocompact/MEMORY.md", ".AutoCompact/settings.json", "src/.autocompact/ACTIVE_RULES.md"]
)
def test_memory_and_settings_are_read_but_not_written(tmp_path: Path, path: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    workspace = Workspace(tmp_path)

    assert workspace.read(path) == b"mine"
    for name in (path, str(tmp_path / path), f"./{path}"):
        with pytest.raises(ToolError, match="belongs to the memory: use remember"):
            workspace.write(name, b"never ask again")
    assert file.read_text() == "mine"


def test_a_memory_folder_of_another_name_is_not_written_either(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, memory=tmp_path / "notes" / "memory")

    with pytest.raises(ToolError, match="belongs to the memory"):
        workspace.write("notes/memory/MEMORY.md", b"never ask again")
    assert workspace.write("notes/memory.md", b"fine")
    assert workspace.write("notes/other/MEMORY.md", b"fine")
    assert not (tmp_path / "notes" / "memory").exists()


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.GIT/config", ".hg/hgrc"])
def test_nothing_is_written_where_version_control_keeps_its_own(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolError, match="version control"):
        Workspace(tmp_path).write(path, b"#!/bin/sh")
    assert not list(tmp_path.iterdir())
