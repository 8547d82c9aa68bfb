"""The way to the providers: one aiohttp session, no redirects, no cookies, bytes as they come.

A server may close an idle connection just when the next request is on its way there. Connections are given up before
most servers do that (many wait 5 seconds); if it happens all the same, before a byte of an answer came, a request that
is whole in memory is sent once more. On a new connection that would be no such race, and the answer is a 502.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.connector import Connection
from yarl import URL

from autocompact.gateway.config import Config
from autocompact.gateway.exchange import ClientGone, Exchange, Header, Refusal, Refused, to_upstream

_NOT_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_CONNECT_SECONDS = 10
_SILENT_SECONDS = 600
_IDLE_SECONDS = 4
_FINAL = range(200, 600)
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_NO_HTTP = "what it answered is not HTTP"
_PIECE_BYTES = 1 << 20
"""Larger bodies are sent in pieces, so that one of many megabytes holds up nobody else's answer."""

_COPIED_BYTES = 1 << 16
"""Larger bodies follow their head, which is on its way then; a smaller one is copied behind it, into one packet."""

_FAILURES = (aiohttp.ClientError, TimeoutError, ValueError)

log = logging.getLogger("autocompact.gateway")


class Upstream:
    """Sends requests to the configured addresses, and nowhere else. Open it with `start`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Open the session."""
        self._session = aiohttp.ClientSession(
            # no bound of its own: the gateway bounds its requests, and one that waits here would be a slow provider to its client
            connector=_Connector(limit=0, keepalive_timeout=_IDLE_SECONDS),
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
        self, exchange: Exchange, body: bytes | AsyncIterable[bytes] | None
    ) -> aiohttp.ClientResponse:
        """The provider's response, its body still to be read.

        Args:
            exchange: the client's request.
            body: of the request to the provider.

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
            # without it aiohttp sends chunks, which not every server takes
            headers.append((b"content-length", length))
        try:
            response = await self._asked(exchange, address, headers=_decoded(headers), body=body)
            if _may_be_passed_on(response):
                sent = len(body) if isinstance(body, bytes) else int(length or 0)
                return response if exchange.metered is None else exchange.metered(response, sent=sent)
            response.close()
            reason = _NO_HTTP
        except _FAILURES as error:
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
    ) -> aiohttp.ClientResponse:
        """The response, asked for once more where a connection that had been idle was closed under the request."""
        assert self._session is not None, "it was started"
        # the escapes are the client's: yarl would write some of them in another way, and a signed path be another one
        url = URL(address + exchange.target, encoded=True)
        again = isinstance(body, bytes | None)
        way = _Way()
        # aiohttp hands its connector nothing of ours, but runs it in this task's context
        _WAY.set(way)
        while True:
            try:
                return await self._session.request(
                    exchange.method,
                    url,
                    headers=headers,
                    data=_Whole(body) if isinstance(body, bytes) else body,
                    allow_redirects=False,
                )
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
                # aiohttp puts the head there if one had begun: the server acts on the request, so it must not get it
                # twice
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


_SERVED: WeakSet[object] = WeakSet()
"""Connections that have served a request."""


class _Connector(aiohttp.TCPConnector):
    """Connections that tell the request whether they are new; aiohttp's tracing would tell it, too, for more time."""

    async def connect(self, *arguments: Any, **named: Any) -> Connection:
        connection = await super().connect(*arguments, **named)
        protocol = connection.protocol
        _WAY.get().is_used = protocol in _SERVED
        _SERVED.add(protocol)
        return connection


class _Whole(aiohttp.Payload):
    """A body that is in memory, sent without a copy, and in pieces where it is large."""

    _autoclose = True

    def __init__(self, body: bytes) -> None:
        super().__init__(body)
        self._size = len(body)
        self._body = body

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._body.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        if len(self._body) > _COPIED_BYTES:
            writer.send_headers()
        if len(self._body) <= _PIECE_BYTES:
            await writer.write(self._body)
            return
        for start in range(0, len(self._body), _PIECE_BYTES):
            await writer.write(self._body[start : start + _PIECE_BYTES])
            # write() returns at once as long as the socket takes everything: others get their turn here
            await asyncio.sleep(0)


def _may_be_passed_on(response: aiohttp.ClientResponse) -> bool:
    """Whether this is a final answer that a server may send: aiohttp takes any status, and any byte in a header."""
    values = b"".join([value for _, value in response.raw_headers])
    return response.status in _FINAL and _CONTROL.search(values) is None


def _reason(error: Exception) -> str:
    """In words, without what was sent."""
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
