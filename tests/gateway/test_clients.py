"""The official clients get the same with and without the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from autocompact.core.messages import ToolCall
from autocompact.testing import Answer, FakeProvider
from tests.gateway.serving import gateway_before

pytestmark = pytest.mark.anyio

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SCHEMA: Any = {"type": "object", "properties": {"city": {"type": "string"}}}
CALLS = tuple(
    ToolCall(id=f"call_{city}", name="weather", arguments=f'{{"city":"{city}"}}')
    for city in ("Paris", "Rome")
)
ANSWERS = [Answer(text="One moment.", calls=CALLS), Answer(text="It rains in both.")]
QUESTION = "How is the weather there?"


async def chat(url: str) -> list[Any]:
    client: Any = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    messages: list[Any] = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, picture]}]
    tools = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
    async with client:
        first = await client.chat.completions.create(model="m", messages=messages, tools=tools)
        messages.append(first.choices[0].message.model_dump(exclude_none=True))
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "Rain."} for call in CALLS]
        streamed = await client.chat.completions.create(
            model="m", messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk.model_dump() async for chunk in streamed]
        models = [model.id async for model in client.models.list()]
    return [first.model_dump(), chunks, models]


async def responses(url: str) -> list[Any]:
    client: Any = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    tools = [{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": False}]
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    async with client:
        first = await client.responses.create(model="m", instructions="Be brief.", input=items, tools=tools)
        items += [item.model_dump(exclude_none=True) for item in first.output]
        items += [{"type": "function_call_output", "call_id": call.id, "output": "Rain."} for call in CALLS]
        streamed = await client.responses.create(
            model="m", instructions="Be brief.", input=items, tools=tools, stream=True
        )
        events = [event.model_dump() async for event in streamed]
    return [first.model_dump(), events]


async def messages(url: str) -> list[Any]:
    client: Any = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    said: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": QUESTION}, {"type": "image", "source": source}]}
    ]
    tools = [{"name": "weather", "input_schema": SCHEMA}]
    async with client:
        counted = await client.messages.count_tokens(model="m", messages=said, tools=tools)
        first = await client.messages.create(
            model="m", max_tokens=99, system="Be brief.", messages=said, tools=tools
        )
        said.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]}
        )
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Rain."} for call in CALLS]
        said.append({"role": "user", "content": results})
        async with client.messages.stream(
            model="m", max_tokens=99, system="Be brief.", messages=said, tools=tools
        ) as stream:
            events = [event.model_dump() async for event in stream]
    return [counted.model_dump(), first.model_dump(), events]


@pytest.mark.requirement("E7")
@pytest.mark.parametrize("flow", [chat, responses, messages])
@pytest.mark.parametrize("keep_from", [0.0, 1.0])
async def test_below_the_threshold_clients_get_and_providers_see_the_same(
    flow: Callable[[str], Awaitable[list[Any]]], keep_from: float
) -> None:
    async with FakeProvider(ANSWERS, models=["m"]) as bare:
        direct = await flow(bare.url)
    async with (
        FakeProvider(ANSWERS, models=["m"]) as provider,
        gateway_before(provider, keep_from=keep_from) as url,
    ):
        through = await flow(url)
    assert through == direct
    assert [asked.raw for asked in provider.requests] == [asked.raw for asked in bare.requests]
    theirs, ours = (dict(each.requests[0].headers) for each in (bare, provider))
    assert theirs.pop("host") != ours.pop("host")
    assert {**ours, "connection": ""} == {**theirs, "connection": ""}


async def test_errors_are_those_that_the_clients_know() -> None:
    async with FakeProvider(models=["m"]) as provider, gateway_before(provider) as url:
        provider.fail("rate_limit", retry_after="3")
        client: Any = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
        said = [{"role": "user", "content": "Hi"}]
        async with client:
            with pytest.raises(anthropic.RateLimitError) as limited:
                await client.messages.create(model="m", max_tokens=9, messages=said)
            with pytest.raises(anthropic.NotFoundError):
                await client.messages.create(model="unknown", max_tokens=9, messages=said)
    assert limited.value.response.headers["retry-after"] == "3"
