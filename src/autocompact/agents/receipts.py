"""The receipt of what a plugin did at a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from autocompact.agents.hook_state import Receipt, Way
from autocompact.ledger.entries import Entry
from autocompact.ledger.verification import Verification


def receipt(
    before: Verification,
    after: Verification,
    *,
    trigger: str,
    through_seq: int,
    tokens: int,
    seconds: float,
    way: Way,
) -> Receipt:
    """What the model sees of a ledger without us and with us.

    Args:
        before: the agent's own summary, verified; ours where that takes its place.
        after: the same with what was put beside it.
        trigger: of the compaction.
        through_seq: last message that the summary stands for.
        tokens: of ours.
        seconds: that it took.
        way: how ours gets into the context.
    """
    entries = (*before.stated, *before.referenced, *before.missing)
    return Receipt(
        time=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        trigger=trigger,
        through_seq=through_seq,
        stated=len(before.stated),
        referenced=len(before.referenced),
        missing=len(before.missing),
        missing_after=len(after.missing),
        rules=_rules(entries),
        rules_stated=_rules(before.stated),
        rules_stated_after=_rules(after.stated),
        contradictions=len(before.contradictions),
        tokens=tokens,
        seconds=round(seconds, 3),
        way=way,
    )


def _rules(entries: Sequence[Entry]) -> int:
    return sum(entry.kind == "rule" for entry in entries)
