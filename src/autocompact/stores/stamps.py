"""A clock's stamps as numbers that can be compared."""

from __future__ import annotations

from datetime import datetime

from autocompact.ports import Clock


def milliseconds(clock: Clock) -> int:
    """The wall clock, in milliseconds since 1970 (UTC): what processes that share a store can compare."""
    return round(datetime.fromisoformat(clock.now()).timestamp() * 1000)
