"""A field of a shape that nobody looked up never costs the message around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocompact.core.messages import Document, Image, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions import Session, read_session

PNG, URL = "iVBORw0KGgo=", "https://host/a.txt"
NOTHING: dict[str, object] = {}


def read(tmp_path: Path, document: object, *, format: str) -> Session:
    file = tmp_path / "session.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    session = read_session(file)
    assert (session.format, session.skipped) == (format, ())
    return session


@pytest.mark.parametrize(
    ("block", "parts"),
    [
        ({"type": "file", "source": URL}, [Document(url=URL)]),
        ({"type": "search_result", "source": URL}, []),
        ({"type": "image", "source": {"data": PNG, "media_type": None}}, [Image(data=PNG)]),
        ({"type": "file", "file": "a.txt"}, [Document(name="a.txt")]),
        ({"type": "file", "file": {"filename": "a.txt", "file_data": None}}, [Document(name="a.txt")]),
        ({"type": "file", "file": {"filename": "a.txt"}, "summary": "a list"}, [Document(name="a.txt")]),
        ({"type": "image", "base64": PNG, "mime_type": None, "url": NOTHING}, [Image(data=PNG)]),
        ({"type": "reasoning", "summary": "First the list."}, [Reasoning(text="First the list.")]),
        ({"type": "reasoning", "summary": ["First.", "Then."]}, [Reasoning(text="First.\nThen.")]),
        ({"type": "reasoning", "summary": {"text": "First."}}, []),
        ({"type": "reasoning", "summary": [1, {"text": "First."}]}, [Reasoning(text="First.")]),
        ({"type": "note", "text": {"en": "hello"}}, [Text(text='{"type": "note", "text": {"en": "hello"}}')]),
        (None, []),
    ],
)
def test_a_block_of_langchain_of_another_shape_leaves_the_words_beside_it(
    block: object, parts: list[Part], tmp_path: Path
) -> None:
    said = [{"type": "text", "text": "Look."}, block]
    session = read(tmp_path, [{"type": "human", "data": {"content": said}}], format="langchain")
    assert session.messages[0].parts == (Text(text="Look."), *parts)


@pytest.mark.parametrize(
    ("invalid", "calls"),
    [
        (
            [{"name": "list", "args": {"path": 1}, "id": "c1", "error": NOTHING}],
            [ToolCall(id="c1", name="list", arguments='{"path": 1}')],
        ),
        ([{"name": None, "args": None, "id": 7}], [ToolCall(id="", name="", arguments="{}")]),
        (["list"], []),
        (NOTHING, []),
    ],
)
def test_an_unreadable_call_of_langchain_may_have_any_shape(
    invalid: object, calls: list[Part], tmp_path: Path
) -> None:
    data = {"content": "Now the list.", "invalid_tool_calls": invalid}
    session = read(tmp_path, [{"type": "ai", "data": data}], format="langchain")
    assert session.messages[0].parts == (Text(text="Now the list."), *calls)


@pytest.mark.parametrize(
    ("value", "text", "media"),
    [
        ("hello", "hello", ()),
        ({"rows": 2}, '{"rows": 2}', ()),
        (["hello", None], "hello", ()),
        (
            [{"type": "file-data", "data": "JVBERi0=", "filename": None, "mediaType": None}],
            "",
            (Document(data="JVBERi0="),),
        ),
        (
            [{"type": "text", "text": "It."}, {"type": "file", "data": {"type": "reference"}}],
            'It.\n{"type": "file", "data": {"type": "reference"}}',
            (),
        ),
        (
            [{"type": "text", "text": "It."}, {"type": "image-file-id", "fileId": "file-1"}],
            'It.\n{"type": "image-file-id", "fileId": "file-1"}',
            (),
        ),
        ([{"type": "text", "text": ""}, {"type": "custom"}], "", ()),
    ],
)
def test_a_result_of_the_vercel_ai_sdk_is_told_whatever_its_pieces_are(
    value: object, text: str, media: tuple[Document, ...], tmp_path: Path
) -> None:
    of_tool = {"toolCallId": "c1", "toolName": "shot"}
    output = {"type": "content", "value": value}
    session = read(
        tmp_path,
        [
            {"role": "assistant", "content": [{"type": "tool-call", **of_tool, "input": NOTHING}]},
            {"role": "tool", "content": [{"type": "tool-result", **of_tool, "output": output}]},
        ],
        format="vercel_ai",
    )
    assert session.messages[1].parts == (ToolResult(call_id="c1", text=text, media=media),)


@pytest.mark.parametrize(
    ("piece", "parts"),
    [
        ({"type": "actionRequired"}, []),
        ({"type": "actionRequired", "data": None}, []),
        ({"type": "actionRequired", "data": "approve"}, []),
        ({"type": "actionRequired", "data": {"message": {"en": "Which?"}}}, []),
        ({"type": "image", "data": {"path": "a.png"}}, []),
        ({"type": "resource_link", "uri": "file:///a.md", "name": {"en": "a"}}, [Text(text="file:///a.md")]),
        ({"type": "resource_link", "uri": NOTHING}, []),
        (
            {"type": "frontendToolRequest", "id": "t", "toolCall": {"status": "success", "value": "pick"}},
            [ToolCall(id="t", name="unreadable_call", arguments='{"value":"pick"}')],
        ),
    ],
)
def test_a_piece_of_goose_of_another_shape_leaves_the_words_beside_it(
    piece: object, parts: list[Part], tmp_path: Path
) -> None:
    said = {"role": "user", "created": 1, "content": [{"type": "text", "text": "Start it."}, piece]}
    document = {"id": "1", "working_dir": "/srv/pump", "message_count": 1, "conversation": [said]}
    session = read(tmp_path, document, format="goose")
    assert session.messages[0].parts == (Text(text="Start it."), *parts)


@pytest.mark.parametrize(
    "marks",
    [
        {"_harness_notice": 1},
        {"_harness_notice": "memory"},
        {"_harness_notice": None},
        {"_rolling_summary": NOTHING},
        {"_rolling_summary": False},
        {"_rolling_summary": "7u"},
        {"_rolling_summary": {"text": 7}},
    ],
)
def test_a_mark_like_one_of_claude_science_of_another_shape_is_none(
    marks: dict[str, object], tmp_path: Path
) -> None:
    said = [{"role": "user", "content": "go", **marks}, {"role": "assistant", "content": "done"}]
    session = read(tmp_path, said, format="openai")
    assert [(message.text, message.is_request) for message in session.messages] == [
        ("go", True),
        ("done", False),
    ]


def test_a_summary_of_claude_science_may_be_marked_by_true_alone(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    summary = {"role": "user", "content": "[rolling-summary 7u]", "_rolling_summary": True}
    file.write_text(json.dumps([{"role": "user", "content": "go"}, summary]), encoding="utf-8")
    session = read_session(file)
    assert [message.text for message in session.messages] == ["go"]
    assert "a summary by Claude Science" in session.skipped[0].reason


@pytest.mark.parametrize("files", [NOTHING, ["plan.pdf"], [{"file_name": {"en": "plan"}}], [None]])
def test_files_of_another_shape_leave_the_request_of_claude_ai(files: object, tmp_path: Path) -> None:
    said = {"uuid": "0", "sender": "human", "text": "Read it.", "files": files}
    session = read(
        tmp_path, [{"uuid": "c", "name": "n", "updated_at": "", "chat_messages": [said]}], format="claude_ai"
    )
    assert [message.text for message in session.messages] == ["Read it."]


@pytest.mark.parametrize("attached", [NOTHING, ["april.csv"], [{"name": 4}], [None]])
def test_attachments_of_another_shape_leave_the_request_of_chatgpt(attached: object, tmp_path: Path) -> None:
    said = {
        "id": "a",
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["Sum it up."]},
        "metadata": {"attachments": attached},
    }
    mapping = {"r": {"parent": None, "message": None}, "a": {"parent": "r", "message": said}}
    session = read(tmp_path, [{"title": "t", "current_node": "a", "mapping": mapping}], format="chatgpt")
    assert [message.text for message in session.messages] == ["Sum it up."]


@pytest.mark.parametrize("parts", [NOTHING, "page", [1], [{"inlineData": {"mimeType": None}}]])
def test_parts_of_another_shape_leave_the_answer_to_gemini(parts: object, tmp_path: Path) -> None:
    answer = {"name": "shot", "id": "1", "response": {"output": "the page"}, "parts": parts}
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "shot", "args": NOTHING, "id": "1"}}]},
        {"role": "user", "parts": [{"functionResponse": answer}]},
    ]
    session = read(tmp_path, {"contents": contents}, format="gemini")
    assert session.messages[2].parts == (ToolResult(call_id="1", text="the page"),)
