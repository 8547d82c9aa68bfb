import math
from dataclasses import replace

import pytest

from autocompact.core.prices import CACHES, PRICES, CacheRates, Price, cache_rates, price_for


@pytest.mark.parametrize(
    "name, family",
    [
        ("gpt-5.4-mini-2026-03-05", "gpt-5.4-mini"),
        ("openrouter/openai/gpt-4o-mini", "gpt-4o-mini"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4.5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4"),
        ("claude-opus-4-1", "claude-opus-4.1"),
        ("gpt-4-0613", "gpt-4"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
    ],
)
def test_a_model_has_the_price_of_the_longest_family_that_it_belongs_to(name: str, family: str):
    found = price_for(name)
    assert found is not None
    assert (found.family, found.price, found.own) == (family, PRICES[family], False)


@pytest.mark.parametrize("name", ["", "gpt-5.9", "claude-opus-4.9-fast", "o11", "llama-3", "my-gpt-5"])
def test_a_version_that_is_not_known_has_no_price_of_another_one(name: str):
    assert price_for(name) is None


def test_prices_of_the_settings_go_before_the_table():
    own = {"gpt-5": Price(input=1, output=2), "qwen": Price(input=0, output=0)}
    found = price_for("qwen3-8b", overrides=own)
    assert found is None  # another version than the one named
    found = price_for("gpt-5-mini", overrides=own)
    assert found is not None
    assert (found.family, found.price.input, found.own) == ("gpt-5", 1, True)
    unknown = price_for("o3", overrides=own)
    assert unknown is not None
    assert not unknown.own


def test_nothing_costs_more_from_the_cache_than_anew_and_replies_cost_the_most():
    for family, price in PRICES.items():
        assert 0 <= (price.cached or 0) < price.input <= price.output, family


DAY = 86_400


@pytest.mark.parametrize(
    "name, rates",
    [
        ("claude-opus-4-5", CacheRates(read=0.1, write=1.25, seconds=300, marked=True, least=4_096)),
        (
            "us.anthropic.claude-opus-5-5",
            CacheRates(read=0.05, write=1.25, seconds=300, marked=True, least=512),
        ),
        (
            "claude-opus-9",
            CacheRates(read=0.1, write=1.25, seconds=300, marked=True, least=1_024),
        ),  # without a price in the table
        ("gpt-4o-2024-08-06", CacheRates(read=0.5, seconds=DAY, least=1_024, step=128)),
        ("gpt-5.2", CacheRates(read=0.1, seconds=DAY, least=1_024, step=128)),
        ("gpt-6.1-sol", CacheRates(read=0.05, write=1.25, seconds=DAY, least=1_024)),
        ("gemini-2.5-pro", CacheRates(read=0.1, least=1_024)),
    ],
)
def test_what_a_cache_costs_goes_by_the_model(name: str, rates: CacheRates):
    found = cache_rates(name)
    assert found is not None
    assert found.read == pytest.approx(rates.read)
    assert replace(found, read=rates.read) == rates


@pytest.mark.parametrize(
    "name", ["", "qwen3-8b", "gpt-oss-120b", "gpt-5-pro", "gpt-4-turbo", "a-model-of-ours"]
)
def test_a_cache_without_known_prices_has_none(name: str):
    assert cache_rates(name) is None


def test_what_is_held_for_an_hour_costs_twice_the_input_to_write():
    rates = CACHES["claude"].for_an_hour
    assert (rates.read, rates.write, rates.seconds, rates.marked) == (0.1, 2.0, 3_600, True)
    assert rates.holds_for_an_hour
    assert not CACHES["claude"].holds_for_an_hour
    assert not CACHES["gpt-5"].for_an_hour.holds_for_an_hour  # only Anthropic's marks say how long


def test_reading_from_a_cache_costs_less_than_writing_to_it():
    for family, rates in CACHES.items():
        assert 0 < rates.read < 1 <= rates.write, family
        assert math.isinf(rates.seconds) or rates.seconds >= 300, family
