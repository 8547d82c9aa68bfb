from __future__ import annotations

import pytest

from autocompact.ledger.statements import Statements, content, exact, negated, quantified, said_in


def test_tokens_are_names_numbers_and_words_by_their_beginning() -> None:
    assert content("Implementing the loadState() of 3 tests_x, über das Wörterbuch; 采用") == {
        "implem", "loadstate", "3", "tests_x", "über", "wörter", "采", "用",
    }  # fmt: skip
    assert content("the and is of") == frozenset()
    assert content("added adds") == content("add")


@pytest.mark.parametrize(
    "text", ["It is not so.", "It doesn't.", "das geht nicht", "sans erreur", "没有网络", "できません"]
)
def test_a_negation_is_seen_in_several_languages(text: str) -> None:
    assert negated(text)
    assert not negated("It is so, and noted.")


@pytest.mark.parametrize(
    "text", ["All of them.", "nur dieser", "tous les tests", "全部通过", "すべて", "siempre así"]
)
def test_a_quantifier_is_seen_in_several_languages(text: str) -> None:
    assert quantified(text)
    assert not quantified("It is so, and noted.")


def test_names_of_code_and_numbers_are_exact() -> None:
    assert exact("loadState of 3 tests_x, and the README of v2") == {"loadstate", "3", "tests_x", "v2"}


def test_the_sentences_of_a_text_are_those_that_say_something() -> None:
    assert said_in("The cache is stale. Yes. The index was rebuilt; the build is slow\nA new line of it") == [
        "The cache is stale.",
        "The index was rebuilt",
        "the build is slow",
        "A new line of it",
    ]
    assert said_in("Yes. No.") == ["Yes. No."]


def test_references_and_ranges_point_to_messages() -> None:
    statements = Statements("see m3, m7–m9, m20-m22 and xm5, m6x")
    assert [seq for seq in range(1, 25) if statements.refers_to(seq)] == [3, 7, 8, 9, 20, 21, 22]


def test_lines_are_found_by_a_place_in_them() -> None:
    statements = Statements("first  line\n\n  second line\nthird")
    assert statements.lines == ["first line", "second line", "third"]
    assert statements.text == "first line second line third"
    at = statements.text.index("second")
    assert statements.line_of(at) == statements.line_of(at + 8) == 1
    assert statements.start_of(1) == at
    assert statements.line_of(len(statements.text) - 1) == 2


def test_a_share_says_how_much_of_a_sentence_stands_together() -> None:
    statements = Statements("The upload worker retries a failed batch. " + "Nothing else. " * 40 + "queue")
    assert statements.share("the upload worker retries a failed batch") == 1.0
    assert 0.2 < statements.share("the upload worker drops a batch for good") < 0.8
    assert statements.share("entirely different subject matter") == 0.0
    assert statements.share("") == 1.0
