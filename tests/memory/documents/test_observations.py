from datetime import date, timedelta

import pytest

from autocompact.errors import InvalidInput
from autocompact.memory.documents.observations import LONGEST
from autocompact.memory.documents.pages import OBSERVATION_ARCHIVE, OBSERVATIONS, RULES
from tests.memory.documents.folder import TODAY, Folder

YOUNG, OLD = "2026-11-20", "2026-10-01"


@pytest.fixture
def folder() -> Folder:
    return Folder()


@pytest.mark.requirement("C2")
def test_few_confirmations_stay_five_make_a_rule_and_old_ones_are_archived(folder: Folder):
    lines = [f"- {YOUNG}: Young one {n} ({n} confirmations)\n" for n in range(6)]
    lines += [f"- {OLD}: Old thing {n} ({n} confirmations)\n" for n in range(6)]
    folder.put(OBSERVATIONS, "# Observations\n\n" + "".join(lines))
    run = folder.upkeep()
    assert folder.text(OBSERVATIONS) == "# Observations\n\n" + "".join(lines[:5])
    assert [note.text for note in folder.notes(RULES)] == ["Young one 5", "Old thing 5"]
    assert [note.text for note in folder.notes(OBSERVATION_ARCHIVE)] == [f"Old thing {n}" for n in range(5)]
    assert (run.stayed, len(run.escalated), len(run.archived)) == (5, 2, 5)
    assert "## Rule 1: Young one 5\n\n- Why: it was confirmed 5 times since 2026-11-20" in folder.text(RULES)
    reason = "51 days since it was last noted or confirmed (more than 28), with 4 of 5 confirmations"
    assert f"  | Confirmations: 4 | Archived: 2026-11-21 | Reason: {reason} |\n" in folder.text(
        OBSERVATION_ARCHIVE
    )
    before = dict(folder)
    again = folder.upkeep()
    assert (folder, again.escalated, again.archived) == (before, (), ())


@pytest.mark.parametrize("days, stays", [(28, True), (29, False)])
def test_age_is_counted_from_the_last_confirmation(folder: Folder, days: int, stays: bool):
    folder.put(OBSERVATIONS, f"- 2026-01-01: x is y (1 confirmation: {TODAY - timedelta(days=days)})\n")
    assert folder.upkeep().stayed == int(stays)


def test_without_a_date_an_observation_stays_and_is_counted(folder: Folder):
    folder.put(OBSERVATIONS, "- x is y\n- 2027-01-01: tea is hot\n")
    run = folder.upkeep()
    assert (run.stayed, run.undated) == (2, 1)


def test_the_figures_are_those_of_the_policy(folder: Folder):
    folder.put(OBSERVATIONS, f"- {YOUNG}: x is y (2 confirmations)\n- {YOUNG}: old hat\n")
    run = folder.upkeep(escalate_after=2, archive_after_days=0)
    assert ([rule.text for rule in run.escalated], [each.text for each in run.archived]) == (
        ["x is y"],
        ["old hat"],
    )


def test_a_rule_keeps_everything_that_belonged_to_the_observation(folder: Folder):
    folder.put(
        OBSERVATIONS,
        "## 2026-10-03: Use UTC\n\nConfirmations: 2026-10-04, 2026-10-05, 2026-10-06, 2026-10-07, 2026-10-08\nWhy: DST\n"
        "- Also noted: UTC it is\n\nMore words.\n",
    )
    folder.upkeep()
    assert folder.text(OBSERVATIONS) == ""
    assert folder.text(RULES) == (
        "# Active rules\n\n## Rule 1: Use UTC\n\n- Why: DST\n- Observed: 2026-10-03\n- Confirmations: 5 (2026-10-04, "
        "2026-10-05, 2026-10-06, 2026-10-07, 2026-10-08)\n- Rule since: 2026-11-21\n- Also noted: UTC it is\n\n> More words.\n"
    )


