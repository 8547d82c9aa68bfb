from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.errors import InvalidInput
from autocompact.memory.documents.archive_entries import entries_in
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, ArchiveEntry
from autocompact.memory.documents.erasing import Subject, erased, erased_tasks
from tests.memory.documents.test_context_archive import record

A, B = Subject(conversation="boats"), Subject(conversation="trains")


def entry(conversation: str, *, summary: str = "It was said.", namespace: str = "default") -> str:
    made = replace(record(), summary=summary)
    return ArchiveEntry(
        conversation=conversation, namespace=namespace, record=made, peak_tokens=1, transcript="-"
    ).render()


def without(text: str, subject: Subject) -> tuple[str, int]:
    found = erased(text.encode(), subject, name="CONTEXT_ARCHIVE.md")
    assert found.unread == ()
    return found.content.decode(), found.entries


@pytest.mark.requirement("C9")
def test_the_entries_of_a_conversation_go_and_every_other_line_stays():
    text = ARCHIVE_HEADING + entry("boats") + entry("trains") + entry("boats")
    assert without(text, A) == (ARCHIVE_HEADING + entry("trains"), 2)
    assert without(text, B) == (ARCHIVE_HEADING + entry("boats") + entry("boats"), 1)
    assert without(text, Subject(conversation="boat")) == (text, 0)


def test_what_a_person_wrote_between_entries_stays():
    text = (
        ARCHIVE_HEADING + entry("boats") + "\nMy own remark.\n\n# My notes\n\nKeep this.\n" + entry("trains")
    )
    left, entries = without(text, A)
    assert (left, entries) == (
        ARCHIVE_HEADING + "\nMy own remark.\n\n# My notes\n\nKeep this.\n" + entry("trains"),
        1,
    )


def test_line_ends_and_bytes_that_are_no_utf8_stay():
    kept = "# M\u00fcller\r\n\r\n".encode("latin-1")
    content = kept + entry("boats").replace("\n", "\r\n").encode()
    assert erased(content, A, name="x").content == kept.rstrip() + b"\r\n"


def test_a_namespace_has_its_own_conversations():
    mine, theirs = entry("boats"), entry("boats", namespace="work")
    text = ARCHIVE_HEADING + mine + theirs
    assert without(text, A) == (ARCHIVE_HEADING + theirs, 1)
    assert without(text, Subject(conversation="boats", namespace="work")) == (ARCHIVE_HEADING + mine, 1)


def test_an_entry_of_an_older_version_is_known_by_its_compaction():
    (made,) = entries_in(entry("boats").split("\n"))
    known = Subject(conversation="boats", namespace="work", records={(made.time, made.id)})
    assert without(ARCHIVE_HEADING + entry("boats"), known)[1] == 1
    assert without(ARCHIVE_HEADING + entry("boats"), replace(known, records=frozenset()))[1] == 0


def test_lines_that_name_the_conversation_outside_of_any_entry_are_told():
    broken = entry("boats").replace("## 2026", "### edited 2026")
    found = erased((entry("trains") + broken).encode(), A, name="x")
    assert (found.entries, len(found.unread)) == (0, 1)
    assert erased((entry("trains") + broken).encode(), Subject(conversation="boa"), name="x").unread == ()
    # a summary may quote such a line
    quoted = entry("trains", summary="- Conversation: `boats`")
    assert erased(quoted.encode(), A, name="x").unread == ()


def test_of_the_example_only_its_own_entries_go():
    example = Subject(conversation="example", is_example=True)
    own, mine = entry("example", summary="The offset in `tide_table.py` was fixed."), entry("example")
    assert without(ARCHIVE_HEADING + own + mine, example) == (ARCHIVE_HEADING + mine, 1)


ITEMS = """# Done

- 2026-11-02: Mend the boat
  - Outcome: done
  - Session: boats
- 2026-11-03: Paint the train
  - Outcome: done
  - Session: trains
- 2026-11-04: Buy tar, see Session: boats

My own remark on boats.
"""


def test_the_tasks_that_upkeep_noted_of_a_conversation_go_from_a_list():
    found = erased_tasks(ITEMS.encode(), A)
    mended = "- 2026-11-02: Mend the boat\n  - Outcome: done\n  - Session: boats\n"
    assert (found.content.decode(), found.entries) == (ITEMS.replace(mended, ""), 1)
    assert erased_tasks(ITEMS.encode(), Subject(conversation="boat")).content == ITEMS.encode()


def test_they_go_from_headings_too():
    first = "## Mend the boat\n\n- Date: 2026-11-02\n- Session: boats\n\n"
    second = "## Paint the train\n\n- Date: 2026-11-03\n- Session: trains\n"
    found = erased_tasks(f"# Done\n\n{first}{second}".encode(), A)
    assert (found.content.decode(), found.entries) == (f"# Done\n\n{second}", 1)


@pytest.mark.parametrize(
    "subject", [Subject(conversation="boats", namespace="b"), Subject(conversation="boats", is_example=True)]
)
def test_tasks_of_the_usual_namespace_only_are_known(subject: Subject):
    assert erased_tasks(ITEMS.encode(), subject).content == ITEMS.encode()


def test_what_is_no_text_is_refused():
    with pytest.raises(InvalidInput, match="NUL"):
        erased(b"\0", A, name="x")


@given(
    st.lists(st.sampled_from(["boats", "trains", "a `b`", "x, messages 1 to 2"]), max_size=6),
    st.text(max_size=30),
)
def test_whatever_the_names_and_summaries_are_no_entry_of_another_one_goes(names: list[str], summary: str):
    text = ARCHIVE_HEADING + "".join(entry(name, summary=summary) for name in names)
    content = text.encode("utf-8", "replace")
    found = erased(content, A, name="x")
    left = [each.conversation for each in entries_in(found.content.decode().split("\n"))]
    assert left == [name for name in names if name != "boats"]
    assert found.entries == names.count("boats")
    assert erased(found.content, A, name="x").content == found.content
