"""The plugin in the real OpenCode, which compacts itself: what the next request holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.agents.repairing import BLOCK_TOKENS
from autocompact.testing import FakeProvider
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
_COMPACTION = {"auto": True, "tail_turns": 1, "preserve_recent_tokens": 3_000}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def opencode(*arguments: str) -> Client:
    """With a window in which the parts do not fit."""
    usual = next(client for client in CLIENTS if client.name == "opencode-anthropic")
    path = ".config/opencode/opencode.json"
    settings = json.loads(usual.files[path])
    limit = {"context": 30_000, "output": 4_000}
    settings["provider"]["anthropic"]["models"] = {"claude-sonnet-4-5": {"limit": limit}}
    settings["compaction"] = _COMPACTION
    command = ("opencode", "run", "-m", "anthropic/claude-sonnet-4-5", *arguments)
    return replace(usual, command=command, files={**usual.files, path: json.dumps(settings)})


async def test_the_summary_that_is_kept_has_what_it_lost(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "opencode")
    model = Forgetful(opencode(), PARTS, asks=lambda body: "anchored summary" in body)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(opencode(REQUEST), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
        before = len(bodies)
        await run(opencode("--continue", "Go on."), tmp_path, provider.url)
        later = [each.body for each in provider.requests[before:]]
    start = next(number for number, body in enumerate(bodies) if given_by_us(body))
    assert (model.read, model.summaries) == (PARTS, 1)
    (first,) = given_by_us(bodies[start])
    assert first.startswith(SUMMARY)
    assert first.index(RULE) < first.index(CAUSE)
    assert [given_by_us(body) for body in later if body.get("tools")] == [[first]]
    (receipt,) = receipts(tmp_path, "opencode")
    assert (receipt.trigger, receipt.way) == ("auto", "beside")
    assert (receipt.rules, receipt.rules_stated, receipt.rules_stated_after) == (1, 0, 1)
    assert receipt.tokens <= BLOCK_TOKENS
    assert no_hook_failed(tmp_path)


async def test_where_ours_cannot_be_had_the_summary_stays_as_it_was(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "opencode")
    plugin = tmp_path / ".config" / "opencode" / "plugin" / "autocompact.js"
    plugin.write_text(plugin.read_text().replace("autocompact.agents.hook", "autocompact.nowhere"))
    model = Forgetful(opencode(), PARTS, asks=lambda body: "anchored summary" in body)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(opencode(REQUEST), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    assert (model.read, model.summaries) == (PARTS, 1)
    assert [given_by_us(body) for body in bodies] == [[]] * len(bodies)
    assert SUMMARY in json.dumps(bodies[-1])
