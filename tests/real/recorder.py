"""A pass-through that keeps what a client says, before the gateway sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
import msgspec
from aiohttp import web

NUMBER = "x-recorded-request"
"""The header that tells which request of the client a request upstream came from."""

_OF_THE_HOP = {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "accept-encoding"}


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request of the client, and how it was answered."""

    method: str
    path: str
    raw: bytes
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def body(self) -> dict[str, Any]:
        """The body decoded; empty where it is no JSON object."""
        try:
            return msgspec.json.decode(self.raw, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}


class Recorder:
    """Forwards everything to ``target``: an asynchronous context manager, on a free port of 127.0.0.1."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._runner: web.AppRunner | None = None
        self._client: aiohttp.ClientSession | None = None
        self.exchanges: list[Exchange] = []
        self.url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._forward)
        self._client = aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=300))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *failure: object) -> None:
        assert self._runner is not None
        assert self._client is not None
        await self._runner.cleanup()
        await self._client.close()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        assert self._client is not None
        raw = await request.read()
        exchange = Exchange(method=request.method, path=request.path, raw=raw)
        self.exchanges.append(exchange)
        upgrade = "upgrade" in request.headers
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OF_THE_HOP}
        headers |= {NUMBER: str(len(self.exchanges) - 1)} | ({"Connection": "Upgrade"} if upgrade else {})
        target = f"{self._target}{request.path_qs}"
        async with self._client.request(request.method, target, headers=headers, data=raw or None) as answer:
            exchange.status, exchange.headers = answer.status, dict(answer.headers)
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _OF_THE_HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
        await response.write_eof()
        return response
