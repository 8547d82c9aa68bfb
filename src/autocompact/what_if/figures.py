"""The figures of an outcome, as tables and programs read them, and their sum over several sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from autocompact.ui.pages import short
from autocompact.what_if.simulation import Outcome

COLUMNS = (
    ("cost", "cost", 8),
    ("tokens", "tokens", 7),
    ("peak", "peak", 6),
    ("failed", "fail", 6),
    ("compactions", "comp", 5),
    ("breaks", "break", 6),
    ("needs_share", "needs", 6),
    ("rules_share", "rules", 6),
    ("reads_again", "again", 6),
    ("seconds", "wait", 6),
)
"""Columns of the table on a terminal: the figure, its title, and characters that it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one policy; the names are those of the JSON. Tokens are the provider's.

    Attributes:
        name: of the policy.
        kind: how the context develops.
        window: tokens of the window where the policy has its own; else None.
        requests: that were sent, those for a model's summary included.
        failed: requests that would have failed.
        tokens: of all requests.
        cache_read: of these, served by the provider's cache.
        cache_written: of these, not served.
        output: tokens of the replies.
        cost: US dollars; None without a price. A sum is that of the sessions that have one.
        peak: tokens of the largest request.
        compactions: how many took effect.
        breaks: compactions whose context the provider's cache still held.
        seconds: waited for compactions; None where a recording does not tell.
        reads_again: files read again after their content had left the context.
        reads_again_tokens: what that took.
        reads_spared: files read again though the context still had them.
        needs: names that the calls after a compaction used of what had left.
        needs_kept: of these, those that the context still had.
        rules: standing instructions that had left the context at a compaction.
        rules_kept: of these, those that the new context states.
    """

    name: str
    kind: str
    window: int | None
    requests: int
    failed: int
    tokens: int
    cache_read: int
    cache_written: int
    output: int
    cost: float | None
    peak: int
    compactions: int
    breaks: int
    seconds: float | None
    reads_again: int
    reads_again_tokens: int
    reads_spared: int
    needs: int
    needs_kept: int
    rules: int
    rules_kept: int

    def __add__(self, other: Figures) -> Figures:
        added: dict[str, Any] = {name: _sum(getattr(self, name), getattr(other, name)) for name in _SUMMED}
        peak = max(self.peak, other.peak)
        # a session without a price has none under any policy, so what is left can be compared
        cost = self.cost if other.cost is None else other.cost + (self.cost or 0.0)
        return Figures(name=self.name, kind=self.kind, window=self.window, peak=peak, cost=cost, **added)

    @property
    def needs_share(self) -> float | None:
        """Share of the needs that is kept; None where nothing was needed."""
        return self.needs_kept / self.needs if self.needs else None

    @property
    def rules_share(self) -> float | None:
        """Share of the rules that is kept; None where none had left."""
        return self.rules_kept / self.rules if self.rules else None


_SUMMED = tuple(name for name in Figures.__slots__ if name not in ("name", "kind", "window", "peak", "cost"))


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def figures_of(outcome: Outcome) -> Figures:
    """The figures of ``outcome``."""
    needs, rules, bill = outcome.needs, outcome.rules, outcome.bill
    return Figures(
        name=outcome.policy.name,
        kind=outcome.policy.kind,
        window=outcome.policy.window,
        requests=outcome.requests,
        failed=outcome.failed,
        tokens=bill.prompt,
        cache_read=bill.read,
        cache_written=bill.written,
        output=bill.output,
        cost=outcome.dollars,
        peak=outcome.peak,
        compactions=outcome.compactions,
        breaks=outcome.breaks,
        seconds=outcome.seconds,
        reads_again=outcome.reads_again,
        reads_again_tokens=outcome.reads_again_tokens,
        reads_spared=outcome.reads_spared,
        needs=needs.needed,
        needs_kept=needs.kept,
        rules=rules.needed,
        rules_kept=rules.kept,
    )


def summed(sessions: Sequence[Sequence[Figures]]) -> tuple[Figures, ...]:
    """The sums of the policies that every session was replayed under, in their order."""
    by_name = [{each.name: each for each in figures} for figures in sessions]
    names = [name for name in by_name[0] if all(name in each for each in by_name)] if by_name else []
    return tuple(reduce(Figures.__add__, (each[name] for each in by_name)) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Several sessions together.

    Attributes:
        sessions: how many.
        figures: sums of the policies that every session was replayed under.
        partial: the other policies, each with the number of sessions that have it; a sum of these would compare
            different sessions.
        unpriced: sessions that have no price: the cost is that of the others.
    """

    sessions: int
    figures: tuple[Figures, ...]
    partial: dict[str, int]
    unpriced: int

    @classmethod
    def of(cls, sessions: Sequence[Sequence[Figures]]) -> Together:
        """The sums over ``sessions``, in the order of the policies."""
        counts = Counter(each.name for figures in sessions for each in figures)
        partial = {name: count for name, count in counts.items() if count < len(sessions)}
        unpriced = sum(all(each.cost is None for each in figures) for figures in sessions)
        return cls(sessions=len(sessions), figures=summed(sessions), partial=partial, unpriced=unpriced)

    @property
    def priced(self) -> str:
        """The sessions that the cost is of, in words; "" if it is of all, or of none."""
        if self.unpriced in (0, self.sessions):
            return ""
        return f"the {self.sessions - self.unpriced} of {self.sessions} sessions that have a price"

    @property
    def note(self) -> str:
        """What the sums do not have; "" where they have everything."""
        found: list[str] = []
        if self.priced:
            found.append(
                f"The cost is that of {self.priced}; --prices FILE or --priced-as NAME gives the others one."
            )
        if self.partial:
            listed = ", ".join(
                f"{name!r} ({count} of {self.sessions})" for name, count in self.partial.items()
            )
            found.append(
                f"Not in the sum, because not every session was replayed under it: {listed}. Which policies a session has "
                "depends on its window; --window N gives all of them the same."
            )
        return " ".join(found)


def winners(figures: Iterable[Figures]) -> dict[str, float]:
    """The best value of each column, among the policies under which no request failed; none where all are alike."""
    whole = [each for each in figures if not each.failed]
    found: dict[str, float] = {}
    for column, best in _BEST.items():
        values = [value for each in whole if (value := getattr(each, column)) is not None]
        if len(set(values)) > 1:
            found[column] = best(values)
    return found


_BEST = {
    "cost": min,
    "tokens": min,
    "peak": min,
    "breaks": min,
    "seconds": min,
    "reads_again": min,
    "needs_share": max,
    "rules_share": max,
}


def shown(column: str, value: float | None) -> str:
    """A figure as the table has it."""
    if value is None:
        return "-"
    match column:
        case "cost":
            return f"${value:,.2f}"
        case "tokens" | "peak" | "cache_read" | "cache_written":
            return short(value)
        case "needs_share" | "rules_share":
            return f"{value:.0%}"
        case "seconds":
            return f"{value:.1f}s" if value < 99 else f"{value:.0f}s"
        case _:
            return f"{value:,}"
