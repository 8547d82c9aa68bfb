"""A server whose tools refuse arguments that they do not have."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult, Tool

from autocompact.mcp.stdio import StdioServer

_SHOWN = 60
"""Characters of a name in a refusal."""


class StrictServer(StdioServer):
    """The SDK leaves out what it does not know, so a slip in a name would search another session than was asked for."""

    async def list_tools(self) -> list[Tool]:
        """The tools, whose schemas say that no other arguments are taken."""
        return [
            tool.model_copy(update={"input_schema": {**tool.input_schema, "additionalProperties": False}})
            for tool in await super().list_tools()
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], *context: Any, **named: Any
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool.

        Raises:
            ToolError: there is no such tool, it failed, or it has no argument of one of these names.
        """
        taken = {tool.name: list(tool.input_schema["properties"]) for tool in await super().list_tools()}
        if unknown := [each for each in arguments if each not in taken.get(name, arguments)]:
            raise ToolError(_refusal(name, unknown, taken=taken[name]))
        return await super().call_tool(name, arguments, *context, **named)


def _refusal(name: str, unknown: list[str], *, taken: list[str]) -> str:
    meant = next((close[0] for each in unknown if (close := get_close_matches(each, taken, n=1))), "")
    hint = f" Did you mean {meant!r}?" if meant else ""
    named = ", ".join(repr(each[:_SHOWN]) for each in unknown)
    return f"{name} has no argument {named}: it takes {', '.join(taken)}.{hint}"
