"""A gateway in a process of its own that is killed within an append.

``python -m tests.gateway.child DATABASE UPSTREAM STEP``
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.stores.sqlite import SqliteStore
from tests.gateway.serving import NAMESPACE_KEY


async def serve(database: str, upstream: str, step: str) -> None:
    """Serve until the second append comes to ``step``."""
    reached: list[str] = []

    def kill(at: str) -> None:
        reached.append(at)
        if reached.count(step) > 1:
            os.kill(os.getpid(), signal.SIGKILL)

    config = Config(upstreams={"openai": upstream}, namespace_key=NAMESPACE_KEY, window=16_000, keep_from=0.0)
    gateway = Gateway(config, store=SqliteStore(database, failpoint=kill))
    async with running(gateway) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
