from datetime import date

import pytest

from autocompact.memory.documents.pages import DONE, OBSERVATIONS, RULES, TASK_ARCHIVE
from tests.memory.documents.folder import Folder

HEAD = "| Task | Date | Outcome | Files | Tokens | Pattern |\n|---|---|---|---|---|---|\n"


@pytest.fixture
def folder() -> Folder:
    return Folder()


def task(number: int, more: str = "") -> str:
    return f"## T-{number}: Mend part {number}\n\n- Date: 2026-10-{number:02}\n- Outcome: done\n{more}\n"


@pytest.mark.requirement("C3")
def test_the_last_ten_stay_and_older_ones_become_rows_by_month(folder: Folder):
    head, tasks = "# Done\n\n", [task(number) for number in range(1, 14)]
    folder.put(DONE, head + "".join(tasks).replace("2026-10-01", "2026-09-30"))
    run = folder.tasks()
    assert folder.text(DONE) == head + "".join(tasks[3:])
    assert (run.kept, run.archived) == (10, ("T-1: Mend part 1", "T-2: Mend part 2", "T-3: Mend part 3"))
    assert folder.text(TASK_ARCHIVE) == (
        f"# Task archive\n\n## 2026-09\n\n{HEAD}| T-1: Mend part 1 | 2026-09-30 | done |  |  |  |\n\n## 2026-10\n\n{HEAD}"
        "| T-2: Mend part 2 | 2026-10-02 | done |  |  |  |\n| T-3: Mend part 3 | 2026-10-03 | done |  |  |  |\n"
    )
    before = dict(folder)
    assert folder.tasks().archived == ()
    assert folder == before


@pytest.mark.requirement("C7", "C8")
def test_a_row_keeps_what_one_asks_for_later_and_drops_raw_output(folder: Folder):
    folder.put(
        DONE,
        """# Done

## Fix rounding of invoices

- Task: T-12
- Date: 3 Oct 2026
- Outcome: done
- Files:
  - src/a.py
  - src/b.py
- Tokens: 84,000
- Pattern: Rounding in two places

Decided to round half even because the tax office does so. It took about 35 min, see commit deadbeef1.

1. opened a.py
10:03 ran the tests
+ added_line = 1

```
$ pytest
===== 41 passed, 1 failed in 3.20s =====
===== 42 passed, 1 skipped in 3.20s =====
TOTAL coverage 91%
[main abc12345] Fix rounding
diff --git a/src/a.py b/src/a.py
```
""",
    )
    folder.tasks(keep_recent=0)
    (row,) = folder.rows()
    assert (row.task, row.date, row.files, row.tokens) == (
        "T-12 Fix rounding of invoices",
        date(2026, 10, 3),
        "2",
        "84,000",
    )
    assert row.pattern == "Rounding in two places"
    assert row.outcome == (
        "done; 42 passed, 1 skipped; coverage 91%; 35 min; commit deadbeef1, abc12345; "
        "Decided to round half even because the tax office does so."
    )
    for dropped in ("opened", "10:03", "added_line", "pytest", "diff", "41 passed"):
        assert dropped not in folder.text(TASK_ARCHIVE)


def test_fields_go_before_what_the_text_says(folder: Folder):
    folder.put(
        DONE,
        "## T-1 x\nTests: 3 passed\nCoverage: 80%\nDuration: 2 h\nCommit: abc1234\nDecision: use a, because b\n"
        "9 passed, coverage 1%, took 9 min, commit 9999999\n",
    )
    folder.tasks(keep_recent=0)
    assert folder.rows()[0].outcome == "3 passed; coverage 80%; 2 h; commit abc1234; decided use a, because b"
    assert "## Undated" in folder.text(TASK_ARCHIVE)


