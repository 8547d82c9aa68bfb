"""Our gateway over a SQLite file: ``… UPSTREAM_PORT FOLDER WINDOW KEEP_FROM``; prints its port.

For each line of input it prints how many tasks run and how many conversations are in memory.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from pathlib import Path
from urllib.parse import urlsplit

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import run, running, share_the_interpreter
from autocompact.stores.sqlite import SqliteStore


async def main(*arguments: str) -> None:
    upstream, folder, window, keep_from = arguments
    config = Config(
        upstreams={"openai": f"http://127.0.0.1:{upstream}"},
        namespace_key=secrets.token_bytes(32),
        window=int(window),
        keep_from=float(keep_from),
    )
    share_the_interpreter()
    gateway = Gateway(config, store=SqliteStore(Path(folder, "gateway.db")))
    loop = asyncio.get_running_loop()
    async with running(gateway) as url:
        print(urlsplit(url).port, flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(len(asyncio.all_tasks()), len(gateway.turns.conversations.known), flush=True)


if __name__ == "__main__":
    run(main(*sys.argv[1:]))
