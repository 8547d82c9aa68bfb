"""The real Claude Code goes on from a session that `autocompact compact` has compacted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider, Received
from tests.real.agents import CLIENTS, Client
from tests.real.plugins import autocompact, run, texts_of
from tests.real.running_clients import make_project
from tests.real.test_real_clients import PROGRAMS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.requirement("E8"),
    pytest.mark.skipif(not PROGRAMS, reason="no clients are installed: `make test-clients` installs them"),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def claude_code(*arguments: str) -> Client:
    usual = next(client for client in CLIENTS if client.name == "claude-code")
    options = ("--model", "claude-sonnet-4-5", "--allowedTools", "Bash,Read,Edit", "--output-format", "json")
    return replace(usual, command=("claude", *arguments, *options))


class Working:
    """A model that makes these calls, one a reply."""

    def __init__(self, *calls: tuple[str, Mapping[str, object]]) -> None:
        self._calls = [
            ToolCall(id=f"toolu_{number:03}", name=name, arguments=json.dumps(arguments))
            for number, (name, arguments) in enumerate(calls)
        ]

    def __call__(self, asked: Received) -> Answer:
        if not asked.body.get("tools"):
            return Answer(text="{}")
        return Answer(text="Next.", calls=(self._calls.pop(0),)) if self._calls else Answer(text="Done.")


async def test_it_has_the_summary_the_recent_messages_and_the_newest_of_the_files_in_work(
    tmp_path: Path,
) -> None:
    make_project(tmp_path, instructions="")
    project = tmp_path / "project"
    (project / "pump.py").write_text("LIMIT = 1\n")
    (project / "long.txt").write_text("A line of many words.\n" * 2_000)
    (project / ".env").write_text("TOKEN=of-somebody\n")
    model = Working(
        ("Read", {"file_path": str(project / ".env")}),
        ("Read", {"file_path": str(project / "pump.py")}),
        ("Edit", {"file_path": str(project / "pump.py"), "old_string": "= 1", "new_string": "= 2"}),
        ("Read", {"file_path": str(project / "long.txt"), "limit": 3}),
        *(("Bash", {"command": f"cat part-{number:02}.txt"}) for number in range(1, 12)),
    )
    async with FakeProvider(model, output_counts=False) as provider:
        await run(claude_code("-p", "Mend the pump."), tmp_path, provider.url)
        (session,) = (tmp_path / ".claude" / "projects").glob("*/*.jsonl")
        compacted = tmp_path / "compacted.jsonl"
        options = ("--format", "claude-code", "--tail-tokens", "3000", "--out", str(compacted))
        autocompact(tmp_path, "compact", str(session), *options)
        compacted.replace(session)
        before = len(provider.requests)
        await run(claude_code("--resume", session.stem, "-p", "Go on."), tmp_path, provider.url)
        texts = list(texts_of(provider.requests[before].body["messages"]))
    summary, pump, long, words = (
        next(number for number, text in enumerate(texts) if wanted in text)
        for wanted in (
            "# Conversation Summary",
            "1\tLIMIT = 2\n",
            f"{project / 'long.txt'} was read before",
            "Go on.",
        )
    )
    recent = next(number for number, text in enumerate(texts) if text.startswith("part 11 line 000"))
    assert summary < recent < long < pump < words
    assert not any(text.startswith("part 01 line 000") for text in texts)
    assert not any("of-somebody" in text for text in texts)
