"""Text output of ``autocompact what-if``: a table of the policies, the best of each column in green."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click

from autocompact.core.plurals import plural
from autocompact.sessions import LABELS
from autocompact.ui.charts import columns, marks, spread
from autocompact.ui.pages import short
from autocompact.ui.text import visible
from autocompact.what_if.billing import Pricing
from autocompact.what_if.documents import prices_of
from autocompact.what_if.figures import COLUMNS, Figures, shown, winners
from autocompact.what_if.recommending import NO_ADVICE, Recommendation
from autocompact.what_if.replays import Replayed
from autocompact.what_if.simulation import Outcome

NAME = 18
_AXIS, _HEIGHT = 7, 6
WHERE = (
    "In settings.json: .autocompact/settings.json for one project, or that of your data folder for all; autocompact settings "
    "--explain shows what holds, and the gateway takes it when it starts:"
)
LEGEND = (
    "Cost is at list prices, with what the provider's cache serves. fail: requests that would have failed. comp: compactions, "
    "break: those that emptied a cache still warm. needs: the share kept of the names that the next 40 calls use of what had "
    "left; rules: of standing instructions. again: files read again whose content had left. wait: seconds waited for "
    "compactions. Green is best among the policies under which nothing failed."
)


def heading(result: Replayed, *, width: int) -> str:
    """Heading of the comparison: the session, what is assumed of it, what is missing."""
    model = f", {result.model}" if result.model else ""
    told = (
        f"{plural(result.requests, 'request')}. Window {result.window:,} tokens; system prompt and tools take "
        f"{result.fixed:,}; one token of our count is {result.factor:.2f} of the model's. {_prices(result.outcomes[0].pricing)}"
    )
    title = f"{click.style(visible(result.name), bold=True)}: {LABELS[result.format]}{visible(model)}, {plural(result.messages, 'message')}"
    lines = [title, *textwrap.wrap(told, width)]
    for note in result.notes:
        lines += textwrap.wrap(f"Note: {visible(note)}.", width)
    return "\n".join(lines)


def _prices(pricing: Pricing) -> str:
    told = prices_of(pricing)
    if told is None:
        return ""
    date = f", {told['date']}" if told["date"] else ""
    cached = "" if told["cached"] is None else f", ${told['cached']:g} from the cache"
    source = visible(f"{told['source']}{date}")
    return f"A million tokens cost ${told['input']:g}{cached}, ${told['output']:g} of output ({source})."


def advice(found: Recommendation | None, *, width: int) -> str:
    """Text of the recommendation: the policy, the reason, and what to paste."""
    if found is None:
        return textwrap.fill(NO_ADVICE, width)
    title = click.style(f"Take {visible(found.policy.name)!r}.", bold=True)
    reason = textwrap.fill(visible(found.reason), width)
    if not found.changes:
        return f"{title}\n{reason}\nThat is how the settings come: nothing needs to be set."
    return f"{title}\n{reason}\n{textwrap.fill(WHERE, width)}\n\n{visible(found.settings)}"


def course_chart(outcome: Outcome, *, width: int) -> Iterator[str]:
    """The context over time under one policy, a column for some requests each; compactions are marked below."""
    yield click.style(f"The context over time: {visible(outcome.policy.name)}", bold=True)
    last, room = len(outcome.points), width - _AXIS - 1
    values = spread([(point.request, point.layers.total) for point in outcome.points], last=last, width=room)
    for level, line in enumerate(columns(values, height=_HEIGHT)):
        name = short(max(values)) if level == 0 else "0" if level == _HEIGHT - 1 else ""
        yield f"{name:>{_AXIS - 1}} {click.style(line.rstrip(), fg='cyan')}"
    if made := [loss.request for loss in outcome.losses]:
        yield " " * _AXIS + click.style(marks(made, last=last, width=room, sign="▲"), fg="yellow")
    yield f"{'':{_AXIS}}request 1{last:>{room - 9},}"


def table(figures: Sequence[Figures]) -> Iterator[str]:
    """The lines of the table."""
    best = winners(figures)
    head = "".join(f"{title:>{width}}" for _, title, width in COLUMNS)
    yield click.style(f"{'policy':<{NAME}}{head}", bold=True)
    for each in figures:
        name = visible(each.name)
        cells = "".join(_cell(each, column, width=width, best=best) for column, _, width in COLUMNS)
        yield f"{name if len(name) <= NAME else f'{name[: NAME - 1]}…':<{NAME}}{cells}"


def _cell(figures: Figures, column: str, *, width: int, best: dict[str, float]) -> str:
    value = getattr(figures, column)
    text = f"{shown(column, value):>{width}}"
    if column == "failed" and value:
        return click.style(text, fg="red")
    is_best = value is not None and not figures.failed and best.get(column) == value
    return click.style(text, fg="green") if is_best else text
