"""`autocompact mcp` as agents start it: a process of its own, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.mcp.home import RULE, keep, pump
from tests.mcp.test_tools import called, refused

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("F2")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    keep(pump(tmp_path / "work"), tmp_path, name="pump-1")
    return tmp_path


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], **more}


async def test_an_agent_that_starts_it_in_its_folder_finds_its_own_session(home: Path) -> None:
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "autocompact", "mcp"],
        env=environment(home),
        cwd=home / "work",
    )
    async with Client(stdio_client(started)) as client:
        found = await called(client, "memory_search", query="why was the limit wrong")
        assert found["conversation"] == "pump-1"
        assert RULE in (await called(client, "verify"))["repair"]
        await called(client, "pin", text=RULE)
        assert "goes from m1 to" in await refused(client, "memory_expand", ref="m99")
    assert list((home / ".local" / "share" / "autocompact" / "pins").iterdir())


PROBE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "probe",
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "an-agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
HANDSHAKE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": PROBE["params"]["_meta"]["io.modelcontextprotocol/clientInfo"],
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([PROBE, HANDSHAKE, READY, LIST], id="which did not wait for the answer to its probe"),
        pytest.param([HANDSHAKE, READY, LIST], id="of the older protocol"),
        pytest.param([PROBE, LIST | {"params": PROBE["params"]}], id="of the newer protocol"),
    ],
)
async def test_a_client_over_stdio_is_served(home: Path, sent: Sequence[Mapping[str, object]]) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "autocompact", "mcp"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment(home),
        cwd=home / "work",
        limit=2**20,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in sent))
    answers = [json.loads(await process.stdout.readline()) for each in sent if "id" in each]
    process.stdin.close()
    assert [each["id"] for each in answers] == [each["id"] for each in sent if "id" in each]
    assert all("result" in each for each in answers)
    assert "memory_search" in {tool["name"] for tool in answers[-1]["result"]["tools"]}
    assert await process.wait() == 0


@asynccontextmanager
async def serving(home: Path, **variables: str) -> AsyncGenerator[tuple[str, str]]:
    """The address of a server in a process of its own, and what it said of its key."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "autocompact", "mcp", "--http", "--port", "0"),
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
        env=environment(home, **variables),
        cwd=home / "work",
    )
    assert process.stderr is not None
    try:
        address = re.search(r"http://\S+", (await process.stderr.readline()).decode())
        assert address is not None
        yield address[0], (await process.stderr.readline()).decode()
    finally:
        process.terminate()
        await process.wait()


async def status(address: str, headers: Mapping[str, str]) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    usual = {"accept": "application/json, text/event-stream"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(address, json=body, headers={**usual, **headers}) as answer,
    ):
        return answer.status


async def test_over_http_only_who_has_the_key_is_answered(home: Path) -> None:
    async with serving(home) as (address, said):
        name, _, value = said.strip().partition(": ")
        assert name.endswith("Authorization")
        key = {"Authorization": value}
        async with (
            create_mcp_http_client(headers=key) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            assert (await called(client, "memory_search", query="kilopascal"))["results"]
            elsewhere = home / "elsewhere.jsonl"
            elsewhere.write_bytes(pump(home).bytes())
            assert "cannot be named" in await refused(client, "timeline", conversation=str(elsewhere))
        assert await status(address, {}) == 401
        assert await status(address, {"Authorization": "Bearer wrong"}) == 401
        assert await status(address, {**key, "Host": "evil.example"}) == 421


async def test_a_key_that_was_given_is_not_printed(home: Path) -> None:
    async with serving(home, AUTOCOMPACT_MCP_KEY="a-key-of-mine") as (address, said):
        assert "a-key-of-mine" not in said
        assert await status(address, {"Authorization": "Bearer a-key-of-mine"}) != 401
        assert await status(address, {}) == 401


async def test_a_port_that_is_taken_is_named(home: Path) -> None:
    async with serving(home) as (address, _):
        port = address.split(":")[2].split("/")[0]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "autocompact", "mcp", "--http", "--port", port),
            stderr=asyncio.subprocess.PIPE,
            env=environment(home),
        )
        said = (await process.communicate())[1].decode()
        assert (process.returncode, f"cannot listen on 127.0.0.1:{port}" in said) == (2, True)
