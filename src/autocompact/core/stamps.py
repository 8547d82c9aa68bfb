"""Stamps of recorded messages, which programs write in forms of their own."""

from __future__ import annotations

from datetime import UTC, datetime


def instant_of(stamp: str) -> datetime | None:
    """The instant of an ISO 8601 stamp, UTC where it has no offset; None if it is none."""
    try:
        found = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
