from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.factors import reconstruction_of
from autocompact.core.messages import Usage
from autocompact.core.usage import (
    HIGHEST_FACTOR,
    LOWEST_FACTOR,
    Calibration,
    Gauge,
    Load,
)


def anchored(prompt: int = 10_000, completion: int = 500, *, model: str = "m") -> Gauge:
    """A gauge after one report: request estimated at 10,000 tokens, reply at 400."""
    sent = Load(tokens=10_000, model=model)
    return Gauge().report(Usage(prompt=prompt, completion=completion), sent=sent, reply=400)


@pytest.mark.requirement("A8")
def test_without_a_report_the_whole_context_is_estimated_with_a_margin_of_5_percent() -> None:
    reading = Gauge().read(Load(tokens=1_000, model="m"))
    assert (reading.reported, reading.estimated, reading.used) == (0, 1_050, 1_050)


@pytest.mark.requirement("D2", "B1")
def test_after_a_report_the_figure_is_prompt_plus_completion() -> None:
    reading = anchored().read(Load(tokens=10_400, model="m"))
    assert (reading.used, reading.estimated) == (10_500, 0)


def test_only_what_is_new_since_the_report_is_estimated() -> None:
    reading = anchored().read(Load(tokens=11_400, model="m"))
    assert (reading.reported, reading.estimated) == (10_500, 1_050)


def test_usage_that_comes_before_its_reply_is_in_the_log_counts_the_reply_as_new() -> None:
    gauge = Gauge().report(Usage(prompt=10_000, completion=500), sent=Load(tokens=10_000))
    assert gauge.read(Load(tokens=10_400)).used == 10_000 + 420


def test_a_reply_that_took_several_requests_is_estimated() -> None:
    assert anchored(completion=0).read(Load(tokens=10_400, model="m")).used == 10_000 + 420


@pytest.mark.requirement("D2")
def test_the_context_is_the_prompt_and_the_completion_of_the_last_call_however_short_the_reply_is() -> None:
    assert anchored(completion=9_000).read(Load(tokens=10_400, model="m")).used == 10_000 + 9_000


def test_what_left_the_same_context_is_taken_off_without_a_margin() -> None:
    assert anchored().read(Load(tokens=10_300, model="m")).used == 10_400
    assert anchored(prompt=10_000, completion=0).read(Load(tokens=0, model="m")).used == 0


@pytest.mark.requirement("D1")
def test_in_a_tool_loop_each_call_moves_the_anchor() -> None:
    gauge = Gauge()
    real, estimate = 20_000, 10_000
    for _ in range(5):
        gauge = gauge.report(Usage(prompt=real, completion=100), sent=Load(tokens=estimate), reply=100)
        assert gauge.rejected is None
        assert gauge.read(Load(tokens=estimate + 100)).used == real + 100
        real, estimate = real + 1_100, estimate + 1_100


@pytest.mark.requirement("B1")
def test_a_compaction_drops_the_anchor_and_its_late_report_changes_nothing() -> None:
    compacted = anchored().rebased("c1")
    load = Load(tokens=2_000, context="c1", model="m")
    assert compacted.read(load).used == 2_100
    late = compacted.report(Usage(prompt=11_000, completion=5), sent=Load(tokens=11_000, model="m"))
    assert late == compacted
    assert compacted.report(Usage(prompt=2_300), sent=load).read(load).used == 2_300


def test_a_load_of_another_context_is_estimated_even_if_nobody_told_the_gauge() -> None:
    assert anchored().read(Load(tokens=2_000, context="c1", model="m")).used == 2_100


def test_a_report_for_an_earlier_request_than_the_anchor_changes_nothing() -> None:
    gauge = anchored()
    assert gauge.report(Usage(prompt=9_000), sent=Load(tokens=9_000, model="m")) == gauge


def test_another_model_is_estimated_until_it_reports() -> None:
    gauge = anchored()
    assert gauge.read(Load(tokens=10_400, model="other")).reported == 0
    gauge = gauge.report(Usage(prompt=14_000), sent=Load(tokens=10_400, model="other"))
    assert gauge.read(Load(tokens=10_400, model="other")).used == 14_000
    assert gauge.read(Load(tokens=10_400, model="m")).reported == 0


