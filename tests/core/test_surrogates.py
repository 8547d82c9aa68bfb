"""Halves of surrogate pairs."""

from __future__ import annotations

import pytest

from autocompact.core.surrogates import without_half_surrogates

pytestmark = pytest.mark.requirement("E1")


@pytest.mark.parametrize(
    ("text", "storable"),
    [
        ("Wörter, 語 und 😀", "Wörter, 語 und 😀"),
        ("cut \ud83d", "cut \ufffd"),
        ("\ude00 cut", "\ufffd cut"),
        ("\ud83d\ude00", "😀"),
    ],
)
def test_a_half_becomes_the_replacement_character_and_a_pair_its_character(text: str, storable: str) -> None:
    assert without_half_surrogates(text) == storable
    assert storable.encode()
