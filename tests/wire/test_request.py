from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.core.messages import Dialect, Message, Text, ToolResult, text_message
from autocompact.errors import InvalidRequest
from autocompact.wire import (
    EarlierRequest,
    Renderer,
    Request,
    parse_message,
    parse_request,
    render_message,
    render_request,
)
from tests.wire import samples

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
LIST = {"openai_chat": "messages", "anthropic": "messages", "openai_responses": "input"}

dialects = st.sampled_from(DIALECTS)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_styles: st.SearchStrategy[dict[str, Any]] = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}])
_KNOWN = {
    "model stream tools messages input system instructions max_tokens max_completion_tokens max_output_tokens"
}


# What can follow each other in any order and is valid: whole steps, and for Anthropic a user and an assistant in turn.
RUNS: dict[Dialect, list[list[dict[str, Any]]]] = {
    "openai_chat": [[message] for message in samples.CHAT[:2] + samples.CHAT[5:]] + [samples.CHAT[2:5]],
    "anthropic": [[samples.ANTHROPIC[0], samples.ANTHROPIC[-1]], samples.ANTHROPIC],
    "openai_responses": [[item] for item in samples.RESPONSES],
}


@st.composite
def requests(draw: st.DrawFn, dialect: Dialect) -> bytes:
    """A request with messages taken from the samples in any order, unknown members in and around them."""
    known = {name for names in _KNOWN for name in names.split()}
    runs = draw(st.lists(st.sampled_from(RUNS[dialect]), max_size=4))
    listed = [message for run in runs for message in run]
    odd = st.dictionaries(st.text(max_size=6).map(lambda key: "x" + key), _values, max_size=2)
    messages = [message | draw(odd) for message in listed]
    around = draw(
        st.dictionaries(st.text(max_size=8).filter(lambda key: key not in known), _values, max_size=3)
    )
    members = list((around | {"model": "m", LIST[dialect]: messages}).items())
    return json.dumps(dict(draw(st.permutations(members))), **draw(_styles)).encode()


@given(st.data(), dialects)
def test_a_request_that_nobody_changed_is_the_same_bytes(data: st.DataObject, dialect: Dialect) -> None:
    body = data.draw(requests(dialect))
    request = parse_request(body, dialect=dialect)

    assert render_request(request, request.messages) == body
    assert render_request(request, [replace(message) for message in request.messages]) == body


@given(st.data(), dialects)
def test_one_changed_message_leaves_every_other_byte_alone(data: st.DataObject, dialect: Dialect) -> None:
    body = data.draw(requests(dialect).filter(lambda body: json.loads(body)[LIST[dialect]]))
    request = parse_request(body, dialect=dialect)
    place = data.draw(st.sampled_from(request.messages.listed))
    messages = list(request.messages)
    role = "assistant" if messages[place].role == "assistant" else "user"
    messages[place] = text_message(place + 1, role, "something else")

    rendered = render_request(request, messages)

    start, end = request.spans[LIST[dialect]]
    assert rendered.startswith(body[:start])
    assert rendered.endswith(body[end:])
    raws = list(parse_request(rendered, dialect=dialect).raws)
    assert b"something else" in raws.pop(place)
    assert raws == [raw for index, raw in enumerate(request.raws) if index != place]


@given(st.data(), dialects)
def test_messages_said_to_stand_as_they_came_go_out_as_if_they_were_looked_at(
    data: st.DataObject, dialect: Dialect
) -> None:
    """In every request of a growing conversation, after any beginning, and whatever the given ones have as bytes."""
    body = json.loads(data.draw(requests(dialect)))
    messages = body[LIST[dialect]]
    renderer = Renderer(dialect)
    for length in sorted(data.draw(st.lists(st.integers(0, len(messages)), min_size=1, max_size=4))):
        request = parse_request(
            json.dumps(body | {LIST[dialect]: messages[:length]}).encode(), dialect=dialect
        )
        count = len(request.messages)
        standing = data.draw(st.integers(0, count))
        own = request.messages[count - standing :]
        dropped = data.draw(st.integers(0, count - standing))
        role = data.draw(st.sampled_from(("system", "user", "assistant")))
        head = [text_message(0, role, "a summary"), *request.messages[dropped : count - standing]]
        head = head[data.draw(st.integers(0, 1)) :]
        others = [replace(message, raw=b"{}") for message in own]

        rendered = renderer.render(request, [*head, *others], standing=standing)

        assert rendered == render_request(request, [*head, *own])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_masked_result_differs_in_its_content_only(dialect: Dialect) -> None:
    body = samples.body(dialect)
    request = parse_request(body, dialect=dialect)
    stub = "[masked]"
    for place, message in enumerate(request.messages):
        for masked in message.results:
            messages = list(request.messages)
            messages[place] = message.with_parts(
                replace(part, text=stub, media=(), raw=None) if part == masked else part
                for part in message.parts
            )
            before = json.loads(body)[LIST[dialect]]
            after = json.loads(render_request(request, messages))[LIST[dialect]]
            changed = [index for index, item in enumerate(before) if item != after[index]]
            assert len(after) == len(before)
            if masked.call_id == "call_g":
                assert not changed, "found tools cannot be told as text, so they stay"
                continue
            assert len(changed) == 1
            _same_but_for_content(before[changed[0]], after[changed[0]], masked)


