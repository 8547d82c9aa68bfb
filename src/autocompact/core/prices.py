"""List prices of known models in US dollars for a million tokens.

A table of families by the beginning of the name, the longest match wins, as with windows; but the price of a version
says nothing about another one: "gpt-5" is not "gpt-5.9". Where a price depends on
the size of the request or on the hour, the lowest step stands here; discounts for batches and surcharges for regions
are left out. Prices change: settings go before this table, and a report prints the prices that it used.

Sources: the price pages of Anthropic, OpenAI, Google and DeepSeek, as collected in genai-prices 0.2.3
(https://github.com/pydantic/genai-prices), read in November 2026.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from autocompact.core.windows import plain_name

AS_OF = "November 2026"
SOURCE = "the providers' price pages, as collected in genai-prices 0.2.3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens.

    Attributes:
        input: of the request.
        output: of the reply.
        cached: of what the provider reads from its cache; None where it has no such price.
    """

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """The price of a model, the family that it stands under, and whether the settings say so."""

    family: str
    price: Price
    own: bool = False


def _price(input: float, cached: float | None, *, output: float) -> Price:
    return Price(input=input, cached=cached, output=output)


PRICES: Mapping[str, Price] = MappingProxyType(
    {
        # Anthropic
        "claude-3-haiku": _price(0.25, 0.03, output=1.25),
        "claude-3-sonnet": _price(3, 0.3, output=15),
        "claude-3-opus": _price(15, 1.5, output=75),
        "claude-3.5-haiku": _price(0.8, 0.08, output=4),
        "claude-3.5-sonnet": _price(3, 0.3, output=15),
        "claude-3.7-sonnet": _price(3, 0.3, output=15),
        "claude-haiku-4.5": _price(1, 0.1, output=5),
        "claude-haiku-5.5": _price(0.1, 0.01, output=0.5),
        "claude-sonnet-4": _price(3, 0.3, output=15),
        "claude-sonnet-4.0": _price(3, 0.3, output=15),
        "claude-sonnet-4.5": _price(3, 0.3, output=15),
        "claude-sonnet-4.6": _price(3, 0.3, output=15),
        "claude-sonnet-5": _price(2, 0.2, output=10),
        "claude-sonnet-5.5": _price(2, 0.1, output=10),
        "claude-opus-4": _price(15, 1.5, output=75),
        "claude-opus-4.0": _price(15, 1.5, output=75),
        "claude-opus-4.1": _price(15, 1.5, output=75),
        "claude-opus-4.5": _price(5, 0.5, output=25),
        "claude-opus-4.6": _price(5, 0.5, output=25),
        "claude-opus-4.7": _price(5, 0.5, output=25),
        "claude-opus-4.8": _price(5, 0.5, output=25),
        "claude-opus-5": _price(5, 0.5, output=25),
        "claude-opus-5.5": _price(4, 0.2, output=20),
        "claude-fable-5": _price(10, 1, output=50),
        "claude-fable-5.1": _price(10, 0.25, output=50),
        "claude-fable-5.2": _price(8, 0.2, output=40),
        "claude-mythos-5.2": _price(8, 0.2, output=40),
        # OpenAI
        "gpt-3.5-turbo": _price(0.5, None, output=1.5),
        "gpt-4": _price(30, None, output=60),
        "gpt-4-turbo": _price(10, None, output=30),
        "gpt-4o": _price(2.5, 1.25, output=10),
        "gpt-4o-mini": _price(0.15, 0.075, output=0.6),
        "gpt-4.1": _price(2, 0.5, output=8),
        "gpt-4.1-mini": _price(0.4, 0.1, output=1.6),
        "gpt-4.1-nano": _price(0.1, 0.025, output=0.4),
        "gpt-5": _price(1.25, 0.125, output=10),
        "gpt-5-mini": _price(0.25, 0.025, output=2),
        "gpt-5-nano": _price(0.05, 0.005, output=0.4),
        "gpt-5-pro": _price(15, None, output=120),
        "gpt-5.1": _price(1.25, 0.125, output=10),
        "gpt-5.1-codex-mini": _price(0.25, 0.025, output=2),
        "gpt-5.2": _price(1.75, 0.175, output=14),
        "gpt-5.2-pro": _price(21, None, output=168),
        "gpt-5.3": _price(1.75, 0.175, output=14),
        "gpt-5.4": _price(2.5, 0.25, output=15),
        "gpt-5.4-mini": _price(0.75, 0.075, output=4.5),
        "gpt-5.4-nano": _price(0.2, 0.02, output=1.25),
        "gpt-5.4-pro": _price(30, None, output=180),
        "gpt-5.5": _price(5, 0.5, output=30),
        "gpt-5.5-pro": _price(30, None, output=180),
        "gpt-5.6-luna": _price(0.2, 0.02, output=1.2),
        "gpt-5.6-terra": _price(2, 0.2, output=12),
        "gpt-5.6-sol": _price(4, 0.4, output=20),
        "gpt-6-luna": _price(0.1, 0.01, output=0.5),
        "gpt-6-sol": _price(2, 0.2, output=10),
        "gpt-6-astra": _price(10, 1, output=50),
        "gpt-6.1-terra": _price(1, 0.05, output=5),
        "gpt-6.1-sol": _price(2, 0.1, output=10),
        "codex-mini": _price(1.5, 0.375, output=6),
        "o1": _price(15, 7.5, output=60),
        "o1-mini": _price(1.1, 0.55, output=4.4),
        "o1-pro": _price(150, None, output=600),
        "o3": _price(2, 0.5, output=8),
        "o3-mini": _price(1.1, 0.55, output=4.4),
        "o3-pro": _price(20, None, output=80),
        "o4-mini": _price(1.1, 0.275, output=4.4),
        # Google
        "gemini-2.0-flash": _price(0.1, 0.025, output=0.4),
        "gemini-2.0-flash-lite": _price(0.075, None, output=0.3),
        "gemini-2.5-flash": _price(0.3, 0.03, output=2.5),
        "gemini-2.5-flash-lite": _price(0.1, 0.01, output=0.4),
        "gemini-2.5-pro": _price(1.25, 0.125, output=10),
        "gemini-3-flash": _price(0.5, 0.05, output=3),
        "gemini-3-pro": _price(2, 0.2, output=12),
        "gemini-3.1-flash-lite": _price(0.25, 0.025, output=1.5),
        "gemini-3.1-pro": _price(2, 0.2, output=12),
        "gemini-3.5-flash": _price(1.5, 0.15, output=9),
        "gemini-3.5-flash-lite": _price(0.3, 0.03, output=2.5),
        "gemini-3.6-flash": _price(1.5, 0.15, output=7.5),
        "gemini-3.7-flash": _price(1.5, 0.15, output=7.5),
        "gemini-3.8-flash": _price(1.5, 0.15, output=7.5),
        # DeepSeek
        "deepseek-chat": _price(0.27, 0.07, output=1.1),
        "deepseek-reasoner": _price(0.55, 0.14, output=2.19),
        "deepseek-v4-flash": _price(0.3, 0.006, output=1.2),
        "deepseek-v4-pro": _price(1.32, 0.044, output=3.96),
    }
)
"""By the beginning of a model's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRates:
    """Prices and rules of a provider's prompt cache.

    Attributes:
        read: price of a token that is read from it, as a share of the input price.
        write: price of a token that is not, likewise.
        seconds: after which it has surely dropped a prefix that nobody used; infinite where that is not known.
        marked: it holds what a mark of the client ended (Anthropic's ``cache_control``), so behind the first change
            nothing but the client's own marks helps; else the longest beginning that an earlier request had.
        least: tokens of the shortest prefix that it holds; what is shorter costs the input price.
        step: of tokens: it serves a multiple of so many.
    """

    read: float = 0.1
    write: float = 1.0
    seconds: float = math.inf
    marked: bool = False
    least: int = 0
    step: int = 1

    @property
    def for_an_hour(self) -> CacheRates:
        """The rates for a client whose marks ask for ``"ttl": "1h"``: Anthropic takes twice the input price for writing."""
        return replace(self, write=2.0, seconds=_HOUR)

    @property
    def holds_for_an_hour(self) -> bool:
        """True for the rates that `for_an_hour` gives."""
        return self.marked and self == self.for_an_hour


_HOUR, _DAY = 3_600.0, 86_400.0
_CLAUDE = CacheRates(read=0.1, write=1.25, seconds=300, marked=True, least=1_024)
_OPENAI = CacheRates(seconds=_DAY, least=1_024, step=128)

CACHES: Mapping[str, CacheRates] = MappingProxyType(
    {
        # "Prompt caching" in Anthropic's documentation: 1.25 for five minutes, refreshed by each use
        "claude": _CLAUDE,
        "claude-3-haiku": replace(_CLAUDE, least=2_048),
        "claude-3.5-haiku": replace(_CLAUDE, least=2_048),
        "claude-haiku-4.5": replace(_CLAUDE, least=4_096),
        "claude-opus-4.5": replace(_CLAUDE, least=4_096),
        "claude-opus-4.6": replace(_CLAUDE, least=4_096),
        "claude-opus-5": replace(_CLAUDE, least=512),
        "claude-fable-5": replace(_CLAUDE, least=512),
        "claude-mythos-5": replace(_CLAUDE, least=512),
        # "Prompt caching" in OpenAI's: automatic, "24h" by default since May 2026; from gpt-5.6 on writing has a price,
        # and what is served is no longer a multiple
        "gpt-4": replace(_OPENAI, read=0.5),
        "gpt-5": replace(_OPENAI, read=0.1),
        "gpt-5.6": replace(_OPENAI, read=0.1, write=1.25, step=1),
        "gpt-6": replace(_OPENAI, read=0.1, write=1.25, step=1),
        "codex": replace(_OPENAI, read=0.25),
        "o1": replace(_OPENAI, read=0.5),
        "o3": replace(_OPENAI, read=0.25),
        "o4": replace(_OPENAI, read=0.25),
        "gemini": CacheRates(read=0.1, least=1_024),
        "deepseek": CacheRates(read=0.05, least=64, step=64),
    }
)
"""By the beginning of a model's name; ``read`` goes by `PRICES` where the model has a price there."""


def cache_rates(model: str) -> CacheRates | None:
    """Look up the prompt cache of a model's provider; None if unknown, or if there is none for this model."""
    name = plain_name(model)
    family = max((each for each in CACHES if name.startswith(plain_name(each))), key=len, default="")
    if not family:
        return None
    priced = price_for(model)
    if priced is None:
        return CACHES[family]
    price = priced.price
    return None if price.cached is None else replace(CACHES[family], read=price.cached / price.input)


_OTHER_VERSION = re.compile(r"-?\d{1,2}(?!\d)")


def price_for(model: str, *, overrides: Mapping[str, Price] | None = None) -> Priced | None:
    """Look up the price of ``model``; None if unknown.

    Args:
        model: its name as it stands in a request; a route or vendor before it does not matter.
        overrides: prices by the beginning of a name; they go before the table.
    """
    name = plain_name(model)
    if overrides and (family := _family(overrides, name)):
        return Priced(family=family, price=overrides[family], own=True)
    family = _family(PRICES, name)
    return Priced(family=family, price=PRICES[family]) if family else None


def _family(families: Iterable[str], name: str) -> str | None:
    """The longest of ``families`` that ``name`` belongs to."""
    found = [
        each for each in families if name.startswith(begin := plain_name(each)) and _belongs(name, begin)
    ]
    return max(found, key=len, default=None)


def _belongs(name: str, begin: str) -> bool:
    return _OTHER_VERSION.match(name, len(begin)) is None
