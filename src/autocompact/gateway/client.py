"""The client of a request, as our own server sees it: more than ASGI tells, in fewer steps.

ASGI hands a body over piece by piece, each piece copied and a task woken for it, and who wants to know that a client goes
away has to wait for that in a task of its own. A request that a model answers is read whole and watched, so the
connection collects its body, and calls back when its client goes away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from autocompact.gateway.exchange import ClientGone, Refused, too_large

CLIENT = "autocompact.client"
"""ASGI extension of our server: the `Client` of the request."""


class Client:
    """The client of one request, told by its connection what comes.

    Args:
        collects: whether the connection collects the body; else ASGI hands it over.
        most: bytes that a collected body may have.
        close: closes the connection in the midst of an answer that cannot be ended.

    Attributes:
        collects: see above.
        close: see above.
    """

    def __init__(self, *, collects: bool, most: int, close: Callable[[], None]) -> None:
        self.collects = collects
        self.close = close
        self._most = most
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_whole = self._is_gone = False
        self._waiting: asyncio.Future[None] | None = None
        self._leave: Callable[[], None] | None = None

    async def body(self) -> bytes:
        """The whole body that was collected.

        Raises:
            ClientGone: the client went away before all of it was here.
            Refused: it is too large.
        """
        if not self._is_settled:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        if self._size > self._most:
            raise Refused(too_large(self._most))
        if not self._is_whole:
            raise ClientGone
        pieces, self._pieces = self._pieces, []
        # one piece joined would be copied: most bodies come in one
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def when_gone(self, leave: Callable[[], None]) -> None:
        """Call ``leave`` as soon as the client goes away, at once if it has."""
        self._leave = leave
        if self._is_gone:
            leave()

    # What the connection tells

    def add(self, piece: bytes) -> None:
        """Bytes of the body."""
        self._size += len(piece)
        if self._size > self._most:
            # it is refused whatever comes, so nothing of it is kept
            self._pieces.clear()
            self._settle()
        else:
            self._pieces.append(piece)

    def end(self) -> None:
        """The body is here whole."""
        self._is_whole = True
        self._settle()

    def leave(self) -> None:
        """The client has gone, or was sent away."""
        self._is_gone = True
        self._settle()
        if self._leave is not None:
            self._leave()

    @property
    def _is_settled(self) -> bool:
        return self._is_whole or self._is_gone or self._size > self._most

    def _settle(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
