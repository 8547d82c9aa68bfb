"""Settings that cannot be used are refused where they are given."""

from __future__ import annotations

import math
from typing import Any

import pytest

from autocompact.compaction.modes import Mode
from autocompact.core.budget import Budget, Policy
from autocompact.core.figures import check_windows
from autocompact.core.windows import budget_for
from autocompact.errors import InvalidInput

NO_NUMBER: tuple[Any, ...] = (-1, True, 1.5, math.nan, math.inf, "8000", None)
NO_SHARE: tuple[Any, ...] = (-0.1, 1.1, True, math.nan, "0.8", None)


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize("name", ["window", "reserve", "max_bytes", "max_images"])
def test_a_budget_takes_whole_numbers_only(name: str, value: object) -> None:
    with pytest.raises(
        InvalidInput, match=rf"^{name} is .*: give a whole number of (tokens|bytes|images), [01] or"
    ):
        Budget(**{"window": 8_000, name: value})  # pyright: ignore[reportArgumentType] - that is what this test is about


@pytest.mark.parametrize("value", NO_SHARE)
@pytest.mark.parametrize("name", ["ratio", "prepare", "target", "min_growth"])
def test_a_share_of_a_policy_is_a_number_from_0_to_1(name: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} is .*it must be a share between 0 and 1"):
        Policy(**{name: value})  # pyright: ignore[reportArgumentType] - that is what this test is about


@pytest.mark.parametrize("value", NO_NUMBER[:-1])
@pytest.mark.parametrize("name", ["tokens", "tail_tokens"])
def test_tokens_of_a_policy_are_a_whole_number(name: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} is .*: give a whole number of tokens, 0 or more"):
        Policy(**{name: value})  # pyright: ignore[reportArgumentType] - that is what this test is about


def test_choices_of_a_policy_are_named() -> None:
    with pytest.raises(InvalidInput, match=r"^enabled is 'no': give True or False"):
        Policy(enabled="no")  # pyright: ignore[reportArgumentType] - that is what this test is about
    with pytest.raises(
        InvalidInput, match=r"^on_overflow is 'wait': choose one of 'compact', 'refuse', None"
    ):
        Policy(on_overflow="wait")  # pyright: ignore[reportArgumentType] - that is what this test is about


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("policy", None, "policy is None: give a Policy"),
        ("policy", 100_000, "policy is 100000: give a Policy"),
        ("placement", "top", "placement is 'top': choose one of 'system', 'user', 'assistant'"),
        ("background", 1, "background is 1: give True or False"),
        ("cap_tokens", 0, "cap_tokens is 0: give a whole number of tokens, 1 or more"),
        ("summary_tokens", True, "summary_tokens is True"),
        ("output_tokens", math.nan, "output_tokens is nan"),
    ],
)
def test_a_mode_says_what_it_takes(name: str, value: object, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{said}"):
        Mode(name="own", **{name: value})  # pyright: ignore[reportArgumentType] - that is what this test is about


@pytest.mark.parametrize("window", [0, *NO_NUMBER[:-1]])
def test_no_window_is_silently_another_one(window: object) -> None:
    with pytest.raises(InvalidInput, match=r"^window is .*, 1 or more"):
        budget_for("", window=window)  # pyright: ignore[reportArgumentType] - that is what this test is about


@pytest.mark.parametrize("reserve", NO_NUMBER[:-1])
def test_a_reserve_is_a_whole_number(reserve: object) -> None:
    with pytest.raises(InvalidInput, match=r"^reserve is"):
        budget_for("", window=8_000, reserve=reserve)  # pyright: ignore[reportArgumentType] - that is what this test is about


@pytest.mark.parametrize(
    "windows, said",
    [
        ([("gpt-5", 400_000)], "windows is .*: give a mapping of model names to tokens"),
        ({5: 400_000}, "windows has the key 5: give the name of a model"),
        ({"gpt-5": 0}, "the window of 'gpt-5' is 0"),
        ({"gpt-5": "400k"}, "the window of 'gpt-5' is '400k'"),
    ],
)
def test_a_table_of_windows_says_what_it_takes(windows: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{said}"):
        check_windows(windows)
    with pytest.raises(InvalidInput, match=f"^{said}"):
        budget_for("gpt-5", overrides=windows)
