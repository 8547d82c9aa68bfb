"""Gateways on one database, one of which is killed at a step of a request: another one goes on with the conversation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from autocompact.engine.work import LEASE_SECONDS
from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.stores.postgres import PostgresStore
from autocompact.testing import FakeProvider
from tests.gateway.mortal import WINDOW
from tests.gateway.serving import config
from tests.gateway.test_compaction import send, words
from tests.gateway.wrong_clock import WrongClock
from tests.house.source import ROOT
from tests.lengths import some
from tests.stores.cluster import Cluster
from tests.warm import command

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7"), pytest.mark.requirement("E9")]

WORK = {"acquire", "append", "index", "commit", "release"}
"""What a request does with its store, in steps."""


@asynccontextmanager
async def mortal(
    database: str, provider: FakeProvider, clock: WrongClock
) -> AsyncGenerator[Callable[[int, list[Any]], Awaitable[list[str]]]]:
    """Sends messages to a gateway that dies at a step; what came of it, see `tests.gateway.mortal`."""
    process = await asyncio.create_subprocess_exec(
        *(*command("tests.gateway.mortal"), database, provider.url),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def ask(step: int, messages: list[Any]) -> list[str]:
        stdin.write(f"{step} {clock.off} {json.dumps(messages)}\n".encode())
        return (await stdout.readline()).decode().split()

    try:
        yield ask
    finally:
        stdin.close()
        await process.wait()


async def test_a_gateway_may_die_at_any_step_of_a_request_and_another_one_goes_on(cluster: Cluster) -> None:
    """Each request appends, indexes and compacts; the other gateway looks when the dead one's lease is over."""
    database, clock, messages = cluster.for_programs(), WrongClock(), list[Any]()

    def said() -> list[Any]:
        messages.extend({"role": "user", "content": f"{len(messages)} {words(n)}"} for n in range(20))
        return messages

    async with (
        FakeProvider("Fine.", window=WINDOW) as provider,
        mortal(database, provider, clock) as ask,
        running(
            Gateway(
                config(provider, window=WINDOW, keep_from=0.0), store=PostgresStore(database, clock=clock)
            )
        ) as url,
    ):
        await send(url, said())
        done, *steps = await ask(-1, said())
        found = {step.partition(":")[0] for step in steps}
        assert (done, found - {"renew"}) == ("done", WORK)  # a lease is renewed where the computer is slow
        chosen = some(range(len(steps)), gate=4)
        for step in chosen:
            assert await ask(step, said()) == ["killed"], (step, steps)
            clock.off += LEASE_SECONDS
            headers, _ = await send(url, messages)
            assert headers["x-autocompact-action"] == "compacted"
    async with PostgresStore(database) as store:
        (namespace,) = await store.namespaces()
        (talk,) = await store.conversations(namespace)
        log, records = await store.read(talk.key), await store.compactions(talk.key)
    assert [msgspec.json.decode(message.raw or b"") for message in log] == messages
    made = [record.id for record in records]
    # one for each request, whoever came to it, each in place of the one before
    assert len(made) == 2 + len(chosen)
    assert [record.parent for record in records] == ["", *made[:-1]]
    assert {record.status for record in records} == {"active"}
