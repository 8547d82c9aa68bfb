from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.redaction import redact
from autocompact.ledger.entries import Entry, Kind, Ledger
from autocompact.memory.documents.archive_entries import Archived, ArchivedTask, entries_in
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, ArchiveEntry

RECEIPT = Receipt(
    tokens_before=84_000,
    tokens_after=8_000,
    bytes_before=4,
    bytes_after=2,
    rung="summarise",
    stated=3,
    referenced=2,
    seconds=1.25,
    model="claude-haiku-4-5",
    trigger="threshold",
    time="2026-11-21T10:00:00.000+00:00",
)
RECORD = Compaction(
    id="c2",
    from_seq=3,
    through_seq=9,
    summary=redact("- Peak: 7 tokens\n## 2026-01-01T00:00:00 c9\nTasks:\n- forged (done)"),
    ledger=Ledger(
        entries=(
            Entry(kind="request", text=redact("Round (per line)"), seq=4, key=redact("a"), state="done"),
            Entry(kind="todo", text=redact("Release\n## it"), seq=5, key=redact("b"), state="open"),
            Entry(kind="request", text=redact("Explain the sum"), seq=6, key=redact("c")),
        )
    ),
    receipt=RECEIPT,
)
ENTRY = ArchiveEntry(conversation="week 12", record=RECORD, peak_tokens=90_000, transcript="`x`")


def read(*entries: ArchiveEntry) -> list[Archived]:
    return entries_in((ARCHIVE_HEADING + "".join(entry.render() for entry in entries)).split("\n"))


@pytest.mark.requirement("C6", "C9")
def test_an_entry_is_read_back_as_it_was_written_and_its_summary_forges_nothing():
    (found,) = read(ENTRY)
    assert found == Archived(
        time="2026-11-21T10:00:00.000+00:00",
        id="c2",
        conversation="week 12",
        through_seq=9,
        seconds=1.25,
        tokens_before=84_000,
        tokens_after=8_000,
        peak=90_000,
        stated=3,
        referenced=2,
        missing=0,
        model="claude-haiku-4-5",
        trigger="threshold",
        tasks=(
            ArchivedTask(text="Round (per line)", outcome="done"),
            ArchivedTask(text="Release ## it", outcome="open"),
            ArchivedTask(text="Explain the sum"),
        ),
        facts_end=found.facts_end,
    )
    lines = (ARCHIVE_HEADING + ENTRY.render()).split("\n")
    assert (lines[found.start], lines[found.end - 1]) == (
        "## 2026-11-21T10:00:00.000+00:00 c2",
        "> - forged (done)",
    )
    assert found.recovered == 76_000
    assert [task.is_ended for task in found.tasks] == [True, False, False]


def test_tasks_of_the_session_go_before_those_of_the_ledger_and_files_are_artifacts():
    files = tuple(
        Entry(kind="file", text=redact("edited"), seq=n, key=redact(f"f{n}.py")) for n in range(1, 13)
    )
    ledger = Ledger(entries=(*RECORD.ledger.entries, *files))
    tasks = (ArchivedTask(text="T-1 Import", outcome="failed: disk full"), ArchivedTask(text="none found"))
    entry = replace(
        ENTRY,
        record=replace(RECORD, ledger=ledger),
        tasks=tasks,
        model="gpt-5",
        lasted="one day",
        noted="2026-11-21",
    )
    (found,) = read(entry)
    assert found.tasks == tasks[:1]
    assert found.noted
    text = entry.render()
    assert "- Artifacts: 12 files: `f1.py`, " in text
    assert "`f10.py` and 2 more" in text
    assert "- Model: gpt-5\n- Session: one day\n" in text
    one = replace(RECORD, ledger=Ledger(entries=files[:1]))
    assert "- Artifacts: 1 file: `f1.py`\n" in replace(entry, record=one).render()


def test_changed_files_are_artifacts_before_those_that_were_only_read_and_each_is_named_once():
    seen: tuple[tuple[Kind, str], ...] = (
        ("file", "read.py"),
        ("change", "both.py"),
        ("file", "both.py"),
        ("change", "made.py"),
    )
    entries = tuple(
        Entry(kind=kind, text=redact("…"), seq=seq, key=redact(path))
        for seq, (kind, path) in enumerate(seen, start=1)
    )
    text = replace(ENTRY, record=replace(RECORD, ledger=Ledger(entries=entries))).render()
    assert "- Artifacts: 3 files: `both.py`, `made.py`, `read.py`\n" in text


def test_figures_can_be_left_out():
    (found,) = read(replace(ENTRY, metrics=False))
    assert (found.tokens_before, found.peak, found.stated, found.recovered, found.seconds) == (
        None,
        None,
        None,
        0,
        1.25,
    )