def test_an_archived_observation_keeps_everything_too(folder: Folder):
    folder.put(OBSERVATIONS, f"### Use UTC\n- Date: {OLD}\n- Why: DST\n\n```\nraw\n\n```\n> quoted\n")
    folder.upkeep()
    assert folder.text(OBSERVATION_ARCHIVE).startswith(
        f"# Observation archive\n\n## Legacy Observations (archived, not escalated)\n\n- {OLD}: Use UTC\n"
        "  | Confirmations: 0 | Archived: 2026-11-21 | Reason: 51 days"
    )
    assert folder.text(OBSERVATION_ARCHIVE).endswith("  > ```\n  > raw\n  >\n  > ```\n  > > quoted\n")
    assert folder.notes(OBSERVATION_ARCHIVE)[0].rest[0].startswith("| Confirmations: 0 |")


def test_rules_take_the_form_and_the_next_number_of_the_file(folder: Folder):
    folder.put(OBSERVATIONS, "- Use UTC (5 confirmations)\n  > q\n")
    folder.put(RULES, "# Mine\r\n\r\n1) First\r\n4) Second\r\n\r\nThe end.")
    folder.upkeep()
    assert folder.text(RULES) == (
        "# Mine\r\n\r\n1) First\r\n4) Second\r\n5) Use UTC\r\n   - Why: it was confirmed 5 times\r\n"
        "   - Confirmations: 5\r\n   - Rule since: 2026-11-21\r\n   > q\r\n\r\nThe end."
    )
    folder.put(OBSERVATIONS, "- Use tea (5 confirmations)\n")
    folder.put(RULES, "### Rule 7: First")
    folder.upkeep()
    assert folder.text(RULES).startswith("### Rule 7: First\n\n### Rule 8: Use tea\n\n- Why:")
    folder.put(OBSERVATIONS, "- Use tea (5 confirmations)\n")
    folder.put(RULES, "- Some rule\n")
    assert folder.upkeep().escalated[0].number == 1
    assert "\n\n## Rule 1: Use tea\n" in folder.text(RULES)


def test_the_archive_goes_on_under_its_heading_and_older_ones_by_month_stay(folder: Folder):
    folder.put(
        OBSERVATION_ARCHIVE, f"# Old\n\n## 2026-10\n\n- {OLD}: a is b\n  - Archived: 2026-10-30: long ago\n"
    )
    folder.put(OBSERVATIONS, f"- {OLD}: x is y\n")
    folder.upkeep()
    folder.put(OBSERVATIONS, f"- {OLD}: y is z\n")
    folder.upkeep()
    folder.put(OBSERVATIONS, "- 2026-10-30: z is a\n")
    folder.upkeep(today=date(2026, 12, 24))
    text = folder.text(OBSERVATION_ARCHIVE)
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "# Old",
        "## 2026-10",
        "## Legacy Observations (archived, not escalated)",
    ]
    assert [note.text for note in folder.notes(OBSERVATION_ARCHIVE)] == [
        "a is b",
        "x is y",
        "y is z",
        "z is a",
    ]


def test_observations_that_say_the_same_become_one_and_no_word_is_lost(folder: Folder):
    folder.put(
        OBSERVATIONS,
        f"- {YOUNG}: Tests need TZ=UTC\n  - Why: DST\n- {YOUNG}: Other\n- 2026-11-19: The tests need TZ=UTC (1 confirmation)\n"
        "  - Why: clocks\n  more\n- tests need TZ=UTC\n- ...\n- ???\n",
    )
    run = folder.upkeep()
    assert folder.text(OBSERVATIONS) == (
        f"- {YOUNG}: Tests need TZ=UTC (3 confirmations: 2026-11-19)\n  - Why: DST\n  - Also noted: The tests need TZ=UTC\n"
        f"  - Also noted: tests need TZ=UTC\n  > Why: clocks\n  > more\n- {YOUNG}: Other\n- ...\n- ???\n"
    )
    assert run.merged == ("The tests need TZ=UTC", "tests need TZ=UTC")


