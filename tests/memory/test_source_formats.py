"""The memory files as their source document writes them, read and written word for word."""

import pytest

from autocompact.memory.pages import DONE, TASK_ARCHIVE
from autocompact.memory.policy import ArchiveFormat
from autocompact.memory.task_table import COLUMNS
from tests.memory.folder import Folder

TASK_42 = """- TASK-42: Add SMS OTP handler
  - Completed: 2026-03-15
  - Files: 3 (otp.py, sms.py, test_otp.py)
  - Tokens: 3.5K estimated, 2.8K actual
  - Commits: abc1234, def5678
  - Issues: none
  - Pattern: asyncauth ✓
"""
ARCHIVE = """# Task Archive

## March 2026

- TASK-40 [2026-03-10]: Add login form
| Files: 2 | Tokens: 1.2K | Pattern: asyncauth ✓ |
- TASK-41 [2026-03-12]: Add logout
  | Files: 4 | Tokens: 2K | Issues: #7 |
"""


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("indent", ["  - ", "  ", ""])
def test_a_task_becomes_the_archived_form_where_its_month_has_that(indent: str):
    folder = Folder()
    folder.put(DONE, TASK_42.replace("  - ", indent))
    folder.put(TASK_ARCHIVE, ARCHIVE)
    assert [row.task for row in folder.rows()] == ["TASK-40: Add login form", "TASK-41: Add logout"]
    folder.tasks(keep_recent=0)
    assert folder.text(TASK_ARCHIVE) == ARCHIVE + (
        "- TASK-42 [2026-03-15]: Add SMS OTP handler\n"
        "  | Outcome: commit abc1234, def5678 | Files: 3 | Tokens: 2.8K | Pattern: asyncauth ✓ |\n"
    )
    row = folder.rows()[-1]
    assert (row.task, str(row.date)) == ("TASK-42: Add SMS OTP handler", "2026-03-15")
    assert (row.files, row.tokens, row.pattern) == ("3", "2.8K", "asyncauth ✓")


@pytest.mark.parametrize(
    "archive_format, form",
    [
        (
            "markdown",
            "- TASK-42 [2026-03-15]: Add SMS OTP handler\n"
            "  | Outcome: commit abc1234, def5678 | Files: 3 | Tokens: 2.8K | Pattern: asyncauth ✓ |\n",
        ),
        (
            "markdown-table",
            "| Task | Date | Outcome | Files | Tokens | Pattern |\n|---|---|---|---|---|---|\n"
            "| TASK-42: Add SMS OTP handler | 2026-03-15 | commit abc1234, def5678 | 3 | 2.8K | asyncauth ✓ |\n",
        ),
    ],
)
def test_the_setting_says_how_a_new_month_lists_its_tasks(archive_format: ArchiveFormat, form: str):
    folder = Folder()
    folder.put(DONE, TASK_42)
    folder.tasks(keep_recent=0, archive_format=archive_format)
    assert folder.text(TASK_ARCHIVE) == f"# Task archive\n\n## 2026-03\n\n{form}"
    assert [row.task for row in folder.rows()] == ["TASK-42: Add SMS OTP handler"]


def test_tasks_without_id_date_or_cells_are_listed_and_read_back():
    folder = Folder()
    folder.put(DONE, "- Mend the | of it\n- 2026-03-01: Tidy up (done)\n- TASK-9: No day\n")
    folder.tasks(keep_recent=0, archive_format="markdown")
    assert "\n- [2026-03-01]: Tidy up\n  | Outcome: done |\n" in folder.text(TASK_ARCHIVE)
    assert sorted(row.task for row in folder.rows()) == ["Mend the | of it", "TASK-9: No day", "Tidy up"]


def test_a_table_keeps_its_columns_and_no_cell_is_lost():
    folder = Folder()
    table = "## March 2026\n\n| ID | Completed | Who | Title | Files |\n|---|---|---|---|---|\n| TASK-1 | 2026-03-02 | Ann | Begin | 2 |\n"
    folder.put(TASK_ARCHIVE, f"# Tasks\n\n{table}\nWords.\n")
    folder.put(DONE, "- 2026-03-03: TASK-2: Go on (3 files)\n" + TASK_42)
    assert [row.task for row in folder.rows()] == ["TASK-1: Begin"]
    folder.tasks(keep_recent=0)
    assert folder.text(TASK_ARCHIVE) == (
        f"# Tasks\n\n{table}|  | 2026-03-03 |  | TASK-2: Go on | 3 |\n\nWords.\n\n| {' | '.join(COLUMNS)} |\n|---|---|---|---|---|---|\n"
        "| TASK-42: Add SMS OTP handler | 2026-03-15 | commit abc1234, def5678 | 3 | 2.8K | asyncauth ✓ |\n"
    )
    assert len(folder.rows()) == 3


def test_a_table_of_something_else_is_none_of_tasks():
    folder = Folder()
    folder.put(
        TASK_ARCHIVE, "| Task | Owner |\n|---|---|\n| A | Ann |\n\nTask | Date\n---|---\nA | 2026-01-01\n"
    )
    assert folder.rows() == []


@pytest.mark.parametrize(
    "tokens, kept",
    [
        ("3.5K estimated, 2.8K actual", "2.8K"),
        ("estimated 3.5K, actual: 2,800", "2,800"),
        ("2.8K tokens actual", "2.8K"),
        ("3.5K estimated", "3.5K estimated"),
    ],
)
def test_the_archive_has_the_actual_tokens(tokens: str, kept: str):
    folder = Folder()
    folder.put(DONE, f"- TASK-1: Go\n  - Tokens: {tokens}\n  - Issues: #12\n")
    folder.tasks(keep_recent=0)
    assert (folder.rows()[0].tokens, folder.rows()[0].outcome) == (kept, "issues #12")
