"""Asks a FakeProvider over HTTP, with a client that knows nothing of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from autocompact.testing import FakeProvider

PATHS = {"chat": "/chat/completions", "responses": "/responses", "anthropic": "/messages"}
HI: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "Say hi"}]},
    "responses": {"model": "m", "input": "Say hi"},
    "anthropic": {"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": "Say hi"}]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A response."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        """The body decoded."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """What an error says."""
        return self.json["error"]["message"]


async def ask(
    provider: FakeProvider,
    path: str,
    body: Any,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> Told:
    """The response to a request; ``body`` is JSON, or bytes as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"anthropic-version": "2023-06-01", "Content-Type": "application/json", **(headers or {})}
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, provider.base_url + path, data=raw or None, headers=sent) as response,
    ):
        return Told(status=response.status, body=await response.read(), headers=response.headers)


async def refused(path: str, body: Any) -> str:
    """What the API says of a request that it must refuse with 400."""
    async with FakeProvider("never") as provider:
        told = await ask(provider, path, body)
    assert told.status == 400, told.body
    return told.error


async def accepted(path: str, body: Any) -> None:
    """The API takes the request."""
    async with FakeProvider("fine") as provider:
        told = await ask(provider, path, body)
    assert told.status == 200, told.body