def test_what_a_rule_says_already_confirms_the_rule(folder: Folder):
    folder.put(RULES, "## Rule 1: Use UTC\n\n- Confirmations: 5\n")
    folder.put(OBSERVATIONS, f"- {YOUNG}: Please use UTC (9 confirmations)\n- {OLD}: use UTC\n")
    run = folder.upkeep()
    assert (run.escalated, run.archived, folder.text(OBSERVATIONS)) == ((), (), "")
    assert folder.text(RULES) == (
        f"## Rule 1: Use UTC\n\n- Confirmations: 16 ({OLD}, {YOUNG})\n- Also noted: Please use UTC\n- Also noted: use UTC\n"
    )


def test_contradicting_rules_are_reported_and_both_stay(folder: Folder):
    folder.put(RULES, "1. Always use tabs\n2. Retry 3 times\n")
    folder.put(OBSERVATIONS, f"- {YOUNG}: Never use tabs (5 confirmations)\n- {YOUNG}: Retry 5 times\n")
    run = folder.upkeep()
    assert [(each.first.text, each.second.text, each.differ) for each in run.contradictions] == [
        ("Always use tabs", "Never use tabs", "negation")
    ]
    # A figure makes two observations of it, and nobody said that both hold.
    assert [(each.first.text, each.second.text, each.differ) for each in run.alike] == [
        ("Retry 3 times", "Retry 5 times", "figure")
    ]
    assert folder.upkeep().contradictions == run.contradictions
    assert len(folder.notes(RULES)) == 3


def test_what_is_nearly_the_same_is_proposed_and_stays_apart(folder: Folder):
    folder.put(
        OBSERVATIONS, f"- {YOUNG}: Use rg instead of grep\n- {YOUNG}: rg should be used instead of grep\n"
    )
    before = dict(folder)
    (pair,) = folder.upkeep().alike
    assert (pair.first.text, pair.second.text, pair.differ) == (
        "Use rg instead of grep",
        "rg should be used instead of grep",
        "",
    )
    assert folder == before


def test_what_was_judged_the_same_becomes_one_and_what_was_judged_otherwise_is_not_asked_again(
    folder: Folder,
):
    folder.put(RULES, "1. Use UTC for dates\n")
    folder.put(
        OBSERVATIONS,
        f"- {YOUNG}: For dates, use UTC\n- {YOUNG}: Lint, then test\n- {YOUNG}: Test, then lint\n"
        f"- {YOUNG}: Test first, then lint\n",
    )
    assert len(folder.upkeep().alike) == 4
    run = folder.upkeep(
        verdicts={
            ("Use UTC for dates", "For dates, use UTC"): "same",
            ("Lint, then test", "Test, then lint"): "contradicts",
            ("Lint, then test", "Test first, then lint"): "different",
            ("Test, then lint", "Test first, then lint"): "same",
        }
    )
    assert run.merged == ("For dates, use UTC", "Test first, then lint")
    assert [each.second.text for each in run.contradictions] == ["Test, then lint"]
    assert run.alike == ()
    assert "  - Also noted: Test first, then lint\n" in folder.text(OBSERVATIONS)
    assert "   - Also noted: For dates, use UTC\n" in folder.text(RULES)
    assert folder.upkeep().merged == ()


def test_what_was_judged_different_is_not_proposed(folder: Folder):
    folder.put(OBSERVATIONS, f"- {YOUNG}: Lint, then test\n- {YOUNG}: Test, then lint\n")
    run = folder.upkeep(verdicts={("Lint, then test", "Test, then lint"): "different"})
    assert (run.alike, run.contradictions, run.merged) == ((), (), ())


def test_a_model_cannot_merge_what_differs_in_a_figure_nor_two_rules(folder: Folder):
    folder.put(RULES, "1. Lint, then test\n2. Test, then lint\n")
    folder.put(OBSERVATIONS, f"- {YOUNG}: Retry 3 times\n- {YOUNG}: Retry 5 times\n")
    before = dict(folder)
    run = folder.upkeep(
        verdicts={("Retry 3 times", "Retry 5 times"): "same", ("Lint, then test", "Test, then lint"): "same"}
    )
    assert run.merged == ()
    assert [each.first.text for each in run.alike] == ["Lint, then test", "Retry 3 times"]
    assert folder == before


