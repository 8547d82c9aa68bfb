"""What is said while a turn runs: it waits for the end of that turn, and is sent then, in its order.

It is kept beside the log, so it outlives the program. Only after a turn that finished the next request is sent by
itself. After one that failed, was cancelled or ended with the program, what waits was perhaps said for another course
of things: the person sends it (`Waiting.go_on`) or takes it back (`Waiting.withdraw`).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from autocompact.chat.events import WaitingChanged
from autocompact.chat.notes import Queued, Unqueued
from autocompact.chat.views import WaitingRequest
from autocompact.errors import InvalidInput

if TYPE_CHECKING:
    from autocompact.chat.session import ChatSession


class Waiting:
    """The requests of one session that wait.

    Args:
        session: whose.
    """

    def __init__(self, session: ChatSession) -> None:
        self._of = session

    @property
    def requests(self) -> tuple[WaitingRequest, ...]:
        """The next one first."""
        return self._of.notes.waiting

    async def add(self, text: str) -> WaitingRequest | None:
        """Say something as soon as no turn runs; None if that is now, and it was sent.

        Raises:
            InvalidInput: it is empty, or another program answers in this conversation.
            StoreError: it could not be stored.
        """
        if not text.strip():
            raise InvalidInput("there is nothing to send in an empty message")
        if not self._of.running and not self.requests:
            await self._of.send(text)
            return None
        request = WaitingRequest(id=uuid.uuid4().hex, text=text)
        await self._of.notes.add(Queued(id=request.id, text=text))
        self.tell()
        if not self._of.running:  # the turn ended while it was stored
            await self.go_on()
        return request

    async def withdraw(self, id: str) -> str:
        """Take a request back; its text.

        Raises:
            InvalidInput: it does not wait any more.
            StoreError: that could not be stored.
        """
        found = next((each for each in self.requests if each.id == id), None)
        if found is None:
            raise InvalidInput("this message does not wait any more: it was sent, or withdrawn")
        await self._of.notes.add(Unqueued(id=id))
        self.tell()
        return found.text

    async def go_on(self) -> None:
        """Send the next one now. Nothing happens if none waits.

        Raises:
            InvalidInput: a turn is running, here or in another program.
            StoreError: it could not be stored.
        """
        if self.requests:
            await self._of.send_waiting(self.requests[0])

    def tell(self) -> None:
        """Tell what waits now."""
        self._of.tell(WaitingChanged(conversation_id=self._of.id, waiting=self.requests))
