"""What several commands say of a recorded session: its usage, in words and as JSON, and where it is no text."""

from __future__ import annotations

from autocompact.core.plurals import plural
from autocompact.history.recorded.usage import ContextUsage
from autocompact.sessions import Session

OUTSIDE_IS = "system prompt, tool schemas, attachments"
"""What a request carries that the log does not hold."""


def reported(usage: ContextUsage) -> str:
    """What the provider reported, and what came since."""
    since = f", and {usage.since:,} since, estimated" if usage.since else ""
    return f"{usage.reported:,} tokens with the last reply, as the provider reported{since}"


def in_log(usage: ContextUsage, *, counter: str) -> str:
    """The part of the usage that the log holds."""
    own = f"{usage.log:,} counted with {counter}"
    if usage.used < usage.log:
        return f"{own}: more than was sent"
    return f"{usage.scaled(usage.log):,} tokens: {own}, times {usage.factor:.2f} for the provider's own"


def garbled(session: Session) -> str:
    """Where a session has bytes that are no UTF-8."""
    lines = plural(len(session.garbled), "line")
    return f"bytes in {lines} (the first is line {session.garbled[0]}): read as U+FFFD (�)"


def as_json(usage: ContextUsage) -> dict[str, int | float]:
    """The fields of ``usage`` in ``--json``."""
    return {
        "used": usage.used,
        "reported": usage.reported,
        "since": usage.since,
        "log": usage.log,
        "outside": usage.outside,
        "factor": round(usage.factor, 4),
    }
