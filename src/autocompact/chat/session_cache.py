"""Which sessions a service has in memory: those that somebody uses, and of the others those that were used last.

A session that is let go is still the session of its conversation while anybody refers to it: it is found by a weak
reference, so that there are never two of one conversation, whoever opens it at whichever moment. What nobody refers to
is read from the store again when it is opened next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from autocompact.chat.session import ChatSession


class HeldSessions:
    """The sessions of one service.

    Args:
        idle: how many are kept that nobody uses.
    """

    def __init__(self, *, idle: int) -> None:
        self._idle = idle
        self._known: WeakValueDictionary[str, ChatSession] = WeakValueDictionary()
        self._held: dict[str, ChatSession] = {}

    def get(self, id: str) -> ChatSession | None:
        """The session of a conversation, None if it is not in memory."""
        return self._known.get(id)

    @property
    def known(self) -> tuple[ChatSession, ...]:
        """All that are in memory."""
        return tuple(self._known.values())

    @property
    def held(self) -> tuple[ChatSession, ...]:
        """Those that are kept, the last used last."""
        return tuple(self._held.values())

    def add(self, session: ChatSession) -> None:
        """Keep one that was opened."""
        self._known[session.id] = session
        self.used(session)

    def used(self, session: ChatSession) -> None:
        """Somebody just used it. Nothing happens to one whose conversation was deleted."""
        if self._known.get(session.id) is session:
            self._held.pop(session.id, None)
            self._held[session.id] = session
            self.let_go()

    def let_go(self) -> None:
        """Keep no more that nobody uses than wanted: those go that were used longest ago."""
        idle = [id for id, session in self._held.items() if not session.in_use]
        for id in idle[: max(0, len(idle) - self._idle)]:
            del self._held[id]

    def remove(self, id: str) -> None:
        """Its conversation was deleted."""
        self._known.pop(id, None)
        self._held.pop(id, None)

    def clear(self) -> None:
        """Keep none any more."""
        self._known.clear()
        self._held.clear()
