"""OpenHands' condenser before a strict provider, with OpenHands' own LLM class."""

from __future__ import annotations

import asyncio
import json
import os
import runpy
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import UUID

import pytest

# its LLM would fetch a table of prices and windows, and its banner is for people
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1"}
pytest.importorskip("openhands.sdk", reason="OpenHands is not installed: make test-adapters")

from openhands.sdk import LLM, Agent, Conversation, Tool, register_tool
from openhands.sdk.context.condenser import CondenserBase
from openhands.sdk.context.view import View
from openhands.sdk.event import (
    ActionEvent,
    AgentErrorEvent,
    Condensation,
    CondensationSummaryEvent,
    Event,
    LLMConvertibleEvent,
    MessageEvent,
    ObservationEvent,
    SystemPromptEvent,
    UserRejectObservation,
)
from openhands.sdk.llm import (
    ImageContent,
    Message,
    MessageToolCall,
    ReasoningItemModel,
    RedactedThinkingBlock,
    TextContent,
    ThinkingBlock,
)
from openhands.sdk.llm.call_context import llm_call_context_scope
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, ToolDefinition, ToolExecutor
from pydantic import PrivateAttr

from autocompact import Compactor, SqliteStore, sync
from autocompact.adapters.openhands import BRIDGE, AutocompactCondenser
from autocompact.core.messages import Message as Logged
from autocompact.core.tokens import Estimator
from autocompact.engine.bridges import Bridged, restored_from
from autocompact.errors import InvalidInput
from autocompact.testing.adapters import TOOLS, AdapterConformance, Interrupted, Passed, Setting
from autocompact.testing.provider import FakeProvider
from autocompact.wire import parse_message
from tests.lengths import turns

pytestmark = pytest.mark.requirement("F3")


class Asked(Action):
    q: str


class Found(Observation):
    """A tool's output."""


class Executor(ToolExecutor[Asked, Found]):
    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, action: Asked, conversation: Any = None) -> Found:
        return Found.from_text(self.function(action.q))


class OfTheSuite(ToolDefinition[Asked, Found]):
    @classmethod
    def create(cls, **params: Any) -> Sequence[Any]:  # noqa: ARG003 - OpenHands' signature
        function = next(each for each in TOOLS if each.__name__ == cls.name)
        return [
            cls(
                description=function.__doc__ or "",
                action_type=Asked,
                observation_type=Found,
                executor=Executor(function),
            )
        ]


class LookTool(OfTheSuite):
    """Looks."""


class FailTool(OfTheSuite):
    """Fails."""


class StopTool(OfTheSuite):
    """Ends the run."""


for tool in (LookTool, FailTool, StopTool):
    register_tool(tool.name, tool)


class Noting(AutocompactCondenser):
    """Notes the events before and behind it."""

    _passed: list[Passed] | None = PrivateAttr(default=None)

    def __init__(
        self, compactor: Compactor | None = None, passed: list[Passed] | None = None, **data: Any
    ) -> None:
        super().__init__(compactor, **data)
        self._passed = passed

    def _noted(self, view: View, made: View | Condensation) -> View | Condensation:
        if isinstance(made, View) and self._passed is not None:
            self._passed.append(Passed(before=tuple(view.events), after=tuple(made.events)))
        return made

    def condense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        return self._noted(view, super().condense(view, agent_llm))

    async def acondense(self, view: View, agent_llm: LLM | None = None) -> View | Condensation:
        return self._noted(view, await super().acondense(view, agent_llm))


def end_the_run(event: Event) -> None:
    """OpenHands tells the model of any exception of a tool; what ends a run is a callback's."""
    if isinstance(event, AgentErrorEvent) and event.tool_name == "stop":
        raise Interrupted(event.error)


def llm_of(provider: FakeProvider, **options: Any) -> LLM:
    options = {"model": "openai/gpt-4o", "base_url": provider.base_url} | options
    return LLM(api_key="fake", num_retries=0, usage_id="agent", **options)


