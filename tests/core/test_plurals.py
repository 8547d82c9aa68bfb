"""A count has its noun in the right number."""

from __future__ import annotations

import pytest

from autocompact.core.plurals import plural


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (2_000, "2,000 files")]
)
def test_one_is_singular_and_all_else_plural(count: int, shown: str) -> None:
    assert plural(count, "file") == shown


@pytest.mark.parametrize(("count", "shown"), [(1, "1 entry"), (3, "3 entries")])
def test_a_noun_may_bring_its_own_plural(count: int, shown: str) -> None:
    assert plural(count, "entry", many="entries") == shown
