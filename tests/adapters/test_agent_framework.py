"""agent-framework's provider and middleware before a strict provider, with a small model client on OpenAI's SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import agent_framework as af
import pytest
from agent_framework import BaseChatClient, ChatMiddleware, ChatResponse, Content
from openai import AsyncOpenAI

from autocompact import Compactor, MemoryStore
from autocompact.adapters.agent_framework import BRIDGE, Autocompact
from autocompact.core.messages import Message
from autocompact.engine.bridges import restored_from
from autocompact.testing.adapters import AdapterConformance, Interrupted, Passed, Setting
from tests.lengths import turns

pytestmark = pytest.mark.requirement("F3")


def sent(message: af.Message) -> list[dict[str, Any]]:
    """The message as Chat Completions has it."""
    results = [content for content in message.contents if content.type == "function_result"]
    if results:
        return [
            {"role": "tool", "tool_call_id": result.call_id, "content": str(result.result)}
            for result in results
        ]
    calls = [
        {
            "id": content.call_id,
            "type": "function",
            "function": {"name": content.name, "arguments": content.arguments},
        }
        for content in message.contents
        if content.type == "function_call"
    ]
    blocks = [
        {"type": "text", "text": content.text}
        if content.type == "text"
        else {"type": "image_url", "image_url": {"url": content.uri}}
        for content in message.contents
        if content.type in ("text", "data")
    ]
    said: dict[str, Any] = {"role": message.role, "content": blocks or None}
    return [{**said, "tool_calls": calls} if calls else said]


class Client(af.FunctionInvocationLayer, af.ChatMiddlewareLayer, BaseChatClient):
    """Asks a server of Chat Completions."""

    OTEL_PROVIDER_NAME = "suite"

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self.function_invocation_configuration["max_consecutive_errors_per_request"] = 100
        self._base_url = base_url

    def _inner_get_response(
        self, *, messages: Sequence[af.Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Any:
        answer = self._answer(messages, options)
        return af.ResponseStream(_updates(answer), finalizer=ChatResponse.from_updates) if stream else answer

    async def _answer(self, messages: Sequence[af.Message], options: Mapping[str, Any]) -> ChatResponse:
        system = (
            [{"role": "system", "content": options["instructions"]}] if options.get("instructions") else []
        )
        said_so_far: list[Any] = [*system, *(each for message in messages for each in sent(message))]
        async with AsyncOpenAI(api_key="fake", base_url=self._base_url, max_retries=0) as client:
            response: Any = await client.chat.completions.create(
                model="any",
                messages=said_so_far,
                tools=[tool.to_json_schema_spec() for tool in options["tools"]],
            )
        said, usage = response.choices[0].message, response.usage
        thought = getattr(said, "reasoning_content", None)
        contents = [
            *([Content.from_text_reasoning(text=thought, protected_data="sealed")] if thought else []),
            *([Content.from_text(said.content)] if said.content else []),
            *(
                Content.from_function_call(call.id, call.function.name, arguments=call.function.arguments)
                for call in said.tool_calls or ()
            ),
        ]
        return ChatResponse(
            messages=[af.Message("assistant", contents)],
            usage_details={
                "input_token_count": usage.prompt_tokens,
                "output_token_count": usage.completion_tokens,
                "total_token_count": usage.total_tokens,
            },
        )


async def _updates(answer: Awaitable[ChatResponse]) -> Any:
    response: Any = await answer
    for content in response.messages[0].contents:
        yield af.ChatResponseUpdate(contents=[content], role="assistant")
    yield af.ChatResponseUpdate(contents=[Content.from_usage(response.usage_details)], role="assistant")


class Seen(ChatMiddleware):
    """Notes the messages where it stands in the chain."""

    def __init__(self) -> None:
        self.note: Callable[[Sequence[object]], None] = print

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        self.note(tuple(context.messages))
        await call_next()


class Behind(af.ContextProvider):
    """Adds a middleware behind that of a provider before it."""

    def __init__(self, middleware: ChatMiddleware) -> None:
        super().__init__("behind")
        self._middleware = middleware

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        context.extend_middleware(self.source_id, self._middleware)


class Stops(af.FunctionMiddleware):
    """Ends the run where a tool says so: the framework tells the model of any other exception."""

    ended: Interrupted | None = None

    async def process(self, context: Any, call_next: Callable[[], Awaitable[None]]) -> None:
        try:
            await call_next()
        except Interrupted as error:
            self.ended = error
            raise af.MiddlewareTermination(str(error)) from error


class Agent:
    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        first, last, self.stops = Seen(), Seen(), Stops()
        first.note, last.note = self._note_before, self._note_after
        self._before: Sequence[object] = ()
        self.provider = Autocompact(setting.compactor)
        self.agent: Any = af.Agent(
            client=Client(setting.provider.base_url),
            name="careful",
            instructions=setting.system,
            tools=[af.tool(function, approval_mode="never_require") for function in setting.tools],
            middleware=[first, self.stops],
            context_providers=[self.provider, Behind(last)],
        )
        self.session = self.agent.create_session(session_id=setting.conversation)

    def _note_before(self, messages: Sequence[object]) -> None:
        self._before = messages

    def _note_after(self, messages: Sequence[object]) -> None:
        self.passed.append(Passed(before=self._before, after=messages))

    async def turn(self, text: str, *, picture: str = "") -> str:
        shown = [Content.from_uri(f"data:image/png;base64,{picture}", media_type="image/png")]
        response = await self.run(af.Message("user", [text, *(shown if picture else [])]))
        if self.stops.ended is not None:
            ended, self.stops.ended = self.stops.ended, None
            raise ended
        return response.messages[-1].text

    async def run(self, message: af.Message) -> Any:
        return await self.agent.run(message, session=self.session)

    async def history(self) -> list[Any]:
        messages = await self.provider.get_messages(self.session.session_id)
        return [BRIDGE.dump(message) for message in messages]

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        return [BRIDGE.dump(message) for message in restored_from(log, bridge=BRIDGE)]


class StreamingAgent(Agent):
    async def run(self, message: af.Message) -> Any:
        stream = self.agent.run(message, session=self.session, stream=True)
        async for _ in stream:
            pass
        return await stream.get_final_response()


class TestAgentFramework(AdapterConformance):
    examples = turns(5, long=2_000)

    def make_agent(self, setting: Setting) -> Agent:
        return Agent(setting)


class TestAgentFrameworkStreaming(AdapterConformance):
    examples = turns(2, long=500)

    def make_agent(self, setting: Setting) -> Agent:
        return StreamingAgent(setting)


def test_a_conversation_that_its_provider_keeps_is_refused() -> None:
    provider = Autocompact(Compactor(MemoryStore()))
    agent: Any = af.Agent(client=Client("http://127.0.0.1:9"), context_providers=[provider])
    session = agent.create_session(session_id="one")
    with pytest.raises(Exception, match="keeps this conversation, out of reach"):
        asyncio.run(agent.run("Hello.", session=session, options={"conversation_id": "conv_1"}))
