"""The memory files as their source document writes them, read and written word for word."""

from datetime import date

import pytest

from autocompact.memory.documents.pages import DONE, OBSERVATION_ARCHIVE, OBSERVATIONS, RULES, TASK_ARCHIVE
from autocompact.memory.documents.policy import ArchiveFormat
from autocompact.memory.documents.task_table import COLUMNS
from tests.memory.documents.folder import Folder

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


@pytest.mark.requirement("C3")
@pytest.mark.parametrize(
    "there, new",
    [("## March 2026", "## April 2026"), ("### Mar 2026", "### Apr 2026"), ("## 2026/03", "## 2026/04")],
)
def test_a_new_month_is_named_as_the_others_and_a_table_of_ids_stays_one(there: str, new: str):
    folder = Folder()
    head = "| Task | Date | Outcome | Files | Tokens | Pattern |\n|------|------|---------|-------|--------|---------|\n"
    table = f"# Task Archive\n\n{there}\n\n{head}| TASK-85 | 2026-03-28 | Fix auth flow ✓ | 4 | 3.2K | asyncauth |\n"
    folder.put(TASK_ARCHIVE, table)
    folder.put(DONE, TASK_42 + "- 2026-04-02: Tidy up (done)\n- 2026-03-30: Tidy more (done)\n")
    folder.tasks(keep_recent=0)
    assert folder.text(TASK_ARCHIVE).startswith(
        f"{table}| TASK-42 | 2026-03-15 | Add SMS OTP handler; commit abc1234, def5678 | 3 | 2.8K | asyncauth ✓ |\n"
        f"| Tidy more | 2026-03-30 | done |  |  |  |\n\n{new}\n\n"
    )


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


FEEDBACK = """Observation: "User prefers direct, honest feedback"
Confirmations: 8 (across 4 sessions)
Action: Escalate to ACTIVE_RULES.md
"""
MODALS = """Observation: "Modals annoy the user"
Confirmations: 3 (across 2 sessions)
Action: Keep watching
"""


@pytest.mark.requirement("C2")
def test_observations_as_paragraphs_become_rules_or_stay():
    folder = Folder()
    folder.put(OBSERVATIONS, f"# Observations\n\n## Style\n\n{FEEDBACK}\n{MODALS}")
    run = folder.upkeep(today=date(2026, 4, 4))
    assert [(rule.number, rule.text) for rule in run.escalated] == [
        (1, "User prefers direct, honest feedback")
    ]
    assert folder.text(OBSERVATIONS) == f"# Observations\n\n## Style\n\n{MODALS}"
    assert "## Rule 1: User prefers direct, honest feedback\n" in folder.text(RULES)
    assert "> Action: Escalate to ACTIVE_RULES.md" in folder.text(RULES)
    assert "- Confirmations: 8 (across 4 sessions)\n" in folder.text(RULES)
    (rule,) = folder.notes(RULES)
    assert (rule.confirmations, rule.sessions) == (8, 4)
    assert folder.text(OBSERVATION_ARCHIVE) == (
        "# Observation archive\n\n## Escalated → ACTIVE_RULES\n\n"
        "- Pattern: User prefers direct, honest feedback (8 confirmations across 4 sessions)\n"
        "  → Added as Rule #1 on 2026-04-04\n"
    )
    assert run.unread == ()


def test_a_paragraph_is_confirmed_where_it_stands_and_a_new_one_takes_its_form():
    folder = Folder()
    folder.put(
        OBSERVATIONS,
        f"{MODALS}\nWords of mine.\n\n{FEEDBACK}```\nObservation: raw\n```\n<!-- \nObservation: x\n-->\n",
    )
    assert [note.text for note in folder.notes(OBSERVATIONS)] == [
        "Modals annoy the user",
        "User prefers direct, honest feedback",
    ]
    told = folder.observe("modals annoy the user", today=date(2026, 4, 4))
    assert (told.confirmations, told.sessions) == (4, 3)
    assert folder.text(OBSERVATIONS).startswith(
        'Observation: "Modals annoy the user"\nConfirmations: 4 (across 3 sessions: 2026-04-04)\nAction: Keep watching\n'
        "Also noted: modals annoy the user\n\nWords of mine.\n"
    )
    folder.observe("Observation: Tabs are fine", why="asked", today=date(2026, 4, 5))
    assert (
        'Action: Escalate to ACTIVE_RULES.md\n\nObservation: "Tabs are fine"\nNoted: 2026-04-05\nWhy: asked\n```\n'
        in folder.text(OBSERVATIONS)
    )
    assert folder.observe("tabs are fine", today=date(2026, 4, 6)).confirmations == 1


