"""Tools of MCP servers that a configuration file names, in the form that other programs use too.

    {"mcpServers": {"files": {"command": "mcp-files", "args": ["."], "env": {"X": "${HOME}"}},
                    "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${WIKI}"}}}}

A server is started when the first conversation needs it, and ended with the service. One that cannot be reached is
left out and reported; the others work. A file that cannot be used is read again the next time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol, Self

from autocompact.chat.tools.box import Tool
from autocompact.runtime.extras import install_command

START_SECONDS = 30.0
"""Seconds that a server has to start."""

_LOADING = threading.Lock()
"""Held by the thread that imports the client: modules that import each other, as those of pydantic-ai do, fail with
"partially initialized module" where two threads load them at once."""

log = logging.getLogger("autocompact")


class Server(Protocol):
    """An MCP server: started when it is entered, ended when it is left."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *error: Any) -> None: ...

    async def tools(self) -> list[Tool]:
        """Tools of the server."""
        ...


class _Load(Protocol):
    def __call__(self, file: Path, *, asks: bool) -> Mapping[str, Server]: ...


class McpServers:
    """The servers of one file.

    They are entered and left in a task of their own, since an MCP connection belongs to the task that opened it.

    Args:
        file: the configuration, None if there is none.
        asks: the person is asked before a tool is used.

    Attributes:
        problems: why servers were left out, by name.
    """

    def __init__(self, file: Path | None, *, asks: bool = True) -> None:
        self._asks = asks
        self.problems: dict[str, str] = {}
        self._file = file
        self._started: asyncio.Future[tuple[Tool, ...]] | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def tools(self) -> tuple[Tool, ...]:
        """The tools of all servers, named ``SERVER_TOOL``, cut where that is too long; two may have one name.

        Raises:
            InvalidInput: the file cannot be used.
            ImportError: the extra ``chat-mcp`` is missing.
        """
        if self._file is None:
            return ()
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._serve(self._file, self._started))
        return await asyncio.shield(self._started)

    async def _serve(self, file: Path, started: asyncio.Future[tuple[Tool, ...]]) -> None:
        try:
            async with AsyncExitStack() as stack:
                tools: list[Tool] = []
                for name, server in (await _servers(file, asks=self._asks)).items():
                    tools += await self._entered(name, server, stack=stack)
                started.set_result(tuple(tools))
                await self._over.wait()
        except Exception as error:
            if started.done():
                log.exception("the MCP servers could not be ended")
                return
            self._started = None
            started.set_exception(error)
            started.exception()  # whoever asked may have gone

    async def _entered(self, name: str, server: Server, *, stack: AsyncExitStack) -> list[Tool]:
        try:
            async with asyncio.timeout(START_SECONDS):
                await stack.enter_async_context(server)
                return await server.tools()
        except Exception as error:
            problem = str(error) or type(error).__name__
            # dozens of lines of the client's own frames say nothing to who misspelled a command
            log.error(
                "an MCP server was left out",
                extra={"server": name, "reason": problem},
                exc_info=log.isEnabledFor(logging.DEBUG),
            )
            self.problems[name] = problem
            return []

    async def aclose(self) -> None:
        """End the servers."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait([self._task])


async def _servers(file: Path, *, asks: bool) -> Mapping[str, Server]:
    try:
        load = await asyncio.to_thread(_import_client)
    except ImportError as error:
        raise ImportError(f"MCP servers need further packages: {install_command('chat-mcp')}") from error
    return load(file, asks=asks)


def _import_client() -> _Load:
    with _LOADING:
        from autocompact.chat.tools.mcp_client import load_servers
    return load_servers
