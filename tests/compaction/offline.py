"""Compactions with no model."""

from __future__ import annotations

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import answer, plan
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript


def climb_offline(log: Transcript, goal: Goal, *, active: Compaction | None = None) -> Compaction | None:
    """`plan` and `answer` with no model: every summary is the extractive one."""
    return answer(plan(log, goal, active=active), None)