def test_a_negation_that_others_make_up_for_is_merged_only_if_the_model_weighed_it(folder: Folder):
    notes = ("Answers without emoji, says the user", "Leave emoji out of answers, says the user")
    folder.put(OBSERVATIONS, "".join(f"- {YOUNG}: {each}\n" for each in notes))
    run = folder.upkeep(verdicts={notes: "same"})
    assert (run.merged, [each.differ for each in run.alike]) == ((), ["negation"])
    assert folder.upkeep(verdicts={notes: "restated"}).merged == notes[1:]
    figures = ("Wait 3 minutes, without a retry", "Wait 5 minutes, and retry not")
    folder.put(OBSERVATIONS, "".join(f"- {YOUNG}: {each}\n" for each in figures))
    assert folder.upkeep(verdicts={figures: "restated"}).merged == ()


def test_a_note_with_the_words_of_two_makes_one_of_all(folder: Folder):
    folder.put(
        OBSERVATIONS,
        f"- {YOUNG}: Use UTC\n- {YOUNG}: Dates are UTC\n- {YOUNG}: No local time\n  - Also noted: Dates are UTC\n"
        "  - Also noted: Use UTC\n",
    )
    assert folder.upkeep().merged == ("Dates are UTC", "No local time")
    assert folder.upkeep().merged == ()


def test_a_new_one_tells_what_may_say_the_same_and_a_person_may_say_that_it_does(folder: Folder):
    folder.put(OBSERVATIONS, f"- {YOUNG}: Use rg instead of grep\n")
    told = folder.observe("rg should be used, instead of grep")
    assert (told.action, told.near) == ("recorded", ("Use rg instead of grep",))
    told = folder.observe("instead of grep take rg", same_as="use rg instead of grep")
    assert (told.action, told.text, told.near) == ("confirmed", "Use rg instead of grep", ())
    assert folder.observe("Instead of grep, take rg.").text == "Use rg instead of grep"
    with pytest.raises(InvalidInput, match="no rule and no observation says 'ripgrep'"):
        folder.observe("Take it", same_as="ripgrep")


def test_no_date_is_lost_when_observations_move_or_become_one(folder: Folder):
    folder.put(
        OBSERVATIONS,
        f"- {OLD}: x is y\n  - Last seen: 2026-10-02\n- {YOUNG}: Use UTC\n- {OLD}: Use UTC\n  - Last seen: 2026-10-09\n"
        f"- {YOUNG}: Use tea (7 confirmations)\n  Last seen: 2026-11-19\n",
    )
    folder.upkeep()
    assert "confirmations |\n  - Last seen: 2026-10-02\n" in folder.text(OBSERVATION_ARCHIVE)
    assert "- Last seen: 2026-11-19\n- Rule since:" in folder.text(RULES)
    assert folder.text(OBSERVATIONS) == (
        f"- {YOUNG}: Use UTC (1 confirmation: {OLD})\n  - Last seen: 2026-10-09\n"
    )


def test_a_date_over_observations_goes_with_the_last_of_them(folder: Folder):
    folder.put(
        OBSERVATIONS,
        f"# H\n\n## {OLD}\n\n- x is y\n\n- y is z\n\n## Week of {YOUNG}\n\n- tea\n\n## CI\n\n- {OLD}: old hat\n\n## 2026-09\n\n"
        f"### 2026-09-04\n\n- a is b\n\n## 2026-08\n\nWords.\n\n- b is c\n\n## 2026-07\n",
    )
    folder.upkeep()
    assert folder.text(OBSERVATIONS) == (
        f"# H\n\n## Week of {YOUNG}\n\n- tea\n\n## CI\n\n## 2026-08\n\nWords.\n\n## 2026-07\n"
    )


def test_a_group_of_items_goes_with_the_last_of_them(folder: Folder):
    folder.put(
        OBSERVATIONS, f"- CI\n  - {OLD}: x is y\n- {OLD}\n  - a is b\n\n- Build:\n  - {YOUNG}: y is z\n"
    )
    folder.upkeep()
    assert folder.text(OBSERVATIONS) == f"- Build:\n  - {YOUNG}: y is z\n"
    assert [note.text for note in folder.notes(OBSERVATION_ARCHIVE)] == ["CI: x is y", "a is b"]


