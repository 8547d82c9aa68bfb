"""The rules of the Messages API, as the real one enforces them."""

from __future__ import annotations

from typing import Any

import pytest

from autocompact.testing import Answer, FakeProvider
from tests.testing.asking import HI, accepted, ask, refused

pytestmark = pytest.mark.anyio
PATH = "/messages"
USER = {"role": "user", "content": "Say hi"}


def _use(*ids: str, **members: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": "tool_use", "name": "f", "input": {}}
    blocks = [plain | {"id": id} | members for id in ids]
    return {"role": "assistant", "content": blocks}


def _results(*ids: str, before: str = "", after: str = "") -> dict[str, Any]:
    blocks: list[Any] = [{"type": "tool_result", "tool_use_id": id, "content": "ok"} for id in ids]
    first = [{"type": "text", "text": before}] if before else []
    last = [{"type": "text", "text": after}] if after else []
    return {"role": "user", "content": [*first, *blocks, *last]}


def _text(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


WITHOUT = "`tool_use` ids were found without `tool_result` blocks immediately after"
UNEXPECTED = "unexpected `tool_use_id` found in `tool_result` blocks"

REFUSED: dict[str, tuple[list[Any], str]] = {
    "no messages": ([], "messages: at least one message is required"),
    "the assistant begins": (
        [_text("assistant", "hi"), USER],
        'messages: first message must use the "user" role',
    ),
    "a system message after one of the model": (
        [
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": "y"},
            {"role": "system", "content": "z"},
        ],
        "must follow a 'user' message",
    ),
    "a system message before one of the user": (
        [
            {"role": "user", "content": "x"},
            {"role": "system", "content": "y"},
            {"role": "user", "content": "z"},
        ],
        "or be followed by an 'assistant' message",
    ),
    "a system message": ([{"role": "system", "content": "x"}], 'Unexpected role "system"'),
    "a tool message": (
        [USER, {"role": "tool", "content": "x"}],
        "messages.1.role: Input should be 'user' or 'assistant'",
    ),
    "a call without a result": ([USER, _use("a")], f"messages.1: {WITHOUT}: a."),
    "one of two without": ([USER, _use("a", "b"), _results("a")], f"messages.1: {WITHOUT}: b."),
    "words before the results": ([USER, _use("a"), _results("a", before="hm")], f"messages.1: {WITHOUT}: a."),
    "a result without a call": ([_results("a")], f"messages.0.content.0: {UNEXPECTED}: a."),
    "a result one turn late": (
        [USER, _use("a"), _results("a"), _text("assistant", "so"), _results("a")],
        f"messages.4.content.0: {UNEXPECTED}: a.",
    ),
    "two results of one call": (
        [USER, _use("a"), _results("a", "a")],
        "each tool_use must have a single result",
    ),
    "an id used twice": (
        [USER, _use("a"), _results("a"), _use("a"), _results("a")],
        "`tool_use` ids must be unique",
    ),
    "an id with a dot": ([USER, _use("a.b"), _results("a.b")], "tool_use.id: String should match pattern"),
    "a name with a blank": (
        [USER, _use("a", name="a b"), _results("a")],
        "tool_use.name: String should match",
    ),
    "arguments as text": (
        [USER, _use("a", input="{}"), _results("a")],
        "tool_use.input: Input should be a valid dict",
    ),
    "the user calls": (
        [{"role": "user", "content": _use("a")["content"]}],
        "can only be in `assistant` messages",
    ),
    "the assistant answers": (
        [USER, {"role": "assistant", "content": _results("a")["content"]}],
        "can only be in `user` messages",
    ),
    "an empty text": ([_text("user", "x", "")], "messages: text content blocks must be non-empty"),
    "a text of blanks": (
        [_text("user", " \n")],
        "messages: text content blocks must contain non-whitespace text",
    ),
    "an empty message": ([{"role": "user", "content": []}], "all messages must have non-empty content"),
    "an empty assistant in between": (
        [USER, {"role": "assistant", "content": ""}, USER],
        "messages.1: all messages must have non-empty content",
    ),
    "a prefill that ends in a blank": (
        [USER, _text("assistant", "So ")],
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "another member": ([USER | {"name": "ann"}], "messages.0.name: Extra inputs are not permitted"),
    "no content": ([{"role": "user"}], "messages.0.content: Field required"),
    "a block without a type": (
        [{"role": "user", "content": [{"text": "x"}]}],
        "messages.0.content.0.type: Field",
    ),
    "unsigned thinking": (
        [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}]}],
        "thinking.signature: Field required",
    ),
    "a message that is a string": (["hi"], "messages.0: Input should be a valid dictionary"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_request_that_breaks_a_rule_is_refused_in_the_real_words(name: str) -> None:
    messages, words = REFUSED[name]
    assert words in await refused(PATH, HI["anthropic"] | {"messages": messages})
    assert words in await refused(f"{PATH}/count_tokens", {"model": "m", "messages": messages})


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"messages": None}, "messages: Field required"),
        ({"messages": "hi"}, "messages: Input should be a valid list"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"model": ""}, "model: Field required"),
        ({"system": 3}, "system: Input should be a valid list"),
        ({"system": [{"type": "text", "text": ""}]}, "system: text content blocks must be non-empty"),
        ({"tool_choice": {"type": "none"}}, "tool_choice may only be specified while providing tools"),
        (
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
    ],
)
async def test_a_setting_that_breaks_a_rule_is_refused_in_the_real_words(
    members: dict[str, Any], words: str
) -> None:
    assert words in await refused(PATH, HI["anthropic"] | members)


@pytest.mark.parametrize(
    "messages",
    [
        [USER, USER, _text("assistant", "x"), _text("assistant", "y"), USER],
        [USER, _use("a", "b"), _results("b", "a", after="and now?")],
        [USER, _use("a"), _results("a"), USER, _use("b"), _results("b")],
        [USER, _use("a", "b"), _results("a"), _results("b")],
        [USER, _text("assistant", "So")],
        [USER, {"role": "assistant", "content": ""}],
        [
            USER,
            {
                "role": "assistant",
                "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "y"}],
            },
        ],
    ],
)
async def test_what_the_real_api_takes_is_taken(messages: list[Any]) -> None:
    await accepted(PATH, HI["anthropic"] | {"messages": messages})


async def test_an_error_has_the_real_form() -> None:
    async with FakeProvider() as provider:
        told = await ask(provider, PATH, HI["anthropic"] | {"max_tokens": None})
    assert told.json == {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "max_tokens: Field required"},
        "request_id": "req_fake",
    }


async def test_thinking_must_come_back_as_it_was_said() -> None:
    async with FakeProvider([Answer(text="Hi", reasoning="Greet."), "fine", "never"]) as provider:
        said = (await ask(provider, PATH, HI["anthropic"])).json["content"]
        messages = [USER, {"role": "assistant", "content": said}, USER]
        assert (await ask(provider, PATH, HI["anthropic"] | {"messages": messages})).status == 200
        said[0]["thinking"] = "Gre"
        told = await ask(provider, PATH, HI["anthropic"] | {"messages": messages})
    assert told.error == "messages.1.content.0: Invalid `signature` in `thinking` block"
