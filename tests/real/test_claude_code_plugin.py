"""The plugin in the real Claude Code, which compacts itself: what the next request holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from autocompact.agents.hook_state import HookState, Receipt
from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider, Received
from tests.real.agents import CLIENTS, KEY, Client
from tests.real.running_clients import client_ended, make_project
from tests.real.test_real_clients import PROGRAMS, installed

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("F1"),
    pytest.mark.skipif(not PROGRAMS, reason="no clients are installed: `make test-clients` installs them"),
]

RULE = "Never push without my approval."
CAUSE = "The limit was wrong because the sensor reports kilopascal."
REQUEST = f"Read the parts of this project one after the other. {RULE}"
SUMMARY = "<analysis>Short.</analysis><summary>The user asked to read the parts.</summary>"
ASKS_FOR_SUMMARY = "Respond with TEXT ONLY"
PARTS = 26


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Forgetful:
    """A model that reads ``parts`` files and, asked for a summary, forgets almost everything."""

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self.read = 0
        self.summaries = 0

    def __call__(self, asked: Received) -> Answer:
        if ASKS_FOR_SUMMARY in json.dumps(asked.body["messages"][-1]):
            self.summaries += 1
            return Answer(text=SUMMARY)
        if not asked.body.get("tools"):
            return Answer(text="{}")
        if self.read >= self._parts:
            return Answer(text="Done.")
        self.read += 1
        command = json.dumps({"command": f"cat part-{self.read:02}.txt", "description": "Read a part"})
        call = ToolCall(id=f"toolu_{self.read:03}", name="Bash", arguments=command)
        return Answer(text=CAUSE if self.read == 1 else f"Reading part {self.read}.", calls=(call,))


def claude_code(*arguments: str, **variables: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "claude-code")
    options = ("--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "--output-format", "json")
    return replace(
        usual, command=("claude", *arguments, *options), variables={**usual.variables, **variables}
    )


def autocompact(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        (sys.executable, "-m", "autocompact", *arguments),
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def injected(body: dict[str, Any]) -> list[str]:
    """The texts of a request's messages that our hooks gave."""
    return [text for text in _texts(body["messages"]) if "# Conversation Record" in text]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, object]", value).values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _texts(each)


def receipts(home: Path) -> list[Receipt]:
    """What the checks beside the agent found, once the first of them has ended."""
    folder = home / ".local" / "share" / "autocompact" / "agents" / "claude-code"
    told = ""
    for _ in range(60):
        told = autocompact(home, "status")
        found = [receipt for each in folder.iterdir() for receipt in HookState(each).receipts()]
        if found:
            return found
    raise AssertionError(told)


async def run(client: Client, home: Path, address: str) -> str:
    code, said = await client_ended(client, home, programs=installed(client), address=address)
    assert code == 0, said
    return said


async def test_after_a_compaction_on_request_the_next_request_has_what_the_summary_lost(
    tmp_path: Path,
) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "claude-code")
    model = Forgetful(3)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(claude_code("-p", REQUEST), tmp_path, provider.url)
        await run(claude_code("--continue", "-p", "/compact"), tmp_path, provider.url)
        before = len(provider.requests)
        await run(claude_code("--continue", "-p", "Go on."), tmp_path, provider.url)
        given = injected(provider.requests[before].body)
    assert all(injected(each.body) == [] for each in provider.requests[:before])
    first = given[0]
    assert first.index(RULE) < first.index(CAUSE)
    assert model.summaries == 1
    (receipt,) = receipts(tmp_path)
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
    model = Forgetful(PARTS)
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
    assert receipts(tmp_path)[0].trigger == "auto"
