"""Four gateways on one database, clients that go from one to the next with each request, and everything between them failing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
import pytest

from autocompact.gateway import Gateway
from autocompact.gateway.server import running
from autocompact.ports import Key
from autocompact.stores.postgres import PostgresStore
from autocompact.testing import FakeProvider
from autocompact.testing.provider import Received
from tests.gateway.serving import config
from tests.gateway.test_compaction import send, words
from tests.gateway.wrong_clock import WrongClock
from tests.lengths import turns
from tests.stores.cluster import Cluster
from tests.stores.wire import Wire

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E9"), pytest.mark.requirement("E7")]

WINDOW = 8_000
GATEWAYS = 4
CONVERSATIONS = turns(4, long=200)
DAY = 86_400.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(kw_only=True)
class Machine:
    """A gateway with its own way to the database."""

    url: str
    wire: Wire
    clock: WrongClock


@dataclass(kw_only=True)
class Client:
    """An agent that asks another gateway each time."""

    number: int
    messages: list[Any] = field(default_factory=list[Any])
    names: set[str] = field(default_factory=set[str])
    actions: list[str] = field(default_factory=list[str])

    async def ask(self, machines: list[Machine], turn: int) -> None:
        said = f"{self.number}.{turn}: {words(turn) * 4}"
        self.messages.append({"role": "user", "content": said})
        headers, told = await send(machines[(self.number + turn) % len(machines)].url, self.messages)
        reply = msgspec.json.decode(told)["choices"][0]["message"]["content"]
        self.messages.append({"role": "assistant", "content": reply})
        self.actions.append(headers["x-autocompact-action"])
        if name := headers.get("x-autocompact-conversation"):
            self.names.add(name)

    async def check(self, store: PostgresStore) -> None:
        """What was said is kept once, in order, and one compaction is active; the provider took every context."""
        (namespace,), (name,) = await store.namespaces(), self.names
        key = Key(conversation=name, namespace=namespace)
        log, records = await store.read(key), await store.compactions(key)
        # the last reply would come with the next request
        assert [msgspec.json.decode(message.raw or b"") for message in log] == self.messages[:-1]
        assert [record.status for record in records if record.status != "prepared"] == ["active"]
        assert self.actions[-1] == "compacted"


@asynccontextmanager
async def four(cluster: Cluster, database: str, provider: FakeProvider) -> AsyncGenerator[list[Machine]]:
    machines: list[Machine] = []
    async with AsyncExitStack() as stack:
        for _ in range(GATEWAYS):
            wire, clock = await stack.enter_async_context(Wire(cluster).laid()), WrongClock()
            store = PostgresStore(
                wire.url(database), clock=clock, connections=2, busy_seconds=1, answer_seconds=2
            )
            chosen = config(provider, window=WINDOW, keep_from=0.0)
            gateway = Gateway(chosen, store=store, clock=clock)
            url = await stack.enter_async_context(running(gateway))
            machines.append(Machine(url=url, wire=wire, clock=clock))
        yield machines


PLAN = (
    "",
    "the server dies",
    "",
    "a network is cut",
    "a network is lost",
    "clocks jump",
    "",
    "the server dies",
    "",
    "",
)
"""What fails amid each turn, and is mended after it."""


def strikes(fault: str, cluster: Cluster, machines: list[Machine]) -> None:
    match fault:
        case "the server dies":
            cluster.kill()
        case "a network is cut":
            machines[1].wire.cut()
        case "a network is lost":
            machines[2].wire.freeze()
        case _:
            machines[3].clock.off, machines[0].clock.off = DAY, -3_600.0


def mended(fault: str, cluster: Cluster, machines: list[Machine]) -> None:
    if fault == "the server dies":
        cluster.start()
    for machine in machines:
        machine.wire.mend()


async def ready(machine: Machine) -> None:
    """Ask until the gateway reaches its database again; each answer takes as long as the database does."""
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{machine.url}/autocompact/ready") as told:
                if told.status == 200:
                    return


async def test_whatever_fails_every_message_is_there_once_and_each_conversation_was_compacted_once(
    cluster: Cluster,
) -> None:
    database = cluster.for_programs()
    clients = [Client(number=number) for number in range(CONVERSATIONS)]
    machines: list[Machine] = []
    faults: list[str] = []
    asked = 0

    async def reply(received: Received) -> str:
        nonlocal asked
        asked += 1
        # amid a turn: what came with other requests is being stored
        if faults and asked % (CONVERSATIONS // 2) == 0:
            strikes(faults.pop(), cluster, machines)
        return f"Fine, {len(received.messages)} messages."

    async with (
        FakeProvider(reply, window=WINDOW) as provider,
        four(cluster, database, provider) as running_now,
    ):
        machines += running_now
        for turn, fault in enumerate(PLAN):
            faults[:] = [fault] if fault else []
            await asyncio.gather(*(client.ask(machines, turn) for client in clients))
            assert not faults
            mended(fault, cluster, machines)
            await asyncio.gather(*map(ready, machines))
    async with PostgresStore(database) as store:
        for client in clients:
            await client.check(store)
        (namespace,) = await store.namespaces()
        assert len(await store.conversations(namespace)) == CONVERSATIONS
