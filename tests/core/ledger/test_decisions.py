from __future__ import annotations

import pytest

from tests.core.talk import Talk


@pytest.mark.requirement("C7")
@pytest.mark.parametrize(
    "text",
    [
        "We decided to round per line, because the law asks for it.",
        "The root cause is that totals are floats.",
        "Wir nehmen Decimal, weil die Summen exakt sein müssen.",
        "我们决定使用十进制，因为金额必须精确。",
        "小数を使うことにしました。",
    ],
)
def test_a_sentence_that_settles_something_is_a_decision(text: str) -> None:
    assert [e.text for e in Talk().agent(f"I looked.\n- {text}").entries("decision")] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Should we have decided otherwise?",
        "The problem is:",
        "The decision",
        "We decided " + "x" * 400,
        "All fine.",
    ],
)
def test_what_settles_nothing_is_none(text: str) -> None:
    assert Talk().agent(text).entries("decision") == []


def test_a_decision_with_a_reason_is_needed_more() -> None:
    bare, reasoned = (
        Talk().user("We decided to use Decimal everywhere.").agent("I'll use cents because it is exact.")
    ).entries("decision")

    assert reasoned.need > bare.need


def test_the_same_decision_counts_once_with_its_last_place() -> None:
    talk = (
        Talk().agent("We decided to use Decimal everywhere.").agent("We decided to use Decimal everywhere.")
    )

    assert [e.seq for e in talk.entries("decision")] == [2]


def test_words_of_the_program_decide_nothing() -> None:
    assert Talk().program("We decided to use Decimal everywhere.").entries("decision") == []


def test_an_answer_to_a_question_is_a_decision() -> None:
    talk = Talk().calls("AskUserQuestion", {"questions": [{"question": "Which rounding?"}]})
    talk.gets('User has answered your questions: "Which rounding?"="Half even". You can now continue')

    assert [(e.text, e.seq) for e in talk.entries("decision")] == [("Which rounding? → Half even", 2)]
