"""Sentences of the user that may be meant to last without the form of a rule."""

from __future__ import annotations

import pytest

from autocompact.core.messages import text_message
from autocompact.core.redaction import redact
from autocompact.ledger.account import account
from autocompact.ledger.entries import Entry, Ledger
from autocompact.ledger.extraction import extract, rules_of
from autocompact.ledger.rules import MOST_WISHES, WISH_FADE, find_standing
from autocompact.ledger.scan import Said, Speaker
from autocompact.ledger.wishes import LEAST, LONGEST, features, likelihood
from tests.core.strategies import LengthCounter

LASTING = """I want British spelling throughout the book.
short sentences and lots of line breaks are appreciated
talk to me like a senior collegue, not like customer suport
max 3 retries anywhere in this system, ops insists
tables over bullet points when you compare things
one question per message is plenty for me
Mir wäre es lieber, du machst kleine Commits statt einem Riesending."""

FOR_ONCE = """put the fix into parser.py and rerun
yesterday we shipped the new login page
should i use a list or a tuple here?
the redirect still goes to the old page
it must have been the cache
which of the two should we keep?
I rewrote the session handling last night and now it logs out"""


def _standing(*texts: str, by: Speaker = "user") -> list[Entry]:
    return find_standing([Said(seq=seq, by=by, text=redact(text)) for seq, text in enumerate(texts, start=1)])


def _wishes(*texts: str, by: Speaker = "user") -> list[str]:
    return [str(entry.text) for entry in _standing(*texts, by=by) if entry.kind == "wish"]


@pytest.mark.parametrize("sentence", LASTING.split("\n"))
def test_a_sentence_that_may_be_meant_to_last_is_a_wish(sentence: str) -> None:
    assert likelihood(sentence, of=len(sentence)) >= LEAST


@pytest.mark.parametrize("sentence", FOR_ONCE.split("\n"))
def test_a_question_a_report_and_an_order_for_once_are_none(sentence: str) -> None:
    assert likelihood(sentence, of=len(sentence)) == 0.0


def test_a_sentence_of_a_long_message_is_less_likely_one() -> None:
    sentence = "short sentences and lots of line breaks are appreciated"
    alone, among_others = likelihood(sentence, of=55), likelihood(sentence, of=700)
    assert alone > among_others > 0.0
    assert likelihood(sentence, of=200_000) == 0.0


def test_what_is_too_long_to_stand_beside_rules_is_none() -> None:
    assert likelihood("one question per message is plenty, " * 20, of=600) == 0.0
    assert len("one question per message is plenty, " * 20) > LONGEST


def test_words_pairs_of_characters_numbers_and_the_beginning_are_weighed() -> None:
    assert features("ok max 3 lines") == {"ok", "max", "0", "lines", "^max", "#short"}
    assert features("写注释") == {"写注", "注释", "^写注", "#short"}
    assert "#long" in features("word " * 24)
    assert features("…") == {"^", "#short"}


def test_only_the_user_has_wishes() -> None:
    text = "one question per message is plenty for me"
    assert _wishes(text) == [text]
    for by in ("lead", "reply", "summary", "program", "client", "assistant"):
        assert _wishes(text, by=by) == []


def test_what_holds_for_once_or_was_pasted_is_none() -> None:
    assert _wishes("this time one question per message is plenty for me") == []
    assert _wishes('{"style": "one question per message is plenty for me"}') == []


@pytest.mark.parametrize(
    "line",
    [
        "❯ python3 balance.py --date 2026-07 !",
        "429 on /price, retrying in 26s .",
        "ann@box:~ make it short please",
    ],
)
def test_a_line_of_a_terminal_is_none(line: str) -> None:
    assert likelihood(line, of=len(line)) == 0.0
    assert likelihood("4 spaces please, and short lines", of=32) > 0.0


def test_a_rule_on_the_same_matter_takes_the_place_of_a_wish() -> None:
    wish = "tables over bullet points when you compare things"
    assert _wishes(wish) == [wish]
    rule = "Always use tables over bullet points when you compare things."
    assert [entry.kind for entry in _standing(wish, rule)] == ["rule"]
    assert [entry.kind for entry in _standing(rule, wish)] == ["rule"]


def test_a_permission_ends_a_wish_and_is_no_rule_for_that() -> None:
    wish = "tables over bullet points when you compare things"
    assert [
        entry.kind for entry in _standing(wish, "Forget what I said about tables over bullet points.")
    ] == []


def test_a_wish_ends_no_rule() -> None:
    kinds = [entry.kind for entry in _standing("Never use emojis.", "emojis in commits are appreciated")]
    assert kinds[0] == "rule"


def test_a_wish_said_again_stands_once_where_it_was_said_last() -> None:
    text = "one question per message is plenty for me"
    (found,) = _standing(text, "Look at the parser.", f"{text}!")
    assert found.seq == 3


def test_the_least_likely_wishes_go_where_there_are_too_many() -> None:
    texts = [f"short a{at} and b{at} in c{at} are appreciated" for at in range(MOST_WISHES)]
    best = "talk to me like a senior collegue, not like customer suport"
    found = _wishes(best, *texts)
    assert len(found) == MOST_WISHES
    assert best in found
    assert texts[0] not in found


def test_a_wish_fades_with_each_compaction() -> None:
    (first,) = _standing("one question per message is plenty for me")
    (again,) = find_standing([], earlier=[first])
    assert (again.text, again.seq) == (first.text, first.seq)
    assert again.need == first.need * WISH_FADE


def test_the_rules_of_messages_have_no_wishes() -> None:
    text = "one question per message is plenty for me"
    assert rules_of([text_message(1, "user", text)]).entries == ()


def _told(*texts: str, budget: int) -> str:
    log = [text_message(seq, "user", text) for seq, text in enumerate(texts, start=1)]
    ledger = extract(log)
    kept = [entry for entry in ledger.entries if entry.kind != "request"]
    return account(Ledger(entries=tuple(kept)), budget=budget, counter=LengthCounter())


WISH = "one question per message is plenty for me"
TALK = ("My sister Ana turned 31 last week and lives in Porto.", "We bought a red Volvo from 1998 in May.")


def test_wishes_stand_word_for_word_before_what_was_said() -> None:
    told = _told(WISH, *TALK, budget=1_500)
    assert told.index("## The user also said\n- m1 one question per message is plenty for me\n") == 0
    assert "## What was said" in told


def test_what_a_wish_says_is_not_told_again_as_a_fact() -> None:
    told = _told(WISH, *TALK, budget=1_500)
    assert told.count("plenty") == 1


@pytest.mark.parametrize("budget", [1_000, 4_000])
def test_wishes_take_a_small_share_of_an_account(budget: int) -> None:
    wishes = [
        f"short sentences in chapter {name} are appreciated"
        for name in ("one", "two", "red", "blue", "last", "first")
    ]
    told = _told(*wishes, *TALK * 8, budget=budget)
    section = told.partition("## What")[0]
    assert 0 < len(section) <= 0.12 * budget + len("## The user also said\n\n")


def test_a_very_small_account_has_none() -> None:
    assert "also said" not in _told(WISH, *TALK, budget=90)


def test_a_wish_that_a_request_has_word_for_word_is_told_once() -> None:
    log = [text_message(1, "user", f"Fix the parser. {WISH}"), text_message(2, "assistant", "I look at it.")]
    told = account(extract(log), budget=2_000, counter=LengthCounter())
    assert told.count(WISH) == 1
    assert "also said" not in told
