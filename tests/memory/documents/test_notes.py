from datetime import date

import pytest

from autocompact.memory.documents.notes import Note
from autocompact.memory.documents.pages import DONE, OBSERVATION_ARCHIVE, OBSERVATIONS, RULES
from tests.memory.documents.folder import Folder

DAY = date(2026, 10, 3)


def read(text: str, name: str = OBSERVATIONS) -> tuple[Note, ...]:
    folder = Folder()
    folder.put(name, text)
    return folder.notes(name)


@pytest.mark.parametrize(
    "line",
    [
        "- 2026-10-03: Tests need TZ=UTC (8 confirmations)",
        "* [2026-10-03] Tests need TZ=UTC (confirmed 8 times)",
        "* 2026-10-03 Tests need TZ=UTC (8x confirmed)",
        "- **2026-10-03** Tests need TZ=UTC [8 confirmations]",
        "- **2026-10-03:** Tests need TZ=UTC - 8 confirmations",
        "- (3 Oct 2026) Tests need TZ=UTC (seen 8 times).",
        "1. Oct 3, 2026 - Tests need TZ=UTC (8 confirmations)",
        "+ Tests need TZ=UTC (2026-10-03, 8 confirmations)",
        "- [ ] Tests need TZ=UTC (8 confirmations) (2026-10-03)",
        "- Tests need\n  TZ=UTC (2026-10-03)\n  Confirmations: 8",
        "- Tests need TZ=UTC\n  - Date: 03.10.2026\n  - **Confirmations:** 8",
        "- Tests need TZ=UTC\n  - First seen: 2026-10-03\n  - Confirmed: 8 times",
        "## 2026-10-03\n\n- Tests need TZ=UTC (8 confirmations)",
        "## Week of 2026-10-03\n\n- Tests need TZ=UTC (confirmations: 8)",
        "## 2026-10-03: Tests need TZ=UTC\n\nConfirmations: 8",
        "### Tests need TZ=UTC ###\n- Noted on: 2026-10-03\n- Confirmations: 8",
        "Tests need\nTZ=UTC (2026-10-03)\n---\n\n**Confirmations**: 8",
        "## Group\n\nWords.\n\n### Tests need TZ=UTC (8 confirmations)\nDate: 2026-10-03",
    ],
)
def test_a_note_is_understood_however_it_is_written(line: str):
    (note,) = read(f"# Observations (updated 2026-11-01)\n\n{line}\n")
    assert (note.text, note.date, note.confirmations) == ("Tests need TZ=UTC", DAY, 8)


@pytest.mark.parametrize(
    "line, count",
    [
        ("x, confirmed 9 times", 9),
        ("x. Confirmed 6 times.", 6),
        ("x: confirmed 4x", 4),
        ("x; 3 confirmations across 2 sessions", 3),
        ("x, seen twice", 2),
        ("x (confirmed three times)", 3),
        ("x (Nine confirmations)", 9),
        ("x (confirmed once)", 1),
        ("x (seen five times)", 5),
        ("x (confirmed a dozen times)", 12),
        ("x (dreimal bestätigt)", 3),
        ("x (neun Mal bestätigt)", 9),
        ("x, zweimal bestätigt", 2),
        ("x (confirmé trois fois)", 3),
        ("x, confirmée deux fois", 2),
        ("x (confirmado tres veces)", 3),
        ("x (once veces confirmado)", 11),
        ("x（确认三次）", 3),
        ("x，确认十二次", 12),
        ("x (三回確認)", 3),
        ("x。確認：二十回", 20),
        ("x [confermato tre volte]", 3),
        ("x\n  - Confirmations: three", 3),
        ("x\n  - Confirmed: twice.", 2),
        ("x\n  - Bestätigungen: neun (in 4 Sitzungen)", 9),
    ],
)
@pytest.mark.requirement("C2")
def test_a_count_of_confirmations_is_read_as_people_write_it(line: str, count: int):
    (note,) = read(f"- 2026-10-03: {line}\n")
    assert (note.text, note.confirmations, note.unread) == ("x", count, ())


@pytest.mark.parametrize(
    "line, unread",
    [
        ("x confirmed 9 times", "confirmed 9 times"),
        ("x dreimal bestätigt", "dreimal bestätigt"),
        ("Users confirmed 5 times that it is slow", "confirmed 5 times"),
        ("x (confirmed again and again)", "(confirmed again and again)"),
        ("x (confirmed by Ada and 3 others)", "(confirmed by Ada and 3 others)"),
        ("x (mehrfach bestätigt)", "(mehrfach bestätigt)"),
        ("x, confirmed 3 times by Ada, 2 by Bob", "confirmed 3 times"),
        ("x\n  - Confirmations: several", "several"),
    ],
)
def test_a_count_that_cannot_be_read_is_named_and_never_none(line: str, unread: str):
    (note,) = read(f"- 2026-10-03: {line}\n")
    assert (note.confirmations, note.unread) == (0, (unread,))