class OpenHandsAgent:
    """Runs from synchronous and from asynchronous code, by turns."""

    turns = 0

    def __init__(self, setting: Setting) -> None:
        self.passed: list[Passed] = []
        condenser = Noting(setting.compactor, self.passed, conversation=setting.conversation)
        agent = Agent(
            llm=self.make_llm(setting),
            tools=[Tool(name=tool.__name__) for tool in setting.tools],
            include_default_tools=[],
            system_prompt=setting.system,
            condenser=condenser,
        )
        folder = setting.kept.setdefault("folder", mkdtemp())
        self.conversation = Conversation(
            agent=agent,
            workspace=folder,
            persistence_dir=f"{folder}/kept",
            conversation_id=UUID(int=1),
            callbacks=[condenser.on_event, end_the_run],
            visualizer=None,
            stuck_detection=False,
            delete_on_close=False,
        )

    def make_llm(self, setting: Setting) -> LLM:
        return llm_of(setting.provider)

    async def turn(self, text: str, *, picture: str = "") -> str:
        shown = [ImageContent(image_urls=[f"data:image/png;base64,{picture}"])] if picture else []
        said = Message(role="user", content=[TextContent(text=text), *shown])
        await asyncio.to_thread(self.conversation.send_message, said)
        self.turns += 1
        if self.turns % 2:
            await asyncio.to_thread(self.conversation.run)
        else:
            await self.conversation.arun()
        last = self._events()[-1].to_llm_message()
        return "".join(block.text for block in last.content if isinstance(block, TextContent))

    def _events(self) -> list[LLMConvertibleEvent]:
        return [
            event
            for event in self.conversation.state.events
            if isinstance(event, LLMConvertibleEvent) and not isinstance(event, SystemPromptEvent)
        ]

    async def history(self) -> list[Any]:
        return [BRIDGE.dump(event) for event in self._events()]

    async def logged(self, log: Sequence[Logged]) -> list[Any]:
        return [BRIDGE.dump(event) for event in restored_from(log, bridge=BRIDGE)]


class TestOpenHands(AdapterConformance):
    examples = turns(2, long=500)

    def make_agent(self, setting: Setting) -> OpenHandsAgent:
        return OpenHandsAgent(setting)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Compactor]:
    compactor = Compactor(SqliteStore(tmp_path / "chats.db"), window=4_000, reserve=400, counter=Estimator())
    yield compactor
    sync.run(compactor.aclose())


