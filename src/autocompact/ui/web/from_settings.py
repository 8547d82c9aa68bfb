"""The page as the settings have it."""

from __future__ import annotations

import hmac
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from autocompact.chat import ChatService
from autocompact.chat.setup import Setup
from autocompact.settings import Loaded, Settings
from autocompact.ui.web.app import page_app
from autocompact.ui.web.security import App


def page_of(load: Callable[[], Loaded], *, secret: bytes, folder: Path | None = None) -> App:
    """The page that the settings describe; on the first start it holds an example.

    Args:
        load: the settings as they hold, now and after each change on the page.
        secret: what the page's cookie is made from; the same after a restart, so that open pages go on.
        folder: where the agent works unless the settings name another place; None is the current folder.

    Raises:
        InvalidInput: settings that do not go together.
    """
    settings = load().settings
    setup = Setup(load=load, folder=folder or Path.cwd())
    setup.chat()

    @asynccontextmanager
    async def opening() -> AsyncGenerator[ChatService]:
        async with setup.opened() as service:
            await service.seed_example()
            yield service

    key = page_key(settings, secret=secret)
    # whoever had the cookie while no key was asked for has not the one of now
    token = _derived(secret, f"the cookie of the page {key}")
    # a page for any name would be one that every site can have under its own
    hosts = frozenset(settings.gateway.allow_hosts) - {"*"}
    return page_app(opening, token=token, hosts=hosts, key=key, setup=setup)


def page_key(settings: Settings, *, secret: bytes) -> str:
    """The key that the page's address has to hold, the same after a restart; "" where none is asked for."""
    return _derived(secret, "the key of the page")[:32] if settings.chat.page_key else ""


def _derived(secret: bytes, name: str) -> str:
    return hmac.digest(secret, name.encode(), "sha256").hex()
