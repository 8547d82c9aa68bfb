"""A clock that a test sets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Implements `autocompact.ports.Clock`: time stands still until somebody moves it.

    Args:
        start: the first instant, ISO 8601 with an offset.
    """

    def __init__(self, start: str = "2026-01-01T00:00:00.000+00:00") -> None:
        self._instant = datetime.fromisoformat(start).astimezone(UTC)
        self._seconds = 0.0

    def now(self) -> str:
        """ISO 8601, UTC, milliseconds."""
        return self._instant.isoformat(timespec="milliseconds")

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._seconds

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: backwards.
        """
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self._instant += timedelta(seconds=seconds)
        self._seconds += seconds

    def set(self, instant: str) -> None:
        """Change what `now` says, as an operator does to a wall clock: `monotonic` does not move."""
        self._instant = datetime.fromisoformat(instant).astimezone(UTC)