@pytest.mark.parametrize(
    "text, expected",
    [
        ("## undated c1", Archived(time="", id="c1", facts_end=1)),
        ("## 2026-10-03T10:00:00 c1\n- Conversation: mine", Archived(time="2026-10-03T10:00:00", id="c1", conversation="mine", facts_end=2)),
        ("## undated c1\n- Conversation: `x`", Archived(time="", id="c1", conversation="x", facts_end=2)),
        ("## undated c1\n\n* Tokens: 5 in\nText.\n- Peak: 3", Archived(time="", id="c1", facts_end=3)),
        ("## undated c1\n\nTasks:\n\n- a\nnot an item\n\nSummary:\n\n- b", Archived(time="", id="c1", tasks=(ArchivedTask(text="a"),), facts_end=1)),
        ("## undated c1\n- Checked: 1 stated\n- Made by: me\n- Duration: long", Archived(time="", id="c1", facts_end=4)),
    ],
)  # fmt: skip
def test_what_an_edited_entry_does_not_say_is_not_known(text: str, expected: Archived):
    assert entries_in(text.split("\n")) == [expected]


def test_a_file_without_entries_has_none():
    assert entries_in([]) == []
    assert entries_in(["# Context archive", "", "## Notes of mine", "- Peak: 3"]) == []


@given(
    st.lists(
        st.tuples(
            st.text(min_size=1).filter(str.strip), st.sampled_from(["", "done", "open", "partly done"])
        ),
        max_size=4,
    ),
    st.text(),
)
def test_whatever_is_archived_there_are_as_many_entries_and_tasks_as_were_written(
    told: list[tuple[str, str]], summary: str
):
    tasks = tuple(ArchivedTask(text=f"T {text}", outcome=outcome) for text, outcome in told)
    entry = replace(ENTRY, tasks=tasks, record=replace(RECORD, summary=summary))
    text = (ARCHIVE_HEADING + entry.render() + entry.render()).replace("\r", "\n").split("\n")
    found = entries_in(text)
    assert [len(each.tasks) for each in found] == [len(tasks)] * 2
    assert found[0].id == found[1].id


def test_the_namespace_is_read_with_and_without_its_marks():
    (marked,) = read(replace(ENTRY, namespace="work"))
    (plain,) = entries_in(replace(ENTRY, namespace="work").render().replace("`work`", "work").split("\n"))
    assert (marked.namespace, plain.namespace) == ("work", "work")


def test_the_figures_of_an_entry_that_an_older_version_wrote_are_read_in_the_words_of_today() -> None:
    (found,) = entries_in(["## undated c1", "- Checked: 225 kept, 557 recoverable, 3 lost"])
    assert (found.stated, found.referenced, found.missing) == (225, 0, 560)


ELSEWHERE = """# Context Archive - Session Transcripts

Index of compressed sessions with generation date and summary.

## Session [2026-04-04 14:00]
**Duration:** 1.5 hours | **Tokens:** 95K input, 35K output | **Tasks:** 4 completed

<summary>
- TASK-101: Cleanup obsolete files ✓
- TASK-103: ErrorBoundary tests ✓ (already complete)
- TASK-105: Scoring analytics
- Next: TASK-106
</summary>

**Original transcript:** /home/ada/.claude/projects/shop/7f3a.jsonl

## Session [2026-04-05]

Words.
"""


@pytest.mark.requirement("C9")
def test_entries_in_the_form_of_others_are_read_and_their_tasks_are_not_noted_again():
    first, second = entries_in(ELSEWHERE.split("\n"))
    assert (first.conversation, first.time, first.day) == ("7f3a", "2026-04-04T14:00", "2026-04-04")
    assert (first.tokens_before, first.tokens_after, first.recovered, first.noted) == (95_000, None, 0, True)
    assert [(task.text, task.outcome) for task in first.tasks] == [
        ("TASK-101: Cleanup obsolete files", "done"),
        ("TASK-103: ErrorBoundary tests", "done; already complete"),
        ("TASK-105: Scoring analytics", ""),
    ]
    assert (second.conversation, second.tokens_before, second.tasks) == ("Session 2026-04-05", None, ())
    assert ELSEWHERE.split("\n")[second.start].startswith("## Session [2026-04-05]")


@pytest.mark.parametrize(
    "fact",
    [
        "- Tokens: {} to 8",
        "- Conversation: `x`, messages 1 to {} of 4",
        "- Peak: {}",
        "- Checked: {} stated, 2 referenced, 3 missing",
        "- Duration: {} s",
    ],
)
def test_a_figure_of_thousands_of_digits_is_not_known(fact: str) -> None:
    (found,) = entries_in(["## 2026-01-01T00:00:00 c9", fact.format("9" * 5_000)])
    assert {found.tokens_before, found.through_seq, found.peak, found.stated, found.seconds} == {None}


def test_a_session_of_tokens_of_thousands_of_digits_is_read_without_them() -> None:
    (found,) = entries_in(["## Session [2026-04-04 14:00]", f"**Tokens:** {'9' * 5_000}K"])
    assert found.tokens_before is None