def _same_but_for_content(before: dict[str, Any], after: dict[str, Any], masked: ToolResult) -> None:
    if isinstance(before.get("content"), list) and before["content"][0].get("type") == "tool_result":
        [(before, after)] = [
            pair for pair in zip(before["content"], after["content"], strict=True) if pair[0] != pair[1]
        ]
        assert before["tool_use_id"] == masked.call_id
    for name in ("content", "output"):
        assert before.pop(name, None) != after.pop(name, None) or name not in before
    assert before == after


@given(st.data(), dialects)
def test_any_part_may_be_dropped_and_the_rest_keeps_its_blocks(data: st.DataObject, dialect: Dialect) -> None:
    request = parse_request(samples.body(dialect), dialect=dialect)
    message = data.draw(
        st.sampled_from([m for m in request.messages if len(m.parts) > 1 and m.role != "system"])
    )
    kept = data.draw(
        st.sets(st.sampled_from(range(len(message.parts))), min_size=1, max_size=len(message.parts) - 1)
    )
    dropped = [part for index, part in enumerate(message.parts) if index not in kept]

    changed = json.loads(
        render_message(message.with_parts(message.parts[i] for i in sorted(kept)), dialect=dialect)
    )

    whole = json.loads(message.raw or b"")
    for block in changed["content"] if isinstance(changed["content"], list) else ():
        assert block in whole["content"]
    assert len(dropped) + len(kept) == len(message.parts)
    read = parse_message(json.dumps(changed).encode(), seq=1, dialect=dialect)
    assert len(read.parts) == len(kept)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_can_be_appended_to_the_system_prompt(dialect: Dialect) -> None:
    request = parse_request(samples.body(dialect), dialect=dialect)
    first = request.messages[0]
    assert first.role == "system"

    changed = first.with_parts((*first.parts, Text(text='# Summary "x"')))
    body = render_request(request, [changed, *request.messages[1:]])

    again = parse_request(body, dialect=dialect)
    assert again.messages[0].text.startswith(first.text)
    assert again.messages[0].text.endswith('# Summary "x"')
    assert again.raws[1:] == request.raws[1:]
    assert again.fields == request.fields


@pytest.mark.parametrize(
    ("dialect", "body", "wanted"),
    [
        ("anthropic", b'{"messages":[]}', b'{"system":"be","messages":[{"role":"user","content":"hi"}]}'),
        (
            "anthropic",
            b'{"system":null, "messages":[]}',
            b'{"system":"be", "messages":[{"role":"user","content":"hi"}]}',
        ),
        (
            "openai_responses",
            b"{ }",
            b'{"input":[{"type":"message","role":"user","content":"hi"}],"instructions":"be" }',
        ),
        (
            "openai_responses",
            b' {"x":1}',
            b' {"input":[{"type":"message","role":"user","content":"hi"}],"instructions":"be","x":1}',
        ),
        (
            "openai_chat",
            b'{"messages" : [ ]}',
            b'{"messages" : [{"role":"system","content":"be"},{"role":"user","content":"hi"}]}',
        ),
    ],
)
def test_messages_are_put_where_there_were_none(dialect: Dialect, body: bytes, wanted: bytes) -> None:
    request = parse_request(body, dialect=dialect)

    rendered = render_request(request, [text_message(1, "system", "be"), text_message(2, "user", "hi")])

    assert rendered == wanted


