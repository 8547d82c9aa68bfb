"""Terms: what a text is searched by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.terms import LONGEST, STOP_WORDS, occurrences, stem, terms


@pytest.mark.parametrize("spelling", ["loadState", "load_state", "LoadState", "LOAD_STATE", "load__state"])
def test_an_identifier_is_found_by_its_pieces_and_whole_in_any_spelling(spelling: str) -> None:
    assert terms(spelling) == [stem("load"), stem("state"), "loadstate"]


def test_a_path_gives_what_stands_between_its_slashes_and_dots() -> None:
    assert terms("src/auth/login.py") == ["src", "auth", "login", "py"]


def test_the_words_of_an_acronym_in_a_name_are_told_apart() -> None:
    assert terms("HTTPServer2") == ["http", "server", "2", "httpserver2"]


@pytest.mark.parametrize("hash", ["a7f6e0b28", "0123456789abcdef", "1234567"])
def test_a_hash_stays_whole(hash: str) -> None:
    assert terms(hash) == [hash]


def test_a_name_of_many_pieces_is_taken_for_a_key_and_stays_whole() -> None:
    assert terms("a1B2c3D4e5F6g7") == ["a1b2c3d4e5f6g7"]


@pytest.mark.parametrize("word", sorted(STOP_WORDS))
def test_a_function_word_alone_gives_no_term(word: str) -> None:
    assert terms(word) == terms(word.upper()) == []


def test_function_words_say_nothing_but_count_in_a_name() -> None:
    assert terms("what is the isValid of it") == ["valid", "isvalid"]


def test_encoded_data_is_not_searchable() -> None:
    assert terms("x" * (LONGEST + 1) + " word") == ["word"]


@pytest.mark.parametrize(
    "words",
    [
        ["compacting", "compacted", "compacts", "compact", "compaction"],
        ["query", "queries", "queried"],
        ["stop", "stopped", "stopping", "stops"],
        ["cache", "cached", "caches", "caching"],
        ["normalization", "normalize", "normalized"],
        ["class", "classes"],
        ["deploy", "deploys", "deployment"],
        ["process", "processes"],
    ],
)
def test_the_forms_of_a_word_are_one_term(words: list[str]) -> None:
    assert len({stem(word) for word in words}) == 1


@pytest.mark.parametrize(
    "word", ["status", "this", "string", "red", "bring", "sky", "md5", "abc", "sing", "bed"]
)
def test_what_only_looks_like_an_ending_stays(word: str) -> None:
    assert stem(word).rstrip("i") in {word, word.rstrip("y")}


def test_scripts_without_spaces_give_pairs_of_characters() -> None:
    assert terms("数据库连接") == ["数据", "据库", "库连", "连接"]
    assert terms("猫") == ["猫"]
    assert terms("カタカナ") == ["カタ", "タカ", "カナ"]


def test_a_name_inside_chinese_prose_is_found() -> None:
    assert terms("使用loadState接口") == ["使用", "load", "stat", "loadstate", "接口"]


def test_accents_and_full_width_forms_do_not_matter() -> None:
    assert terms("Größe café naïve") == terms("GRÖSSE cafe\u0301 NAI\u0308VE")
    assert terms("ＡＢＣ") == ["abc"]
    assert terms("привет") == ["привет"]
    assert terms("ꭰꮃ") == terms("ᎠᎳ") == ["ᎠᎳ"]  # of Cherokee, the small letters are folded to the capitals


def test_what_folds_away_gives_no_term() -> None:
    assert terms("\u0345") == []


@given(st.text(max_size=200))
def test_a_term_is_one_word_whose_case_is_folded(text: str) -> None:
    for term in terms(text):
        assert term
        assert not any(char.isspace() or char in "\"'_-*:()^" for char in term)
        assert term == term.casefold()


@given(st.text(max_size=100), st.text(max_size=100))
def test_the_terms_of_two_texts_are_those_of_each(left: str, right: str) -> None:
    assert terms(f"{left} {right}") == terms(left) + terms(right)


@pytest.mark.parametrize(
    "text, query, expected",
    [
        ("The harbour's zebras cross.", "zebra crossing", ["zebras", "cross"]),
        ("call loadState or load_state", "state", ["loadState", "load_state"]),
        ("东京港口的船", "港口", ["港口"]),
        ("东京港口的船x", "港口的 x", ["港口的", "x"]),
        ("a 港 b", "港", ["港"]),
        ("Café CAFÉ", "cafe", ["Café", "CAFÉ"]),
        ("nothing here", "zebra", []),
        ("", "zebra", []),
    ],
)
def test_the_words_that_a_query_finds_are_known_by_their_places(
    text: str, query: str, expected: list[str]
) -> None:
    assert [text[start:end] for start, end in occurrences(text, terms(query))] == expected


@given(st.text(max_size=60), st.text(max_size=20))
def test_occurrences_are_in_order_and_do_not_overlap(text: str, query: str) -> None:
    places = occurrences(text, frozenset(terms(query)))
    flat = [at for place in places for at in place]
    assert flat == sorted(flat)
    assert all(start < end for start, end in places)
