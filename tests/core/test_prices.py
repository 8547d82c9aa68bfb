import pytest

from autocompact.core.prices import PRICES, Price, price_for


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
