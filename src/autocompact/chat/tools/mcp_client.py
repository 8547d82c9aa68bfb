"""One MCP server through pydantic-ai's client. To be imported only where the extra ``chat-mcp`` is installed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self, cast

import msgspec
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset, load_mcp_toolsets
from pydantic_ai.messages import BinaryContent

from autocompact.chat.tools.box import LONGEST_NAME, REFUSED, Asked, AskPermission, Tool, ToolError
from autocompact.errors import InvalidInput

_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that no provider takes in the name of a tool."""


class McpServer:
    """Implements `autocompact.chat.tools.mcp.Server`.

    Args:
        name: in the configuration file.
        toolset: of the server.
        asks: the person is asked before a tool is used.
    """

    def __init__(self, name: str, toolset: MCPToolset[None], *, asks: bool) -> None:
        self._asks = asks
        self._name = name
        self._toolset = toolset

    async def __aenter__(self) -> Self:
        await self._toolset.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._toolset.__aexit__(*error)

    async def tools(self) -> list[Tool]:
        """The tools of the server, named ``SERVER_TOOL``, cut where that is too long."""
        return [
            Tool(
                name=_NO_NAME.sub("_", f"{self._name}_{each.name}")[:LONGEST_NAME],
                description=each.description or "",
                parameters=each.input_schema,
                run=self._run(each.name),
            )
            for each in await self._toolset.list_tools()
        ]

    def _run(self, name: str) -> Callable[[Mapping[str, Any], AskPermission], Awaitable[str]]:
        shown = f"{self._name}_{name}"

        async def run(given: Mapping[str, Any], asking: AskPermission) -> str:
            if self._asks:
                about = Asked(
                    tool=shown,
                    text=msgspec.json.format(msgspec.json.encode(given), indent=2).decode(),
                    subject=f"the tool {name} of the MCP server {self._name} is used",
                )
                if not await asking(about):
                    raise ToolError(REFUSED)
            try:
                result = await self._toolset.direct_call_tool(name, dict(given))
            except (ModelRetry, ToolFailed) as error:
                raise ToolError(str(error)) from error
            return _shown(result)

        return run


def load_servers(file: Path, *, asks: bool) -> dict[str, McpServer]:
    """The servers that a configuration file names; none is started yet.

    Args:
        file: the configuration.
        asks: the person is asked before a tool of them is used.

    Raises:
        InvalidInput: the file cannot be used.
    """
    try:
        toolsets = load_mcp_toolsets(file)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{str(file)!r} cannot be used as a list of MCP servers: {error}") from error
    found: dict[str, McpServer] = {}
    for toolset in toolsets:
        inner = getattr(toolset, "wrapped", toolset)
        if isinstance(inner, MCPToolset):
            found[str(inner.id)] = McpServer(str(inner.id), cast("MCPToolset[None]", inner), asks=asks)
    return found


def _shown(result: Any) -> str:
    """A result of a server as text; images and audio are only named."""
    if isinstance(result, str):
        return result
    if isinstance(result, BinaryContent):
        return f"[{result.media_type}, {len(result.data):,} bytes, not shown]"
    if isinstance(result, list):
        return "\n".join(map(_shown, cast("list[Any]", result)))
    return msgspec.json.encode(result).decode()
