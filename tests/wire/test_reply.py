from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.core.messages import Dialect, Reasoning, Text, ToolCall, Usage
from autocompact.errors import InvalidInput
from autocompact.wire import export_messages, parse_reply, parse_usage
from autocompact.wire.reply import Figures
from autocompact.wire.stream import StreamUsage

CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "model": "m-1",
    "choices": [
        {"index": 1, "message": {"role": "assistant", "content": "other"}},
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "I look.",
                "refusal": None,
                "annotations": [],
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        },
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 8},
    },
}
ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m-1",
    "content": [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 1,
        "cache_read_input_tokens": 8,
        "cache_creation_input_tokens": 1,
        "output_tokens": 5,
    },
}
RESPONSES: dict[str, Any] = {
    "id": "resp_1",
    "model": "m-1",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"},
    ],
    "usage": {"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 8}},
}
BODIES: list[tuple[Dialect, dict[str, Any]]] = [
    ("openai_chat", CHAT),
    ("anthropic", ANTHROPIC),
    ("openai_responses", RESPONSES),
]


@pytest.mark.requirement("B1", "D2")
@pytest.mark.parametrize(("dialect", "body"), BODIES)
def test_an_answer_is_messages_usage_and_the_reason_it_ended(dialect: Dialect, body: dict[str, Any]) -> None:
    reply = parse_reply(json.dumps(body).encode(), dialect=dialect)

    parts = [part for message in reply.messages for part in message.parts if not isinstance(part, Reasoning)]
    assert parts == [Text(text="I look."), ToolCall(id="a", name="f", arguments="{}")]
    assert reply.text == "I look."
    assert reply.usage == Usage(prompt=10, completion=5) == reply.messages[-1].usage
    assert (reply.cache_read, reply.cache_write) == (8, 1 if dialect == "anthropic" else 0)
    assert (reply.model, reply.messages[-1].model, reply.id) == ("m-1", "m-1", body["id"])
    assert reply.stop_reason in ("tool_calls", "tool_use", "completed")
    assert reply.complete
    assert {message.role for message in reply.messages} == {"assistant"}


@pytest.mark.parametrize(("dialect", "body"), BODIES)
def test_an_answer_is_sent_back_with_the_bytes_it_came_as(dialect: Dialect, body: dict[str, Any]) -> None:
    reply = parse_reply(json.dumps(body).encode(), dialect=dialect)
    sent = [json.loads(raw) for raw in export_messages(reply.messages, dialect=dialect).messages]

    match dialect:
        case "openai_chat":
            assert sent == [CHAT["choices"][1]["message"]]
        case "anthropic":
            assert sent[1:] == [{"role": "assistant", "content": ANTHROPIC["content"]}]
        case "openai_responses":
            assert sent == RESPONSES["output"]


def test_what_was_not_reported_is_not_made_up() -> None:
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": "a"}}], "usage": {}}
    reply = parse_reply(json.dumps(body).encode(), dialect="openai_chat")

    assert (reply.usage, reply.model, reply.id, reply.stop_reason, reply.cache_read) == (None, "", "", "", 0)
    none = parse_reply(
        b'{"output": [], "incomplete_details": {"reason": "max_output_tokens"}}', dialect="openai_responses"
    )
    assert (none.messages, none.usage, none.stop_reason, none.text) == ((), None, "max_output_tokens", "")


@pytest.mark.parametrize(
    ("dialect", "body", "path"),
    [
        ("openai_chat", b"<html>", "the body"),
        ("openai_chat", b'{"error": {"message": "no"}}', r"choices\[0\].message"),
        ("openai_chat", b'{"choices": [{"message": {"content": "a"}}]}', "message: Object missing"),
        ("anthropic", b'{"type": "error"}', "content"),
        ("openai_responses", b'{"error": {}}', "output"),
        ("openai_responses", b'{"output": [], "status": 5}', "status"),
    ],
)
def test_a_body_that_is_no_answer_is_refused_with_the_path(dialect: Dialect, body: bytes, path: str) -> None:
    with pytest.raises(InvalidInput, match=f"^not a reply of {dialect}: {path}"):
        parse_reply(body, dialect=dialect)


@pytest.mark.parametrize("body", [CHAT, ANTHROPIC, RESPONSES], ids=["chat", "anthropic", "responses"])
def test_the_usage_is_read_without_the_rest(body: dict[str, Any]) -> None:
    assert parse_usage(json.dumps(body).encode()) == Usage(prompt=10, completion=5)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"usage":null}', b'{"usage":{}}', b'{"usage":{"prompt_tokens":"x"}}']
)
def test_what_reports_no_usage_has_none(body: bytes) -> None:
    assert parse_usage(body) is None