def test_a_new_one_goes_below_a_group_of_items(folder: Folder):
    folder.put(OBSERVATIONS, f"- CI\n  - {YOUNG}: x is y\n")
    folder.observe("New one")
    assert folder.text(OBSERVATIONS) == f"- CI\n  - {YOUNG}: x is y\n\n- 2026-11-21: New one\n"


@pytest.mark.requirement("C2")
@pytest.mark.parametrize(
    "observed, why",
    [
        # the newest on top: what it confirms is below
        (
            "- 2026-11-20: x\n- 2026-10-30: x\n- 2026-10-01: x (2 confirmations: 2026-10-05, 2026-10-09)\n"
            "- 2026-09-30: x\n",
            "it was confirmed 5 times since 2026-09-30, last on 2026-11-20",
        ),
        ("- 2026-11-01: x (6 confirmations)\n", "it was confirmed 6 times since 2026-11-01"),
        ("- x (6 confirmations)\n", "it was confirmed 6 times"),
        (
            "- 2026-11-02: x (5 confirmations)\n  - Last seen: 2026-11-10\n",
            "it was confirmed 5 times since 2026-11-02, last on 2026-11-10",
        ),
    ],
)
def test_a_rule_says_since_when_and_until_when_as_far_as_that_is_known(
    observed: str, why: str, folder: Folder
):
    folder.put(OBSERVATIONS, observed)
    folder.upkeep()
    assert f"- Why: {why}\n" in folder.text(RULES)


def test_a_rule_lists_the_days_after_the_first(folder: Folder):
    folder.put(
        OBSERVATIONS,
        "- 2026-11-20: x (4 confirmations: 2026-10-01, 2026-10-05, 2026-10-09, 2026-10-30)\n- 2026-11-19: x\n",
    )
    folder.upkeep()
    assert "- Observed: 2026-10-01\n" in folder.text(RULES)
    days = "2026-10-05, 2026-10-09, 2026-10-30, 2026-11-19, 2026-11-20"
    assert f"- Confirmations: 5 ({days})\n" in folder.text(RULES)


def test_what_looks_like_an_entry_and_is_none_is_named(folder: Folder):
    table = "| when | what |\n|---|---|\n| 2026-10-03 | Use UTC |\n"
    folder.put(
        OBSERVATIONS,
        f"# O\n\nAll of us.\n\n{table}\n2026-10-03: Use UTC\nalways\n\nUse tea (3 confirmations)\n\n    2026-10-03: code\n\n"
        f"```\n{table}```\n\n<!--\n{table}-->\n\n> 2026-10-03: said\n\n- x\n  {table}\n## Use UTC\nWhy: x\n\n{table}",
    )
    folder.put(RULES, "# R\n\nRule 4: Use UTC\n")
    before = folder.text(OBSERVATIONS)
    found = [(each.file, each.line, each.kind) for each in folder.upkeep().unread]
    assert found == [
        (OBSERVATIONS, 5, "table"),
        (OBSERVATIONS, 9, "paragraph"),
        (OBSERVATIONS, 12, "paragraph"),
        (RULES, 3, "paragraph"),
    ]
    assert folder.text(OBSERVATIONS) == before


def test_a_removed_observation_takes_the_blank_lines_after_it_along(folder: Folder):
    folder.put(
        OBSERVATIONS,
        f"# H\n\n- {OLD}: x is y\n\n- {YOUNG}: y\n- {OLD}: x is z\n\n## {OLD}: tea\n\n\n## Rest\n",
    )
    folder.upkeep()
    assert folder.text(OBSERVATIONS) == f"# H\n\n- {YOUNG}: y\n\n## Rest\n"


def test_the_blank_lines_after_observations_that_touch_go_if_there_is_one_before_the_first(folder: Folder):
    folder.put(
        OBSERVATIONS, f"# H\n\n- {OLD}: x is y\n- {OLD}: x is z\n\ntext\n\n- {YOUNG}: y\n- {OLD}: w\n\nmore\n"
    )
    folder.upkeep()
    assert folder.text(OBSERVATIONS) == f"# H\n\ntext\n\n- {YOUNG}: y\n\nmore\n"


