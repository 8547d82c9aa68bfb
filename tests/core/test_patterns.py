"""Patterns that are compiled at first use, and told fast where a text is ASCII."""

from __future__ import annotations

import re
from itertools import chain
from types import ModuleType
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.patterns import LazyPattern
from autocompact.ledger import changes, facts, findings, lines, reactions, rules


def _of(module: ModuleType) -> list[LazyPattern]:
    values: list[object] = [*vars(module).values()]
    several = (cast("tuple[object, ...]", value) for value in values if isinstance(value, tuple))
    return [value for value in chain(values, *several) if isinstance(value, LazyPattern)]


PATTERNS = [
    pattern for module in (changes, facts, findings, lines, reactions, rules) for pattern in _of(module)
]
WORDS = {pattern: sorted(set(re.findall(r"[^\W\d_]{2,}|[?.:,]", pattern.source))) for pattern in PATTERNS}


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


def test_case_counts_where_the_pattern_says_so() -> None:
    pattern = LazyPattern(r"AGENTS\.md")
    assert pattern.found_in("see AGENTS.md")
    assert not pattern.found_in("see agents.md")
    assert pattern.begins("AGENTS.md")
    assert not pattern.begins("agents.md")
