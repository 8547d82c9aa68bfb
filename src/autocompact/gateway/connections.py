"""The connections of a gateway: uvicorn's HTTP/1.1, with limits on what has not become a request yet.

uvicorn waits for ever for a request's head and body, and for a head of any size. Here a timer stands over both: the
whole head must have come within a time of its first byte, and a body must come at a least rate, looked at after equal
spans. A span in which we did not read (the application is not ready for more) does not count. Whoever is too slow, too
large, or one connection too many gets an answer in the API's own format and is closed.

Nor does uvicorn give up a client that does not read its answer: it would hold its place and the upstream's answer for
ever. Another timer stands over what waits to be sent, from when the system takes no more of it: if nothing of it went out
in a span, the connection is broken off. Closing waits for the same bytes, so it is watched likewise.

And its parser drops the body of a request that offers to change to another protocol, and takes it for the next request.
Java's HTTP client offers HTTP/2 with the first request of each connection. Nobody has to accept such an offer (RFC 9110,
7.8), so the head is read once more without it. An offer of a web socket is different: Codex, which makes one, waits for an
answer in that protocol, and goes on with HTTP at once when it gets the status 426.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from autocompact.gateway.client import CLIENT, Client
from autocompact.gateway.config import Limits, Provider
from autocompact.gateway.exchange import Refusal, answered_by_models, is_ours

_ANTHROPIC = (b"/v1/messages", b"/messages")
_TOO_MANY = "too many connections are open"
_NO_WEB_SOCKET = "web sockets are not served here: send the request by HTTP"
_TLS = b"\x16\x03"
"""What a TLS handshake begins with."""
_LINGER = 2
"""Seconds that a client has to read why it is refused."""

_CLOSING = {426: "connection: close, upgrade\r\nupgrade: HTTP/1.1"}
"""The protocol to change to belongs to a 426 (RFC 9110, 15.5.22)."""


log = logging.getLogger("autocompact.gateway")


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
        self._is_offer = False
        self._sending: asyncio.TimerHandle | None = None
        self._client: Client | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has come: its first head must be here in time."""
        super().connection_made(transport)
        # uvicorn sets it with the first head; a refusal before that asks which API it is for
        self.url = b""
        # uvicorn has counted this one already
        if len(self.connections) > self.limits.connections:
            log.warning("a connection was refused", extra={"status": 503, "reason": _TOO_MANY})
            transport.write(_answer(503, _TOO_MANY, provider="openai"))
            self._closed = True
            self._close()
        else:
            self._expect(self._head_is_late, self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._stop()
        self._stop_sending()
        super().connection_lost(exc)
        if self._client is not None:
            self._client.leave()

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
        self._unset_keepalive_if_required()
        self._parse(data)
        if self._in_head and self._head_bytes > self.limits.head_bytes:
            self._refuse(431, f"the request's head is larger than {self.limits.head_bytes:,} bytes")

    def _parse(self, data: bytes) -> None:
        try:
            self._reading.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._closed:
                return
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            elif self._is_offer:
                self._is_offer = False
                # the parser stopped behind the head: the exception says at which byte of this chunk
                self._parse(self._head_without_offer() + data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._refuse(400, self._why(data, error))

    def _why(self, data: bytes, error: httptools.HttpParserError) -> str:
        """What is wrong with the bytes, and what to send instead; the parser's reason quotes none of them."""
        if not self._in_head:
            return f"the body of the request is malformed, in its chunks or trailers: {error}"
        if data.startswith(_TLS):
            return "the port speaks HTTP, not HTTPS: use http://…"
        if isinstance(error, httptools.HttpParserInvalidMethodError):
            return "the request's method is none that is known here: use GET, POST or DELETE"
        return f"the head of the request is not HTTP/1.1: {error}"

    @property
    def _reading(self) -> httptools.HttpRequestParser:
        assert self.parser is not None, "uvicorn drops it with the connection"
        return self.parser

    def _head_without_offer(self) -> bytes:
        kept = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        first = b"%s %s HTTP/%s" % (
            self._reading.get_method(),
            self.url,
            self._reading.get_http_version().encode(),
        )
        return b"\r\n".join((first, *kept, b"", b""))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; one that follows a body (a trailer) is dropped, as the head it would change was acted upon."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head is here."""
        if self._get_upgrade() == b"websocket" and not self._has_web_socket:
            self._refuse(426, _NO_WEB_SOCKET)
            return
        self._is_offer = (
            self._reading.should_upgrade()
            and not self._should_upgrade()
            and self._reading.get_method() != b"CONNECT"
        )
        if self._is_offer:
            return
        self._stop()
        # 4 bytes a header: the colon, the blank, and the end of the line
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
            self._introduce()
            self._body_bytes = 0
            self._was_paused = False
            self._expect(self._body_is_looked_at, self.limits.body_seconds)

    def _introduce(self) -> None:
        """Let the application know its client."""
        cycle, scope = self.cycle, self.scope
        cycle.transport = cast("asyncio.Transport", _Joining(self.transport, self.loop))
        # uvicorn tells a client to go on that waits for it, as soon as the application reads piece by piece
        collects = not self.expect_100_continue and answered_by_models(scope["method"], scope["path"])
        self._client = Client(
            collects=bool(collects), most=self.limits.body_bytes, close=partial(self._break_off, cycle)
        )
        extensions = cast("dict[str, object]", scope.setdefault("extensions", {}))
        extensions[CLIENT] = self._client

    def on_body(self, body: bytes) -> None:
        """Bytes of a body."""
        if self._closed:
            return
        if self._client is not None and self._client.collects:
            self._client.add(body)
        else:
            super().on_body(body)
            # a pause may begin and end between two looks: it counts all the same, since the client could not send
            # meanwhile
            self._was_paused = self._was_paused or self.flow.read_paused

    def on_message_complete(self) -> None:
        """A request is here whole: what comes next is another head."""
        if self._is_offer:
            return
        self._stop()
        self._in_head = True
        self._head_bytes = 0
        if not self._closed:
            super().on_message_complete()
            if self._client is not None:
                self._client.end()

    def pause_writing(self) -> None:
        """The client takes less than there is."""
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        """It took most of it."""
        # what is left when a connection closes is watched to its last byte
        if not self.transport.is_closing():
            self._stop_sending()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """An answer was written, and where no other request may follow the connection closed."""
        super().on_response_complete()
        # else uvicorn has begun the next request of the pipeline, whose client this is
        if self.cycle.response_complete:
            self._client = None
        if self.transport.is_closing():
            self._watch_sending()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing more was asked for."""
        self._close()

    def shutdown(self) -> None:
        """The server stops."""
        super().shutdown()
        if self.transport.is_closing():
            self._watch_sending()

    def _break_off(self, cycle: RequestResponseCycle) -> None:
        """Close without an end, so that nobody takes what came of an answer for all of it."""
        cycle.disconnected = True
        self._close()

    def _close(self) -> None:
        """Close as soon as the client took what was written, or takes nothing any more."""
        self.transport.close()
        self._watch_sending()

    def _watch_sending(self) -> None:
        left = self.transport.get_write_buffer_size()
        if self._sending is None and left:
            self._sending = self.loop.call_later(self.limits.send_seconds, self._sending_is_looked_at, left)

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _sending_is_looked_at(self, before: int) -> None:
        self._sending = None
        if self.transport.get_write_buffer_size() < before:
            self._watch_sending()
        else:
            self.transport.abort()

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
        # Codex begins with a web socket each time, and goes on without
        level = logging.INFO if status == HTTPStatus.UPGRADE_REQUIRED else logging.WARNING
        log.log(level, "a request was refused", extra={"status": status, "reason": message})
        self._closed = True
        speaks = self._may_answer
        self._stop()
        self._unset_keepalive_if_required()
        if not self._in_head and not self.cycle.response_complete:
            # The application hears that its client has gone, and can send nothing more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if self._client is not None:
                self._client.leave()
        if not speaks:
            self._close()
            return
        self.transport.write(_answer(status, message, provider=self._provider))
        # Closed at once with bytes unread, the client's system would throw the answer away.
        self.transport.write_eof()
        self.loop.call_later(_LINGER, self._close)

    @property
    def _may_answer(self) -> bool:
        """Whether the next bytes to the client are those of the request that is coming in."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or self._in_head:
            return (cycle is None or cycle.response_complete) and self._head_bytes > 0
        return not cycle.response_started and not self.pipeline

    @property
    def _has_web_socket(self) -> bool:
        """Whether something serves web sockets at this path: the page does, beside the gateway's own paths."""
        path = self.url.partition(b"?")[0].decode("latin-1")
        return self._should_upgrade_to_ws() and not is_ours(path)

    @property
    def _provider(self) -> Provider:
        return "anthropic" if self.url.startswith(_ANTHROPIC) else "openai"


class _Joining:
    """A transport that sends the head of an answer together with what is written right after it."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Send it; the first bytes wait until the event loop goes on."""
        # None: nothing was written; bytes: a head that waits for its body, to share a packet with it; empty: all of
        # that is out
        if self._head is None:
            self._head = data
            self._loop.call_soon(self._send_head)
        elif self._head:
            head, self._head = self._head, b""
            self._transport.writelines((head, data))
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Close it when everything is sent."""
        self._send_head()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is closed, or will be."""
        return self._transport.is_closing()

    def _send_head(self) -> None:
        if self._head and not self._transport.is_closing():
            self._transport.write(self._head)
        self._head = b""


def limited(limits: Limits) -> type[Connection]:
    """Connections with these limits: what uvicorn makes one of for each client."""
    return type("LimitedConnection", (Connection,), {"limits": limits})


def _answer(status: int, message: str, *, provider: Provider) -> bytes:
    body = Refusal(status=status, message=message).body(provider)
    again = "retry-after: 1\r\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n{again}"
        f"content-length: {len(body)}\r\n{_CLOSING.get(status, 'connection: close')}\r\n\r\n"
    )
    return head.encode() + body
