from __future__ import annotations

import pytest

from autocompact.core.windows import DEFAULT_WINDOW, WINDOWS, budget_for, default_reserve, window_for
from autocompact.errors import InvalidInput


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-2024-11-20", 128_000),
        ("gpt-4-0613", 8_192),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-5-2025-08-07", 272_000),
        ("openrouter/openai/gpt-5.4", 922_000),
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-sonnet-4-5[1m]", 1_000_000),
        ("us.anthropic.claude-opus-4-6-v1:0", 1_000_000),
        ("anthropic/claude-opus-4.6", 1_000_000),
        ("models/gemini-2.5-pro", 1_048_576),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", 128_000),
        ("llama3:8b", 8_192),
        ("Qwen/Qwen3-Coder-30B-A3B", 262_144),
    ],
)
def test_the_longest_family_name_decides_whatever_route_stands_before_it(model: str, window: int) -> None:
    assert window_for(model) == window


@pytest.mark.parametrize("model", ["", "my-finetune", "xgpt-4o"])
def test_an_unknown_model_has_no_window(model: str) -> None:
    assert window_for(model) is None


@pytest.mark.requirement("B6")
def test_overrides_go_before_the_table_and_leave_other_models_alone() -> None:
    overrides = {"llama3": 4_096, "my-": 50_000}
    assert window_for("ollama/llama3:8b", overrides=overrides) == 4_096
    assert window_for("my-finetune", overrides=overrides) == 50_000
    assert window_for("gpt-4o", overrides=overrides) == 128_000


def test_every_family_is_found_by_its_own_name() -> None:
    assert {family: window_for(family) for family in WINDOWS} == dict(WINDOWS)


def test_the_reserve_is_an_eighth_of_a_small_window_and_bounded_for_a_large_one() -> None:
    assert default_reserve(8_000) == 1_000
    assert default_reserve(1_000_000) == 16_000


def test_a_budget_knows_the_window_the_reserve_and_the_limits_of_the_provider() -> None:
    budget = budget_for("claude-sonnet-4-5")
    assert (budget.window, budget.reserve) == (200_000, 16_000)
    assert (budget.max_bytes, budget.max_images) == (32_000_000, 100)
    assert budget_for("claude-opus-4-6").max_images == 600
    assert budget_for("gpt-5").max_images == 500
    assert budget_for("gemini-2.5-pro").max_images == 3_000


def test_an_unknown_model_gets_the_default_window_and_no_other_limits() -> None:
    budget = budget_for("")
    assert (budget.window, budget.max_bytes, budget.max_images) == (DEFAULT_WINDOW, 0, 0)


def test_the_caller_knows_better_than_the_table() -> None:
    budget = budget_for("gpt-4o", window=10_000, reserve=0)
    assert (budget.window, budget.reserve) == (10_000, 0)


@pytest.mark.parametrize(("window", "reserve"), [(0, None), (-5, 0), (100, 100)])
def test_a_window_without_room_is_refused(window: int, reserve: int | None) -> None:
    with pytest.raises(InvalidInput, match="window"):
        budget_for("gpt-4o", window=window, reserve=reserve)