@pytest.mark.parametrize(
    "line, expected",
    [
        (
            "T-1 Mend it (done; 3 files; 84k tokens; pattern: rounding; 35 min)",
            ("T-1 Mend it", "done; 35 min", "3", "84k", "rounding"),
        ),
        ("[x] T-1 Mend it — failed, 2 tests failed", ("T-1 Mend it", "failed, 2 tests failed", "", "", "")),
        ("T-1 Mend it (done, with care; 1,200 tokens)", ("T-1 Mend it", "done; with care", "", "1,200", "")),
        ("T-1 Mend it (again)", ("T-1 Mend it (again)", "", "", "", "")),
        ("T-1 Mend a | b", ("T-1 Mend a | b", "", "", "", "")),
        (
            "T-1 Mend it\n  - Status: blocked\n  - Files changed: 12\n  - Patterns: a; b",
            ("T-1 Mend it", "blocked", "12", "", "a; b"),
        ),
        ("T-1 Mend it (done)\n  - Status:\n  - Files:\n", ("T-1 Mend it", "done", "", "", "")),
        ("T-1 Mend it\n  - Files: a.py and b.py, c.py", ("T-1 Mend it", "", "3", "", "")),
    ],
)
def test_a_task_may_be_one_line(folder: Folder, line: str, expected: tuple[str, ...]):
    folder.put(DONE, f"- 2026-10-03: {line}\n")
    folder.tasks(keep_recent=0)
    (row,) = folder.rows()
    assert (row.task, row.outcome, row.files, row.tokens, row.pattern) == expected


def test_a_task_in_which_others_stand_stays_and_is_told(folder: Folder):
    first = "## T-1: a\n\n- Date: 2026-10-01\n\n- [x] 2026-10-02: T-2 b (done)\n\n"
    folder.put(
        DONE,
        f"{first}## T-3: c\n- Date: 2026-10-03\n- T-3 took long\n- UTF-8 is hard\n\n## Tea\n\nDate: 2026-10-04\n",
    )
    run = folder.tasks(keep_recent=0)
    assert run.archived == ("T-3: c", "Tea")
    assert run.unclear == ("T-1: a",)
    assert folder.text(DONE) == first
    assert folder.tasks(keep_recent=0).archived == ()


@pytest.mark.parametrize(
    "inner, is_unclear",
    [
        ("- [ ] Tell Anna", True),
        ("- [x] 2026-10-02: Told Anna", True),
        ("- 2026-10-02: Told Anna (done; 3 files)", True),
        ("* [x] #7 Told Anna", False),
        ("- 2026-10-02: began", False),
        ("- [x] Told Anna", False),
        ("```\n- [ ] Tell Anna\n```", False),
    ],
)
def test_open_and_dated_tasks_in_a_task_keep_it(folder: Folder, inner: str, is_unclear: bool):
    folder.put(DONE, f"## T-1: a\n\n- Date: 2026-10-01\n\n{inner}\n")
    assert folder.tasks(keep_recent=0).unclear == (("T-1: a",) if is_unclear else ())
    folder.put(DONE, "- T-1: a\n" + "".join(f"  {line}\n" for line in inner.split("\n")))
    assert folder.tasks(keep_recent=0).unclear == (("T-1: a",) if is_unclear else ())


def test_a_table_of_tasks_is_read_and_one_of_something_else_named(folder: Folder):
    folder.put(
        DONE,
        "# Done\n\n| Task | Date | Who |\n|---|---|---|\n| T-1 | 2026-10-03 | Ann |\n| T-2 | 2026-10-04 | Ben |\n\nT-2: Mend it\n\n"
        "| Task | Who |\n|---|---|\n| T-3 | Ben |\n",
    )
    run = folder.tasks(keep_recent=1)
    assert [(each.line, each.kind) for each in run.unread] == [(8, "paragraph"), (10, "table")]
    assert "| T-1 |" not in folder.text(DONE)
    assert [(row.task, str(row.date), row.outcome) for row in folder.rows()] == [
        ("T-1", "2026-10-03", "Who: Ann")
    ]


def test_the_newest_stay_whatever_the_order_of_the_file(folder: Folder):
    lines = [f"- 2026-10-{day:02}: T-{day} x\n" for day in (9, 7, 8, 5)]
    folder.put(DONE, "".join(lines))
    folder.tasks(keep_recent=2)
    assert folder.text(DONE) == lines[0] + lines[2]
    folder.put(DONE, "- [x] T-1\n- [x] T-2\n  Outcome: done\n- T-3\n  Outcome: done\n")
    folder.tasks(keep_recent=2)
    assert [note.text for note in folder.notes(DONE)] == ["T-2", "T-3"]


