"""Two gateways in processes of their own on one store, one of which is killed again and again while a client goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest

from autocompact.stores.naming import store_place
from autocompact.stores.opening import open_store
from autocompact.testing import FakeProvider
from autocompact.testing.provider import Received
from tests.cli.test_serve import free_port, serving
from tests.gateway.test_compaction import send

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

WINDOW = 10_000
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


def page(number: int) -> str:
    return "\n".join(f"file {number}, line {n}: rounded the total of item {n} to cents" for n in range(50))


class Client:
    """An agent that reads file after file, and repeats a request whose gateway died."""

    def __init__(self) -> None:
        self.messages: list[Any] = [{"role": "user", "content": "Please go through all files."}]
        self.actions: list[str] = []

    def read(self) -> None:
        number = len(self.messages)
        arguments = msgspec.json.encode({"path": f"src/f{number}.py"}).decode()
        call = {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": "read", "arguments": arguments},
        }
        self.messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": page(number)},
        ]

    async def ask(self, url: str) -> None:
        headers, _ = await send(url, self.messages, tools=TOOLS)
        self.actions.append(headers["x-autocompact-action"])


class Gateway:
    """``autocompact serve`` on a store; ``log`` is what it wrote until it ended."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process, self.url = process, url
        assert process.stderr is not None
        self._reading = asyncio.create_task(process.stderr.read())

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)

    async def log(self) -> str:
        return (await self._reading).decode()


@asynccontextmanager
async def gateway(provider: FakeProvider, place: str, logs: list[str]) -> AsyncGenerator[Gateway]:
    port = free_port()
    arguments = ("--port", port, "--db", place, "--window", WINDOW)
    async with serving(provider, *arguments, cold=True) as process:
        running = Gateway(process, f"http://127.0.0.1:{port}")
        try:
            yield running
        finally:
            if process.returncode is None:
                process.terminate()
            logs.append(await running.log())


async def test_whoever_is_killed_the_log_has_no_gap_and_all_that_was_answered_is_in_it(
    place: str,
) -> None:
    client, logs = Client(), list[str]()
    victims: list[Gateway] = []

    def reply(asked: Received) -> str:
        del asked
        while victims:
            victims.pop().kill()  # its request is upstream, and what came with it perhaps not stored yet
        return "Fine."

    async with (
        FakeProvider(reply, window=WINDOW) as provider,
        gateway(provider, place, logs) as stays,
    ):
        for while_it_asks in (True, False):
            async with gateway(provider, place, logs) as dies:
                for _ in range(6):
                    client.read()
                    await asyncio.gather(client.ask(stays.url), client.ask(dies.url))
                client.read()
                if while_it_asks:
                    victims.append(dies)
                    with pytest.raises(aiohttp.ClientError):
                        await client.ask(dies.url)
                else:
                    await client.ask(dies.url)
                    dies.kill()
                await client.ask(stays.url)
        answered = list(client.messages)
    async with open_store(store_place(place)) as store:
        infos = [info for space in await store.namespaces() for info in await store.conversations(space)]
        logs_kept = [await store.read(info.key) for info in infos]
    assert "compacted" in client.actions
    (kept,) = logs_kept
    assert [message.seq for message in kept] == list(range(1, len(answered) + 1))
    assert [msgspec.json.decode(message.raw or b"") for message in kept] == answered
    assert not [log for log in logs if "could not be stored" in log or "Traceback" in log]