@pytest.mark.parametrize(
    "model, factor",
    [
        ("claude-sonnet-4-5-20250929", 1.2),
        ("claude-opus-4-20250514", 1.2),
        ("us.anthropic.claude-opus-4-7-v1:0", 1.6),
        ("anthropic/claude-opus-5", 1.6),
        ("Qwen/Qwen3-Coder-480B", 1.07),
        ("deepseek-chat", 1.02),
        ("mistral-large-latest", 1.11),
        ("meta-llama/Llama-3.3-70B-Instruct", 0.99),
        ("gpt-5", 1.0),
        ("", 1.0),
    ],
)
def test_a_model_starts_with_what_the_tokenizer_of_its_family_was_measured_at(
    model: str, factor: float
) -> None:
    assert Calibration().factor(model) == factor


@pytest.mark.parametrize(
    ("model", "counter", "factor"),
    [
        ("qwen3-8b", "qwen", 1.0),
        ("qwen3.6-27b", "qwen", 1.11 / 1.07),
        ("gpt-5", "qwen", 1 / 1.07),
        ("claude-opus-5", "deepseek", 1.6 / 1.02),
        ("deepseek-r1:8b", "o200k_base", 1.02),
        ("qwen3-8b", "estimate", 1.07),
    ],
)
def test_a_model_starts_with_the_ratio_of_its_vocabulary_to_the_one_that_counted(
    model: str, counter: str, factor: float
) -> None:
    assert Calibration(counter=counter).factor(model) == pytest.approx(factor)


def test_what_was_learned_of_one_vocabularys_tokens_is_not_taken_for_anothers() -> None:
    learned = Calibration().learned("qwen3-8b", reported=1.5e6, estimated=1_000_000)
    assert learned.counted_by("o200k_base") is learned
    anew = learned.counted_by("qwen")
    assert anew.factor("qwen3-8b") == 1.0
    assert anew.learned("qwen3-8b", reported=1e6, estimated=1_000_000).counter == "qwen"


def test_what_was_reported_replaces_what_a_family_starts_with() -> None:
    learned = Calibration().learned("claude-opus-5", reported=1.3e6, estimated=1_000_000)
    assert learned.factor("claude-opus-5") == pytest.approx(1.3, abs=0.01)


def test_growth_teaches_the_factor_of_the_model_whatever_nobody_counted() -> None:
    gauge = Gauge()
    for step in range(1, 20):
        estimate = 5_000 * step
        real = 30_000 + int(1.3 * estimate)
        gauge = gauge.report(Usage(prompt=real), sent=Load(tokens=estimate, model="m"))
    assert gauge.calibration.factor("m") == pytest.approx(1.3, abs=0.01)
    assert gauge.unseen == pytest.approx(30_000, abs=2_000)
    after = gauge.rebased("c1").read(Load(tokens=10_000, context="c1", model="m"))
    assert after.used == pytest.approx(30_000 + 13_000, rel=0.06)


def test_a_first_report_below_the_estimate_teaches_that_less_is_needed() -> None:
    gauge = Gauge().report(Usage(prompt=8_000), sent=Load(tokens=10_000, model="m"))
    assert gauge.calibration.factor("m") == pytest.approx(0.9)
    assert gauge.unseen == 0


def test_a_prompt_that_did_not_grow_teaches_nothing() -> None:
    gauge = anchored()
    shrunk = gauge.report(Usage(prompt=9_000), sent=Load(tokens=10_400, model="m"))
    assert shrunk.calibration == gauge.calibration
    assert shrunk.read(Load(tokens=10_400, model="m")).used == 9_000


@given(st.lists(st.tuples(st.floats(0.01, 1e6), st.integers(1, 10**6))))
def test_the_factor_stays_within_its_bounds(observations: list[tuple[float, int]]) -> None:
    calibration = Calibration()
    for reported, estimated in observations:
        calibration = calibration.learned("m", reported=reported, estimated=estimated)
    assert LOWEST_FACTOR <= calibration.factor("m") <= HIGHEST_FACTOR


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        (Usage(prompt=0, completion=5), "empty"),
        (Usage(prompt=-3), "empty"),
        (Usage(prompt=10_000, completion=-1), "empty"),
        (Usage(prompt=200_000, completion=1), "above the window"),
        (Usage(prompt=1_700), "too low"),
        (Usage(prompt=25_000), "unexplained jump"),
    ],
)
def test_a_report_that_cannot_be_is_kept_as_rejected_and_changes_no_figure(usage: Usage, reason: str) -> None:
    before = anchored()
    load = Load(tokens=11_000, model="m")
    after = before.report(usage, sent=load, window=200_000)
    assert after.rejected is not None
    assert (after.rejected.reason, after.rejected.usage) == (reason, usage)
    assert after.read(load) == before.read(load)


