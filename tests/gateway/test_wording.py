"""The memory tools are named only to a model that has them."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from pathlib import Path
from typing import Any

import anthropic
import pytest

from autocompact.gateway.config import LOCAL_HOSTS
from autocompact.ports import ConversationStore
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.warm import command

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("E7")]

QUOTED = 'The old log says: memory_expand("m7") shows it]'
TOOL: Any = {"name": "read", "description": "Reads", "input_schema": {"type": "object"}}


def history(turns: int, *, says: int) -> list[Any]:
    """An agent's: each turn reads something large, and says so many sentences."""
    messages: list[Any] = [{"role": "user", "content": QUOTED}]
    for turn in range(turns):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "read", "input": {"turn": turn}}
        output = f"Line of part {turn}. " * 120
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": output}
        said = {"type": "text", "text": f"Part {turn} is the one that matters. " * says}
        messages += [
            {"role": "assistant", "content": [said, call] if says else [call]},
            {"role": "user", "content": [result]},
        ]
    return messages


async def sent(
    *, says: int, memory_tools: bool = False, store: ConversationStore | None = None, **settings: Any
) -> list[str]:
    """The bodies that go upstream for a conversation that outgrows its window, those of compacted contexts."""
    kept = store or MemoryStore(indexer=MemoryIndex())
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, store=kept, window=8_000, memory_tools=memory_tools, **settings) as url,
        anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client,
    ):
        for turns in range(1, 26):
            await client.messages.create(
                model="m", max_tokens=100, messages=history(turns, says=says), tools=[TOOL]
            )
        bodies = [asked.raw.decode() for asked in provider.requests]
    return [body for body in bodies if "Line of part 0. " * 120 not in body]


def texts_of(body: str) -> str:
    return json.dumps(json.loads(body)["messages"], ensure_ascii=False)


@pytest.mark.parametrize("says, said", [(0, "; archived as m"), (40, "a reference such as [m123] names one")])
async def test_a_model_without_the_tools_never_reads_their_names(says: int, said: str) -> None:
    bodies = await sent(says=says)
    assert any(said in body for body in bodies)
    for body in bodies:
        texts = texts_of(body)
        assert "memory_search" not in texts
        assert "memory_expand" not in texts.replace(json.dumps(QUOTED)[1:-1], "")


async def test_a_model_that_has_them_does() -> None:
    bodies = await sent(says=40, memory_tools=True)
    assert all('"memory_expand"' in body and "archived as m" not in body for body in bodies)
    assert any("memory_search finds them" in body for body in bodies)


async def test_an_agent_without_the_tools_is_told_a_command_that_shows_what_left(tmp_path: Path) -> None:
    database = tmp_path / "where it is" / "gw.db"
    database.parent.mkdir()
    bodies = await sent(says=40, store=SqliteStore(database), database=str(database))
    note = re.search(r"If you can run commands, `(autocompact show [^`]+)` shows it", texts_of(bodies[-1]))
    assert note is not None
    _, *arguments = shlex.split(note[1].replace("m123", "m3"))
    process = await asyncio.create_subprocess_exec(*(*command(), *arguments), stdout=asyncio.subprocess.PIPE)
    shown, _ = await process.communicate()
    assert (process.returncode, b"Line of part 0. " * 120 in shown) == (0, True), shown


@pytest.mark.parametrize("settings", [{}, {"database": "gw.db", "hosts": LOCAL_HOSTS | {"gw.example"}}])
async def test_a_client_elsewhere_or_without_a_file_is_told_that_it_cannot_open_them(settings: Any) -> None:
    bodies = await sent(says=40, **settings)
    assert "autocompact show" not in bodies[-1]
    assert "You cannot open it yourself: where a detail is missing" in bodies[-1]
