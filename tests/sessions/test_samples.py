"""Every format that is read as a document or a text: the same talk in each, and what is special to one."""

from __future__ import annotations

import json
import random
from copy import copy
from pathlib import Path
from typing import Any, cast

import pytest

from autocompact.core.messages import Image, Message, Reasoning, Usage
from autocompact.errors import UnreadableSession
from autocompact.sessions import KNOWN, LABELS, Format, Session, read_session
from tests.sessions.samples import (
    CALLS,
    FAILED,
    FIRST,
    FOUND,
    LAST,
    REQUEST,
    SAMPLES,
    STAMP_MS,
    WITHOUT_CALLS,
    WITHOUT_THINKING,
    encoded,
    langchain_messages,
    lines,
)

pytestmark = pytest.mark.requirement("E8")


def _read(content: bytes | object, folder: Path) -> Session:
    path = folder / "session"
    path.write_bytes(content if isinstance(content, bytes) else encoded(content))
    return read_session(path)


def _spoken(messages: tuple[Message, ...]) -> str:
    return "\n".join(message.text for message in messages)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_talk_is_read_whole(name: str, tmp_path: Path) -> None:
    format, content = SAMPLES[name]
    session = _read(content, tmp_path)
    assert session.format == format
    assert session.skipped == ()
    assert [message.seq for message in session.messages] == list(range(1, len(session.messages) + 1))
    assert len(session.lines) == len(session.messages)
    assert [message.text for message in session.messages if message.is_request] == [REQUEST]
    assert FIRST in _spoken(session.messages)
    assert session.messages[-1].text.endswith(LAST)
    thoughts = [p for message in session.messages for p in message.parts if isinstance(p, Reasoning)]
    assert bool(thoughts) == (name not in WITHOUT_THINKING)
    if name in WITHOUT_CALLS:
        return
    calls = [call for message in session.messages for call in message.calls]
    results = [result for message in session.messages for result in message.results]
    expected = CALLS[: len(calls)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [each[:2] for each in expected]
    assert [result.text for result in results] == [each[2] for each in expected]
    assert [result.call_id for result in results] == [call.id for call in calls]
    assert len(calls) == (1 if format == "chatgpt" else 2)
    if format != "openai_responses":  # which has no mark for a failure
        assert [result.is_error for result in results] == [each[3] for each in expected]


def test_what_a_format_knows_of_its_session_is_kept(tmp_path: Path) -> None:
    known = {name: _read(content, tmp_path) for name, (_, content) in SAMPLES.items()}
    titled = [name for name, session in known.items() if session.title == "The pump"]
    placed = [name for name, session in known.items() if session.cwd == "/srv/pump"]
    modelled = [name for name, session in known.items() if session.model == "model-x"]
    dated = [
        name for name, session in known.items() if session.messages[0].time.startswith("2026-03-01T10:00:00")
    ]
    used = [
        name for name, s in known.items() if Usage(prompt=100, completion=6) in [m.usage for m in s.messages]
    ]
    assert titled == [
        *("opencode", "qwen", "goose", "goose export", "continue"),
        *("chatgpt", "chatgpt alone", "claude.ai", "cursor"),
    ]
    assert placed == ["opencode", "qwen", "goose", "goose export", "continue"]
    assert modelled == [
        *("opencode", "qwen", "cline", "continue", "chatgpt", "chatgpt alone"),
        *("langchain", "responses", "aider"),
    ]
    assert dated == [
        *("opencode", "qwen", "goose", "goose export", "cline"),
        *("chatgpt", "chatgpt alone", "claude.ai", "aider"),
    ]
    assert used == ["opencode", "qwen", "cline", "langchain"]
    assert {name: session.window for name, session in known.items() if session.window} == {"qwen": 1_000_000}


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_files_never_end_in_anything_but_a_clear_error(name: str, tmp_path: Path) -> None:
    content = SAMPLES[name][1]
    chance = random.Random(name)
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(damaged))
            damaged[at : at + chance.randint(0, 9)] = chance.choice(
                [b"", b"\xff", b'"', b"{", b"null", b"7", b"[]"]
            )
        assert "\n" not in _refused(bytes(damaged), tmp_path)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in WITHOUT_CALLS])
@pytest.mark.parametrize("value", [None, 7, "text", [], {}, [7], {"type": 7}])
def test_a_member_of_another_type_costs_at_most_its_message(name: str, value: object, tmp_path: Path) -> None:
    """Each member of the document, and of the messages in it, with a value of another type in its place."""
    content = SAMPLES[name][1]
    whole = (
        [json.loads(line) for line in content.splitlines()]
        if name in ("qwen", "goose")
        else json.loads(content)
    )
    for replaced in _replaced(whole, value, depth=3):
        made = lines(replaced) if name in ("qwen", "goose") else encoded(replaced)
        assert "\n" not in _refused(made, tmp_path)


