"""Decides when to compact and how far, for one conversation as it is now. Pure: no store, no model, no event loop.

`Situation` takes the figures of one moment and answers with the decision (`autocompact.core.budget`) or the goal
(`autocompact.compaction.ladder`). Thresholds and targets of the policy are metered tokens, goals are in our estimate.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
from msgspec import structs

from autocompact.compaction.goal import Goal
from autocompact.compaction.modes import Mode
from autocompact.compaction.pricing import Pace, Step, growth_that_pays
from autocompact.compaction.record import Trigger
from autocompact.core.budget import Budget, Decision, Prepare, State, decide
from autocompact.core.prices import CacheRates
from autocompact.core.redaction import redact
from autocompact.core.tokens import Cost
from autocompact.engine.state import ConversationState

NO_COST = Cost()

SMALLER = 0.75
"""Share of a request that was refused as too large, and of the limit, that the next one may take."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Snapshot of one conversation before its next request. A msgspec struct for its speed alone, as `ConversationState`.

    Attributes:
        state: what is known beside the log.
        mode: when and how to compact.
        budget: what there is room for.
        rates: what the provider's cache costs; None if that is not known: then nothing is priced.
        model: the conversation's model.
        context: id of the active compaction, "" if there is none.
        cost: what the next request weighs by our own count, overhead included.
        used: what it takes: tokens as metered, bytes and images by our own count.
        prompt_tokens: of the system prompt in the log, by our own count.
        busy: a compaction is prepared, or being prepared.
        waits: a compaction that begins now would wait for a model.
        idle_seconds: since the context was handed out last; None before the first time.
        pins: pinned messages (``seq``) that the context shows.
    """

    state: ConversationState
    mode: Mode
    budget: Budget
    rates: CacheRates | None
    model: str
    context: str
    cost: Cost
    used: Cost
    prompt_tokens: int
    busy: bool
    waits: bool
    idle_seconds: float | None
    pins: frozenset[int] = frozenset()

    @property
    def fixed(self) -> int:
        """Metered tokens that every request carries, whatever is compacted. See `Meter.fixed`."""
        return self.state.meter.fixed(self.prompt_tokens, model=self.model)

    @property
    def is_cold(self) -> bool:
        """True if the provider's cache has dropped the context; not asked where the policy makes no difference."""
        cache = self._cache
        if cache is None or self.idle_seconds is None or self.mode.policy.cold >= 1:
            return False
        return self.idle_seconds > cache.seconds

    def decide(self, *, more: Cost = NO_COST) -> Decision:
        """Decide the step before the next model call.

        Args:
            more: what would come to the context, for asking beforehand; its tokens metered.
        """
        state = State(
            after=self._settled,
            # a mode without background work never prepares: as if something were prepared already
            prepared=self.busy or not self.mode.background,
            breaker=self.state.breaker,
            fixed=self.fixed,
            # a cold cache is a cheap moment to compact, but not one worth letting the person wait for a model
            cold=not self.waits and self.is_cold,
            pays_from=self._pays_from,
        )
        used = self.used if more is NO_COST else self.used + more
        return decide(used, self.budget, policy=self.mode.policy, state=state)

    def goal(self, target: int, *, trigger: Trigger, summarise: bool = False) -> Goal:
        """Return the goal of a compaction, in our own count.

        Args:
            target: metered tokens to aim at. The share that the policy leaves is taken of what can be folded: a large
                system prompt and many tools do not make the rest smaller.
            trigger: why.
            summarise: showing tool outputs as stubs is not enough.
        """
        mode, budget, state = self.mode, self.budget, self.state
        overhead = state.meter.overhead
        # the fixed part cannot be folded, so its share of the reduction is given back
        target = self._to_estimate(target) + int(
            (1 - mode.policy.target) * (self.prompt_tokens + overhead.tokens)
        )
        said = self.cost.tokens - overhead.tokens - self.prompt_tokens
        masks = mode.mask_first and mode.policy.tail_tokens and not summarise
        return Goal(
            limit=self._to_estimate(budget.limit),
            target=target,
            summary_tokens=min(mode.summary_tokens, max(256, target // 2)),
            # of a small conversation, compacted by the user, a quarter stays
            tail_tokens=min(mode.policy.tail(budget), said // 4),
            cap_tokens=mode.cap_tokens,
            working_set_tokens=mode.working_set_tokens,
            max_bytes=budget.max_bytes,
            max_images=budget.max_images,
            overhead=overhead,
            pins=self.pins,
            notes=tuple(map(redact, state.notes)),
            placement=mode.placement,
            first_rung="mask" if masks else "summarise",
            inline_request=mode.inline_request,
            trigger=trigger,
            pace=self._pace,
        )

    def manual_goal(self, focus: str = "") -> Goal:
        """Return the goal of a compaction that the user asks for."""
        target = self.mode.policy.target_tokens(self.budget, fixed=self.fixed)
        return replace(self.goal(target, trigger="manual", summarise=True), focus=redact(focus))

    def background_goal(self, decision: Prepare) -> Goal:
        """Return the goal of a compaction that takes effect at the threshold.

        What is said until then stays verbatim as well: where that is priced, the tail is smaller by as much.
        """
        goal = self.goal(decision.target, trigger="prepared")
        if goal.pace is None:
            return goal
        pressure = decision.pressure
        coming = self._to_estimate(pressure.threshold) - self._to_estimate(pressure.used)
        return replace(goal, tail_tokens=max(goal.tail_tokens // 4, goal.tail_tokens - coming))

    def smaller_goal(self, share: float) -> Goal:
        """Return the goal after a request was refused as too large.

        Args:
            share: of the refused context that the next one may take at most. Of the limit, to which our count says
                whether the refused one came, `SMALLER` at most, whatever the share.
        """
        # both in what was learned of the model's tokens: three quarters of them by our count alone may be refused again
        limit = min(
            int(self.cost.tokens * share),
            self._to_estimate(int(self.used.tokens * share)),
            self._to_estimate(int(self.budget.limit * SMALLER)),
        )
        # aims below the limit, else the very next turn would be refused again
        return replace(self.goal(0, trigger="overflow"), limit=limit, target=limit * 2 // 3)

    @property
    def _cache(self) -> CacheRates | None:
        """Prices of the provider's cache for these requests."""
        rates = self.rates
        return rates.for_an_hour if rates is not None and rates.marked and self.state.hour_cache else rates

    @property
    def _settled(self) -> Cost | None:
        """Weight of the context after the last compaction or undo, in the tokens that ``used`` is in.

        Growth is measured by our own count, which no report moves, and then calibrated.
        """
        settled = self.state.settled(self.context)
        if settled is None:
            return None
        # subtracting two metered figures would mix a report with an estimate, and show growth that never was
        grown = self._to_metered(self.cost.tokens - settled.cost.tokens)
        return structs.replace(settled.cost, tokens=self.used.tokens - grown)

    @property
    def _pays_from(self) -> int:
        """Growth since the last compaction, in metered tokens, from which the next one pays."""
        settled, cache = self.state.settled(self.context), self._cache
        if cache is None or settled is None or not self.context:
            return 0
        return growth_that_pays(Step(after=self._to_metered(settled.cost.tokens), kept=self.fixed), cache)

    @property
    def _pace(self) -> Pace | None:
        """The requests that follow a compaction, in our own count; None where nothing is priced."""
        if (cache := self._cache) is None:
            return None
        threshold = self.mode.policy.threshold(self.budget, fixed=self.fixed)
        return Pace(rates=cache, threshold=self._to_estimate(threshold), cold=self.is_cold)

    def _to_metered(self, tokens: int) -> int:
        return self.state.meter.to_metered(tokens, model=self.model)

    def _to_estimate(self, tokens: int) -> int:
        return self.state.meter.to_estimate(tokens, model=self.model)
