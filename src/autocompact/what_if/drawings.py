"""The drawings of a comparison as SVG: the context over time under one policy, and what all of them cost so far."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from autocompact.core.plurals import plural
from autocompact.ui.pages import label, rect, short, svg
from autocompact.what_if.losses import Loss
from autocompact.what_if.simulation import Outcome, Point

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 58, 8, 14, 22
MOST_POINTS = 300
"""Points of a drawing; of more requests only the largest of each stretch, and each compaction, are drawn."""

LAYERS = (
    ("fixed", "system prompt and tools"),
    ("summary", "summary"),
    ("masked", "masked"),
    ("kept", "kept from before"),
    ("new", "new since"),
)
"""The layers of the area from bottom to top: class, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """From requests and values to places in a drawing."""

    last: int
    most: float

    def x(self, request: float) -> float:
        """Horizontal position of a request, counted from 1."""
        return LEFT + (WIDTH - LEFT - RIGHT) * (request - 1) / max(1, self.last - 1)

    def y(self, value: float) -> float:
        """Vertical position of tokens or dollars."""
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / (self.most or 1)


def sampled(outcome: Outcome) -> tuple[Point, ...]:
    """At most about `MOST_POINTS` points: the largest of each stretch, and those around each compaction."""
    points = outcome.points
    step = math.ceil(len(points) / MOST_POINTS)
    if step <= 1:
        return tuple(points)
    turns = {number for loss in outcome.losses for number in (loss.request - 1, loss.request)}
    chosen = {1, len(points), *(number for number in turns if number >= 1)}
    if len(chosen) > MOST_POINTS:
        chosen = {1, len(points)}
    for start in range(0, len(points), step):
        chosen.add(max(points[start : start + step], key=lambda point: point.layers.total).request)
    return tuple(points[number - 1] for number in sorted(chosen))


def context_drawing(outcome: Outcome, *, most: int, window: int) -> str:
    """The context over time as a stacked area, with each compaction and where requests begin to fail.

    Args:
        outcome: of the policy.
        most: tokens at the top of the scale.
        window: tokens of the model's window.
    """
    points = sampled(outcome)
    scale = Scale(last=len(outcome.points), most=most)
    shapes = [*_axes(scale, [f"{short(most * share)}" for share in (0, 0.5, 1)])]
    sent = [point for point in points if not point.failed]
    shapes += _areas(sent, scale)
    if window <= most:
        y = scale.y(window)
        shapes.append(f'<line class="window" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        shapes.append(label(LEFT + 4, y - 4, text=f"window {short(window)}"))
    shapes += _failures(outcome, scale)
    shapes += (_mark(loss, scale) for loss in outcome.losses)
    name = f"Tokens of the context over time: {outcome.policy.name}"
    legend = (*LAYERS, ("mark", "a compaction"))
    return svg(shapes, label=name, legend=legend, size=(WIDTH, HEIGHT))


def _axes(scale: Scale, names: Sequence[str]) -> Iterator[str]:
    for name, share in zip(names, (0, 0.5, 1), strict=True):
        y = scale.y(scale.most * share)
        end = WIDTH - RIGHT
        yield f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield label(LEFT - 5, y + 3, text=name, anchor="end")
    for share in (0, 0.25, 0.5, 0.75, 1):
        request = 1 + round(share * (scale.last - 1))
        anchor = "start" if not share else "end" if share == 1 else "middle"
        yield label(
            scale.x(request),
            HEIGHT - 7,
            text=f"request {request:,}" if not share else f"{request:,}",
            anchor=anchor,
        )


def _areas(points: Sequence[Point], scale: Scale) -> Iterator[str]:
    """Yield a polygon for each layer, stacked on those before; none for a layer that is always empty."""
    below = [0] * len(points)
    for kind, _ in LAYERS:
        above = [low + getattr(point.layers, kind) for low, point in zip(below, points, strict=True)]
        if above != below:
            outward = " ".join(
                f"{scale.x(p.request):.1f},{scale.y(v):.1f}" for p, v in zip(points, above, strict=True)
            )
            back = " ".join(
                f"{scale.x(p.request):.1f},{scale.y(v):.1f}"
                for p, v in zip(reversed(points), reversed(below), strict=True)
            )
            yield f'<polygon class="{kind}" points="{outward} {back}"/>'
        below = above


def _failures(outcome: Outcome, scale: Scale) -> Iterator[str]:
    failed = [point.request for point in outcome.points if point.failed]
    if not failed:
        return
    x = scale.x(failed[0])
    yield rect(x, TOP, width=WIDTH - RIGHT - x, height=HEIGHT - TOP - BOTTOM, kind="failing")
    anchor = "end" if x > WIDTH / 2 else "start"
    words = plural(len(failed), "request fails", many="requests fail")
    yield label(WIDTH - RIGHT - 4 if anchor == "end" else x + 4, TOP + 12, text=words, anchor=anchor)


def _mark(loss: Loss, scale: Scale) -> str:
    """A compaction; its words show where the pointer rests."""
    x = scale.x(loss.request)
    told = (
        f"{loss.rung} before request {loss.request:,}: {loss.before:,} to {loss.after:,} tokens, "
        f"{plural(loss.left, 'message')} left; {loss.needs.kept} of {loss.needs.needed} needs kept"
    )
    return (
        f'<g class="compaction"><title>{escape(told)}</title><line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        f'<circle class="mark" cx="{x:.1f}" cy="{TOP - 6}" r="3.5"/></g>'
    )


def cost_drawing(outcomes: Sequence[Outcome]) -> str:
    """Dollars of all requests until then, a line for each policy; "" where no price is known.

    A line ends where requests begin to fail.
    """
    most = max((outcome.dollars or 0.0 for outcome in outcomes), default=0.0)
    if not most:
        return ""
    scale = Scale(last=len(outcomes[0].points), most=most)
    shapes = [*_axes(scale, [f"${most * share:,.2f}" for share in (0, 0.5, 1)])]
    for index, outcome in enumerate(outcomes):
        sent = [point for point in sampled(outcome) if not point.failed]
        places = " ".join(f"{scale.x(p.request):.1f},{scale.y(p.dollars or 0):.1f}" for p in sent)
        if not sent:
            continue
        end = sent[-1]
        x, y = scale.x(end.request), scale.y(end.dollars or 0)
        told = f"{outcome.policy.name}: ${outcome.dollars or 0:,.2f}"
        ending = f'<path class="stop" d="M{x - 4:.1f},{y - 4:.1f}l8,8m0,-8l-8,8"/>' if outcome.failed else ""
        shapes.append(
            f'<g class="cost" data-policy="{index}"><title>{escape(told)}</title><polyline points="{places}"/>{ending}'
            f"{label(x - 6, y - 6, text=outcome.policy.name, anchor='end')}</g>"
        )
    return svg(shapes, label="Cost so far, by policy", legend=(), size=(WIDTH, HEIGHT))
