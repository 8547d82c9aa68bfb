"""What the Makefile's targets leave alone: conversations that nobody could make again."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.house.source import ROOT


def _make(folder: Path, *arguments: str) -> int:
    """Run a target of the project's Makefile in another folder; its exit code."""
    shutil.copy(ROOT / "Makefile", folder)
    return subprocess.run(("make", *arguments), cwd=folder, capture_output=True, check=False).returncode


def test_cleaning_keeps_the_conversations_of_agents_and_removes_the_rest_of_build(tmp_path: Path) -> None:
    kept = {"gateway.db", "gateway.db-wal", "gateway.db.before-update"}
    for name in (*kept, "gateway.log", "site/index.html", "site/old.db/x"):
        path = tmp_path / "build" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert _make(tmp_path, "clean") == 0
    assert {path.name for path in (tmp_path / "build").rglob("*")} == kept


def test_cleaning_leaves_no_empty_folder_and_needs_none(tmp_path: Path) -> None:
    (tmp_path / "build" / "site").mkdir(parents=True)
    assert (_make(tmp_path, "clean"), _make(tmp_path, "clean")) == (0, 0)
    assert not (tmp_path / "build").exists()


def test_an_example_that_cannot_be_made_takes_no_copy_of_an_older_store_along(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "autocompact"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\ntouch build/gateway.db build/gateway.db-wal\nexit 1\n")
    program.chmod(0o755)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "gateway.db.before-update").touch()
    assert _make(tmp_path, "build/gateway.db") == 2
    assert {path.name for path in (tmp_path / "build").iterdir()} == {
        "gateway.db.before-update",
        "gateway.log",
    }
