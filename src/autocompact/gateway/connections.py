"""The connections of a gateway: uvicorn's HTTP/1.1, with limits on what has not become a request yet.

uvicorn waits for ever for a request's head and body, and for a head of any size. Here a timer stands over both: the
whole head must have come within a time of its first byte, and a body must come at a least rate, looked at after equal
spans. A span in which we did not read (the application is not ready for more) does not count. Whoever is too slow, too
large, or one connection too many gets an answer in the API's own format and is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from autocompact.gateway.config import Limits
from autocompact.gateway.exchange import CLOSE
from autocompact.gateway.refusals import Refusal

if TYPE_CHECKING:
    from autocompact.gateway.config import Provider

_ANTHROPIC = b"/v1/messages"
_LINGER = 2


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    limits: ClassVar[Limits] = Limits()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._timer: asyncio.TimerHandle | None = None
        self._in_head = True
        self._head_bytes = 0
        self._body_bytes = 0
        self._was_paused = False
        self._closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come: its first head must be here in time."""
        super().connection_made(transport)
        self.url = b""
        if len(self.connections) > self.limits.connections:
            transport.write(_answer(503, "too many connections are open", provider="openai"))
            self._closed = True
            transport.close()
        else:
            self._expect(self._head_is_late, self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of heads and bodies."""
        if self._closed:
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._timer is None:
                self._expect(self._head_is_late, self.limits.head_seconds)
        else:
            self._body_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.limits.head_bytes:
            self._refuse(431, f"the request's head is larger than {self.limits.head_bytes:,} bytes")

    def on_headers_complete(self) -> None:
        """A head is here."""
        self._stop()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.head_bytes:
            self._refuse(431, f"the request's head is larger than {self.limits.head_bytes:,} bytes")
        elif len(self.headers) > self.limits.headers:
            self._refuse(431, f"the request has more than {self.limits.headers} headers")
        if self._closed:
            return
        super().on_headers_complete()
        self._in_head = False
        if not self._should_upgrade():
            extensions = cast("dict[str, object]", self.scope.setdefault("extensions", {}))
            extensions[CLOSE] = partial(self._break_off, self.cycle)
            self._body_bytes = 0
            self._was_paused = False
            self._expect(self._body_is_looked_at, self.limits.body_seconds)

    def on_body(self, body: bytes) -> None:
        """Bytes of a body."""
        if not self._closed:
            super().on_body(body)
            self._was_paused = self._was_paused or self.flow.read_paused

    def on_message_complete(self) -> None:
        """A request is here whole: what comes next is another head."""
        self._stop()
        self._in_head = True
        self._head_bytes = 0
        if not self._closed:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP."""
        del msg
        self._refuse(400, "this is not an HTTP/1.1 request; the port speaks HTTP, not HTTPS: use http://…")

    def _unsupported_upgrade_warning(self) -> None:
        """Nobody has to install anything: there are no web sockets here, the request is answered without."""

    def _break_off(self, cycle: RequestResponseCycle) -> None:
        """Close without an end, so that nobody takes what came of an answer for all of it."""
        cycle.disconnected = True
        self.transport.close()

    def _expect(self, late: Callable[[], None], seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, late)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_late(self) -> None:
        self._timer = None
        self._refuse(408, f"the request's head did not come within {self.limits.head_seconds:g} seconds")

    def _body_is_looked_at(self) -> None:
        self._timer = None
        paused = self._was_paused or self.flow.read_paused
        if not paused and self._body_bytes < self.limits.body_rate * self.limits.body_seconds:
            self._refuse(408, f"the request's body came slower than {self.limits.body_rate:,} bytes a second")
            return
        self._body_bytes = 0
        self._was_paused = self.flow.read_paused
        self._expect(self._body_is_looked_at, self.limits.body_seconds)

    def _refuse(self, status: int, message: str) -> None:
        """Say it where an answer may stand now, and close."""
        if self._closed:
            return
        self._closed = True
        speaks = self._may_answer
        self._stop()
        self._unset_keepalive_if_required()
        if not self._in_head and not self.cycle.response_complete:
            # The application hears that its client has gone, and can send nothing more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not speaks:
            self.transport.close()
            return
        self.transport.write(_answer(status, message, provider=self._provider))
        # Closed at once with bytes unread, the client's system would throw the answer away.
        self.transport.write_eof()
        self.loop.call_later(_LINGER, self.transport.close)

    @property
    def _may_answer(self) -> bool:
        """Whether the next bytes to the client are those of the request that is coming in."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or self._in_head:
            return (cycle is None or cycle.response_complete) and self._head_bytes > 0
        return not cycle.response_started and not self.pipeline

    @property
    def _provider(self) -> Provider:
        return "anthropic" if self.url.startswith(_ANTHROPIC) else "openai"


def limited(limits: Limits) -> type[Connection]:
    """Connections with these limits: what uvicorn makes one of for each client."""
    return type("LimitedConnection", (Connection,), {"limits": limits})


def _answer(status: int, message: str, *, provider: Provider) -> bytes:
    body = Refusal(status=status, message=message).body(provider)
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
