"""The way to the providers: one aiohttp session, no redirects, no cookies, bytes as they come."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from autocompact.gateway.config import Config
from autocompact.gateway.exchange import Exchange, Header, to_upstream
from autocompact.gateway.refusals import Refusal, Refused

if TYPE_CHECKING:
    import aiohttp

_NOT_OURS = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_CONNECT_SECONDS = 10
_SILENT_SECONDS = 600
_IDLE_SECONDS = 10
_PIECE_BYTES = 1 << 20
"""Larger bodies are sent in pieces, so that one of many megabytes holds up nobody else's answer."""


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
        )

    async def send(
        self, exchange: Exchange, body: bytes | AsyncIterable[bytes] | None
    ) -> aiohttp.ClientResponse:
        """The provider's response, its body still to be read.

        Raises:
            Refused: there is no such upstream, or it cannot be reached.
        """
        import aiohttp
        from yarl import URL

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
            return await self._session.request(
                exchange.method,
                URL(address + exchange.target, encoded=True),
                headers=_decoded(headers),
                data=BytesIO(body) if isinstance(body, bytes) and len(body) > _PIECE_BYTES else body,
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            reason = type(error).__name__
        raise Refused(
            Refusal(status=502, message=f"the upstream for {exchange.provider} cannot be reached ({reason})")
        )

    async def aclose(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()


def _decoded(headers: Sequence[Header]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in headers]
