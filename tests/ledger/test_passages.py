"""Prose cut into pieces that a reader understands alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocompact.ledger.passages import LONGEST, Passage, passages, prose, sentences


def _told(text: str) -> list[str]:
    return [passage.told for passage in passages(text)]


def test_items_of_one_list_stand_together_under_their_lead_in() -> None:
    text = "The options:\n\n- keep the queue\n- drop it;\n\nI chose the second."
    assert _told(text) == ["The options: keep the queue; drop it", "I chose the second."]


def test_a_long_list_is_cut_between_its_items() -> None:
    items = [f"item {number} {'x' * 150}" for number in range(4)]
    found = _told("Why:\n" + "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1)))
    assert found == [f"Why: {items[0]}; {items[1]}", f"Why: {items[2]}; {items[3]}"]


def test_a_heading_says_what_its_paragraph_is_about() -> None:
    assert _told("## Root cause\n\nThe lock is **never** released.") == [
        "Root cause: The lock is never released."
    ]
    assert _told("**Fix:**\nRelease it.") == ["Fix: Release it."]


def test_rows_of_a_table_are_told_without_its_head() -> None:
    table = "| File | State |\n|---|---|\n| a.py | done |\n| b.py | open |\n"
    assert _told(table) == ["a.py — done; b.py — open"]


def test_rows_of_numbers_are_told_with_the_names_of_their_columns() -> None:
    rows = "| id | in | out |\n|---|---|---|\n| m1 | 3 | 24 |\n| m2 | 1 | 29 |\n"
    assert _told(f"Three calls:\n\n{rows}\nThat is all.\n- a point") == [
        "Three calls (id — in — out): m1 — 3 — 24; m2 — 1 — 29",
        "That is all.",
        "a point",
    ]
    assert _told(rows) == ["id — in — out: m1 — 3 — 24; m2 — 1 — 29"]
    # what a long heading would push out of the account says less than the columns
    assert _told(f"## {'A very long heading ' * 6}\n{rows}")[0].startswith("id — in — out: m1")
    # and what long columns would push out says more than none
    wide = rows.replace("| in |", f"| {'tokens that went in ' * 6} |")
    assert _told(f"Three calls:\n\n{wide}") == ["Three calls: m1 — 3 — 24; m2 — 1 — 29"]


def test_a_line_of_code_is_told_with_the_sentence_that_leads_to_it() -> None:
    assert _told("Yes, it adds up:\n\n```\nwrite + output = 110\n```\nThe rest is read.") == [
        "Yes, it adds up: `write + output = 110`",
        "The rest is read.",
    ]
    for code in ("a = 1\nb = 2", "`a`", "x" * 121, ""):
        assert _told(f"It is:\n```\n{code}\n```\nDone.") == ["It is: Done."]
    assert _told("It is.\n```\nmake test\n```\nDone.") == ["It is. Done."]


def test_a_fence_of_four_marks_is_not_ended_by_three() -> None:
    assert _told("It is:\n````md\n```\ncode\n```\nnot said\n````\nDone.") == ["It is: Done."]


def test_a_fence_behind_words_opens_a_block_too() -> None:
    """As in the thoughts that Claude Code records, where the end of a line is lost now and then."""
    text = "I see it at line 95:```go\nstate, err := Load()\nreturn nil\n```\nSo it is never saved."
    assert _told(text) == ["I see it at line 95: So it is never saved."]
    assert _told("Now the `a` ```b``` and ````.\nDone.") == ["Now the `a` ```b``` and ````. Done."]


def test_code_rules_and_drawings_say_nothing() -> None:
    assert _told("Before.\n```python\nx = 1\n```\n---\n│ a │\nAfter.") == ["Before.", "After."]
    assert _told("```\nnever closed") == []


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentence = "The queue holds the batch until the network is there again. "
    found = _told(sentence * 20)
    assert all(len(piece) <= LONGEST for piece in found)
    assert " ".join(found) == (sentence * 20).strip()


def test_a_sentence_longer_than_a_passage_stays_whole() -> None:
    assert _told("word " * 200) == [("word " * 200).strip()]


def test_an_abbreviation_ends_no_sentence() -> None:
    assert sentences("Use a lock, e.g. Redis. Then retry.") == ["Use a lock, e.g. Redis.", "Then retry."]
    assert sentences("完成了。测试通过。") == ["完成了。", "测试通过。"]
    assert sentences('"Done!" He left? (Yes.) no 3. 4') == ['"Done!', "He left?", "(Yes.) no 3.", "4"]


def test_a_question_is_told_from_its_end() -> None:
    assert Passage(text='Shall I do "it"?').is_question
    assert Passage(text="要继续吗？").is_question
    assert not Passage(text="Why not: because.").is_question


@given(st.text(alphabet="ab .:;\n-*#|`1。—", max_size=300))
def test_every_passage_is_one_line_of_words_of_the_text(text: str) -> None:
    for passage in passages(text):
        assert passage.text
        assert "\n" not in passage.told


def test_a_heading_is_told_without_its_closing_marks_and_cut_where_it_is_very_long() -> None:
    assert _told("## Root # cause ##\n\nIt leaks.") == ["Root # cause: It leaks."]
    assert _told("**Looking at it.**\n\nIt leaks.") == ["Looking at it: It leaks."]
    (passage,) = passages(f"# {'a' * 5_000}\n\nIt leaks.")
    assert passage.about == "a" * LONGEST


def test_an_item_without_words_says_nothing() -> None:
    assert _told("- ;\n- one\n- ;;\n- two") == ["one; two"]
    assert _told("- ;") == []


def test_what_stands_between_two_bars_only_is_no_table() -> None:
    assert _told("|x|") == ["|x|"]
    assert _told("| a | b |  ") == ["a — b"]
    assert _told("| a | b") == ["| a | b"]


def test_abbreviations_in_a_row_end_no_sentence() -> None:
    assert sentences("Ask Mr. A. Smith. He knows.") == ["Ask Mr. A. Smith.", "He knows."]


def test_prose_is_the_sentences_with_each_list_behind_what_leads_to_it() -> None:
    text = """# Plan
Now update `a.py`. It has to:
1. Log each item.
2. Tell the reason.

Then run the
tests. Look at this:
```python
x = 1
```
- one item alone

And this leads nowhere:"""
    assert [*prose(text)] == [
        "Now update `a.py`.",
        "It has to: Log each item; Tell the reason",
        "Then run the tests.",
        "Look at this: one item alone",
        "And this leads nowhere:",
    ]
    long = [*prose("All of these:\n" + "\n".join(f"- item {at} {'x' * 150}" for at in range(3)))]
    assert [len(one) > 200 for one in long] == [True, False]


def test_the_number_of_a_day_ends_no_sentence() -> None:
    assert sentences("Abgabe ist am 15. März. Bis dahin steht alles.") == [
        "Abgabe ist am 15. März.",
        "Bis dahin steht alles.",
    ]
    assert sentences("Es sind 15. Mehr nicht.") == ["Es sind 15.", "Mehr nicht."]
