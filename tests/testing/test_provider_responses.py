"""The rules of the Responses API, as the real one enforces them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing.asking import HI, accepted, refused

pytestmark = pytest.mark.anyio
PATH = "/responses"
USER = {"role": "user", "content": "Say hi"}
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "ok"}
THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}

REFUSED: dict[str, tuple[list[Any], str]] = {
    "a call without an output": ([USER, CALL], "No tool output found for function call a."),
    "an output without a call": (
        [USER, OUTPUT],
        "No tool call found for function call output with call_id a.",
    ),
    "an output before its call": ([USER, OUTPUT, CALL], "No tool call found for function call output"),
    "an output of a custom tool without a call": (
        [OUTPUT | {"type": "custom_tool_call_output"}],
        "No tool call found for custom tool call output with call_id a.",
    ),
    "a thought at the end": (
        [USER, THOUGHT],
        "Item 'rs_1' of type 'reasoning' was provided without its required",
    ),
    "a thought before the user": ([USER, THOUGHT, USER], "without its required following item"),
    "a call of nobody": (
        [CALL | {"call_id": ""}, OUTPUT | {"call_id": ""}],
        "Invalid 'input[0].call_id': empty string",
    ),
    "a call of nothing": ([CALL | {"name": ""}, OUTPUT], "Invalid 'input[0].name': empty string"),
    "an unknown role": (
        [{"role": "robot", "content": "x"}],
        "Invalid value: 'robot'. Supported values are: 'assistant'",
    ),
    "no content": ([{"role": "user"}], "Missing required parameter: 'input[0].content'"),
    "a block of the other API": (
        [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
        "Invalid value: 'text'. Supported values are: 'input_text'",
    ),
    "the assistant says what the user says": (
        [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}],
        "Supported values are: 'output_text' and 'refusal'",
    ),
    "an item that is a string": (["hi"], "expected an array of objects"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_request_that_breaks_a_rule_is_refused_in_the_real_words(name: str) -> None:
    items, words = REFUSED[name]
    assert words in await refused(PATH, {"model": "m", "input": items})
    assert words in await refused(f"{PATH}/input_tokens", {"model": "m", "input": items})


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"input": None}, 'One of "input" or "previous_response_id"'),
        ({"input": 3}, "Invalid type for 'input'"),
        ({"max_output_tokens": 5}, "Expected a value >= 16, but got 5 instead"),
        ({"previous_response_id": "resp_9"}, "Previous response with id 'resp_9' not found."),
    ],
)
async def test_a_setting_that_breaks_a_rule_is_refused_in_the_real_words(
    members: dict[str, Any], words: str
) -> None:
    assert words in await refused(PATH, HI["responses"] | members)


@pytest.mark.parametrize(
    "items",
    [
        [USER, THOUGHT, CALL, OUTPUT, THOUGHT, SAID, USER],
        [USER, CALL, CALL | {"call_id": "b"}, SAID, OUTPUT | {"call_id": "b"}, OUTPUT],
        [{"role": "developer", "content": "x"}, {"type": "web_search_call", "id": "ws_1"}, USER],
    ],
)
async def test_what_the_real_api_takes_is_taken(items: list[Any]) -> None:
    await accepted(PATH, {"model": "m", "input": items})
