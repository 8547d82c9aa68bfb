"""Decisions and goals from the figures of one moment, without a store or a model."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as changed

from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Budget, Compact, Continue, Prepare
from autocompact.core.messages import Usage
from autocompact.core.prices import cache_rates
from autocompact.core.tokens import Cost, Estimator
from autocompact.core.usage import Calibration, Load
from autocompact.engine.situation import Situation
from autocompact.engine.state import ConversationState, EngineState, Settled

MODEL = "claude-sonnet-4-5"


def situation(tokens: int, *, state: ConversationState | None = None, idle: float | None = None) -> Situation:
    state, cost = state or ConversationState(), Cost(tokens=tokens)
    return Situation(
        state=state,
        mode=replace(DEFAULT, background=True),
        budget=Budget(window=100_000, reserve=10_000),
        rates=None,
        model=MODEL,
        context="",
        cost=cost,
        used=state.meter.used(cost, load=Load(tokens=tokens, model=MODEL)),
        prompt_tokens=0,
        busy=False,
        waits=True,
        idle_seconds=idle,
    )


def test_a_context_is_left_alone_then_prepared_for_then_compacted_as_it_grows() -> None:
    decisions = [type(situation(tokens).decide()) for tokens in range(1_000, 80_000, 1_000)]
    assert sorted(set(decisions), key=decisions.index) == [Continue, Prepare, Compact]


def test_nothing_is_prepared_while_something_is_or_where_the_mode_says_so() -> None:
    ripe = next(one for one in map(situation, range(1_000, 80_000, 500)) if isinstance(one.decide(), Prepare))
    assert isinstance(changed(ripe, busy=True).decide(), Continue)
    assert isinstance(changed(ripe, mode=replace(ripe.mode, background=False)).decide(), Continue)


def test_what_a_provider_reported_decides_and_not_our_estimate() -> None:
    load = Load(tokens=10_000, model=MODEL)
    state = ConversationState().observe_usage(Usage(prompt=85_000), sent=load, window=100_000)
    assert isinstance(situation(10_000).decide(), Continue)
    assert isinstance(situation(10_000, state=state).decide(), Compact)


def test_a_goal_leaves_tools_and_prompt_out_of_what_is_folded() -> None:
    state = ConversationState().with_overhead(b"x" * 40_000, system="", counter=Estimator())
    bare, loaded = situation(60_000).manual_goal(), situation(60_000, state=state).manual_goal()
    assert loaded.overhead == state.meter.overhead
    assert loaded.target > bare.target
    assert loaded.tail_tokens <= (60_000 - state.meter.overhead.tokens) // 4
    assert loaded.first_rung == "summarise"
    assert loaded.trigger == "manual"


def test_after_a_refusal_the_goal_is_a_share_of_what_was_sent_and_at_most_three_quarters_of_the_limit() -> (
    None
):
    assert situation(20_000).smaller_goal(0.5).limit == 10_000
    large = situation(200_000)
    meter = large.state.meter
    assert large.smaller_goal(0.25).limit == 50_000
    assert meter.to_metered(large.smaller_goal(0.75).limit, model=MODEL) in range(67_000, 67_501)


def test_after_a_refusal_the_goal_is_in_the_tokens_that_the_provider_was_learned_to_count() -> None:
    twice = Calibration(factors={MODEL: 2.0})
    state = ConversationState(stored=EngineState(calibration=twice)).relearned("o200k_base")
    large = situation(200_000, state=state)
    assert large.state.meter.to_metered(large.smaller_goal(0.75).limit, model=MODEL) in range(67_000, 67_501)


def test_after_a_refusal_what_the_provider_adds_by_itself_is_left_out_of_what_we_can_make_smaller() -> None:
    load = Load(tokens=20_000, model=MODEL)
    state = ConversationState().observe_usage(Usage(prompt=60_000), sent=load, window=100_000)
    goal = situation(20_000, state=state).smaller_goal(0.75)
    assert goal.limit < 10_000


def test_the_cache_is_cold_once_it_expired_and_only_where_the_policy_uses_that() -> None:
    rates = cache_rates(MODEL)
    assert rates is not None
    eager = replace(DEFAULT, policy=replace(DEFAULT.policy, cold=0.5))
    warm = changed(situation(1_000, idle=rates.seconds), rates=rates, mode=eager)
    assert not warm.is_cold
    assert changed(warm, idle_seconds=rates.seconds + 1).is_cold
    assert not changed(warm, idle_seconds=None).is_cold
    assert not changed(warm, idle_seconds=rates.seconds + 1, rates=None).is_cold
    hour = ConversationState().with_hour_cache(True)
    assert not changed(warm, idle_seconds=rates.seconds + 1, state=hour).is_cold


def test_growth_is_measured_from_where_the_last_compaction_left_the_context() -> None:
    settled = Settled(context="", last_seq=4, cost=Cost(tokens=58_000))
    state = ConversationState(stored=EngineState(settled=settled))
    assert isinstance(situation(60_000).decide(), Compact)
    assert isinstance(situation(60_000, state=state).decide(), Continue)
