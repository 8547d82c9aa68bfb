"""The sessions that a service keeps in memory: those in use, and of the idle ones those used last.

An evicted session stays the session of its conversation while anybody refers to it: it is found by a weak reference,
so there are never two sessions of one conversation. Without references it is loaded from the store again.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from autocompact.chat.session import ChatSession


class SessionCache:
    """The sessions of one service.

    Args:
        idle: number of idle sessions that are kept.
    """

    def __init__(self, *, idle: int) -> None:
        self._idle = idle
        self._known: WeakValueDictionary[str, ChatSession] = WeakValueDictionary()
        self._kept: dict[str, ChatSession] = {}

    def get(self, id: str) -> ChatSession | None:
        """The session of a conversation, None if it is not in memory."""
        return self._known.get(id)

    @property
    def known(self) -> tuple[ChatSession, ...]:
        """All sessions in memory, evicted ones that are still referred to included."""
        return tuple(self._known.values())

    @property
    def kept(self) -> tuple[ChatSession, ...]:
        """The sessions that are kept, the last used last."""
        return tuple(self._kept.values())

    def add(self, session: ChatSession) -> None:
        """Keep a session that was opened."""
        self._known[session.id] = session
        self.used(session)

    def used(self, session: ChatSession) -> None:
        """Note that a session was just used; ignored if its conversation was deleted."""
        if self._known.get(session.id) is session:
            self._kept.pop(session.id, None)
            self._kept[session.id] = session
            self.evict()

    def evict(self) -> None:
        """Drop the idle sessions that were used longest ago, down to the number that is kept."""
        idle = [id for id, session in self._kept.items() if not session.in_use]
        for id in idle[: max(0, len(idle) - self._idle)]:
            del self._kept[id]

    def remove(self, id: str) -> None:
        """Drop the session of a deleted conversation."""
        self._known.pop(id, None)
        self._kept.pop(id, None)

    def clear(self) -> None:
        """Drop all sessions."""
        self._known.clear()
        self._kept.clear()