HYBRIDS: list[tuple[str, dict[str, object], Usage, tuple[int, int]]] = [
    (
        "LiteLLM before Anthropic",
        {
            "prompt_tokens": 12_507,
            "completion_tokens": 40,
            "total_tokens": 12_547,
            "prompt_tokens_details": {"cached_tokens": 11_000, "cache_creation_tokens": 1_495},
            "cache_read_input_tokens": 11_000,
            "cache_creation_input_tokens": 1_495,
        },
        Usage(prompt=12_507, completion=40),
        (11_000, 1_495),
    ),
    (
        "OpenRouter",
        {
            "prompt_tokens": 194,
            "completion_tokens": 2,
            "total_tokens": 196,
            "prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 100},
        },
        Usage(prompt=194, completion=2),
        (50, 100),
    ),
    (
        "a proxy before Bedrock that leaves the cache out of the prompt",
        {"prompt_tokens": 7, "completion_tokens": 2, "cache_read_input_tokens": 500},
        Usage(prompt=507, completion=2),
        (500, 0),
    ),
    (
        "a proxy whose total says that the cache comes on top",
        {
            "prompt_tokens": 900,
            "completion_tokens": 2,
            "total_tokens": 1_402,
            "cache_read_input_tokens": 500,
        },
        Usage(prompt=1_400, completion=2),
        (500, 0),
    ),
    (
        "Responses with Anthropic's names besides",
        {
            "input_tokens": 900,
            "output_tokens": 2,
            "input_tokens_details": {"cached_tokens": 500},
            "cache_read_input_tokens": 500,
        },
        Usage(prompt=900, completion=2),
        (500, 0),
    ),
    (
        "Anthropic",
        {
            "input_tokens": 900,
            "output_tokens": 2,
            "cache_read_input_tokens": 500,
            "cache_creation_input_tokens": 10,
        },
        Usage(prompt=1_410, completion=2),
        (500, 10),
    ),
    (
        "Anthropic's form with a total that has the cache in it",
        {"input_tokens": 900, "output_tokens": 2, "total_tokens": 902, "cache_read_input_tokens": 500},
        Usage(prompt=900, completion=2),
        (500, 0),
    ),
    (
        "a proxy before Anthropic whose breakdown is larger than its prompt",
        {
            "prompt_tokens": 20,
            "completion_tokens": 2,
            "total_tokens": 22,
            "prompt_tokens_details": {"cached_tokens": 80},
        },
        Usage(prompt=100, completion=2),
        (80, 0),
    ),
    (
        "a proxy that fills in both forms",
        {
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "input_tokens": 100,
            "output_tokens": 2,
            "total_tokens": 102,
        },
        Usage(prompt=100, completion=2),
        (0, 0),
    ),
    (
        "DeepSeek",
        {
            "prompt_tokens": 100,
            "completion_tokens": 2,
            "prompt_cache_hit_tokens": 80,
            "prompt_cache_miss_tokens": 20,
        },
        Usage(prompt=100, completion=2),
        (80, 0),
    ),
    (
        "Moonshot",
        {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102, "cached_tokens": 80},
        Usage(prompt=100, completion=2),
        (80, 0),
    ),
    (
        "Mistral",
        {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102, "num_cached_tokens": 80},
        Usage(prompt=100, completion=2),
        (80, 0),
    ),
    (
        "Gemini's breakdown by modality, in OpenAI's form",
        {"prompt_tokens": 100, "completion_tokens": 2.0, "prompt_tokens_details": [{"modality": "TEXT"}]},
        Usage(prompt=100, completion=2),
        (0, 0),
    ),
    (
        "figures that are none",
        {
            "prompt_tokens": "100",
            "completion_tokens": -1,
            "input_tokens": 1e30,
            "prompt_tokens_details": {"cached_tokens": 80, "cache_write_tokens": "some"},
        },
        Usage(prompt=100, completion=0),
        (80, 0),
    ),
]


@pytest.mark.requirement("B1")
@pytest.mark.parametrize(("usage", "expected", "cache"), [case[1:] for case in HYBRIDS], ids=[case[0] for case in HYBRIDS])  # fmt: skip
def test_cached_tokens_count_once_whoever_reports_them(
    usage: dict[str, object], expected: Usage, cache: tuple[int, int]
) -> None:
    body = json.dumps(CHAT | {"usage": usage}).encode()
    reply = parse_reply(body, dialect="openai_chat")
    assert parse_usage(body) == reply.usage == expected
    assert (reply.cache_read, reply.cache_write) == cache
    stream = StreamUsage("openai_chat")
    stream.feed(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\ndata: [DONE]\n\n")
    assert stream.usage == expected


@pytest.mark.parametrize("usage", ["none", [1], {}])
def test_an_answer_is_not_lost_over_a_usage_that_is_none(usage: object) -> None:
    reply = parse_reply(json.dumps(CHAT | {"usage": usage}).encode(), dialect="openai_chat")
    assert reply.text
    assert reply.usage is None


def test_an_empty_answer_has_no_tokens_though_its_stream_began_with_one() -> None:
    begun = Figures(input_tokens=6, output_tokens=1)
    assert begun.updated(Figures(output_tokens=0)).usage() == Usage(prompt=6, completion=0)
    left_out = Figures(input_tokens=0, output_tokens=0)
    assert Figures(input_tokens=6, output_tokens=40).updated(left_out).usage() == Usage(
        prompt=6, completion=40
    )
