from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.budget import (
    PRESETS,
    Breaker,
    Budget,
    Compact,
    Continue,
    Policy,
    Prepare,
    Refuse,
    State,
    decide,
    fixed_note,
    preset,
)
from autocompact.core.tokens import Cost
from autocompact.errors import InvalidInput

ROOMY = Budget(window=1_000)
BROKEN = Breaker(failures=3, reason="bad key", tokens=800)


def tokens(n: int) -> Cost:
    return Cost(tokens=n)


@pytest.mark.requirement("A1")
@pytest.mark.parametrize(
    ("used", "kind"), [(0, Continue), (649, Continue), (650, Prepare), (799, Prepare), (800, Compact)]
)
def test_the_defaults_prepare_at_65_and_compact_at_80_percent_of_the_window(used: int, kind: type) -> None:
    assert isinstance(decide(tokens(used), ROOMY, policy=Policy()), kind)


@pytest.mark.requirement("A8")
def test_the_output_reserve_counts_for_meter_and_threshold_alike() -> None:
    budget = Budget(window=1_000, reserve=200)
    assert budget.ratio(600) == 0.8
    assert isinstance(decide(tokens(599), budget, policy=Policy(prepare=1.0)), Continue)
    assert isinstance(decide(tokens(600), budget, policy=Policy(prepare=1.0)), Compact)


@pytest.mark.requirement("A12")
@given(st.floats(0, 1))
def test_the_threshold_is_clamped_and_says_so(ratio: float) -> None:
    policy = Policy(ratio=ratio)
    assert 0.5 <= policy.threshold_ratio <= 0.95
    clamped = policy.threshold_ratio != ratio
    assert bool(policy.notes) == clamped
    assert not clamped or f"{policy.threshold_ratio:g}" in policy.notes[0]


@pytest.mark.requirement("B2", "D1")
def test_an_absolute_threshold_counts_the_context_without_the_reserve() -> None:
    budget = Budget(window=200_000, reserve=16_000)
    policy = Policy(tokens=100_000)
    assert isinstance(decide(tokens(99_999), budget, policy=policy), Prepare)
    decision = decide(tokens(100_000), budget, policy=policy)
    assert isinstance(decision, Compact)
    assert decision.trigger == "threshold"
    assert not decision.model_free
    assert decision.target == 40_000


@pytest.mark.requirement("D1")
def test_an_absolute_threshold_beyond_the_window_comes_down_below_the_limit() -> None:
    budget = Budget(window=128_000, reserve=8_000)
    assert Policy(tokens=200_000).threshold(budget) == 114_000


def test_a_large_reserve_leaves_the_threshold_at_half_of_what_remains() -> None:
    assert Policy(ratio=0.5).threshold(Budget(window=1_000, reserve=600)) == 200


@pytest.mark.requirement("B7")
@pytest.mark.parametrize("fixed, threshold", [(0, 200), (150, 200), (160, 210), (880, 930)])
def test_a_threshold_in_tokens_rises_by_a_quarter_of_it_beside_what_every_request_carries(
    fixed: int, threshold: int
) -> None:
    assert Policy(tokens=200).threshold(Budget(window=60_000, reserve=7_500), fixed=fixed) == threshold


@pytest.mark.requirement("C1")
@pytest.mark.requirement("E5")
@pytest.mark.parametrize(
    "fixed, threshold",
    [(0, 40_500), (20_250, 40_500), (25_000, 45_250), (40_500, 49_875), (60_000, 49_875)],
)
def test_what_every_request_carries_leaves_half_of_the_threshold_for_the_conversation(
    fixed: int, threshold: int
) -> None:
    budget, policy = Budget(window=60_000, reserve=7_500), Policy()
    assert policy.threshold(budget, fixed=fixed) == threshold
    assert policy.threshold(budget) == 40_500
    below, above = tokens(threshold - 1), tokens(threshold)
    state = State(fixed=fixed, prepared=True)
    assert not isinstance(decide(below, budget, policy=policy, state=state), Compact)
    assert isinstance(decide(above, budget, policy=policy, state=state), Compact)


@pytest.mark.requirement("E5")
def test_a_threshold_that_cannot_be_kept_to_is_told_with_its_figures() -> None:
    budget, policy = Budget(window=60_000, reserve=7_500), Policy()
    assert fixed_note(budget, policy=policy, fixed=40_499) == ""
    assert fixed_note(budget, policy=Policy(enabled=False), fixed=50_000) == ""
    said = fixed_note(budget, policy=policy, fixed=40_500)
    for figure in ("40,500 tokens, and 7,500", "threshold of 40,500", "49,875 is used"):
        assert figure in said