# Recording


def test_an_observation_is_recorded_with_its_date_and_reason(folder: Folder):
    assert folder.observe("Use\n UTC\x00 ", why="DST").action == "recorded"
    assert folder.text(OBSERVATIONS) == "# Observations\n\n- 2026-11-21: Use UTC\n  - Why: DST\n"


@pytest.mark.parametrize(
    "before, after",
    [
        ("- Use UTC\n", "- Use UTC (1 confirmation: 2026-11-21)\n"),
        ("- Use UTC (8 confirmations)", "- Use UTC (9 confirmations: 2026-11-21)"),
        (
            "- Use UTC (2026-10-03, 2026-10-05)\n",
            "- Use UTC (2026-10-03, 2 confirmations: 2026-10-05, 2026-11-21)\n",
        ),
        ("- Use UTC\n  * 2026-10-03\n", "- Use UTC\n  * 2026-10-03\n  * 2026-11-21\n"),
        (
            "- Use UTC (2026-10-03, 8 confirmations)\n",
            "- Use UTC (2026-10-03, 9 confirmations: 2026-11-21)\n",
        ),
        ("- Use UTC\n  - Confirmations: 8\n", "- Use UTC\n  - Confirmations: 9 (2026-11-21)\n"),
        ("- Use UTC\n  - Confirmed: 2026-10-03\n", "- Use UTC\n  - Confirmed: 2026-10-03, 2026-11-21\n"),
        (
            "- Use UTC\n  - Confirmed:\n    * 2026-10-03\n\nx",
            "- Use UTC\n  - Confirmed:\n    * 2026-10-03\n    * 2026-11-21\n\nx",
        ),
        ("- Use UTC\n  - Confirmed:\n", "- Use UTC\n  - Confirmed:\n    - 2026-11-21\n"),
        (
            "## Use UTC ##\nDate: 2026-10-03\n",
            "## Use UTC (1 confirmation: 2026-11-21) ##\nDate: 2026-10-03\n",
        ),
    ],
)
def test_a_confirmation_is_written_where_the_others_stand(folder: Folder, before: str, after: str):
    folder.put(OBSERVATIONS, before)
    assert folder.observe("Use UTC").action == "confirmed"
    assert folder.text(OBSERVATIONS) == after


def test_other_words_and_a_reason_are_added_to_what_is_confirmed(folder: Folder):
    folder.put(OBSERVATIONS, "## Use UTC\n\nDate: 2026-10-03\n\n## 2026-10-04: Other")
    folder.observe("Please use UTC", why="DST")
    assert folder.text(OBSERVATIONS) == (
        "## Use UTC (1 confirmation: 2026-11-21)\n\nDate: 2026-10-03\n\n- Why: DST\n- Also noted: Please use UTC\n\n"
        "## 2026-10-04: Other"
    )
    assert folder.observe("Please use UTC").action == "repeated"
    assert folder.text(OBSERVATIONS).count("Also noted") == 1


def test_five_confirmations_of_what_was_observed_make_a_rule(folder: Folder):
    for days in range(6, 0, -1):
        folder.observe("Use UTC", today=TODAY - timedelta(days=days))
    assert [rule.text for rule in folder.upkeep().escalated] == ["Use UTC"]
    told = folder.observe("Use UTC")
    assert (told.action, told.rule, told.confirmations) == ("rule", 1, 6)
    assert ", 2026-11-20, 2026-11-21\n" in folder.text(RULES)


