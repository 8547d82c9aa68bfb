"""The session for the OpenAI Agents SDK before a strict provider, with the SDK's own model classes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import Agent as SdkAgent
from agents import (
    FunctionTool,
    Model,
    ModelProvider,
    ModelResponse,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    Usage,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.extensions.handoff_filters import remove_all_tools
from agents.run import CallModelData, ModelInputData
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from autocompact import Compactor, MemoryStore, SqliteStore
from autocompact.adapters.openai_agents import AutocompactSession, CompactingModel
from autocompact.core.messages import Message
from autocompact.ports import ConversationStore
from autocompact.testing.adapters import AdapterConformance, Passed, Setting, ToolFailed, Turn, look
from autocompact.wire import plain_messages
from examples.adapters import openai_agents_agent
from tests.lengths import turns

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("F3")]

set_tracing_disabled(disabled=True)  # it would be sent to OpenAI


class Provider(ModelProvider):
    """Models of one server, for any name, while its client is open."""

    def __init__(self, model: Callable[[AsyncOpenAI], Model], *, base_url: str) -> None:
        self._model = model
        self._base_url = base_url

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        async with AsyncOpenAI(api_key="fake", base_url=self._base_url, max_retries=0) as self._client:
            yield

    def get_model(self, model_name: str | None) -> Model:
        return self._model(self._client)


def responses(client: AsyncOpenAI) -> Model:
    return OpenAIResponsesModel("any", client)


def chat(client: AsyncOpenAI) -> Model:
    return OpenAIChatCompletionsModel("any", client)


def tool_of(function: Callable[[str], str]) -> FunctionTool:
    def told(context: Any, error: Exception) -> str:
        if isinstance(error, ToolFailed):
            return f"Error: {error}"
        raise error

    return function_tool(function, failure_error_function=told)


class Twice(AutocompactSession):
    """Gives what it is given to a session of the SDK, too: that is the framework's own history."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting.compactor, conversation=setting.conversation)
        self.own: SQLiteSession = setting.kept.setdefault("own", SQLiteSession("one"))

    async def add_items(self, items: list[Any]) -> None:
        await self.own.add_items(items)
        await super().add_items(items)


class Agent:
    model: Callable[[AsyncOpenAI], Model] = staticmethod(chat)

    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        self.session = Twice(setting)
        self.agent = SdkAgent(
            name="careful", instructions=setting.system, tools=[tool_of(tool) for tool in setting.tools]
        )
        self.provider = Provider(self.model, base_url=setting.provider.base_url)
        self.config = self.session.run_config(
            RunConfig(
                model_settings=ModelSettings(include_usage=True),
                model_provider=self.provider,
                call_model_input_filter=self._note_before,
            )
        )
        self._last = self.config.call_model_input_filter
        self.config.call_model_input_filter = self._note_after
        self._before: Sequence[object] = ()

    def _note_before(self, data: CallModelData[Any]) -> ModelInputData:
        self._before = tuple(data.model_data.input)
        return data.model_data

    async def _note_after(self, data: CallModelData[Any]) -> ModelInputData:
        assert self._last is not None
        made: Any = self._last(data)
        shown = await made
        self.passed.append(Passed(before=self._before, after=tuple(shown.input)))
        return shown

    async def turn(self, text: str, *, picture: str = "") -> str:
        shown = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{picture}"}
        content: list[Any] = [{"type": "input_text", "text": text}, *([shown] if picture else [])]
        async with self.provider.opened():
            return await self.run([{"role": "user", "content": content}])

    async def run(self, items: list[Any]) -> str:
        result = await Runner.run(
            self.agent, items, session=self.session, run_config=self.config, max_turns=50
        )
        return result.final_output

    async def history(self) -> list[Any]:
        return await self.session.own.get_items()

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        return plain_messages(log, dialect="openai_responses")