@pytest.mark.parametrize(
    "line",
    [
        "Never merge before CI confirmed 3 checks",
        "Deploy twice, confirm once",
        "Ask: confirm one by one",
        "x (confirmed by Ada)",
    ],
)
def test_words_that_count_no_confirmations_are_text(line: str):
    (note,) = read(f"- {line}\n  - Confirmations: none yet\n")
    assert (note.text, note.confirmations, note.unread) == (line, 0, ())


@pytest.mark.parametrize(
    "line",
    [
        "- 2026-10-03: x (2 confirmations: 2026-10-05, 2026-10-07)",
        "- 2026-10-03: x (confirmed 2026-10-05 and 2026-10-07)",
        "- x (2026-10-03)\n  - Confirmations: 2026-10-05, 2026-10-07",
        "- x (2026-10-03)\n  - Confirmations: 2 (2026-10-05, 2026-10-07)",
        "- x (2026-10-03)\n  - Confirmed on:\n    - 2026-10-05\n    - 2026-10-07",
        "- x (2026-10-03, 2026-10-05, 2026-10-07)",
        "- 2026-10-03: x (2026-10-05, 2026-10-07)",
        "- 2026-10-03: x (seen again on 2026-10-05 and 2026-10-07)",
        "- 2026-10-03: x\n  * 2026-10-05\n  * 2026-10-07",
    ],
)
def test_a_list_of_dates_counts_as_confirmations(line: str):
    (note,) = read(line)
    assert (note.date, note.confirmations, note.last) == (DAY, 2, date(2026, 10, 7))
    assert note.confirmed == (date(2026, 10, 5), date(2026, 10, 7))


@pytest.mark.parametrize(
    "line, seen",
    [
        ("- 2026-10-03: x\n  - Noted: 2026-10-05\n  - Last seen: 2026-10-07, 2026-10-09", (5, 7, 9)),
        ("- x\n  - Seen: 2026-10-03, 2026-10-05", (5,)),
        ("- 2026-10-03: x (2 confirmations)\n  - Last confirmed: 2026-10-03", ()),
    ],
)
def test_further_dates_are_kept(line: str, seen: tuple[int, ...]):
    (note,) = read(line)
    assert (note.date, note.seen) == (DAY, tuple(date(2026, 10, day) for day in seen))


def test_one_date_more_in_brackets_is_part_of_the_text_and_a_second_count_too():
    assert read("- 2026-10-03: Put off (2026-10-05)")[0].text == "Put off (2026-10-05)"
    (note,) = read("- Put off (2026-10-03) (8 confirmations)")
    assert (note.text, note.date, note.confirmations) == ("Put off", DAY, 8)
    assert read("- x (3 confirmations) (8 confirmations)")[0].text == "x (3 confirmations)"


def test_a_later_date_makes_a_note_young_and_is_no_confirmation():
    (note,) = read("- 2026-10-03: x (3 confirmations)\n  - Last seen: 2026-11-20")
    assert (note.confirmations, note.last) == (3, date(2026, 11, 20))


def test_a_month_above_dates_the_notes_below_by_its_last_day():
    assert [note.date for note in read("## October 2026\n\n- x\n- 2026-10-03: y")] == [
        date(2026, 10, 31),
        DAY,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x (in 2027)",
        "x (5x)",
        "The licence ends 2026-12-31",
        "x - see above",
        "x (no confirmation)",
        "Confirmations: many",
        "Why: who knows",
    ],
)
def test_what_only_looks_like_a_date_or_a_confirmation_is_text(text: str):
    (note,) = read(f"- 2026-10-03: {text}")
    assert (note.text, note.date, note.confirmations) == (text, DAY, 0)


def test_what_belongs_to_a_note_and_is_no_field_is_its_rest():
    (note,) = read(
        "- 2026-10-03: x\n  - Why: y\n  - Why: z\n  - Also noted: xx\n  - Confirmed:\n    - 2026-10-04\n    - often\n"
        "  - Date: soon\n  - Last seen: never\n  - Also noted:\n\n  text\n\n  ```\n  Confirmations: 99\n  ```\n"
    )
    assert (note.why, note.also, note.confirmations) == ("y", ("xx",), 1)
    assert note.rest[:2] == ("  - Why: z".strip(), "  - often")
    assert "Confirmations: 99" in "\n".join(note.rest)


def test_a_heading_that_is_marked_itself_is_one_note_with_all_under_it():
    (note,) = read("## 2026-10-01: the build\n\n- 2026-10-03: x\n\n### y (2 confirmations)\n\nz\n")
    assert (note.text, note.confirmations) == ("the build", 0)
    assert note.rest == ("- 2026-10-03: x", "", "### y (2 confirmations)", "", "z")
    assert [
        note.text for note in read("## Build\n\n- x\n  - Date: 2026-10-03\n\n### y (2 confirmations)\n")
    ] == ["x", "y"]


