"""Notes that are rows of a table: read, confirmed in their cells, archived, and new ones written as rows."""

from datetime import date

import pytest

from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.dialects import OF_OBSERVATIONS
from autocompact.memory.documents.pages import DONE, OBSERVATION_ARCHIVE, OBSERVATIONS, RULES, Pages
from autocompact.memory.documents.session import plan_noting
from autocompact.memory.documents.tables import cells_in, tables_in
from tests.memory.documents.folder import Folder

HEAD = "| Pattern | Noted | Confirmations | Why | Area |\n|---|---|---|---|---|\n"
TODAY = date(2026, 11, 21)


@pytest.mark.requirement("C2")
def test_rows_become_rules_go_to_the_archive_or_stay_and_no_cell_is_lost():
    folder = Folder()
    stays = "| Young | 2026-11-20 | | | |\n| Odd | 2025-01-01 | about 8 | | |\n"
    folder.put(
        OBSERVATIONS,
        f"# O\n\n{HEAD}| Lint a\\|b first | 2025-01-01 | 8 (across 4 sessions) | it broke | ci |\n"
        f"| Old | 2025-01-01 | 2 | | db |\n{stays}\nEnd.\n",
    )
    folder.put(RULES, "| # | Rule | Why |\n|---|---|---|\n| 4 | Write tests | they help |\n")
    run = folder.upkeep(today=TODAY)
    assert [(each.number, each.text) for each in run.escalated] == [(5, "Lint a|b first")]
    assert [(each.kind, each.text) for each in run.unread] == [("figure", "about 8")]
    assert folder.text(OBSERVATIONS) == f"# O\n\n{HEAD}{stays}\nEnd.\n"
    assert folder.text(RULES).endswith(
        "| 4 | Write tests | they help |\n| 5 | Lint a\\|b first<br>Observed: 2025-01-01<br>Confirmations: 8 (across 4 sessions)"
        "<br>Rule since: 2026-11-21<br>Area: ci | it broke |\n"
    )
    old = folder.text(OBSERVATION_ARCHIVE)
    assert "- 2025-01-01: Old (2 confirmations)\n" in old
    assert "> Area: db\n" in old
    assert not folder.upkeep(today=TODAY).escalated


def test_a_row_is_confirmed_in_its_cells_and_read_back():
    folder = Folder()
    folder.put(OBSERVATIONS, f"{HEAD}| Use UTC | 2026-11-01 | | | |\n| Use | 2026-11-01 | 2 | | |\n")
    folder.observe("use UTC!", why="DST", today=TODAY)
    folder.observe("Use", today=TODAY)
    assert folder.observe("Tea | cake", why="tasty", today=TODAY).action == "recorded"
    assert folder.text(OBSERVATIONS) == (
        f"{HEAD}| Use UTC<br>Why: DST<br>Also noted: use UTC! | 2026-11-01 | 2026-11-21 | | |\n"
        "| Use | 2026-11-01 | 3 (2026-11-21) | | |\n| Tea \\| cake | 2026-11-21 | 0 | tasty |  |\n"
    )
    first, second, third = folder.notes(OBSERVATIONS)
    assert (first.text, first.also, first.why, first.confirmations) == ("Use UTC", ("use UTC!",), "DST", 1)
    assert (second.confirmations, third.text, third.why, third.confirmations) == (3, "Tea | cake", "tasty", 0)
    assert folder.observe("use UTC", today=TODAY).action == "repeated"


