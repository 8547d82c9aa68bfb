"""The memory tools are named only to a model that has them."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from autocompact.core.messages import Message, Text, ToolResult, text_message
from autocompact.gateway.wording import without_tools
from autocompact.ledger.summary import frame
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before

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


async def sent(*, says: int, memory_tools: bool = False) -> list[str]:
    """The bodies that go upstream for a conversation that outgrows its window, those of compacted contexts."""
    store = MemoryStore(indexer=MemoryIndex())
    async with (
        FakeProvider("Fine.") as provider,
        gateway_before(provider, store=store, window=8_000, memory_tools=memory_tools) as url,
        anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0) as client,
    ):
        for turns in range(1, 26):
            await client.messages.create(
                model="m", max_tokens=100, messages=history(turns, says=says), tools=[TOOL]
            )
        bodies = [asked.raw.decode() for asked in provider.requests]
    return [body for body in bodies if "Line of part 0. " * 120 not in body]


@pytest.mark.parametrize("says, said", [(0, "; archived as m"), (40, "a reference such as [m123] names one")])
async def test_a_model_without_the_tools_never_reads_their_names(says: int, said: str) -> None:
    bodies = await sent(says=says)
    assert any(said in body for body in bodies)
    for body in bodies:
        texts = json.dumps(json.loads(body)["messages"], ensure_ascii=False)
        assert "memory_search" not in texts
        assert "memory_expand" not in texts.replace(json.dumps(QUOTED)[1:-1], "")


async def test_a_model_that_has_them_does() -> None:
    bodies = await sent(says=40, memory_tools=True)
    assert all('"memory_expand"' in body and "archived as m" not in body for body in bodies)
    assert any("memory_search finds them" in body for body in bodies)


def test_what_a_client_wrote_itself_stays() -> None:
    theirs = text_message(3, "user", f"{QUOTED} memory_search finds them")
    assert without_tools(theirs) is theirs
    stub = ToolResult(call_id="a", text='[output left out: cat a; memory_expand("m4") shows it]')
    quoted = ToolResult(call_id="b", text=QUOTED)
    changed = without_tools(Message(seq=4, role="tool", parts=(stub, quoted)))
    assert changed.results[0].text == "[output left out: cat a; archived as m4]"
    assert changed.results[1] is quoted


def test_a_summary_in_the_system_prompt_is_found_and_the_prompt_stays() -> None:
    prompt = Text(
        text="Be careful. memory_search finds them, memory_expand opens a reference such as [m123]."
    )
    section = Text(
        text=frame('Said: [… 9 characters left out: memory_expand("m2") shows all of it]', placement="system")
    )
    changed = without_tools(Message(seq=1, role="system", parts=(prompt, section)))
    assert changed.parts[0] is prompt
    assert "memory_" not in changed.parts[1].text if isinstance(changed.parts[1], Text) else False
    assert "9 characters left out: all of it is archived as m2]" in changed.text
