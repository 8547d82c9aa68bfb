"""One search finds every anchor of the rules, wherever and however many stand in a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.redaction import RULES
from autocompact.core.redaction.anchors import Anchors, is_searched
from autocompact.core.redaction.rules import Token
from autocompact.core.strides import STRIDE

OF_THE_RULES = sorted({rule.anchor for rule in RULES if not isinstance(rule, Token)})
ALL = Anchors(OF_THE_RULES)


def one_by_one(literals: Sequence[str], lower: bytes) -> Mapping[str, Sequence[int]]:
    """The same, looking at every place for every anchor."""
    found = {
        each: [at for at in range(len(lower)) if lower.startswith(each.encode("latin-1"), at)]
        for each in literals
        if is_searched(each)
    }
    return {each: places for each, places in found.items() if places}


_PIECES = st.sampled_from(
    [
        *OF_THE_RULES,
        *(each[1:] for each in OF_THE_RULES),
        *(each[:-1] for each in OF_THE_RULES),
        " ",
        "x",
        "=",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_every_anchor_of_the_rules_is_found_at_every_place(text: str) -> None:
    lower = text.encode("latin-1", "replace").lower()
    assert ALL.places(lower) == one_by_one(OF_THE_RULES, lower)


@given(
    st.lists(st.text("abk:", min_size=1, max_size=4), min_size=1, max_size=8), st.text("abkx: é", max_size=40)
)
def test_anchors_may_begin_contain_and_overlap_each_other(literals: list[str], text: str) -> None:
    lower = text.encode("latin-1", "replace").lower()
    assert Anchors(literals).places(lower) == one_by_one(literals, lower)


def test_a_character_that_no_session_has_may_be_in_an_anchor() -> None:
    assert Anchors(["\x7f\x7f"]).places(b"a\x7f\x7f\x7f") == {"\x7f\x7f": [1, 2]}


@pytest.mark.parametrize("anchor", OF_THE_RULES)
def test_an_anchor_of_a_rule_is_in_lower_case(anchor: str) -> None:
    assert anchor
    assert anchor == anchor.lower()


def test_an_anchor_over_the_end_of_a_stride_is_found_and_each_one_once() -> None:
    for before in range(STRIDE - 12, STRIDE + 3):
        text = b"x" * before + b"password" + b"y" * STRIDE + b"token:"
        assert Anchors(["password", "token", "word"]).places(text) == {
            "password": [before],
            "word": [before + 4],
            "token": [before + 8 + STRIDE],
        }


def test_of_a_line_of_one_character_only_the_ends_are_looked_at() -> None:
    text = b"key" + b":" * 3_000 + b"token"
    places = Anchors([":::", "key:", ":token"]).places(text)
    assert (places["key:"], places[":token"]) == ([0], [len(text) - 6])
    assert places[":::"][:2] == [3, 4]
    assert places[":::"][-1] == 3_000
    assert len(places[":::"]) < 200
