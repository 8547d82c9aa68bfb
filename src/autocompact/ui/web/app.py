"""The page as an ASGI application.

NiceGUI has one application per process, so there is one page per process.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import get_args

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from nicegui import Client, core, ui

from autocompact.chat import ChatService, ChatSession
from autocompact.chat.attachments import Uploads
from autocompact.chat.setup import Setup
from autocompact.errors import AutocompactError
from autocompact.history.outgoing import ExportFormat
from autocompact.ui.web.addresses import disposition
from autocompact.ui.web.attaching import serve_attachments
from autocompact.ui.web.diagrams import frame_folder, serve_frame
from autocompact.ui.web.security import App, Guard
from autocompact.ui.web.static import ASSETS, KeptFiles, assets_hash
from autocompact.ui.web.tab import Tab, first_conversation

TYPES = {"markdown": "text/markdown", "jsonl": "application/jsonl"}
ENDINGS = {"markdown": "md", "jsonl": "jsonl"}
_FRAME = 4 * 2**20
"""Bytes that a page may send at once: the longest message (`autocompact.ui.web.composer.MOST`) in UTF-8."""

Opening = Callable[[], AbstractAsyncContextManager[ChatService]]


def page_app(
    opening: Opening,
    *,
    token: str,
    hosts: frozenset[str] = frozenset(),
    key: str = "",
    setup: Setup | None = None,
) -> App:
    """The page of the conversations that ``opening`` opens when the server starts.

    Args:
        opening: opens the service; it is closed when the server stops.
        token: what the page's cookie says; keep it over restarts, so that open pages go on.
        hosts: further names of this computer, ``*`` for any.
        key: the page is only opened with it, as ``/?key=…``; "" opens it to whoever can reach it.
        setup: connects models and changes settings; None offers neither.
    """
    services: list[ChatService] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with opening() as service:
            services.append(service)
            yield
            services.clear()

    app = FastAPI(lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    version = assets_hash()
    app.mount(f"/page/{version}", KeptFiles(directory=ASSETS))
    frame = frame_folder(token, version=version)
    head = _head(version) + serve_frame(app, folder=frame)
    _exports(app, services)
    _messages(app, services)
    uploads = Uploads()
    serve_attachments(app, services, uploads=uploads)
    _pages(services, head=head, setup=setup, uploads=uploads)
    ui.run_with(  # pyright: ignore[reportUnknownMemberType] - its root is a function of any kind
        app,
        title="autocompact",
        favicon=ASSETS / "icon.svg",
        language="en-US",
        reconnect_timeout=20.0,
        gzip_middleware_factory=None,
        tailwind=False,
        show_welcome_message=False,
    )
    core.sio.eio.max_http_buffer_size = _FRAME  # pyright: ignore[reportUnknownMemberType] - it has no types
    return Guard(app, token=token, frame=frame, hosts=hosts, key=key)


def _head(version: str) -> str:
    scripts = ("attach.js", "alive.js", "page.js", "diagrams.js", "formulas.js")
    return f'<link rel="stylesheet" href="/page/{version}/page.css">' + "".join(
        f'<script src="/page/{version}/{name}" defer></script>' for name in scripts
    )


def _exports(app: FastAPI, services: list[ChatService]) -> None:
    @app.get("/export/{id:path}/{format}")
    async def export(id: str, format: str) -> Response:
        known = [name for name in get_args(ExportFormat) if name == format]
        if not known:
            return Response(f"no such format: {format}", status_code=404, media_type="text/plain")
        try:
            content = await services[0].export(id, format=known[0])
        except AutocompactError as error:
            return Response(str(error), status_code=404, media_type="text/plain")
        name = f"{id}.{ENDINGS.get(format, 'json')}"
        return Response(
            content,
            media_type=TYPES.get(format, "application/json"),
            headers={"content-disposition": disposition(name), "cache-control": "no-store"},
        )


def _messages(app: FastAPI, services: list[ChatService]) -> None:
    @app.get("/markdown/{id:path}/{seq}")
    async def written(id: str, seq: int) -> Response:
        try:
            session = await services[0].open(id)
            (message,) = await session.conversation.history(from_seq=seq, through_seq=seq)
        except (AutocompactError, ValueError):
            return Response(f"no message {seq} in {id}", status_code=404, media_type="text/plain")
        return Response(message.text, media_type="text/plain", headers={"cache-control": "no-store"})


def _pages(services: list[ChatService], *, head: str, setup: Setup | None, uploads: Uploads) -> None:
    @ui.page("/", response_timeout=120.0)
    async def first(request: Request, client: Client) -> None:
        session = await first_conversation(services[0])
        ui.add_head_html(head)
        await _shown(request, Tab(services[0], client, setup=setup, uploads=uploads), session=session)

    @ui.page("/c/{id:path}", response_timeout=120.0)
    async def one(request: Request, client: Client, *, id: str) -> Response | None:
        try:
            session = await services[0].open(id)
        except AutocompactError:
            return RedirectResponse("/")
        ui.add_head_html(head)
        await _shown(request, Tab(services[0], client, setup=setup, uploads=uploads), session=session)
        return None


async def _shown(request: Request, tab: Tab, *, session: ChatSession) -> None:
    """Show a conversation in a new tab."""
    ui.dark_mode({"dark": True, "light": False}.get(request.cookies.get("autocompact_theme", "")))
    tab.client.content.classes(remove="nicegui-content")
    await tab.open(session)
