"""Forms that the programs of late 2026 write beside the usual ones, read whole. Each was looked up in the program's source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocompact.core.messages import Document, Image, Message, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions import Session, read_session

PNG, PDF = "iVBORw0KGgo=", "JVBERi0="


def read(tmp_path: Path, document: object, *, format: str) -> Session:
    file = tmp_path / "session.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    session = read_session(file)
    assert (session.format, session.skipped) == (format, ())
    return session


def result(message: Message) -> ToolResult:
    (part,) = message.parts
    assert isinstance(part, ToolResult)
    return part


def call(message: Message) -> ToolCall:
    return next(part for part in message.parts if isinstance(part, ToolCall))


def test_a_result_of_the_vercel_ai_sdk_with_pictures_and_files_has_them_beside_its_text(
    tmp_path: Path,
) -> None:
    shown = [
        {"type": "text", "text": "The page, and its manual."},
        {"type": "image-data", "data": PNG, "mediaType": "image/png"},
        {"type": "media", "data": PNG, "mediaType": "image/png"},
        {"type": "file-data", "data": PDF, "mediaType": "application/pdf", "filename": "manual.pdf"},
        {"type": "image-url", "url": "https://host/page.png"},
        {"type": "custom"},
    ]
    of_tool = {"toolCallId": "c1", "toolName": "shot"}
    session = read(
        tmp_path,
        [
            {"role": "user", "content": "Look at it."},
            {"role": "assistant", "content": [{"type": "tool-call", **of_tool, "input": {"page": 1}}]},
            {
                "role": "tool",
                "content": [
                    {"type": "tool-result", **of_tool, "output": {"type": "content", "value": shown}}
                ],
            },
        ],
        format="vercel_ai",
    )
    answer = result(session.messages[2])
    assert answer.text == "The page, and its manual."
    assert answer.media == (
        Image(media_type="image/png", data=PNG),
        Image(media_type="image/png", data=PNG),
        Document(media_type="application/pdf", name="manual.pdf", data=PDF),
        Image(url="https://host/page.png"),
    )


def test_a_call_of_the_vercel_ai_sdk_with_unreadable_arguments_keeps_them(tmp_path: Path) -> None:
    part = {
        "type": "tool-bash",
        "toolCallId": "c1",
        "state": "output-error",
        "rawInput": {"cmd": "ls"},
        "errorText": "no such argument",
    }
    session = read(tmp_path, [{"id": "1", "role": "assistant", "parts": [part]}], format="vercel_ai")

    assert call(session.messages[0]).arguments == '{"cmd": "ls"}'
    assert result(session.messages[1]) == ToolResult(call_id="c1", text="no such argument", is_error=True)


def _goose(*contents: tuple[str, dict[str, object]]) -> dict[str, object]:
    said = [{"role": role, "created": 1, "content": [content]} for role, content in contents]
    return {
        "id": "1",
        "working_dir": "/home/kim/pump",
        "name": "n",
        "message_count": len(said),
        "conversation": said,
    }


def test_what_goose_asked_in_a_form_and_what_the_person_filled_in_are_read(tmp_path: Path) -> None:
    nothing: dict[str, object] = {}
    asked = {"actionType": "elicitation", "id": "e", "message": "Which port?", "requested_schema": nothing}
    filled = {"actionType": "elicitationResponse", "id": "e", "user_data": {"port": "8080"}}
    approval = {"actionType": "toolConfirmation", "id": "t", "toolName": "shell", "arguments": nothing}
    session = read(
        tmp_path,
        _goose(
            ("user", {"type": "text", "text": "Start it."}),
            ("assistant", {"type": "actionRequired", "data": asked}),
            ("user", {"type": "actionRequired", "data": filled}),
            ("assistant", {"type": "actionRequired", "data": approval}),
        ),
        format="goose",
    )
    assert [(message.role, message.text) for message in session.messages] == [
        ("user", "Start it."),
        ("assistant", "Which port?"),
        ("user", '{"port": "8080"}'),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"content": [{"type": "resource_link", "uri": "file:///a.md", "name": "a"}]}, "a file:///a.md"),
        ({"content": [], "structuredContent": {"port": 8080}}, '{"port": 8080}'),
        ({"content": [{"type": "text", "text": "8080"}], "structuredContent": {"port": 8080}}, "8080"),
    ],
)
def test_a_call_that_goose_left_to_its_front_end_is_read_with_its_result(
    tmp_path: Path, value: object, text: str
) -> None:
    asked = {"name": "pick", "arguments": {"from": "ports"}}
    session = read(
        tmp_path,
        _goose(
            ("user", {"type": "text", "text": "Start it."}),
            (
                "assistant",
                {
                    "type": "frontendToolRequest",
                    "id": "t",
                    "toolCall": {"status": "success", "value": asked},
                },
            ),
            (
                "user",
                {"type": "toolResponse", "id": "t", "toolResult": {"status": "success", "value": value}},
            ),
        ),
        format="goose",
    )
    assert call(session.messages[1]) == ToolCall(id="t", name="pick", arguments='{"from": "ports"}')
    assert result(session.messages[2]) == ToolResult(call_id="t", text=text)


def test_a_call_that_goose_could_not_read_says_why(tmp_path: Path) -> None:
    wrong = {"status": "error", "error": "-32602: no such tool"}
    session = read(
        tmp_path,
        _goose(
            ("user", {"type": "text", "text": "Start it."}),
            ("assistant", {"type": "toolRequest", "id": "t", "toolCall": wrong}),
            ("user", {"type": "toolResponse", "id": "t", "toolResult": wrong}),
        ),
        format="goose",
    )
    assert call(session.messages[1]).arguments == '{"error":"-32602: no such tool"}'
    assert result(session.messages[2]).text == "-32602: no such tool"


def test_a_file_of_which_claude_ai_exports_the_name_alone_is_named(tmp_path: Path) -> None:
    nothing_said: list[dict[str, object]] = []
    no_input: dict[str, object] = {}
    made = [{"type": "local_resource", "file_path": "/mnt/outputs/plan.md", "name": "plan"}]
    session = read(
        tmp_path,
        [
            {
                "uuid": "c",
                "name": "n",
                "updated_at": "2026-11-01",
                "chat_messages": [
                    {
                        "uuid": "0",
                        "sender": "human",
                        "text": "Read it.",
                        "attachments": [{"file_name": "a.txt", "extracted_content": "abc"}],
                        "files": [{"file_name": "a.txt"}],
                    },
                    {
                        "uuid": "1",
                        "sender": "human",
                        "content": nothing_said,
                        "files": [{"file_name": "plan.pdf"}],
                    },
                    {
                        "uuid": "2",
                        "sender": "assistant",
                        "content": [
                            {"type": "tool_use", "id": "t", "name": "present_files", "input": no_input},
                            {"type": "tool_result", "tool_use_id": "t", "content": made},
                            {"type": "tool_use", "id": "u", "name": "clear", "input": no_input},
                            {"type": "tool_result", "tool_use_id": "u", "content": nothing_said},
                        ],
                    },
                ],
            }
        ],
        format="claude_ai",
    )
    text, _, note, _, shown, _, nothing = session.messages
    assert text.text == "a.txt:\nabc"
    assert (note.text, note.synthetic) == ("plan.pdf: attached; the export does not hold it", True)
    assert "/mnt/outputs/plan.md" in result(shown).text
    assert result(nothing).text == ""


def test_a_file_that_was_attached_in_chatgpt_is_named_before_the_request(tmp_path: Path) -> None:
    said = {
        "id": "a",
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["Sum it up."]},
        "metadata": {"attachments": [{"id": "f", "name": "april.csv", "mimeType": "text/csv"}]},
    }
    mapping = {"r": {"parent": None, "message": None}, "a": {"parent": "r", "message": said}}
    session = read(tmp_path, [{"title": "t", "current_node": "a", "mapping": mapping}], format="chatgpt")
    assert [(message.text, message.synthetic) for message in session.messages] == [
        ("april.csv: attached; the export does not hold it", True),
        ("Sum it up.", False),
    ]


def test_pictures_and_files_of_langchain_are_read_in_each_of_its_forms(tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "Look."},
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
        {"type": "image", "base64": PNG, "mime_type": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "url": "https://host/page.png"},
        {"type": "file", "base64": PDF, "mime_type": "application/pdf"},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
        {"type": "redacted_thinking", "data": "EmwKAhgB"},
        {"type": "image", "file_id": "file-1"},
    ]
    session = read(tmp_path, [{"type": "human", "data": {"content": content}}], format="langchain")

    png = Image(media_type="image/png", data=PNG)
    assert session.messages[0].parts == (
        Text(text="Look."),
        png,
        png,
        png,
        Image(url="https://host/page.png"),
        Document(media_type="application/pdf", data=PDF),
        Document(name="a.pdf", data=PDF),
    )


def test_a_call_of_langchain_with_unreadable_arguments_is_there_for_its_result(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "First the list."}]}
    invalid = [{"name": "list", "args": "{path:", "id": "c1", "error": "no JSON"}]
    session = read(
        tmp_path,
        [
            {"type": "ai", "data": {"content": [thought], "invalid_tool_calls": invalid}},
            {"type": "tool", "data": {"content": "no JSON", "tool_call_id": "c1", "status": "error"}},
        ],
        format="langchain",
    )
    assert session.messages[0].parts == (
        Reasoning(text="First the list."),
        ToolCall(id="c1", name="list", arguments="{path:"),
    )
    assert result(session.messages[1]).is_error


def test_a_picture_in_an_answer_to_gemini_is_read(tmp_path: Path) -> None:
    nothing: dict[str, object] = {}
    called = {"functionCall": {"name": "shot", "args": nothing, "id": "1"}}
    answer = {
        "name": "shot",
        "id": "1",
        "response": {"output": "the page"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}],
    }
    session = read(
        tmp_path,
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Look."}]},
                {"role": "model", "parts": [called]},
                {"role": "user", "parts": [{"functionResponse": answer}]},
            ]
        },
        format="gemini",
    )
    assert result(session.messages[2]) == ToolResult(
        call_id="1", text="the page", media=(Image(media_type="image/png", data=PNG),)
    )


def test_what_chat_save_of_gemini_cli_wrote_is_read(tmp_path: Path) -> None:
    setup = "This is the Gemini CLI. We are setting up the context for our chat.\nThe date is Friday."
    history = [
        {"role": "user", "parts": [{"text": setup}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": "Start it."}]},
    ]
    session = read(tmp_path, {"history": history, "authType": "oauth-personal"}, format="gemini")

    assert [message.text for message in session.messages][1:] == ["Got it.", "Start it."]
    assert [message.is_request for message in session.messages] == [False, False, True]


def test_a_new_kind_of_call_does_not_keep_a_list_of_the_responses_api_from_being_one(tmp_path: Path) -> None:
    no_tools: list[dict[str, object]] = []
    session = read(
        tmp_path,
        [
            {"role": "user", "content": [{"type": "input_text", "text": "Start it."}]},
            {"type": "tool_search_call", "call_id": "s", "arguments": {"q": "start"}},
            {"type": "tool_search_output", "call_id": "s", "tools": no_tools},
            {"type": "function_call", "call_id": "c", "name": "start", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "started"},
        ],
        format="openai_responses",
    )
    assert [message.role for message in session.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert result(session.messages[4]).text == "started"
