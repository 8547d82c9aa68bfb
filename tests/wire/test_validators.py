from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.core.messages import Dialect
from tests.wire import samples
from tests.wire.validators import Refused, check

CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
}
HI: dict[str, Any] = {"role": "user", "content": "hi"}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "x"}


WRONG: list[tuple[Dialect, list[dict[str, Any]]]] = [
    ("openai_chat", [{"role": "assistant", "tool_calls": [CALL]}]),
    ("openai_chat", [{"role": "assistant", "tool_calls": [CALL]}, HI]),
    ("openai_chat", [{"role": "tool", "tool_call_id": "a", "content": ""}]),
    ("openai_chat", [{"role": "assistant", "content": None}]),
    ("openai_chat", [{"role": "assistant", "tool_calls": []}]),
    ("openai_chat", [{"role": "user", "content": []}]),
    ("openai_chat", [{"role": "assistant", "content": [{"type": "image_url", "image_url": {}}]}]),
    ("anthropic", []),
    ("anthropic", [{"role": "assistant", "content": "a"}]),
    ("anthropic", [HI, HI]),
    ("anthropic", [HI, USE]),
    ("anthropic", [HI, USE, HI]),
    ("anthropic", [HI, USE, {"role": "user", "content": [{"type": "text", "text": "x"}, RESULT]}]),
    ("anthropic", [HI, USE, {"role": "user", "content": [RESULT, RESULT]}]),
    ("anthropic", [{"role": "user", "content": [RESULT]}]),
    ("anthropic", [{"role": "user", "content": [{"type": "text", "text": " "}]}]),
    (
        "anthropic",
        [HI, USE, {"role": "user", "content": [RESULT]}, USE, {"role": "user", "content": [RESULT]}],
    ),
    ("openai_responses", [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]),
    ("openai_responses", [{"type": "function_call_output", "call_id": "a", "output": ""}]),
    (
        "openai_responses",
        [
            {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": ""},
            {"type": "function_call_output", "call_id": "a", "output": ""},
        ],
    ),
    ("openai_responses", [{"role": "assistant", "content": [{"type": "input_text", "text": "a"}]}]),
]


@pytest.mark.parametrize(("dialect", "messages"), WRONG)
def test_the_validator_refuses_what_the_api_refuses(dialect: Dialect, messages: list[dict[str, Any]]) -> None:
    with pytest.raises(Refused):
        check([json.dumps(message).encode() for message in messages], dialect=dialect)


def test_the_validator_takes_what_the_api_takes() -> None:
    check([json.dumps(item).encode() for item in samples.ANTHROPIC], dialect="anthropic")
    check([json.dumps(item).encode() for item in samples.CHAT[2:5]], dialect="openai_chat")
