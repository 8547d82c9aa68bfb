"""Excerpts and pages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.excerpts import excerpt, marked, page
from autocompact.core.terms import terms
from autocompact.core.tokens import Estimator

COUNTER = Estimator()
LINES = [f"line {number} says nothing of interest" for number in range(60)]


def _excerpt(lines: list[str], query: str, *, max_tokens: int = 60) -> str:
    return excerpt("\n".join(lines), dict.fromkeys(terms(query), 1.0), max_tokens=max_tokens, counter=COUNTER)


def test_a_text_that_fits_is_its_own_excerpt() -> None:
    assert _excerpt(["", "short", "text", ""], "text") == "short\ntext"


def test_the_excerpt_stands_around_the_line_with_most_of_the_terms() -> None:
    lines = [*LINES[:30], "the oauth callback fails", *LINES[30:]]
    shown = _excerpt(lines, "oauth callback")
    assert "the oauth callback fails" in shown
    assert LINES[30] in shown
    assert LINES[29] in shown
    assert shown.startswith("…\n")
    assert shown.endswith("\n…")


def test_more_is_shown_after_the_line_than_before_it() -> None:
    lines = [*LINES[:30], "the oauth callback fails", *LINES[30:]]
    shown = _excerpt(lines, "oauth").split("\n")
    at = shown.index("the oauth callback fails")
    assert len(shown) - at > at + 1


def test_an_excerpt_at_an_end_goes_on_at_the_other_side() -> None:
    assert _excerpt(["the oauth callback", *LINES], "oauth").startswith("the oauth callback\n")
    last = _excerpt([*LINES, "the oauth callback"], "oauth")
    assert last.endswith("\nthe oauth callback")
    assert last.count("\n") > 2


def test_in_a_long_paragraph_the_sentences_around_the_match_are_shown() -> None:
    filler = "Nothing of interest was said in this sentence. " * 30
    shown = _excerpt(
        [filler + "My dentist is Doctor Okafor. She has no time on Mondays. " + filler], "dentist"
    )
    assert "My dentist is Doctor Okafor. She has no time on Mondays." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")


def test_a_bound_below_one_word_is_kept() -> None:
    assert COUNTER.count(_excerpt(["漢" * 500], "ab", max_tokens=40)) <= 40


def test_the_rarer_of_two_terms_decides_where_the_excerpt_stands() -> None:
    lines = ["the build", *LINES, "the okapi", *LINES, "the build"]
    shown = excerpt("\n".join(lines), {"build": 1.0, "okapi": 5.0}, max_tokens=40, counter=COUNTER)
    assert "okapi" in shown


def test_text_without_spaces_is_cut_at_its_full_stops() -> None:
    filler = "今天天气很好我们去公园散步吧。" * 40
    shown = _excerpt([filler + "我的牙医是王医生。" + filler], "牙医")
    assert "我的牙医是王医生。" in shown
    assert COUNTER.count(shown) <= 60


def test_a_line_that_is_too_long_is_shortened() -> None:
    shown = _excerpt(["short", "oauth " + "word " * 500], "oauth")
    assert shown.startswith("…\noauth")
    assert COUNTER.count(shown) <= 60


@given(st.lists(st.text(alphabet="ab é漢\t", max_size=60), max_size=40), st.integers(40, 120))
def test_an_excerpt_is_bounded(lines: list[str], max_tokens: int) -> None:
    shown = _excerpt(lines, "ab", max_tokens=max_tokens)
    assert COUNTER.count(shown) <= max_tokens


@given(st.text(alphabet="ab \né漢😀", max_size=600), st.integers(1, 200))
def test_the_pages_one_after_the_other_are_the_text(text: str, max_tokens: int) -> None:
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        one = page(text, offset=offset, max_tokens=max_tokens, counter=COUNTER)
        assert one.start == offset
        assert one.end is None or (one.end > offset and one.text)
        assert COUNTER.count(one.text) <= max_tokens or len(one.text) == 1
        pieces.append(one.text)
        offset = one.end
    assert "".join(pieces) == text


def test_a_page_ends_with_a_line_where_it_can() -> None:
    one = page("\n".join(LINES), offset=0, max_tokens=100, counter=COUNTER)
    assert one.text.endswith("\n")
    assert one.end == len(one.text)


def test_the_page_after_the_end_is_empty() -> None:
    assert page("abc", offset=3, max_tokens=10, counter=COUNTER).text == ""


def test_a_long_line_is_cut_around_the_place_where_most_of_the_terms_stand() -> None:
    line = f"callback {'filler words ' * 300}the oauth callback fails{' more filler' * 300}"
    shown = _excerpt([line], "oauth callback")
    assert shown.startswith("… ")
    assert "the oauth callback fails" in shown
    assert COUNTER.count(shown) <= 60
    assert _excerpt([f"the oauth callback {line}"], "oauth callback").startswith("the oauth callback")
    assert _excerpt(["filler " * 300], "oauth").startswith("filler")
    assert "oauth" in _excerpt([f"{'x' * 500}-oauth-{'y' * 500}"], "oauth")


def test_the_words_that_were_looked_for_are_marked() -> None:
    assert marked("the oauth callbacks fail", terms("callback oauth")) == "the **oauth** **callbacks** fail"
    assert marked("a <b>", ["b"], before="[", after="]") == "a <[b]>"
    assert marked("nothing", []) == "nothing"
