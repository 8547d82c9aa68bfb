from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.compaction.pricing import Pace, Step, growth_that_pays, per_request
from autocompact.core.prices import CACHES, CacheRates

CLAUDE = CACHES["claude"]
PACE = Pace(rates=CLAUDE, threshold=100_000, growth=1_000)

rates = st.builds(CacheRates, read=st.floats(0.01, 0.5), write=st.floats(1.0, 2.0))
tokens = st.integers(0, 10**6)
growths = st.integers(100, 10_000)


def test_a_request_costs_what_it_reads_and_its_part_of_what_the_compaction_wrote_again():
    step = Step(after=50_000, kept=20_000)
    assert per_request(step, PACE) == pytest.approx(0.1 * 75_000 + 1.15 * 30_000 / 50)


def test_where_the_cache_is_empty_only_reading_counts():
    cold = Pace(rates=CLAUDE, threshold=100_000, growth=1_000, cold=True)
    assert per_request(Step(after=50_000), cold) == pytest.approx(0.1 * 75_000)


@pytest.mark.parametrize("after", [100_000, 120_000])
def test_a_step_after_which_the_next_compaction_is_due_at_once_never_pays(after: int):
    assert per_request(Step(after=after), PACE) == math.inf


def test_a_context_that_is_all_served_from_the_cache_writes_nothing_again():
    assert Step(after=1_000, kept=4_000).rewritten == 0


def test_the_next_compaction_pays_as_soon_as_what_it_frees_is_worth_what_it_writes():
    assert growth_that_pays(Step(after=60_000, kept=25_000), CLAUDE, growth=1_200) == 21_978


def test_where_reading_is_free_no_growth_is_asked_for():
    assert growth_that_pays(Step(after=60_000), CacheRates(read=0.0)) == 0


@given(rates, tokens, tokens, growths)
def test_after_the_growth_that_pays_the_saving_is_worth_what_is_written_and_before_it_is_not(
    rates: CacheRates, after: int, kept: int, growth: int
):
    step = Step(after=after, kept=kept)
    freed = growth_that_pays(step, rates, growth=growth)
    again = (rates.write - rates.read) * step.rewritten

    def saved(freed: int) -> float:
        return rates.read * freed * freed / growth

    assert saved(freed) >= again * 0.999_999
    assert not freed or saved(freed - 1) <= again


@given(rates, tokens, tokens, tokens, growths)
def test_less_left_and_more_kept_never_cost_more(
    rates: CacheRates, after: int, less: int, kept: int, growth: int
):
    pace = Pace(rates=rates, threshold=2 * 10**6, growth=growth)
    smaller = Step(after=max(0, after - less), kept=kept)
    assert per_request(smaller, pace) <= per_request(Step(after=after, kept=kept), pace)
    assert per_request(Step(after=after, kept=kept + 1), pace) <= per_request(
        Step(after=after, kept=kept), pace
    )
