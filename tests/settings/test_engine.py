from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from autocompact.compaction.modes import MODES
from autocompact.core.budget import PRESETS, Policy
from autocompact.settings import Settings, gateway_mode_of, mode_of, policy_of, threshold_of
from autocompact.settings.values import ModeName, Preset


def settings(**sections: object) -> Settings:
    return msgspec.convert(sections, Settings)


def session(**members: object) -> dict[str, object]:
    return {"triggers": {"sessionTokens": members}}


def test_with_nothing_set_the_mode_is_the_default() -> None:
    assert mode_of(Settings()) == MODES["default"]


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(
    "threshold, tokens",
    [("50k", 50_000), ("100k", 100_000), ("150k", 150_000), ("never", 0), (1234, 1234), (0, 0)],
)
def test_a_threshold_is_a_figure_or_a_preset(threshold: int | str, tokens: int) -> None:
    policy = policy_of(settings(compaction=session(threshold=threshold)))
    assert (policy.tokens, policy.automatic) == (tokens, tokens > 0)


def test_each_preset_of_the_settings_is_one_of_the_engine() -> None:
    names: tuple[Preset, ...] = get_args(Preset)
    assert {name: threshold_of(name) for name in names} == {
        name.removeprefix("session-"): tokens for name, tokens in PRESETS.items()
    }


@pytest.mark.requirement("C4")
@pytest.mark.parametrize("compaction", [{"enabled": False}, session(enabled=False, threshold=1000)])
def test_both_switches_are_obeyed(compaction: dict[str, object]) -> None:
    assert not policy_of(settings(compaction=compaction)).automatic


def test_a_share_takes_the_place_of_the_tokens_of_a_mode_and_a_threshold_that_of_both() -> None:
    by_mode = settings(engine={"mode": "coding-agent"})
    by_ratio = settings(engine={"mode": "coding-agent", "ratio": 0.7})
    by_both = settings(engine={"mode": "coding-agent", "ratio": 0.7}, compaction=session(threshold=9))
    assert [policy_of(each).tokens for each in (by_mode, by_ratio, by_both)] == [200_000, None, 9]
    assert policy_of(by_ratio).ratio == 0.7


def test_everything_that_the_engine_section_says_reaches_the_mode() -> None:
    engine = {
        "mode": "database-chat",
        "target": 0.3,
        "tailTokens": 7,
        "onOverflow": "refuse",
        "summaryTokens": 11,
        "workingSetTokens": 14,
        "capTokens": 12,
        "outputTokens": 13,
        "placement": "assistant",
        "background": True,
    }
    mode = mode_of(settings(engine=engine, compaction={"summaryPrompt": "handoff"}))
    assert mode.policy == Policy(ratio=0.8, target=0.3, tail_tokens=7, on_overflow="refuse")
    assert (mode.summary_tokens, mode.cap_tokens, mode.output_tokens) == (11, 12, 13)
    assert mode.working_set_tokens == 14
    assert (mode.placement, mode.background, mode.skill, mode.mask_first) == (
        "assistant",
        True,
        "handoff",
        False,
    )


def test_each_mode_can_be_set() -> None:
    names: tuple[str, ...] = get_args(ModeName)
    assert set(names) == set(MODES)
    assert [mode_of(settings(engine={"mode": name})).name for name in names] == list(names)


def test_the_gateway_compacts_by_price_unless_the_settings_say_when() -> None:
    policy = gateway_mode_of(Settings()).policy
    assert policy == Policy(enough=60_000, prepare=1.0, cold=0.75)
    with_model = settings(compaction={"summaryModel": "claude-haiku-4-5"})
    assert gateway_mode_of(with_model).policy == Policy(enough=60_000, prepare=0.9, cold=0.75)
    for said in (
        settings(engine={"ratio": 0.8}),
        settings(compaction=session(threshold=50_000)),
        settings(engine={"mode": "coding-agent"}),
    ):
        assert gateway_mode_of(said) == mode_of(said)
