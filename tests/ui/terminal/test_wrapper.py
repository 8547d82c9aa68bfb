"""What goes to a terminal is wrapped between words, whatever pieces it comes in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from autocompact.ui.terminal.painter import painted
from autocompact.ui.terminal.wrapper import Wrapper, wrapped

_STYLES = re.compile(r"\x1b\[[0-9;]*m")
WORDS = "The harbour office opens at seven and closes when the last boat is in."


def plain(text: str) -> str:
    return _STYLES.sub("", text)


def test_lines_end_between_words() -> None:
    assert wrapped(WORDS, 30) == "The harbour office opens at\nseven and closes when the last\nboat is in."
    assert wrapped(f"{WORDS}\n\n{WORDS}\n", 200) == f"{WORDS}\n\n{WORDS}\n"


def test_an_item_goes_on_below_its_words() -> None:
    assert wrapped("• one two three four five six", 20) == "• one two three four\n  five six"
    assert wrapped("  10. one two three four five", 20) == "  10. one two three\n      four five"


def test_a_style_takes_no_room_and_stays_with_its_word() -> None:
    shown = wrapped("one \x1b[1mtwo\x1b[0m three \x1b[0;36mfour-and-more\x1b[0m five", 20)
    assert shown == "one \x1b[1mtwo\x1b[0m three\n\x1b[0;36mfour-and-more\x1b[0m five"


def test_wide_characters_count_twice_and_no_line_begins_with_a_closing_mark() -> None:
    text = "港口在早上七点开门，最后一艘船进港以后关门。欢迎再来。"
    lines = wrapped(text, 20).split("\n")
    assert "".join(lines) == text
    assert max(map(wcswidth, lines)) <= 20
    assert not any(line[0] in "，。" for line in lines)


def test_a_word_that_is_longer_than_the_line_is_left_to_the_terminal() -> None:
    link = "https://example.org/" + "a" * 30
    assert wrapped(f"see {link} there", 30) == f"see\n{link} there"


@pytest.mark.parametrize(
    "text",
    ["    some_code(with, many, arguments, that, are, long)", "```\nsome code that is long enough\n```"],
)
def test_code_is_left_as_it_is(text: str) -> None:
    assert wrapped(text, 24) == text


def test_code_within_markdown_is_left_and_the_words_around_it_are_not() -> None:
    shown = plain(wrapped(painted(f"{WORDS}\n\n```python\n{'x = 1; ' * 9}\n```\n\n{WORDS}\n"), 30))
    assert f"    {'x = 1; ' * 9}" in shown
    assert shown.count("The harbour office opens at\nseven and closes") == 2


def test_without_a_width_nothing_is_wrapped() -> None:
    assert wrapped(WORDS * 9, 0) == WORDS * 9


def test_a_terminal_that_changes_its_size_is_asked_again_at_each_line() -> None:
    sizes = iter([30, 60, 60, 60, 60])
    wrapper = Wrapper(lambda: next(sizes))
    shown = wrapper.feed(f"{WORDS}\n{WORDS}\n")
    assert [len(line) <= 60 for line in shown.split("\n")] == [True] * len(shown.split("\n"))
    assert shown.startswith("The harbour office opens at\nseven")
    assert "The harbour office opens at seven and closes" in shown


@given(
    st.lists(
        st.sampled_from(
            [*"abc ,.\n\t-•", "word", "港", "。", "\x1b[1m", "\x1b[0m", "é", "e\u0301", "🙂", "  "]
        ),
        max_size=40,
    ),
    st.integers(20, 40),
    st.integers(1, 7),
)
def test_in_whatever_pieces_a_text_comes_nothing_of_it_is_lost(
    pieces: list[str], columns: int, size: int
) -> None:
    text = "".join(pieces)
    wrapper = Wrapper(lambda: columns)
    shown = "".join(wrapper.feed(text[at : at + size]) for at in range(0, len(text), size)) + wrapper.end()
    assert shown == wrapped(text, columns)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
