"""The way to the providers: one aiohttp session, no redirects, no cookies, bytes as they come.

A server may close an idle connection just when the next request is on its way there. Connections are given up before
most servers do that (many wait 5 seconds); if it happens all the same, before a byte of an answer came, a request that
is whole in memory is sent once more. On a new connection that would be no such race, and the answer is a 502.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterable, Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from autocompact.gateway.config import Config
from autocompact.gateway.exchange import Exchange, Header, to_upstream
from autocompact.gateway.refusals import ClientGone, Refusal, Refused

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.connector import Connection

_NOT_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_CONNECT_SECONDS = 10
_SILENT_SECONDS = 600
_IDLE_SECONDS = 4
_FINAL = range(200, 600)
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_NO_HTTP = "what it answered is not HTTP"
_PATIENCE_SECONDS = 5
_PIECE_BYTES = 1 << 20
"""Larger bodies are sent in pieces, so that one of many megabytes holds up nobody else's answer."""

_COPIED_BYTES = 1 << 16
"""Larger bodies follow their head, which is on its way then; a smaller one is copied behind it, into one packet."""

log = logging.getLogger("autocompact.gateway")


class Upstream:
    """Sends requests to the configured addresses, and nowhere else. Open it with `start`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Open the session."""
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=_connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS
            ),
            auto_decompress=False,
            skip_auto_headers=_NOT_OURS,
            max_line_size=65_536,
            max_field_size=65_536,
        )

    async def send(
        self,
        exchange: Exchange,
        body: bytes | AsyncIterable[bytes] | None,
        *,
        written: Callable[[], object] | None = None,
    ) -> aiohttp.ClientResponse:
        """The provider's response, its body still to be read.

        Args:
            exchange: the client's request.
            body: of the request to the provider.
            written: called as soon as a body of bytes is on its way; again, where it has to be sent again.

        Raises:
            Refused: there is no such upstream, or it cannot be reached.
            ClientGone: the body came from a client that went away.
        """
        address = self._config.upstreams.get(exchange.provider)
        if address is None or self._session is None:
            raise Refused(
                Refusal(
                    status=404,
                    message=f"this gateway has no upstream for {exchange.provider}: "
                    f"start it with --upstream {exchange.provider}=https://…",
                )
            )
        headers = to_upstream(exchange, key=self._config.upstream_keys.get(exchange.provider))
        length = exchange.header(b"content-length")
        if length and not isinstance(body, bytes | None):
            headers.append((b"content-length", length))
        try:
            response = await self._asked(
                exchange, address, headers=_decoded(headers), body=body, written=written
            )
            if _may_be_passed_on(response):
                return response
            response.close()
            reason = _NO_HTTP
        except _failures() as error:
            if isinstance(error.__cause__, ClientGone):
                raise error.__cause__ from None
            reason = _reason(error)
        log.warning(
            "an upstream cannot be reached",
            extra={"provider": exchange.provider, "address": address, "reason": reason},
        )
        message = f"the upstream for {exchange.provider} cannot be reached: {reason}"
        raise Refused(Refusal(status=502, message=message))

    async def _asked(
        self,
        exchange: Exchange,
        address: str,
        *,
        headers: list[tuple[str, str]],
        body: bytes | AsyncIterable[bytes] | None,
        written: Callable[[], object] | None,
    ) -> aiohttp.ClientResponse:
        """The response, asked for once more where a connection that had been idle was closed under the request."""
        import aiohttp
        from yarl import URL

        assert self._session is not None, "it was started"
        url = URL(address + exchange.target, encoded=True)
        again = isinstance(body, bytes | None)
        way = _Way()
        _WAY.set(way)
        while True:
            try:
                return await self._session.request(
                    exchange.method,
                    url,
                    headers=headers,
                    data=_whole()(body, written) if isinstance(body, bytes) else body,
                    allow_redirects=False,
                )
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
                answering = not isinstance(getattr(error, "message", ""), str)
                if not again or not way.is_used or answering:
                    raise
                again = False

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()


def _decoded(headers: Sequence[Header]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in headers]


