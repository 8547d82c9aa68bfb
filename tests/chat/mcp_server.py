"""A real MCP server for the tests: ``python tests/chat/mcp_server.py``, over stdio.

With ``--http`` over streamable HTTP on a free port, whose address it prints; who asks must know ``MCP_TOKEN``.
"""

from __future__ import annotations

import os
import socket
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("tides", log_level="CRITICAL")


@server.tool()
def high_water(harbour: str) -> str:
    """When the water is high."""
    return f"High water in {harbour} at {os.environ.get('HIGH_WATER', '06:12')}."


@server.tool()
def search(harbour: str) -> str:
    """Harbours by name; in the tests too under the name of a tool of ours."""
    return harbour


@server.tool()
def breaks() -> str:
    """Fails."""
    raise ToolError("the gauge is frozen")


FORECAST = "forecast_of_the_heights_of_the_water_by_harbour_and_day_for_the_"


def forecast(span: str) -> None:
    """A tool whose name is only told from another one's behind the 64th character."""

    @server.tool(name=FORECAST + span)
    def tell() -> str:
        return f"The {span} is calm."

    assert tell


forecast("week")
forecast("month")


def serve_http() -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.types import ASGIApp, Receive, Scope, Send

    class Guard:
        def __init__(self, app: ASGIApp) -> None:
            self.app = app

        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            wanted = f"Bearer {os.environ['MCP_TOKEN']}".encode()
            if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != wanted:
                await send({"type": "http.response.start", "status": 403, "headers": []})
                await send({"type": "http.response.body", "body": b"who are you?"})
                return
            await self.app(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    app = server.streamable_http_app()
    app.user_middleware.insert(0, Middleware(Guard))
    assert isinstance(app, Starlette)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listening])


if __name__ == "__main__":
    serve_http() if "--http" in sys.argv else server.run()
