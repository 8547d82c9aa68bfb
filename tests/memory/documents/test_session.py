from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.memory.documents.archive_entries import ArchivedTask, entries_in
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.pages import DONE, TASK_ARCHIVE, Pages
from autocompact.memory.documents.policy import TaskPolicy
from autocompact.memory.documents.session import plan_noting, tasks_in_summary
from autocompact.memory.documents.task_table import rows_in
from autocompact.memory.documents.tasks import plan_tasks, row_of

DAY = date(2026, 11, 21)


@pytest.mark.requirement("C1")
def test_tasks_of_a_summary_have_their_id_and_outcome_however_the_model_writes_them():
    summary = """## Tasks
- TASK-12: rounding of invoice lines, done, 41 tests passed
- **T-13** `importer`: failed (disk full)
* T-14 export — partly done: CSV only
1. T-15 docs | Outcome: open
2. [x] T-16 changelog
- [ ] T-17 release
- T-18 was looked at

Some words.

## Decisions
- T-99: done
"""
    assert tasks_in_summary(summary) == (
        ArchivedTask(text="TASK-12: rounding of invoice lines", outcome="done, 41 tests passed"),
        ArchivedTask(text="T-13 importer", outcome="failed disk full"),
        ArchivedTask(text="T-14 export", outcome="partly done: CSV only"),
        ArchivedTask(text="T-15 docs", outcome="open"),
        ArchivedTask(text="T-16 changelog", outcome="done"),
        ArchivedTask(text="T-17 release", outcome="open"),
        ArchivedTask(text="T-18 was looked at"),
    )
    assert tasks_in_summary("**Tasks:**\n- None.\n- none\n**State**\n- x, done") == ()
    assert tasks_in_summary("nothing of the kind") == ()
    (long,) = tasks_in_summary(f"# Tasks #\n- {'word ' * 100}")
    assert long.text.endswith("…")


def entry(
    *tasks: str, name: str = "week-12", time: str = "2026-11-20T10:00:00.000+00:00", noted: bool = False
) -> str:
    mark = "- Tasks noted: 2026-11-20\n" if noted else ""
    conversation = f"- Conversation: `{name}`, messages 1 to 9\n" if name else ""
    listed = "".join(f"- {task}\n" for task in tasks) or "- none found\n"
    return (
        f"\n## {time} c1\n\n{conversation}- Duration: 1.00 s\n{mark}\nTasks:\n\n{listed}\nSummary:\n\n> x\n"
    )