def test_the_next_plausible_report_clears_the_rejected_one() -> None:
    gauge = anchored().report(Usage(prompt=0), sent=Load(tokens=10_500, model="m"))
    assert gauge.rejected is not None
    assert gauge.report(Usage(prompt=11_000), sent=Load(tokens=11_000, model="m")).rejected is None


def test_a_jump_right_after_a_compaction_is_measured_against_what_was_unseen_before() -> None:
    gauge = anchored().rebased("c1")
    load = Load(tokens=1_000, context="c1", model="m")
    jumped = gauge.report(Usage(prompt=40_000), sent=load)
    assert jumped.rejected is not None
    assert jumped.rejected.reason == "unexplained jump"
    assert gauge.report(Usage(prompt=6_000), sent=load).rejected is None


def test_a_jump_that_the_next_report_confirms_is_believed() -> None:
    """Somebody added tools of 30,000 tokens in the middle of the conversation."""
    gauge = anchored()
    gauge = gauge.report(Usage(prompt=41_000), sent=Load(tokens=11_000, model="m"))
    assert gauge.read(Load(tokens=11_000, model="m")).used < 12_000
    gauge = gauge.report(Usage(prompt=43_100), sent=Load(tokens=13_000, model="m"))
    assert gauge.rejected is None
    assert gauge.read(Load(tokens=13_000, model="m")).used == 43_100
    assert gauge.unseen is not None
    assert gauge.unseen > 29_000


def test_a_jump_of_another_model_confirms_nothing() -> None:
    gauge = anchored().report(Usage(prompt=41_000), sent=Load(tokens=11_000, model="m"))
    other = gauge.report(Usage(prompt=43_000), sent=Load(tokens=13_000, model="other"))
    assert other.rejected is not None
    assert other.rejected.sent.model == "other"


@given(st.integers(2_000, 20_000), st.lists(st.integers(50, 800), min_size=5, max_size=30))
def test_figures_summed_up_over_a_session_are_never_believed_for_long(first: int, growth: list[int]) -> None:
    """The reported figure is the sum of all prompts so far; the error must not grow with the session."""
    gauge = Gauge()
    real, total = first, 0
    for new in growth:
        total += real
        gauge = gauge.report(Usage(prompt=total), sent=Load(tokens=real))
        real += new
        used = gauge.read(Load(tokens=real)).used
        assert real <= used <= 2.5 * real + 8_000


def test_a_provider_that_leaves_out_cached_tokens_does_not_lower_the_figure() -> None:
    gauge = anchored(prompt=100_000)
    for step in range(1, 5):
        load = Load(tokens=10_400 + 500 * step, model="m")
        gauge = gauge.report(Usage(prompt=500), sent=load)
        assert gauge.read(load).used >= 100_000


@given(
    st.lists(
        st.tuples(st.integers(0, 300_000), st.integers(-10, 400_000), st.integers(-10, 50_000)), max_size=12
    ),
    st.integers(0, 300_000),
    st.integers(0, 300_000),
)
def test_more_context_never_reads_as_less_and_no_figure_is_negative(
    reports: list[tuple[int, int, int]], one: int, other: int
) -> None:
    gauge = Gauge()
    for estimate, prompt, completion in reports:
        usage = Usage(prompt=prompt, completion=completion)
        gauge = gauge.report(usage, sent=Load(tokens=estimate), reply=abs(completion), window=200_000)
        if gauge.anchor is not None:
            assert gauge.anchor.tokens <= 200_000
    few, many = sorted((one, other))
    assert 0 <= gauge.read(Load(tokens=few)).used <= gauge.read(Load(tokens=many)).used


def test_a_gauge_survives_json() -> None:
    gauge = anchored().report(Usage(prompt=0), sent=Load(tokens=10_500, model="m"))
    data = msgspec.json.encode(gauge)
    assert msgspec.json.decode(data, type=Gauge) == gauge


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-sonnet-4-5-20250929", "ctok"),
        ("anthropic/claude-opus-5", "ctok4.7"),
        ("gpt-5", ""),
        ("qwen3-8b", ""),
    ],
)
def test_the_reconstruction_of_a_models_vocabulary_is_that_of_its_generation(model: str, name: str) -> None:
    assert reconstruction_of(model) == name
