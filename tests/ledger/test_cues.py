"""The cues of a sentence: classes of words, where they stand, and in which language it is read."""

from __future__ import annotations

import pytest

from autocompact.ledger.cue_words import CHAT, WORDS
from autocompact.ledger.cues import BIT, LANGUAGES, bits, cues
from autocompact.ledger.rule_weights import odds
from autocompact.ledger.rules import cues_of


def _has(sentence: str, *names: str) -> set[str]:
    """Those of the cues with these names that the sentence has."""
    seen = cues(sentence)
    return {name for name in names if seen & BIT[name]}


def test_a_class_is_told_by_its_words_in_each_language() -> None:
    for told in ("Never do that", "Das machen wir niemals", "ne fais jamais ça", "no lo hagas nunca"):
        assert _has(told, "always") == {"always"}
    assert _has("永远不要这样", "always", "dont", "eastern", "english") == {"always", "dont", "eastern"}


def test_a_word_counts_as_the_first_one_of_the_sentence_or_of_a_later_clause() -> None:
    assert _has("ok so please ask first, then write", "^ask", ",ask", "^imper", ",imper") == {
        "^ask",
        "^imper",
        ",imper",
    }
    assert _has("it is late and never mind", "^always", ",always") == {",always"}
    assert _has("禁止推送，测试必须", "^forbid", ",forbid", "^oblige", ",oblige") == {"^forbid", ",oblige"}


def test_phrases_beginnings_of_words_and_what_people_write_in_a_chat() -> None:
    assert _has("from now on in German", "^fromnow") == {"^fromnow"}
    assert _has("From there", "fromnow") == set()
    assert _has("das ist für alle untersagt, vermeidet es", "forbid", ",forbid") == {"forbid", ",forbid"}
    assert _has("u shouldnt do that", "you", "dont") == {"you", "dont"}
    assert _has("d’ora in poi niente di questo", "fromnow") == {"fromnow"}


def test_what_is_quoted_counts_apart() -> None:
    assert _has('the sign says "never enter"', "quote", "quoted", "always") == {"quote", "quoted"}
    assert _has('call it "blue hour" here', "quote", "quoted") == {"quote"}


def test_facts_about_a_sentence_beside_its_words() -> None:
    told = "Branches are cut from `develop`, 3 of them:"
    assert _has(told, "kinds", "noun", "code", "number", "colon", "comma", "asks") == {
        "kinds",
        "noun",
        "code",
        "number",
        "colon",
        "comma",
    }
    assert _has("is it?", "asks", "short", "long", "kinds", "noun") == {"asks", "short"}
    assert _has(" ".join(["word"] * 30), "long", "short", "comma") == {"long"}
    assert _has("3月末まで", "eastern", "number", "short", "long") == {"eastern", "number", "short"}
    assert _has("", "english", "number", "noun") == {"english"}


def test_the_table_has_each_class_in_each_language_and_its_chat_words_stand_for_others() -> None:
    for name, by_language in WORDS.items():
        assert set(by_language) >= set(LANGUAGES), name
        assert name == "of" or by_language["east"]
    known = {entry for by_language in WORDS.values() for entry in by_language["en"].split()}
    assert [short for short, long in CHAT.items() if long not in known] == []


@pytest.mark.requirement("F5")
def test_the_odds_rise_with_what_speaks_for_a_rule_and_fall_with_what_speaks_against_it() -> None:
    rule = cues("Never commit to main.")
    assert odds(rule) > 0 > odds(0)
    assert odds(cues("I never saw this before.")) < odds(rule)
    assert odds(bits(["past"])) < odds(0)


def test_the_form_of_an_order_and_that_it_is_asked_politely_are_cues_as_well() -> None:
    order = "never force-push"
    polite, plain = (cues_of(asked, order=order) for asked in (f"could you {order}?", order))
    assert polite == plain | BIT["polite"]
    assert plain == cues(order) | bits(["plain", "prohibits"])
