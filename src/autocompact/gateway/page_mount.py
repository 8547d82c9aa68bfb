"""Another ASGI application beside the gateway, on the same port: the chat page.

What the gateway answers stays its own (``/v1``, ``/autocompact``, ``/metrics``, ``/messages`` and others that stand for
``/v1/messages``); every other path is the page's. A browser only reaches the page under a name that the gateway is known by (DNS rebinding), and a web
socket only from a page of the same origin.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from autocompact.gateway.app import Gateway
from autocompact.gateway.exchange import host_name, is_ours, malformed
from autocompact.gateway.relay import Event, Receive, Send

Application: TypeAlias = Callable[..., Awaitable[None]]

log = logging.getLogger("autocompact.gateway")


class PageMount:
    """The gateway and a page as one application, with the lifespans of both.

    Args:
        gateway: answers what is its own.
        page: answers the rest.
    """

    def __init__(self, gateway: Gateway, page: Application) -> None:
        self._gateway = gateway
        self._page = page

    async def __call__(self, scope: Mapping[str, Any], *channels: Any) -> None:
        """One request, one web socket, or the lifespan; ``channels`` are ASGI's ``receive`` and ``send``."""
        receive: Receive
        send: Send
        receive, send = channels
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive=receive, send=send)
        elif scope["type"] == "http" and is_ours(scope["path"]):
            await self._gateway(dict(scope), receive, send)
        elif (unclear := _unclear(scope)) is not None:
            await _refuse(send, status=unclear[0], text=unclear[1])
        elif self._may_enter(scope):
            await self._page(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _refuse(send, status=403, text="this address is not known by that name: see --allow-host")

    def _may_enter(self, scope: Mapping[str, Any]) -> bool:
        headers = dict(scope["headers"])
        host: bytes = headers.get(b"host", b"").lower()
        hosts = self._gateway.config.hosts
        if "*" not in hosts and host_name(host) not in hosts:
            return False
        origin: bytes = headers.get(b"origin", b"").lower()
        return scope["type"] != "websocket" or origin.partition(b"://")[2] in (b"", host)

    async def _lifespan(self, scope: Mapping[str, Any], *, receive: Receive, send: Send) -> None:
        """The page starts after the gateway and stops before it; a page that fails to start stops both."""
        page = _Lifespan(self._page, scope)

        async def both(event: Event) -> None:
            if event["type"] == "lifespan.startup.complete":
                event = await page.told("lifespan.startup") or event
            elif event["type"] == "lifespan.shutdown.complete":
                await page.ended()  # who is told of it may end the event loop at once
            await send(event)

        async def after() -> Event:
            event = await receive()
            if event["type"] == "lifespan.shutdown":
                await page.told("lifespan.shutdown")
            return event

        try:
            await self._gateway({**scope}, after, both)
        finally:
            await page.ended()


def _unclear(scope: Mapping[str, Any]) -> tuple[int, str] | None:
    if scope["type"] != "http":
        return None
    hosts = sum(name == b"host" for name, _ in scope["headers"])
    return malformed(scope["method"], scope.get("raw_path") or scope["path"].encode(), hosts=hosts)


async def _refuse(send: Send, *, status: int, text: str) -> None:
    log.warning("a request was refused", extra={"status": status, "reason": text})
    body = f"{text}\n".encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class _Lifespan:
    """The lifespan of one application, driven from outside; one without a lifespan is left alone."""

    def __init__(self, application: Application, scope: Mapping[str, Any]) -> None:
        self._application = application
        self._scope = scope
        self._in: asyncio.Queue[Event] = asyncio.Queue()
        self._out: asyncio.Queue[Event] = asyncio.Queue()
        self._task: asyncio.Future[None] | None = None

    async def told(self, kind: str) -> Event | None:
        """Tell the application; what it says if it failed."""
        if self._task is None:
            self._task = asyncio.ensure_future(
                self._application({**self._scope}, self._in.get, self._out.put)
            )
        self._in.put_nowait({"type": kind})
        answer = asyncio.ensure_future(self._out.get())
        await asyncio.wait({answer, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            return None
        event = answer.result()
        return event if event["type"].endswith(".failed") else None

    async def ended(self) -> None:
        """Wait for the application's end."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()
