from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.tokens import Counter
from autocompact.models.pieces import Pieces
from autocompact.models.vocabulary import brief_counter, default_counter, load_counter
from tests.cli.program import EXAMPLES

COUNTED = "\t\n\r " + "".join(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x100)))) + "‐—…‰⁞₠€₿←→⏿─✓❵➔➿"
RANKS = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4, b"abc": 5, b"aa": 6}


@cache
def exact(name: str) -> Counter:
    return load_counter(name)  # pyright: ignore[reportArgumentType] - one of those below


@cache
def brief(model: str) -> Counter:
    return brief_counter(model)


@pytest.mark.parametrize(("model", "name"), [("gpt-4o", "o200k_base"), ("gpt-4", "cl100k_base")])
@given(text=st.text(alphabet=st.sampled_from(COUNTED), max_size=60))
def test_pieces_count_what_tiktoken_counts(model: str, name: str, text: str) -> None:
    assert brief(model).name == name
    assert brief(model).count(text) == exact(name).count(text)


def test_a_recorded_session_counts_the_same_before_and_after_the_index_takes_over() -> None:
    lines = [line for path in EXAMPLES for line in path.read_text(encoding="utf-8").splitlines()] * 2
    counter = brief_counter("o1")
    assert sum(map(len, lines)) > 1_000_000, "more than is counted by pieces"
    assert list(map(counter.count, lines)) == list(map(exact("o200k_base").count, lines))


def pieces() -> Pieces:
    encoding = tiktoken.Encoding("abc", pat_str=r"[a-c]+|\s", mergeable_ranks=dict(RANKS), special_tokens={})
    assert encoding.encode_ordinary("abcab") == [5, 3]
    return Pieces(r"[a-c]+|\s", RANKS)


def test_neighbours_of_the_lowest_rank_become_one_until_none_do() -> None:
    assert pieces().count("abc") == 1
    assert pieces().count("abcab") == 2
    assert pieces().count("aab") == 2
    assert pieces().count("cba") == 3


@pytest.mark.parametrize("text", ["漢", "ǆ", "\u2028", "²\u00b3\u2074", "a" * 20_001, "b" * 501])
def test_letters_beyond_latin_and_what_is_long_are_left_to_tiktoken(text: str) -> None:
    assert pieces().count(text) is None


def test_after_many_characters_tiktoken_counts() -> None:
    counter = pieces()
    texts = [f"{'abc ' * 4_900}{'c' * number}" for number in range(40)]
    assert [counter.count(text) is None for text in texts].index(True) == 600_000 // len(texts[30])


def test_a_text_that_comes_again_is_not_counted_anew() -> None:
    counter = pieces()
    assert {counter.count("abc " * 4_900) for _ in range(40)} == {9_800}


def test_the_work_for_long_pieces_is_bounded() -> None:
    counter = pieces()
    counted = [counter.count("c" * length) for length in range(500, 100, -1)]
    assert 4 < counted.index(None) < 8, "a run of 500 takes 125,000 steps of the 600,000"


HELD = """
import tracemalloc
from autocompact.models.vocabulary import brief_counter
tracemalloc.start()
counter = brief_counter("gpt-4o")
for text in ("The tests pass.", "漢字", "The tests pass."):
    print(counter.count(text), tracemalloc.get_traced_memory()[0])
"""


def test_a_process_that_counts_little_builds_no_index_and_another_holds_the_ranks_only_there() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    told = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert [tokens for tokens, _ in told] == [4, 2, 4]
    assert [held > 15_000_000 for _, held in told] == [True, False, False]  # the ranks take 25 MB


def test_a_vocabulary_that_is_indexed_already_is_not_read_again() -> None:
    script = (
        "from autocompact.models.vocabulary import brief_counter, default_counter\n"
        "print(default_counter('gpt-4o') is brief_counter('gpt-4o'), brief_counter() is brief_counter())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_a_model_with_another_vocabulary_is_counted_with_it() -> None:
    assert brief_counter("gpt-4-turbo").name == default_counter("gpt-4-turbo").name == "cl100k_base"
