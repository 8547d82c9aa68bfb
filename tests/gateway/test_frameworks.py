"""Agents of the frameworks, their base URL at the gateway: long conversations with tools, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import anthropic
import openai
import pytest

from autocompact.testing import FakeProvider
from tests.gateway.serving import gateway_before
from tests.gateway.test_long_conversations import OUTPUT, answer, asking, builder, log_of
from tests.lengths import turns

pytestmark = pytest.mark.anyio

LONG = (turns(80, long=400), 4, 8_000)
"""Turns, of which one in so many uses the tools, and the window. OpenAI's client walks through each history in a way that
takes minutes for so many turns."""

SHORT = (24, 1, 4_000)
"""The newest tool results are more than the recent messages that stay in such a window."""


class Tools:
    """The tool of the agent: it knows which module is being built."""

    turn = 0

    def read(self, n: int) -> str:
        """Read a file."""
        return log_of(self.turn, n)


def pydantic_chat(url: str) -> tuple[Any, Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client)), client


def pydantic_responses(url: str) -> tuple[Any, Any]:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    return OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=client)), client


def pydantic_messages(url: str) -> tuple[Any, Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = anthropic.AsyncAnthropic(api_key="k", base_url=url, max_retries=0)
    return AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client)), client


@pytest.mark.requirement("E7")
@pytest.mark.parametrize(
    "opened, turns, every, window",
    [
        (pydantic_chat, *SHORT),
        (pydantic_responses, *SHORT),
        (pydantic_messages, *SHORT),
        (pydantic_messages, *LONG),
    ],
)
async def test_a_pydantic_ai_agent_outlives_its_window(
    opened: Callable[[str], tuple[Any, Any]], turns: int, every: int, window: int
) -> None:
    from pydantic_ai import Agent

    tools, history = Tools(), []
    async with (
        FakeProvider(builder, window=window) as provider,
        gateway_before(provider, window=window) as url,
    ):
        model, client = opened(url)
        settings: Any = {"max_tokens": OUTPUT}
        agent: Any = Agent(
            model, instructions="You build modules.", tools=[tools.read], model_settings=settings
        )
        async with client:
            for tools.turn in range(turns):
                asked = asking(tools.turn, every=every)
                if tools.turn % 20 < 4:
                    async with agent.run_stream(asked, message_history=history) as done:
                        assert await done.get_output() == answer(tools.turn, every=every)
                else:
                    done = await agent.run(asked, message_history=history)
                    assert done.output == answer(tools.turn, every=every)
                history = done.all_messages()
    sent(provider, requests=turns + turns // every, window=window)


def langchain_chat(url: str, *, responses: bool = False) -> tuple[Any, Any]:
    import httpx
    from langchain_openai import ChatOpenAI

    client = httpx.AsyncClient()
    members: Any = {"base_url": f"{url}/v1", "api_key": "k", "max_retries": 0, "max_tokens": OUTPUT}
    model = ChatOpenAI(model="m", http_async_client=client, use_responses_api=responses, **members)
    return model, client


def langchain_responses(url: str) -> tuple[Any, Any]:
    return langchain_chat(url, responses=True)


def langchain_messages(url: str) -> tuple[Any, Any]:
    from langchain_anthropic import ChatAnthropic

    members: Any = {"base_url": url, "api_key": "k", "max_retries": 0, "max_tokens": OUTPUT}
    model: Any = ChatAnthropic(model_name="m", **members)
    return model, model._async_client  # the model itself cannot be closed


@pytest.mark.requirement("E7")
@pytest.mark.parametrize(
    "opened, turns, every, window",
    [
        (langchain_chat, *SHORT),
        (langchain_responses, *SHORT),
        (langchain_messages, *SHORT),
        (langchain_messages, *LONG),
    ],
)
async def test_a_langchain_model_with_tools_outlives_its_window(
    opened: Callable[[str], tuple[Any, Any]], turns: int, every: int, window: int
) -> None:
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage

    tools = Tools()
    history: list[Any] = [SystemMessage("You build modules.")]
    async with (
        FakeProvider(builder, window=window) as provider,
        gateway_before(provider, window=window) as url,
    ):
        chat, client = opened(url)
        model = chat.bind_tools([tools.read])
        async with client:
            for tools.turn in range(turns):
                history.append(HumanMessage(asking(tools.turn, every=every)))
                said: Any = await model.ainvoke(history)
                if said.tool_calls:
                    history.append(said)
                    results = ((tools.read(**call["args"]), call["id"]) for call in said.tool_calls)
                    history += [ToolMessage(text, tool_call_id=id) for text, id in results]
                    if tools.turn % 20:
                        said = await model.ainvoke(history)
                    else:
                        pieces = [piece async for piece in model.astream(history)]
                        said = sum(pieces[1:], start=pieces[0])
                assert said.text == answer(tools.turn, every=every)
                history.append(said)
    sent(provider, requests=turns + turns // every, window=window)


def sent(provider: FakeProvider, *, requests: int, window: int) -> None:
    """What the provider saw: every request once, none refused, several times compacted."""
    assert len(provider.requests) == requests
    sizes = [asked.tokens for asked in provider.requests]
    assert max(sizes) <= window - OUTPUT
    assert sum(after < before for before, after in pairwise(sizes)) >= 3
