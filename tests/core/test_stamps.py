from __future__ import annotations

from datetime import UTC, datetime

import pytest

from autocompact.core.stamps import instant_of


@pytest.mark.parametrize("stamp", ["2026-11-20T10:00:00Z", "2026-11-20 10:00", "2026-11-20T12:00:00+02:00"])
def test_a_stamp_without_an_offset_is_in_utc(stamp: str) -> None:
    assert instant_of(stamp) == datetime(2026, 11, 20, 10, tzinfo=UTC)


@pytest.mark.parametrize("stamp", ["", "yesterday", "1795168800", "2026-11-31T10:00:00Z"])
def test_what_is_no_stamp_is_no_instant(stamp: str) -> None:
    assert instant_of(stamp) is None
