"""Conformance tests that every adapter must pass: `AdapterConformance`.

An adapter of your own is checked by a subclass in your tests, which says how an agent of the framework is made; it needs
pytest and hypothesis:

    class TestMyAdapter(AdapterConformance):
        def make_agent(self, setting):
            return MyAgent(setting)

The agent runs with the framework's own model class before a `FakeProvider`, which refuses what the real APIs refuse: a call
without its result, a result without its call, a request beyond the window. Its tools are those of the setting.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, Protocol, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autocompact.compaction.repair import problems
from autocompact.core.messages import Message, ToolCall
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.ledger.summary import HEADING
from autocompact.models.sdk_errors import is_overflow
from autocompact.ports import ConversationStore
from autocompact.stores.memory import MemoryStore
from autocompact.testing.provider import FakeProvider
from autocompact.testing.provider_script import Answer, Received, Recorded, Reply
from autocompact.wire import parse_request

WINDOW = 6_000
"""Tokens of the provider's window; a compactor with the same one keeps `RESERVE` of it for the answer."""

RESERVE = 600
MOST_TRIES = 2
"""Requests for one model call."""

MOST_STEPS = 6
"""Of a turn, model calls included that were refused."""

FRAME = HEADING.encode()
"""How a summary begins in a request."""

SYSTEM = "You are careful. You look before you answer."
PICTURE = b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63606060f80f00010401"
        "00b5e5c7d20000000049454e44ae426082"
    )
).decode()
"""A PNG of one pixel, in base64."""

Fault: TypeAlias = Literal["", "stop", "server", "overflow"]
"""What goes wrong in a turn: a tool ends the run, the provider fails in its midst, or says that the request is too large."""


class ToolFailed(Exception):
    """A tool of the suite failed; the framework tells the model so, in its way."""


class Interrupted(Exception):
    """A tool of the suite ended the run; it comes out of `AgentUnderTest.turn`, whatever it is wrapped in."""


def look(q: str) -> str:
    """Look something up."""
    return f"What was found about {q.split(' ')[0]}: " + "it stands in line after line of the file. " * 30


def fail(q: str) -> str:
    """Fail."""
    raise ToolFailed(f"there is nothing about {q}")


def stop(q: str) -> str:
    """End the run."""
    raise Interrupted(q)


