"""Cost of requests: a provider's prompt cache, and a dated table of prices that a user can replace."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from autocompact.core.prices import AS_OF, SOURCE, CacheRates, Price, cache_rates, price_for
from autocompact.settings.document import decode_document

_Dollars = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """Prices of a model, and their source.

    Attributes:
        price: US dollars for a million tokens; None where no table has the model.
        rates: how its provider's cache works; None where that is not known: then nothing is read from it.
        family: the beginning of names that it stands under.
        source: who says so.
        date: as of when.
    """

    price: Price | None
    rates: CacheRates | None
    family: str = ""
    source: str = SOURCE
    date: str = AS_OF


PRICE_FORM = (
    "A price table has source, date and models, each with input and output in US dollars for a million tokens, and where it "
    "has them cached, write, cache_seconds and marked"
)
"""What ends an error in such a file."""


class PricedModel(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A model of a price file: US dollars for a million tokens.

    Attributes:
        input: of the request.
        output: of the reply.
        cached: of what is read from the provider's cache; null where it has none.
        write: of what is written to it; null is the price of ``input``.
        cache_seconds: after which an unused prefix is gone; null is never.
        marked: the cache holds only what the client marked (Anthropic's ``cache_control``).
    """

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    write: _Dollars | None = None
    cache_seconds: _Dollars | None = None
    marked: bool = False


class PriceFile(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of prices.

    Attributes:
        source: who says so.
        date: as of when.
        models: by the beginning of a model's name, the longest match counts.
    """

    source: Annotated[str, Meta(min_length=1)]
    date: Annotated[str, Meta(min_length=4)]
    models: Annotated[dict[str, PricedModel], Meta(min_length=1)]


def read_prices(path: Path) -> PriceFile:
    """The price table in a file: JSON; comments and trailing commas are allowed.

    Raises:
        InvalidInput: it cannot be read, or is no such table; the message names file and place.
    """
    return decode_document(path, PriceFile, what="price table", form=PRICE_FORM)


def pricing_for(
    model: str,
    *,
    own: dict[str, Price] | None = None,
    file: PriceFile | None = None,
    hour_cache: bool = False,
) -> Pricing:
    """Look up the prices of ``model``.

    Args:
        model: its name.
        own: prices of the user's settings; they go before the table that comes along.
        file: a table that goes before everything.
        hour_cache: the client asks a cache that goes by its marks to hold for an hour.
    """
    if file is not None:
        prices = {
            name: Price(input=each.input, output=each.output, cached=each.cached)
            for name, each in file.models.items()
        }
        found = price_for(model, overrides=prices)
        if found is not None and found.own:
            rates = _rates(file.models[found.family], known=cache_rates(model))
            return Pricing(
                price=found.price, rates=rates, family=found.family, source=file.source, date=file.date
            )
    found = price_for(model, overrides=own)
    rates = cache_rates(model)
    if hour_cache and rates is not None and rates.marked:
        rates = rates.for_an_hour
    if found is None:
        return Pricing(price=None, rates=rates)
    if not found.own:
        return Pricing(price=found.price, rates=rates, family=found.family)
    cached = rates.read * found.price.input if rates else None
    price = replace(found.price, cached=cached)
    return Pricing(price=price, rates=rates, family=found.family, source="the settings", date="")


def _rates(model: PricedModel, *, known: CacheRates | None) -> CacheRates | None:
    """The rates that the user gives, with what only the provider says: the shortest prefix, and the step."""
    if model.cached is None or not model.input:
        return None
    write = model.input if model.write is None else model.write
    seconds = math.inf if model.cache_seconds is None else model.cache_seconds
    return replace(
        known or CacheRates(),
        read=model.cached / model.input,
        write=write / model.input,
        seconds=seconds,
        marked=model.marked,
    )


class PromptCache:
    """A provider's prompt cache for one conversation: what of each request it serves."""

    def __init__(self, rates: CacheRates | None) -> None:
        self._rates = rates
        self._used: datetime | None = None

    def is_cold(self, at: datetime) -> bool:
        """True if nothing of the conversation is held at that time, though something was."""
        rates, used = self._rates, self._used
        return rates is not None and used is not None and (at - used).total_seconds() > rates.seconds

    def serve(self, same: int, *, at: datetime) -> int:
        """Tokens that are read from it, of ``same`` that begin the request as the last one; held anew from now on."""
        rates, held = self._rates, self._used is not None and not self.is_cold(at)
        self._used = at
        return same // rates.step * rates.step if rates is not None and held and same >= rates.least else 0

    def holds(self, prompt: int) -> bool:
        """True if a request of so many tokens is written to it, at the price of that."""
        return self._rates is not None and prompt >= self._rates.least


@dataclass(slots=True, kw_only=True)
class Bill:
    """Tokens of the provider, by what they cost.

    Attributes:
        read: of requests, served by the cache.
        written: of requests, not served.
        output: of replies.
        plain: those of ``written`` that the cache does not take, since the request is too short.
    """

    read: int = 0
    written: int = 0
    output: int = 0
    plain: int = 0

    @property
    def prompt(self) -> int:
        """Tokens of all requests."""
        return self.read + self.written

    def pay(self, prompt: int, *, read: int, output: int, held: bool = True) -> None:
        """Enter a request; ``held`` if the cache takes what it does not have of it."""
        self.read += read
        self.written += prompt - read
        self.output += output
        self.plain += 0 if held else prompt - read

    def dollars(self, price: Price, rates: CacheRates | None) -> float:
        """At list prices."""
        cached = price.input if price.cached is None else price.cached
        write = price.input * (rates.write if rates else 1.0)
        paid = (self.written - self.plain) * write + self.plain * price.input
        return (self.read * cached + paid + self.output * price.output) / 1_000_000