@pytest.mark.parametrize(
    ("dialect", "body", "left"),
    [
        (
            "anthropic",
            b'{"system":"be","messages":[{"role":"user","content":"hi"}]}',
            b'{"system":[],"messages":[{"role":"user","content":"hi"}]}',
        ),
        (
            "openai_responses",
            b'{"input":"hi","instructions":"be"}',
            b'{"input":[{"type":"message","role":"user","content":"hi"}],"instructions":null}',
        ),
    ],
)
def test_a_system_prompt_can_be_taken_out(dialect: Dialect, body: bytes, left: bytes) -> None:
    request = parse_request(body, dialect=dialect)

    assert render_request(request, request.messages[1:]) == left


def test_the_white_space_of_the_list_is_kept() -> None:
    body = b'{"messages": [\n  {"role":"user","content":"a"},\n  {"role":"user", "content":"b"}\n ], "x": 1}'
    request = parse_request(body, dialect="openai_chat")

    rendered = render_request(request, [text_message(1, "user", "new"), request.messages[1]])

    assert rendered == body.replace(b'"a"', b'"new"')


def test_the_members_of_a_request_are_read() -> None:
    for dialect in DIALECTS:
        request = parse_request(samples.body(dialect), dialect=dialect)
        assert (request.model, request.max_output, request.stream) == ("some-model", 100, True)
        assert json.loads(request.tools or b"") == [{"name": "read"}]
        assert json.loads(request.fields["x_before"]) == {"messages": [1]}
        assert not request.fields.keys() & {"messages", "input", "system", "instructions"}


def test_a_request_may_leave_out_what_is_optional() -> None:
    request = parse_request(
        b'{"messages":[],"max_tokens":7,"max_completion_tokens":null}', dialect="openai_chat"
    )

    assert (request.model, request.max_output, request.stream, request.tools) == ("", 7, False, None)
    assert parse_request(b'{"input":null}', dialect="openai_responses").raws == ()


@pytest.mark.parametrize("value", [b"3", b'"a"', b"null", b"[]"])
def test_what_is_no_message_is_refused_when_the_list_is_looked_at(value: bytes) -> None:
    request = parse_request(b'{"messages":[{}, ' + value + b'],"model":"m"}', dialect="anthropic")

    assert request.model == "m"
    for _ in range(2):
        with pytest.raises(InvalidRequest, match=r"^messages\[1\]: expected an object"):
            len(request.messages)


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from([b",", b" , "]))
def test_messages_are_counted_where_there_may_be_too_many(count: int, most: int, comma: bytes) -> None:
    body = b'{"messages":[' + comma.join([b"{}"] * count) + b"]}"

    assert parse_request(body, dialect="openai_chat").messages.are_more_than(most) == (count > most)


def test_messages_are_parsed_when_they_are_looked_at_and_only_once() -> None:
    request = parse_request(b'{"messages":[{"role":"user","content":"a"},{"role":1}]}', dialect="openai_chat")

    assert request.messages[0] is request.messages[-2] is request.messages[:1][0]
    assert request.messages[0].seq == 1
    with pytest.raises(InvalidRequest, match=r"^messages\[1\]\.role: Expected `str`, got `int`"):
        tuple(request.messages)
    with pytest.raises(IndexError):
        request.messages[2]


def test_half_surrogates_go_out_as_they_came() -> None:
    body = (
        rb'{"x":"\ud83d","messages":[{"role":"user","content":"cut \ud83d"},{"role":"user","content":"b"}]}'
    )
    request = parse_request(body, dialect="openai_chat")

    rendered = render_request(request, [request.messages[0], text_message(2, "user", "c")])

    assert request.messages[0].text == "cut �"
    assert rendered == body.replace(b'"b"', b'"c"')


def test_the_last_of_repeated_members_counts_and_all_of_them_stay() -> None:
    body = b'{"messages":[{"role":"user","content":"old"}],"messages":[{"role":"user","content":"new"}]}'
    request = parse_request(body, dialect="openai_chat")

    assert [message.text for message in request.messages] == ["new"]
    assert render_request(request, [text_message(1, "user", "mine")]) == body.replace(b"new", b"mine")


