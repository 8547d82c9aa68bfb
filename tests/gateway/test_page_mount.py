from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import config

pytestmark = pytest.mark.anyio


class Page:
    """A page with a lifespan and a web socket."""

    def __init__(self) -> None:
        self.lived: list[str] = []
        routes = [Route("/{path:path}", self.get), WebSocketRoute("/socket", self.socket)]
        self.app = Starlette(routes=routes, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        self.lived.append("begun")
        yield
        self.lived.append("ended")

    async def get(self, request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"the page at {request.url.path}")

    async def socket(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())
        await socket.close()


@asynccontextmanager
async def both(page: Page) -> AsyncGenerator[str]:
    async with FakeProvider() as provider:
        gateway = Gateway(config(provider), store=MemoryStore())
        async with running(gateway, page=page.app) as url:
            yield url


async def test_the_page_has_what_is_not_the_gateways_and_its_lifespan() -> None:
    page = Page()
    async with both(page) as url, aiohttp.ClientSession() as session:
        assert page.lived == ["begun"]
        for path in ("/", "/v1x", "/static/a.js"):
            async with session.get(url + path) as response:
                assert await response.text() == f"the page at {path}"
        for path in ("/autocompact/health", "/v1/models", "/models", "/metrics"):
            async with session.get(url + path) as response:
                assert response.status == 200
                assert "the page" not in await response.text()
        async with session.get(f"{url}/autocompact") as response:
            assert "<h1>The gateway is running</h1>" in await response.text()
    assert page.lived == ["begun", "ended"]


async def test_a_page_is_not_shown_under_a_name_that_is_not_known() -> None:
    async with (
        both(Page()) as url,
        aiohttp.ClientSession() as session,
        session.get(url, headers={"Host": "evil.example"}) as response,
    ):
        assert (response.status, "see --allow-host" in await response.text()) == (403, True)


@pytest.mark.parametrize("path", ["/v1/responses", "/responses?model=m"])
async def test_a_web_socket_at_a_path_of_the_gateway_is_refused_with_426_beside_a_page_too(path: str) -> None:
    async with both(Page()) as url, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(url + path)
    assert refused.value.status == 426


async def test_a_web_socket_is_for_pages_of_the_same_origin() -> None:
    async with both(Page()) as url, aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{url}/socket", headers={"Origin": url}) as socket:
            await socket.send_str("hello")
            assert await socket.receive_str() == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(f"{url}/socket", headers={"Origin": "http://evil.example"})


async def test_a_page_without_a_lifespan_is_served_as_well() -> None:
    async def plain(scope: object, receive: object, send: object) -> None:
        raise NotImplementedError

    async with FakeProvider() as provider:
        gateway = Gateway(config(provider), store=MemoryStore())
        async with (
            running(gateway, page=plain) as url,
            aiohttp.ClientSession() as session,
            session.get(f"{url}/autocompact/health") as response,
        ):
            assert response.status == 200
