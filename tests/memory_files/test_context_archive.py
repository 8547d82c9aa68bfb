from pathlib import Path

import pytest

from autocompact.core.memory.context_archive import ArchiveEntry
from autocompact.memory_files import append_to_archive
from tests.core.memory.test_context_archive import record


@pytest.mark.requirement("C9")
def test_every_compaction_adds_an_entry_and_keeps_what_stands_there(tmp_path: Path):
    folder = tmp_path / "memory"
    entry = ArchiveEntry(conversation="invoices", record=record(), peak_tokens=1, transcript="-")
    path = append_to_archive(folder, entry)
    first = path.read_bytes()
    append_to_archive(folder, entry)
    assert path.name == "CONTEXT_ARCHIVE.md"
    assert path.read_bytes() == first + entry.render().encode()
    assert first.startswith(b"# Context archive")


def test_a_hand_written_archive_keeps_its_beginning(tmp_path: Path):
    path = tmp_path / "CONTEXT_ARCHIVE.md"
    path.write_bytes(b"# My own\r\n")
    append_to_archive(
        tmp_path, ArchiveEntry(conversation="x", record=record(), peak_tokens=1, transcript="-")
    )
    assert path.read_bytes().startswith(b"# My own\r\n\n## ")
    assert b"# Context archive" not in path.read_bytes()