def _refused(content: bytes, folder: Path) -> str:
    """Why the file is refused; "" where something of it could be read."""
    try:
        assert _read(content, folder).messages
    except UnreadableSession as error:
        return str(error)
    return ""


def _replaced(whole: Any, value: object, *, depth: int) -> list[Any]:
    if not depth:
        return []
    places: list[Any] = []
    if isinstance(whole, dict):
        places = list(cast("dict[str, Any]", whole))
    elif isinstance(whole, list):
        places = list(range(len(cast("list[Any]", whole))))
    made: list[Any] = []
    for place in places:
        copied = cast("dict[Any, Any]", copy(cast("Any", whole)))
        for changed in [value, *_replaced(copied[place], value, depth=depth - 1)]:
            copied = copy(copied)
            copied[place] = changed
            made.append(copied)
    return made


def test_every_format_has_a_name_and_stands_in_the_one_list_of_what_is_known() -> None:
    assert {format for format, _ in SAMPLES.values()} <= set(LABELS)
    for label in LABELS.values():
        assert label.split()[0] in KNOWN


# What is special to one


def test_opencode_compactions_are_records_and_what_it_adds_itself_is_a_note(tmp_path: Path) -> None:
    document = json.loads(SAMPLES["opencode"][1])
    before = document["messages"]

    def said(role: str, *parts: object, **info: object) -> Any:
        known: dict[str, object] = {"time": {}}
        return {"info": {"role": role, "id": f"msg_{len(before)}"} | known | info, "parts": list(parts)}

    before[-1]["info"]["id"] = "msg_last"
    before.append(said("user", {"type": "compaction", "auto": True, "tail_start_id": "msg_last"}))
    before.append(said("assistant", {"type": "text", "text": "## Goal"}, summary=True))
    before.append(said("user", {"type": "text", "text": "Continue.", "synthetic": True}))
    before.append(said("user", {"type": "compaction", "auto": False}))
    before.append(said("assistant", {"type": "text", "text": "## Goal, again"}, summary=True))
    picture = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,QUJD", "filename": "a.png"}
    before.append(said("user", {"type": "text", "text": "and now?"}, picture))
    session = _read(document, tmp_path)
    assert [(c.through_seq, c.summary) for c in session.compactions] == [
        (4, "## Goal"),
        (6, "## Goal, again"),
    ]
    assert [(m.text, m.is_request) for m in session.messages[5:]] == [
        ("Continue.", False),
        ("and now?", True),
    ]
    assert session.messages[-1].parts[1] == Image(media_type="image/png", data="QUJD")


def test_qwen_compactions_keep_their_tail_and_branches_that_were_left_are_apart(tmp_path: Path) -> None:
    entries = [json.loads(line) for line in SAMPLES["qwen"][1].splitlines()]
    summary = {"role": "user", "parts": [{"text": "<state_snapshot>the pump</state_snapshot>"}]}
    history = [summary, {"role": "model", "parts": [{"text": "Got it."}]}, entries[4]["message"]]
    known = {"sessionId": "s", "timestamp": "2026-03-01T10:00:00Z"}
    info = {"originalTokenCount": 900, "newTokenCount": 90}
    payload = {"info": info, "compressedHistory": history}
    entries += [
        known
        | {
            "uuid": "6",
            "parentUuid": "5",
            "type": "system",
            "subtype": "chat_compression",
            "systemPayload": payload,
        },
        known
        | {
            "uuid": "7",
            "parentUuid": "6",
            "type": "user",
            "message": {"role": "user", "parts": [{"text": "left"}]},
        },
        known
        | {
            "uuid": "8",
            "parentUuid": "6",
            "type": "user",
            "message": {"role": "user", "parts": [{"text": "kept"}]},
        },
        known
        | {
            "uuid": "9",
            "parentUuid": "8",
            "type": "user",
            "provenance": "goal_runtime",
            "message": {"role": "user", "parts": [{"text": "go on"}]},
        },
    ]
    session = _read(lines(entries), tmp_path)
    (compaction,) = session.compactions
    assert (compaction.through_seq, compaction.summary) == (4, "<state_snapshot>the pump</state_snapshot>")
    assert (compaction.receipt.tokens_before, compaction.receipt.tokens_after) == (900, 90)
    assert [m.text for m in session.abandoned] == ["left"]
    assert [(m.text, m.is_request) for m in session.messages[-2:]] == [("kept", True), ("go on", False)]