def test_presets_are_named_and_never_is_one_of_them() -> None:
    assert {name: preset(name).tokens for name in PRESETS} == {
        "session-50k": 50_000,
        "session-100k": 100_000,
        "session-150k": 150_000,
        "session-200k": 200_000,
        "never": 0,
    }
    assert not preset("never").automatic
    with pytest.raises(InvalidInput, match="session-50k"):
        preset("session-1k")


@pytest.mark.requirement("A12", "D1")
@pytest.mark.parametrize("policy", [Policy(enabled=False), Policy(tokens=0)])
def test_switched_off_nothing_is_compacted_and_an_overflow_is_refused(policy: Policy) -> None:
    assert isinstance(decide(tokens(1_000), ROOMY, policy=policy), Continue)
    refused = decide(tokens(1_001), ROOMY, policy=policy)
    assert isinstance(refused, Refuse)
    assert "1,001 tokens" in refused.reason
    assert "limit 1,000" in refused.reason


def test_switched_off_an_overflow_is_compacted_only_where_the_policy_says_so() -> None:
    policy = Policy(enabled=False, on_overflow="compact")
    assert isinstance(decide(tokens(999), ROOMY, policy=policy), Continue)
    decision = decide(tokens(1_001), ROOMY, policy=policy)
    assert isinstance(decision, Compact)
    assert decision.trigger == "overflow"


def test_switched_on_an_overflow_can_be_refused() -> None:
    assert isinstance(decide(tokens(1_001), ROOMY, policy=Policy(on_overflow="refuse")), Refuse)


@pytest.mark.parametrize(
    ("usage", "kind"),
    [
        (Cost(bytes=5_199), Continue),
        (Cost(bytes=5_200), Prepare),
        (Cost(bytes=6_400), Compact),
        (Cost(images=8), Compact),
        (Cost(images=11), Compact),
        (Cost(tokens=100, bytes=100, images=1), Continue),
    ],
)
def test_bytes_and_images_have_lines_like_tokens(usage: Cost, kind: type) -> None:
    budget = Budget(window=1_000, max_bytes=8_000, max_images=10)
    assert isinstance(decide(usage, budget, policy=Policy()), kind)


def test_the_fullest_limit_is_the_one_that_is_told() -> None:
    budget = Budget(window=1_000, max_bytes=8_000, max_images=10)
    decision = decide(Cost(tokens=100, bytes=100, images=11), budget, policy=Policy())
    assert decision.pressure.kind == "images"
    assert "11 images" in decision.reason


def test_after_a_compaction_the_next_one_needs_growth() -> None:
    state = State(after=tokens(810))
    assert isinstance(decide(tokens(849), ROOMY, policy=Policy(), state=state), Continue)
    assert isinstance(decide(tokens(850), ROOMY, policy=Policy(), state=state), Compact)


def test_the_next_compaction_waits_until_it_pays_but_not_until_a_request_would_overflow() -> None:
    state = State(after=tokens(600), pays_from=250)
    assert isinstance(decide(tokens(849), ROOMY, policy=Policy(), state=state), Continue)
    assert isinstance(decide(tokens(850), ROOMY, policy=Policy(), state=state), Compact)
    dear = State(after=tokens(600), pays_from=10_000)
    assert isinstance(decide(tokens(949), ROOMY, policy=Policy(), state=dear), Continue)
    at_last = decide(tokens(950), ROOMY, policy=Policy(), state=dear)
    assert isinstance(at_last, Compact)
    assert at_last.trigger == "threshold"


def test_a_threshold_that_the_user_named_is_kept_to_whatever_it_costs() -> None:
    state = State(after=tokens(600), pays_from=10_000)
    assert isinstance(decide(tokens(800), ROOMY, policy=Policy(tokens=800), state=state), Compact)


