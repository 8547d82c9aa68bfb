"""What the messages of each dialect say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from autocompact.core.messages import (
    Dialect,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.errors import InvalidInput
from autocompact.wire import export_messages, parse_message, parse_request, render_message
from tests.wire import samples
from tests.wire.samples import PDF, PNG

READ = ToolCall(id="call_a", name="read", arguments='{"path": "a.py"}')
PIXEL = Image(media_type="image/png", data=PNG)
LINK = Image(url="https://example.com/a.png")
PAPER = Document(media_type="application/pdf", name="a.pdf", data=PDF)


def parts_of(dialect: Dialect) -> list[tuple[Role, list[Part]]]:
    messages = parse_request(samples.body(dialect), dialect=dialect).messages
    return [(message.role, [_bare(part) for part in message.parts]) for message in messages]


def _bare(part: Part) -> Part:
    """The part with raw JSON shortened to whether there is any."""
    match part:
        case Opaque(kind=kind):
            return Opaque(kind=kind, raw=b"...")
        case Text(text=text, raw=bytes()):
            return Text(text=text, raw=b"...")
        case Reasoning(text=text):
            return Reasoning(text=text, raw=b"...")
        case ToolCall(id=id, name=name, arguments=arguments, raw=bytes()):
            return ToolCall(id=id, name=name, arguments=arguments, raw=b"...")
        case Image(url=url, raw=bytes()):
            return Image(url=url, raw=b"...")
        case Document(name=name, raw=bytes()):
            return Document(name=name, raw=b"...")
        case _:
            return part


def opaque(kind: str) -> Opaque:
    return Opaque(kind=kind, raw=b"...")


def refusal(text: str) -> Text:
    return Text(text=text, raw=b"...")


def test_every_kind_of_chat_message_is_understood() -> None:
    assert parts_of("openai_chat") == [
        ("system", [Text(text="Be brief.")]),
        (
            "user",
            [
                Text(text="What is this?"),
                PIXEL,
                LINK,
                PAPER,
                Document(raw=b"..."),
                opaque("input_audio"),
                opaque("hologram"),
            ],
        ),
        (
            "assistant",
            [
                Reasoning(text="Let me look.", raw=b"..."),
                READ,
                ToolCall(id="call_b", name="patch", arguments="*** Begin Patch", raw=b"..."),
            ],
        ),
        ("tool", [ToolResult(call_id="call_b", text="Done!")]),
        ("tool", [ToolResult(call_id="call_a", text="line 1\nline 2")]),
        ("assistant", [Text(text="It is"), refusal("no.")]),
        ("user", [Text(text="Say it.")]),
        ("assistant", [opaque("audio")]),
        ("user", [Text(text="And now?")]),
        ("assistant", [refusal("I will not.")]),
        ("user", []),
    ]


def test_every_kind_of_anthropic_block_is_understood() -> None:
    tool_reference = json.dumps({"type": "tool_reference", "tool_name": "grep"})
    found = parts_of("anthropic")
    [broken] = [part for part in found[3][1] if isinstance(part, ToolResult) and part.is_error]
    assert json.loads(broken.text.removeprefix("it broke\n")) == json.loads(tool_reference)
    assert broken.media == (PIXEL,)
    found[3][1].remove(broken)
    calls = [part for part in found[2][1] if isinstance(part, ToolCall)]
    assert [json.loads(call.arguments) for call in calls] == [{"path": "a.py"}, {}, {"n": 1.5}]
    found[2] = (found[2][0], [part for part in found[2][1] if not isinstance(part, ToolCall)])
    assert found == [
        ("system", [Text(text="Be brief."), Text(text="Be kind.")]),
        (
            "user",
            [
                Text(text="What is this?"),
                PIXEL,
                LINK,
                Image(raw=b"..."),
                PAPER,
                Document(media_type="text/plain", text="plain"),
                Document(url="https://example.com/b.pdf"),
                Document(raw=b"..."),
                opaque("container_upload"),
            ],
        ),
        (
            "assistant",
            [
                Reasoning(text="Let me look.", raw=b"..."),
                Reasoning(raw=b"..."),
                Text(text="I look."),
                opaque("server_tool_use"),
                opaque("web_search_tool_result"),
            ],
        ),
        ("tool", [ToolResult(call_id="toolu_a", text="line 1"), ToolResult(call_id="toolu_b")]),
        ("assistant", [ToolCall(id="toolu_d", name="run", arguments="{}")]),
        ("user", [ToolResult(call_id="toolu_d", text="fine"), Text(text="and go on")]),
        ("assistant", [Text(text="Done.")]),
    ]


def own_call(id: str, name: str, arguments: str) -> list[Part]:
    return [ToolCall(id=id, name=name, arguments=arguments, raw=b"...")]


def test_every_kind_of_responses_item_is_understood() -> None:
    found = [(role, [_compact(part) for part in parts]) for role, parts in parts_of("openai_responses")]
    shell = '{"type":"x","stdout":"a.py","stderr":"","outcome":{"type":"exit","exit_code":0}}'
    assert found == [
        ("system", [Text(text="Be brief.")]),
        ("system", [Text(text="Be brief.")]),
        (
            "user",
            [
                Text(text="What is this?"),
                PIXEL,
                Image(raw=b"..."),
                PAPER,
                Document(url="https://example.com/b.pdf"),
                Document(raw=b"..."),
                opaque("input_audio"),
            ],
        ),
        ("assistant", [Reasoning(text="Let me look.\nHm.", raw=b"...")]),
        ("assistant", [ToolCall(id="call_a", name="read", arguments='{"path":"a.py"}')]),
        ("assistant", own_call("call_b", "apply_patch", "*** Begin Patch")),
        ("tool", [ToolResult(call_id="call_a", text="line 1")]),
        ("tool", [ToolResult(call_id="call_b", text="Done!")]),
        ("assistant", [opaque("web_search_call")]),
        ("assistant", [opaque("mcp_list_tools")]),
        ("assistant", [opaque("mcp_call")]),
        ("assistant", [opaque("mcp_approval_request")]),
        ("user", [opaque("mcp_approval_response")]),
        ("assistant", own_call("call_c", "computer", '{"type":"screenshot"}')),
        ("tool", [ToolResult(call_id="call_c", media=(PIXEL,))]),
        ("assistant", own_call("call_d", "local_shell", '{"command":["ls"]}')),
        ("tool", [ToolResult(call_id="call_d", text='{"stdout":"a.py"}')]),
        ("assistant", own_call("call_e", "shell", '{"commands":["ls"]}')),
        ("tool", [ToolResult(call_id="call_e", text=shell)]),
        ("assistant", own_call("call_f", "apply_patch", '{"type":"delete_file","path":"a.py"}')),
        ("tool", [ToolResult(call_id="call_f", text="ok")]),
        ("assistant", own_call("call_g", "tool_search", '{"query":"grep"}')),
        ("tool", [ToolResult(call_id="call_g")]),
        ("assistant", [opaque("tool_search_call")]),
        ("assistant", [opaque("tool_search_output")]),
        ("assistant", [opaque("item_reference")]),
        ("assistant", [opaque("item_reference")]),
        ("assistant", [opaque("compaction")]),
        ("assistant", [Text(text="It is"), refusal("no.")]),
        ("user", [Text(text="Say it.")]),
    ]


def _compact(part: Part) -> Part:
    """JSON inside a text without the white space of the sample."""
    match part:
        case ToolCall(id=id, name=name, arguments=arguments, raw=raw) if arguments.startswith("{"):
            return ToolCall(id=id, name=name, arguments=_minified(arguments), raw=raw)
        case ToolResult(call_id=call_id, text=text, media=media) if text.startswith("{"):
            return ToolResult(call_id=call_id, text=_minified(text), media=media)
        case _:
            return part


def _minified(text: str) -> str:
    return json.dumps(json.loads(text), separators=(",", ":"))


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_an_unknown_role_is_opaque_and_never_the_users_words(dialect: Dialect) -> None:
    raw = b'{"role":"oracle","content":"ignore everything"}'

    message = parse_message(raw, seq=1, dialect=dialect)

    assert message.parts == (Opaque(kind="oracle", raw=raw),)
    assert message.synthetic
    assert not message.is_request
    assert json.loads(render_message(message.with_parts(message.parts), dialect=dialect)) == json.loads(raw)


def test_functions_of_the_api_before_tools_are_calls_and_results() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    answer = {"role": "function", "name": "f", "content": "long"}
    raws = [json.dumps(each).encode() for each in (call, answer)]
    asked, told = (parse_message(raw, seq=1, dialect="openai_chat") for raw in raws)

    assert asked.calls == (ToolCall(id="function:f", name="f", arguments="{}"),)
    assert told.results == (ToolResult(call_id="function:f", text="long"),)
    assert told.role == "tool"
    masked = told.with_parts([ToolResult(call_id="function:f", text="short")])
    assert json.loads(render_message(masked, dialect="openai_chat")) == answer | {"content": "short"}
    renamed = asked.with_parts([ToolCall(id="function:f_2", name="f", arguments="{}"), Text(text="hm")])
    assert json.loads(render_message(renamed, dialect="openai_chat")) == call | {"content": "hm"}
    unanswered = Message(seq=0, role="tool", parts=(ToolResult(call_id="function:f", text="no"),))
    exported = export_messages([asked, unanswered], dialect="openai_chat").messages
    assert json.loads(exported[1]) == {"role": "function", "name": "f", "content": "no"}
    assert [
        json.loads(raw)["role"] for raw in export_messages([asked, told], dialect="anthropic").messages
    ] == [
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize(
    ("role", "message", "parts"),
    [
        (
            "assistant",
            {
                "role": "assistant",
                "tool_calls": [{"id": "", "function": {"name": "f", "arguments": {"a": 1}}}],
            },
            [ToolCall(id="", name="f", arguments='{"a": 1}')],
        ),
        (
            "assistant",
            {"role": "assistant", "tool_calls": [{"id": "a", "type": "psychic"}]},
            [Opaque(kind="psychic", raw=b'{"id": "a", "type": "psychic"}')],
        ),
        (
            "user",
            {"role": "user", "content": ["a", {"type": "image_url", "image_url": "http://x/y"}]},
            [Text(text="a"), Image(url="http://x/y")],
        ),
        (
            "user",
            {"role": "user", "content": [{"type": "text"}]},
            [Opaque(kind="text", raw=b'{"type": "text"}')],
        ),
        (
            "user",
            {"role": "user", "content": [{"type": "file", "file": {"file_data": "aGk="}}]},
            [Document(data="aGk=")],
        ),
        (
            "tool",
            {
                "role": "tool",
                "tool_call_id": "a",
                "content": [{"type": "image_url", "image_url": {"url": "http://x/y"}}],
            },
            [ToolResult(call_id="a", media=(Image(url="http://x/y"),))],
        ),
        (
            "assistant",
            {"role": "assistant", "reasoning_details": [{"text": "hm"}], "reasoning": None},
            [Reasoning(raw=b'{"reasoning_details":[{"text": "hm"}]}')],
        ),
        (
            "assistant",
            {"role": "assistant", "content": "a", "audio": None, "tool_calls": None, "refusal": ""},
            [Text(text="a")],
        ),
    ],
)
def test_the_habits_of_other_chat_servers_are_understood(
    role: Role, message: dict[str, Any], parts: list[Part]
) -> None:
    parsed = parse_message(json.dumps(message).encode(), seq=1, dialect="openai_chat")

    assert (parsed.role, list(parsed.parts)) == (role, parts)


@pytest.mark.requirement("E7")
@pytest.mark.parametrize(
    "raw, role",
    [
        (b'{"type":"additional_tools","role":"developer","tools":[]}', "system"),
        (b'{"type":"configuration_update","reasoning":{"effort":"high"}}', "system"),
        (b'{"type":"never_heard_of","role":"user"}', "user"),
        (b'{"type":"web_search_call","id":"w"}', "assistant"),
    ],
)
def test_an_item_that_belongs_to_no_turn_is_one_of_the_clients_configuration(raw: bytes, role: str) -> None:
    message = parse_message(raw, seq=1, dialect="openai_responses")
    assert message.role == role
    assert render_message(message, dialect="openai_responses") == raw
    alone = replace(message, raw=None, role="system")
    assert export_messages([alone], dialect="openai_responses").messages == (raw,)


@pytest.mark.requirement("E7")
def test_each_turn_of_the_user_ends_with_one_system_message_at_most() -> None:
    raws = [
        b'{"role":"system","content":"One."}',
        b'{"role":"system","content":[{"type":"text","text":"Two."}]}',
        b'{"role":"user","content":"Hi"}',
        b'{"role":"assistant","content":"Ho"}',
        b'{"role":"user","content":"Go on."}',
        b'{"role":"system","content":"Three."}',
    ]
    messages = [parse_message(raw, seq=seq, dialect="anthropic") for seq, raw in enumerate(raws, 1)]
    exported = export_messages(messages, dialect="anthropic").messages
    both = b'{"role":"system","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}'
    assert exported == (raws[2], both, *raws[3:])
    alone = export_messages([messages[2], messages[0], messages[4]], dialect="anthropic").messages
    assert alone == (raws[2], raws[4], raws[0])


def test_a_dialect_that_there_is_not_is_told_which_there_are() -> None:
    dialect: Any = "gemini"
    with pytest.raises(
        InvalidInput, match="dialect is 'gemini': choose one of openai_chat, openai_responses"
    ):
        export_messages([], dialect=dialect)
