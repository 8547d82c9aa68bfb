"""Messages of any origin, written for any API, against the independent validators."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.core.messages import (
    Dialect,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    text_message,
)
from autocompact.wire import Exported, export_messages, parse_message, parse_request
from tests.wire import samples
from tests.wire.validators import check

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
THOUGHT = b'{"type":"thinking","thinking":"hm","signature":"c2ln"}'

words = st.text(min_size=1, max_size=6).filter(lambda text: text.strip() != "")
ids = st.text(alphabet="ab_.:é", max_size=3) | st.just("x" * 70)
arguments = st.sampled_from(["", "{}", '{"a": 1}', "[1]", "*** patch", '{"cut'])


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """A valid history that no wire ever saw: any packing of calls and results, ids of any kind."""
    messages = [text_message(0, "system", draw(words))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["say", "answer", "step", "step", "odd", "note"]))
        if kind == "step":
            messages += _step(draw, draw(st.lists(ids, min_size=1, max_size=3, unique=True)))
        else:
            messages.append(_other(draw, kind))
    return [replace(message, seq=seq) for seq, message in enumerate(messages, start=1)]


def _other(draw: st.DrawFn, kind: str) -> Message:
    picture: tuple[Part, ...] = (Image(media_type="image/png", data="aGk="),) if draw(st.booleans()) else ()
    match kind:
        case "say":
            return Message(seq=0, role="user", parts=(Text(text=draw(words)), *picture))
        case "answer":
            return Message(
                seq=0, role="assistant", parts=(Reasoning(text="hm"), Text(text=draw(words)), *picture)
            )
        case "note":
            return text_message(0, "system", draw(words))
        case _:
            return Message(seq=0, role="assistant", parts=(Opaque(kind="odd", raw=b'{"type":"odd"}'),))


def _step(draw: st.DrawFn, called: Sequence[str]) -> list[Message]:
    calls = [ToolCall(id=id, name=draw(words), arguments=draw(arguments)) for id in called]
    results = [ToolResult(call_id=id, text=draw(st.text(max_size=3)), media=_shown(draw)) for id in called]
    cut = draw(st.integers(0, len(calls)))
    asked = [Message(seq=0, role="assistant", parts=tuple(run)) for run in (calls[:cut], calls[cut:]) if run]
    if draw(st.booleans()):
        asked.insert(draw(st.integers(0, len(asked))), text_message(0, "assistant", draw(words)))
    if draw(st.booleans()):
        told = [Message(seq=0, role="user", parts=(*results, Text(text=draw(words))))]
    else:
        told = [Message(seq=0, role="tool", parts=(result,)) for result in results]
    return [*asked, *told]


def _shown(draw: st.DrawFn) -> tuple[Image, ...]:
    return (draw(st.sampled_from([Image(data="aGk="), Image()])),) if draw(st.booleans()) else ()


def checked(messages: Sequence[Message], dialect: Dialect) -> Exported:
    exported = export_messages(messages, dialect=dialect)
    if exported.messages or dialect != "anthropic":
        check(exported.messages, dialect=dialect, system=exported.system)
    return exported


@pytest.mark.requirement("E8")
@given(turns(), st.sampled_from(DIALECTS))
def test_any_valid_history_is_written_as_each_api_takes_it(history: list[Message], dialect: Dialect) -> None:
    exported = checked(history, dialect)

    said = [part.text for message in history for part in message.parts if isinstance(part, Text)]
    whole = b"".join((exported.system or b"", *exported.messages)).decode()
    assert all(json.dumps(text, ensure_ascii=False)[1:-1] in whole for text in said)


@pytest.mark.requirement("E8")
@given(turns(), st.sampled_from(DIALECTS), st.sampled_from(DIALECTS))
def test_what_was_written_for_one_api_is_written_for_another(
    history: list[Message], first: Dialect, second: Dialect
) -> None:
    read = _read(export_messages(history, dialect=first), first)

    exported = checked(read, second)

    if first == second:
        assert exported == export_messages(history, dialect=first)


def _read(exported: Exported, dialect: Dialect) -> list[Message]:
    system = [(exported.system, "system")] if exported.system is not None else []
    raws = [*system, *((raw, "user") for raw in exported.messages)]
    return [
        parse_message(raw, seq=seq, dialect=dialect, role=_role(role))
        for seq, (raw, role) in enumerate(raws, start=1)
    ]


def _role(role: str) -> Role:
    return "system" if role == "system" else "user"


@given(st.data(), st.sampled_from(DIALECTS), st.sampled_from(DIALECTS))
def test_messages_of_two_origins_stand_in_one_list(
    data: st.DataObject, native: Dialect, dialect: Dialect
) -> None:
    before, after = data.draw(turns()), data.draw(turns())
    kept = _read(export_messages(after, dialect=native), native)

    exported = checked([*before, *kept], dialect)

    if native == dialect == "openai_responses":
        items = [message.raw for message in kept if message.raw and message.raw.startswith(b"{")]
        assert list(exported.messages[len(exported.messages) - len(items) :]) == items


@pytest.mark.parametrize("origin", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_of_message_is_written_for_every_api(origin: Dialect, dialect: Dialect) -> None:
    messages = parse_request(samples.body(origin), dialect=origin).messages

    exported = export_messages(messages, dialect=dialect)

    if origin != dialect:
        check(exported.messages, dialect=dialect, system=exported.system)
    else:
        assert exported.messages == messages.raws[messages.listed.start :]


def shown(messages: Sequence[Message], dialect: Dialect) -> list[Any]:
    return [json.loads(raw) for raw in checked(messages, dialect).messages]


def call(id: str, **fields: Any) -> ToolCall:
    return ToolCall(id=id, name="f", arguments="{}", **fields)


def made(role: Role, *parts: Part, **fields: Any) -> Message:
    return Message(seq=1, role=role, parts=parts, **fields)


def test_chat_takes_parallel_calls_in_one_message_and_pictures_after_the_last_result() -> None:
    picture = Image(media_type="image/png", data="aGk=")
    assert shown(
        [
            made("assistant", Text(text="both"), call("a")),
            made("assistant", call("b")),
            made("tool", ToolResult(call_id="b", text="B", media=(picture,))),
            made("tool", ToolResult(call_id="a", text="A")),
            made("assistant", Text(text="done")),
        ],
        "openai_chat",
    ) == [
        {
            "role": "assistant",
            "content": "both",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "[shown by the tool, result of call b]"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {"role": "assistant", "content": "done"},
    ]


def test_anthropic_takes_results_first_and_merges_neighbours_of_one_role() -> None:
    assert shown(
        [
            made("assistant", Text(text=" "), call("a")),
            made("assistant", Reasoning(text="hm", raw=THOUGHT), call("b"), dialect="anthropic"),
            made("tool", ToolResult(call_id="a", text="", is_error=True)),
            made("user", Text(text="stop"), ToolResult(call_id="b", text="B")),
            made("system", Text(text="be quick")),
        ],
        "anthropic",
    ) == [
        {"role": "user", "content": "[The record of the conversation begins with the assistant.]"},
        {
            "role": "assistant",
            "content": [
                json.loads(THOUGHT),
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                {"type": "tool_use", "id": "b", "name": "f", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "", "is_error": True},
                {"type": "tool_result", "tool_use_id": "b", "content": "B"},
                {"type": "text", "text": "stop"},
                {"type": "text", "text": "<system>\nbe quick\n</system>"},
            ],
        },
    ]


def test_anthropic_keeps_the_bytes_of_neighbours_that_came_so() -> None:
    raws = [b'{"role":"user", "content":"a"}', b'{"role":"user", "content":"b"}']
    messages = [parse_message(raw, seq=seq, dialect="anthropic") for seq, raw in enumerate(raws, start=1)]

    assert list(export_messages(messages, dialect="anthropic").messages) == raws
    [merged] = export_messages([text_message(0, "user", "s"), *messages[:1]], dialect="anthropic").messages
    assert json.loads(merged) == {
        "role": "user",
        "content": [{"type": "text", "text": "s"}, {"type": "text", "text": "a"}],
    }


def test_a_system_message_object_within_anthropic_messages_stays_where_it_is() -> None:
    raws = [b'{"role":"user","content":"a"}', b'{"role":"system","content":"b"}']
    messages = [parse_message(raw, seq=seq, dialect="anthropic") for seq, raw in enumerate(raws, start=1)]

    assert messages[1].role == "system"
    assert list(export_messages(messages, dialect="anthropic").messages) == raws


def test_a_bare_system_prompt_in_the_midst_becomes_a_marked_text() -> None:
    prompt = parse_message(b'"be quick"', seq=2, dialect="anthropic", role="system")

    assert shown([text_message(1, "user", "a"), prompt], "anthropic") == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a"},
                {"type": "text", "text": "<system>\nbe quick\n</system>"},
            ],
        }
    ]


def test_chat_messages_that_must_be_one_are_merged_and_keep_their_members() -> None:
    raws: list[dict[str, Any]] = [
        {
            "role": "assistant",
            "content": "a",
            "x": 1,
            "tool_calls": [{"id": "a", "function": {"name": "f"}, "type": "function", "y": 2}],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": "no",
            "tool_calls": [{"id": "b", "function": {"name": "f"}, "type": "function"}],
        },
    ]
    messages = [parse_message(json.dumps(raw).encode(), seq=1, dialect="openai_chat") for raw in raws]
    results = [made("tool", ToolResult(call_id=id)) for id in "ab"]

    [merged, *_] = shown([*messages, *results], "openai_chat")

    assert merged == {
        "role": "assistant",
        "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}],
        "x": 1,
        "tool_calls": [*raws[0]["tool_calls"], *raws[1]["tool_calls"]],
    }
    [merged, *_] = shown(
        [made("assistant", call("c")), *messages, made("tool", ToolResult(call_id="c")), *results],
        "openai_chat",
    )
    assert merged["x"] == 1
    assert [each["id"] for each in merged["tool_calls"]] == ["c", "a", "b"]


def test_reasoning_of_a_chat_message_goes_with_its_part() -> None:
    raw = b'{"role":"assistant","content":"a","reasoning_content":"hm","reasoning":"hm"}'
    message = parse_message(raw, seq=1, dialect="openai_chat")
    reasoning, text = message.parts

    [without] = shown([message.with_parts([text])], "openai_chat")
    [moved] = shown([made("assistant", reasoning, Text(text="b"), dialect="openai_chat")], "openai_chat")
    foreign = shown([message, text_message(2, "user", "go on")], "anthropic")

    assert without == {"role": "assistant", "content": "a"}
    assert moved == {"role": "assistant", "content": "b", "reasoning_content": "hm", "reasoning": "hm"}
    assert b"hm" not in json.dumps(foreign).encode()


def test_ids_used_again_are_told_apart_and_their_results_follow() -> None:
    step = [made("assistant", call("call:0")), made("tool", ToolResult(call_id="call:0"))]
    for dialect in DIALECTS:
        checked([text_message(1, "user", "go"), *step, *step], dialect)


def test_instructions_are_one_string_of_all_system_messages() -> None:
    native = parse_message(rb'"be \u0062rief"', seq=1, dialect="openai_responses", role="system")
    exported = checked(
        [native, text_message(2, "system", "and kind"), text_message(3, "user", "a")], "openai_responses"
    )

    assert exported.system == rb'"be \u0062rief\n\nand kind"'
    assert export_messages([], dialect="openai_responses") == Exported(messages=())


def test_a_changed_call_item_may_grow_into_several_items() -> None:
    raw = b'{"type":"function_call","call_id":"a","name":"f","arguments":"{}","x":1}'
    message = parse_message(raw, seq=1, dialect="openai_responses")
    grown = message.with_parts([Text(text="now"), Text(text="then"), *message.parts])

    assert shown([grown, made("tool", ToolResult(call_id="a"))], "openai_responses")[:2] == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "now"}, {"type": "output_text", "text": "then"}],
        },
        json.loads(raw),
    ]


def test_what_says_nothing_to_an_api_is_left_out() -> None:
    odd = made("assistant", Opaque(kind="odd", raw=b"{}"), Reasoning(text="hm"), Text(text=""))
    for dialect in DIALECTS:
        assert export_messages([odd], dialect=dialect) == Exported(messages=())
    empty = made("system", Text(text=""))
    assert export_messages([empty], dialect="anthropic") == Exported(messages=())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_whose_arguments_were_changed_keeps_the_id_its_result_names(dialect: Dialect) -> None:
    raws: dict[Dialect, list[dict[str, Any]]] = {
        "openai_chat": [
            {
                "role": "assistant",
                "tool_calls": [{"id": "a.1", "type": "function", "function": {"name": "f"}}],
            },
            {"role": "tool", "tool_call_id": "a.1", "content": "x"},
        ],
        "anthropic": [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a_1", "name": "f", "input": {"key": "sk"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a_1", "content": "x"}]},
        ],
        "openai_responses": [
            {"type": "function_call", "call_id": "a.1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a.1", "output": "x"},
        ],
    }
    asked, told = (parse_message(json.dumps(raw).encode(), seq=1, dialect=dialect) for raw in raws[dialect])
    [call_made] = asked.calls

    exported = checked([asked.with_parts([replace(call_made, arguments='{"key": "***"}')]), told], dialect)

    assert "***" in exported.messages[-2].decode()
    assert exported.messages[-1] == told.raw


def test_reasoning_that_says_nothing_is_no_part() -> None:
    raw = b'{"role":"assistant","content":"a","reasoning_content":"","reasoning":null}'

    assert parse_message(raw, seq=1, dialect="openai_chat").parts == (Text(text="a"),)
