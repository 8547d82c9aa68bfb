"""Every door of a conversation: what cannot be used is refused before it is stored, and no message breaks the rest."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from autocompact.compaction.repair import problems
from autocompact.core.messages import Dialect, Message, Text, ToolCall, Usage
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidInput
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.wire import parse_message
from tests.lengths import turns

pytestmark = pytest.mark.anyio
Door = Callable[[Conversation], Awaitable[object]]


def message(**fields: Any) -> Message:
    return replace(Message(seq=0, role="user", parts=(Text(text="Hello."),)), **fields)


async def reported(conversation: Conversation, usage: Any) -> None:
    conversation.report(usage)


REFUSED: dict[str, tuple[Door, str]] = {
    "say with a role that no API knows": (
        lambda conversation: conversation.say("x", role=cast("Any", "robot")),
        "the message was not stored: role is 'robot': choose one of 'system', 'user', 'assistant', 'tool'",
    ),
    "say with no words": (
        lambda conversation: conversation.say(cast("Any", None)),
        "the message was not stored: parts[0].text is of type NoneType, it must be str",
    ),
    "say with a reply that is a number": (
        lambda conversation: conversation.say(cast("Any", 5), role="assistant"),
        "the message was not stored: parts[0].text is of type int",
    ),
    "say with usage that is none": (
        lambda conversation: conversation.say("x", role="assistant", usage=cast("Any", {"prompt": 3})),
        "the message was not stored: usage is of type dict, it must be Usage or NoneType",
    ),
    "add without a role": (
        lambda conversation: conversation.add({"content": "x"}),
        "message.role: the message has no role and was not stored",
    ),
    "add without content": (
        lambda conversation: conversation.add({"role": "user"}),
        "message.content: the message has no content and was not stored",
    ),
    "add with a role that no API knows": (
        lambda conversation: conversation.add({"role": "robot", "content": "x"}),
        "message.role: the message has the role 'robot' and was not stored",
    ),
    "append what is no message": (
        lambda conversation: conversation.append(cast("Any", {"role": "user", "content": "x"})),
        "a dict is no message and was not stored: give a Message",
    ),
    "append bytes that are no JSON": (
        lambda conversation: conversation.append(message(raw=b'{"role":"user"', dialect="openai_chat")),
        "message: Input data was truncated",
    ),
    "extend with what is no list": (
        lambda conversation: conversation.extend(cast("Any", 5)),
        "messages is of type int: give the messages in a list",
    ),
    "report nothing": (
        lambda conversation: reported(conversation, None),
        "the usage is of type NoneType: give a Usage, e.g. Usage(prompt=1_200, completion=80)",
    ),
    "report words": (
        lambda conversation: reported(conversation, Usage(prompt=cast("Any", "many"))),
        "usage.prompt is of type str, it must be int",
    ),
    "extend with one that cannot be used": (
        lambda conversation: conversation.extend([message(), message(role="robot")]),
        "the message was not stored: role is 'robot'",
    ),
}


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("door, said", REFUSED.values(), ids=REFUSED.keys())
async def test_what_cannot_be_used_is_refused_at_every_door_and_the_conversation_goes_on(
    tmp_path: Path, door: Door, said: str, kind: str
) -> None:
    path = tmp_path / "chats.db"
    store = MemoryStore() if kind == "memory" else SqliteStore(path)
    async with Compactor(store, window=8_000) as shared:
        conversation = await shared.open("task")
        await conversation.say("Hello.")
        with pytest.raises(InvalidInput) as refused:
            await door(conversation)
        assert str(refused.value).startswith(said)
        assert len(conversation) == len(await conversation.history()) == 1
        await conversation.say("Go on.")
        again = await shared.open("task")
        assert again.messages() == conversation.messages()
        assert [each["content"] for each in again.messages()] == ["Hello.", "Go on."]


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


POISON = {
    "half a surrogate pair": b'{"role":"user","content":"a\\ud800b"}',
    "half a surrogate pair as a key": b'{"role":"user","content":"x","\\ud800":1}',
    "a number beyond a double": b'{"role":"user","content":"x","n":1e400,"m":-1e400}',
    "a whole number of 5,000 digits": b'{"role":"user","content":"x","n":' + b"9" * 5_000 + b"}",
    "NUL": b'{"role":"user","content":"a\\u0000b"}',
    "nested as deep as can be read": b'{"role":"user","content":"x","n":' + nested(800) + b"}",
}


@pytest.mark.parametrize("raw", POISON.values(), ids=POISON.keys())
@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic"])
async def test_no_message_breaks_the_messages_of_a_conversation(
    tmp_path: Path, raw: bytes, dialect: Dialect
) -> None:
    path = tmp_path / "chats.db"
    async with Compactor(SqliteStore(path), window=4_000, counter=Estimator()) as shared:
        conversation = await shared.open("task")
        await conversation.append(parse_message(raw, seq=1, dialect=dialect))
        said = conversation.messages(dialect=dialect)
        assert said[0]["role"] == "user"
        json.dumps(said[0], allow_nan=False)
    async with Compactor(SqliteStore(path), window=4_000, counter=Estimator()) as shared:
        again = await shared.open("task")
        assert again.messages(dialect=dialect) == said
        assert (await again.history())[0].raw == raw
        for number in range(turns(20, long=40)):
            role = "user" if number % 2 else "assistant"
            await again.say(f"Words of turn {number}. " * 60, role=role)
        context = await again.ready()
        assert again.records.active is not None
        assert problems(context.messages) == []
        again.messages(dialect=dialect)
        assert (await again.history())[0].raw == raw


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x00", "\ud83d\ude00", "\u2028"])
async def test_any_words_can_be_said_and_added(tmp_path: Path, text: str) -> None:
    path = tmp_path / "chats.db"
    async with Compactor(SqliteStore(path), counter=Estimator()) as shared:
        conversation = await shared.open("task")
        await conversation.say(text)
        await conversation.add({"role": "assistant", "content": text, "n": float("nan"), "m": 10**400})
        call = ToolCall(id="a", name="b", arguments='{"x":1e400,"y":"\\ud800"}')
        await conversation.append(message(role="assistant", parts=(call,), usage=Usage(prompt=10**12)))
        said = conversation.messages()
    async with Compactor(SqliteStore(path), counter=Estimator()) as shared:
        again = await shared.open("task")
        assert again.messages() == said
        for dialect in ("openai_responses", "anthropic"):
            json.dumps(again.messages(dialect=dialect), allow_nan=False)
        assert (await again.history())[0].text == text
