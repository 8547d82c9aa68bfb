"""Cost of a step of the ladder, and whether it pays: tokens freed against tokens written to the cache again.

Every request reads its whole prefix from the provider's cache, so each token that leaves the context saves its price of
reading on every request that follows. A step changes the context at one place, and from there on the next request is
written again. With ``read`` and ``write`` as shares of the input price, a context that grows by ``growth`` tokens a
request from ``after`` to ``threshold``, where the next compaction comes, costs for each request on the average

    read * (after + threshold) / 2  +  (write - read) * rewritten * growth / (threshold - after)

All figures are tokens of one count; which one does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from autocompact.core.prices import CacheRates

GROWTH = 1_200
"""Tokens that a request of a coding agent adds: median of the 14 longest recorded Claude Code sessions (850 to 2,800)."""


class Pace(Struct, frozen=True, kw_only=True):
    """The requests that follow a compaction.

    Attributes:
        rates: of the provider's cache.
        threshold: tokens of the context at which the next compaction comes.
        growth: tokens that each request adds.
        cold: the cache no longer holds the context: the next request writes all of it, whatever is done.
    """

    rates: CacheRates
    threshold: int
    growth: int = GROWTH
    cold: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """Effect of a step of the ladder on the context.

    Attributes:
        after: tokens of the context after it.
        kept: tokens at its beginning that the cache still serves.
    """

    after: int
    kept: int = 0

    @property
    def rewritten(self) -> int:
        """Tokens that the next request writes to the cache again."""
        return max(0, self.after - self.kept)


def per_request(step: Step, pace: Pace) -> float:
    """Cost of each request from ``step`` to the next compaction, on the average, in tokens of uncached input.

    Infinite where the next compaction would come at once.
    """
    requests = (pace.threshold - step.after) / pace.growth
    if requests <= 0:
        return math.inf
    # with a cold cache everything is written again in any case, so the step costs nothing extra
    again = 0.0 if pace.cold else (pace.rates.write - pace.rates.read) * step.rewritten
    return pace.rates.read * (step.after + pace.threshold) / 2 + again / requests


def masks_pay(
    tokens: Sequence[int],
    *,
    after: int,
    changed: int,
    prompt: int,
    cut: int,
    summary: int,
    overhead: int,
    pace: Pace,
) -> bool:
    """True if the requests after masks cost no more than after a summary.

    Args:
        tokens: of each message of the context before either.
        after: tokens of the context with the masks.
        changed: index of the first message that a new mask changes.
        prompt: index of the first message behind the system prompt.
        cut: index of the first message that stays behind the summary.
        summary: tokens of the summary, at most.
        overhead: tokens of the request besides the messages.
        pace: the requests that follow.
    """
    fixed, folded = overhead + sum(tokens[:prompt]), sum(tokens[prompt:cut])
    # a cache with marks serves up to the last mark only, which stands behind what a mask changes
    intact = 0 if pace.rates.marked else sum(tokens[prompt:changed])
    masked = Step(after=after, kept=fixed + intact)
    summarised = Step(after=fixed + min(summary, folded) + sum(tokens[cut:]), kept=fixed)
    return per_request(masked, pace) <= per_request(summarised, pace)


def growth_that_pays(step: Step, rates: CacheRates, *, growth: int = GROWTH) -> int:
    """Tokens that the context must grow after ``step`` before doing the same again saves more than it costs.

    The requests until the context is as large again read less by what the step freed; that must be worth more than
    what it writes again: ``read * freed * freed / growth >= (write - read) * rewritten``.
    """
    # cached tokens are free: then a smaller context saves nothing
    if not rates.read:
        return 0
    return math.ceil(math.sqrt((rates.write - rates.read) * step.rewritten * growth / rates.read))
