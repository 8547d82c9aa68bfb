"""Requests that were made while a turn ran: they wait for its end, and are sent then, in order.

They are kept beside the log, so they outlive the program. Only after a turn that finished the next one is sent
automatically. After one that failed, was cancelled or ended with the program, the situation may have changed: the
person sends it (`ChatSession.send_pending`) or withdraws it (`ChatSession.withdraw`).
"""

from __future__ import annotations

import uuid

from autocompact.chat.events import Emit, PendingChanged
from autocompact.chat.notes import Notes, Queued, Unqueued
from autocompact.chat.views import PendingRequest
from autocompact.errors import InvalidInput


class PendingRequests:
    """The pending requests of one conversation.

    Args:
        conversation_id: of the conversation.
        notes: keeps them.
        emit: takes `PendingChanged`.
    """

    def __init__(self, conversation_id: str, *, notes: Notes, emit: Emit) -> None:
        self._id = conversation_id
        self._notes = notes
        self._emit = emit

    @property
    def requests(self) -> tuple[PendingRequest, ...]:
        """All pending requests, the next one first."""
        return self._notes.pending

    def get(self, id: str) -> PendingRequest:
        """The request ``id``.

        Raises:
            InvalidInput: it is not pending any more.
        """
        for request in self.requests:
            if request.id == id:
                return request
        raise InvalidInput("this message is not waiting any more: it was sent or withdrawn")

    async def add(self, text: str) -> PendingRequest:
        """Store a request at the end.

        Raises:
            StoreError: it could not be stored.
        """
        request = PendingRequest(id=uuid.uuid4().hex, text=text)
        await self._notes.add(Queued(id=request.id, text=text))
        self.emit_changed()
        return request

    async def withdraw(self, id: str) -> str:
        """Remove a request; returns its text.

        Raises:
            InvalidInput: it is not pending any more.
            StoreError: that could not be stored.
        """
        request = self.get(id)
        await self._notes.add(Unqueued(id=id))
        self.emit_changed()
        return request.text

    def emit_changed(self) -> None:
        """Emit the requests that are pending now."""
        self._emit(PendingChanged(conversation_id=self._id, pending=self.requests))