@pytest.mark.parametrize(
    ("dialect", "body", "path"),
    [
        ("openai_chat", b"", "the body"),
        ("openai_chat", b"[]", "the body"),
        ("openai_chat", b"{}", "messages: a request must have"),
        ("openai_chat", b'{"messages":null}', "messages: a request must have"),
        ("openai_chat", b'{"messages":"hi"}', "messages: expected a list"),
        ("openai_responses", b'{"input":3}', "input: expected a list"),
        ("anthropic", b'{"messages":[],"system":3}', "system: expected a string"),
        ("anthropic", b'{"messages":[],"model":3}', "model: Expected `str"),
        ("anthropic", b'{"messages":[],"max_tokens":"3"}', "max_tokens: Expected `int"),
        ("anthropic", b'{"messages":[],"stream":3}', "stream: Expected `bool"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_the_path(dialect: Dialect, body: bytes, path: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{path}"):
        parse_request(body, dialect=dialect)


REFUSED: list[tuple[Dialect, dict[str, Any], str]] = [
    ("openai_chat", {}, r"message: Object missing required field `role`"),
    ("openai_chat", {"role": "user", "content": 3}, "message.content: expected"),
    ("openai_chat", {"role": "user", "content": [{}]}, r"message.content\[0\]: Object missing .* `type`"),
    (
        "openai_chat",
        {"role": "user", "content": [{"type": "text", "text": 1}]},
        r"message.content\[0\].text",
    ),
    ("openai_chat", {"role": "tool", "content": "a"}, "message.tool_call_id"),
    (
        "openai_chat",
        {"role": "assistant", "tool_calls": [{"id": "a"}]},
        r"message.tool_calls\[0\].function",
    ),
    ("openai_chat", {"role": "assistant", "tool_calls": [{}]}, r"message.tool_calls\[0\]"),
    ("anthropic", {"content": "a"}, "message: Object missing"),
    ("anthropic", {"role": "user", "content": {"type": "text"}}, "message.content: expected"),
    (
        "anthropic",
        {"role": "user", "content": [{"type": "tool_result"}]},
        r"message.content\[0\].tool_use_id",
    ),
    (
        "anthropic",
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": 1}]}],
        },
        r"message.content\[0\].content\[0\].type",
    ),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]},
        r"message.content\[0\].name",
    ),
    (
        "anthropic",
        {"role": "assistant", "content": [{"type": "tool_use", "name": "a"}]},
        r"message.content\[0\].id",
    ),
    ("openai_responses", {"type": "function_call", "name": "a"}, "message.call_id"),
    ("openai_responses", {"type": "function_call", "call_id": "a"}, "message.name"),
    ("openai_responses", {"type": "function_call_output", "output": ""}, "message.call_id"),
    ("openai_responses", {"role": "user", "content": [{"type": 3}]}, r"message.content\[0\].type"),
]


@pytest.mark.parametrize(("dialect", "message", "path"), REFUSED)
def test_a_message_that_the_api_would_refuse_is_refused_with_the_path(
    dialect: Dialect, message: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"^{path}"):
        parse_message(json.dumps(message).encode(), seq=1, dialect=dialect)


@pytest.mark.parametrize(
    ("dialect", "raw", "text"),
    [
        ("anthropic", b'"be"', "be"),
        ("anthropic", b'[{"type":"text","text":"be"}]', "be"),
        ("openai_responses", b'"be"', "be"),
    ],
)
def test_a_bare_value_says_what_the_role_says(dialect: Dialect, raw: bytes, text: str) -> None:
    message = parse_message(raw, seq=1, dialect=dialect, role="system")

    assert (message.role, message.text) == ("system", text)
    assert render_message(message, dialect=dialect) == raw
    assert render_message(message.with_parts(message.parts), dialect=dialect) == raw


def test_a_message_that_needs_several_on_the_wire_is_not_rendered_alone() -> None:
    results = Message(seq=3, role="tool", parts=(ToolResult(call_id="a"), ToolResult(call_id="b")))

    with pytest.raises(ValueError, match="openai_chat takes 2 messages to say message 3"):
        render_message(results, dialect="openai_chat")
    assert json.loads(render_message(results, dialect="anthropic"))["role"] == "user"


def _told(request: Request) -> tuple[object, ...]:
    """All that a request says."""
    has_system = request.messages.has_system
    read = (request.tools, request.model, request.max_output, request.stream, request.raw)
    return (request.raws, has_system, dict(request.fields), dict(request.spans), *read)