@dataclass(slots=True)
class _Way:
    """How a request goes: ``is_used`` if its connection has served another one before."""

    is_used: bool = False


_WAY: ContextVar[_Way] = ContextVar("way")


def _connector() -> aiohttp.TCPConnector:
    """Connections that tell the request whether they are new; aiohttp's tracing would tell it, too, for more time."""
    import aiohttp

    served: WeakSet[object] = WeakSet()

    class Connector(aiohttp.TCPConnector):
        async def connect(self, *arguments: Any, **named: Any) -> Connection:
            connection = await super().connect(*arguments, **named)
            protocol = connection.protocol
            _WAY.get().is_used = protocol in served
            served.add(protocol)
            return connection

    return Connector(limit=0, keepalive_timeout=_IDLE_SECONDS)


@cache
def _whole() -> Callable[[bytes, Callable[[], object] | None], aiohttp.Payload]:
    """A body that is in memory, sent without a copy, and in pieces where it is large."""
    import aiohttp

    class Whole(aiohttp.Payload):
        _autoclose = True

        def __init__(self, body: bytes, written: Callable[[], object] | None) -> None:
            super().__init__(body)
            self._size = len(body)
            self._body = body
            self._written = written

        def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
            return self._body.decode(encoding, errors)

        async def write(self, writer: AbstractStreamWriter) -> None:
            if len(self._body) > _COPIED_BYTES:
                writer.send_headers()
            if len(self._body) <= _PIECE_BYTES:
                await writer.write(self._body)
            else:
                for start in range(0, len(self._body), _PIECE_BYTES):
                    await writer.write(self._body[start : start + _PIECE_BYTES])
                    await asyncio.sleep(0)
            if self._written is not None:
                self._written()

    return Whole


def _may_be_passed_on(response: aiohttp.ClientResponse) -> bool:
    """Whether this is a final answer that a server may send: aiohttp takes any status, and any byte in a header."""
    values = b"".join([value for _, value in response.raw_headers])
    return response.status in _FINAL and _CONTROL.search(values) is None


def _failures() -> tuple[type[Exception], ...]:
    import aiohttp

    return (aiohttp.ClientError, TimeoutError, ValueError)


def _reason(error: Exception) -> str:
    """In words, without what was sent."""
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"it did not take a connection within {_CONNECT_SECONDS} seconds"
    if isinstance(error, TimeoutError):
        return f"it said nothing for {_SILENT_SECONDS} seconds"
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
        return "its TLS certificate is not accepted, or it speaks no TLS"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"{error.strerror or 'no connection'}; does it run, and is --upstream its address?"
    if isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError):
        return "it closed the connection without an answer"
    if isinstance(error, aiohttp.ClientResponseError):
        return _NO_HTTP
    return type(error).__name__


class First:
    """A request that goes upstream as it came, before it is known what conversation it belongs to.

    Args:
        upstream: the way there.
        exchange: the request.
        body: of it.

    Attributes:
        at: when it went, on the monotonic clock; None if it did not.
    """

    def __init__(self, upstream: Upstream, exchange: Exchange, *, body: bytes) -> None:
        self.at: float | None = None
        self._upstream = upstream
        self._exchange = exchange
        self._body = body
        self._asking: asyncio.Task[aiohttp.ClientResponse] | None = None

    @property
    def is_sent(self) -> bool:
        """Whether it went."""
        return self._asking is not None

    async def send(self) -> None:
        """Send it; returns when all of it is on its way, or that failed, or takes too long to wait for."""
        self.at = time.perf_counter()
        written = asyncio.Event()
        asking = self._upstream.send(self._exchange, self._body, written=written.set)
        self._asking = asyncio.create_task(asking)
        self._asking.add_done_callback(lambda _: written.set())
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await written.wait()

    async def answer(self) -> aiohttp.ClientResponse:
        """What came back."""
        assert self._asking is not None, "it was sent"
        return await self._asking

    def close(self) -> None:
        """Let go of the answer, if nobody did before."""
        if self._asking is None or self._asking.cancelled():
            return
        if not self._asking.done():
            self._asking.cancel()
        elif self._asking.exception() is None:
            self._asking.result().close()
