"""LangChain's middleware before a strict provider, with LangChain's own model class."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - its checkpointer is of an unknown type
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from autocompact.adapters.langchain import MESSAGES, AutocompactMiddleware
from autocompact.core.messages import Message
from autocompact.engine.bridges import restored_from
from autocompact.testing.adapters import AdapterConformance, Passed, Setting, ToolFailed
from tests.lengths import turns

pytestmark = pytest.mark.requirement("F3")


class Seen(AgentMiddleware[Any, Any]):
    """Notes the messages where it stands in the chain."""

    def __init__(self, noted: Callable[[Sequence[object]], None], name: str) -> None:
        super().__init__()
        self._noted = noted
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self._noted(tuple(request.messages))
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self._noted(tuple(request.messages))
        return await handler(request)


def tool_of(function: Callable[[str], str]) -> BaseTool:
    tool = StructuredTool.from_function(function)

    def said(q: str) -> str:
        try:
            return function(q)
        except ToolFailed as error:
            return f"Error: {error}"

    tool.func = said
    return tool


class Agent:
    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        self._before: Sequence[object] = ()
        model = ChatOpenAI(
            model="any",
            base_url=setting.provider.base_url,
            api_key="fake",  # pyright: ignore[reportArgumentType] - LangChain makes a secret of it
            max_retries=0,
            # LangChain keeps clients by address, for other event loops too, and the system gives a port out again
            default_headers={"Connection": "close"},
        )
        self.config: Any = {"configurable": {"thread_id": setting.conversation}}
        self.graph = self.made(setting, model, setting.kept.setdefault("saver", InMemorySaver()))

    def made(self, setting: Setting, model: ChatOpenAI, saver: InMemorySaver) -> Any:
        middleware = [
            Seen(self.note_before, "before"),
            AutocompactMiddleware(setting.compactor),
            Seen(self.note_after, "after"),
        ]
        return create_agent(
            model,
            [tool_of(tool) for tool in setting.tools],
            system_prompt=setting.system,
            middleware=middleware,
            checkpointer=saver,
        )

    def note_before(self, messages: Sequence[object]) -> None:
        self._before = messages

    def note_after(self, messages: Sequence[object]) -> None:
        self.passed.append(Passed(before=self._before, after=messages))

    async def turn(self, text: str, *, picture: str = "") -> str:
        shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
        content: Any = [{"type": "text", "text": text}, shown] if picture else text
        state = await self.run({"messages": [HumanMessage(content)]})
        return state["messages"][-1].text

    async def run(self, state: Any) -> Any:
        return await self.graph.ainvoke(state, self.config)

    async def history(self) -> list[Any]:
        messages: list[BaseMessage] = self.graph.get_state(self.config).values["messages"]
        return [MESSAGES.dump(message) for message in messages]

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        return [MESSAGES.dump(message) for message in restored_from(log, bridge=MESSAGES)]


class SyncAgent(Agent):
    async def run(self, state: Any) -> Any:
        return await asyncio.to_thread(self.graph.invoke, state, self.config)


class TestLangChain(AdapterConformance):
    examples = turns(5, long=2_000)

    def make_agent(self, setting: Setting) -> Agent:
        return Agent(setting)


class TestLangChainFromSynchronousCode(AdapterConformance):
    examples = turns(2, long=500)

    def make_agent(self, setting: Setting) -> Agent:
        return SyncAgent(setting)