def test_a_paragraph_may_be_broken_and_have_no_field():
    folder = Folder()
    folder.put(OBSERVATIONS, "Pattern: Lint first,\nthen test (✓✓ done)\n")
    (note,) = folder.notes(OBSERVATIONS)
    assert (note.text, note.confirmations, note.end) == ("Lint first, then test (✓✓ done)", 0, 2)


def test_what_comes_back_from_the_archive_among_paragraphs_keeps_its_confirmations():
    folder = Folder()
    folder.put(OBSERVATIONS, MODALS)
    folder.put(
        OBSERVATION_ARCHIVE,
        "## Legacy Observations (archived, not escalated)\n- Tabs are fine\n  | Confirmations: 2 | Archived: 2026-01-01 | Reason: Low confidence |\n",
    )
    assert folder.observe("Tabs are fine", today=date(2026, 4, 4)).confirmations == 3
    assert folder.text(OBSERVATIONS) == (
        f'{MODALS}\nObservation: "Tabs are fine"\nNoted: 2026-04-04\nConfirmations: 3 (2026-04-04)\n'
        "| Confirmations: 2 | Archived: 2026-01-01 | Reason: Low confidence |\n"
    )
    (_, note) = folder.notes(OBSERVATIONS)
    assert (note.confirmations, note.date) == (3, date(2026, 4, 4))


ARCHIVED = """# Observation Archive

## Escalated → ACTIVE_RULES

- Pattern: Ask before pushing (8 confirmations)
  → Added as Rule #3 on 2026-04-04

## Legacy Observations (archived, not escalated)

- Uses tabs in Makefiles
  | Confirmations: 3 | Archived: 2026-03-01 | Reason: Low confidence |
"""


@pytest.mark.requirement("C2")
def test_the_archive_has_two_parts_and_each_goes_on():
    folder = Folder()
    folder.put(OBSERVATION_ARCHIVE, ARCHIVED)
    (legacy,) = folder.notes(OBSERVATION_ARCHIVE)
    assert (legacy.text, legacy.confirmations) == ("Uses tabs in Makefiles", 3)
    folder.put(RULES, "## Rule #1: One\n\n## Rule #3: Ask before pushing\n")
    folder.put(
        OBSERVATIONS,
        "- Pattern: asyncauth for handlers (8 confirmations)\n- 2026-01-01: Old (1 confirmation)\n",
    )
    folder.upkeep(today=date(2026, 4, 4))
    first, second = ARCHIVED.split("\n## Legacy")
    assert folder.text(OBSERVATION_ARCHIVE) == (
        f"{first}- Pattern: asyncauth for handlers (8 confirmations)\n  → Added as Rule #4 on 2026-04-04\n\n## Legacy{second}"
        "- 2026-01-01: Old (1 confirmation)\n  | Confirmations: 1 | Archived: 2026-04-04 | Reason: 93 days since it was last "
        "noted or confirmed (more than 28), with 1 of 5 confirmations |\n"
    )
    assert "\n## Rule #4: asyncauth for handlers\n" in folder.text(RULES)


@pytest.mark.parametrize(
    "there", ["", "## Legacy Observations\n\nNone yet.\n", "# A\n\n## Escalated\n\nNone yet.\n"]
)
def test_parts_that_are_missing_are_made_in_order(there: str):
    folder = Folder()
    folder.put(OBSERVATION_ARCHIVE, there)
    folder.put(OBSERVATIONS, "- New (8 confirmations)\n- 2026-01-01: Old\n")
    folder.upkeep(today=date(2026, 4, 4))
    text = folder.text(OBSERVATION_ARCHIVE)
    assert (
        text.index("## Escalated")
        < text.index("- Pattern: New")
        < text.index("## Legacy")
        < text.index("Old")
    )
    assert "\n\n\n" not in text
    assert text.count("\n## ") + text.startswith("## ") == 2


# What people write


