"""Events as frozen values; `Subscribers` notifies the listeners."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from autocompact.compaction.record import Receipt, Trigger

log = logging.getLogger("autocompact")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStarted:
    """A compaction began: the conversation cannot be compacted by anybody else until it completed."""

    conversation_id: str
    trigger: Trigger = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCompleted:
    """A compaction ended; with ``success`` False nothing changed, and ``message`` says why."""

    conversation_id: str
    success: bool
    message: str = ""
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPrepared:
    """A compaction was made ahead and waits for the threshold."""

    conversation_id: str
    compaction_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionDiscarded:
    """A prepared compaction was thrown away, because the history it covers changed."""

    conversation_id: str
    compaction_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionUndone:
    """A compaction was undone; ``restored_id`` is the one that is active now, None for the whole log."""

    conversation_id: str
    compaction_id: str
    restored_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerOpened:
    """Automatic compactions stopped, because they kept failing or were of no use."""

    conversation_id: str
    reason: str


Event: TypeAlias = (
    CompactionStarted
    | CompactionCompleted
    | CompactionPrepared
    | CompactionDiscarded
    | CompactionUndone
    | BreakerOpened
)
Subscriber: TypeAlias = Callable[[Event], None]


class Subscribers:
    """Any number of listeners; one that fails is logged and harms nobody."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call ``subscriber`` with every event from now on; returns the function that ends it."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    def emit(self, event: Event) -> None:
        """Call every subscriber, in the order they came."""
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:
                log.exception("a subscriber failed", extra={"event": type(event).__name__})
