"""Expiry of leases, by a clock that may be wrong."""

from __future__ import annotations

LONGEST_SECONDS = 60.0
"""Longest lease that a store gives, and renews one for. Whoever dies with one blocks a conversation no longer."""

SLACK_SECONDS = 5.0
"""What a clock may be set back while a lease is held, without the lease being taken for one of a wrong clock."""


def expiry(now: int, *, seconds: float) -> int:
    """Expiry of a lease granted ``now``, in milliseconds since 1970; at most `LONGEST_SECONDS` from now."""
    return now + round(min(seconds, LONGEST_SECONDS) * 1000)


def latest_expiry(now: int) -> int:
    """The latest end that a lease can have ``now``: one that ends later was given while the clock was wrong."""
    return now + round((LONGEST_SECONDS + SLACK_SECONDS) * 1000)


def is_held(expires: int, *, now: int) -> bool:
    """True if a lease that ends at ``expires`` is still valid: it is not over, and no clock that was wrong gave it."""
    return now < expires <= latest_expiry(now)