def said(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def talk(compactor: Compactor, *, folder: Path, questions: Sequence[str]) -> Any:
    condenser = AutocompactCondenser(compactor)
    agent = Agent(
        llm=TestLLM.from_messages([said(f"Answer {number}.") for number in range(len(questions))]),
        include_default_tools=[],
        system_prompt="You are brief.",
        condenser=condenser,
    )
    callbacks = [condenser.on_event]
    conversation = Conversation(agent=agent, workspace=str(folder), callbacks=callbacks, visualizer=None)
    for question in questions:
        conversation.send_message(question)
        conversation.run()
    return conversation


def condensed(conversation: Any) -> Any:
    """What its model would be sent now."""
    with llm_call_context_scope(conversation.get_llm_call_context()):
        return conversation.agent.condenser.condense(conversation.state.view, conversation.agent.llm)


def texts(compactor: Compactor, conversation: Any) -> list[str]:
    async def history() -> Sequence[Logged]:
        return await (await compactor.open(str(conversation.id))).history()

    return [message.text for message in sync.run(history())]


def test_each_conversation_goes_by_its_own_id_and_a_fork_finds_the_compactor(
    kept: Compactor, tmp_path: Path
) -> None:
    conversation = talk(kept, folder=tmp_path, questions=["One?", "Two?"])
    assert texts(kept, conversation) == ["One?", "Answer 0.", "Two?", "Answer 1."]
    fork = conversation.fork()
    assert [event.id for event in condensed(fork).events] == [event.id for event in fork.state.view.events]
    assert texts(kept, fork) == texts(kept, conversation)


def test_a_condensation_that_the_user_asks_for_forgets_no_event(kept: Compactor, tmp_path: Path) -> None:
    questions = [f"Question {number}: " + "which train do we take? " * 20 for number in range(10)]
    conversation = talk(kept, folder=tmp_path, questions=questions)
    before = [*conversation.state.view.events]
    conversation.condense()
    (made,) = (event for event in conversation.state.events if isinstance(event, Condensation))
    assert made.forgotten_event_ids == set()
    assert made.summary is None
    assert conversation.state.view.events == before, "the history is whole"
    assert not conversation.state.view.unhandled_condensation_request
    shown = condensed(conversation).events
    assert shown[0] is before[0], "the system prompt"
    assert "Conversation Summary" in str(shown[1].to_llm_message())
    assert len(shown) < len(before) // 2
    assert shown[-1] is before[-1]


def test_a_condenser_that_cannot_know_its_conversation_or_its_compactor_says_so(kept: Compactor) -> None:
    with pytest.raises(InvalidInput, match="name one, AutocompactCondenser"):
        AutocompactCondenser(kept).condense(View())
    kind = {"kind": "AutocompactCondenser", "key": "of another process", "conversation": "trip"}
    read = CondenserBase.model_validate(kind)
    with pytest.raises(InvalidInput, match="was read from a file and has no compactor"):
        read.condense(View())


BLOCKS = [ThinkingBlock(thinking="Hm.", signature="s"), RedactedThinkingBlock(data="x")]
CALL = MessageToolCall(id="call_1", name="look", arguments='{"q": "a"}', origin="responses")
RESULT: dict[str, Any] = {"tool_name": "look", "tool_call_id": "call_1"}
EVENTS: list[LLMConvertibleEvent] = [
    MessageEvent(
        source="user",
        llm_message=Message(
            role="user", content=[TextContent(text="Look."), ImageContent(image_urls=["https://x/a.png"])]
        ),
        activated_skills=["trains"],
        extended_content=[TextContent(text="<skill>Trains.</skill>")],
    ),
    MessageEvent(source="agent", llm_message=said("Done."), llm_response_id="r1"),
    MessageEvent(source="agent", llm_message=Message(role="assistant", content=[])),
    ActionEvent(
        thought=[TextContent(text="I look.")],
        thinking_blocks=BLOCKS,
        action=Asked(q="a"),
        tool_call=CALL,
        llm_response_id="r1",
        **RESULT,
    ),
    ActionEvent(
        thought=[],
        responses_reasoning_item=ReasoningItemModel(id="rs_1", summary=["Hm."], encrypted_content="e"),
        tool_call=CALL,
        llm_response_id="r1",
        **RESULT,
    ),
    ObservationEvent(
        observation=Found(content=[TextContent(text="a"), TextContent(text="b")], is_error=True),
        action_id="a1",
        **RESULT,
    ),
    AgentErrorEvent(error="There is no such tool.", **RESULT),
    UserRejectObservation(rejection_reason="No.", action_id="a1", **RESULT),
    CondensationSummaryEvent(summary="What was before."),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_comes_back_from_the_log_as_it_was(event: LLMConvertibleEvent) -> None:
    (items,) = Bridged(BRIDGE).written([event])
    log = [
        parse_message(json.dumps(item).encode(), dialect=BRIDGE.dialect, seq=seq)
        for seq, item in enumerate(items, 1)
    ]
    (back,) = restored_from(log, bridge=BRIDGE)
    assert back == event
    assert type(back) is type(event)


def test_the_example(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "examples" / "adapters" / "openhands_agent.py"
    chat = runpy.run_path(str(path))["chat"]
    llm = TestLLM.from_messages([said("Answer 1."), said("Answer 2.")])
    questions = ["Where do we change trains?", "And when?"]
    assert chat(llm, questions, path=str(tmp_path / "chats.db"), folder=str(tmp_path)) == "Answer 2."
