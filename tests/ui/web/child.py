"""A server with the page, in a process of its own: ``python -m tests.ui.web.child PORT DB WORKSPACE SETTINGS``."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import uvicorn

from autocompact.chat import ChatConfig, ChatService, CommandRules, opened
from autocompact.ui.web import page_app


class Wanted(msgspec.Struct):
    """What of the settings a test chooses."""

    model: str | None = None
    window: int | None = None
    commands: bool = False
    example: bool = False
    memory: str = "."
    titles: bool = False
    mcp: str = ""


def main(port: str, db: str, *rest: str) -> None:
    workspace, settings = rest
    wanted = msgspec.json.decode(settings, type=Wanted)
    config = ChatConfig(
        model=wanted.model,
        window=wanted.window,
        workspace=Path(workspace),
        memory_folder=Path(workspace) / wanted.memory,
        commands=CommandRules(enabled=wanted.commands),
        titles=wanted.titles,
        mcp_file=Path(workspace) / wanted.mcp if wanted.mcp else None,
    )

    @asynccontextmanager
    async def opening() -> AsyncGenerator[ChatService]:
        async with opened(Path(db), config=config) as service:
            if wanted.example:
                await service.seed_example()
            yield service

    app = page_app(opening, token="of-the-tests")
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(port),
        log_level="warning",
        ws="websockets-sansio",
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
