from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.references import parse_reference, reference
from autocompact.errors import InvalidInput


@given(st.integers(1, 10**12))
def test_a_reference_names_its_message_with_or_without_brackets(seq: int) -> None:
    assert parse_reference(reference(seq)) == seq
    assert parse_reference(f" [{reference(seq)}] ") == seq


@pytest.mark.parametrize("text", ["", "m", "m0", "m-1", "12", "m1x", "x m1", "m1 m2", "m٣", "m" + "9" * 40])
def test_what_is_no_reference_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"m123"):
        parse_reference(text)
