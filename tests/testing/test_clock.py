from __future__ import annotations

import pytest

from autocompact.ports import Clock
from autocompact.testing import FakeClock


def test_time_stands_still_until_it_is_moved() -> None:
    fake = FakeClock("2026-03-01T12:00:00.000+01:00")
    clock: Clock = fake
    assert (clock.now(), clock.monotonic()) == ("2026-03-01T11:00:00.000+00:00", 0)
    fake.advance(1.25)
    assert (clock.now(), clock.monotonic()) == ("2026-03-01T11:00:01.250+00:00", 1.25)


def test_setting_the_wall_clock_moves_no_span() -> None:
    clock = FakeClock()
    clock.advance(5)
    clock.set("2020-01-01T00:00:00Z")
    assert (clock.now(), clock.monotonic()) == ("2020-01-01T00:00:00.000+00:00", 5)


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="backwards"):
        FakeClock().advance(-1)


def test_a_name_that_the_package_does_not_have_is_an_attribute_error() -> None:
    import autocompact.testing

    assert not hasattr(autocompact.testing, "Nothing")