def test_headings_with_a_date_of_their_own_at_its_end_are_notes_too():
    text = "## 2026-10-01: a\n\nx\n\n### More\n\ny\n\n### 2026-10-02: b\n\nWhy: c\n\n### 2026-10-03: d\n"
    notes = read(text)
    assert [(note.text, note.start, note.end) for note in notes] == [("a", 0, 7), ("b", 8, 11), ("d", 12, 13)]
    assert notes[0].rest == ("x", "", "### More", "", "y")
    (whole,) = read(text + "\n### Week of 2026-10-05\n\nz\n")
    assert whole.text == "a"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("* CI\n  - 2026-10-03: a\n  - b (2 confirmations)\n\n", ["CI: a", "CI: b"]),
        ("* The nightly build of it:\n  - 2026-10-03: a\n", ["The nightly build of it: a"]),
        ("* CI\n  - 2026-10-03: a\n  - b\n", ["CI"]),
        ("* CI\n  - 2026-10-03: a\n\n  More.\n", ["CI"]),
        ("* Tests need the UTC zone\n  - 2026-10-03: a\n", ["Tests need the UTC zone"]),
        ("* 2026-10-01\n  1. a\n     b\n  2. c (2026-10-03)\n  3.\n", ["a b", "c"]),
        ("* 2026-10-01\n", []),
        ("* CI\n  > - 2026-10-03: a\n", ["CI"]),
    ],
)
def test_an_item_may_be_a_group_of_notes(text: str, expected: list[str]):
    assert [note.text for note in read(text)] == expected


def test_a_rule_with_a_history_is_no_group():
    assert [rule.text for rule in read("1. Use UTC\n   - 2026-10-03: it failed\n", RULES)] == ["Use UTC"]


def test_the_name_of_a_task_ends_where_somebody_broke_the_line():
    (task,) = read("- T-1 Mend it\n  The tax office rounds up.\n  - Outcome: done\n", DONE)
    assert (task.text, task.rest) == ("T-1 Mend it", ("The tax office rounds up.",))
    for line in ("T-1 Mend\n  it", "T-1 Mend,\n  It", f"T-1 {'Mend ' * 12}\n  It"):
        (task,) = read(f"- {line}\n", DONE)
        assert task.text == " ".join(line.split())


def test_a_task_has_the_date_on_which_it_ended():
    (task,) = read("## T-1\nCreated: 2026-10-01\nCompleted: 2026-10-03\n", DONE)
    assert (task.date, task.seen) == (DAY, (date(2026, 10, 1),))


def test_dates_alone_below_a_heading_make_it_no_note():
    text = "## Testing\n\n- a\n  - 2026-10-05\n- 2026-10-03\n  - b\n"
    assert [(note.text, note.confirmations, note.date) for note in read(text)] == [
        ("a", 1, None),
        ("b", 0, DAY),
    ]


def test_the_month_of_archiving_is_no_date_of_a_note():
    text = "## 2026-11\n\n- a\n  - Archived: 2026-11-21: old\n\n## Build\n\n- b (2026-10-03)\n"
    assert [note.date for note in read(text, OBSERVATION_ARCHIVE)] == [None, DAY]


def test_the_title_is_no_note_and_an_empty_item_neither():
    assert [note.text for note in read("# All of it (2026-10-03)\n\n- x\n-\n")] == ["x"]


def test_a_heading_that_says_nothing_about_itself_is_no_note():
    assert read("# Observations\n\nEach line is one.\n\n## Format\n\nOne line.\n") == ()


@pytest.mark.parametrize(
    "text", ["## Rule 3: Use UTC\n\nWhy: y", "### 3. Use UTC\n- Why: y", "3. Use UTC\n   - Why: y"]
)
def test_rules_are_numbered_headings_or_items(text: str):
    (rule,) = read(text, RULES)
    assert (rule.number, rule.text, rule.why) == (3, "Use UTC", "y")
    assert read("## 3. Use UTC", RULES)[0].text == "Use UTC"
    assert read("## 3. Build\n\n- x")[0].text == "x"


def test_numbers_of_ordered_items_are_known():
    assert [rule.number for rule in read("1. a\n7. b\n\n3) c\n- d\n", RULES)] == [1, 7, 3, None]
    assert read("- a\n1. x\ty\n-\tb\n", RULES)[1].number == 1


def test_a_field_without_a_value_has_the_list_under_it_and_nothing_else():
    folder = Folder()
    folder.put(DONE, "## T-1: x\n\nFiles:\n- a.py\n- b.py\n\nOutcome:\nText.\n")
    (task,) = folder.notes(DONE)
    assert (task.fields, task.rest) == ((("files", "a.py; b.py"), ("outcome", "")), ("Text.",))
    (note,) = read(
        "- 2026-10-03: x\n  - Confirmed:\n\n    text\n  - Last seen: never\n  - Confirmations: many\n"
    )
    assert "- Last seen: never" in "\n".join(note.rest)
