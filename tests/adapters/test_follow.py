"""`Conversation.follow` with the messages of a framework, by its name: a loop of one's own that keeps their list."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import agent_framework as af
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from autocompact import Compactor, Conversation, MemoryStore
from autocompact.adapters import agent_framework, langchain, pydantic_ai
from autocompact.adapters.conversations import restored
from autocompact.core.tokens import Estimator
from autocompact.engine.following import current
from autocompact.errors import InvalidInput
from autocompact.ports import Bridge, Framework

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("D1", "F3")]


@dataclass(frozen=True, kw_only=True)
class Loop:
    """What a program does that keeps a framework's list.

    Attributes:
        name: of the framework.
        bridge: to its messages.
        ask: a request with these words.
        reply: an answer with these words and the tokens of its prompt.
        step: a call and its result, with an id.
        edit: puts other words into a request, in place.
    """

    name: Framework
    bridge: Bridge[Any]
    ask: Callable[[str], Any]
    reply: Callable[[str, int], Any]
    step: Callable[[str], Sequence[Any]]
    edit: Callable[[Any, str], None]


def langchain_step(call_id: str) -> list[BaseMessage]:
    call: Any = {"id": call_id, "name": "look", "args": {"q": "a"}, "type": "tool_call"}
    return [AIMessage("", tool_calls=[call]), ToolMessage("It printed. " * 40, tool_call_id=call_id)]


def pydantic_ai_step(call_id: str) -> list[ModelMessage]:
    called = ModelResponse(parts=[ToolCallPart("look", {"q": "a"}, call_id)])
    return [called, ModelRequest(parts=[ToolReturnPart("look", "It printed. " * 40, call_id)])]


def langchain_reply(words: str, prompt: int) -> AIMessage:
    used: Any = {"input_tokens": prompt, "output_tokens": 5, "total_tokens": prompt + 5}
    return AIMessage(words, usage_metadata=used)


def pydantic_ai_reply(words: str, prompt: int) -> ModelResponse:
    return ModelResponse(parts=[TextPart(words)], usage=RequestUsage(input_tokens=prompt, output_tokens=5))


def edit_langchain(message: HumanMessage, words: str) -> None:
    message.content = words


def edit_pydantic_ai(message: ModelRequest, words: str) -> None:
    message.parts = [UserPromptPart(words)]


LOOPS = [
    Loop(
        name="langchain",
        bridge=langchain.MESSAGES,
        ask=HumanMessage,
        reply=langchain_reply,
        step=langchain_step,
        edit=edit_langchain,
    ),
    Loop(
        name="pydantic_ai",
        bridge=pydantic_ai.MESSAGES,
        ask=lambda words: ModelRequest(parts=[UserPromptPart(words)]),
        reply=pydantic_ai_reply,
        step=pydantic_ai_step,
        edit=edit_pydantic_ai,
    ),
]
by_framework = pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.name)


async def opened() -> Conversation:
    return await Compactor(MemoryStore(), window=3_000, counter=Estimator()).open("trip")


@by_framework
async def test_a_list_of_a_frameworks_messages_is_followed_by_the_frameworks_name(loop: Loop) -> None:
    conversation = await opened()
    messages: list[Any] = []
    shown: list[Any] = []
    prompts: list[int] = []
    for number in range(12):
        messages.append(loop.ask(f"Question {number}: " + "which train do we take? " * 20))
        assert (await conversation.follow(messages, dialect=loop.name))[-1] is messages[-1]
        messages += loop.step(f"call-{number}")
        shown = await conversation.follow(messages, dialect=loop.name)
        prompts.append(conversation.usage().used + 3)
        messages.append(loop.reply(f"Train {number}.", prompts[-1]))
        await conversation.heard(messages[-1])
        assert conversation.usage().reported == prompts[-1], (
            "what the reply reports is what the meter goes by"
        )
    assert {type(message) for message in shown} == {type(message) for message in messages}
    assert len(shown) < len(messages) // 2
    assert all(any(one is message for message in messages) for one in shown[-4:])
    assert "Conversation Summary" in str(shown[0])
    await conversation.follow(messages, dialect=loop.name)
    assert await restored(conversation, bridge=loop.bridge) == messages
    stored = [message.usage.prompt for message in await conversation.history() if message.usage]
    assert stored == prompts


@by_framework
async def test_a_message_that_was_changed_in_place_is_another_one_and_two_equal_ones_are_two(
    loop: Loop,
) -> None:
    conversation = await opened()
    messages = [loop.ask("Go on."), loop.reply("Yes.", 10), loop.ask("Go on."), loop.reply("Yes.", 10)]
    messages.append(loop.ask("And?"))
    for words in ("And?", "And then?"):
        loop.edit(messages[-1], words)
        shown = await conversation.follow(messages, dialect=loop.name)
        assert [*map(id, shown)] == [*map(id, messages)]
    texts = [message.text for message in current(await conversation.history())]
    assert texts == ["Go on.", "Yes.", "Go on.", "Yes.", "And then?"]


@by_framework
async def test_what_is_not_of_the_framework_is_refused(loop: Loop) -> None:
    conversation = await opened()
    wrong: Any = [loop.ask("Hello."), {"role": "user", "content": "Hello."}]
    with pytest.raises(InvalidInput, match=rf"messages\[1\] is of type dict: '{loop.name}' takes "):
        await conversation.follow(wrong, dialect=loop.name)
    with pytest.raises(InvalidInput, match="messages is empty"):
        await conversation.follow([], dialect=loop.name)
    assert len(conversation) == 0
    await conversation.follow([loop.ask("Hello.")], dialect=loop.name)
    with pytest.raises(InvalidInput, match="the reply is of type dict: give "):
        await conversation.heard({"usage": {"prompt_tokens": 5}})
    await conversation.heard(loop.reply("Hello!", 0))  # it reported nothing
    with pytest.raises(InvalidInput, match="the reply is of type NoneType"):
        await conversation.heard()


async def test_a_dialect_that_nobody_knows_is_answered_with_those_that_are_known() -> None:
    conversation = await opened()
    known = "'openai_chat', 'openai_responses', 'anthropic', 'langchain', 'pydantic_ai'"
    unknown: list[Any] = ["crewai", None, object()]
    for dialect in unknown:
        with pytest.raises(
            InvalidInput, match=f"choose one of {known}, or give an `autocompact.ports.Bridge`"
        ):
            await conversation.follow([HumanMessage("Hello.")], dialect=dialect)


def test_a_framework_that_is_not_installed_is_answered_with_the_extra() -> None:
    script = """
