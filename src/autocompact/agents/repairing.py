"""The text that a plugin puts beside the summary of an agent's own compaction."""

from __future__ import annotations

from collections.abc import Sequence

from autocompact.core.lookup import Lookup
from autocompact.core.redacted import EMPTY, filled, joined
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Counter
from autocompact.ledger.entries import Ledger
from autocompact.ledger.summary import frame_beside
from autocompact.ledger.summary_repair import beside

BLOCK_TOKENS = 1_500
"""Tokens that stand beside one summary at most, frames included."""

BLIND_TOKENS = 1_100
"""Of these, what is given before the summary is known; the rest is left for what the summary turns out to lack."""

LEAST_TOKENS = 60
"""Room for fewer tokens is not used."""

LEAST_REST = 200
"""Tokens that a second text beside a summary must have with its frame, unless a rule is in it: its frame takes half of them."""


def block(
    seen: Redacted, ledger: Ledger, *, pins: Sequence[Redacted], budget: int, counter: Counter, lookup: Lookup
) -> Redacted:
    """What belongs beside ``seen``, without its frame: what is pinned, rules, then the most needed of what is missing.

    Args:
        seen: what the model sees of the conversation, as far as it is known; "" for nothing.
        ledger: what must survive.
        pins: texts that always stand there, unless ``seen`` has them word for word.
        budget: tokens of the text with its frame.
        counter: measures it.
        lookup: how the model opens references.
    """
    room = budget - counter.count(frame_beside("", lookup=lookup))
    listed = joined("\n", (filled("- {}", pin) for pin in pins if pin not in seen))
    pinned = filled("## Pinned\n{}", listed) if listed else EMPTY
    left = room - counter.count(pinned) - 2
    known = joined("\n", (seen, pinned))
    missing = beside(known, ledger, budget=left, counter=counter) if left >= LEAST_TOKENS else EMPTY
    return joined("\n\n", (part for part in (pinned, missing) if part))