@pytest.mark.parametrize(
    "line, count",
    [
        ("- Lint first (8 confirmations, 4 sessions)", 8),
        ("- Lint first (8 confirmations across 4 sessions)", 8),
        ("- Lint first (8 Bestätigungen)", 8),
        ("- Lint first (confirmé 8 fois)", 8),
        ("- Lint first （5 次确认）", 5),
        ("- Lint first ✓✓✓✓✓", 5),
        ("- Lint first ✔️✔️✔️ ✔️✔️", 5),
        ("- Lint first\n  - Confirmations: ✔️✔️✔️✔️✔️", 5),
        ("- Lint first (✓✓✓ ✓✓)", 5),
        ("- Lint first\n  - Bestätigungen: 7 Mal", 7),
        ("- Lint first\n  - Confirmations: x6", 6),
        ("- Lint first\n  - Confirmations: ✓✓✓✓✓✓", 6),
        ("- **Pattern:** Lint first (6 confirmations)", 6),
        ("- 模式：Lint first (6 confirmations)", 6),
        ("- 2026-01-01: Observation: Lint first (6 confirmations)", 6),
    ],
)
def test_confirmations_are_read_however_they_are_counted(line: str, count: int):
    folder = Folder()
    folder.put(OBSERVATIONS, f"{line}\n")
    (note,) = folder.notes(OBSERVATIONS)
    assert (note.text, note.confirmations) == ("Lint first", count)
    assert [rule.text for rule in folder.upkeep().escalated] == ["Lint first"]


@pytest.mark.parametrize(
    "line, named",
    [
        ("Lint first x6", "x6"),
        ("Lint first ×5", "×5"),
        ("Lint first (x6)", "(x6)"),
        ("Lint first (5)", "(5)"),
        ("Lint first (8 Stimmen)", "(8 Stimmen)"),
        ("Lint first (8 vahvistusta)", "(8 vahvistusta)"),
        ("Lint first +++", "+++"),
        ("Lint first\n  - Stimmen: 8", "- Stimmen: 8"),
        ("Lint first\n  - Confirmations: about 8", "about 8"),
        ("Lint first\n  Votes: ★★★", "★★★"),
        ("Lint first (n=8)", "(n=8)"),
        ("Lint first (vu 8 fois)", "(vu 8 fois)"),
        ("Lint first (5/5)", "(5/5)"),
        ("Lint first 5/5", "5/5"),
        ("Lint first (+8)", "(+8)"),
        ("Lint first +8", "+8"),
        ("Lint first 👍👍👍", "👍👍👍"),
        ("Lint first ✅ 8", "✅ 8"),
        ("Lint first ●●●●●", "●●●●●"),
        ("Lint first |||||", "|||||"),
        ("Lint first (VIII)", "(VIII)"),
        ("Lint first {8}", "{8}"),
        ("Lint first 【8】", "【8】"),
        ("Lint first 8 votes", "8 votes"),
        ("Lint first count: 8", "count: 8"),
        ("Lint first (eight votes)", "(eight votes)"),
        ("Lint first (acht Stimmen)", "(acht Stimmen)"),
        ("Lint first (in 8 sessions)", "(in 8 sessions)"),
        ("Lint first (gesehen: 8x)", "(gesehen: 8x)"),
        ("Lint first\n  - 8 confirmations", "- 8 confirmations"),
        ("Lint first\n  - confirmed 8 times by CI", "- confirmed 8 times by CI"),
        ("Lint first\n  - Confirmed by Ann and Bob", "- Confirmed by Ann and Bob"),
        ("Lint first\n  - seen in 8 sessions", "- seen in 8 sessions"),
        ("Lint first\n  - 8 sessions", "- 8 sessions"),
        ("Lint first\n  - count = 8", "- count = 8"),
        ("Lint first\n  - Score: 8/10", "- Score: 8/10"),
        ("Lint first\n  - Votes: ~8", "- Votes: ~8"),
    ],
)
def test_a_figure_that_nobody_can_read_is_named_and_its_entry_stays(line: str, named: str):
    folder = Folder()
    folder.put(OBSERVATIONS, f"- 2020-01-01: {line}\n")
    before = dict(folder)
    run = folder.upkeep()
    assert [(each.kind, each.text) for each in run.unread] == [("figure", named)]
    assert (run.stayed, run.archived) == (1, ())
    assert folder == before


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Ports below 1024",
            "The limit (2027)",
            "Upgrade (v3.11)",
            "Why: TZ",
            "Time: 10:30",
            "It waits (5 s)",
        ),
        *(
            "Listens (port 80)",
            "Broken since then (#12)",
            "Merge (PR 7)",
            "In UTC +2",
            "Wait (two hours)",
            "Go (on ice)",
        ),
        *(
            "Flag a/b",
            "Retry 3 times",
            "Stop... ",
            "Is **bold**",
            "Use C++",
            "(five)",
            "Tests (fast and green)",
        ),
    ],
)
def test_other_figures_are_nothing_to_name(text: str):
    folder = Folder()
    folder.put(OBSERVATIONS, f"- 2020-01-01: {text}\n  - Port: 80\n  - Fails: in 3 of the 9 jobs of CI\n")
    run = folder.upkeep()
    assert (run.unread, len(run.archived)) == ((), 1)


