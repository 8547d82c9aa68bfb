"""Figures that the page's script shows under the pointer: of the context, and of the cost of every policy at one request.

Where a request costs more than it added, there is a reason: a compaction changed the prefix that the provider's cache held,
the cache had expired, or a model was asked for a summary. `reason` says which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

from autocompact.what_if.drawings import LAYERS, MOST_POINTS, sampled
from autocompact.what_if.losses import Loss
from autocompact.what_if.simulation import Outcome, Point


class ContextData(TypedDict):
    """The requests of one policy, by point of its drawing.

    ``request``: numbers; ``layers``: tokens from bottom to top; ``cost``: dollars until then; ``paid``: of the request;
    ``reasons``: by index, where there is one.
    """

    request: list[int]
    layers: list[list[int]]
    cost: list[float | None]
    paid: list[float | None]
    failed: list[int]
    reasons: dict[int, str]


class PolicyCosts(TypedDict):
    """One policy at the requests of `CostData`; ``read`` and ``written`` are tokens."""

    name: str
    cost: list[float]
    paid: list[float]
    read: list[int]
    written: list[int]
    failed: list[int]
    reasons: dict[int, str]


class CostData(TypedDict):
    """The costs of all policies at the same requests; ``most`` are the dollars at the top of the drawing."""

    request: list[int]
    most: float
    policies: list[PolicyCosts]


def context_data(outcome: Outcome) -> ContextData:
    """The figures of the drawing of one policy's context."""
    points = sampled(outcome)
    return {
        "request": [point.request for point in points],
        "layers": [[getattr(point.layers, kind) for kind, _ in LAYERS] for point in points],
        "cost": [None if point.dollars is None else round(point.dollars, 4) for point in points],
        "paid": [None if point.dollars is None else _paid(outcome, point) for point in points],
        "failed": [int(point.failed) for point in points],
        "reasons": _reasons(outcome, points),
    }


def cost_data(outcomes: Sequence[Outcome]) -> CostData | None:
    """The figures of the drawing of the costs; None where nothing has a price."""
    most = max((outcome.dollars or 0.0 for outcome in outcomes), default=0.0)
    if not most:
        return None
    numbers = dearest(outcomes)
    return {"request": numbers, "most": most, "policies": [_costs(each, numbers) for each in outcomes]}


def dearest(outcomes: Sequence[Outcome]) -> list[int]:
    """The numbers of at most about `MOST_POINTS` requests: of each stretch the one that costs most under any policy."""
    last = len(outcomes[0].points)
    step = math.ceil(last / MOST_POINTS)
    chosen = {1, last}
    for start in range(0, last, step):
        stretch = range(start, min(start + step, last))
        costs = {index + 1: max(_paid(each, each.points[index]) for each in outcomes) for index in stretch}
        chosen.add(max(costs, key=costs.__getitem__))
    return sorted(chosen)


def _costs(outcome: Outcome, numbers: Sequence[int]) -> PolicyCosts:
    points = [outcome.points[number - 1] for number in numbers]
    return {
        "name": outcome.policy.name,
        "cost": [round(point.dollars or 0.0, 4) for point in points],
        "paid": [_paid(outcome, point) for point in points],
        "read": [point.read for point in points],
        "written": [_written(point) for point in points],
        "failed": [int(point.failed) for point in points],
        "reasons": _reasons(outcome, points),
    }


def _paid(outcome: Outcome, point: Point) -> float:
    """Dollars of one request, with that for a summary before it."""
    before = outcome.points[point.request - 2].dollars if point.request > 1 else None
    return round((point.dollars or 0.0) - (before or 0.0), 4)


def _written(point: Point) -> int:
    return 0 if point.failed else point.layers.total - point.read


def _reasons(outcome: Outcome, points: Sequence[Point]) -> dict[int, str]:
    losses = {loss.request: loss for loss in outcome.losses}
    cached = outcome.pricing.rates is not None
    told = (reason(point, losses.get(point.request), cached=cached) for point in points)
    return {index: words for index, words in enumerate(told) if words}


def reason(point: Point, loss: Loss | None, *, cached: bool) -> str:
    """Why a request costs more than what it added, in a few words, a colon and the figures; "" where nothing is to be said.

    Args:
        point: the request.
        loss: the compaction before it; None without one.
        cached: its provider has a cache of which something is known.
    """
    if point.failed:
        return "not sent: larger than the window"
    total, written = point.layers.total, _written(point)
    if loss is None:
        return f"cache expired: {written:,} tokens paid for in full" if point.cold else ""
    changed = f"{loss.before:,} tokens became {total:,}"
    asked = f", and a model wrote a summary of {loss.summary:,}" if loss.summary else ""
    if not cached:
        return f"{loss.rung}: {changed}{asked}"
    how = "cache had expired" if point.cold else "prefix broken"
    return f"{loss.rung}, {how}: {changed}, {written:,} of them paid for in full{asked}"
