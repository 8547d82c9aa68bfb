"""Decides the next step of one conversation from its present state (`Situation`); changes nothing."""

from __future__ import annotations

from autocompact.compaction.goal import Goal
from autocompact.compaction.record import Trigger
from autocompact.core.budget import Compact, Decision
from autocompact.core.tokens import Cost
from autocompact.engine.background import Background
from autocompact.engine.replica import Replica
from autocompact.engine.situation import NO_COST, Situation

_NO_PINS = frozenset[int]()


class Decisions:
    """The decisions about one conversation.

    Args:
        replica: the conversation's log and state.
        background: where compactions are prepared.
    """

    def __init__(self, replica: Replica, *, background: Background) -> None:
        self._replica = replica
        self._background = background

    @property
    def busy(self) -> bool:
        """True while a compaction is being prepared, or waits for the threshold."""
        background, replica = self._background, self._replica
        is_elsewhere = background.elsewhere == replica.active_id
        return background.running or is_elsewhere or replica.state.prepared is not None

    def situation(self) -> Situation:
        """Return the snapshot that decisions are made from. O(new)."""
        replica = self._replica
        state, shared = replica.state, replica.shared
        sent_at, cost = state.sent_at, replica.cost()
        return Situation(
            state=state,
            mode=shared.mode,
            budget=shared.budget,
            rates=shared.rates,
            model=shared.model_name,
            context=replica.active_id,
            cost=cost,
            used=replica.used_by(cost),
            prompt_tokens=replica.prompt_tokens,
            busy=self.busy,
            waits=state.prepared is None and shared.has_summary_model,
            idle_seconds=None if sent_at is None else shared.clock.monotonic() - sent_at,
            pins=frozenset(filter(replica.shows, state.pins)) if state.pins else _NO_PINS,
        )

    def decide(self, *, more: Cost = NO_COST) -> Decision:
        """Decide the step before the next model call.

        Args:
            more: what would come to the context, for asking beforehand; its tokens as the meter counts.
        """
        return self.situation().decide(more=more)

    def should_compact(self) -> bool:
        """True if the threshold is reached; a compaction resets it."""
        return isinstance(self.decide(), Compact)

    def goal(self, target: int, *, trigger: Trigger, summarise: bool = False) -> Goal:
        """Return the goal of a compaction of this conversation. See `Situation.goal`."""
        return self.situation().goal(target, trigger=trigger, summarise=summarise)

    def manual_goal(self, focus: str = "") -> Goal:
        """Return the goal of a compaction that the user asks for."""
        return self.situation().manual_goal(focus)

    def smaller_goal(self, share: float) -> Goal:
        """Return the goal of a compaction after a request was refused. See `Situation.smaller_goal`."""
        return self.situation().smaller_goal(share)
