"""Filters of a search, from arguments and from the words of a query."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autocompact.core.filters import Filters, fits, is_on, is_relative, make_filters, read_query
from autocompact.core.messages import ToolCall, text_message
from autocompact.errors import InvalidInput

SEPTEMBER = ("2022-09-01", "2022-10-01")
NOW = "2022-09-15T10:00:00Z"


@pytest.mark.parametrize(
    "words, days",
    [
        ("September 2022", SEPTEMBER),
        ("what happened in sept. 2022?", SEPTEMBER),
        ("im September 2022", SEPTEMBER),
        ("en septiembre de 2022", SEPTEMBER),
        ("août 2022", ("2022-08-01", "2022-09-01")),
        ("2022年9月的旅行", SEPTEMBER),
        ("2022年9月14日", ("2022-09-14", "2022-09-15")),
        ("2022年", ("2022-01-01", "2023-01-01")),
        ("on 2022-09-14 at noon", ("2022-09-14", "2022-09-15")),
        ("2022-12", ("2022-12-01", "2023-01-01")),
        ("14 September 2022", ("2022-09-14", "2022-09-15")),
        ("14. Dezember 2022", ("2022-12-14", "2022-12-15")),
        ("December 31st, 2022", ("2022-12-31", "2023-01-01")),
        ("what did she say yesterday", ("2022-09-14", "2022-09-15")),
        ("was habe ich gestern bestellt", ("2022-09-14", "2022-09-15")),
        ("昨天说了什么", ("2022-09-14", "2022-09-15")),
        ("今日の予定", ("2022-09-15", "2022-09-16")),
        ("2022-13-40", None),
        ("version 2022-1", None),
        ("may 20 people", None),
    ],
)
def test_a_day_that_a_question_mentions_is_preferred(words: str, days: tuple[str, str] | None) -> None:
    asked = read_query(words, filters=Filters(), now=NOW)
    assert asked.preferred.days == days
    assert not asked.filters
    assert asked.text == words


def test_without_the_present_yesterday_is_a_word() -> None:
    assert is_relative("what was yesterday")
    assert not is_relative("what was in May")
    assert read_query("yesterday", filters=Filters()).preferred == Filters()


@pytest.mark.parametrize(
    "words, speaker",
    [
        ("What did I say about the dentist?", "user"),
        ("was habe ich über den Zahnarzt gesagt", "user"),
        ("我说过什么", "user"),
        ("what did you suggest for dinner", "assistant"),
        ("the dentist", None),
    ],
)
def test_whose_words_a_question_asks_for_is_preferred(words: str, speaker: str | None) -> None:
    assert read_query(words, filters=Filters()).preferred.speaker == speaker


def test_named_filters_leave_the_words_of_the_query() -> None:
    asked = read_query(
        'rate kind:output from:tool file:"src/my tax.py" since:2022-09 until:2022-10 error:E501',
        filters=Filters(),
    )
    assert asked.text == "rate error:E501"
    assert asked.filters == Filters(kind="output", speaker="tool", file="src/my tax.py", days=SEPTEMBER)
    assert read_query("x on:2022", filters=Filters()).filters.days == ("2022-01-01", "2023-01-01")


def test_arguments_count_more_than_the_query() -> None:
    asked = read_query("x kind:call speaker:user", filters=make_filters(kind="output", speaker="TOOL"))
    assert asked.filters == Filters(kind="output", speaker="tool")


@pytest.mark.parametrize(
    "given, says",
    [
        ({"kind": "outputs"}, "kind 'outputs' is unknown: use one of words, call, edit"),
        ({"speaker": "bob"}, "use one of user, assistant, tool"),
        ({"after": "soon"}, "after 'soon' is no date: write 2022, 2022-09"),
        ({"date_": "2022-02-31"}, "date '2022-02-31' is no date"),
        ({"after": "2022-10", "before": "2022-09"}, "turn them round"),
    ],
)
def test_a_filter_that_cannot_be_says_what_can(given: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        make_filters(**given)
    assert says in str(raised.value)


def test_bounds_narrow_a_date() -> None:
    assert make_filters(date_="2022-09", after="2022-09-10").days == ("2022-09-10", "2022-10-01")
    assert make_filters(before="2022").days == ("0000", "2022-01-01")


def test_speaker_and_kind_together_name_the_passages() -> None:
    assert Filters().kinds is None
    assert Filters(speaker="user", kind="words").kinds == {"request"}
    assert Filters(kind="edit").kinds == {"call"}
    with pytest.raises(InvalidInput, match="speaker 'tool' has nothing of kind 'words'"):
        _ = Filters(speaker="tool", kind="words").kinds


def test_an_undated_message_is_on_no_day() -> None:
    assert is_on("", None)
    assert not is_on("", SEPTEMBER)
    assert is_on("2022-09-30T23:59:59Z", SEPTEMBER)
    assert not is_on("2022-10-01T00:00:00Z", SEPTEMBER)


def test_what_a_message_does_decides_on_edits_commands_and_files() -> None:
    edit = ToolCall(
        id="e",
        name="Edit",
        arguments='{"file_path": "src/tax.py", "old_string": "a", "new_string": "b"}',
    )
    notes = '{"file_path": "notes.md", "old_string": "a", "new_string": "see src/tax.py"}'
    edit_of_notes = replace(edit, arguments=notes)
    run = ToolCall(id="r", name="Bash", arguments='{"command": "make test"}')
    said = text_message(1, "assistant", "see src/tax.py", time="2022-09-02T00:00:00Z")

    def fit(filters: Filters, call: ToolCall | None = None, *, text: str = "see src/tax.py") -> bool:
        return fits(filters, said, call=call, text=text)

    assert fit(Filters(kind="edit"), edit)
    assert not fit(Filters(kind="edit"), run)
    assert not fit(Filters(kind="edit"))
    assert fit(Filters(kind="command"), run)
    assert not fit(Filters(kind="command"), edit)
    assert not fit(Filters(kind="command"))
    assert not fit(Filters(file="tax.py"))
    assert fit(Filters(file="tax.py", kind="words"))
    assert fit(Filters(file="tax.py", speaker="user"))
    assert not fit(Filters(file="ax.py", kind="words"))
    assert not fit(Filters(file="tax.py"), edit_of_notes, text="see src/tax.py")
    assert fit(Filters(file="tax.py"), replace(run, arguments='{"command": "pytest src/tax.py -q"}'))
    assert not fit(Filters(file="tax.py"), replace(run, arguments='{"command": "pytest src/syntax.py"}'))
    assert fit(Filters(file="tax.py"), replace(run, name="lint", arguments='{"subject": "src/tax.py"}'))
    assert fit(Filters(file="tax.py"), edit, text="OK")
    assert not fit(Filters(file="tax.py"), run, text="OK")
    assert not fit(Filters(file="tax.py"), text="OK")
    assert fit(Filters(days=SEPTEMBER))
    assert not fit(Filters(days=("2023-01-01", "2024-01-01")))
    assert fit(Filters(speaker="assistant"))
    assert not fits(
        Filters(speaker="assistant"), text_message(1, "user", "x", synthetic=True), call=None, text="x"
    )
