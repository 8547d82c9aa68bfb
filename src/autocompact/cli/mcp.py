"""``autocompact mcp``."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from autocompact.cli.running import quieted
from autocompact.cli.values import store_option
from autocompact.errors import InvalidInput
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.output import tell

FILE = click.Path(path_type=Path)
KEY = "AUTOCOMPACT_MCP_KEY"


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP on 127.0.0.1 instead of stdio.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8788,
    show_default=True,
    metavar="N",
    help="Where, with --http; 0 takes a free one.",
)
@store_option(
    "--db",
    help="The store of your own conversations.  [default: in your data folder]",
)
def mcp(*, http: bool, port: int, db: StorePlace | None) -> None:
    """Serve the sessions that coding agents recorded, and your own conversations, as an MCP server.

    An agent gets memory_search, memory_expand, timeline, ledger, verify, compact (a preview), pin and undo. Without
    further arguments a call means the session of the current folder that went on last.

    With --http each request needs the key that is printed at the start, or given in AUTOCOMPACT_MCP_KEY.
    """
    try:
        from autocompact.mcp.running import served_http, served_stdio
    except ImportError as error:
        # a fault of ours, which no installation mends
        if (error.name or "").startswith("autocompact"):
            raise
        raise InvalidInput(str(error)) from error
    quieted()
    if http:
        asyncio.run(served_http(port=port, key=os.environ.get(KEY, ""), database=db, tell=tell))
    else:
        asyncio.run(served_stdio(database=db))