class StreamingAgent(Agent):
    async def run(self, items: list[Any]) -> str:
        result = Runner.run_streamed(
            self.agent, items, session=self.session, run_config=self.config, max_turns=50
        )
        async for _ in result.stream_events():
            pass
        return result.final_output


class ResponsesAgent(StreamingAgent):
    model = staticmethod(responses)


class TestOpenAIAgents(AdapterConformance):
    examples = turns(4, long=2_000)

    def make_agent(self, setting: Setting) -> Agent:
        return Agent(setting)


class TestOpenAIAgentsStreaming(AdapterConformance):
    examples = turns(2, long=500)

    def make_agent(self, setting: Setting) -> Agent:
        return StreamingAgent(setting)


class WithResponses(AdapterConformance):
    """Not run as a whole: OpenAI's SDK takes a fifth of a second to check each request of this API."""

    def make_agent(self, setting: Setting) -> Agent:
        return ResponsesAgent(setting)


def test_a_talk_through_the_responses_api() -> None:
    looked = Turn(steps=(("look", "fail"), ("look",)), reasoning=True)
    ended = Turn(steps=(("look",),), reasoning=True, fault="stop")
    talk = [
        Turn(picture=True, steps=()),
        looked,
        ended,
        looked,
        Turn(fault="overflow", steps=(("look",),)),
        Turn(restart=True, steps=(), reasoning=True),
    ]
    WithResponses().talk(talk, compacts=True)


class Told(Model):
    """Says what is planned, and notes what it is sent."""

    def __init__(self, *planned: str | ResponseFunctionToolCall) -> None:
        self.planned = list(planned)
        self.sent: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **options: Any) -> Any:
        self.sent.append(list(input))
        said = self.planned.pop(0)
        return ModelResponse(
            output=[message(said) if isinstance(said, str) else said],
            usage=Usage(requests=1, input_tokens=50, output_tokens=5, total_tokens=55),
            response_id=None,
        )

    def stream_response(self, *rest: Any, **options: Any) -> Any:
        raise AssertionError("nobody streams here")


def message(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m", role="assistant", status="completed", type="message", content=[content]
    )


def call(name: str, **arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        call_id=f"call_{name}", name=name, arguments=json.dumps(arguments), type="function_call"
    )


def session_in(store: ConversationStore) -> AutocompactSession:
    return AutocompactSession(Compactor(store, window=128_000), conversation="trip")


def words(items: Sequence[Any]) -> list[str]:
    said = [item.get("content") or item.get("output") or item["name"] for item in items]
    return [each if isinstance(each, str) else each[0]["text"] for each in said]


async def test_an_agent_that_runs_as_a_tool_has_a_conversation_of_its_own() -> None:
    store = MemoryStore()
    session = session_in(store)
    inner = Told("At Mainz.")
    outer = Told(call("ask", input="Where do they change?"), "You change at Mainz.")
    guide = SdkAgent(name="guide", model=inner)
    agent = SdkAgent(
        name="trip",
        model=CompactingModel(outer),
        tools=[guide.as_tool(tool_name="ask", tool_description="Ask.")],
    )
    config = session.run_config()
    await Runner.run(agent, "Where do we change?", session=session, run_config=config)
    assert words(inner.sent[0]) == ["Where do they change?"]
    assert words(await session.get_items()) == [
        "Where do we change?",
        "ask",
        "At Mainz.",
        "You change at Mainz.",
    ]
    (kept,) = [each for each in await store.conversations("default") if each.key.conversation != "trip"]
    assert kept.key.conversation.startswith("trip/guide/")


