"""How each part is written in each dialect where it is new or changed."""

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
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.wire import export_messages, parse_message, parse_request, render_message
from tests.wire import samples
from tests.wire.samples import PDF, PNG

PIXEL = Image(media_type="image/png", data=PNG)
LINK = Image(url="https://example.com/a.png")
PAPER = Document(media_type="application/pdf", name="a.pdf", data=PDF)
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


SHOWING: list[tuple[Dialect, bytes, str, str]] = [
    ("openai_chat", b'{"role":"tool","tool_call_id":"a","content":"long"}', "content", "text"),
    (
        "openai_responses",
        b'{"type":"function_call_output","call_id":"a","output":"long"}',
        "output",
        "input_text",
    ),
]


@pytest.mark.parametrize(("dialect", "raw", "member", "kind"), SHOWING)
def test_a_changed_result_may_show_a_picture(dialect: Dialect, raw: bytes, member: str, kind: str) -> None:
    message = parse_message(raw, seq=1, dialect=dialect)

    both = message.with_parts([ToolResult(call_id="a", text="short", media=(PIXEL,))])
    only = message.with_parts([ToolResult(call_id="a", media=(PIXEL,))])

    text, picture = json.loads(render_message(both, dialect=dialect))[member]
    assert text == {"type": kind, "text": "short"}
    assert PNG in json.dumps(picture)
    assert json.loads(render_message(only, dialect=dialect))[member] == [picture]


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


@pytest.mark.parametrize(
    ("arguments", "given"),
    [("", {}), (" ", {}), ('{"a": 1}', {"a": 1}), ("[1]", {"input": "[1]"}), ('{"cut', {"input": '{"cut'})],
)
def test_arguments_go_out_as_an_object(arguments: str, given: dict[str, Any]) -> None:
    call = ToolCall(id="a", name="odd name.py", arguments=arguments)

    chat = written("assistant", call, dialect="openai_chat")["tool_calls"][0]["function"]
    anthropic = written("assistant", call, dialect="anthropic")["content"][0]
    responses = written("assistant", call, dialect="openai_responses")

    assert json.loads(chat["arguments"]) == anthropic["input"] == json.loads(responses["arguments"]) == given
    assert chat["name"] == anthropic["name"] == responses["name"] == "odd_name_py"


def test_a_picture_that_is_nowhere_is_told_in_a_changed_result() -> None:
    raw = b'{"role":"tool","tool_call_id":"a","content":"long"}'
    message = parse_message(raw, seq=1, dialect="openai_chat")

    changed = message.with_parts([ToolResult(call_id="a", media=(Image(),))])

    assert json.loads(render_message(changed, dialect="openai_chat"))["content"] == [
        {"type": "text", "text": "[image left out]"}
    ]
