from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.messages import Dialect, Message, Opaque, Reasoning, Text, ToolCall, Usage
from autocompact.wire import Reply, export_messages
from autocompact.wire.deltas import (
    CallDelta,
    Finish,
    Problem,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageReport,
)
from autocompact.wire.stream import StreamReader, StreamUsage

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


def sse(events: Sequence[Any], *, newline: str = "\n") -> bytes:
    lines: list[str] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        kind = [f"event: {event['type']}"] if isinstance(event, dict) and "type" in event else []
        lines += [": keep-alive", "", *kind, f"data: {data}", ""]
    return (newline.join(lines) + newline).encode()


def delta(index: int = 0, *, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "id": "c-1",
        "model": "m-1",
        "choices": [{"index": index, "delta": fields, "finish_reason": finish}],
    }


def call_delta(index: int, arguments: str, **fields: Any) -> dict[str, Any]:
    return {"index": index, **fields, "function": {"arguments": arguments}}


CHAT: list[Any] = [
    delta(role="assistant", content="", refusal=None),
    delta(reasoning_content="Let me "),
    delta(reasoning_content="look."),
    delta(content="I "),
    delta(1, content="another choice"),
    delta(content="look: 漢"),
    delta(
        tool_calls=[{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}]
    ),
    delta(
        tool_calls=[
            call_delta(0, '{"x":'),
            {"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ]
    ),
    delta(tool_calls=[call_delta(0, "1}", id="")]),
    delta(finish="tool_calls"),
    {
        "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8}},
    },
    "[DONE]",
]
ANTHROPIC: list[Any] = [
    {
        "type": "message_start",
        "message": {
            "id": "c-1",
            "model": "m-1",
            "usage": {
                "input_tokens": 1,
                "cache_read_input_tokens": 8,
                "cache_creation_input_tokens": 1,
                "output_tokens": 1,
            },
        },
    },
    {"type": "ping"},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    },
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "look."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "I "}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "look: 漢"}},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "citations_delta", "citation": {"cited_text": "x"}},
    },
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {
        "type": "content_block_delta",
        "index": 2,
        "delta": {"type": "input_json_delta", "partial_json": '{"x":'},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "b", "name": "g", "input": {}},
    },
    {"type": "content_block_stop", "index": 3},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
_ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Let me look."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look: 漢"}]},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x":1}'},
    {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
]
RESPONSES: list[Any] = [
    {
        "type": "response.created",
        "response": {"id": "c-1", "model": "m-1", "status": "in_progress", "output": []},
    },
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs"}},
    {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Let me look."},
    {"type": "response.output_item.done", "output_index": 0, "item": _ITEMS[0]},
    {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message"}},
    {"type": "response.content_part.added", "output_index": 1, "part": {}},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "I "},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "look: 漢"},
    {"type": "response.output_item.done", "output_index": 1, "item": _ITEMS[1]},
    {
        "type": "response.output_item.added",
        "output_index": 2,
        "item": {"type": "function_call", "call_id": "a", "name": "f"},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"x":1}'},
    {"type": "response.output_item.done", "output_index": 2, "item": _ITEMS[2]},
    {
        "type": "response.output_item.added",
        "output_index": 3,
        "item": {"type": "function_call", "call_id": "b", "name": "g"},
    },
    {"type": "response.output_item.done", "output_index": 3, "item": _ITEMS[3]},
    {
        "type": "response.completed",
        "response": {
            "id": "c-1",
            "model": "m-1",
            "status": "completed",
            "output": _ITEMS,
            "usage": {"input_tokens": 10, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 8}},
        },
    },
]
STREAMS: dict[Dialect, list[Any]] = {
    "openai_chat": CHAT,
    "anthropic": ANTHROPIC,
    "openai_responses": RESPONSES,
}


def read(dialect: Dialect, *chunks: bytes) -> tuple[StreamReader, list[StreamEvent]]:
    reader = StreamReader(dialect)
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return reader, [*events, *reader.close()]


def words(messages: Sequence[Message]) -> str:
    return "".join(message.text for message in messages)


