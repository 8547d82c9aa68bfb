"""Patterns that are compiled at first use, and told fast where a text is ASCII."""

from __future__ import annotations

import re
from itertools import chain
from types import ModuleType
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.patterns import LazyPattern, any_of
from autocompact.ledger import changes, conventions, facts, findings, lines, reactions, rules


def _of(module: ModuleType) -> list[LazyPattern]:
    values: list[object] = [*vars(module).values()]
    several = (cast("tuple[object, ...]", value) for value in values if isinstance(value, tuple))
    lazy = [value for value in chain(values, *several) if isinstance(value, LazyPattern)]
    # asked often from the first text on, else none of these short texts would be looked at as ASCII
    return [LazyPattern(each.source, each.flags, needs=each.needs, seldom=0) for each in lazy]


PATTERNS = [
    pattern
    for module in (changes, conventions, facts, findings, lines, reactions, rules)
    for pattern in _of(module)
]
WORDS = {
    pattern: sorted({*re.findall(r"[^\W\d_]{2,}|[?.:,]", pattern.source)}) or ["-"] for pattern in PATTERNS
}


def _in_any_case(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from((word, word.lower(), word.upper(), word.capitalize()))


@st.composite
def _asked(draw: st.DrawFn) -> tuple[LazyPattern, str]:
    pattern = draw(st.sampled_from(PATTERNS))
    words = st.lists(st.sampled_from(WORDS[pattern]).flatmap(_in_any_case), max_size=7)
    return pattern, " ".join(draw(words))


def _agrees(pattern: LazyPattern, text: str) -> bool:
    found, begins = pattern.search(text) is not None, pattern.match(text) is not None
    return (pattern.found_in(text), pattern.begins(text)) == (found, begins)


@given(_asked())
def test_a_pattern_is_found_fast_exactly_where_it_is_found(asked: tuple[LazyPattern, str]) -> None:
    assert _agrees(*asked)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_word_of_a_pattern_is_lost_in_lower_case(pattern: LazyPattern) -> None:
    assert [word for word in WORDS[pattern] if not _agrees(pattern, f"{word.upper()} it all")] == []


@pytest.mark.parametrize(
    ("source", "found", "not_found"),
    [
        (r"\b(?:always|à l'avenir|at all times)\b|总是", ("always", "at all times"), ("l'avenir", "alway")),
        (r"总是|(?:每次|いつ)x", (), ("", "x")),
        (r"(?:é)?a|ü*b|ö{0,2}c|ä{,1}d|ß+e", ("a", "b", "c", "d"), ("e",)),
        (r"s[oó]lo|[é]x", ("solo",), ("x", "slo")),
        (r"(?:ab|a|b)*+c", ("abc", "c"), ("ab",)),
        (r"(?:a|ab)?+c", ("abc", "c"), ("a",)),
        (r"(?<!é)a(?=é|b)(?!c|é)", ("ab",), ("ac", "a")),
        (r"ab?|ac{2}|a\||a[|)]|a\)", ("a",), ("b",)),
        (r"x(?:ab?|ac{2}|a\||a[|)]|a\))$", ("xab", "xacc", "xa|", "xa)", "xa"), ("xac", "xa(")),
        (r"no(?:|w|té)$", ("no", "now"), ("not",)),
        (r"\bif\b|\[x\]", ("if", "as if", "a [x]"), ("gif", "ifs", "x")),
        (r"\b(?:so|[i]f|\w\d)\b|^hm", ("so", "or if", "a b2", "hm"), ("also", "gif", "ab2", "a hm")),
        (r"\bx?no|\bl{0,2}o$|\bs*t$", ("no", "an xno", "llo", "a t"), ("ano", "allo", "at")),
        (r"\b(?<!not )in [^.]+ this|\b(?<!\d)at|\b(?<=a )b\b", ("in all this", "an at", "a b"), ("not in all this", "a bc")),
        (r"\b(?:so|if)\b|\b(?:say|see)|\b(?:is|it)? ok", ("so", "if", "says", "see", "it ok"), ("sos", "essay")),
        (r"\b(?<=a )b|\b-c|\b^d", ("a b", "b-c", "d"), ("b", "-c", "a d")),
    ],
)  # fmt: skip
def test_of_an_expression_what_ascii_text_can_fit_is_left(
    source: str, found: tuple[str, ...], not_found: tuple[str, ...]
) -> None:
    pattern = LazyPattern(source, seldom=0)
    assert [text for text in found if not pattern.found_in(text)] == []
    assert [text for text in not_found if pattern.found_in(text)] == []
    assert all(_agrees(pattern, text) for text in (*found, *not_found, "é", "abcé"))


def test_case_counts_where_the_pattern_says_so() -> None:
    pattern = LazyPattern(r"AGENTS\.md", seldom=0)
    assert pattern.found_in("see AGENTS.md")
    assert not pattern.found_in("see agents.md")
    assert pattern.begins("AGENTS.md")
    assert not pattern.begins("agents.md")


@pytest.mark.parametrize("source", [r"\bnever (?:again|ever)\b|总是", r"(?<=a )b"])
def test_a_pattern_answers_the_same_before_and_after_it_is_asked_often(source: str) -> None:
    texts = ("NEVER again", "never say", "a B", "b", "nothing")
    pattern = LazyPattern(source, re.IGNORECASE, seldom=sum(map(len, texts)))
    seldom = [(pattern.found_in(text), pattern.begins(text)) for text in texts]
    assert [(pattern.found_in(text), pattern.begins(text)) for text in texts] == seldom
    assert [found for found, _ in seldom] == [pattern.search(text) is not None for text in texts]


def test_one_look_rules_out_several_patterns() -> None:
    one, other = (
        LazyPattern(r"\b(?:always|never)\b", re.IGNORECASE),
        LazyPattern(r"\bat once\b", re.IGNORECASE),
    )
    both = any_of(one, other)
    both.seldom = 20
    assert not both.rules_out("nothing")  # asked seldom: that would take longer than to look for each
    assert both.rules_out("nothing of the kind")
    assert not both.rules_out("Not AT ONCE")
    assert not both.rules_out("NEVER")
    assert not both.rules_out("nothing à la mode")


def test_what_every_match_needs_is_looked_for_before_a_pattern_is_compiled() -> None:
    pattern = LazyPattern(r"(?:due|until) (?:today|tomorrow)", re.IGNORECASE, needs="today|tomorrow")
    assert not pattern.found_in("Due soon")
    assert "compiled" not in vars(pattern)
    assert pattern.found_in("Due TODAY")


def test_a_lazy_pattern_has_the_methods_of_a_compiled_one() -> None:
    pattern = LazyPattern(r"\d+")
    assert pattern.findall("1 and 22") == ["1", "22"]
    assert pattern.split("a1b22c") == ["a", "b", "c"]
    assert pattern.sub("#", "a1b22") == "a#b#"
    assert pattern.fullmatch("12") is not None
    assert pattern.fullmatch("12a") is None
