"""The clock of a machine that is set wrong."""

from __future__ import annotations

from datetime import datetime, timedelta

from autocompact.ports import SystemClock


class WrongClock:
    """The system's, some seconds off; implements `Clock`."""

    def __init__(self, off: float = 0.0) -> None:
        self.off, self._right = off, SystemClock()

    def now(self) -> str:
        there = datetime.fromisoformat(self._right.now()) + timedelta(seconds=self.off)
        return there.isoformat(timespec="milliseconds")

    def monotonic(self) -> float:
        return self._right.monotonic()
