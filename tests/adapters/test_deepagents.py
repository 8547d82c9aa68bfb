"""LangChain's middleware in a deep agent, before a strict provider, with LangChain's own model class."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent  # pyright: ignore[reportUnknownVariableType] - its types are LangChain's
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from autocompact import Compactor, MemoryStore, SqliteStore
from autocompact.adapters.deepagents import AutocompactMiddleware
from autocompact.testing.adapters import WINDOW, AdapterConformance, Setting
from examples.adapters import deepagents_agent
from tests.adapters.test_langchain import Agent, tool_of
from tests.lengths import turns

pytestmark = pytest.mark.requirement("F3")


class Noted(AutocompactMiddleware):
    """Notes the messages before it and behind it: there is no other way to stand around what deepagents replaces."""

    def __init__(
        self,
        compactor: Compactor,
        *,
        before: Callable[[Sequence[object]], None],
        after: Callable[[Sequence[object]], None],
    ) -> None:
        super().__init__(compactor)
        self._before = before
        self._after = after

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        async def noted(shown: Any) -> Any:
            self._after(tuple(shown.messages))
            return await handler(shown)

        self._before(tuple(request.messages))
        return await super().awrap_model_call(request, noted)


class DeepAgent(Agent):
    def made(self, setting: Setting, model: ChatOpenAI, saver: InMemorySaver) -> Any:
        noted = Noted(setting.compactor, before=self.note_before, after=self.note_after)
        return create_deep_agent(
            model,
            [tool_of(tool) for tool in setting.tools],
            system_prompt=setting.system,
            middleware=[noted],
            checkpointer=saver,
        )


class TestDeepAgents(AdapterConformance):
    examples = turns(2, long=500)
    window = WINDOW + 4_000  # for the prompt and the eight tools of its own

    def make_agent(self, setting: Setting) -> Agent:
        return DeepAgent(setting)


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def test_a_sub_agent_has_a_conversation_of_its_own_and_no_summary_of_deepagents() -> None:
    store = MemoryStore()
    task = {"description": "Look.", "subagent_type": "general-purpose"}
    model = Model(
        messages=iter(
            [
                AIMessage("", tool_calls=[{"id": "call_1", "name": "task", "args": task}]),
                AIMessage("Found."),
                AIMessage("Done."),
            ]
        )
    )
    agent: Any = create_deep_agent(
        model,
        middleware=[AutocompactMiddleware(Compactor(store, window=128_000))],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "trip"}}
    assert agent.invoke({"messages": [("user", "Go.")]}, thread)["messages"][-1].text == "Done."
    kept = {each.key.conversation: each.last_seq for each in asyncio.run(store.conversations("default"))}
    assert kept.pop("trip") == 4
    assert [(name.startswith("trip/tools:"), count) for name, count in kept.items()] == [(True, 2)]
    assert "_summarizationEvent" not in str(agent.get_state(thread).values)


def test_the_example(tmp_path: Path) -> None:
    path = str(tmp_path / "chats.db")
    model = Model(messages=iter([AIMessage("Hello!"), AIMessage("At Mainz.")]))
    agent, thread = deepagents_agent.agent(model, path=path), {"configurable": {"thread_id": "trip"}}
    for words in ("Hello.", "Where do we change?"):
        state = agent.invoke({"messages": [("user", words)]}, thread)
    assert state["messages"][-1].text == "At Mainz."
    log = asyncio.run(_log(path))
    assert log == ["Hello.", "Hello!", "Where do we change?", "At Mainz."]


async def _log(path: str) -> list[str]:
    async with Compactor(SqliteStore(path), window=128_000) as compactor:
        return [message.text for message in await (await compactor.open("trip")).history()]
