"""The hooks in the real Codex, which compacts itself: what the next request holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.agents.repairing import BLOCK_TOKENS
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
_TRUSTED = "--dangerously-bypass-hook-trust"
"""What stands for the review that Codex asks its user for."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def codex(*options: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "codex-gpt-5")
    start, rest = usual.command[:2], usual.command[2:-1]
    settings = "model_auto_compact_token_limit = 25000\n" + usual.files[".codex/config.toml"]
    return replace(
        usual,
        command=(*start, *options, *rest, REQUEST),
        files={**usual.files, ".codex/config.toml": settings},
    )


class Sealing(Forgetful):
    """Its summary is an item that nobody can read."""

    def __call__(self, asked: Received) -> Answer:
        if asked.body["input"][-1].get("type") == "compaction_trigger":
            self.summaries += 1
            return Answer(text="", compaction=SUMMARY)
        return super().__call__(asked)


async def test_in_the_middle_of_a_turn_rules_and_findings_come_with_the_next_request(tmp_path: Path) -> None:
    make_project(tmp_path, instructions="")
    autocompact(tmp_path, "install", "codex")
    model = Sealing(codex(), PARTS, asks=lambda _: False)
    async with FakeProvider(model, output_counts=False) as provider:
        await run(codex(_TRUSTED), tmp_path, provider.url)
        bodies = [each.body for each in provider.requests]
    start = next(number for number, body in enumerate(bodies) if given_by_us(body))
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