@pytest.mark.requirement("B1")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_gives_the_answer_and_its_usage(dialect: Dialect) -> None:
    reader, events = read(dialect, sse(STREAMS[dialect]))
    reply = reader.reply()

    parts = [part for message in reply.messages for part in message.parts]
    assert [part.text for part in parts if isinstance(part, Reasoning)] == ["Let me look."]
    assert [part for part in parts if not isinstance(part, Reasoning)] == [
        Text(text="I look: 漢"),
        ToolCall(id="a", name="f", arguments='{"x":1}'),
        ToolCall(id="b", name="g", arguments="{}"),
    ]
    assert reply.usage == reader.usage == Usage(prompt=10, completion=5)
    assert (reply.cache_read, reply.cache_write) == (8, 1 if dialect == "anthropic" else 0)
    assert (reply.id, reply.model, reply.complete, reader.problems) == ("c-1", "m-1", True, [])
    assert reply.stop_reason in ("tool_calls", "tool_use", "completed")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I look: 漢"
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "Let me look."
    calls = [event for event in events if isinstance(event, CallDelta)]
    assert [(call.id, call.name) for call in calls if call.id] == [("a", "f"), ("b", "g")]
    first = next(call.index for call in calls)
    assert "".join(call.arguments for call in calls if call.index == first) == '{"x":1}'
    assert [event for event in events if isinstance(event, Finish)] == [Finish(stop_reason=reply.stop_reason)]
    assert [event for event in events if isinstance(event, UsageReport)][-1].usage == reply.usage


@given(st.data(), st.sampled_from(DIALECTS), st.sampled_from(["\n", "\r\n", "\r"]))
def test_chunks_may_be_cut_anywhere(data: st.DataObject, dialect: Dialect, newline: str) -> None:
    body = sse(STREAMS[dialect], newline=newline)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=40)))
    chunks = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]

    reader, events = read(dialect, *chunks)

    whole, all_events = read(dialect, sse(STREAMS[dialect]))
    assert (reader.reply(), events) == (whole.reply(), all_events)


@given(st.data(), st.sampled_from(DIALECTS))
def test_the_usage_alone_is_what_reading_all_of_a_stream_finds(data: st.DataObject, dialect: Dialect) -> None:
    whole = sse(STREAMS[dialect])
    body = whole[: data.draw(st.integers(0, len(whole)))]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)), max_size=8)))
    reader, usage = StreamReader(dialect), StreamUsage(dialect)
    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        reader.feed(body[start:end])
        usage.feed(body[start:end])
        assert usage.usage == reader.usage


def test_the_usage_is_found_among_events_that_leave_it_open() -> None:
    usage = StreamUsage("openai_chat")
    usage.feed(sse([delta(content="words") | {"usage": None}]))
    assert usage.usage is None
    usage.feed(sse([delta(content='"usage": {'), {"choices": [], "usage": {"prompt_tokens": 7}}]))
    assert usage.usage == Usage(prompt=7)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_usage_is_found_in_a_last_event_that_no_blank_line_ends(dialect: Dialect) -> None:
    reports = [event for event in STREAMS[dialect] if "usage" in json.dumps(event)]
    whole, usage = sse(reports), StreamUsage(dialect)
    usage.feed(whole.rstrip())
    usage.close()
    reader, _ = read(dialect, whole)
    assert usage.usage == reader.usage
    assert usage.usage is not None


def test_calls_that_all_have_one_index_are_told_apart_by_their_ids() -> None:
    """Gemini's endpoint in OpenAI's form; other servers make up another id for each piece of a call, and name it once."""
    named = {"type": "function", "function": {"name": "f", "arguments": '{"x":'}}
    pieces = [named | {"id": "a"}, call_delta(0, "1}", id="z"), named | {"id": "b"}, call_delta(0, "1}")]
    events = [delta(tool_calls=[{"index": 0} | piece]) for piece in pieces]
    reader, _ = read("openai_chat", sse([*events, delta(finish="tool_calls")]))
    (message,) = reader.reply().messages
    assert [(call.name, call.arguments) for call in message.calls] == [("f", '{"x":1}')] * 2


@given(st.data(), st.sampled_from(DIALECTS))
def test_a_stream_that_is_cut_keeps_what_came_whole(data: st.DataObject, dialect: Dialect) -> None:
    body = sse(STREAMS[dialect])
    reader, events = read(dialect, body[: data.draw(st.integers(0, len(body)))])

    reply = reader.reply()

    told = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert words(reply.messages) == told
    for message in reply.messages:
        assert all(json.loads(call.arguments) in ({}, {"x": 1}) for call in message.calls)
    assert export_messages(reply.messages, dialect=dialect) is not None
    assert not reply.complete or any(isinstance(event, Finish) for event in events)


