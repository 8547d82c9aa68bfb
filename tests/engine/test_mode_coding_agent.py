"""Design D: a middleware in an agent loop, asked before every model call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocompact.compaction.modes import CODING_AGENT, Mode
from autocompact.compaction.repair import problems
from autocompact.core.budget import Compact, Continue
from autocompact.core.messages import Message, Text, ToolCall, ToolResult, Usage
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.engine.conversation import load_conversation
from autocompact.models.openai_compatible import OpenAICompatible
from autocompact.stores.memory import MemoryStore
from autocompact.testing import Answer, FakeProvider, Received
from autocompact.testing.provider_script import Reply
from tests.engine.support import step
from tests.models.support import AT_ONCE

pytestmark = pytest.mark.anyio

TOOLS = (
    b'[{"type":"function","function":{"name":"Read","description":"Reads a file.",'
    b'"parameters":{"type":"object","properties":{"file_path":{"type":"string"}}}}}]'
)
REQUEST = "Round every line total in src/tax.py to cents, and run the tests."
HANDOFF = "<summary>\n## 1. Goals and intent\nRound to cents.\n\n## 7. Immediate next step\nRun the tests.\n</summary>"
ASKED = "You hand your work over."
SECTIONS = (
    "1. Goals and intent",
    "2. Timeline and progress",
    "3. Technical context and decisions",
    "4. Files and changes",
    "5. Active work and last actions",
    "6. Unresolved and pending",
    "7. Immediate next step",
)


def at(tokens: int, *, tail: int = 0, background: bool = False) -> Mode:
    policy = replace(CODING_AGENT.policy, tokens=tokens, tail_tokens=tail)
    return replace(CODING_AGENT, policy=policy, background=background)


async def agent(provider: FakeProvider, mode: Mode) -> Conversation:
    shared = Compactor(
        MemoryStore(),
        model=OpenAICompatible("fake", base_url=provider.url, retries=AT_ONCE),
        mode=mode,
        window=300_000,
        counter=Estimator(),
    )
    conversation = await shared.open("task")
    conversation.internals.replica.use_tools(TOOLS)
    await conversation.say("You are a coding agent.", role="system")
    await conversation.say(REQUEST)
    return conversation


@pytest.mark.requirement("D4")
async def test_the_hand_off_names_the_last_request_however_often_and_whatever_is_pinned() -> None:
    shared = Compactor(MemoryStore(), mode=at(3_000), window=8_000, reserve=500, counter=Estimator())
    conversation = await shared.open("task")
    await conversation.say("You are a coding agent.", role="system")
    await conversation.say("Never push without my approval.")
    await conversation.say("Understood.", role="assistant")
    await conversation.records.pin(2)
    await conversation.say(REQUEST)
    for number in range(30):
        await step(conversation, number, lines=20)
        context = await conversation.ready()
        words = "\n".join(message.text for message in context.messages)
        assert words.count(REQUEST) == 1
        if conversation.records.active is not None:
            assert f"Last request from user was: {REQUEST}" in words
            assert "Last request from user was: Never" not in words
            assert words.count("Never push without my approval.") >= 1
    assert len(await conversation.records.all()) >= 3
    for number in (30, 31):  # whatever the last compaction left, there is something to fold
        await step(conversation, number, lines=20)
    await conversation.records.pin(4)
    assert (await conversation.compact()).success
    words = "\n".join(message.text for message in conversation.context().messages)
    assert words.count(REQUEST) == 1


def scripted(steps: int) -> list[Reply]:
    calls = [
        Answer(calls=(ToolCall(id=f"r{n}", name="Read", arguments=f'{{"file_path":"f{n}"}}'),))
        for n in range(steps)
    ]
    return [*calls, "All rounded, the tests pass."]


class Script:
    """The agent's model: works through its calls, and hands over when it is asked to."""

    def __init__(self, steps: int) -> None:
        self.left = scripted(steps)

    def __call__(self, asked: Received) -> Reply:
        if ASKED in asked.last_text:
            return HANDOFF
        return "probed" if asked.max_output == 16 else self.left.pop(0)


@pytest.mark.requirement("D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8")
async def test_within_a_tool_loop_the_agent_hands_over_to_itself_and_finishes() -> None:
    async with FakeProvider(Script(60), counts=False) as provider:
        conversation = await agent(provider, at(6_000))
        model = conversation.internals.replica.shared.model
        assert isinstance(model, OpenAICompatible)
        compacted = 0
        while True:
            before = conversation.internals.replica.active_id
            context = await conversation.ready()
            if conversation.internals.replica.active_id != before:
                compacted += 1
                # system plus one user message: the hand-off, and in it the last request
                assert [message.role for message in context.messages] == ["system", "user"]
                assert f"Last request from user was: {REQUEST}" in context.messages[1].text
                assert "Run the tests." in context.messages[1].text
                # recounted exactly, by a probe with the tools, since this provider cannot count
                probe = provider.requests[-1]
                assert probe.max_output is not None
                assert probe.max_output <= 16
                assert probe.body["tools"][0]["function"]["name"] == "Read"
                assert conversation.usage().reported == probe.tokens
                assert conversation.internals.replica.state.peak == 0
                assert not conversation.should_compact()
            assert problems(list(context.messages)) == []
            done = await turn(conversation, provider)
            if done:
                break
        assert compacted >= 2
        asked = [r for r in provider.requests if ASKED in r.last_text]
        assert len(asked) == compacted
        assert all(section in asked[0].last_text for section in SECTIONS)
        assert (await conversation.history())[-1].text == "All rounded, the tests pass."
        await conversation.internals.replica.shared.aclose()


