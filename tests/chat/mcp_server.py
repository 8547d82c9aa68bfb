"""A real MCP server over stdio, for the tests: ``python tests/chat/mcp_server.py``."""

from __future__ import annotations

import os

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("tides", log_level="CRITICAL")


@server.tool()
def high_water(harbour: str) -> str:
    """When the water is high."""
    return f"High water in {harbour} at {os.environ.get('HIGH_WATER', '06:12')}."


@server.tool()
def breaks() -> str:
    """Fails."""
    raise ToolError("the gauge is frozen")


if __name__ == "__main__":
    server.run()
