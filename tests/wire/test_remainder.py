"""A value and what another one lacks of it, put together again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.wire.remainder import remainder, restored

pytestmark = pytest.mark.requirement("F3")

LEAVES = (
    st.none() | st.booleans() | st.integers(0, 2) | st.floats(0, 2) | st.sampled_from(["", "a", "is", "in"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "is", "with", "in"]), inner)
    ),
)


@given(value=VALUES, base=VALUES)
def test_a_value_is_restored_from_any_other_one(value: Any, base: Any) -> None:
    assert restored(base, remainder(value, base)) == value
    assert remainder(restored(base, remainder(value, base)), value) == {}, "types of numbers included"


@given(value=VALUES)
def test_of_equal_values_nothing_remains(value: Any) -> None:
    assert remainder(value, value) == {}


def test_only_what_differs_is_kept() -> None:
    base = {"content": "long " * 100, "id": None, "calls": [{"name": "look", "type": "x"}]}
    value = {**base, "id": "m1", "calls": [{"name": "look"}]}
    assert remainder(value, base) == {
        "in": {"id": {"is": "m1"}, "calls": {"in": {"0": {"without": ["type"]}}}}
    }
    assert restored(base, remainder(value, base)) == value
