"""A store as the program before checksums wrote it: every command reads it, and goes on with it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.program import Program

WRITTEN = Path(__file__).with_name("store-of-version-4.db.gz")
"""Twelve messages and two compactions, written by the library one commit before the checksums."""


@pytest.mark.requirement("A3")
def test_a_store_of_before_the_checksums_is_read_kept_and_emptied(program: Program, tmp_path: Path) -> None:
    store, copy = tmp_path / "chats.db", tmp_path / "copy.db"
    store.write_bytes(gzip.decompress(WRITTEN.read_bytes()))
    store.chmod(0o600)

    def said(*arguments: str | Path) -> str:
        ended = program(*arguments, "--db", store)
        assert ended.code == 0, ended.err
        return ended.out.decode() + ended.err

    assert "it has schema version 4" in said("doctor")
    assert "Fix the rounding of invoice 0." in said("show", "old-talk")
    assert "old-talk:m11" in said("search", "invoice 5")
    assert "12 messages, 2 compactions" in said("backup", copy)
    exported = said("export", "old-talk")
    assert "compaction c2 undone, c1 is active again" in said("undo", "old-talk")
    assert "compaction c2 is active again" in said("restore", "old-talk")
    assert said("export", "old-talk").count('"role"') == exported.count('"role"')
    assert "without a checksum, of an older version: 12 messages" in said("doctor")
    assert "all is well" in said("doctor", "--seal")
    assert "without a checksum" not in said("doctor")
    assert "deleted, 12 messages" in said("delete", "old-talk", "--yes")
    assert "No conversations" in said("list")
