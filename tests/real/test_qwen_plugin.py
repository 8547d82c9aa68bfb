"""The extension in the real Qwen Code, which compacts itself: what a later request holds."""

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
_WINDOW = 60_000
"""Qwen Code compacts 33,000 tokens below it; its own prompt takes about 20,000."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def qwen(*arguments: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "qwen-code")
    path = ".qwen/settings.json"
    settings = json.loads(usual.files[path])
    settings["model"] = {"generationConfig": {"contextWindowSize": _WINDOW}}
    return replace(
        usual, command=("qwen", "--yolo", *arguments), files={**usual.files, path: json.dumps(settings)}
    )


async def test_after_a_compaction_the_agent_gets_what_the_summary_lost(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "qwen")
    summary = f"<state_snapshot>{SUMMARY}</state_snapshot>"
    model = Forgetful(
        qwen(), PARTS, asks=lambda body: "component that summarizes a conversation" in body, summary=summary
    )
    async with FakeProvider(model, output_counts=False) as provider:
        await run(qwen("-p", REQUEST), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    summarised = next(
        number for number, body in enumerate(bodies) if "component that summarizes" in json.dumps(body)
    )
    given = [given_by_us(body) for body in bodies]
    assert given[: summarised + 1] == [[]] * (summarised + 1)
    first = next(texts for texts in given if texts)[0]
    assert first.index(RULE) < first.index(CAUSE)
    assert model.read == PARTS
    receipt = receipts(tmp_path, "qwen")[0]
    assert (receipt.trigger, receipt.way) == ("auto", "beside")
    assert (receipt.rules, receipt.rules_stated, receipt.rules_stated_after) == (1, 0, 1)
    assert receipt.tokens <= BLOCK_TOKENS
    assert no_hook_failed(tmp_path)
