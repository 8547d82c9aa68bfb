"""The provider's cache, and tables of prices."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from autocompact.core.prices import CacheRates, Price, cache_rates
from autocompact.errors import InvalidInput
from autocompact.what_if.billing import Bill, PromptCache, pricing_for, read_prices

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TABLE = """{
  // what our contract says
  "source": "our contract", "date": "2026-11-01",
  "models": {
    "claude-opus-4.5": {"input": 4, "output": 20, "cached": 0.4, "write": 5, "cache_seconds": 300, "marked": true},
    "in-house": {"input": 0, "output": 0, "cached": 0},
    "plain": {"input": 2, "output": 6},
  },
}"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(TABLE)
    return path


@pytest.mark.requirement("E10")
def test_a_bill_is_what_was_read_written_and_answered_at_list_prices() -> None:
    bill = Bill()
    bill.pay(1_000_000, read=0, output=100_000)
    bill.pay(2_000_000, read=1_000_000, output=0)
    assert bill.prompt == 3_000_000
    price, rates = Price(input=5, output=25, cached=0.5), CacheRates(read=0.1, write=1.25)
    assert bill.dollars(price, rates) == pytest.approx(1 * 0.5 + 2 * 6.25 + 0.1 * 25)
    assert bill.dollars(Price(input=5, output=25), None) == pytest.approx(3 * 5 + 0.1 * 25)


def test_the_cache_serves_what_the_last_request_had_until_it_expires() -> None:
    cache = PromptCache(CacheRates(seconds=300))
    assert not cache.is_cold(NOON)
    assert cache.serve(100, at=NOON) == 0
    assert cache.serve(100, at=NOON + timedelta(seconds=300)) == 100
    assert cache.is_cold(NOON + timedelta(seconds=601))
    assert cache.serve(100, at=NOON + timedelta(seconds=601)) == 0
    assert cache.serve(100, at=NOON + timedelta(seconds=602)) == 100


def test_the_cache_serves_no_short_prefix_and_of_a_long_one_whole_steps() -> None:
    cache = PromptCache(cache_rates("gpt-4.1"))
    assert [cache.serve(same, at=NOON) for same in (2_000, 1_023, 1_024, 1_151, 1_152)] == [
        0, 0, 1_024, 1_024, 1_152,
    ]  # fmt: skip
    assert [cache.holds(prompt) for prompt in (1_023, 1_024)] == [False, True]
    assert not PromptCache(None).holds(5_000)


def test_without_known_rates_nothing_is_served() -> None:
    cache = PromptCache(None)
    assert [cache.serve(100, at=NOON) for _ in range(2)] == [0, 0]


def test_a_table_of_the_users_own_goes_before_all_others(table: Path) -> None:
    file = read_prices(table)
    found = pricing_for("claude-opus-4-5", own={"claude-opus-4-5": Price(input=1, output=1)}, file=file)
    assert found.price == Price(input=4, output=20, cached=0.4)
    # the shortest prefix is the provider's, whatever the contract says of money
    assert found.rates == CacheRates(read=0.1, write=1.25, seconds=300, marked=True, least=4_096)
    assert (found.family, found.source, found.date) == ("claude-opus-4.5", "our contract", "2026-11-01")
    assert pricing_for("plain-2", file=file).rates is None
    assert pricing_for("in-house", file=file).rates is None


def test_a_client_that_asks_for_an_hour_pays_twice_the_input_for_writing(table: Path) -> None:
    rates = pricing_for("claude-sonnet-4-5", hour_cache=True).rates
    assert rates is not None
    assert (rates.write, rates.seconds) == (2.0, 3_600)
    # others hold for as long as they do, and what the user says of an own contract counts
    for model, file in (("gpt-5", None), ("claude-opus-4-5", read_prices(table))):
        assert pricing_for(model, file=file, hour_cache=True) == pricing_for(model, file=file)


def test_what_the_users_table_does_not_have_is_looked_up_as_ever(table: Path) -> None:
    assert pricing_for("gpt-5.2", file=read_prices(table)) == pricing_for("gpt-5.2")
    assert pricing_for("gpt-5.2").date == "November 2026"


def test_prices_of_the_settings_keep_the_shares_of_the_providers_cache() -> None:
    found = pricing_for("claude-opus-4-5", own={"claude-opus-4-5": Price(input=10, output=50)})
    assert found.price == Price(input=10, output=50, cached=1.0)
    assert found.source == "the settings"
    assert pricing_for("nobody-1", own={"nobody-1": Price(input=10, output=50)}).price == Price(
        input=10, output=50
    )


def test_a_model_that_nobody_prices_has_none() -> None:
    assert pricing_for("nobody-1").price is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '{"source": "x", "date": "2026", "models": {"a": {"input": -1, "output": 1}}}',
            "$.models[...].input",
        ),
        ('{"source": "x", "date": "2026", "models": {"a": {"input": 1}}}', "missing required field `output`"),
        ('{"source": "x", "date": "2026", "models": {}}', "$.models"),
        ('{"source": "x", "date": "2026", "prices": {}}', "unknown field `prices`"),
        ("[", "prices.json:1:2: the JSON ends here before it is complete"),
        ("\xff", "is no UTF-8"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_place(table: Path, text: str, told: str) -> None:
    table.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput) as refused:
        read_prices(table)
    assert told in str(refused.value)
    assert str(table) in str(refused.value)


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nothing\.json: the price table cannot be read"):
        read_prices(tmp_path / "nothing.json")