async def test_what_a_handoff_hides_from_the_next_agent_stays_in_the_session() -> None:
    session = session_in(MemoryStore())
    second = Told("I look.", "It leaves at nine.")
    first = Told(call("look", q="trains"), call("transfer_to_second"))
    agent = SdkAgent(
        name="first",
        model=first,
        tools=[tool_of(look)],
        handoffs=[handoff(SdkAgent(name="second", model=second), input_filter=remove_all_tools)],
    )
    config = session.run_config()
    result = await Runner.run(agent, "When?", session=session, run_config=config)
    assert words(second.sent[0]) == ["When?"]
    await Runner.run(result.last_agent, "And then?", session=session, run_config=config)
    assert words(second.sent[1]) == words(await session.get_items())[:-1]
    assert words(second.sent[1])[-2:] == ["I look.", "And then?"]
    assert "look" in words(second.sent[1])


async def test_a_call_that_was_never_answered_stays_and_is_answered_for_the_model() -> None:
    session, model = session_in(MemoryStore()), Told("Then not.")
    await session.add_items(
        [{"role": "user", "content": "When?"}, call("look", q="a").model_dump(exclude_none=True)]
    )
    await Runner.run(
        SdkAgent(name="trip", model=model),
        "Stop it.",
        session=session,
        run_config=session.run_config(),
    )
    assert [item.get("type") for item in model.sent[0]] == [
        None,
        "function_call",
        "function_call_output",
        None,
    ]
    assert words(await session.get_items()) == ["When?", "look", "Stop it.", "Then not."]


async def test_an_item_that_is_popped_is_gone_from_the_session_and_stays_in_the_log() -> None:
    store = MemoryStore()
    session = session_in(store)
    said = [{"role": "user", "content": "One."}, {"role": "user", "content": "Two."}]
    await session.add_items(said)
    assert await session.pop_item() == said[1]
    assert await session.get_items() == said[:1]
    await session.add_items([{"role": "user", "content": "Three."}])
    assert words(await session_in(store).get_items()) == ["One.", "Three."]
    assert words(await session.get_items(limit=1)) == ["Three."]
    log = await (await Compactor(store).open("trip")).history()
    assert "Two." in [each.text for each in log]


async def test_a_session_that_is_cleared_is_deleted() -> None:
    store = MemoryStore()
    session = session_in(store)
    assert await session.pop_item() is None
    await session.add_items([{"role": "user", "content": "One."}])
    assert await session.pop_item() == {"role": "user", "content": "One."}
    assert await session.get_items() == []
    assert await store.conversations("default") == ()


async def test_what_another_process_added_is_there_with_the_next_run() -> None:
    store, model = MemoryStore(), Told("Yes.")
    one, other = session_in(store), session_in(store)
    await one.add_items([{"role": "user", "content": "One."}])
    assert words(await other.get_items()) == ["One."]
    await other.add_items([{"role": "assistant", "content": "Two."}])
    await Runner.run(SdkAgent(name="trip", model=model), "Three?", session=one, run_config=one.run_config())
    assert words(model.sent[0]) == ["One.", "Two.", "Three?"]
    assert words(await other.get_items()) == ["One.", "Two.", "Three?", "Yes."]


async def test_the_example(tmp_path: Path) -> None:
    model = Told("Hello!", "At Mainz.")
    said = await openai_agents_agent.chat(
        model, ["Hello.", "Where do we change?"], path=str(tmp_path / "chats.db")
    )
    assert said == ["Hello!", "At Mainz."]
    assert words(model.sent[1]) == ["Hello.", "Hello!", "Where do we change?"]


@pytest.fixture
def default_loop() -> Iterator[None]:
    """The thread's default event loop, which `Runner.run_sync` uses and never closes."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("default_loop")
def test_it_works_from_synchronous_code(tmp_path: Path) -> None:
    model = Told("Hello!", "At Mainz.")
    session = AutocompactSession(
        Compactor(SqliteStore(tmp_path / "chats.db"), window=128_000), conversation="trip"
    )
    config = session.run_config()
    for words_said in ("Hello.", "Where?"):
        Runner.run_sync(SdkAgent(name="trip", model=model), words_said, session=session, run_config=config)
    assert words(model.sent[1]) == ["Hello.", "Hello!", "Where?"]
