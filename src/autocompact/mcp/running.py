"""Runs the server until its client leaves, or a signal says to stop."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autocompact.agents.transcripts import Transcripts
from autocompact.errors import InvalidInput
from autocompact.history.paths import data_folder, database_path
from autocompact.mcp.conversations import Conversations
from autocompact.mcp.server import MCPServer, http_app, make_server
from autocompact.stores.naming import StorePlace

HOST = "127.0.0.1"
PROJECT = "CLAUDE_PROJECT_DIR"
"""Claude Code says in it which project its session is in."""


async def served_stdio(*, database: StorePlace | None = None) -> None:
    """Serve the client at the other end of stdin and stdout, until it closes them.

    Args:
        database: of our own conversations; by default the one in the user's data folder.
    """
    await _server(database, files=True).run_stdio_async()


async def served_http(
    *, port: int, key: str, database: StorePlace | None = None, tell: Callable[[str], None]
) -> None:
    """Serve on 127.0.0.1 until a signal says to stop. Only files in the agents' folders can be named.

    Args:
        port: where; 0 takes a free one.
        key: what each request has to bring; "" makes one.
        database: of our own conversations.
        tell: shows a line to the person who started it.

    Raises:
        InvalidInput: the address cannot be had.
    """
    import uvicorn

    known = key or secrets.token_urlsafe(24)
    app = http_app(_server(database, files=False), key=known)
    config = uvicorn.Config(app, log_level="error", access_log=False)
    with socket.socket() as bound:
        # Windows takes it for leave to share a port that somebody listens on
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((HOST, port))
        except OSError as error:
            raise InvalidInput(
                f"cannot listen on {HOST}:{port}: {error.strerror}: choose another --port"
            ) from error
        bound.listen()
        tell(f"MCP on http://{HOST}:{bound.getsockname()[1]}/mcp")
        tell("Each request needs the key of AUTOCOMPACT_MCP_KEY" if key else f"Authorization: Bearer {known}")
        await uvicorn.Server(config).serve(sockets=[bound])


def _server(database: StorePlace | None, *, files: bool) -> MCPServer[Any]:
    transcripts = Transcripts(project=Path(os.environ.get(PROJECT) or Path.cwd()))
    conversations = Conversations(transcripts, database=database or database_path(), files=files)
    return make_server(conversations, pins=pins_folder())


def pins_folder() -> Path:
    """Folder with the pins of recorded sessions."""
    return data_folder() / "pins"
