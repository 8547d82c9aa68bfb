from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.reply import Ok, Problem, check_reply, parse_summary, strip_summary_tags


class Words:
    """Counts words: a counter whose figures a reader can check."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


def _check(reply: str, **options: object) -> Ok | Problem:
    return check_reply(reply, **{"replaced_tokens": 1000, "counter": Words(), **options})  # pyright: ignore[reportArgumentType] - options by name


@pytest.mark.requirement("B3")
@pytest.mark.parametrize(
    ("reply", "text", "tagged", "complete"),
    [
        ("<summary>\nA fix.\n</summary>", "A fix.", True, True),
        ("Here it is:\n<Summary >A.</SUMMARY>\nAnything else?", "A.", True, True),
        ('<summary lang="en">A.</summary>', "A.", True, True),
        ("Just words.", "Just words.", False, True),
        ("", "", False, True),
        ("<summary></summary>", "", True, True),
        ("<summary>", "", True, False),
        ("<summary>Half a sen", "Half a sen", True, False),
        ("words</summary> more", "words", True, True),
        ("<summary>old</summary> then <summary>new</summary>", "new", True, True),
        ("<summary>old</summary> then <summary> </summary>", "old", True, True),
        ("<summary>old</summary> then <summary>ne", "ne", True, False),
        ("<summary>old</summary> then <summary>", "old", True, False),
        ("<summary>a <summary>b</summary> c</summary> d", "a b c", True, True),
        ("<summary>a</summary> b </summary>", "a b", True, True),
        ("<analysis>think <summary</analysis><summary>A.</summary>", "A.", True, True),
        ('<summary>He typed "</summary>" and more</summary>', 'He typed "</summary>" and more', True, True),
        ("<summary>Use `</summary>` at the end.</summary>", "Use `</summary>` at the end.", True, True),
        (
            "<summary>\nThe tag </summary> ends it.\n<summary>more</summary>\nand all\n</summary>",
            "The tag </summary> ends it.\nmore\nand all",
            True,
            True,
        ),
        (
            "<summary>\nThe parser cut at </summary> too early.\n<summary>more</summary>",
            "The parser cut at </summary> too early.\nmore",
            True,
            True,
        ),
        ("I put it in <summary> tags.\n<summary>\nA fix.\n</summary>", "A fix.", True, True),
        ("In <summary> and </summary> tags:\n<summary>\nA fix.\n</summary>", "A fix.", True, True),
        (
            "<summary>\nA longer text of it.\n</summary>\nIn <summary>…</summary> as asked.",
            "A longer text of it.",
            True,
            True,
        ),
        ("<summary>\nA fix.\n</summary>\nI used </summary> well.", "A fix.", True, True),
        ("<summary>\ndraft\n<summary>\nreal\n</summary>", "draft\n\nreal", True, True),
        ("Here is the <summary> as asked, cut", "as asked, cut", True, False),
        ("<SUMMARY>a\n</Summary>\n</summary>", "a", True, True),
        ("`<summary>A.</summary>`", "A.", True, True),
        ("<analysis>use <think> tags</analysis><summary>A.</summary>", "A.", True, True),
        ("<analysis>never closed\n<summary>A.</summary>", "A.", True, True),
        ("<analysis>never closed", "", False, True),
        ("<think>a</think>B <thinking>c</thinking>D", "B D", False, True),
        ("thought first</think><summary>A.</summary>", "A.", True, True),
        ("<summary>A</think> B</summary>", "A B", True, True),
        ("<summary>A <analysis>x</analysis>B</summary>", "A B", True, True),
        ("<analysis>the </summary> tag</analysis><summary>A.</summary>", "A.", True, True),
        ("```xml\n<summary>\nA.\n</summary>\n```", "A.", True, True),
        (
            "<summary>Shown:\n```\n</summary>\n```\nend</summary>",
            "Shown:\n```\n</summary>\n```\nend",
            True,
            True,
        ),
        (
            "<summary>a\n```\n~~~\n<summary>\n```\nb\n```\nopen</summary>",
            "a\n```\n~~~\n<summary>\n```\nb\n```\nopen",
            True,
            True,
        ),
        (
            "<summary>a <details><summary>t</summary>b</details> c</summary>",
            "a <details><summary>t</summary>b</details> c",
            True,
            True,
        ),
    ],
)
def test_a_summary_is_found_however_the_model_marked_it(
    reply: str, text: str, tagged: bool, complete: bool
) -> None:
    parsed = parse_summary(reply)
    assert (parsed.text, parsed.tagged, parsed.complete) == (text, tagged, complete)


@pytest.mark.requirement("B3")
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("Hello. <summary>A.</summary> Bye.", "Hello. A. Bye."),
        ("<analysis>x</analysis>\n<summary>A.\n", "A."),
        ("No tags.", "No tags."),
        ("</summary>", ""),
    ],
)
def test_for_display_the_tags_go_and_the_words_stay(reply: str, shown: str) -> None:
    assert strip_summary_tags(reply) == shown


_BITS = st.sampled_from(
    [
        "<summary>",
        "</summary>",
        "<analysis>",
        "</analysis>",
        "<think>",
        "</think>",
        "<details>",
        "```\n",
        "\n~~~\n",
        "a ",
        "\n",
    ]
)


@given(st.one_of(st.text(), st.lists(_BITS, max_size=20).map("".join)))
def test_any_reply_can_be_parsed_and_says_nothing_the_model_did_not(reply: str) -> None:
    for text in (parse_summary(reply).text, strip_summary_tags(reply)):
        rest = iter(reply)
        assert all(character in rest for character in text)


@given(st.text(alphabet="ab <>\n", min_size=1).filter(str.strip))
def test_what_stands_between_the_tags_comes_back(text: str) -> None:
    assert parse_summary(f"Sure!\n<summary>{text}</summary>\nDone.").text == text.strip()


def test_a_good_reply_is_accepted_without_notes() -> None:
    reply = "<summary>## Summary\nFixed.</summary>"
    assert _check(reply, stop_reason="end_turn", sections=("Summary",), budget=10) == Ok(
        text="## Summary\nFixed."
    )


def test_what_is_not_as_asked_for_is_noted() -> None:
    checked = _check("## Summary\nIt was fixed.", sections=("Summary", "Files", "State"), budget=3)
    assert checked == Ok(
        text="## Summary\nIt was fixed.",
        notes=(
            "the reply had no <summary> tags",
            "5 tokens where 3 were asked for",
            "no section Files, State",
        ),
    )
    assert _check("<summary>It was fixed.", stop_reason="stop") == Ok(
        text="It was fixed.", notes=("the closing </summary> tag was missing",)
    )
    assert _check("<summary>The tag </summary>\nends it.</summary>", stop_reason="stop") == Ok(
        text="The tag \nends it.",
        notes=("the <summary> tags were odd: the outermost, longest block was taken",),
    )
    assert _check("<summary>It <summary>was</summary> fixed.</summary>", stop_reason="stop") == Ok(
        text="It was fixed.",
        notes=("the <summary> tags were odd: the outermost, longest block was taken",),
    )


def test_a_summary_that_is_complete_is_taken_although_the_rest_was_cut_off() -> None:
    assert _check("<summary>It was fixed.</summary> And", stop_reason="length") == Ok(text="It was fixed.")


@pytest.mark.parametrize(
    ("reply", "options", "kind", "message"),
    [
        ("", {}, "empty", "the model's reply was empty"),
        (" <summary>\n</summary>", {"stop_reason": "stop"}, "empty", "the model's reply was empty"),
        ("<summary>It was", {"stop_reason": "MAX_TOKENS"}, "truncated", "the reply was cut off (max_tokens)"),
        ("", {"stop_reason": "length"}, "truncated", "the reply was cut off (length)"),
        ("It was", {"stop_reason": "length"}, "truncated", "the reply was cut off (length)"),
        ("<summary>It was", {}, "truncated", "closing tag is missing"),
        ("<summary>a b c</summary>", {"replaced_tokens": 3}, "too_large", "3 tokens, no less than the 3"),
        ("<summary>a b c</summary>", {"replaced_tokens": 3}, "too_large", "too little to summarise yet"),
        (
            "<summary>" + "a " * 600 + "</summary>",
            {"replaced_tokens": 600},
            "too_large",
            "600 it would replace",
        ),
        ("I'm sorry, but I can't help with that.", {}, "refusal", "it replied: \"I'm sorry, but"),
        ("<summary>I cannot do this.\nReally.</summary>", {}, "refusal", "'I cannot do this.'"),
        ("Please provide the conversation.", {}, "refusal", "Please provide"),
        ("Es tut mir leid, das geht nicht.", {}, "refusal", "Es tut"),
        ("抱歉，我无法完成这个请求。", {}, "refusal", "抱歉"),
        ("申し訳ありませんが、できません。", {}, "refusal", "申し訳"),
        ("I am unable to " + "x" * 200, {}, "refusal", "x…'"),
        ("It was fixed.", {"stop_reason": "content_filter"}, "refusal", "It was fixed."),
        ("用户要求修复解析器。", {"language": "en"}, "wrong_language", "'zh', the conversation in 'en'"),
        ("The user wants that the parser is fixed. " * 8, {"language": "de"}, "wrong_language", "'en', the"),
    ],
)
def test_a_reply_of_no_use_is_named_for_what_it_is(
    reply: str, options: dict[str, object], kind: str, message: str
) -> None:
    checked = _check(reply, **options)
    assert isinstance(checked, Problem)
    assert checked.kind == kind
    assert message in checked.message


@pytest.mark.parametrize(
    ("reply", "language"),
    [
        ("Der Parser ist noch nicht fertig, die Tests sind es auch nicht.", "de"),
        ("Run `pytest` in /src/app; parser.py done.", "de"),
        ("修复了解析器 `parse_all` src/parser.py。", "zh"),
        ("I cannot say more.\n## Summary\nThe refusal test was fixed.", "en"),
        ("I can see that the user wants a parser.", "en"),
        ("Sorry state of the tests. " + "The user wants that the parser is fixed. " * 30, "en"),
    ],
)
def test_short_technical_or_quoting_summaries_are_not_turned_away(reply: str, language: str) -> None:
    assert isinstance(_check(reply, language=language), Ok)


@pytest.mark.requirement("B2")
def test_a_summary_that_was_cut_off_at_the_cap_is_used_without_its_unfinished_end() -> None:
    words = "Item one was rounded. Item two was rounded.\nItem three was"
    assert _check(f"<summary>{words}", stop_reason="length", asked_tokens=12) == Ok(
        text="Item one was rounded. Item two was rounded.",
        notes=("the reply was cut off at 12 tokens: its unfinished end is left out",),
    )
    early = _check("<summary>Item one was", stop_reason="length", asked_tokens=12)
    assert isinstance(early, Problem)
    assert early.kind == "truncated"
    endless = _check("<summary>" + "word " * 12, stop_reason="length", asked_tokens=12)
    assert isinstance(endless, Ok)
    assert endless.text == " ".join(["word"] * 12)