@given(st.data(), st.sampled_from(DIALECTS), st.binary(max_size=30))
def test_garbage_is_a_value_and_not_an_exception(
    data: st.DataObject, dialect: Dialect, garbage: bytes
) -> None:
    events = STREAMS[dialect]
    place = data.draw(st.integers(0, len(events)))
    noise = b"data: " + garbage.replace(b"\n", b"").replace(b"\r", b"") + b"\n\n"

    reader, _ = read(dialect, sse(events[:place]), noise, sse(events[place:]))

    whole, _ = read(dialect, sse(events))
    assert reader.reply().messages == whole.reply().messages


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of every object and list in a JSON value."""
    keys: Sequence[Any] = ()
    if isinstance(value, dict):
        keys = list(cast(dict[str, Any], value))
    elif isinstance(value, list):
        keys = range(len(cast(list[Any], value)))
    for key in keys:
        yield value, key
        yield from _places(value[key])


@given(st.data(), st.sampled_from(DIALECTS))
def test_events_with_members_of_any_kind_never_raise(data: st.DataObject, dialect: Dialect) -> None:
    events = json.loads(json.dumps(STREAMS[dialect]))
    for _ in range(data.draw(st.integers(1, 4))):
        held, key = data.draw(st.sampled_from([place for event in events for place in _places(event)]))
        held[key] = data.draw(_json)

    reader, _ = read(dialect, sse(events))

    assert isinstance(reader.reply(), Reply)


@pytest.mark.parametrize(
    ("dialect", "event", "message"),
    [
        ("openai_chat", {"error": {"message": "overloaded", "code": 529}}, "overloaded"),
        ("openai_chat", {"error": "overloaded"}, '"overloaded"'),
        (
            "anthropic",
            {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}},
            "overloaded",
        ),
        ("openai_responses", {"type": "error", "message": "overloaded", "code": None}, "overloaded"),
        (
            "openai_responses",
            {"type": "response.failed", "response": {"status": "failed", "error": {"message": "overloaded"}}},
            "overloaded",
        ),
    ],
)
def test_an_error_in_the_stream_is_told(dialect: Dialect, event: dict[str, Any], message: str) -> None:
    reader, events = read(dialect, sse(STREAMS[dialect][:3]), sse([event]))

    assert Problem(message=message) in events
    assert reader.problems == [Problem(message=message)]
    assert not reader.reply().complete


def test_an_answer_that_ran_into_its_limit_says_so() -> None:
    event = {
        "type": "response.incomplete",
        "response": {
            "status": "incomplete",
            "output": None,
            "incomplete_details": {"reason": "max_output_tokens"},
        },
    }
    reader, _ = read("openai_responses", sse([*RESPONSES[:9], event]))

    assert (reader.reply().stop_reason, words(reader.reply().messages)) == ("max_output_tokens", "I look: 漢")


def test_other_deltas_are_put_together_too() -> None:
    reader, _ = read(
        "openai_chat",
        sse(
            [
                delta(reasoning_details=[{"type": "t", "index": 0, "text": "a", "format": "x"}], n=1),
                delta(reasoning_details=[{"type": "t", "index": 0, "text": "b", "format": "x"}, "odd"], n=2),
                delta(annotations=[{"url": "u"}], audio={"id": "au", "data": "AA"}),
                delta(
                    annotations=[{"url": "v"}],
                    audio={"data": "BB"},
                    tool_calls=[{"id": "p", "type": "custom", "custom": {"name": "f", "input": "in"}}],
                ),
                delta(
                    tool_calls=[{"id": "q", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
                ),
                delta(finish="stop"),
            ]
        ),
    )
    [message] = reader.reply().messages

    assert json.loads(message.raw or b"") == {
        "role": "assistant",
        "reasoning_details": [{"type": "t", "index": 0, "text": "ab", "format": "x"}, "odd"],
        "n": 2,
        "annotations": [{"url": "u"}, {"url": "v"}],
        "audio": {"id": "au", "data": "AABB"},
        "tool_calls": [
            {"id": "p", "type": "custom", "custom": {"name": "f", "input": "in"}},
            {"id": "q", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    }


def test_calls_without_a_number_keep_their_order() -> None:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in "ab"]
    _, events = read("openai_chat", sse([delta(tool_calls=calls)]))

    assert [(event.index, event.id) for event in events if isinstance(event, CallDelta)] == [
        (0, "a"),
        (1, "b"),
    ]


def test_blocks_of_servers_tools_come_through_whole() -> None:
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}}
    events: list[Any] = [
        {"type": "content_block_start", "index": 0, "content_block": block | {"input": {}}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"query": "q"}'},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "c", "name": "f", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"cut'},
        },
        {"type": "content_block_stop", "index": 2},
        {"type": "message_stop"},
    ]
    reader, _ = read("anthropic", sse(events))
    [message] = reader.reply().messages

    [part] = message.parts
    assert isinstance(part, Opaque)
    assert json.loads(part.raw) == block
    assert message.usage is None


def test_a_stream_without_events_is_an_answer_without_messages() -> None:
    for dialect in DIALECTS:
        reader, events = read(dialect, b"", b'{"error": "not a stream"}')
        assert (events, reader.usage) == ([], None)
        assert reader.reply() == Reply(complete=False)


def test_several_data_lines_are_one_event() -> None:
    reader, _ = read("openai_chat", b'data: {"choices": [{"delta":\ndata:{"content": "a"}}]}\n\n')

    assert words(reader.reply().messages) == "a"


def test_an_answer_nested_too_deep_is_a_problem() -> None:
    deep = '{"a":' * 600 + "1" + "}" * 600
    reader, _ = read("openai_chat", b'data: {"choices":[{"delta":{"x":' + deep.encode() + b"}}]}\n\n")

    assert reader.reply() is not None


def test_what_is_missing_from_a_stream_is_not_made_up() -> None:
    chat, _ = read("openai_chat", sse([{"choices": [{"delta": None}]}, delta(content="a"), {"usage": {}}]))
    claude, _ = read("anthropic", sse([{"type": "message_start", "message": {"id": None}}]))

    assert (chat.usage, chat.reply().stop_reason, words(chat.reply().messages)) == (None, "", "a")
    assert (claude.usage, claude.reply()) == (None, Reply(complete=False))


def test_the_input_of_a_servers_tool_is_not_told_as_a_call() -> None:
    events: list[Any] = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "server_tool_use", "id": "s", "name": "w"},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": "{}"},
        },
    ]

    assert read("anthropic", sse(events))[1] == []


@pytest.mark.parametrize(
    ("dialect", "text_at", "call_at"),
    [("openai_chat", 4, 8), ("anthropic", 9, 15), ("openai_responses", 7, 11)],
)
def test_of_a_cut_stream_half_a_text_is_kept_and_half_a_call_is_not(
    dialect: Dialect, text_at: int, call_at: int
) -> None:
    in_text, _ = read(dialect, sse(STREAMS[dialect][:text_at]))
    in_call, _ = read(dialect, sse(STREAMS[dialect][:call_at]))

    assert words(in_text.reply().messages) == "I "
    assert words(in_call.reply().messages) == "I look: 漢"
    calls = [call.id for message in in_call.reply().messages for call in message.calls]
    assert calls == (["b"] if dialect == "openai_chat" else [])
    assert not in_text.reply().complete
    assert not in_call.reply().complete


def test_a_chat_stream_cut_in_its_only_call_has_no_call() -> None:
    reader, _ = read("openai_chat", sse(CHAT[:7]))
    [message] = reader.reply().messages

    assert (message.text, message.calls) == ("I look: 漢", ())
    assert b"tool_calls" not in (message.raw or b"")


def test_a_streamed_answer_that_is_no_message_is_a_problem() -> None:
    reader, _ = read("openai_chat", sse([delta(content="a", tool_calls=[{"index": 0}], finish="stop")]))

    assert reader.reply() == Reply(complete=False)
    assert "tool_calls[0]" in reader.problems[0].message


def test_an_event_that_is_no_json_is_a_problem_and_the_rest_is_read() -> None:
    for dialect in DIALECTS:
        reader, events = read(dialect, b"data: <html>\n\n", sse(STREAMS[dialect]))
        assert isinstance(events[0], Problem)
        assert words(reader.reply().messages) == "I look: 漢"


def test_a_chunk_may_begin_between_carriage_return_and_line_feed() -> None:
    reader, _ = read(
        "openai_chat", b'data: {"choices": [{"delta":\r', b'\ndata: {"content": "a"}}]}\r', b"\n\r\n"
    )

    assert words(reader.reply().messages) == "a"


@pytest.mark.requirement("B1")
def test_a_later_report_that_leaves_figures_out_as_zeros_takes_nothing_back() -> None:
    start = {"usage": {"input_tokens": 1, "cache_read_input_tokens": 900, "output_tokens": 0}}
    end = {"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}
    anthropic = StreamUsage("anthropic")
    anthropic.feed(
        sse(
            [
                {"type": "message_start", "message": start},
                {"type": "message_delta", "delta": {}, "usage": end},
            ]
        )
    )
    assert anthropic.usage == Usage(prompt=901, completion=5)
    chat = StreamUsage("openai_chat")
    first, last = {"prompt_tokens": 900, "completion_tokens": 5}, {"prompt_tokens": 0, "completion_tokens": 0}
    chat.feed(sse([{"choices": [], "usage": usage} for usage in (first, last)]))
    assert chat.usage == Usage(prompt=900, completion=5)


def test_the_end_of_a_stream_is_read_though_its_usage_cannot_be() -> None:
    last: dict[str, Any] = {"usage": {"prompt_tokens": [], "x": {}}}
    chunks: list[Any] = [*CHAT[:-3], delta(finish="tool_calls") | last, "[DONE]"]
    reader = StreamReader("openai_chat")
    reader.feed(sse(chunks))
    reply = reader.reply()
    assert reader.problems == []
    assert (reply.complete, reply.stop_reason, reply.usage) == (True, "tool_calls", None)
    assert len(reply.messages[0].calls) == 2