@given(st.data(), dialects)
def test_a_request_reads_the_same_whatever_came_before_it(data: st.DataObject, dialect: Dialect) -> None:
    style = data.draw(_styles)
    messages = [data.draw(st.sampled_from(RUNS[dialect]))[0] | {"x": number} for number in range(8)]
    around = data.draw(st.permutations([("model", "m"), ("x", [1]), (LIST[dialect], None)]))

    def body(listed: list[Any], members: dict[str, Any]) -> bytes:
        return json.dumps(dict(around) | members | {LIST[dialect]: listed}, **style).encode()

    length = data.draw(st.integers(0, 6))
    changed = messages[: data.draw(st.integers(0, length))] + data.draw(
        st.lists(st.sampled_from(messages), max_size=3)
    )
    earlier = [
        EarlierRequest(parse_request(body(listed, {}), dialect=dialect))
        for listed in (changed, messages[:length], messages[: length // 2])
    ]
    later = body(
        messages[: length + 2], data.draw(st.sampled_from([{}, {"model": "other"}, {"stream": True}]))
    )

    for begun in ([one] for one in earlier):
        assert _told(parse_request(later, dialect=dialect, earlier=begun)) == _told(
            parse_request(later, dialect=dialect)
        )
    assert _told(parse_request(later, dialect=dialect, earlier=earlier)) == _told(
        parse_request(later, dialect=dialect)
    )


LIST_A = b'{"role":"user","content":"a"}'
LIST_B = b'{"role":"user","content":"b"}'


def test_what_stood_in_the_request_before_is_not_read_again() -> None:
    """The very objects come back."""
    before = parse_request(b'{"messages":[' + LIST_A + b'],"x":1}', dialect="openai_chat")
    body = b'{"messages":[' + LIST_A + b", " + LIST_B + b'],"y":2}'
    for raws in ([LIST_A, LIST_B], [LIST_A]):
        request = parse_request(body, dialect="openai_chat", earlier=[EarlierRequest(before)])
        assert request.raws[0] is before.raws[0]
        assert list(request.raws) == raws
        body = body.replace(b", " + LIST_B, b"")


@pytest.mark.parametrize(
    "later",
    [
        b'{"messages":[' + LIST_A + b',3],"x":1}',
        b'{"messages":[' + LIST_A + b',],"x":1}',
        b'{"messages":[' + LIST_A + b',{"role"],"x":1}',
        b'{"messages":[' + LIST_A + b' {"role":"user","content":"b"}],"x":1}',
        b'{"messages":[' + LIST_A + b"}",
        b'{"messages":[' + LIST_A + b',{"role":"user","content":"b"},4]}',
    ],
)
def test_a_request_that_is_wrong_where_it_goes_on_is_refused_as_any_other(later: bytes) -> None:
    before = parse_request(b'{"messages":[' + LIST_A + b'],"x":1}', dialect="openai_chat")
    with pytest.raises(InvalidRequest) as alone:
        _told(parse_request(later, dialect="openai_chat"))
    with pytest.raises(InvalidRequest) as after:
        _told(parse_request(later, dialect="openai_chat", earlier=[EarlierRequest(before)]))
    assert str(after.value) == str(alone.value)


def test_a_list_that_a_later_one_takes_the_place_of_is_not_gone_on_from() -> None:
    before = parse_request(b'{"messages":[' + LIST_A + b'],"x":1}', dialect="openai_chat")
    later = b'{"messages":[' + LIST_A + b',{"role":"user"}],"messages":[' + LIST_B + b"]}"
    assert parse_request(later, dialect="openai_chat", earlier=[EarlierRequest(before)]).raws == (LIST_B,)


def test_a_request_without_a_list_begins_nothing() -> None:
    for body in (b'{"input":"hi"}', b'{"x":1}', b'{"input":[]}'):
        before = EarlierRequest(parse_request(body, dialect="openai_responses"))
        assert before.shared(body, dialect="openai_responses") == (0, 0, 0)


def test_a_list_behind_another_beginning_is_read_anew() -> None:
    """However much of it is the same."""
    listed = b",".join([LIST_A, LIST_B] * 4)
    before = parse_request(b'{"model":"m","messages":[' + listed + b"]}", dialect="openai_chat")
    later = b'{"model":"n","messages":[' + listed + b"]}"
    begun = EarlierRequest(before)
    assert begun.shared(later, dialect="openai_chat") == (0, 0, 0)
    assert _told(parse_request(later, dialect="openai_chat", earlier=[begun])) == _told(
        parse_request(later, dialect="openai_chat")
    )
