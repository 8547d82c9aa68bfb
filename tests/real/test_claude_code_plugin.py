"""The plugin in the real Claude Code, which compacts itself: what the next request holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider, Received
from tests.real.agents import CLIENTS, KEY, Client
from tests.real.plugins import CAUSE, REQUEST, RULE, Forgetful, autocompact, receipts, run, texts_of
from tests.real.running_clients import make_project
from tests.real.test_real_clients import PROGRAMS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("F1"),
    pytest.mark.skipif(not PROGRAMS, reason="no clients are installed: `make test-clients` installs them"),
]

SUMMARY = "<analysis>Short.</analysis><summary>The user asked to read the parts.</summary>"
ASKS_FOR_SUMMARY = "Respond with TEXT ONLY"
PARTS = 26
TOOLS = "mcp__plugin_autocompact_autocompact__"
WAITING = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000", "MCP_TIMEOUT": "60000"}
"""Without a person who waits, Claude Code goes ahead while its MCP servers start."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def forgetful(parts: int) -> Forgetful:
    client = next(client for client in CLIENTS if client.name == "claude-code")
    return Obedient(client, parts, asks=lambda body: ASKS_FOR_SUMMARY in body, summary=SUMMARY)


class Obedient(Forgetful):
    """It does what the plugin's commands tell it: calls the tool, or runs the program, that they name."""

    def __call__(self, asked: Received) -> Answer:
        content: str | list[dict[str, Any]] = asked.body["messages"][-1]["content"]
        told = content if isinstance(content, str) else str(content[-1].get("text", ""))
        wanted = re.match(r"Call the tool `(\w+)` of|Run `([^`]+)` and", told)
        if wanted is None:
            return super().__call__(asked)
        tool, program = wanted.groups()
        query = {"query": told.split("\n\n")[1].strip()} if tool == "memory_search" else {}
        name, arguments = (f"{TOOLS}{tool}", query) if tool else ("Bash", {"command": program})
        call = ToolCall(id=f"toolu_{name}", name=name, arguments=json.dumps(arguments))
        return Answer(text="As told.", calls=(call,))


def claude_code(*arguments: str, **variables: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "claude-code")
    options = ("--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--output-format", "json")
    return replace(
        usual, command=("claude", *arguments, *options), variables={**usual.variables, **variables}
    )


def injected(body: dict[str, Any]) -> list[str]:
    """The texts of a request's messages that our hooks gave."""
    return [text for text in texts_of(body["messages"]) if "# Conversation Record" in text]


async def answered(command: str, home: Path, provider: FakeProvider) -> str:
    """What the tool said that one of the plugin's commands made the model call, the session going on."""
    client = claude_code("--continue", "-p", f"/autocompact:{command}", **WAITING)
    await run(client, home, provider.url)
    (result,) = (
        block
        for block in provider.requests[-1].body["messages"][-1]["content"]
        if block["type"] == "tool_result"
    )
    assert not result.get("is_error"), result
    return str(result["content"]).partition("\n\n<system-reminder>")[0]


async def test_after_a_compaction_on_request_the_next_request_has_what_the_summary_lost(
    tmp_path: Path,
) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "claude-code")
    model = forgetful(3)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(claude_code("-p", REQUEST), tmp_path, provider.url)
        await run(claude_code("--continue", "-p", "/compact"), tmp_path, provider.url)
        before = len(provider.requests)
        answers = {
            command: await answered(command, tmp_path, provider)
            for command in ("lost", "search kilopascal", "report")
        }
        given = injected(provider.requests[before].body)
    assert RULE in json.loads(answers["lost"])["repair"]
    assert CAUSE in answers["search kilopascal"]
    assert "the summary states" in answers["report"]
    assert all(injected(each.body) == [] for each in provider.requests[:before])
    first = given[0]
    assert first.index(RULE) < first.index(CAUSE)
    assert model.summaries == 1
    (receipt,) = receipts(tmp_path, "claude-code")
    assert (receipt.trigger, receipt.rules, receipt.rules_stated, receipt.rules_stated_after) == (
        "manual",
        1,
        0,
        1,
    )
    assert receipt.tokens <= 1_500
    assert KEY not in first
    assert not (tmp_path / ".local" / "share" / "autocompact" / "agents" / "hook.log").exists()


async def test_in_the_middle_of_a_turn_the_agent_gets_it_with_its_next_request(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "claude-code")
    model = forgetful(PARTS)
    client = claude_code(
        "-p", REQUEST, CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="50", CLAUDE_CODE_AUTO_COMPACT_WINDOW="100000"
    )
    async with FakeProvider(model, output_counts=False) as provider:
        await run(client, tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    assert (model.read, model.summaries > 0) == (PARTS, True)
    given = [injected(body) for body in bodies]
    start = next((number for number, texts in enumerate(given) if texts), 0)
    assert given[:start] == [[]] * start
    assert RULE in given[start][0]
    assert receipts(tmp_path, "claude-code")[0].trigger == "auto"