TOOLS: tuple[Callable[[str], str], ...] = (look, fail, stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parts of an agent. Another agent on the same setting is another process on the same conversation.

    Attributes:
        provider: answers; ``provider.base_url`` is for OpenAI's clients, ``provider.url`` for Anthropic's. Any key and any
            name of a model will do; the client must not try again by itself.
        compactor: for the adapter.
        conversation: its name: the framework's thread or session.
        tools: plain functions of one text; `ToolFailed` is to be told to the model, `Interrupted` has to end the run.
        system: the agent's instructions.
        kept: what the framework itself keeps between processes, as a database would: the agent puts it here.
    """

    provider: FakeProvider
    compactor: Compactor
    conversation: str = "thread 1"
    tools: tuple[Callable[[str], str], ...] = TOOLS
    system: str = SYSTEM
    kept: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A model call at the adapter's seam: the framework's own objects before it and behind it."""

    before: Sequence[object]
    after: Sequence[object]


class AgentUnderTest(Protocol):
    """An agent of the framework, with the adapter in it."""

    passed: list[Passed]
    """Every model call so far, noted right before and right behind the adapter."""

    async def turn(self, text: str, *, picture: str = "") -> str:
        """Let it work on a request to the end; its last words.

        Args:
            text: of the user.
            picture: a PNG in base64 that comes with it; "" for none.
        """
        ...

    async def history(self) -> list[Any]:
        """All messages that the framework holds, as plain values in its own form."""
        ...

    async def logged(self, log: Sequence[Message]) -> list[Any]:
        """The same, made of the log alone (replaced messages are left out already)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn of a talk.

    Attributes:
        words: how long the request is.
        steps: the names of the tools that each step calls at once.
        reasoning: whether the model thinks before each answer.
        picture: whether one comes with the request.
        fault: what goes wrong, in the last step.
        restart: whether a new process begins with it.
    """

    words: int = 8
    steps: tuple[tuple[str, ...], ...] = (("look", "look"),)
    reasoning: bool = False
    picture: bool = False
    fault: Fault = ""
    restart: bool = False


def turns() -> st.SearchStrategy[list[Turn]]:
    """Random talks."""
    step = st.lists(st.sampled_from(["look", "look", "fail"]), min_size=1, max_size=3).map(tuple)
    turn = st.builds(
        Turn,
        words=st.sampled_from([1, 8, 60]),
        steps=st.lists(step, max_size=4).map(tuple),
        reasoning=st.booleans(),
        picture=st.integers(0, 4).map(lambda drawn: drawn == 0),
        fault=st.sampled_from(["", "", "", "", "stop", "server"]),
        restart=st.booleans(),
    )
    return st.lists(turn, min_size=1, max_size=7)


class Talk:
    """A talk with one agent, checked after each turn.

    Args:
        conformance: makes the agents.
        provider: answers with what is planned.
        planned: what it answers next.
        store: where the conversation is kept.
    """

    def __init__(
        self,
        conformance: AdapterConformance,
        *,
        provider: FakeProvider,
        planned: deque[Reply],
        store: ConversationStore,
    ) -> None:
        self._conformance = conformance
        self._planned = planned
        self._numbers = count(1)
        self._kept: dict[str, Any] = {}
        self._answered = 0
        self._was_ended = False
        self.provider = provider
        self.store = store
        self.overflows = 0
        self.restart()

    def _compactor(self) -> Compactor:
        window = self._conformance.window
        return Compactor(self.store, window=window, reserve=RESERVE, counter=Estimator())

    def restart(self) -> None:
        """Go on with new objects on what was kept, as another process does."""
        self.setting = Setting(provider=self.provider, compactor=self._compactor(), kept=self._kept)
        self.agent = self._conformance.make_agent(self.setting)

    async def take(self, turn: Turn) -> None:
        """Take one turn, and check everything."""
        if turn.restart:
            self.restart()
        number = next(self._numbers)
        planned = list(_planned(turn, number))
        self._planned.extend(planned)
        if turn.fault == "overflow":
            self.provider.fail("overflow")
            self.overflows += 1
        request = f"Request {number}: look at part {number}. " + "It is about the rounding. " * turn.words
        ends = turn.fault in ("stop", "server")
        said = await self._said(request, picture=PICTURE if turn.picture else "", ends=ends)
        last = planned[-1]
        assert ends or (isinstance(last, Answer) and said == last.text)
        self._answered += len(planned) - len(self._planned)
        assert not self._planned, "the run took all steps"
        await self.check(ended=ends)

    async def _said(self, request: str, *, picture: str, ends: bool) -> str | None:
        if not ends:
            return await self.agent.turn(request, picture=picture)
        try:
            await self.agent.turn(request, picture=picture)
        except Exception:  # noqa: BLE001 - each framework wraps it in its own
            return None
        raise AssertionError("what ends a run comes out of it")

    async def conversation(self) -> Conversation:
        """The conversation, as another process reads it from the store."""
        return await self._compactor().open(self.setting.conversation)

    async def check(self, *, ended: bool = False) -> None:
        """Check all that must hold after a turn.

        Args:
            ended: whether something ended it in its midst: then one of both histories may be a step ahead.
        """
        conversation = await self.conversation()
        log = await conversation.history()
        self._was_ended |= ended
        self._check_requests(log)
        self._check_passed(whole=conversation.records.active is None and not self._was_ended)
        await self._check_log(log, ended=ended)
        self._check_usage(log)

    def _check_requests(self, log: Sequence[Message]) -> None:
        """Each was valid and within the window, and nothing asked the model but the agent's own steps."""
        requests = self.provider.requests
        assert len(requests) == self._answered + self.overflows, "one request for each step, and none beside"
        known = {call.id for message in log for call in message.calls}
        for received in requests[-MOST_STEPS:]:
            sent = tuple(parse_request(received.raw, dialect=received.dialect).messages)
            assert problems(sent) == []
            assert received.tokens <= self._conformance.window
            assert {call.id for message in sent for call in message.calls} <= known, (
                "what was sent is in the log"
            )
            assert received.raw.count(FRAME) <= 1, "one summary"

    def _check_passed(self, *, whole: bool) -> None:
        """Check that an unchanged message of a context is the very object that the framework had.

        Args:
            whole: nothing was compacted or repaired so far, so it is all of them.
        """
        for passed in self.agent.passed:
            own = set(map(id, passed.before))
            made = [each for each in passed.after if id(each) not in own]
            again = [each for each in made if any(each == other for other in passed.before)]
            assert again == [], "an unchanged message is the very object that came"
            assert passed.after[-1] is passed.before[-1], "the last message is the very object that came"
            if whole:
                assert [*map(id, passed.after)] == [*map(id, passed.before)], "all are the very objects"
        self.agent.passed.clear()

    async def _check_log(self, log: Sequence[Message], *, ended: bool) -> None:
        """The log is the framework's own history."""
        live: list[Message] = []
        for message in log:
            if message.replaces is not None:
                live = [each for each in live if each.seq < (message.replaces or 0)]
            live.append(message)
        history, logged = await self.agent.history(), await self.agent.logged(live)
        if ended:
            common = min(len(history), len(logged))
            history, logged = history[:common], logged[:common]
        assert logged == history

    def _check_usage(self, log: Sequence[Message]) -> None:
        """Check that the usage that the provider reported for a request is stored with its reply."""
        stored = [message.usage.prompt for message in log if message.usage is not None]
        reported = [received.tokens for received in self.provider.requests]
        assert set(stored) <= set(reported)
        assert len(stored) >= len({message.text for message in log if message.text.startswith("Part ")})


def _planned(turn: Turn, number: int) -> Iterator[Reply]:
    """Yield the replies of the provider in a turn."""
    thought = f"What part {number} needs has to be looked at first. " if turn.reasoning else ""
    for place, tools in enumerate([*turn.steps, ("stop",)] if turn.fault == "stop" else turn.steps):
        calls = tuple(
            ToolCall(
                id=f"call_{number}_{place}_{each}", name=name, arguments=f'{{"q":"total_{number}_{each}"}}'
            )
            for each, name in enumerate(tools)
        )
        yield Answer(calls=calls, text="" if place % 2 else f"Step {place} of {number}.", reasoning=thought)
    if turn.fault == "server":
        yield Recorded(
            status=500, body=b'{"error":{"message":"The server had an error.","type":"server_error"}}'
        )
    elif turn.fault != "stop":
        yield Answer(text=f"Part {number} is looked at.", reasoning=thought)


class AdapterConformance(ABC):
    """Subclass it, say how an agent is made, and pytest runs every test on it.

    Attributes:
        examples: random talks to try; None is what the profile of hypothesis says.
        window: tokens of the provider's window; larger for a framework whose own tools and prompt go with each request.
    """

    examples: int | None = None
    window: int = WINDOW

    @abstractmethod
    def make_agent(self, setting: Setting) -> AgentUnderTest:
        """A new agent, with the adapter in it, on what the setting keeps."""

    def make_store(self) -> ConversationStore:
        """A new, empty store."""
        return MemoryStore()

    def talk(self, turns: Sequence[Turn], *, compacts: bool = False) -> None:
        """Take the turns, one after the other, on an event loop of its own.

        Args:
            turns: what is said, called and what fails.
            compacts: whether they are so many that there is a compaction in the end.
        """
        asyncio.run(self._taken(turns, compacts=compacts))

    async def _taken(self, turns: Sequence[Turn], *, compacts: bool) -> None:
        planned: deque[Reply] = deque()

        def answer(received: Received) -> Reply:
            assert planned, f"nothing is planned for {received.last_text!r}"
            return planned.popleft()

        async with FakeProvider(answer, window=self.window, output_counts=False) as provider:
            talk = Talk(self, provider=provider, planned=planned, store=self.make_store())
            for turn in turns:
                await talk.take(turn)
            if compacts:
                assert (await talk.conversation()).records.active is not None, (
                    "it was long enough for a compaction"
                )

    def test_a_short_talk_passes_unchanged_and_is_logged_whole(self) -> None:
        """Nothing to do is nothing done."""
        self.talk([Turn(), Turn(steps=())])

    def test_parallel_calls_reasoning_pictures_and_a_failing_tool_are_logged_whole(self) -> None:
        """Whatever the framework makes of them."""
        steps = (("look", "fail", "look"), ("fail",))
        self.talk([Turn(steps=steps, reasoning=True, picture=True), Turn(reasoning=True, steps=())])

    def test_a_long_talk_stays_within_the_window(self) -> None:
        """Compacted several times over, also in the midst of a turn."""
        self.talk([Turn(steps=(("look", "look"),) * 4, reasoning=True)] * 5, compacts=True)

    def test_another_process_goes_on_where_the_first_one_was(self) -> None:
        """With the compaction that is active."""
        turns = [Turn(steps=(("look", "look"),) * 3)] * 3
        self.talk([*turns, Turn(restart=True), *turns, Turn(restart=True)], compacts=True)

    @pytest.mark.parametrize("fault", ["stop", "server"])
    @pytest.mark.parametrize("restart", [False, True])
    def test_a_turn_that_ended_in_its_midst_is_gone_on_from(self, fault: Fault, restart: bool) -> None:
        """A tool ends it, or the provider; the same process goes on, or another one."""
        broken = Turn(steps=(("look", "look"), ("look",)), fault=fault, reasoning=True)
        self.talk([Turn(), broken, Turn(restart=restart), broken, broken, Turn(restart=restart)])

    def test_a_request_that_the_provider_finds_too_large_is_sent_again_smaller(self) -> None:
        """Once, without a model."""
        turns = [Turn(steps=(("look", "look"),) * 2)] * 2
        self.talk([*turns, Turn(fault="overflow"), *turns], compacts=True)

    def test_a_request_that_cannot_be_made_smaller_fails_with_the_providers_own_error(self) -> None:
        """It is not tried for ever."""
        asyncio.run(self._refused())

    async def _refused(self) -> None:
        async with FakeProvider("Never said.", window=self.window) as provider:
            provider.fail("overflow", times=5)
            compactor = Compactor(self.make_store(), window=self.window, reserve=RESERVE, counter=Estimator())
            agent = self.make_agent(Setting(provider=provider, compactor=compactor))
            with pytest.raises(Exception) as raised:
                await agent.turn("Hello.")
            assert is_overflow(raised.value) is not None
            assert len(provider.requests) <= MOST_TRIES

    def test_random_talks(self) -> None:
        """Of any turns, faults and restarts."""

        @settings(max_examples=self.examples or settings().max_examples)
        @given(turns=turns())
        def talk(turns: list[Turn]) -> None:
            self.talk(turns)

        talk()
