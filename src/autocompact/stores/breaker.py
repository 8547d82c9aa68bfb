"""A circuit breaker before a server: once it was waited for in vain, nobody waits for it again until it answers.

Without it each request of a gateway would wait for a dead server as long as the first one did, before it goes on without the store.
Whether the server is back is found out by an attempt beside the requests, one at a time, which only starts when somebody asks: a server
that nobody asks is not asked either.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

ATTENTION_SECONDS = 1.0
"""For so long after an attempt began callers wait for it. What a living server answers, or a machine refuses, takes a hundredth of that;
after an attempt that took longer nobody waits for the next one."""

PAUSE_SECONDS = 0.1
"""Between two attempts at most. After one that was refused in a few milliseconds it is `_TIMES` as long as that one took, so that the
first caller after the server's return mostly finds it there."""

_TIMES = 9
"""So that attempts take a tenth of the time, whatever one costs."""

log = logging.getLogger("autocompact.stores")


@dataclass(slots=True, kw_only=True)
class _Attempt:
    """One attempt to reach the server. Times are those of the monotonic clock.

    Attributes:
        begun: when it began.
        awaited: until when callers wait for it.
        ended: when it ended; None while it runs.
        is_over: set then.
    """

    begun: float
    awaited: float
    ended: float | None = None
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def seconds(self) -> float:
        """How long it took; without end while it runs."""
        return math.inf if self.ended is None else self.ended - self.begun


def in_a_thread(work: Callable[[], object]) -> None:
    """Do ``work`` in a thread that ends with the process: it may be waiting for a machine that is gone."""
    threading.Thread(target=work, name="autocompact-probe", daemon=True).start()


class Breaker:
    """Says whether a server is worth waiting for. Any thread may use it.

    Args:
        name: of the server, for the log; without a password.
        attempt: reaches the server, or raises what `fails` knows. It runs in a thread of its own.
        fails: what ``attempt`` raises where the server cannot be used.
        attention_seconds: see `ATTENTION_SECONDS`.
        pause_seconds: see `PAUSE_SECONDS`.
        start: has an attempt made beside the caller; `RuntimeError` where it cannot be.
    """

    def __init__(
        self,
        name: str,
        attempt: Callable[[], object],
        *,
        fails: type[Exception],
        attention_seconds: float = ATTENTION_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
        start: Callable[[Callable[[], object]], object] = in_a_thread,
    ) -> None:
        self._name = name
        self._attempt = attempt
        self._fails = fails
        self._attention = attention_seconds
        self._pause = pause_seconds
        self._start = start
        self._lock = threading.Lock()
        self._since: float | None = None
        self._last: _Attempt | None = None

    @property
    def is_open(self) -> bool:
        """True from a failure on until the server answered."""
        return self._since is not None

    def trip(self, reason: str) -> None:
        """Have nobody wait for the server from now on; ``reason`` is logged once for each outage."""
        with self._lock:
            if self._since is not None:
                return
            self._since = time.monotonic()
        log.error(
            "the server of the store does not answer: nothing waits for it until it does",
            extra={"server": self._name, "detail": reason},
        )

    def admits(self) -> bool:
        """True if the server may be asked; where it was away, an attempt is made or waited for first, see `ATTENTION_SECONDS`."""
        if (attempt := self._current()) is None:
            return True
        attempt.is_over.wait(max(0.0, attempt.awaited - time.monotonic()))
        return not self.is_open

    def _current(self) -> _Attempt | None:
        """The attempt that says whether the server is back: a new one if none runs or just ended; None if it is there."""
        with self._lock:
            if self._since is None:
                return None
            last, now = self._last, time.monotonic()
            if last is not None and (last.ended is None or now - last.ended < self._pause_after(last)):
                return last
            attention = 0.0 if last is not None and last.seconds > self._attention else self._attention
            attempt = self._last = _Attempt(begun=now, awaited=now + attention)
        try:
            self._start(partial(self._try, attempt))
        except RuntimeError:  # no thread can be had now: the server counts as away until one can
            self._end(attempt, is_there=False)
        return attempt

    def _pause_after(self, attempt: _Attempt) -> float:
        return min(self._pause, _TIMES * attempt.seconds)

    def _try(self, attempt: _Attempt) -> None:
        is_there = False
        try:
            self._attempt()
            is_there = True
        except self._fails:
            pass  # still away, for which there is a line in the log already
        finally:
            self._end(attempt, is_there=is_there)

    def _end(self, attempt: _Attempt, *, is_there: bool) -> None:
        with self._lock:
            since = self._since
            attempt.ended = time.monotonic()
            if is_there:
                self._since = self._last = None
        if is_there and since is not None:
            log.warning(
                "the server of the store answers again",
                extra={"server": self._name, "seconds": round(attempt.ended - since, 1)},
            )
        attempt.is_over.set()
