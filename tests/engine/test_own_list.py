"""The example of the guide, run as a person would: OpenAI's SDK, a list of its own, a process that is typed into."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from autocompact.ports import Key
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.house.source import ROOT

pytestmark = pytest.mark.anyio
EXAMPLE = ROOT / "examples" / "own_list.py"


async def test_a_loop_with_its_own_list_is_followed(tmp_path: Path) -> None:
    async with FakeProvider(["Hello.", "Basel."]) as provider:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(EXAMPLE),
            "fake",
            cwd=tmp_path,
            env={**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": provider.base_url},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, said = await asyncio.wait_for(process.communicate(b"hi\nwhere to?\n\n"), 60)
        assert process.returncode == 0, said.decode()
        assert [message["content"] for message in provider.requests[1].messages] == [
            "You are brief.",
            "hi",
            "Hello.",
            "where to?",
        ]
    assert b"Basel.\n[" in out
    async with SqliteStore(tmp_path / "chats.db") as store:
        log = await store.read(Key(conversation="own list"))
    assert [json.loads(message.raw or b"")["role"] for message in log] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert log[2].usage is not None, "what the provider reported is stored with the reply"


def test_the_guide_shows_it() -> None:
    guide = (ROOT / "docs" / "guides" / "use-the-library.md").read_text(encoding="utf-8")
    assert f"```python\n{EXAMPLE.read_text('utf-8')}```" in guide
