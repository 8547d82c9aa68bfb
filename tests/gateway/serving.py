"""A gateway before a fake provider, both on loopback."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.ports import ConversationStore
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider

NAMESPACE_KEY = b"a key of thirty-two bytes, or so"


def config(provider: FakeProvider, **settings: Any) -> Config:
    upstreams = {"openai": provider.url, "anthropic": provider.url}
    chosen: dict[str, Any] = {"upstreams": upstreams, "namespace_key": NAMESPACE_KEY} | settings
    return Config(**chosen)


@asynccontextmanager
async def gateway_before(
    provider: FakeProvider, *, store: ConversationStore | None = None, **settings: Any
) -> AsyncGenerator[str]:
    """The gateway's address, without ``/v1``."""
    gateway = Gateway(config(provider, **settings), store=store or MemoryStore())
    async with running(gateway) as url:
        yield url