@pytest.mark.parametrize("after", [None, 500])
def test_a_context_that_the_cache_no_longer_holds_is_compacted_earlier(after: int | None) -> None:
    policy = Policy(cold=0.75)
    since = tokens(after) if after else None
    warm, cold = State(after=since), State(after=since, cold=True, pays_from=10_000)
    assert not isinstance(decide(tokens(600), ROOMY, policy=policy, state=warm), Compact)
    assert isinstance(decide(tokens(600), ROOMY, policy=policy, state=cold), Compact)
    assert not isinstance(decide(tokens(599), ROOMY, policy=policy, state=cold), Compact)
    assert not isinstance(decide(tokens(600), ROOMY, policy=Policy(), state=cold), Compact)
    assert isinstance(decide(tokens(520), ROOMY, policy=policy, state=cold), Prepare | Continue)


@pytest.mark.parametrize(
    ("window", "fixed", "threshold"),
    [
        (30_000, 3_000, 20_250),  # as by the ratio alone: 80 % less the reserve
        (60_000, 27_000, 47_250),
        (128_000, 0, 60_000),
        (128_000, 20_000, 80_000),
        (200_000, 25_000, 92_000),
        (200_000, 50_000, 110_000),
        (1_000_000, 25_000, 492_000),
    ],
)
def test_the_threshold_comes_down_to_what_is_enough_in_a_large_window(
    window: int, fixed: int, threshold: int
) -> None:
    budget = Budget(window=window, reserve=min(16_000, window // 8))
    policy = Policy(enough=60_000)
    assert policy.threshold(budget, fixed=fixed) == threshold
    assert policy.threshold(budget, fixed=fixed) <= Policy().threshold(budget, fixed=fixed)
    named = Policy(enough=60_000, tokens=70_000)
    assert named.threshold(budget, fixed=fixed) == Policy(tokens=70_000).threshold(budget, fixed=fixed)


@pytest.mark.requirement("B7")
def test_the_growth_between_compactions_is_small_where_the_threshold_is() -> None:
    state = State(after=tokens(195))
    policy = Policy(tokens=200)
    assert isinstance(decide(tokens(205), Budget(window=200_000), policy=policy, state=state), Compact)


def test_one_limit_that_waits_for_growth_does_not_hold_back_another() -> None:
    budget = Budget(window=1_000, max_images=10)
    state = State(after=Cost(tokens=950, images=2))
    decision = decide(Cost(tokens=955, images=9), budget, policy=Policy(), state=state)
    assert isinstance(decision, Compact)
    assert decision.pressure.kind == "images"


def test_what_is_prepared_is_not_prepared_again() -> None:
    assert isinstance(decide(tokens(700), ROOMY, policy=Policy(), state=State(prepared=True)), Continue)
    assert isinstance(decide(tokens(800), ROOMY, policy=Policy(), state=State(prepared=True)), Compact)


@pytest.mark.requirement("E5")
def test_an_open_breaker_says_why_it_waits_and_lets_an_overflow_through_without_a_model() -> None:
    state = State(breaker=BROKEN)
    waiting = decide(tokens(850), ROOMY, policy=Policy(), state=state)
    assert isinstance(waiting, Continue)
    assert "bad key" in waiting.reason
    assert isinstance(decide(tokens(900), ROOMY, policy=Policy(), state=state), Compact)
    overflow = decide(
        tokens(1_001), ROOMY, policy=Policy(), state=State(breaker=Breaker(failures=3, tokens=1_000))
    )
    assert isinstance(overflow, Compact)
    assert overflow.model_free


@pytest.mark.requirement("E5")
def test_a_breaker_opens_after_three_failures_half_opens_after_growth_and_closes_on_success() -> None:
    breaker = Breaker()
    for _ in range(2):
        breaker = breaker.failed("timeout", tokens=1_000)
    assert breaker.allows(0)
    breaker = breaker.failed("timeout", tokens=1_000)
    assert breaker.is_open
    assert not breaker.allows(1_100)
    assert breaker.allows(1_101)
    again = breaker.failed("timeout", tokens=1_101)
    assert not again.allows(1_101)
    assert again.succeeded(before=1_300, after=400) == Breaker()


def test_a_compaction_that_frees_next_to_nothing_counts_as_a_failure() -> None:
    breaker = Breaker().succeeded(before=1_000, after=950)
    assert (breaker.failures, breaker.tokens) == (1, 950)
    assert "50 of 1,000" in breaker.reason
    assert Breaker().succeeded(before=1_000, after=900).failures == 0


def test_the_tail_is_at_most_half_of_the_target() -> None:
    assert Policy().tail(Budget(window=1_000_000)) == 20_000
    assert Policy().tail(ROOMY) == 160


@pytest.mark.parametrize(
    "settings",
    [
        {"ratio": 1.5},
        {"ratio": math.nan},
        {"prepare": -0.1},
        {"target": 2},
        {"min_growth": -1},
        {"tokens": -1},
        {"tail_tokens": -1},
    ],
)
def test_values_that_mean_nothing_are_refused_by_name(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(settings))):
        Policy(**settings)  # pyright: ignore[reportArgumentType] - wrong on purpose


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"window": 0}, "window is 0"),
        ({"window": 10, "reserve": 10}, "no room"),
        ({"window": 10, "max_bytes": -1}, "max_bytes is -1"),
    ],
)
def test_a_budget_without_room_is_refused(settings: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Budget(**settings)


def budget_of(window: int, reserved: float, max_bytes: int, max_images: int) -> Budget:
    return Budget(window=window, reserve=int(window * reserved), max_bytes=max_bytes, max_images=max_images)


budgets = st.builds(
    budget_of, st.integers(1, 10**7), st.floats(0, 0.99), st.integers(0, 10**8), st.integers(0, 1_000)
)
shares = st.floats(0, 1)
policies = st.builds(
    Policy,
    enabled=st.booleans(),
    ratio=shares,
    tokens=st.none() | st.integers(0, 10**7),
    enough=st.just(0) | st.integers(0, 10**6),
    prepare=shares,
    target=shares,
    tail_tokens=st.integers(0, 10**6),
    min_growth=shares,
    on_overflow=st.sampled_from(["compact", "refuse", None]),
)
costs = st.builds(
    Cost, tokens=st.integers(0, 2 * 10**7), bytes=st.integers(0, 2 * 10**8), images=st.integers(0, 2_000)
)
breakers = st.builds(Breaker, failures=st.integers(0, 5), tokens=st.integers(0, 10**7))
states = st.builds(
    State,
    after=st.none() | costs,
    prepared=st.booleans(),
    breaker=breakers,
    fixed=st.just(0) | st.integers(0, 2 * 10**7),
    pays_from=st.just(0) | st.integers(0, 2 * 10**7),
)


@given(costs, budgets, policies, states)
def test_a_request_that_does_not_fit_is_never_sent(
    usage: Cost, budget: Budget, policy: Policy, state: State
) -> None:
    decision = decide(usage, budget, policy=policy, state=state)
    fits = (
        usage.tokens <= budget.window - budget.reserve
        and (not budget.max_bytes or usage.bytes <= budget.max_bytes)
        and (not budget.max_images or usage.images <= budget.max_images)
    )
    if fits:
        assert not isinstance(decision, Refuse)
        assert not isinstance(decision, Compact) or (decision.trigger == "threshold" and policy.automatic)
    else:
        assert isinstance(decision, Compact | Refuse)
        assert isinstance(decision, Refuse) == (policy.overflow_action == "refuse")


@given(budgets, policies, st.integers(0, 2 * 10**7))
def test_the_lines_are_in_order(budget: Budget, policy: Policy, fixed: int) -> None:
    threshold = policy.threshold(budget)
    assert 0 <= policy.prepare_tokens(budget) <= threshold <= max(1, budget.limit)
    raised = policy.threshold(budget, fixed=fixed)
    assert policy.prepare_tokens(budget, fixed=fixed) <= raised <= max(1, budget.limit)
    assert threshold <= raised
    assert policy.tail(budget) * 2 <= policy.target_tokens(budget) <= threshold


@given(costs, budgets, policies)
def test_right_after_a_compaction_only_an_overflow_compacts_again(
    usage: Cost, budget: Budget, policy: Policy
) -> None:
    policy = Policy(ratio=policy.ratio, tokens=policy.tokens, min_growth=0.05)
    decision = decide(usage, budget, policy=policy, state=State(after=usage))
    assert not isinstance(decision, Compact) or decision.trigger == "overflow"


@given(costs, budgets, policies, states)
def test_what_the_cache_holds_never_sends_what_does_not_fit_nor_refuses_what_does(
    usage: Cost, budget: Budget, policy: Policy, state: State
) -> None:
    warm = decide(usage, budget, policy=policy, state=state)
    cold = decide(usage, budget, policy=replace(policy, cold=0.0), state=replace(state, cold=True))
    assert warm.pressure.overflows == cold.pressure.overflows
    assert isinstance(warm, Refuse) == isinstance(cold, Refuse)
    if isinstance(warm, Compact):
        assert isinstance(cold, Compact)
