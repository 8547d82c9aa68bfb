"""Tools of MCP servers that a configuration file names, in the form that other programs use too.

    {"mcpServers": {"files": {"command": "mcp-files", "args": ["."], "env": {"X": "${HOME}"}},
                    "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${WIKI}"}}}}

A server is started when the first conversation needs it, and ended with the service. One that cannot be reached is
left out and reported; the others work. A file that cannot be used is read again the next time.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from autocompact.chat.loading import LOADING
from autocompact.chat.tools.box import LONGEST_NAME, Asking, Tool, ToolError
from autocompact.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic_ai.mcp import MCPToolset

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
"""What no provider takes in the name of a tool."""

START_SECONDS = 30.0
"""How long a server has to answer at the beginning."""

log = logging.getLogger("autocompact")


class McpServers:
    """The servers of one file.

    They are entered and left in a task of their own, since an MCP connection belongs to the task that opened it.

    Args:
        file: the configuration, None if there is none.

    Attributes:
        problems: why servers were left out, by name.
    """

    def __init__(self, file: Path | None) -> None:
        self.problems: dict[str, str] = {}
        self._file = file
        self._started: asyncio.Future[tuple[Tool, ...]] | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def tools(self) -> tuple[Tool, ...]:
        """The tools of all servers, named ``SERVER_TOOL``, cut where that is too long; two may have one name.

        Raises:
            InvalidInput: the file cannot be used.
            ImportError: the extra is missing.
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
                for name, server in (await _servers(file)).items():
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

    async def _entered(self, name: str, server: MCPToolset[None], *, stack: AsyncExitStack) -> list[Tool]:
        try:
            async with asyncio.timeout(START_SECONDS):
                await stack.enter_async_context(server)
                listed = await server.list_tools()
        except Exception as error:
            log.exception("an MCP server was left out", extra={"server": name})
            self.problems[name] = str(error) or type(error).__name__
            return []
        return [
            _tool(
                server,
                prefix=name,
                name=each.name,
                description=each.description or "",
                parameters=each.input_schema,
            )
            for each in listed
        ]

    async def aclose(self) -> None:
        """End the servers."""
        self._over.set()
        if self._task is not None:
            await asyncio.wait([self._task])


def _load() -> None:
    with LOADING:
        import_module("pydantic_ai.mcp")


async def _servers(file: Path) -> dict[str, MCPToolset[None]]:
    try:
        await asyncio.to_thread(_load)
    except ImportError as error:
        raise ImportError('MCP servers need further packages: pip install "autocompact[chat]"') from error
    from pydantic_ai.mcp import MCPToolset, load_mcp_toolsets

    try:
        toolsets = load_mcp_toolsets(file)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{str(file)!r} cannot be used as a list of MCP servers: {error}") from error
    found: dict[str, MCPToolset[None]] = {}
    for toolset in toolsets:
        inner = getattr(toolset, "wrapped", toolset)
        if isinstance(inner, MCPToolset):
            found[str(inner.id)] = inner
    return found


def _tool(
    server: MCPToolset[None], *, prefix: str, name: str, description: str, parameters: Mapping[str, Any]
) -> Tool:
    async def run(given: Mapping[str, Any], _asking: Asking) -> str:
        from pydantic_ai.exceptions import ModelRetry, ToolFailed

        try:
            result = await server.direct_call_tool(name, dict(given))
        except (ModelRetry, ToolFailed) as error:
            raise ToolError(str(error)) from error
        return _shown(result)

    return Tool(
        name=_NO_NAME.sub("_", f"{prefix}_{name}")[:LONGEST_NAME],
        description=description,
        parameters=parameters,
        run=run,
    )


def _shown(result: Any) -> str:
    """What a server answered, as text; pictures and sounds are named."""
    import msgspec
    from pydantic_ai.messages import BinaryContent

    if isinstance(result, str):
        return result
    if isinstance(result, BinaryContent):
        return f"[{result.media_type}, {len(result.data):,} bytes, not shown]"
    if isinstance(result, list):
        return "\n".join(map(_shown, cast("list[Any]", result)))
    return msgspec.json.encode(result).decode()
