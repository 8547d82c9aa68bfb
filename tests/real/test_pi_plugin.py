"""The extension in the real pi, which compacts itself: what the next request holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

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

PARTS = 12
_SETTINGS = {"compaction": {"enabled": True, "reserveTokens": 188_000, "keepRecentTokens": 4_000}}
"""The window of the test's model is 200,000 tokens: pi compacts above 12,000."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pi(*arguments: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "pi-openai-completions")
    settings = {".pi/agent/settings.json": json.dumps(_SETTINGS)}
    command = ("pi", "--provider", "gateway", "--model", "some-model", *arguments)
    return replace(usual, command=command, files={**usual.files, **settings})


def forgetful(parts: int) -> Forgetful:
    return Forgetful(pi(), parts, asks=lambda body: "summarization" in body)


async def test_our_account_takes_the_place_of_the_summary(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "pi")
    model = forgetful(PARTS)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(pi("-p", REQUEST), tmp_path, provider.url)
        before = len(provider.requests)
        await run(pi("--continue", "-p", "Go on."), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    start = next(number for number, body in enumerate(bodies) if given_by_us(body))
    assert (model.read, model.summaries) == (PARTS, 0)
    assert [len(given_by_us(body)) for body in bodies] == [0] * start + [1] * (len(bodies) - start)
    assert start < before
    (first,) = given_by_us(bodies[start])
    assert (RULE in first, CAUSE in first) == (True, True)
    assert len(json.dumps(bodies[start])) < len(json.dumps(bodies[start - 1]))
    (receipt,) = receipts(tmp_path, "pi")
    assert (receipt.trigger, receipt.way, receipt.rules, receipt.rules_stated) == (
        "threshold",
        "in place",
        1,
        1,
    )
    assert no_hook_failed(tmp_path)


async def test_where_ours_cannot_be_had_pi_makes_its_own_summary(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "pi")
    extension = tmp_path / ".pi" / "agent" / "extensions" / "autocompact" / "index.js"
    extension.write_text(extension.read_text().replace("autocompact.agents.hook", "autocompact.nowhere"))
    model = forgetful(PARTS)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(pi("-p", REQUEST), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    assert (model.read, model.summaries) == (PARTS, 1)
    assert [given_by_us(body) for body in bodies] == [[]] * len(bodies)
    assert SUMMARY in json.dumps(bodies[-1])