def test_goose_compactions_hide_what_was_before(tmp_path: Path) -> None:
    document = json.loads(SAMPLES["goose export"][1])
    for message in document["conversation"]:
        message["metadata"] = {"userVisible": True, "agentVisible": False}
    document["conversation"] += [
        {
            "role": "assistant",
            "created": 1,
            "content": [{"type": "text", "text": "In short: the pump"}],
            "metadata": {"userVisible": False, "agentVisible": True},
        },
        {
            "role": "user",
            "created": 1,
            "content": [{"type": "text", "text": "Go on with the task."}],
            "metadata": {"userVisible": False, "agentVisible": True},
        },
        {"role": "user", "created": 1, "content": [{"type": "text", "text": "and now?"}]},
    ]
    session = _read(document, tmp_path)
    assert [(c.through_seq, c.summary) for c in session.compactions] == [(5, "In short: the pump")]
    assert [(m.text, m.is_request) for m in session.messages[5:]] == [
        ("Go on with the task.", False),
        ("and now?", True),
    ]


def test_chatgpt_shows_the_last_version_and_claude_ai_the_current_leaf(tmp_path: Path) -> None:
    chat = json.loads(SAMPLES["chatgpt alone"][1])
    older = {
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["as it was asked first"]},
    }
    chat["mapping"]["older"] = {"parent": "root", "message": older}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://a"}
    chat["mapping"]["n0"]["message"]["content"]["parts"].append(picture)
    session = _read([chat, chat | {"title": "older", "update_time": 1.0}], tmp_path)
    assert session.title == "The pump"
    assert [m.text for m in session.abandoned] == ["as it was asked first"]
    assert session.messages[0].parts[1] == Image(url="file-service://a")
    assert "holds 2 conversations" in session.skipped[0].reason

    claude = json.loads(SAMPLES["claude.ai"][1])[0]
    request, reply = claude["chat_messages"]
    reply["parent_message_uuid"] = "m1"
    file = {"file_name": "pump.txt", "extracted_content": "psi: 3"}
    request["attachments"] = [file]
    other = {"uuid": "m3", "parent_message_uuid": "m1", "sender": "assistant", "text": "another answer"}
    session = _read(
        claude | {"chat_messages": [request, other, reply], "current_leaf_message_uuid": "m2"}, tmp_path
    )
    assert [m.text for m in session.abandoned] == ["another answer"]
    assert (session.messages[0].text, session.messages[0].is_request) == ("pump.txt:\npsi: 3", False)


@pytest.mark.parametrize("shape", ["constructor", "dump", "state"])
def test_langchain_is_read_in_each_of_its_shapes(shape: str, tmp_path: Path) -> None:
    kinds = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    if shape == "constructor":
        made: object = [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", kinds[kind]],
                "kwargs": data,
            }
            for kind, data in langchain_messages()
        ]
    else:
        plain = [data | {"type": kind} for kind, data in langchain_messages()]
        made = plain if shape == "dump" else {"messages": plain, "next": ["agent"]}
    session = _read(made, tmp_path)
    assert session.format == "langchain"
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [r.text for m in session.messages for r in m.results] == [FOUND, FAILED]


def test_model_messages_and_older_ui_messages_of_the_vercel_sdk_are_read(tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "run", "input": {"command": "ls"}}
    result = {
        "type": "tool-result",
        "toolCallId": "c",
        "toolName": "run",
        "output": {"type": "text", "value": "a"},
    }
    model = [
        {"role": "user", "content": REQUEST},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
    ]
    invocation = {
        "state": "result",
        "toolCallId": "c",
        "toolName": "run",
        "args": {"command": "ls"},
        "result": "a",
    }
    older = [
        {"role": "user", "content": REQUEST, "parts": [{"type": "text", "text": REQUEST}]},
        {
            "role": "assistant",
            "content": "",
            "parts": [{"type": "tool-invocation", "toolInvocation": invocation}],
        },
    ]
    for made in (model, older):
        session = _read(made, tmp_path)
        assert session.format == "vercel_ai"
        assert [m.role for m in session.messages] == ["user", "assistant", "tool"]
        assert [(c.id, c.name, json.loads(c.arguments)) for c in session.messages[1].calls] == [
            ("c", "run", {"command": "ls"})
        ]
        assert [(r.call_id, r.text) for r in session.messages[2].results] == [("c", "a")]


def test_a_reply_of_the_responses_api_stands_after_its_input(tmp_path: Path) -> None:
    reply = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LAST}]}
    session = _read({"object": "response", "input": REQUEST, "output": [reply]}, tmp_path)
    assert [(m.role, m.text) for m in session.messages] == [("user", REQUEST), ("assistant", LAST)]


