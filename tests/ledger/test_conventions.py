"""Rules that are told as facts, left half said or asked for politely, and what takes them back."""

from __future__ import annotations

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.conventions import clauses, outright, slot
from autocompact.ledger.rules import find_rules, is_rule
from autocompact.ledger.scan import Said
from tests.ledger.rule_sentences import ASKED, LOOKS_LIKE_NONE, NOT_TOLD, TOLD


def _rules(*texts: str) -> list[str]:
    said = [Said(seq=seq, by="user", text=redact(text)) for seq, text in enumerate(texts, start=1)]
    return [str(entry.text) for entry in find_rules(said)]


@pytest.mark.requirement("F5")
def test_what_is_told_as_a_fact_or_half_said_is_a_rule() -> None:
    assert [sentence for sentence in TOLD.split("\n") if not is_rule(sentence)] == []


@pytest.mark.requirement("F5")
def test_what_happened_and_what_a_product_does_is_none() -> None:
    assert [sentence for sentence in NOT_TOLD.split("\n") if is_rule(sentence)] == []


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("asked", "rule"),
    ASKED,
)
def test_a_polite_question_is_the_order_that_it_means(asked: str, rule: bool) -> None:
    assert is_rule(asked) == rule


def test_a_question_or_wish_outright() -> None:
    assert outright("could you stop it?") == "stop it"
    assert outright("short answers, ok?") == "short answers"
    assert outright("is it done?") == "is it done?"


def test_a_rule_that_begins_in_lower_case_stands_by_itself() -> None:
    assert [*clauses("what is a heap? no emojis pls")] == ["what is a heap?", "no emojis pls"]
    assert [*clauses("use the new one, e.g. the fast one. it works")] == [
        "use the new one, e.g. the fast one.",
        "it works",
    ]
    assert _rules("what is a heap? no emojis pls") == ["no emojis pls"]


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    "text",
    [
        "Translate to French: 'Never feed the animals in the yard.'",
        'Proofread this: "Employees must always wear their badges."',
        "Übersetze ins Englische: „Niemals die Tür offen lassen.“",
        "翻译：“禁止喂食动物。”",
    ],
)
def test_what_is_quoted_to_be_translated_or_corrected_is_nobodys_rule(text: str) -> None:
    assert _rules(text) == []


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("rule", "later", "left"),
    [
        ("Never use emojis.", "emojis are fine after all", ["emojis are fine after all"]),
        ("Keine Abkürzungen.", "Abkürzungen sind doch ok", ["Abkürzungen sind doch ok"]),
        ("Always indent with tabs.", "forget what I said about tabs", ["forget what I said about tabs"]),
        ("Immer mit Tabs einrücken.", "vergiss das mit den Tabs", ["vergiss das mit den Tabs"]),
        ("Call me Ann.", "Call me Annabel please.", ["Call me Annabel please."]),
        ("The launch is on Friday.", "The launch moved to Monday.", ["The launch moved to Monday."]),
        ("Comments in German please.", "Comments in English please.", ["Comments in English please."]),
        (
            "Use npm for everything.",
            "Use bun instead of npm everywhere.",
            ["Use bun instead of npm everywhere."],
        ),
        ("不要推送代码。", "现在可以推送了", ["现在可以推送了"]),
        ("Run the tests before each push.", "the tests are fine now", ["Run the tests before each push."]),
        (
            "The demo is on Friday.",
            "The exam is on Monday.",
            ["The demo is on Friday.", "The exam is on Monday."],
        ),
    ],
)
def test_a_later_word_takes_the_place_of_the_rule_that_it_is_about(
    rule: str, later: str, left: list[str]
) -> None:
    assert _rules(rule, later) == left


@pytest.mark.requirement("F5")
@pytest.mark.parametrize(
    ("rule", "later"),
    [
        ("Never skip the tests.", "the tests are fine now"),
        ("Never skip the tests.", "Actually the tests are good, go on"),
        ("Run the tests before each push.", "There's no need to run the tests for this typo"),
        ("Call me Sam.", "Always call me before you deploy anything."),
        ("Never push to the release branch on Fridays.", "The release is on Monday."),
        ("Never commit npm lockfiles.", "Use pnpm instead of npm."),
        ("Run npm test before each push.", "Use pnpm instead of npm."),
        ("No trailing spaces.", "Use tabs instead of spaces."),
        ("Always answer me in German.", "Reply to customers in French."),
    ],
)
def test_a_later_word_about_something_else_ends_no_rule(rule: str, later: str) -> None:
    assert _rules(rule, later)[0] == rule


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("rule", LOOKS_LIKE_NONE)
def test_a_rule_that_looks_like_a_story_a_quote_or_an_error_stands_word_for_word(rule: str) -> None:
    assert _rules(rule) == [rule]


def test_a_sentence_that_is_quoted_in_part_is_a_rule_by_its_own_words() -> None:
    told = 'The linter told me "you must never shadow a builtin here". Never shadow a builtin.'
    assert _rules(told) == ["Never shadow a builtin."]


def test_what_a_rule_gives_a_value_to() -> None:
    assert slot("Nenn mich Ann.") == "name"
    assert slot("The demo is on Friday.") == "when demo"
    assert slot("Commit messages in English") == "language of commit message"
    assert slot("Auf Deutsch antworten bitte") == "language"
    assert slot("Never push.") == ""
    assert slot("Reply to customers in French.") == ""
