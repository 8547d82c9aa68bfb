"""An agent's instructions and tools must stay what they were: what no real API asks for."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider, SameInstructions
from tests.testing.asking import HI, PATHS, ask

pytestmark = pytest.mark.anyio

READ = {"name": "read", "description": "Reads a file", "input_schema": {"type": "object"}}
WRITE = READ | {"name": "write"}
MEMORY = READ | {"name": "memory_search"}
FIRST: dict[str, Any] = HI["anthropic"] | {"system": "You are careful.", "tools": [READ, WRITE]}
CALLED: list[Any] = [
    {"role": "user", "content": "Say hi"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]},
]
EXEC = {"type": "custom", "name": "exec", "format": {"type": "text"}}
HIDDEN: dict[str, Any] = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "namespace", "name": "functions", "tools": [EXEC]}],
}


async def second(path: str, first: Any, then: Any, rule: SameInstructions | None = None) -> str:
    """What is said of a second request; "" if it is taken."""
    async with FakeProvider("fine", rules=[rule or SameInstructions()]) as provider:
        told = await ask(provider, PATHS[path], first)
        assert told.status == 200, told.body
        told = await ask(provider, PATHS[path], then)
    return told.error if told.status == 400 else ""


@pytest.mark.parametrize(
    "then, reason",
    [
        ({"tools": [READ]}, "the tool 'write' vanished"),
        ({"tools": [READ, WRITE, READ | {"name": "delete"}]}, "the tool 'delete' is unknown"),
        ({"tools": [READ, WRITE | {"description": "Writes"}]}, "the tool 'write' changed"),
        ({"system": "You are careless."}, "the system prompt changed"),
        ({"system": None}, "the system prompt is missing"),
        ({"tools": None, "messages": CALLED}, "the tools are missing, although the messages hold tool calls"),
    ],
)
async def test_a_request_that_lost_what_the_first_had_is_refused(then: Any, reason: str) -> None:
    assert await second("anthropic", FIRST, FIRST | then) == f"FakeProvider: {reason}"


@pytest.mark.parametrize(
    "then",
    [
        {"messages": CALLED},
        {"system": [{"type": "text", "text": "You are careful."}, {"type": "text", "text": "In short: …"}]},
        {"tools": [READ | {"cache_control": {"type": "ephemeral"}}, WRITE, MEMORY]},
        {"tools": None, "system": "Find a title."},
    ],
)
async def test_what_is_added_marked_or_asked_beside_the_agent_passes(then: Any) -> None:
    assert await second("anthropic", FIRST, FIRST | then) == ""


async def test_a_block_that_changes_with_each_request_can_be_named() -> None:
    def sent(count: int) -> Any:
        system = [
            {"type": "text", "text": f"x-billing: {count}"},
            {"type": "text", "text": "You are careful."},
        ]
        return FIRST | {"system": system}

    assert await second("anthropic", sent(1), sent(2)) == "FakeProvider: the system prompt changed"
    assert await second("anthropic", sent(1), sent(2), SameInstructions(volatile=["x-billing"])) == ""


async def test_instructions_and_tools_among_the_items_of_the_input_count() -> None:
    developer = {"role": "developer", "content": "You are careful."}
    user, call = {"role": "user", "content": "Say hi"}, {"type": "custom_tool_call", "call_id": "a"}
    called = [
        user,
        call | {"name": "exec", "input": "1"},
        {"type": "custom_tool_call_output", "call_id": "a"},
    ]
    first = HI["responses"] | {"input": [HIDDEN, developer, user]}
    assert await second("responses", first, first | {"input": [HIDDEN, developer, *called]}) == ""
    told = await second("responses", first, first | {"input": [developer, *called]})
    assert told == "FakeProvider: the tools are missing, although the messages hold tool calls"
    told = await second("responses", first, first | {"input": [HIDDEN, *called]})
    assert told == "FakeProvider: the system prompt is missing"


@pytest.mark.parametrize("tools", [{"tools": [EXEC]}, {"input": [HIDDEN, {"role": "user", "content": "Go"}]}])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_custom_tool_is_called_with_text_whole_and_streamed(
    tools: dict[str, Any], stream: bool
) -> None:
    answer = Answer(calls=(ToolCall(id="a", name="exec", arguments="text(1 + 1)"),))
    async with FakeProvider([answer]) as provider:
        client: Any = openai.AsyncOpenAI(api_key="k", base_url=provider.base_url, max_retries=0)
        asked: Any = {"model": "m", "input": "Go"} | tools
        if stream:
            events = [event async for event in await client.responses.create(**asked, stream=True)]
            deltas = [each.delta for each in events if each.type == "response.custom_tool_call_input.delta"]
            assert "".join(deltas) == "text(1 + 1)"
            call = events[-1].response.output[0]
        else:
            call = (await client.responses.create(**asked)).output[0]
        await client.close()
    assert (call.type, call.name, call.input) == ("custom_tool_call", "exec", "text(1 + 1)")
    assert getattr(call, "namespace", None) == ("functions" if "input" in tools else None)


async def test_a_provider_may_count_the_prompt_alone_against_its_window() -> None:
    asked = HI["anthropic"] | {"max_tokens": 5_000}
    for counted, status in ((True, 400), (False, 200)):
        async with FakeProvider("fine", window=1_000, output_counts=counted) as provider:
            assert (await ask(provider, "/messages", asked)).status == status
