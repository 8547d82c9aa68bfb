"""What the parts of each dialect's messages say, and how each part is written where it is new."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


@pytest.mark.requirement("E7")
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


@pytest.mark.requirement("E7")
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


@pytest.mark.requirement("E7")
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


ALL_USER: tuple[Part, ...] = (
    Text(text="look"),
    PIXEL,
    LINK,
    Image(raw=b'{"type":"foreign"}'),
    PAPER,
    Document(name="notes", text="plain"),
    Document(media_type="text/plain", name="n", data="aGk="),
    Document(media_type="text/plain", data="a"),
    Document(url="https://example.com/b.pdf"),
    Document(media_type="application/msword", data="aGk="),
    Opaque(kind="odd", raw=b"{}"),
    Text(text=""),
)


def written(role: Role, *parts: Part, dialect: Dialect, own: Dialect | None = None) -> Any:
    message = Message(seq=1, role=role, parts=parts, dialect=own)
    return json.loads(render_message(message, dialect=dialect))


def test_new_words_and_media_are_written_for_chat() -> None:
    assert written("user", *ALL_USER, dialect="openai_chat") == {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "text", "text": "[image left out]"},
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
            },
            {"type": "text", "text": "[document notes]\nplain"},
            {"type": "file", "file": {"filename": "n", "file_data": "data:text/plain;base64,aGk="}},
            {"type": "file", "file": {"filename": "document", "file_data": "data:text/plain;base64,a"}},
            {"type": "text", "text": "[document left out: https://example.com/b.pdf]"},
            {
                "type": "file",
                "file": {"filename": "document", "file_data": "data:application/msword;base64,aGk="},
            },
        ],
    }


def test_new_words_and_media_are_written_for_anthropic() -> None:
    assert written("user", *ALL_USER, dialect="anthropic") == {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "text", "text": "[image left out]"},
            {
                "type": "document",
                "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
            },
            {
                "type": "document",
                "title": "notes",
                "source": {"type": "text", "media_type": "text/plain", "data": "plain"},
            },
            {
                "type": "document",
                "title": "n",
                "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
            },
            {"type": "text", "text": "[document left out: text/plain]"},
            {"type": "document", "source": {"type": "url", "url": "https://example.com/b.pdf"}},
            {"type": "text", "text": "[document left out: application/msword]"},
        ],
    }
    odd = Image(media_type="image/tiff", data=PNG)
    assert written("user", odd, dialect="anthropic") == {"role": "user", "content": "[image left out]"}


def test_new_words_and_media_are_written_for_responses() -> None:
    assert written("user", *ALL_USER, dialect="openai_responses") == {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
            {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
            {"type": "input_text", "text": "[image left out]"},
            {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
            {"type": "input_text", "text": "[document notes]\nplain"},
            {"type": "input_file", "filename": "n", "file_data": "data:text/plain;base64,aGk="},
            {"type": "input_file", "filename": "document", "file_data": "data:text/plain;base64,a"},
            {"type": "input_file", "file_url": "https://example.com/b.pdf"},
            {
                "type": "input_file",
                "filename": "document",
                "file_data": "data:application/msword;base64,aGk=",
            },
        ],
    }


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_a_picture_by_the_assistant_is_told_in_words(dialect: Dialect) -> None:
    made = written("assistant", Text(text="here"), LINK, dialect=dialect)

    texts = (
        made["content"] if isinstance(made["content"], str) else "".join(b["text"] for b in made["content"])
    )
    assert texts.replace("\n", "") == "here[image: https://example.com/a.png]"


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_a_part_that_carries_a_block_of_the_dialect_is_written_as_that_block(dialect: Dialect) -> None:
    for message in parse_request(samples.body(dialect), dialect=dialect).messages:
        for part in message.parts:
            if isinstance(part, ToolResult) or part.raw is None or message.role == "tool":
                continue
            made = Message(seq=1, role=message.role, parts=(part,), dialect=dialect)
            exported = export_messages([made], dialect=dialect).messages
            if isinstance(part, Opaque) and dialect == "openai_chat":
                assert exported == (), "where an opaque part stood in a chat message is not known"
                continue
            whole = json.dumps(json.loads(exported[-1]))
            assert all(json.dumps(value) in whole for value in json.loads(part.raw).values())


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_a_call_under_another_id_keeps_its_block(dialect: Dialect) -> None:
    for message in parse_request(samples.body(dialect), dialect=dialect).messages:
        if not (message.calls or message.results):
            continue
        parts = [_renamed(part) for part in message.parts]
        before = json.dumps(json.loads(message.raw or b""))
        after = json.dumps(json.loads(render_message(message.with_parts(parts), dialect=dialect)))
        for id in {part.id for part in message.calls} | {part.call_id for part in message.results}:
            before = before.replace(f'"{id}"', f'"{id}_2"')
        if '"tool_result"' in before or '"output"' in before or '"role": "tool"' in before:
            continue  # the content is written anew
        assert after == before


def _renamed(part: Part) -> Part:
    match part:
        case ToolCall(id=id, name=name, arguments=arguments):
            return ToolCall(id=f"{id}_2", name=name, arguments=arguments)
        case ToolResult(call_id=call_id, text=text, is_error=is_error, media=media):
            return ToolResult(call_id=f"{call_id}_2", text=text, is_error=is_error, media=media)
        case _:
            return part


def test_a_masked_result_with_a_picture_keeps_the_picture() -> None:
    media = (PIXEL, Document(url="https://example.com/b.pdf"))
    for dialect, raw in (
        ("openai_chat", b'{"role":"tool","tool_call_id":"a","content":"long"}'),
        ("openai_responses", b'{"type":"function_call_output","call_id":"a","output":"long"}'),
    ):
        message = parse_message(raw, seq=1, dialect=dialect)  # pyright: ignore[reportArgumentType] - two of the names
        changed = message.with_parts([ToolResult(call_id="a", text="short", media=media[:1])])
        blocks = next(
            value
            for value in json.loads(render_message(changed, dialect=dialect)).values()
            if isinstance(value, list)
        )  # pyright: ignore[reportArgumentType] - two of the names
        assert blocks[0]["type"] in ("text", "input_text")
        assert PNG in json.dumps(blocks[1])
        only = message.with_parts([ToolResult(call_id="a", media=media[:1])])
        assert PNG in render_message(only, dialect=dialect).decode()  # pyright: ignore[reportArgumentType] - two of the names


def test_an_answer_that_never_came_is_written_in_the_kind_of_its_call() -> None:
    messages = parse_request(samples.body("openai_responses"), dialect="openai_responses").messages
    calls = [call for message in messages for call in message.calls]
    missing = [
        Message(seq=0, role="tool", parts=(ToolResult(call_id=call.id, text="none", is_error=True),))
        for call in calls
    ]

    items = [
        json.loads(raw) for raw in export_messages([*messages, *missing], dialect="openai_responses").messages
    ]

    assert items[-len(calls) :] == [
        {"type": "function_call_output", "call_id": "call_a", "output": "none"},
        {"type": "custom_tool_call_output", "call_id": "call_b", "output": "none"},
        {
            "type": "computer_call_output",
            "call_id": "call_c",
            "output": {"type": "computer_screenshot", "image_url": items[-5]["output"]["image_url"]},
        },
        {"type": "local_shell_call_output", "id": "call_d", "output": "none"},
        {
            "type": "shell_call_output",
            "call_id": "call_e",
            "output": [{"stdout": "none", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}],
        },
        {"type": "apply_patch_call_output", "call_id": "call_f", "status": "failed", "output": "none"},
        {"type": "tool_search_output", "call_id": "call_g", "tools": []},
    ]
    assert items[-5]["output"]["image_url"].startswith("data:image/png;base64,")