def test_a_list_with_one_item_that_is_another_is_still_chat_messages(tmp_path: Path) -> None:
    session = _read(
        [{"role": "user", "content": "type: message"}, {"role": "assistant", "content": LAST}], tmp_path
    )
    assert session.format == "openai"


def test_a_session_whose_messages_all_come_out_empty_is_refused(tmp_path: Path) -> None:
    line = {
        "type": "user",
        "uuid": "a",
        "parentUuid": None,
        "message": {"role": "user", "content": [{"type": "text", "text": ""}]},
    }
    with pytest.raises(
        UnreadableSession, match="looks like a session of Claude Code, but all of its 1 messages"
    ):
        _read(lines([line]), tmp_path)


def test_times_that_no_calendar_holds_are_left_out(tmp_path: Path) -> None:
    document = json.loads(SAMPLES["opencode"][1])
    document["messages"][0]["info"]["time"]["created"] = STAMP_MS * 1e9
    assert not _read(document, tmp_path).messages[0].time


def test_edit_blocks_of_aider_are_calls_and_what_it_printed_says_whether_they_were_applied(
    tmp_path: Path,
) -> None:
    def block(path: str, old: str, new: str) -> str:
        return f"{path}\n```python\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"

    history = (
        "# aider chat started at 2026-03-01 10:00:00\n\n#### mend the seal  \n\nHere it is:\n\n"
        + block("src/pump.py", "seal = 1\nbolt = 1\n", "seal = 2\nbolt = 1\n")
        + "\nand the valve:\n\n"
        + block("**`src/valve.py`**", "", "open = True\n")
        + "\nThat is all.\n\n> Tokens: 1k sent.  \n> Applied edit to src/pump.py  \n> Commit 5eb50b4 fix: the seal  \n"
        + "\n#### and the bolt  \n\nsrc/bolt.py\n```\n<<<<<<< SEARCH\nhalf of a block\n"
    )
    session = _read(history.encode(), tmp_path)
    reply = session.messages[1]
    assert [json.loads(call.arguments) for call in reply.calls] == [
        {"file_path": "src/pump.py", "old_string": "seal = 1\nbolt = 1", "new_string": "seal = 2\nbolt = 1"},
        {"file_path": "src/valve.py", "old_string": "", "new_string": "open = True"},
    ]
    assert [(r.text, r.is_error) for m in session.messages[2:4] for r in m.results] == [
        ("Applied edit to src/pump.py", False),
        ("aider did not report that this edit was applied", True),
    ]
    assert "SEARCH" not in reply.text
    assert reply.text.endswith("That is all.")
    assert "Commit 5eb50b4" in session.messages[4].text
    assert "half of a block" in session.messages[-1].text


@pytest.mark.parametrize(
    "document", ["README.md", "src/autocompact/cli/__init__.py", "docs/guides/compact-a-session.md"]
)
def test_readme_help_and_guide_name_every_format(document: str) -> None:
    text = (Path(__file__).parents[2] / document).read_text(encoding="utf-8")
    assert [label for label in LABELS.values() if label.split()[0] not in text] == []


_USE: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "run", "input": {}}
_REPLY: Any = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "ok"}, _USE],
}
_RESULT: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "out"}]}
_CALL: Any = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
_CALLED: list[Any] = [
    {"role": "user", "content": "fix it"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "out"},
]


@pytest.mark.parametrize(
    ("document", "format"),
    [
        ([{"role": "user", "content": "fix it"}, _REPLY, _RESULT], "anthropic"),
        ([_CALLED[0], _CALLED[1] | {"type": "message"}, _CALLED[2]], "openai"),
        ({"sessionId": "s", "messages": _CALLED}, "openai"),
        ({"working_dir": "/x", "description": "d", "messages": _CALLED}, "openai"),
        ({"contents": [], "messages": _CALLED}, "openai"),
        ({"sessionId": "s", "messages": [{"type": "human", "data": {"content": "hi"}}]}, "langchain"),
    ],
)
def test_what_only_looks_like_another_format_keeps_its_own_reader(
    document: object, format: Format, tmp_path: Path
) -> None:
    session = _read(document, tmp_path)
    assert (session.format, session.skipped) == (format, ())
    calls = [call.id for message in session.messages for call in message.calls]
    assert [r.call_id for message in session.messages for r in message.results] == calls


def test_chat_lines_with_a_time_are_not_those_of_goose(tmp_path: Path) -> None:
    made = [
        {"role": "user", "content": "fix it", "created": 1},
        {"role": "assistant", "content": "ok", "created": 2},
    ]
    assert _read(lines(list[object](made)), tmp_path).format == "openai"


