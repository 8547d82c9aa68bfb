"""What is surely due, or not, with the next request of a conversation: worked out while nobody waits.

A conversation knows how much may come to it before anything would have to be done. A request that brings less needs no
decision, and one that the gateway would not change at all may go upstream before it is counted and stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autocompact.compactor import Compactor, Conversation
from autocompact.core.budget import Continue, Prepare, room
from autocompact.core.tokens import Cost
from autocompact.core.usage import Gauge

_MEDIA = (b'"image', b'"input_image"', b'"document"', b'"file"', b'"input_file"', b'"input_audio"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What is known of the next request before its messages are taken.

    Attributes:
        nothing_due: nothing at all is to be done for it.
        stays: no compaction comes before it; one may have to be prepared.
    """

    nothing_due: bool = False
    stays: bool = False


UNKNOWN = Foreseen()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """How many bytes may come, as long as the conversation is what it was when that was worked out."""

    size: int
    compactor: Compactor
    gauge: Gauge
    overhead: Cost
    compaction: str
    messages: int

    def holds(self, conversation: Conversation) -> bool:
        meter = conversation.meter
        return (
            self.compactor is conversation.shared
            and self.gauge is meter.gauge
            and self.overhead is meter.overhead
            and self.compaction == conversation.active_id
            and self.messages == len(conversation)
        )


class Foresight:
    """Foresees what is due in one conversation."""

    def __init__(self) -> None:
        self._room: _Room | None = None

    def look(self, conversation: Conversation) -> _Room:
        """Work out how much may come to the conversation as it stands."""
        shared, meter = conversation.shared, conversation.meter
        used = replace(conversation.cost(), tokens=conversation.usage().used)
        self._room = _Room(
            size=room(used, shared.budget, policy=shared.mode.policy, fixed=conversation.fixed),
            compactor=shared,
            gauge=meter.gauge,
            overhead=meter.overhead,
            compaction=conversation.active_id,
            messages=len(conversation),
        )
        return self._room

    def of(self, conversation: Conversation, new: Sequence[bytes]) -> Foreseen:
        """What will be due with these further messages.

        No text has more tokens than bytes. A picture that is only named has, so with one nothing is known.
        """
        if any(name in raw for raw in new for name in _MEDIA):
            return UNKNOWN
        size = sum(map(len, new))
        known = self._room if self._room is not None and self._room.holds(conversation) else None
        if size <= (known or self.look(conversation)).size:
            return Foreseen(nothing_due=True, stays=True)
        decision = conversation.decide(more=Cost(tokens=size, bytes=size))
        is_idle = not conversation.ahead.running  # one that is being made is joined by the next request
        return Foreseen(
            nothing_due=is_idle and isinstance(decision, Continue),
            stays=isinstance(decision, Continue | Prepare),
        )
