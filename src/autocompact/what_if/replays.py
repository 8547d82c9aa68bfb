"""A session that was replayed under several policies: all that tables, documents and pages say of it, as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocompact.sessions import Format
from autocompact.what_if.course import Course, usage_notes
from autocompact.what_if.figures import Figures, figures_of
from autocompact.what_if.simulation import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A session under several policies.

    Attributes:
        name: for people.
        format: what it was read as.
        model: whose prices, cache and window count; "" if unknown.
        messages: how many it has.
        requests: calls of the model in it.
        window: tokens of the model's window.
        fixed: tokens that each request carries besides the messages.
        factor: tokens of the provider for one of our own count.
        notes: what is missing, a sentence each.
        outcomes: of each policy.
    """

    name: str
    format: Format
    model: str
    messages: int
    requests: int
    window: int
    fixed: int
    factor: float
    notes: tuple[str, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def figures(self) -> tuple[Figures, ...]:
        """Figures of each policy."""
        return tuple(map(figures_of, self.outcomes))


def replayed(course: Course, outcomes: Sequence[Outcome]) -> Replayed:
    """``course`` with its outcomes."""
    return Replayed(
        name=course.name,
        format=course.session.format,
        model=course.model,
        messages=len(course.session.messages),
        requests=len(course.requests),
        window=course.window,
        fixed=course.usage.fixed,
        factor=course.usage.factor,
        notes=(*usage_notes(course), *_price_notes(course, outcomes)),
        outcomes=tuple(outcomes),
    )


def _price_notes(course: Course, outcomes: Sequence[Outcome]) -> Sequence[str]:
    """Notes on prices and cache: what is not known of them, and what is unusual."""
    notes: list[str] = []
    if not outcomes:
        return notes
    pricing = outcomes[0].pricing
    if pricing.price is None:
        notes.append(
            f"the price of {course.model!r} is not known: --prices FILE or --priced-as NAME says it"
            if course.model
            else "the session names no model, so it has no price: --priced-as NAME says which"
        )
    if pricing.rates is None:
        notes.append("nothing is known of the provider's prompt cache: every request is paid for in full")
    elif pricing.rates.holds_for_an_hour:
        notes.append(
            "the client had the provider's cache hold for an hour: to write to it costs twice the input price"
        )
    return notes
