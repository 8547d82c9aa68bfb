"""A short answer is told with what it answers: the option that it picks, else the question before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.entries import ASKERS, FOLLOWS
from autocompact.ledger.extraction import extract
from autocompact.ledger.questions import question_of
from autocompact.ledger.rendering import render, told_alone
from tests.core.talk import Talk

OPTIONS = """\
There are three ways to round:

1. **Per line**: as the tax office wants it
2) Per invoice
A. Banker's rounding
| **B. Truncated** | as the old program did |

I would take the first. Which one do you prefer?"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("1", "Per line: as the tax office wants it"),
        ("let's go with option 2, please", "Per invoice"),
        ("Yes, do 2", "Per invoice"),
        ("nimm 2 bitte", "Per invoice"),
        ("A", "Banker's rounding"),
        ("I'd like to go with A", "Banker's rounding"),
        ("I'd like it to do A, and for totals it may stay as it is. " * 3, "Banker's rounding"),
        ("let's do 2 for now, can you write the test as well?", "Per invoice"),
        ("B", "Truncated | as the old program did"),
        ("1,2 and A", "I would take the first. Which one do you prefer?"),
        ("1. it has happened twice", "I would take the first. Which one do you prefer?"),
        ("2 of them are wrong", "I would take the first. Which one do you prefer?"),
        ("3", "I would take the first. Which one do you prefer?"),
        ("1 and 2", "I would take the first. Which one do you prefer?"),
        ("the limit is 2", "I would take the first. Which one do you prefer?"),
        ("the one you like", "I would take the first. Which one do you prefer?"),
    ],
)
def test_an_answer_that_picks_an_option_is_told_with_it(answer: str, told: str) -> None:
    assert question_of(redact(OPTIONS), answer) == told


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (
            "The names of both files differ. Shall I do that?",
            "The names of both files differ. Shall I do that?",
        ),
        ("Shall I rename both files as AGENTS.md asks, and run all tests once more after it?",) * 2,
        (
            "- It is `slow`.\n- **Shall I measure it?**\n\nI can wait.",
            "It is slow. Shall I measure it?",
        ),
        ("Soll ich das tun?\nSonst warte ich.", "Soll ich das tun?"),
        ("両方の名前が違います。直しますか？", "両方の名前が違います。 直しますか？"),
        ("Both are renamed.", ""),
        ("", ""),
    ],
)
def test_yes_is_told_with_the_last_question(reply: str, told: str) -> None:
    assert question_of(redact(reply), "yes") == told


def test_of_a_long_question_the_end_is_told() -> None:
    told = question_of(
        redact(f"Shall I look into {'the very long list of files, ' * 20}and mend them?"), "ok"
    )

    assert told.endswith("and mend them?")
    assert told[0] == "…"
    assert len(told) <= 201


@pytest.mark.parametrize(
    "request_",
    ["", "  ", "/compact", "And is it tested?", "Please " + "rename the files " * 4, "no, " + "rename " * 30],
)
def test_a_request_that_is_no_short_answer_stands_alone(request_: str) -> None:
    assert question_of(redact("Shall I?"), request_) == ""


def test_a_longer_request_that_begins_with_yes_or_no_is_an_answer() -> None:
    assert question_of(
        redact("Shall I?"), "nein, erst wenn alle Tests wieder laufen und die Liste leer ist, vorher nicht"
    )


def test_the_question_stands_before_the_answer_in_the_account_and_stays_over_a_compaction() -> None:
    talk = Talk().user("Round per line").agent("Round the tax as well?").user("yes")
    requests = talk.entries("request")

    assert "- m3 [open]: “Round the tax as well?” → yes" in render(requests)
    known = talk.ledger
    later = extract(talk.user("And the docs.").messages[3:], previous=known)
    assert "“Round the tax as well?” → yes" in render(later.entries)


def test_the_question_stands_there_too_where_the_answer_follows_in_the_context() -> None:
    *_, request = Talk().user("Round per line").agent("Round the tax as well?").user("yes").entries("request")
    summary = render([replace(request, text=FOLLOWS)])

    assert "“Round the tax as well?” → stands below, word for word ↓" in summary
    assert "“Round the tax as well?” → yes" in told_alone(summary, [request])


def test_a_request_with_a_call_after_the_question_answers_nothing() -> None:
    talk = (
        Talk().user("Round per line").agent("Round the tax as well?").runs("pytest", "2 passed").user("yes")
    )

    assert "“" not in render(talk.entries("request"))


def test_who_asks_is_no_question() -> None:
    (request,) = Talk().user("Round per line").entries("request")

    assert not [asker for asker in ASKERS.values() if "“" in render([replace(request, where=asker)])]