def planned(*entries: str, **files: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    folder = {CONTEXT_ARCHIVE: ("# Context archive\n" + "".join(entries)).encode(), **files}
    changed, noted = plan_noting(Pages(folder), today=DAY)
    again, more = plan_noting(Pages({**folder, **changed}), today=DAY)
    assert (again, more) == ({}, ())
    return {**folder, **changed}, noted


@pytest.mark.requirement("C1", "C3")
def test_tasks_that_ended_come_to_done_md_and_others_do_not():
    after, noted = planned(entry("T-1: Round (done, 41 passed)", "T-2: Export (open)", "T-3: Docs"))
    assert noted == ("T-1: Round",)
    assert after[DONE] == (
        b"# Done\n\n- 2026-11-20: T-1: Round\n  - Outcome: done, 41 passed\n  - Session: week-12\n"
    )
    (note,) = Pages(after)[DONE].notes
    row = row_of(note)
    assert (row.task, row.date, row.outcome) == ("T-1: Round", date(2026, 11, 20), "done, 41 passed")
    assert b"- Duration: 1.00 s\n- Tasks noted: 2026-11-21\n" in after[CONTEXT_ARCHIVE]


@pytest.mark.requirement("C7")
def test_what_the_messages_showed_of_a_task_becomes_fields_and_cells_of_its_row():
    told = "done; 44 passed; 2 files: a.py, b.py; commit 1f2e3d4, 5a6b7c8; 2 h 4 min; 5 min; 15.4K tokens"
    after, _ = planned(entry(f"Round half up per line ({told})"))
    lines = [
        "Outcome: done; 5 min",
        "Tests: 44 passed",
        "Files: 2 (a.py, b.py)",
        "Commits: 1f2e3d4, 5a6b7c8",
        "Duration: 2 h 4 min",
        "Tokens: 15.4K",
    ]
    assert after[DONE].decode() == "\n".join(
        (
            "# Done",
            "",
            "- 2026-11-20: Round half up per line",
            *(f"  - {line}" for line in lines),
            "  - Session: week-12",
            "",
        )
    )
    (note,) = Pages(after)[DONE].notes
    row = row_of(note)
    assert (row.task, row.files, row.tokens) == ("Round half up per line", "2", "15.4K")
    assert row.outcome == "done; 5 min; 44 passed; 2 h 4 min; commit 1f2e3d4, 5a6b7c8"


@pytest.mark.requirement("C1")
def test_a_task_of_a_session_is_noted_once_however_often_that_is_compacted():
    first, second = (
        entry("T-1: Round (done)", noted=True),
        entry("T-1: Rounding per line (done)", "T-2 x (done)"),
    )
    assert planned(first, second)[1] == ("T-2 x",)
    worded = (
        entry("Fix the rounding (open)", noted=True),
        entry("Fix the rounding (done)", "Fix, please, the rounding. (done)"),
    )
    assert planned(*worded)[1] == ("Fix the rounding",)


@pytest.mark.requirement("C7")
def test_a_task_has_the_day_of_its_session_not_of_the_compaction():
    late = entry("T-1: Round (done)").replace(
        "- Duration", "- Session: 2025-12-08 23:22 to 2025-12-09 01:10 UTC (1 h 48 min)\n- Duration"
    )
    after, _ = planned(late)
    assert b"\n- 2025-12-09: T-1: Round\n" in after[DONE]


def test_the_same_words_in_another_session_are_another_task():
    assert planned(entry("Fix the tests (done)", noted=True), entry("Fix the tests (done)", name="week-13"))[
        1
    ] == ("Fix the tests",)


def test_an_entry_without_tasks_is_marked_and_one_without_a_session_is_left_alone():
    after, noted = planned(entry(), entry("T-1 (done)", name="", time="undated"))
    assert noted == ()
    assert DONE not in after
    assert [each.noted for each in entries_in(after[CONTEXT_ARCHIVE].decode().split("\n"))] == [True, False]
    assert plan_noting(Pages({}), today=DAY) == ({}, ())


def test_tasks_of_the_example_that_older_versions_archived_are_nobodys():
    example = entry("Fix tide_table.py (done)", name="example")
    mine = entry("Fix the boat (done)", name="example")
    assert planned(example, mine)[1] == ("Fix the boat",)


@pytest.mark.parametrize(
    "before, after",
    [
        (
            b"# Done\r\n\r\n- 2026-11-01: T-0 x (done)\r\n",
            b"# Done\r\n\r\n- 2026-11-01: T-0 x (done)\r\n{new}",
        ),
        (
            b"# Done\n\n- 2026-11-02: b (done)\n- 2026-11-01: a (done)\n",
            b"# Done\n\n{new}- 2026-11-02: b (done)\n- 2026-11-01: a (done)\n",
        ),
    ],
)
def test_new_tasks_take_the_place_and_the_line_end_of_the_file(before: bytes, after: bytes):
    end = b"\r\n" if b"\r" in before else b"\n"
    new = end.join((b"- 2026-11-21: T-1", b"  - Outcome: done", b"  - Session: week-12", b""))
    files, _ = planned(entry("T-1 (done)", time="undated"), **{DONE: before})
    assert files[DONE] == after.replace(b"{new}", new)


@pytest.mark.parametrize("newest_first", [False, True])
def test_headings_stay_headings(newest_first: bool):
    days = (2, 1) if newest_first else (1, 2)
    before = "# Done\n\n" + "\n".join(f"## T-{day} x\n\n- Date: 2026-11-0{day}\n" for day in days)
    files, _ = planned(entry("T-8 y (done)", "T-9 z (failed)"), **{DONE: before.encode()})
    text = files[DONE].decode()
    assert "## T-8 y\n\n- Date: 2026-11-20\n- Outcome: done\n- Session: week-12\n" in text
    order = ["T-9", "T-8", "T-2", "T-1"] if newest_first else ["T-1", "T-2", "T-8", "T-9"]
    assert sorted(order, key=text.index) == order
    assert len(Pages(files)[DONE].notes) == 4
    assert text.replace("\n\n\n", "") == text


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.lists(
                st.sampled_from(["T-1: x (done)", "T-1: y (failed)", "Draw maps (done)", "Read logs (open)"])
            ),
        ),
        max_size=6,
    ),
    st.data(),
)
def test_whenever_entries_come_in_between_every_ended_task_is_noted_exactly_once(
    sessions: list[tuple[str, list[str]]], data: st.DataObject
):
    files: dict[str, bytes] = {CONTEXT_ARCHIVE: b"# Context archive\n"}
    for name, tasks in sessions:
        files[CONTEXT_ARCHIVE] += entry(*tasks, name=name).encode()
        if data.draw(st.booleans()):
            files |= plan_noting(Pages(files), today=DAY)[0]
    files |= plan_noting(Pages(files), today=DAY)[0]
    expected = {(name, task[:3]) for name, tasks in sessions for task in tasks if "open" not in task}
    notes = Pages(files)[DONE].notes
    found = [(note.rest[-1][-1], note.text[:3]) for note in notes]
    assert sorted(found) == sorted(expected)


@pytest.mark.requirement("C1", "C3")
@given(st.lists(st.sampled_from(["session", "note", "archive"]), max_size=12))
def test_over_any_sequence_of_sessions_and_runs_no_task_disappears_or_doubles(steps: list[str]):
    files: dict[str, bytes] = {}
    sessions = 0
    for step in [*steps, "note", "archive"]:
        if step == "session":
            sessions += 1
            files[CONTEXT_ARCHIVE] = (
                files.get(CONTEXT_ARCHIVE, b"")
                + entry(f"T-{sessions}: x (done)", name=f"s{sessions}").encode()
            )
        elif step == "note":
            files |= plan_noting(Pages(files), today=DAY)[0]
        else:
            files |= plan_tasks(Pages(files), today=DAY, policy=TaskPolicy(keep_recent=2))[0]
    kept = [row_of(note).task for note in Pages(files)[DONE].notes]
    rows = [row.task for row in rows_in(Pages(files)[TASK_ARCHIVE].texts)]
    assert sorted([*kept, *rows]) == sorted(f"T-{number}: x" for number in range(1, sessions + 1))
    assert len(kept) <= 2
    assert plan_noting(Pages(files), today=DAY) == ({}, ())
    assert plan_tasks(Pages(files), today=DAY, policy=TaskPolicy(keep_recent=2))[0] == {}
