"""ADK's plugin before a strict provider, with ADK's own model class for Claude."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.anthropic_llm import AnthropicLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from autocompact.adapters.google_adk import BRIDGE, Autocompact, Shown, numbered, with_ids
from autocompact.core.messages import Message
from autocompact.engine.bridges import restored_from
from autocompact.testing.adapters import AdapterConformance, Passed, Setting, ToolFailed
from tests.lengths import turns

pytestmark = [
    pytest.mark.requirement("F3"),
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),  # ADK's own, once a process
]


class Seen(BasePlugin):
    """Notes the contents where it stands in the chain."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.seen: tuple[types.Content, ...] = ()

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        del callback_context
        self.seen = tuple(llm_request.contents)


class Last(Seen):
    """Notes a pair for each model call."""

    def __init__(self, first: Seen, passed: list[Passed]) -> None:
        super().__init__("last")
        self._first = first
        self._passed = passed

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        await super().before_model_callback(callback_context=callback_context, llm_request=llm_request)
        self._passed.append(Passed(before=self._first.seen, after=self.seen))


def tool_of(function: Any) -> Any:
    def tool(q: str) -> dict[str, str]:
        try:
            return {"result": function(q)}
        except ToolFailed as error:
            return {"error": str(error)}

    tool.__name__, tool.__doc__ = function.__name__, function.__doc__
    return tool


def named(session: Session, agent: str) -> str:
    assert agent == "careful"
    return session.id


def answered(contents: Sequence[types.Content]) -> list[types.Content]:
    """The contents as ADK shows them to a model: without calls that a run left unanswered."""
    parts = [part for content in contents for part in content.parts or ()]
    ids = {part.function_response.id for part in parts if part.function_response}
    return [
        content.model_copy(
            update={
                "parts": [
                    part
                    for part in content.parts or ()
                    if part.function_call is None or part.function_call.id in ids
                ]
            }
        )
        for content in contents
    ]


class Agent:
    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        self.sessions = setting.kept.setdefault("sessions", InMemorySessionService())
        self.ids: dict[str, Any] = {"user_id": "user", "session_id": setting.conversation}
        self.url = setting.provider.url
        first = Seen("first")
        agent = self.agent = LlmAgent(
            name="careful",
            model=AnthropicLlm(model="claude-any"),
            instruction=setting.system,
            tools=[tool_of(tool) for tool in setting.tools],
        )
        plugins: list[BasePlugin] = [
            first,
            Autocompact(setting.compactor, name_of=named),
            Last(first, self.passed),
        ]
        self.runner = Runner(
            app=App(name="suite", root_agent=agent, plugins=plugins), session_service=self.sessions
        )

    async def session(self) -> Session:
        found = await self.sessions.get_session(app_name="suite", **self.ids)
        return found or await self.sessions.create_session(app_name="suite", **self.ids)

    async def turn(self, text: str, *, picture: str = "") -> str:
        await self.session()
        shown = [types.Part.from_bytes(data=b64decode(picture), mime_type="image/png")] if picture else []
        request = types.Content(role="user", parts=[types.Part(text=text), *shown])
        last = ""
        async with AsyncAnthropic(api_key="fake", base_url=self.url, max_retries=0) as client:
            self.agent.model = AnthropicLlm(model="claude-any", client=client)
            async for event in self.runner.run_async(new_message=request, **self.ids):
                parts = event.content.parts if event.content and event.content.parts else []
                last = "".join(part.text for part in parts if part.text and not part.thought)
        return last

    async def history(self) -> list[Any]:
        said = [event.content for event in (await self.session()).events if event.content]
        return [BRIDGE.dump(content) for content in answered(said) if content.parts]

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        said = list(restored_from(log, bridge=BRIDGE))
        return [BRIDGE.dump(content) for content in answered(said) if content.parts]


class TestGoogleAdk(AdapterConformance):
    examples = turns(5, long=2_000)

    def make_agent(self, setting: Setting) -> Agent:
        return Agent(setting)


def test_calls_without_ids_are_numbered_and_get_back_what_they_had() -> None:
    call = types.Part(function_call=types.FunctionCall(name="look", args={"q": "a"}))
    made_up = types.Part(function_call=types.FunctionCall(id="adk-1", name="look", args={"q": "b"}))
    results = [
        types.Part(function_response=types.FunctionResponse(id=each, name="look", response={"result": "x"}))
        for each in (None, "adk-1")
    ]
    contents = [
        types.Content(role="model", parts=[call, made_up]),
        types.Content(role="user", parts=results),
    ]
    written, ids = numbered(contents)
    assert ids == {"call-1": None, "call-2": "adk-1"}
    assert [part.function_response.id for part in written[1].parts or () if part.function_response] == [
        "call-1",
        "call-2",
    ]
    assert [with_ids(content, ids) for content in written] == contents


def test_what_stands_in_one_request_alone_is_no_history() -> None:
    def said(role: str, text: str) -> types.Content:
        return types.Content(role=role, parts=[types.Part(text=text)])

    asked, answer, more = said("user", "Where?"), said("model", "There."), said("user", "And now?")
    session = Session(
        id="s",
        app_name="a",
        user_id="u",
        events=[
            Event(author="user", content=asked),
            Event(author="careful", content=answer),
            Event(author="user", content=more),
        ],
    )
    moment = said("user", "It is noon.")
    shown = Shown.of(LlmRequest(contents=[asked, answer, moment, more]), session=session)
    assert shown.history == [asked, answer, more]
    assert shown.around([said("user", "Summary"), more])[1:] == [moment, more]


def test_what_another_agent_said_stands_in_the_log_as_an_agents_words() -> None:
    quoted = types.Content(
        role="user", parts=[types.Part(text="For context:"), types.Part(text="[other] said: Never push.")]
    )
    (item,) = BRIDGE.write(quoted)
    assert item["role"] == "assistant"
    assert BRIDGE.read([item], names={}) == [quoted]
