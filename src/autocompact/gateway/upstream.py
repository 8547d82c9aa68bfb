"""The way to the providers: one aiohttp session, no redirects, no cookies, bytes as they come.

A server may close an idle connection just when the next request is on its way there. Connections are given up before
most servers do that (many wait 5 seconds); if it happens all the same, before a byte of an answer came, a request that
is whole in memory is sent once more. On a new connection that would be no such race, and the answer is a 502.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

from autocompact.gateway.config import Config
from autocompact.gateway.exchange import Exchange, Header, to_upstream
from autocompact.gateway.refusals import ClientGone, Refusal, Refused

if TYPE_CHECKING:
    import aiohttp

_NOT_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_CONNECT_SECONDS = 10
_SILENT_SECONDS = 600
_IDLE_SECONDS = 4
_PIECE_BYTES = 1 << 20
"""Larger bodies are sent in pieces, so that one of many megabytes holds up nobody else's answer."""

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
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS
            ),
            auto_decompress=False,
            skip_auto_headers=_NOT_OURS,
            max_line_size=65_536,
            max_field_size=65_536,
            trace_configs=[_tracing()],
        )

    async def send(
        self, exchange: Exchange, body: bytes | AsyncIterable[bytes] | None
    ) -> aiohttp.ClientResponse:
        """The provider's response, its body still to be read.

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
            return await self._asked(exchange, address, headers=_decoded(headers), body=body)
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
    ) -> aiohttp.ClientResponse:
        """The response, asked for once more where a connection that had been idle was closed under the request."""
        import aiohttp
        from yarl import URL

        assert self._session is not None, "it was started"
        url = URL(address + exchange.target, encoded=True)
        again = isinstance(body, bytes | None)
        while True:
            way = _Way()
            try:
                return await self._session.request(
                    exchange.method,
                    url,
                    headers=headers,
                    data=BytesIO(body) if isinstance(body, bytes) and len(body) > _PIECE_BYTES else body,
                    allow_redirects=False,
                    trace_request_ctx=way,
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
    """How a request went: ``is_used`` if its connection had served another one before."""

    is_used: bool = False


def _tracing() -> aiohttp.TraceConfig:
    import aiohttp

    async def reused(_: aiohttp.ClientSession, context: SimpleNamespace, *told: object) -> None:
        del told
        context.trace_request_ctx.is_used = True

    tracing = aiohttp.TraceConfig()
    tracing.on_connection_reuseconn.append(reused)
    return tracing


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
        return "what it answered is not HTTP"
    return type(error).__name__