def test_notes_of_one_day_are_one_confirmation(folder: Folder):
    told = [folder.observe("Use UTC") for _ in range(5)][-1]
    assert (told.action, told.confirmations) == ("repeated", 0)
    day = TODAY + timedelta(days=1)
    told = [folder.observe("use UTC.", why="DST", today=day) for _ in range(5)][-1]
    assert (told.action, told.confirmations) == ("repeated", 1)
    assert folder.text(OBSERVATIONS) == (
        "# Observations\n\n- 2026-11-21: Use UTC (1 confirmation: 2026-11-22)\n  - Why: DST\n  - Also noted: use UTC.\n"
    )
    folder.put(OBSERVATIONS, f"- {YOUNG}: Use UTC\n" * 6)
    assert len(folder.upkeep().merged) == 5
    assert folder.text(OBSERVATIONS) == f"- {YOUNG}: Use UTC\n"


def test_what_is_observed_again_comes_back_from_the_archive(folder: Folder):
    folder.put(OBSERVATIONS, f"- {OLD}: Use UTC (3 confirmations)\n")
    folder.upkeep()
    assert folder.observe("use UTC").action == "revived"
    assert folder.notes(OBSERVATION_ARCHIVE) == ()
    (note,) = folder.notes(OBSERVATIONS)
    assert (note.text, note.confirmations, note.date) == ("Use UTC", 4, date(2026, 10, 1))
    assert "> | Confirmations: 3 | Archived: 2026-11-21 | Reason: 51 days" in folder.text(OBSERVATIONS)


@pytest.mark.parametrize(
    "before, after",
    [
        ("* 2026-10-03: a", "* 2026-10-03: a\n* 2026-11-21: New one\n"),
        ("- 2026-10-03: a\n- 2026-10-01: b\n", "- 2026-11-21: New one\n- 2026-10-03: a\n- 2026-10-01: b\n"),
        ("1. 2026-10-03: a\n", "1. 2026-10-03: a\n- 2026-11-21: New one\n"),
        ("## 2026-10-03: a", "## 2026-10-03: a\n\n## 2026-11-21: New one\n\n- Why: w\n\n> r\n"),
        (
            "## 2026-10-03: a\n\n## 2026-10-01: b\n",
            "## 2026-11-21: New one\n\n## 2026-10-03: a\n\n## 2026-10-01: b\n",
        ),
        ("# Notes\n\nText.\n", "# Notes\n\nText.\n\n- 2026-11-21: New one\n"),
        ("text\n```\nopen", "text\n\n- 2026-11-21: New one\n\n```\nopen"),
    ],
)
def test_a_new_one_takes_form_and_order_of_the_file(folder: Folder, before: str, after: str):
    if "> r" in after:
        folder.put(OBSERVATION_ARCHIVE, "- New one\n  - Why: w\n  r\n")
        after = after.replace("## 2026-11-21: New one", "## New one (1 confirmation: 2026-11-21)")
        before, after = before, after.replace("## New", "## 2026-11-21: New")
    folder.put(OBSERVATIONS, before)
    folder.observe("New one")
    assert folder.text(OBSERVATIONS) == after


@pytest.mark.parametrize(
    "text",
    """x (8 confirmations)|x (confirmed 9 times)|x, confirmed 9 times|x, bestätigt|x (three confirmations)|x dreimal bestätigt|2026-01-01: x|# x|- x|1. x|x (2026-01-01)|```|[x] y|Why: x|> x
|Confirmations: 9|**x**|x #|é\u2028x|<!-- x|(9 confirmations)x (2 confirmations)""".replace("\n", "").split(
        "|"
    ),
)
def test_no_text_can_pass_for_more_than_it_is(folder: Folder, text: str):
    folder.observe(f"a {text}" if text == "```" else text)
    folder.observe("another thing")
    first, second = folder.notes(OBSERVATIONS)
    assert (first.confirmations, first.date, second.text) == (0, TODAY, "another thing")
    assert first.text.replace(" ", "") in f"a{text}".replace("\u2028", "").replace(" ", "")


@pytest.mark.parametrize(
    "text, problem", [("", "needs words"), ("...", "needs words"), ("x" * (LONGEST + 1), "2,001 characters")]
)
def test_an_observation_needs_words_and_not_too_many(folder: Folder, text: str, problem: str):
    with pytest.raises(InvalidInput, match=problem):
        folder.observe(text)
    with pytest.raises(InvalidInput, match="the reason has"):
        folder.observe("x", why="y" * (LONGEST + 1))