def test_an_ambiguous_date_is_named_not_guessed_and_its_entry_stays():
    folder = Folder()
    folder.put(
        OBSERVATIONS,
        "# O\n\n- 01/02/2020: x is y\n- y is z\n  - Noted: 01/02/2020\n  - Confirmed: 2020-01-01\n",
    )
    folder.put(DONE, "- TASK-1: Mend\n  - Completed: 03/04/2020\n- 2020-01-01: TASK-2: Mend more\n")
    before = folder.text(OBSERVATIONS)
    run, tasks = folder.upkeep(), folder.tasks(keep_recent=0)
    assert [(each.line, each.kind, each.text) for each in run.unread] == [
        (3, "date", "01/02/2020"),
        (5, "date", "01/02/2020"),
    ]
    assert folder.text(OBSERVATIONS) == before
    assert (tasks.archived, [each.line for each in tasks.unread]) == (("TASK-2: Mend more",), [2])


@pytest.mark.parametrize("why", ["Warum", "Pourquoi", "Por qué", "理由", "**Grund**"])
def test_a_reason_is_one_in_any_language(why: str):
    folder = Folder()
    colon = "：" if why == "理由" else ": "
    folder.put(OBSERVATIONS, f"- Lint first (5 confirmations)\n  - {why}{colon}es eilt\n")
    folder.upkeep()
    assert "- Why: es eilt\n" in folder.text(RULES)


@pytest.mark.parametrize(
    "last, new",
    [
        ("## Rule #2: Two", "## Rule #3: Lint first"),
        ("### 2. Two", "### 3. Lint first"),
        ("## R2: Two", "## R3: Lint first"),
        ("## Regel 2 – Two", "## Regel 3 – Lint first"),
        ("Rule 2: Two\n---", "## Rule 3: Lint first"),
    ],
)
def test_a_rule_takes_the_form_of_the_last_one(last: str, new: str):
    folder = Folder()
    folder.put(RULES, f"{last}\n")
    folder.put(OBSERVATIONS, "- Lint first (5 confirmations)\n")
    folder.upkeep()
    assert folder.text(RULES).startswith(f"{last}\n\n{new}\n\n- Why:")


@pytest.mark.requirement("C2")
def test_rules_whose_words_stand_below_their_heading_are_read_and_go_on_in_that_form():
    folder = Folder()
    before = (
        "# Rules\n\n## Rule #1\n\nBe brief,\n  always\n\n- Why: time\n\n## Rule #2\n\n- Confirmations: 5\n"
    )
    folder.put(RULES, before)
    folder.put(OBSERVATIONS, "- Lint first (5 confirmations)\n- 2026-10-03: be brief, always\n")
    assert [(note.number, note.text, note.why) for note in folder.notes(RULES)] == [
        (1, "Be brief, always", "time"),
        (2, "Rule #2", ""),
    ]
    run = folder.upkeep()
    assert (run.merged, [each.number for each in run.escalated]) == (("be brief, always",), [3])
    assert "\n\n## Rule #3\n\nLint first\n\n- Why:" in folder.text(RULES)
    assert "  always (1 confirmation: 2026-10-03)\n" in folder.text(RULES)
    assert [note.text for note in folder.notes(RULES)][2] == "Lint first"
    folder.put(RULES, "## Week 3\n\nText.\n\n## Phase 2\n\nText.\n")
    assert folder.notes(RULES) == ()
    folder.put(RULES, "## Rule #4\n\n<!-- none -->\n\n## Rule #5\n\nUse rg\nWhy: fast\n\n## Rule #6")
    assert [(note.number, note.text, note.why) for note in folder.notes(RULES)] == [
        (4, "Rule #4", ""),
        (5, "Use rg", "fast"),
        (6, "Rule #6", ""),
    ]
