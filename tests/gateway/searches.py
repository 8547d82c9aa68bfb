"""A conversation whose beginning has left the context, and what the official clients make of the answers in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import anthropic
import openai

from autocompact.core.messages import Dialect, ToolCall
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.testing import Answer, Received
from tests.gateway.test_compaction import words

WINDOW = 8_000
FACT = "Somebody remarked that the caterer wants to be paid in herons"
TOLD = f"```\n{FACT}\n```"  # in a block, which no account of a chat quotes
SEARCH = ToolCall(id="call_mem1", name="memory_search", arguments='{"query":"caterer paid"}')
READ = ToolCall(id="call_read1", name="read", arguments='{"path":"a.txt"}')
SCHEMA: Any = {"type": "object", "properties": {"path": {"type": "string"}}}
DIALECTS: list[Dialect] = ["openai_chat", "openai_responses", "anthropic"]
PATHS = {"openai_chat": "chat/completions", "openai_responses": "responses", "anthropic": "messages"}


def indexed() -> MemoryStore:
    """A store that the model can search."""
    return MemoryStore(indexer=MemoryIndex())


def history(turns: int = 24) -> list[Any]:
    """More than the window holds, with the fact in what an early reply says."""
    said: list[Any] = [{"role": "user", "content": "Start"}]
    for turn in range(turns):
        fact = f"\n{TOLD}\n" if turn == 4 else ""
        said += [
            {"role": "assistant", "content": f"{words(turn)}{fact} {words(turn + 100)}"},
            {"role": "user", "content": f"Go on with step {turn}, please."},
        ]
    return said


def tools_of(dialect: Dialect) -> list[Any]:
    named = {"name": "read", "description": "Read a file."}
    if dialect == "anthropic":
        return [named | {"input_schema": SCHEMA}]
    if dialect == "openai_chat":
        return [{"type": "function", "function": named | {"parameters": SCHEMA}}]
    return [{"type": "function", "parameters": SCHEMA, "strict": False} | named]


def names(asked: Received) -> list[str]:
    """The tools that a request brings."""
    return [tool.get("function", tool)["name"] for tool in asked.body.get("tools", [])]


def results(asked: Received) -> list[str]:
    """What tools answered at the end of a request."""
    last = asked.messages[-1]
    if last.get("role") == "tool":
        return [last["content"]]
    if last.get("type") == "function_call_output":
        return [last["output"]]
    content = last.get("content")
    blocks: Any = [] if isinstance(content, str | None) else content
    return [block["content"] for block in blocks if block.get("type") == "tool_result"]


def searching(asked: Received) -> Answer:
    """Looks the fact up, and says what it found."""
    told = results(asked)
    if told:
        found = "caterer wants to be paid in herons" in told[-1]
        return Answer(reasoning="It was there.", text="In herons." if found else "I do not know.")
    return Answer(reasoning="I should look.", text="Let me look.", calls=(SEARCH,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What an official client made of an answer."""

    text: str
    dump: str
    calls: tuple[str, ...]
    prompt: int
    completion: int
    ended: str


Ask: TypeAlias = Callable[..., Awaitable[Seen]]


async def ask_chat(url: str, *, stream: bool, **members: Any) -> Seen:
    asked: Any = {"model": "m", "max_tokens": 500, "messages": history()} | members
    client: Any = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    async with client:
        if stream:
            async with client.chat.completions.stream(
                **asked, stream_options={"include_usage": True}
            ) as events:
                dumps: list[str] = [event.model_dump_json(warnings=False) async for event in events]
                done: Any = await events.get_final_completion()
        else:
            dumps, done = [], await client.chat.completions.create(**asked)
    message, usage = done.choices[0].message, done.usage
    return Seen(
        text=message.content,
        dump="".join((*dumps, done.model_dump_json(warnings=False))),
        calls=tuple(call.id for call in message.tool_calls or ()),
        prompt=usage.prompt_tokens,
        completion=usage.completion_tokens,
        ended=done.choices[0].finish_reason,
    )


async def ask_responses(url: str, *, stream: bool, **members: Any) -> Seen:
    asked: Any = {"model": "m", "max_output_tokens": 500, "store": False, "input": history()} | members
    client: Any = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    async with client:
        if stream:
            async with client.responses.stream(**asked) as events:
                told: list[Any] = [event async for event in events]
                done: Any = await events.get_final_response()
            numbers = [event.sequence_number for event in told]
            assert numbers == list(range(len(numbers)))
            assert [event.type for event in told].count("response.created") == 1
            dumps: list[str] = [event.model_dump_json(warnings=False) for event in told]
        else:
            dumps, done = [], await client.responses.create(**asked)
    return Seen(
        text="\n\n".join(
            item.content[0].text for item in done.output if item.type == "message" and item.content[0].text
        ),
        dump="".join((*dumps, done.model_dump_json(warnings=False))),
        calls=tuple(item.call_id for item in done.output if item.type == "function_call"),
        prompt=done.usage.input_tokens,
        completion=done.usage.output_tokens,
        ended=done.status,
    )


async def ask_anthropic(url: str, *, stream: bool, **members: Any) -> Seen:
    asked: Any = {"model": "m", "max_tokens": 500, "messages": history()} | members
    client: Any = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
    async with client:
        if stream:
            async with client.messages.stream(**asked) as events:
                told: list[Any] = [event async for event in events]
                done: Any = await events.get_final_message()
            kinds = [event.type for event in told]
            assert (kinds.count("message_start"), kinds.count("message_stop")) == (1, 1)
            begun = [event.index for event in told if event.type == "content_block_start"]
            assert begun == list(range(len(done.content)))
            dumps: list[str] = [event.model_dump_json(warnings=False) for event in told]
        else:
            dumps, done = [], await client.messages.create(**asked)
    return Seen(
        text="\n\n".join(block.text for block in done.content if block.type == "text"),
        dump="".join((*dumps, done.model_dump_json(warnings=False))),
        calls=tuple(block.id for block in done.content if block.type == "tool_use"),
        prompt=done.usage.input_tokens,
        completion=done.usage.output_tokens,
        ended=done.stop_reason,
    )


ASK: dict[Dialect, Ask] = {
    "openai_chat": ask_chat,
    "openai_responses": ask_responses,
    "anthropic": ask_anthropic,
}
