"""Strands' hook and model before a strict provider, with Strands' own model class."""

from __future__ import annotations

import asyncio
import json
import runpy
from base64 import b64decode
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

strands = pytest.importorskip("strands", reason="Strands is not installed: make test-adapters")

from anthropic import AsyncAnthropic
from strands import tool
from strands.agent.conversation_manager import NullConversationManager, SlidingWindowConversationManager
from strands.hooks import AfterToolCallEvent
from strands.models import Model
from strands.models.anthropic import AnthropicModel
from strands.models.openai import OpenAIModel
from strands.session import FileSessionManager
from strands.types.content import Messages
from strands.types.streaming import StreamEvent

from autocompact import Compactor, MemoryStore
from autocompact.adapters.strands import BRIDGE, Autocompact
from autocompact.core.messages import Message
from autocompact.engine.bridges import restored_from
from autocompact.errors import InvalidInput
from autocompact.testing.adapters import AdapterConformance, Interrupted, Passed, Setting
from tests.lengths import turns

pytestmark = pytest.mark.requirement("F3")


class Noting(Autocompact):
    """Notes the messages before it."""

    before: Sequence[object] = ()

    async def answer(
        self, model: Model, messages: Messages, *, options: Mapping[str, Any]
    ) -> AsyncGenerator[StreamEvent]:
        self.before = tuple(messages)
        async for event in super().answer(model, messages, options=options):
            yield event


class Noted(Model):
    """Notes the messages behind the adapter."""

    note: Callable[[Sequence[object]], None]

    def stream(self, messages: Messages, *rest: Any, **options: Any) -> Any:
        self.note(tuple(messages))
        return super().stream(messages, *rest, **options)


class NotedAnthropic(Noted, AnthropicModel):
    """A model whose reasoning is signed."""

    arguments: dict[str, Any]


class NotedOpenAI(Noted, OpenAIModel):
    """A model that connects anew for each request, as an event loop for each run needs."""


def end_the_run(event: AfterToolCallEvent) -> None:
    """Strands tells the model of any exception of a tool; what ends a run is a hook's."""
    if isinstance(event.exception, Interrupted):
        raise event.exception


class Agent:
    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        model = self.model = self.make_model(setting)
        model.note = self._note
        self.hook = Noting(setting.compactor, conversation=setting.conversation)
        folder = setting.kept.setdefault("folder", mkdtemp())
        self.agent = strands.Agent(
            model=model,
            tools=[tool(function) for function in setting.tools],
            system_prompt=setting.system,
            hooks=[self.hook, end_the_run],
            conversation_manager=NullConversationManager(),
            session_manager=FileSessionManager(session_id="one", storage_dir=folder),
            callback_handler=None,
        )

    def make_model(self, setting: Setting) -> Noted:
        client = {"api_key": "fake", "base_url": setting.provider.url, "max_retries": 0}
        model = NotedAnthropic(client_args=client, model_id="any", max_tokens=500)
        model.arguments = client
        return model

    def _note(self, messages: Sequence[object]) -> None:
        self.passed.append(Passed(before=self.hook.before, after=messages))

    async def turn(self, text: str, *, picture: str = "") -> str:
        shown = {"image": {"format": "png", "source": {"bytes": b64decode(picture)}}}
        result = await self.run([{"text": text}, *([shown] if picture else [])])
        return "".join(block.get("text", "") for block in result.message["content"])

    async def run(self, prompt: Any) -> Any:
        assert isinstance(self.model, NotedAnthropic)
        async with AsyncAnthropic(**self.model.arguments) as self.model.client:
            return await self.agent.invoke_async(prompt)

    async def history(self) -> list[Any]:
        return [BRIDGE.dump(message) for message in self.agent.messages]

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        return [BRIDGE.dump(message) for message in restored_from(log, bridge=BRIDGE)]


class SyncAgent(Agent):
    def make_model(self, setting: Setting) -> Noted:
        client = {"api_key": "fake", "base_url": setting.provider.base_url, "max_retries": 0}
        return NotedOpenAI(client_args=client, model_id="any")

    async def run(self, prompt: Any) -> Any:
        return await asyncio.to_thread(self.agent, prompt)


class TestStrands(AdapterConformance):
    examples = turns(5, long=2_000)

    def make_agent(self, setting: Setting) -> Agent:
        return Agent(setting)


class TestStrandsFromSynchronousCode(AdapterConformance):
    examples = turns(2, long=500)

    def make_agent(self, setting: Setting) -> Agent:
        return SyncAgent(setting)


def test_an_agent_that_would_lose_messages_is_refused() -> None:
    hook = Autocompact(Compactor(MemoryStore()), conversation="trip")
    manager = SlidingWindowConversationManager()
    with pytest.raises(InvalidInput, match="SlidingWindowConversationManager, which removes messages"):
        strands.Agent(model=NotedOpenAI(model_id="any"), hooks=[hook], conversation_manager=manager)


def test_a_hook_belongs_to_one_agent() -> None:
    hook = Autocompact(Compactor(MemoryStore()), conversation="trip")
    manager = NullConversationManager()
    first = strands.Agent(model=NotedOpenAI(model_id="any"), hooks=[hook], conversation_manager=manager)
    with pytest.raises(InvalidInput, match="make one for each agent"):
        strands.Agent(model=first.model, hooks=[hook], conversation_manager=manager)


def test_every_block_comes_back_from_the_log_as_it_was() -> None:
    data = bytes(range(256))
    blocks: list[Any] = [
        {"text": "Look."},
        {"cachePoint": {"type": "default"}},
        {"reasoningContent": {"redactedContent": data}},
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
        {"image": {"format": "jpeg", "source": {"bytes": data}}},
        {"image": {"format": "png", "source": {"location": {"type": "s3", "uri": "s3://a/b"}}}},
        {
            "document": {
                "format": "pdf",
                "name": "a",
                "source": {"bytes": data},
                "citations": {"enabled": True},
            }
        },
        {"video": {"format": "mp4", "source": {"bytes": data}}},
        {"toolUse": {"toolUseId": "1", "name": "look", "input": {"$bytes": "q"}, "reasoningSignature": "s"}},
    ]
    result = {"toolUseId": "1", "status": "success", "content": [{"json": {"a": [1, None]}}, {"text": "b"}]}
    for content in ([block] for block in [*blocks, {"toolResult": result}]):
        message: Any = {"role": "user", "content": content}
        (item,) = BRIDGE.write(message)
        assert BRIDGE.read([json.loads(json.dumps(item))], names={}) == [message]
        assert BRIDGE.load(json.loads(json.dumps(BRIDGE.dump(message)))) == message


class Scripted(Model):
    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Messages, *rest: Any, **options: Any) -> AsyncGenerator[StreamEvent]:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": f"answer to {len(messages)}"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def test_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "examples" / "adapters" / "strands_agent.py"
    chat = runpy.run_path(str(path))["chat"]
    said = chat(Scripted(), ["Where do we change trains?", "And when?"], path=str(tmp_path / "chats.db"))
    assert said == ["answer to 1", "answer to 3"]