async def turn(conversation: Conversation, provider: FakeProvider) -> bool:
    """One model call and the tools it asks for; whether the agent is done."""
    import aiohttp

    body = {
        "model": "fake",
        "messages": conversation.messages(),
        "tools": [{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}],
    }
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{provider.url}/v1/chat/completions", json=body) as reply,
    ):
        said = await reply.json()
        assert reply.status == 200, said
    message, usage = said["choices"][0]["message"], said["usage"]
    reported = Usage(prompt=usage["prompt_tokens"], completion=usage["completion_tokens"])
    await conversation.add(message, usage=reported)
    assert conversation.usage().reported == reported.prompt + reported.completion
    for call in message.get("tool_calls") or ():
        text = "\n".join(f"{call['id']}: line {n} of the file is rounded" for n in range(60))
        await conversation.add({"role": "tool", "tool_call_id": call["id"], "content": text})
    return not message.get("tool_calls")


@pytest.mark.requirement("D1")
async def test_the_default_threshold_is_200k_and_0_switches_it_off() -> None:
    async with FakeProvider(HANDOFF) as provider:
        for mode, wanted in ((replace(CODING_AGENT, background=False), Compact), (at(0), Continue)):
            conversation = await agent(provider, mode)
            await conversation.say("x", role="assistant", usage=Usage(prompt=199_000, completion=999))
            assert isinstance(conversation.internals.decisions.decide(), Continue)
            await conversation.say("y", role="assistant", usage=Usage(prompt=199_500, completion=600))
            assert isinstance(conversation.internals.decisions.decide(), wanted)
            await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("D6")
async def test_by_policy_the_recent_tail_stays() -> None:
    async with FakeProvider(HANDOFF) as provider:
        conversation = await agent(provider, at(6_000, tail=1_500))
        number = 0
        while conversation.records.active is None:
            number += 1
            await step(conversation, number)
            await conversation.ready()
        context = conversation.context()
        assert [message.role for message in context.messages[:2]] == ["system", "user"]
        assert context.messages[-1].results[0].call_id == f"c{number}"
        assert 2 < len(context.messages) < 2 * number
        await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("D4")
async def test_the_last_request_outlives_many_hand_offs_in_one_tool_loop() -> None:
    async with FakeProvider(HANDOFF) as provider:
        conversation = await agent(provider, at(6_000))
        for number in range(90):
            await step(conversation, number)
            await conversation.ready()
        records = await conversation.records.all()
        assert len(records) >= 3
        assert all(record.summary.count(f"Last request from user was: {REQUEST}") == 1 for record in records)
        again = await load_conversation(
            conversation.internals.replica.shared, conversation.internals.replica.key
        )
        await step(again, 90)
        assert (await again.compact()).summary.count(REQUEST) >= 1
        await again.say("Now the totals.")
        await step(again, 91)
        summary = (await again.compact()).summary
        assert summary.endswith("Last request from user was: Now the totals.")
        assert summary.count("Last request from user was") == 1
        await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("D4")
@pytest.mark.parametrize(
    "words", ["see <conversation_record> there", "See:\n# Conversation Summary\nof mine"]
)
async def test_a_request_that_cannot_be_quoted_word_for_word_stays_a_message_of_its_own(words: str) -> None:
    async with FakeProvider(HANDOFF) as provider:
        conversation = await agent(provider, at(6_000))
        await conversation.say(words)
        for number in range(8):
            await step(conversation, number)
        assert (await conversation.compact()).success
        assert conversation.context().messages[-1].text == words
        await conversation.internals.replica.shared.aclose()


@pytest.mark.requirement("D3")
async def test_a_call_that_nobody_answered_gets_a_result_before_the_model_sees_it() -> None:
    async with FakeProvider(HANDOFF) as provider:
        conversation = await agent(provider, at(6_000))
        call = ToolCall(id="lost", name="Read", arguments="{}")
        await conversation.append(Message(seq=0, role="assistant", parts=(Text(text="Reading."), call)))
        await conversation.say("Are you there?")
        context = await conversation.ready()
        assert ToolResult(call_id="lost", text="Tool no response") in [
            result for message in context.messages for result in message.results
        ]
        assert problems(list(context.messages)) == []
        closed = conversation.context(closed=True).messages
        assert closed[-1].role != "tool"
        await conversation.internals.replica.shared.aclose()