import asyncio, sys
from autocompact import Compactor, MemoryStore

sys.modules |= {"langchain": None, "langchain.agents": None, "pydantic_ai": None}  # as if they were not installed

async def main():
    for name in ("langchain", "pydantic_ai"):
        try:
            conversation = await Compactor(MemoryStore(), window=3_000).open("trip")
            await conversation.follow(["Hello."], dialect=name)
        except ImportError as error:
            print(error)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert "[langchain]" in said[0]
    assert "[pydantic-ai]" in said[1]


async def test_a_request_right_behind_a_summary_is_the_very_object_where_the_roles_of_the_api_alternate() -> (
    None
):
    picture = af.Content.from_data(b"a", "image/png")
    conversation = await opened()
    messages: list[af.Message] = []
    for number in range(6):
        asked = f"Question {number}: " + "which train do we take? " * 20
        messages += [af.Message("user", [asked]), af.Message("assistant", [f"Train {number}. " * 40])]
    messages.append(af.Message("user", ["And now?", picture], author_name="Ada"))
    await conversation.follow(messages[:-1], dialect=agent_framework.BRIDGE)
    await conversation.compact()
    summary, asked = await conversation.follow(messages, dialect=agent_framework.BRIDGE)
    assert asked is messages[-1]
    assert summary.role == "user"
    assert "Conversation Summary" in summary.text
    assert "And now?" not in summary.text
