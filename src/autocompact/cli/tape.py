"""Text output of a replay: a line for each compaction as it happens, and a table at the end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import assert_never

import click
import msgspec

from autocompact.core.plurals import plural
from autocompact.core.references import reference
from autocompact.engine import Compactor
from autocompact.sessions import LABELS, Session
from autocompact.ui.text import visible
from autocompact.what_if.replay import Compacted, Failed, Invalid, Place, Refused, Step, Totals, believable

_BAR = 16
_HEAD = f"{'turn':>5} {'before':>7}  {'context':<{_BAR}}  {'tokens':>19}  {'step':<9}  st./ref./miss."


def heading(session: Session, compactor: Compactor, *, name: str, width: int) -> str:
    """Heading of a replay, ``width`` columns wide."""
    budget, mode = compactor.budget, compactor.mode
    policy = mode.policy
    model = f", {session.model}" if session.model else ""
    when = f"compacted at {policy.threshold(budget):,}" if policy.automatic else "never compacted"
    by = compactor.summariser(None)
    author = f"summaries by {by.model.name}" if by else "summaries made offline"
    known = believable(session, compactor)
    usage = any(message.usage for message in session.messages[:known])
    source = f"the recording's usage until {reference(known)}, then " if usage else ""
    return "\n".join(
        (
            f"{click.style(visible(name), bold=True)}: {LABELS[session.format]}{visible(model)}, {plural(len(session.messages), 'message')}",
            *textwrap.wrap(f"Window {budget.window:,} tokens, {when} (mode {mode.name}), {author}.", width),
            f"Tokens by {source}our count with {compactor.counter.name}.",
            "",
            click.style(_HEAD, bold=True),
        )
    )


class Tape:
    """Turns steps into lines. Of requests that are refused one after the other only the first is shown.

    Args:
        window: tokens of the model's window.
        width: columns.
    """

    def __init__(self, *, window: int, width: int) -> None:
        self._window = window
        self._width = width
        self._refusing = False

    def lines(self, step: Step) -> Iterator[str]:
        """The lines of one step."""
        refusing, self._refusing = self._refusing, isinstance(step, Refused)
        match step:
            case Compacted():
                yield self._compacted(step)
                if problem := step.record.receipt.problem:
                    yield from self._noted(step.place, f"without the model: {problem}")
            case Refused():
                if not refusing:
                    yield from self._noted(step.place, f"refused: {step.reason}")
            case Failed():
                yield from self._noted(step.place, f"not compacted: {step.reason}")
            case Invalid():
                yield from self._noted(step.place, f"INVALID: {'; '.join(step.problems)}")
            case Totals():
                yield from _totals(step, width=self._width)
            case _:
                assert_never(step)

    def _compacted(self, step: Compacted) -> str:
        receipt = step.record.receipt
        checked = f"{receipt.stated:,}/{receipt.referenced:,}/{receipt.missing:,}"
        if not step.record.summary:
            checked = f"{receipt.masked:,} masked"
        tokens = f"{step.tokens_before:>8,} → {step.tokens_after:>8,}"
        return f"{_where(step.place)}  {self._bar(step)}  {tokens}  {receipt.rung:<9}  {checked}"

    def _bar(self, step: Compacted) -> str:
        """Bar of the window: what stays, what went, and what is free."""
        before, after = (
            min(_BAR, max(1, round(_BAR * tokens / self._window)))
            for tokens in (step.tokens_before, step.tokens_after)
        )
        stays, went = click.style("█" * after, fg="green"), click.style("▒" * (before - after), fg="yellow")
        return stays + went + click.style("░" * (_BAR - max(before, after)), dim=True)

    def _noted(self, place: Place, text: str) -> Iterator[str]:
        text = visible(text)
        first, *more = textwrap.wrap(text, self._width - 15) or [""]
        yield f"{_where(place)}  {click.style(first, fg='red')}"
        for line in more:
            yield f"{'':15}{click.style(line, fg='red')}"


def _where(place: Place) -> str:
    return f"{place.turn:>5,} {reference(place.seq + 1):>7}"


def _totals(totals: Totals, *, width: int) -> Iterator[str]:
    if not totals.compactions:
        yield f"{'':15}nothing was compacted"
    rows = (
        ("largest context sent", totals.peak, totals.peak_without),
        ("tokens sent", totals.sent, totals.sent_without),
        ("requests that did not fit", totals.refused, totals.refused_without),
    )
    yield ""
    yield click.style(f"{'':<28}{'with autocompact':>18}{'without':>18}", bold=True)
    for name, having, without in rows:
        yield f"{name:<28}{having:>18,}{without:>18,}{_saved(name, having, without=without)}"
    yield ""
    told = (
        plural(totals.turns, "turn"),
        plural(totals.requests, "request"),
        plural(totals.messages, "message"),
        plural(totals.compactions, "compaction"),
    )
    valid = f"{totals.invalid:,} of them INVALID" if totals.invalid else "every one that was sent is valid"
    text = f"{', '.join(told)}. Of the requests {valid}, and takes at most {totals.limit:,} tokens."
    yield from textwrap.wrap(text, width)


def _saved(name: str, having: int, *, without: int) -> str:
    return f"  {having / without - 1:+.0%}" if name == "tokens sent" and having != without else ""


def document(step: Step) -> bytes:
    """The JSON line of a step; ``event`` says which kind it is."""
    kind = {Compacted: "compacted", Refused: "refused", Failed: "failed", Invalid: "invalid", Totals: "end"}
    fields = msgspec.to_builtins(step)
    place = fields.pop("place", {})
    if isinstance(step, Compacted):
        fields.pop("record")
        fields |= {"compaction": step.record.id, "through_seq": step.record.through_seq}
        fields |= {"receipt": msgspec.to_builtins(step.record.receipt)}
    return msgspec.json.encode({"event": kind[type(step)], **place, **fields}) + b"\n"
