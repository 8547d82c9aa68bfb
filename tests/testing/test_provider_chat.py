"""The rules of Chat Completions, as the real API enforces them."""

from __future__ import annotations

from typing import Any

import pytest

from autocompact.testing import FakeProvider
from tests.testing.asking import HI, accepted, ask, refused

pytestmark = pytest.mark.anyio
PATH = "/chat/completions"
USER = {"role": "user", "content": "Say hi"}


def _call(id: str = "call_1", **function: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"} | function}


def _calls(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [_call(id) for id in ids]}


def _result(id: str, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


UNANSWERED = "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
NO_CALL = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"

REFUSED: dict[str, tuple[list[Any], str]] = {
    "no messages": ([], "Invalid 'messages': empty array"),
    "a call without an answer": ([USER, _calls("a")], f"{UNANSWERED} 'tool_call_id'"),
    "one of two without": ([USER, _calls("a", "b"), _result("a")], "did not have response messages: b"),
    "words between": ([USER, _calls("a"), USER, _result("a")], "did not have response messages: a"),
    "an answer without a call": ([USER, _result("a")], NO_CALL),
    "an answer to an earlier call": ([USER, _calls("a"), _result("a"), USER, _result("a")], NO_CALL),
    "an answer to another call": (
        [USER, _calls("a"), _result("b")],
        "'tool_call_id' of 'b' not found in 'tool_calls' of previous message",
    ),
    "an answer to nobody": (
        [USER, _calls("a"), {"role": "tool", "content": "x"}],
        "messages[2].tool_call_id",
    ),
    "an answer of nothing": ([USER, _calls("a"), _result("a", None)], "Invalid value for 'content'"),
    "an empty list of calls": ([USER, _calls()], "Invalid 'messages[1].tool_calls': empty array"),
    "a call without an id": (
        [USER, {"role": "assistant", "tool_calls": [{"type": "function", "function": {}}]}],
        "Missing required parameter: 'messages[1].tool_calls[0].id'",
    ),
    "a call with a long id": (
        [USER, _calls("x" * 41), _result("x" * 41)],
        "maximum length 40, but got a string with length 41",
    ),
    "arguments that are an object": (
        [USER, {"role": "assistant", "tool_calls": [_call(arguments={})]}, _result("call_1")],
        "function.arguments': expected a string",
    ),
    "a name with a dot": (
        [USER, {"role": "assistant", "tool_calls": [_call(name="a.b")]}, _result("call_1")],
        "string does not match pattern",
    ),
    "a call without a function": (
        [USER, {"role": "assistant", "tool_calls": [{"id": "a", "type": "function"}]}, _result("a")],
        "tool_calls[0].function'",
    ),
    "an unknown role": (
        [{"role": "robot", "content": "x"}],
        "Invalid value: 'robot'. Supported values are: 'system'",
    ),
    "no role": ([{"content": "x"}], "Missing required parameter: 'messages[0].role'"),
    "no content": ([{"role": "user", "content": None}], "expected a string, got null"),
    "an assistant that says nothing": (
        [USER, {"role": "assistant", "content": None}],
        "expected a string, got null",
    ),
    "content of no blocks": ([{"role": "user", "content": []}], "Invalid 'messages[0].content': empty array"),
    "a block without a type": ([{"role": "user", "content": [{"text": "x"}]}], "content[0].type"),
    "content that is a number": (
        [{"role": "user", "content": 3}],
        "expected one of a string or array of objects",
    ),
    "a message that is a string": (["hi"], "Invalid type for 'messages[0]'"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_request_that_breaks_a_rule_is_refused_in_the_real_words(name: str) -> None:
    messages, words = REFUSED[name]
    assert words in await refused(PATH, {"model": "m", "messages": messages})


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"messages": None}, "Missing required parameter: 'messages'"),
        ({"messages": "hi"}, "Invalid type for 'messages'"),
        ({"tools": []}, "Invalid 'tools': empty array"),
        ({"tool_choice": "none"}, "only allowed when 'tools' are specified"),
        ({"stream_options": {"include_usage": True}}, "only allowed when 'stream' is enabled"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "at the same time"),
        ({"model": ""}, "you must provide a model parameter"),
    ],
)
async def test_a_setting_that_breaks_a_rule_is_refused_in_the_real_words(
    members: dict[str, Any], words: str
) -> None:
    assert words in await refused(PATH, HI["chat"] | members)


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "developer", "content": "x"}, USER],
        [USER, _calls("a", "b"), _result("b"), _result("a"), {"role": "assistant", "content": "done"}, USER],
        [USER, _calls("a"), _result("a"), _calls("a"), _result("a", [{"type": "text", "text": "x"}])],
        [USER, {"role": "assistant", "content": None, "refusal": "No."}],
        [USER, {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}],
        [USER, USER, {"role": "assistant", "content": [{"type": "text", "text": "x"}]}],
    ],
)
async def test_what_the_real_api_takes_is_taken(messages: list[Any]) -> None:
    await accepted(PATH, {"model": "m", "messages": messages})


async def test_an_error_names_the_place_as_the_real_api_does() -> None:
    async with FakeProvider() as provider:
        told = await ask(provider, PATH, {"model": "m", "messages": [USER, _result("a")]})
    assert told.json == {
        "error": {
            "message": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            "type": "invalid_request_error",
            "param": "messages.[1].role",
            "code": None,
        }
    }
