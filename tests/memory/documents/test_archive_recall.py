from dataclasses import replace

import pytest

from autocompact.memory.documents.archive_recall import archived_in, full_references, words_of
from autocompact.memory.documents.context_archive import ArchiveEntry
from tests.memory.documents.test_context_archive import record


def section(summary: str, *, name: str = "boats") -> str:
    made = replace(record(), summary=summary)
    return ArchiveEntry(conversation=name, record=made, peak_tokens=1, transcript="-").render().lstrip()


def test_a_section_of_the_archive_is_an_entry_and_one_of_another_file_is_none():
    assert archived_in("MEMORY.md", section("x")) is None
    assert archived_in("CONTEXT_ARCHIVE.md", "## My notes\n\nSomething.") is None
    assert archived_in("CONTEXT_ARCHIVE.md", "") is None
    entry = archived_in("CONTEXT_ARCHIVE.md", section("x"))
    assert entry is not None
    assert entry.conversation == "boats"


def test_the_words_of_an_entry_are_its_tasks_and_its_summary_without_figures():
    text = section("# State\n\n- The ketch leaks m4.")
    entry = archived_in("CONTEXT_ARCHIVE.md", text)
    assert entry is not None
    assert words_of(entry, text) == "# State\n\n- The ketch leaks m4."


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[m3]", "[boats:m3]"),
        ("- m3: leaks (m4, m5-m6)", "- boats:m3: leaks (boats:m4, boats:m5-boats:m6)"),
        ('memory_expand("m7") shows it. m8.', 'memory_expand("boats:m7") shows it. boats:m8.'),
        ("other:m3, src/m3, m3.py, m3/x, m12, 120 m2, am3, #m3", None),
    ],
)
def test_references_name_their_conversation_and_what_only_looks_like_one_stays(
    text: str, expected: str | None
):
    entry = archived_in("CONTEXT_ARCHIVE.md", section("x"))
    assert entry is not None
    assert entry.through_seq == 9
    assert full_references(entry, text) == (expected or text)
    assert full_references(replace(entry, through_seq=None), "m12") == "boats:m12"
