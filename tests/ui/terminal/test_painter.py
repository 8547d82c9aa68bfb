"""Markdown in the terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.ui.terminal.painter import Painter, painted
from autocompact.ui.text import visible

_STYLES = re.compile(r"\x1b\[[0-9;]*m")
PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "*",
                "**",
                "***",
                "`",
                "``",
                "```",
                "~~~",
                "~~",
                "[",
                "](",
                ")",
                "![",
                "#",
                "- ",
                "> ",
                "|",
                "---",
            ),
            *("\n", "\n\n", " ", "word", "two words", "\\", "https://example.org", "|---|", "1. ", "_", "ü"),
        ]
    ),
    max_size=40,
)


def shown(markdown: str) -> str:
    """What is read of it; styles as ‹1› for bold, ‹36› for code, ‹0› for none."""
    return _STYLES.sub(lambda found: "‹" + (found[0][4:-1].lstrip(";") or "0") + "›", painted(markdown))


@pytest.mark.parametrize(
    "markdown, seen",
    [
        ("plain words, 2*3*4, 2 ** 3, a_b_c and __init__", "plain words, 2*3*4, 2 ** 3, a_b_c and __init__"),
        ("**bold** and *slanted* ~~gone~~", "‹1›bold‹0› and ‹3›slanted‹0› ‹9›gone‹0›"),
        ("`a * b` and ``a ` b``", "‹36›a * b‹0› and ‹36›a ` b‹0›"),
        ("## Head with **bold**\nnext", "‹1;4›Head with ‹1;4;1›bold‹4;1›‹0›\nnext"),
        ("- one\n  * two\n3. three", "• one\n  • two\n3. three"),
        ("> said\n> # loud", "‹2›│ ‹0›said\n‹2›│ ‹0›‹1;4›loud‹0›"),
        ("---", "‹2›────────────────────‹0›"),
        ("[the page](https://example.org/a_(b))", "‹4›the page‹2› (https://example.org/a_(b))‹0›"),
        ("[https://example.org](https://example.org)", "‹4›https://example.org‹0›"),
        ("![a cat](http://example.org/cat.png)", "‹4›[image: a cat]‹2› (http://example.org/cat.png)‹0›"),
        ("as in [m12], and x[0] (so)", "as in [m12], and x[0] (so)"),
        ("\\*no\\* C:\\files", "*no* C:\\files"),
        ("```python\nx = 2 ** 3\n```\nend", "    ‹2›python‹0›\n    ‹36›x = 2 ** 3‹0›\nend"),
        ("| a | b |\n|---|--:|\n| `longer` | 1 |\nend", "‹1›a       b‹0›\nlonger  1\nend"),
        ("| no table\nend", "| no table\nend"),
        ("| 甲 | b |\n|---|--:|\n| 1 | 100 |\n", "‹1›甲    b‹0›\n1   100\n"),
        (
            f"| a | b | c |\n|---|---|\n| {'word ' * 12}| {'x' * 30} | {'y' * 20} |\n| 1 | 2 |\n",
            f"‹1›a{' ' * 25}  b{' ' * 29}  c‹0›\n\n{'word ' * 5}{' ' * 3}{'x' * 30}  {'y' * 20}\n"
            f"{('word ' * 5).strip()}\nword word\n\n1{' ' * 27}2\n",
        ),
        (
            f"| a | b |\n|---|---|\n| {'x' * 50} | {'y' * 50} |\n| 1 | |\n",
            f"a: {'x' * 50}\nb: {'y' * 50}\n\na: 1\n",
        ),
        (r"\[a \\ b\,c\] \(d\) \{e\} snake\_case \$5", r"\[a \\ b\,c\] \(d\) \{e\} snake_case $5"),
        ("**open\nclosed", "‹1›open‹0›\nclosed"),
    ],
)
def test_markdown_is_painted(markdown: str, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert shown(markdown) == seen


@given(pieces=PIECES)
def test_it_is_painted_the_same_however_it_comes(pieces: list[str]) -> None:
    painter = Painter()
    text = "".join(pieces)

    assert "".join(map(painter.feed, pieces)) + painter.end() == painted(text)
    assert "".join(map(painter.feed, text)) + painter.end() == painted(text)


@given(text=st.text(st.characters(exclude_characters="*`~[!\\|#>-+_ \t"), max_size=80))
def test_text_without_marks_stays_as_it_is(text: str) -> None:
    assert painted(text) == text


@given(text=st.text(st.sampled_from("\x1b\x07\x9b]0;*`[(#\n|-"), max_size=40))
def test_no_control_character_gets_through(text: str) -> None:
    left = _STYLES.sub("", painted(visible(text)))

    assert all(character == "\n" or character.isprintable() for character in left)


def test_words_are_shown_before_their_line_ends() -> None:
    painter = Painter()

    assert painter.feed("An answer ") == "An answer "
    assert painter.feed("that is **bo") == "that is \x1b[0;1mbo"
    assert painter.feed("ld** [a l") == "ld\x1b[0m "
    assert painter.end() == "[a l"


def test_a_very_long_table_is_not_held_to_its_end() -> None:
    painter = Painter()
    seen = painter.feed("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 300)

    assert seen.count("1  2\n") >= 190
    assert (seen + painter.end()).count("1") == 301  # and once in the code for bold
