"""When to compact: the limits of the model (`Budget`), the wishes of the user (`Policy`), and the decision between them.

Each limit (tokens, bytes on the wire, images) is looked at on its own; the one that is fullest decides. For tokens
there are three lines, in this order:

    prepare   the compaction is made in the background
    threshold it takes effect
    limit     window less output reserve: no request beyond it is sent

What every request carries whatever was said (system prompt, tool schemas) no compaction takes away. Where it takes more
than half of the threshold (three quarters of one that the user named in tokens), the threshold rises, so that as much as
the rest of it can be folded: compacting again and again would free next to nothing (`fixed_note` says so).

What the next request needs is its context (system prompt, tool schemas, summary, messages, the incoming one) and the
output reserve; `Budget.ratio` is the share of the window that this takes, for the meter. A threshold by ratio counts
both. An absolute one counts the context alone, because there the user named a number of context tokens. All figures
below are of the context: where the reserve counts, it is taken off the line that they are compared with.

A compaction makes the provider write the context to its cache again, unless the cache has expired: then the whole of it
is written anyway, and a compaction from ``Policy.cold`` of the threshold on costs nothing and saves from the first request.

Nothing here loops: after a compaction the next one needs real growth, as much as pays for it (`State.pays_from`), and repeated failures open the `Breaker`.
Both only hold back a compaction that could wait. One without which the request would overflow always runs, but
without a model if the breaker is open (``model_free``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from autocompact.core.figures import check_choice, check_flag, check_share, check_whole
from autocompact.core.tokens import Cost, Unit
from autocompact.errors import InvalidInput

LOWEST_RATIO, HIGHEST_RATIO = 0.5, 0.95
"""Bounds of the threshold (requirement A12)."""

PRESETS: Mapping[str, int] = MappingProxyType(
    {
        "session-50k": 50_000,
        "session-100k": 100_000,
        "session-150k": 150_000,
        "session-200k": 200_000,
        "never": 0,
    }
)
"""Absolute thresholds by name (requirement C1)."""

Kind: TypeAlias = Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a request: the context window and the reserve of its output, bytes, images.

    Attributes:
        window: tokens of the model's window, input and output together.
        reserve: tokens of it that are kept for the reply.
        max_bytes: of a request's JSON; 0 if nothing limits it.
        max_images: of a request; 0 if nothing limits them.

    Raises:
        InvalidInput: a figure that is no whole number, a negative one, or a reserve that leaves no room for input.
    """

    window: int
    reserve: int = 0
    max_bytes: int = 0
    max_images: int = 0

    def __post_init__(self) -> None:
        check_whole(self.window, name="window", least=1)
        check_whole(self.reserve, name="reserve")
        check_whole(self.max_bytes, name="max_bytes", unit="bytes")
        check_whole(self.max_images, name="max_images", unit="images")
        if self.reserve >= self.window:
            raise InvalidInput(
                f"a window of {self.window:,} tokens with an output reserve of {self.reserve:,} "
                f"(at most {self.max_bytes:,} bytes, {self.max_images:,} images) leaves no room; "
                "choose a larger window or a smaller reserve"
            )

    @property
    def limit(self) -> int:
        """Tokens that a context may take: the window less the output reserve."""
        return self.window - self.reserve

    def ratio(self, tokens: int) -> float:
        """Share of the window that a request with a context of that many tokens needs, output reserve included."""
        return (tokens + self.reserve) / self.window


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Settings of the user: when to compact, and how far.

    Attributes:
        enabled: False switches every automatic compaction off; manual ones stay possible.
        ratio: share of the window at which to compact; clamped to 0.5..0.95 (`threshold_ratio`, `notes`).
        tokens: an absolute threshold instead, in context tokens; 0 is off, None goes by ``ratio``. One that the
            window has no room for comes down to 95 % of the limit.
        enough: tokens beside what every request carries that are enough: the threshold by ``ratio`` comes down to them,
            but not below half of the limit; 0 is no such number.
        prepare: share of the threshold from which a compaction is prepared; the default is 0.65 of the window with
            the default ratio. 1.0 never prepares.
        target: share of the threshold, less system prompt and tools, that the rest of the context takes after a
            compaction, at most.
        tail_tokens: recent messages that stay verbatim, at most half of the target.
        min_growth: share of the threshold by which the context must grow between two compactions.
        cold: share of the threshold from which to compact a context that the provider's cache no longer holds; 1.0
            makes no difference between cold and warm.
        on_overflow: what to do when the next request would not fit; None compacts if ``enabled``, else refuses.

    Raises:
        InvalidInput: a share outside 0..1, a number of tokens that is negative or not whole, or no such choice.
    """

    enabled: bool = True
    ratio: float = 0.8
    tokens: int | None = None
    enough: int = 0
    prepare: float = 0.8125
    target: float = 0.4
    tail_tokens: int = 20_000
    min_growth: float = 0.05
    cold: float = 1.0
    on_overflow: Literal["compact", "refuse"] | None = None

    def __post_init__(self) -> None:
        for name in ("ratio", "prepare", "target", "min_growth", "cold"):
            check_share(getattr(self, name), name=name)
        check_flag(self.enabled, name="enabled")
        check_whole(self.tail_tokens, name="tail_tokens")
        check_whole(self.enough, name="enough")
        if self.tokens is not None:
            check_whole(self.tokens, name="tokens")
        check_choice(self.on_overflow, ("compact", "refuse", None), name="on_overflow")

    @property
    def automatic(self) -> bool:
        """True if anything is compacted without being asked for."""
        return self.enabled and self.tokens != 0

    @property
    def threshold_ratio(self) -> float:
        """``ratio`` within its bounds."""
        return min(HIGHEST_RATIO, max(LOWEST_RATIO, self.ratio))

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the user on settings that are not taken literally."""
        if self.ratio == self.threshold_ratio:
            return ()
        return (
            f"threshold {self.ratio:g} is outside {LOWEST_RATIO}..{HIGHEST_RATIO}: {self.threshold_ratio:g} is used",
        )

    @property
    def overflow_action(self) -> Literal["compact", "refuse"]:
        """``on_overflow``, its default resolved."""
        return self.on_overflow or ("compact" if self.automatic else "refuse")

    def threshold(self, budget: Budget, *, fixed: int = 0) -> int:
        """Context tokens at which to compact: by ratio never below half of the limit, however large the reserve.

        Args:
            budget: what there is room for.
            fixed: tokens that every request carries; beside them half of the threshold at least is left, of a number of
                tokens that the user named a quarter, to stay near it.
        """
        least = math.floor(LOWEST_RATIO * budget.limit)
        # a large reserve in a small window would push the threshold to nothing: endless compaction
        asked = self.tokens or max(math.floor(self.threshold_ratio * budget.window) - budget.reserve, least)
        # a figure that the user named goes before our default for large windows
        if self.enough and not self.tokens:
            asked = min(asked, max(fixed + self.enough, least))
        most = math.floor(HIGHEST_RATIO * budget.limit)
        left = min(asked, most) // (4 if self.tokens else 2)
        # with much fixed there must be tokens left for a conversation, else every turn compacts
        return max(1, min(max(asked, fixed + left), most))

    def prepare_tokens(self, budget: Budget, *, fixed: int = 0) -> int:
        """Context tokens from which to prepare."""
        return math.ceil(self.prepare * self.threshold(budget, fixed=fixed))

    def target_tokens(self, budget: Budget, *, fixed: int = 0) -> int:
        """Context tokens after a compaction, at most."""
        return math.floor(self.target * self.threshold(budget, fixed=fixed))

    def tail(self, budget: Budget) -> int:
        """Tokens of recent messages that stay verbatim, at most."""
        return min(self.tail_tokens, self.target_tokens(budget) // 2)


def fixed_note(budget: Budget, *, policy: Policy, fixed: int) -> str:
    """A sentence for the user where what every request carries reaches the threshold by itself; else "".

    Args:
        budget: what there is room for.
        policy: what the user wants.
        fixed: tokens that every request carries (system prompt, tool schemas).
    """
    asked = replace(policy, enough=0).threshold(budget)
    if not policy.automatic or fixed < asked:
        return ""
    return (
        f"system prompt and tools take {fixed:,} tokens, and {budget.reserve:,} are reserved for the reply: the threshold of "
        f"{asked:,} tokens cannot be kept to, {policy.threshold(budget, fixed=fixed):,} is used. Give a larger window or "
        "threshold, or fewer tools"
    )


def preset(name: str) -> Policy:
    """The policy of a named preset.

    Raises:
        InvalidInput: there is none of that name.
    """
    if name not in PRESETS:
        raise InvalidInput(f"unknown preset {name!r}; there are {', '.join(PRESETS)}")
    return Policy(tokens=PRESETS[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """Stops automatic compactions that keep failing; plain fields, so that it survives a restart.

    It opens after ``most`` failures in a row. Once the context has grown by ``growth`` since the last failure, it
    lets one attempt through (half-open): a success closes it, a failure makes it wait for as much growth again.

    Attributes:
        failures: in a row.
        reason: of the last one.
        tokens: of the context at the last one.
        fixed: of these, what every request carries whatever was said (tools, system prompt): it does not grow.
        most: failures in a row that open it.
        growth: share of what can grow that makes another attempt worth it.
        useful: least share of the context that a compaction must free to count as a success.
    """

    failures: int = 0
    reason: str = ""
    tokens: int = 0
    fixed: int = 0
    most: int = 3
    growth: float = 0.1
    useful: float = 0.1

    @property
    def is_open(self) -> bool:
        """True if it holds compactions back until the context has grown."""
        return self.failures >= self.most

    def failed(self, reason: str, *, tokens: int, fixed: int = 0) -> Breaker:
        """After an attempt that failed, at a context of that many tokens, ``fixed`` of them in every request."""
        return replace(
            self, failures=self.failures + 1, reason=reason, tokens=tokens, fixed=min(fixed, tokens)
        )

    def succeeded(self, *, before: int, after: int) -> Breaker:
        """After a compaction from ``before`` to ``after`` tokens; one that freed next to nothing is a failure."""
        # else a compaction that frees a little would be repeated on each turn
        if before - after < self.useful * before:
            return self.failed(f"freed only {before - after:,} of {before:,} tokens", tokens=after)
        return replace(self, failures=0, reason="", tokens=0, fixed=0)

    def allows(self, tokens: int) -> bool:
        """True if a compaction may be attempted at a context of that many tokens."""
        grown = self.growth * (self.tokens - self.fixed)
        # real growth, not one more message: the plus one keeps a context of no growth shut
        return not self.is_open or tokens >= math.ceil(self.tokens + grown) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What earlier decisions left behind.

    Attributes:
        after: what the context weighed right after the last compaction or undo; None if there was none.
        prepared: a compaction is prepared, or being prepared.
        breaker: the record of failures.
        fixed: tokens that every request carries (system prompt, tool schemas), by the meter.
        cold: the provider's cache no longer holds the context.
        pays_from: growth since the last compaction from which the next one pays for what it makes the provider write
            again (`autocompact.compaction.pricing`); a threshold that the user named in tokens goes before it.
    """

    after: Cost | None = None
    prepared: bool = False
    fixed: int = 0
    cold: bool = False
    pays_from: int = 0
    breaker: Breaker = field(default_factory=Breaker)


class Pressure(Struct, frozen=True, kw_only=True):
    """The use of one limit by the next request; ``kind`` is the unit.

    Attributes:
        kind: what is counted.
        used: of the context, without the output reserve.
        prepare: from which to prepare.
        threshold: at which to compact.
        limit: that must not be exceeded.
        missing: growth that must still come since the last compaction before the next; 0 or less is enough.
    """

    kind: Kind
    used: int
    prepare: int
    threshold: int
    limit: int
    missing: int = 0

    @property
    def overflows(self) -> bool:
        """True if the request would not fit."""
        return self.used > self.limit

    def __str__(self) -> str:
        return f"{self.used:,} {self.kind} (threshold {self.threshold:,}, limit {self.limit:,})"


class Continue(Struct, frozen=True, kw_only=True):
    """Send the request as it is."""

    reason: str
    pressure: Pressure


class Prepare(Struct, frozen=True, kw_only=True):
    """Send it, and make a compaction ready in the background."""

    reason: str
    pressure: Pressure
    target: int


class Compact(Struct, frozen=True, kw_only=True):
    """Compact first.

    Attributes:
        reason: a sentence with the figures.
        pressure: the limit that decides.
        target: tokens of the context to aim at.
        trigger: whether the threshold asks for it, or the request would not fit without it.
        model_free: no model may be asked: the rungs that need none must do.
    """

    reason: str
    pressure: Pressure
    target: int
    trigger: Literal["threshold", "overflow"]
    model_free: bool = False


class Refuse(Struct, frozen=True, kw_only=True):
    """The request does not fit, and the policy says not to compact."""

    reason: str
    pressure: Pressure


Decision: TypeAlias = Continue | Prepare | Compact | Refuse


def decide(usage: Cost, budget: Budget, *, policy: Policy, state: State | None = None) -> Decision:
    """Decide the step before the next request.

    Args:
        usage: what the request weighs: ``tokens`` as the gauge reads them, with system prompt, tool schemas and the
            incoming message, without the output reserve; ``bytes`` and ``images`` of the whole request.
        budget: what there is room for.
        policy: what the user wants.
        state: what came before.

    Returns:
        Never `Continue` or `Prepare` for a request that does not fit.
    """
    state = state or State()
    pressures = tuple(_pressures(usage, budget, policy=policy, state=state))
    worst = max(pressures, key=lambda pressure: (pressure.overflows, pressure.used / pressure.threshold))
    target = policy.target_tokens(budget, fixed=state.fixed)
    if worst.overflows:
        return _overflow(worst, target, policy=policy, model_free=not state.breaker.allows(usage.tokens))
    if not policy.automatic:
        return Continue(reason="automatic compaction is off", pressure=worst)
    if not state.breaker.allows(usage.tokens):
        return Continue(
            reason=f"stopped after {state.breaker.failures} failures: {state.breaker.reason}", pressure=worst
        )
    ripe = [pressure for pressure in pressures if pressure.missing <= 0]
    for pressure in ripe:
        if pressure.used >= pressure.threshold:
            return Compact(
                reason=f"threshold reached: {pressure}", pressure=pressure, target=target, trigger="threshold"
            )
    for pressure in ripe:
        if pressure.prepare <= pressure.used and not state.prepared:
            return Prepare(reason=f"threshold near: {pressure}", pressure=pressure, target=target)
    return Continue(reason=f"room left, or compacted a short while ago: {worst}", pressure=worst)


def _overflow(worst: Pressure, target: int, *, policy: Policy, model_free: bool) -> Compact | Refuse:
    if policy.overflow_action == "refuse":
        return Refuse(reason=f"does not fit, and compaction is not allowed: {worst}", pressure=worst)
    return Compact(
        reason=f"does not fit: {worst}",
        pressure=worst,
        target=target,
        trigger="overflow",
        model_free=model_free,
    )


def _pressures(usage: Cost, budget: Budget, *, policy: Policy, state: State) -> Iterator[Pressure]:
    after = state.after or Cost()
    share = policy.threshold_ratio
    lines: tuple[tuple[Kind, int, int, int, int], ...] = (
        (
            "tokens",
            usage.tokens,
            policy.threshold(budget, fixed=state.fixed),
            budget.limit,
            after.tokens,
        ),
        ("bytes", usage.bytes, max(1, math.floor(share * budget.max_bytes)), budget.max_bytes, after.bytes),
        (
            "images",
            usage.images,
            max(1, math.floor(share * budget.max_images)),
            budget.max_images,
            after.images,
        ),
    )
    for kind, used, threshold, limit, since in lines:
        if limit:
            growth = math.ceil(policy.min_growth * threshold)
            if kind == "tokens":
                growth = max(growth, _paying_growth(budget, policy=policy, state=state))
                threshold = max(1, math.ceil(policy.cold * threshold)) if state.cold else threshold
            yield Pressure(
                kind=kind,
                used=used,
                prepare=math.ceil(policy.prepare * threshold),
                threshold=threshold,
                limit=limit,
                missing=since + growth - used if state.after else 0,
            )


def _paying_growth(budget: Budget, *, policy: Policy, state: State) -> int:
    """Growth before the next compaction pays: none where the cache is cold, or the user named a threshold in tokens.

    It never holds a compaction back until the request would overflow, where no model may be waited for.
    """
    if state.cold or policy.tokens or state.after is None:
        return 0
    return min(state.pays_from, math.floor(HIGHEST_RATIO * budget.limit) - state.after.tokens)