@pytest.mark.parametrize("name", ["aider", "cursor"])
def test_texts_of_windows_are_read_alike(name: str, tmp_path: Path) -> None:
    content = SAMPLES[name][1]
    usual = _read(content, tmp_path)
    assert _read(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"), tmp_path).messages == usual.messages


def test_results_of_claude_ai_belong_to_the_calls_that_they_name(tmp_path: Path) -> None:
    chat = json.loads(SAMPLES["claude.ai"][1])[0]
    chat["chat_messages"][1]["content"] = [
        {"type": "tool_use", "id": "t1", "name": "artifacts", "input": {}},
        {"type": "tool_use", "id": "t2", "name": "web", "input": {}},
        {"type": "tool_result", "tool_use_id": "t2", "name": "web", "content": "WEB"},
    ]
    session = _read(chat, tmp_path)
    assert [(r.call_id, r.text) for m in session.messages for r in m.results] == [("t2", "WEB")]


def test_thinking_that_is_never_closed_stays_text_and_costs_nothing(tmp_path: Path) -> None:
    history = (
        "# aider chat started at 2026-03-01 10:00:00\n\n#### go  \n\n"
        + "<thinking-content-7>\nabc\n" * 20_000
    )
    assert _read(history.encode(), tmp_path).messages[-1].text.count("abc") == 20_000


def test_lines_that_each_could_be_a_document_are_read_as_lines(tmp_path: Path) -> None:
    made: list[object] = [{"input": "task.txt", "tools": []}, *_CALLED]
    session = _read(lines(made), tmp_path)
    assert session.format == "openai"
    assert [result.text for message in session.messages for result in message.results] == ["out"]
    assert len(session.skipped) == 1


def test_the_steps_of_one_reply_of_the_vercel_sdk_stay_in_order(tmp_path: Path) -> None:
    def tool(number: int) -> object:
        return {
            "type": "tool-run",
            "toolCallId": f"c{number}",
            "state": "output-available",
            "input": {},
            "output": "a",
        }

    def said(text: str) -> object:
        return {"type": "text", "text": text}

    start: object = {"type": "step-start"}
    parts = [start, said("look"), tool(1), start, said("again"), tool(2), start, said("the seal")]
    parts.append({"type": "data-weather", "data": {"t": 1}})
    made = [
        {"role": "user", "parts": [said(REQUEST)], "createdAt": STAMP_MS},
        {"role": "assistant", "parts": parts},
    ]
    session = _read(made, tmp_path)
    assert session.skipped == ()
    assert [(m.role, m.text) for m in session.messages] == [
        *(("user", REQUEST), ("assistant", "look"), ("tool", ""), ("assistant", "again"), ("tool", "")),
        ("assistant", "the seal"),
    ]


def test_calls_that_older_langchain_keeps_as_the_provider_sent_them_are_calls(tmp_path: Path) -> None:
    made: list[Any] = [
        {"type": "human", "content": REQUEST},
        {"type": "ai", "content": "", "tool_calls": [], "additional_kwargs": {"tool_calls": [_CALL]}},
        {"type": "tool", "content": "out", "tool_call_id": "c1", "status": None},
    ]
    session = _read(made, tmp_path)
    assert [(call.id, call.name) for call in session.messages[1].calls] == [("c1", "run")]
    assert session.messages[2].results[0].call_id == "c1"


def test_turns_as_the_python_sdk_of_gemini_dumps_them_are_read(tmp_path: Path) -> None:
    asked = {"function_call": {"name": "run", "args": {"text": 'say "function_call": 1'}}, "thought": None}
    made = [
        {"role": "user", "parts": [{"text": REQUEST, "thought": None, "function_call": None}]},
        {"role": "model", "parts": [asked]},
        {"role": "user", "parts": [{"function_response": {"name": "run", "response": {"output": FOUND}}}]},
    ]
    session = _read(made, tmp_path)
    (call,) = session.messages[1].calls
    assert json.loads(call.arguments) == {"text": 'say "function_call": 1'}
    assert [(r.call_id, r.text) for r in session.messages[2].results] == [(call.id, FOUND)]


def test_a_conversation_in_which_nothing_was_said_does_not_stand_for_the_others(tmp_path: Path) -> None:
    (chat,) = json.loads(SAMPLES["claude.ai"][1])
    empty = chat | {"chat_messages": list[Any](), "updated_at": "2027-01-01T00:00:00Z"}
    assert _read([chat, empty], tmp_path).messages[0].text == REQUEST
