"""The example of the README, run as a person would: a process that is typed into, twice, with a restart between."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.house.source import ROOT

pytestmark = pytest.mark.anyio
EXAMPLE = ROOT / "examples" / "ten_lines.py"


async def typed(lines: str, *, folder: Path, provider: FakeProvider) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLE),
        "fake",
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "", "OPENAI_BASE_URL": provider.base_url},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, problems = await asyncio.wait_for(process.communicate(lines.encode()), 60)
    assert process.returncode == 0, problems.decode()
    return out.decode()


async def test_ten_lines_make_a_chat_that_is_still_there_after_a_restart(tmp_path: Path) -> None:
    async with FakeProvider(["Hello.", "Basel."]) as provider:
        assert "Hello.\n[" in await typed("hi\n\n", folder=tmp_path, provider=provider)
        assert "Basel.\n[" in await typed("where to?\n\n", folder=tmp_path, provider=provider)
        assert [message["content"] for message in provider.requests[1].messages] == [
            "hi",
            "Hello.",
            "where to?",
        ]
    async with SqliteStore(tmp_path / "chats.db") as store:
        assert len(await store.read(Key(conversation="first chat"))) == 4


def test_it_is_ten_lines() -> None:
    body = EXAMPLE.read_text("utf-8").partition("async def chat")[2].partition("if __name__")[0]
    assert len(body.strip().splitlines()) <= 10
