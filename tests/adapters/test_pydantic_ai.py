"""Pydantic AI's capability before a strict provider, with Pydantic AI's own model class."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import BinaryContent, ImageUrl, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from autocompact import Compactor, SqliteStore
from autocompact.adapters.pydantic_ai import MESSAGES, AutocompactCapability
from autocompact.core.messages import Message
from autocompact.engine.bridges import Bridged, restored_from
from autocompact.testing.adapters import AdapterConformance, Passed, Setting, ToolFailed
from autocompact.wire.request import parse_message
from tests.lengths import turns

pytestmark = pytest.mark.requirement("F3")


class Seen(AbstractCapability[Any]):
    """Notes the messages where it stands in the chain."""

    def __init__(self, noted: Callable[[Sequence[object]], None]) -> None:
        self._noted = noted

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        self._noted(tuple(request_context.messages))
        return request_context


def tool_of(function: Callable[[str], str]) -> Callable[[str], str]:
    def said(q: str) -> str:
        try:
            return function(q)
        except ToolFailed as error:
            return f"Error: {error}"

    said.__name__, said.__doc__ = function.__name__, function.__doc__
    return said


class Agent:
    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        self._before: Sequence[object] = ()
        self._setting = setting
        self.agent: PydanticAgent[None, str] = PydanticAgent(
            system_prompt=setting.system,
            tools=[tool_of(tool) for tool in setting.tools],
            capabilities=[
                Seen(self._note_before),
                AutocompactCapability(setting.compactor),
                Seen(self._note_after),
            ],
        )

    def _note_before(self, messages: Sequence[object]) -> None:
        self._before = messages

    def _note_after(self, messages: Sequence[object]) -> None:
        self.passed.append(Passed(before=self._before, after=messages))

    async def turn(self, text: str, *, picture: str = "") -> str:
        shown = BinaryContent.from_data_uri(f"data:image/png;base64,{picture}") if picture else None
        with capture_run_messages() as messages:
            try:
                async with AsyncOpenAI(
                    base_url=self._setting.provider.base_url, api_key="fake", max_retries=0
                ) as client:
                    result = await self.agent.run(
                        [text, shown] if shown else text,
                        model=OpenAIChatModel("any", provider=OpenAIProvider(openai_client=client)),
                        message_history=self._history(),
                        conversation_id=self._setting.conversation,
                    )
            except BaseException:
                self._keep(messages)
                raise
        self._keep(result.all_messages())
        return result.output

    def _history(self) -> list[ModelMessage]:
        return ModelMessagesTypeAdapter.validate_json(self._setting.kept.get("history", b"[]"))

    def _keep(self, messages: list[ModelMessage]) -> None:
        self._setting.kept["history"] = ModelMessagesTypeAdapter.dump_json(messages)

    async def history(self) -> list[Any]:
        return [MESSAGES.dump(message) for message in self._history()]

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        return [MESSAGES.dump(message) for message in restored_from(log, bridge=MESSAGES)]


def test_a_conversation_may_be_named_once_and_else_goes_by_its_id(tmp_path: Path) -> None:
    def said(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        return ModelResponse(parts=[TextPart(f"answer to {len(messages)}")])

    async def talk() -> list[list[str]]:
        async with Compactor(SqliteStore(tmp_path / "chats.db"), window=128_000) as compactor:
            for capability in (
                AutocompactCapability(compactor, conversation="trip"),
                AutocompactCapability(compactor),
            ):
                agent = PydanticAgent(FunctionModel(said), capabilities=[capability])
                result = await agent.run("Hello.", conversation_id="by id")
                assert result.output == "answer to 1"
            logs = [await (await compactor.open(name)).history() for name in ("trip", "by id")]
        return [[message.text for message in log] for log in logs]

    assert asyncio.run(talk()) == [["Hello.", "answer to 1"]] * 2


def test_what_items_cannot_say_comes_back_exactly() -> None:
    parts = [
        UserPromptPart(
            ["look", BinaryContent(data=b"%PDF", media_type="application/pdf"), ImageUrl("https://x/a.png")]
        ),
        ToolReturnPart("look", {"a": [1, 2]}, "c1"),
    ]
    answer = ModelResponse(
        parts=[TextPart("a"), ThinkingPart("hm", signature="s"), TextPart("b"), ToolCallPart("f", {}, "c2")]
    )
    retry = MESSAGES.dump(ModelRequest(parts=[UserPromptPart("give JSON")]))
    retry["parts"] += [
        {"part_kind": "retry-prompt", "content": "no JSON", "tool_call_id": "r"},
        {"part_kind": "retry-prompt", "content": "no such file", "tool_name": "look", "tool_call_id": "c3"},
    ]
    with warnings.catch_warnings(action="ignore"):  # deprecated, and in histories all the same
        tried_again = MESSAGES.load(retry)
    for message in (ModelRequest(parts=parts), answer, ModelRequest(parts=[]), tried_again):
        with warnings.catch_warnings(action="ignore"):
            (items,) = Bridged(MESSAGES).written([message])
            log = [
                parse_message(json.dumps(item).encode(), dialect="openai_chat", seq=n)
                for n, item in enumerate(items, 1)
            ]
            (back,) = restored_from(log, bridge=MESSAGES)
        assert MESSAGES.dump(back) == MESSAGES.dump(message)
    assert [item["role"] for item in items] == ["user", "user", "tool"]


class TestPydanticAI(AdapterConformance):
    examples = turns(5, long=2_000)

    def make_agent(self, setting: Setting) -> Agent:
        return Agent(setting)
