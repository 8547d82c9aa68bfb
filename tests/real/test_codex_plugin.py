"""The hooks in the real Codex, which compacts itself: what the next request holds."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.agents.repairing import BLOCK_TOKENS
from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider, Received
from tests.real.agents import CLIENTS, Client
from tests.real.plugins import (
    CAUSE,
    REQUEST,
    RULE,
    SUMMARY,
    Forgetful,
    autocompact,
    given_by_us,
    no_hook_failed,
    receipts,
    run,
)
from tests.real.running_clients import make_project
from tests.real.test_real_clients import PROGRAMS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("F1"),
    pytest.mark.skipif(not PROGRAMS, reason="no clients are installed: `make test-clients` installs them"),
]

PARTS = 14
SEARCH = {"query": "why was the limit wrong"}
TOOLS = f"""
[mcp_servers.autocompact]
command = {json.dumps(sys.executable)}
args = ["-m", "autocompact", "mcp"]
startup_timeout_sec = 60
default_tools_approval_mode = "approve"
"""
"""What `codex mcp add autocompact` writes, with time for a busy computer, and nobody there to be asked."""

_TRUSTED = "--dangerously-bypass-hook-trust"
"""What stands for the review that Codex asks its user for."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def codex(*options: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "codex-gpt-5")
    start, rest = usual.command[:2], usual.command[2:-1]
    settings = "model_auto_compact_token_limit = 25000\n" + usual.files[".codex/config.toml"] + TOOLS
    return replace(
        usual,
        command=(*start, *options, *rest, REQUEST),
        files={**usual.files, ".codex/config.toml": settings},
    )


class Sealing(Forgetful):
    """Its summary is an item that nobody can read. At the end it searches for what it has forgotten."""

    searched: bool = False

    def __call__(self, asked: Received) -> Answer:
        if asked.body["input"][-1].get("type") == "compaction_trigger":
            self.summaries += 1
            return Answer(text="", compaction=SUMMARY)
        if self.read == PARTS and not self.searched:
            # Codex does not wait for its MCP servers to start
            self.searched = any(tool.get("name") == "mcp__autocompact" for tool in asked.body["tools"])
            name, arguments = (
                ("memory_search", SEARCH) if self.searched else ("exec_command", {"cmd": "sleep 1"})
            )
            number = len(asked.body["input"])
            call = ToolCall(id=f"call_{name}_{number}", name=name, arguments=json.dumps(arguments))
            return Answer(text="What was the cause?", calls=(call,))
        return super().__call__(asked)


async def test_in_the_middle_of_a_turn_rules_and_findings_come_with_the_next_request(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "codex")
    model = Sealing(codex(), PARTS, asks=lambda _: False)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(codex(_TRUSTED), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    start = next(number for number, body in enumerate(bodies) if given_by_us(body))
    (found,) = (
        item
        for item in bodies[-1]["input"]
        if item["type"] == "function_call_output" and item["call_id"].startswith("call_memory_search")
    )
    assert CAUSE in json.dumps(found["output"])
    assert (model.read, model.summaries) == (PARTS, 1)
    assert any(item["type"] == "compaction" for item in bodies[start]["input"])
    (first,) = given_by_us(bodies[start])
    assert first.index(RULE) < first.index(CAUSE)
    assert [given_by_us(body) for body in bodies[start:]] == [[first]] * (len(bodies) - start)
    (receipt,) = receipts(tmp_path, "codex")
    assert (receipt.way, receipt.rules, receipt.rules_stated) == ("unread", 1, 1)
    assert receipt.tokens <= BLOCK_TOKENS
    assert no_hook_failed(tmp_path)


async def test_before_its_user_has_reviewed_them_the_hooks_do_nothing(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "codex")
    model = Sealing(codex(), PARTS, asks=lambda _: False)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(codex(), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    assert (model.read, model.summaries) == (PARTS, 1)
    assert [given_by_us(body) for body in bodies] == [[]] * len(bodies)
