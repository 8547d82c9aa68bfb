import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.memory.documents.context_archive import ArchiveEntry
from autocompact.memory.documents.erasing import Subject, erased
from autocompact.memory.files.archive import append_to_archive
from tests.house.source import ROOT
from tests.memory.documents.test_context_archive import record


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


def test_an_entry_that_does_not_fit_on_the_disk_leaves_no_half(tmp_path: Path):
    entry = ArchiveEntry(conversation="invoices", record=record(), peak_tokens=1, transcript="-")
    before = append_to_archive(tmp_path, entry).read_bytes()
    script = (
        "import resource, sys; from pathlib import Path; from autocompact.memory.files.archive import append_to_archive;"
        "from autocompact.memory.documents.context_archive import ArchiveEntry;"
        "from tests.memory.documents.test_context_archive import record;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({len(before) + 100}, {len(before) + 100}));"
        "entry = ArchiveEntry(conversation='invoices', record=record(), peak_tokens=1, transcript='-');"
        "append_to_archive(Path(sys.argv[1]), entry)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert "No space left on device" in ended.stderr
    assert (tmp_path / "CONTEXT_ARCHIVE.md").read_bytes() == before


def test_a_text_that_was_cut_within_a_character_is_archived(tmp_path: Path):
    cut = replace(record(), summary="Ships \ud83d")
    entry = ArchiveEntry(conversation="invoices", record=cut, peak_tokens=1, transcript="-")
    assert "> Ships ?\n" in append_to_archive(tmp_path, entry).read_text("utf-8")


def test_an_archive_stays_readable_whatever_characters_a_summary_holds(tmp_path: Path):
    said = replace(record(), summary="Ships \0 sail\x1b[31m\n\tat noon")
    entry = ArchiveEntry(conversation="invoices", record=said, peak_tokens=1, transcript="-")
    content = append_to_archive(tmp_path, entry).read_bytes()
    assert "> Ships \ufffd sail\ufffd[31m\n> \tat noon\n" in content.decode()
    assert erased(content, Subject(conversation="invoices"), name="x").entries == 1


def test_a_hand_written_archive_keeps_its_beginning(tmp_path: Path):
    path = tmp_path / "CONTEXT_ARCHIVE.md"
    path.write_bytes(b"# My own\r\n")
    append_to_archive(
        tmp_path, ArchiveEntry(conversation="x", record=record(), peak_tokens=1, transcript="-")
    )
    assert path.read_bytes().startswith(b"# My own\r\n\n## ")
    assert b"# Context archive" not in path.read_bytes()