def test_rows_go_to_the_table_of_their_month_and_new_months_to_their_place(folder: Folder):
    foreign = "| Date | What |\n|---|---|\n| 2026-10-01 | x |\n"
    folder.put(
        TASK_ARCHIVE,
        f"# Tasks\n\n{HEAD}| other | | | | | |\n\n## 2026-08\n\n{HEAD}| old | 2026-08-01 | done | | | |\n\nRemarks.\n\n"
        f"## October 2026\n\n{foreign}\n## Notes\n\nThe end.\n",
    )
    folder.put(DONE, "- 2026-08-02: A\n- 2026-09-02: B\n- 2026-10-02: C\n- 2026-11-02: D\n- 2026-12-02: E\n")
    folder.tasks(keep_recent=0)
    assert folder.text(TASK_ARCHIVE) == (
        f"# Tasks\n\n{HEAD}| other | | | | | |\n\n## 2026-08\n\n{HEAD}| old | 2026-08-01 | done | | | |\n"
        f"| A | 2026-08-02 |  |  |  |  |\n\nRemarks.\n\n## 2026-09\n\n{HEAD}| B | 2026-09-02 |  |  |  |  |\n\n"
        f"## October 2026\n\n{foreign}\n{HEAD}| C | 2026-10-02 |  |  |  |  |\n\n## Notes\n\nThe end.\n\n"
        f"## 2026-11\n\n{HEAD}| D | 2026-11-02 |  |  |  |  |\n\n## 2026-12\n\n{HEAD}| E | 2026-12-02 |  |  |  |  |\n"
    )


def test_a_short_row_and_bars_in_cells_are_read(folder: Folder):
    folder.put(TASK_ARCHIVE, f"{HEAD}| a \\| b | 3 Oct 2026\n| x | y | z | 1 | 2 | p | more |")
    first, second = folder.rows()
    assert (first.task, first.date, first.pattern) == ("a | b", date(2026, 10, 3), "")
    assert (second.task, second.date, second.pattern) == ("x", None, "p")


@pytest.mark.requirement("C3")
def test_patterns_of_five_tasks_are_proposed_once_as_observations(folder: Folder):
    more = "- Pattern: Forgotten index; none\n"
    folder.put(
        DONE, "".join(task(n, more) for n in range(1, 7)) + task(8, "- Pattern: Forgotten indexes, seldom\n")
    )
    assert folder.tasks(keep_recent=3).proposed == ("Forgotten index",)
    assert folder.text(OBSERVATIONS) == (
        "# Observations\n\n- 2026-11-21: Forgotten index\n  - Why: a pattern of 7 tasks: T-1, T-2, T-3, T-4, T-5, …\n"
    )
    assert folder.tasks(keep_recent=1).proposed == ()
    folder.upkeep(archive_after_days=-1)
    assert folder.tasks(keep_recent=1).proposed == ()


def test_a_pattern_that_is_a_rule_is_not_proposed_and_four_tasks_are_too_few(folder: Folder):
    folder.put(RULES, "1. Do not forget the index\n2. Forgotten index\n")
    folder.put(
        DONE,
        "".join(
            task(n, f"- Pattern: forgotten index; {'tea' if n < 5 else 'sugar in tea'}\n")
            for n in range(1, 6)
        ),
    )
    assert folder.tasks().proposed == ()
    assert OBSERVATIONS not in folder
    folder.put(DONE, "".join(f"- 2026-10-03: Mend part {n} (pattern: missing index)\n" for n in range(5)))
    assert folder.tasks().proposed == ("missing index",)
    assert "5 tasks: Mend part 0, Mend part 1, Mend part 2, Mend part 3, Mend part 4\n" in folder.text(
        OBSERVATIONS
    )


def test_tasks_without_a_date_go_to_a_section_of_their_own(folder: Folder):
    for text in ("- [x] T-1\n  Outcome: done\n", "- [x] T-2\n  Outcome: done\n- 2026-10-03: T-3\n"):
        folder.put(DONE, text)
        folder.tasks(keep_recent=0)
    assert folder.text(TASK_ARCHIVE) == (
        f"# Task archive\n\n## 2026-10\n\n{HEAD}| T-3 | 2026-10-03 |  |  |  |  |\n\n"
        f"## Undated\n\n{HEAD}| T-1 |  | done |  |  |  |\n| T-2 |  | done |  |  |  |\n"
    )
