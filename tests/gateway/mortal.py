"""Gateways on a server that die at a step of a request: ``python -m tests.gateway.mortal DATABASE UPSTREAM``.

Reads lines ``STEP SECONDS MESSAGES``: a gateway in a process of its own, whose clock is so many seconds ahead, is sent the messages, and
kills itself at that step of what it does with its store, counted from 0. Answers each with ``killed``, or with ``done`` and the steps.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

import aiohttp

from autocompact.gateway import Config, Gateway
from autocompact.gateway.server import running
from autocompact.models.vocabulary import default_counter
from autocompact.stores.postgres import PostgresStore
from tests.gateway.serving import NAMESPACE_KEY
from tests.gateway.wrong_clock import WrongClock
from tests.jobs.child import SteppedIndexer, Steps

WINDOW = 4_000


async def serve(database: str, upstream: str, *, messages: list[Any], fatal: int, ahead: float) -> list[str]:
    """Serve one request; the steps that it took."""
    steps, clock = Steps(fatal), WrongClock(off=ahead)
    store = PostgresStore(database, clock=clock, indexer=SteppedIndexer(steps), failpoint=steps.reached)
    config = Config(upstreams={"openai": upstream}, namespace_key=NAMESPACE_KEY, window=WINDOW, keep_from=0.0)
    asked = {"model": "m", "max_tokens": 100, "messages": messages}
    body = json.dumps(asked, separators=(",", ":"))
    async with running(Gateway(config, store=store)) as url, aiohttp.ClientSession() as session:
        key = {"Authorization": "Bearer k"}
        async with session.post(f"{url}/v1/chat/completions", data=body, headers=key) as told:
            assert told.status == 200, await told.text()
    return steps.names


def main(database: str, upstream: str) -> None:
    """Begin a process for each line; what they import and load is there before."""
    default_counter("m").count("")
    for line in sys.stdin:
        step, ahead, messages = line.split(" ", 2)
        if not (process := os.fork()):
            work = serve(
                database, upstream, messages=json.loads(messages), fatal=int(step), ahead=float(ahead)
            )
            names = asyncio.run(work)
            sys.stdout.write(f"done {' '.join(names)}\n")
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if status:
            assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
            sys.stdout.write("killed\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
