from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.strides import STRIDE, in_lines, strides, worded
from autocompact.models.vocabulary import load_counter

SIGNS = [
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    " \n",
    "/",
    "//",
    "(",
    ")",
    '"',
    "'",
    ".",
    ",",
    "_",
    "-",
    "=>",
    "\u00a0",
]
PLAIN = ["word", "camelCase", "snake_case", "don't", "12345", "3.14", "été", "你好", "。", "🙂", "e\u0301"]
WORDS = st.sampled_from([*PLAIN, *SIGNS])


@given(text=st.lists(WORDS, max_size=60).map("".join), most=st.integers(8, 40))
def test_strides_make_up_the_text_and_none_is_too_long(text: str, most: int) -> None:
    pieces = list(strides(text, most=most))
    assert "".join(pieces) == text
    assert all(len(piece) <= most for piece in pieces)


@given(words=st.lists(WORDS, max_size=60), most=st.integers(60, 90))
def test_the_counts_of_strides_add_up_exactly_where_there_are_words_or_lines(
    words: list[str], most: int
) -> None:
    text = "".join(f"{word} end\nof it" for word in words)  # a place to cut in every stride
    for name in ("o200k_base", "cl100k_base"):
        counter = load_counter(name)
        assert sum(map(counter.count, strides(text, most=most))) == counter.count(text)


def test_a_run_without_words_is_cut_at_the_end_of_each_stride() -> None:
    assert [len(piece) for piece in strides("a" * (2 * STRIDE + 1))] == [STRIDE, STRIDE, 1]
    assert list(strides("")) == [""]


@given(st.text("ab \n\t/.", max_size=400), st.integers(1, 60))
def test_lines_are_cut_where_a_word_ends_and_nothing_is_lost(text: str, most: int) -> None:
    read = in_lines(text, most=most)
    assert all(len(line) <= most for line in read.split("\n"))
    assert read.replace("\n", "") == text.replace("\n", "")
    if len(text) <= most:
        assert read == text


def test_no_name_is_parted_where_there_is_white_space() -> None:
    names = [f"src/pkg/file_{number}.py" for number in range(9_000)]
    text = " ".join(names)
    pieces = [*worded(text)]
    assert len(pieces) > 2
    assert "".join(pieces) == text
    assert [name for piece in pieces for name in piece.split()] == names
    assert [name for line in in_lines(text).split("\n") for name in line.split()] == names