def test_a_table_without_columns_for_it_takes_dates_counts_and_reasons_in_the_cell():
    folder = Folder()
    folder.put(OBSERVATIONS, "| Note | Why |\n|---|---|\n| Use UTC (2 confirmations) | DST |\n")
    folder.put(RULES, "| Rule | Why |\n|---|---|\n| 1. Tea | |\n")
    folder.observe("Use UTC", today=TODAY)
    folder.observe("Rest", today=TODAY)
    assert folder.text(OBSERVATIONS).endswith(
        "| Use UTC (3 confirmations: 2026-11-21) | DST |\n| 2026-11-21: Rest |  |\n"
    )
    for day in range(1, 6):
        folder.observe("Rest", today=date(2026, 12, day))
    folder.upkeep(today=date(2026, 12, 6))
    assert "\n| 1. Rest<br>Observed: 2026-11-21<br>" in folder.text(RULES)
    table = f"{HEAD}| Use UTC | 2026-11-20 | 1 | DST | |\n"
    folder.put(OBSERVATIONS, table)
    folder.put(OBSERVATION_ARCHIVE, "- 2026-01-01: Once (2 confirmations)\n  - Why: x\n  > more\n")
    folder.observe("once", today=TODAY)
    assert folder.text(OBSERVATIONS) == (
        f"{table}| Once<br>Also noted: once<br>more | 2026-01-01 | 3 (2026-11-21) | x |  |\n"
    )


def test_tasks_of_sessions_stand_below_a_table():
    table = "| Task | Date |\n|---|---|\n| T-1: Begin | 2026-10-03 |\n"
    entry = (
        "## 2026-11-20T16:05:11+00:00 c3\n\n- Conversation: `week-47`\n\nTasks:\n\n- Round the cart (done)\n"
    )
    pages = Pages({DONE: table.encode(), CONTEXT_ARCHIVE: entry.encode()})
    changed, noted = plan_noting(pages, today=TODAY)
    assert noted == ("Round the cart",)
    assert changed[DONE].decode() == (
        f"{table}\n- 2026-11-20: Round the cart\n  - Outcome: done\n  - Session: week-47\n"
    )
    assert [note.text for note in pages.changed(changed)[DONE].notes] == ["T-1: Begin", "Round the cart"]


@pytest.mark.parametrize(
    "text",
    [
        "| Note |\n|---|\n| x |",
        "| Who | Why |\n|---|---|\n| x | y |",
        "```\n| Note | Why |\n|---|---|\n| x | y |\n```",
        "<!--\n| Note | Why |\n|---|---|\n| x | y |\n-->",
        "| Note | Why |\n| x | y |",
        "| Note | Why |",
    ],
)
def test_other_tables_are_none_of_notes(text: str):
    lines = text.split("\n")
    assert [*tables_in(lines, range(len(lines)), dialect=OF_OBSERVATIONS)] == []


def test_cells_know_their_columns_and_rows_may_be_short():
    line = "| a \\| b || c"
    assert [(cell.text, line[cell.start : cell.end]) for cell in cells_in(line)] == [
        ("a | b", "a \\| b"),
        ("", ""),
        ("c", "c"),
    ]
    assert cells_in("no cells") == []
    folder = Folder()
    folder.put(
        OBSERVATIONS,
        "| Why | Noted | Confirmed | Note |\n|---|---|---|---|\n| x |\n|  |  |  |  |\n| y | | | z |\n",
    )
    assert [(note.text, note.why) for note in folder.notes(OBSERVATIONS)] == [("z", "y")]
    folder.put(
        OBSERVATIONS,
        "| Note | Noted | Observed | Sessions |\n|---|---|---|---|\n| z | 2026-01-01 | 2026-02-02 | 3 |\n",
    )
    (note,) = folder.notes(OBSERVATIONS)
    assert (note.date, note.rest, note.sessions) == (date(2026, 1, 1), ("Observed: 2026-02-02",), 3)


def test_a_cell_of_thousands_of_digits_is_read_as_words():
    folder, digits = Folder(), "9" * 5_000
    folder.put(
        OBSERVATIONS,
        f"| Pattern | Noted | Sessions |\n|---|---|---|\n| Lint | 2026-11-20 | {digits} |\n",
    )
    folder.put(RULES, f"| # | Rule | Why |\n|---|---|---|\n| {digits} | Write tests | they help |\n")
    (observation,) = folder.notes(OBSERVATIONS)
    (rule,) = folder.notes(RULES)
    assert (observation.sessions, rule.number) == (0, None)
    assert digits in " ".join(observation.rest)
