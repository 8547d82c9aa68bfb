"""Every format that is read as a document or a text: the same talk in each, and what is special to one."""

from __future__ import annotations

import json
import random
from copy import copy
from dataclasses import replace
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
    TEXTS,
    WITHOUT_CALLS,
    WITHOUT_THINKING,
    encoded,
    langchain_messages,
    lines,
    pydantic_ai_messages,
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
        *("chatgpt", "chatgpt alone", "claude.ai", "cursor", "specstory"),
    ]
    assert placed == ["opencode", "qwen", "kimi", "goose", "goose export", "continue"]
    assert modelled == [
        *("opencode", "qwen", "kimi", "cline", "continue", "chatgpt", "chatgpt alone"),
        *("langchain", "pydantic-ai", "responses", "aider", "specstory", "specstory cli"),
    ]
    assert dated == [
        *("opencode", "qwen", "kimi", "goose", "goose export", "cline"),
        *("chatgpt", "chatgpt alone", "claude.ai", "pydantic-ai", "aider", "specstory", "specstory cli"),
    ]
    assert used == ["opencode", "qwen", "kimi", "cline", "langchain", "pydantic-ai"]
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


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in TEXTS])
@pytest.mark.parametrize("value", [None, 7, "text", [], {}, [7], {"type": 7}])
def test_a_member_of_another_type_costs_at_most_its_message(name: str, value: object, tmp_path: Path) -> None:
    """Each member of the document, and of the messages in it, with a value of another type in its place."""
    content = SAMPLES[name][1]
    whole = (
        [json.loads(line) for line in content.splitlines()]
        if name in ("qwen", "kimi", "goose")
        else json.loads(content)
    )
    for replaced in _replaced(whole, value, depth=3):
        made = lines(replaced) if name in ("qwen", "kimi", "goose") else encoded(replaced)
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


def test_a_kimi_session_is_read_through_compaction_undo_and_clear(tmp_path: Path) -> None:
    entries = [json.loads(line) for line in SAMPLES["kimi"][1].splitlines()]
    talk = entries[2:]
    note = copy(talk[0]) | {
        "message": {"role": "user", "content": "<system-reminder>", "origin": {"kind": "injection"}}
    }
    unfinished = [entry for entry in talk if entry.get("event", {}).get("type") != "step.end"][:-2]
    compaction = {
        "type": "context.apply_compaction",
        "agentId": "main",
        "summary": "The seal was looked at.",
        "tokensBefore": 900,
        "tokensAfter": 90,
        "keptUserMessageCount": 2,
        "keptHeadUserMessageCount": 1,
    }

    def session(*more: object) -> Session:
        return _read(lines([*entries[:2], *talk, *more]), tmp_path)

    compacted = session(*talk, *unfinished, note, compaction, *talk)
    (found,) = compacted.compactions
    before = [message for message in compacted.messages if message.seq <= found.through_seq]
    requests = [message.seq for message in before if message.is_request]
    assert found.summary == "The seal was looked at."
    assert (found.receipt.tokens_before, found.receipt.tokens_after) == (900, 90)
    assert found.keep == (requests[0], requests[-1])
    # what was said while calls ran comes after their results, and a step without an end keeps its words
    assert [message.role for message in before[-5:]] == ["user", "assistant", "tool", "tool", "user"]
    assert before[-1].synthetic
    undo = {"type": "context.undo", "agentId": "main", "count": 2}
    undone = session(compaction, *talk, undo)
    assert len(undone.messages) == len(session().messages)
    assert undone.abandoned[0].text == REQUEST
    cleared = session(compaction, {"type": "context.clear", "agentId": "main"}, *talk)
    assert (len(cleared.messages), len(cleared.abandoned)) == (5, 5)
    assert cleared.compactions == ()


def test_messages_that_a_kimi_session_took_over_whole_are_no_words_of_the_person(tmp_path: Path) -> None:
    """The history of a session that was imported or forked is recorded so."""
    call = {"type": "function", "id": "c9", "name": "Bash", "arguments": '{"command":"ls"}'}
    result = [{"type": "text", "text": FAILED}]
    said = (
        {"role": "assistant", "content": [{"type": "text", "text": FIRST}], "toolCalls": [call]},
        {"role": "tool", "content": result, "toolCalls": [], "toolCallId": "c9", "isError": True},
    )
    records: list[object] = [
        {"type": "context.append_message", "agentId": "main", "time": 0, "message": each} for each in said
    ]
    session = _read(SAMPLES["kimi"][1] + lines(records), tmp_path)
    assistant, tool = session.messages[-2:]
    assert (assistant.text, [made.name for made in assistant.calls]) == (FIRST, ["Bash"])
    (found,) = tool.results
    assert (found.call_id, found.text, found.is_error, tool.is_request) == ("c9", FAILED, True, False)


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


def _goose_message(role: str, text: str, *, user: bool, agent: bool) -> dict[str, object]:
    seen = {"userVisible": user, "agentVisible": agent}
    return {"role": role, "created": 1, "content": [{"type": "text", "text": text}], "metadata": seen}


def test_goose_appends_the_last_request_to_a_compaction_which_is_its_original_that_stays(
    tmp_path: Path,
) -> None:
    goes_on = (
        "Your context was compacted. The previous message contains a summary of the conversation so far."
    )
    document = {
        "working_dir": "/srv",
        "conversation": [
            _goose_message("user", "mend the pump", user=True, agent=False),
            _goose_message("assistant", "I look", user=True, agent=False),
            _goose_message("user", "and the valve", user=False, agent=False),  # seen once more, below
            _goose_message("user", "In short: the pump", user=False, agent=False),
            _goose_message("assistant", goes_on, user=False, agent=False),
            _goose_message("user", "and the valve", user=True, agent=False),
            _goose_message("assistant", "it is worn", user=True, agent=False),
            _goose_message("user", "In short: both", user=False, agent=True),
            _goose_message("assistant", goes_on, user=False, agent=True),
            _goose_message("user", "thanks", user=True, agent=True),
        ],
    }
    session = _read(document, tmp_path)
    assert [(c.summary, c.through_seq, c.keep) for c in session.compactions] == [
        ("In short: the pump", 3, (3,)),
        ("In short: both", 5, ()),
    ]
    assert [m.text for m in session.messages if m.is_request] == ["mend the pump", "and the valve", "thanks"]


def test_a_summary_of_one_call_of_goose_is_no_compaction(tmp_path: Path) -> None:
    document = {
        "working_dir": "/srv",
        "conversation": [
            _goose_message("user", "mend the pump", user=True, agent=True),
            _goose_message("assistant", "I look", user=True, agent=False),
            _goose_message("user", "it looked at the pump", user=False, agent=True),
            _goose_message("user", "never shown", user=False, agent=False),
        ],
    }
    session = _read(document, tmp_path)
    assert session.compactions == ()
    assert [(m.text, m.is_request) for m in session.messages] == [
        *(("mend the pump", True), ("I look", False), ("it looked at the pump", False)),
        ("never shown", True),
    ]


def test_a_tool_of_goose_answers_the_model_and_the_person_apart(tmp_path: Path) -> None:
    def said(text: str, *audience: str) -> object:
        return {"type": "text", "text": text, "annotations": {"audience": list(audience)}}

    file = {"type": "resource", "resource": {"uri": "file:///srv/a.txt", "text": "the seal"}}
    value = [said("for the model", "assistant"), said("for the person", "user"), file]
    answer = {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": value}}
    call = {"type": "toolRequest", "id": "c", "toolCall": {"status": "success", "value": {"name": "run"}}}
    made = [
        {"role": role, "created": 1, "content": [content]}
        for role, content in (
            ("user", {"type": "text", "text": REQUEST}),
            ("assistant", call),
            ("user", answer),
        )
    ]
    (result,) = _read(lines(list[object](made)), tmp_path).messages[2].results
    assert result.text == "for the model\nthe seal"


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


@pytest.mark.parametrize("name", TEXTS)
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


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"state": "output-denied", "approval": {"id": "a", "approved": False, "reason": "not now"}},
            "not now",
        ),
        ({"state": "approval-responded", "approval": {"id": "a", "approved": False}}, "did not approve"),
    ],
)
def test_a_call_that_the_user_did_not_approve_is_answered_so(
    more: dict[str, object], told: str, tmp_path: Path
) -> None:
    part: dict[str, Any] = {"type": "dynamic-tool", "toolName": "run", "toolCallId": "c", **more}
    made = [
        {"role": "user", "parts": [{"type": "text", "text": REQUEST}]},
        {"role": "assistant", "parts": [part]},
    ]
    session = _read(made, tmp_path)
    (result,) = session.messages[2].results
    assert told in result.text
    assert result.is_error


def test_requests_for_an_approval_among_model_messages_are_no_calls_of_their_own(tmp_path: Path) -> None:
    call: dict[str, Any] = {"type": "tool-call", "toolCallId": "c", "toolName": "run", "input": {}}
    asked = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
    said = {"type": "tool-approval-response", "approvalId": "a", "approved": False, "reason": "not now"}
    denied = {
        "type": "tool-result",
        "toolCallId": "c",
        "toolName": "run",
        "output": {"type": "execution-denied", "reason": "not now"},
    }
    made = [
        {"role": "user", "content": REQUEST},
        {"role": "assistant", "content": [call, asked]},
        {"role": "tool", "content": [said, denied]},
    ]
    session = _read(made, tmp_path)
    assert [(m.role, len(m.calls)) for m in session.messages] == [("user", 0), ("assistant", 1), ("tool", 0)]
    assert [(r.text, r.is_error) for r in session.messages[2].results] == [
        ("the user did not approve this call: not now", True)
    ]


def test_code_that_gemini_runs_itself_is_a_call_with_its_result(tmp_path: Path) -> None:
    ran = {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "4"}}
    failed = {"codeExecutionResult": {"outcome": "OUTCOME_FAILED"}}
    code = {"executable_code": {"language": "PYTHON", "code": "2 + 2"}}
    made = {
        "contents": [
            {"role": "user", "parts": {"text": REQUEST}},
            {"role": "model", "parts": [{"text": FIRST}, code, ran, code, failed, {"text": LAST}]},
        ]
    }
    session = _read(made, tmp_path)
    assert [(m.role, m.text) for m in session.messages] == [
        *(("user", REQUEST), ("assistant", FIRST), ("tool", ""), ("assistant", ""), ("tool", "")),
        ("assistant", LAST),
    ]
    assert [(r.text, r.is_error) for m in session.messages for r in m.results] == [
        ("4", False),
        ("OUTCOME_FAILED", True),
    ]
    calls = [c for m in session.messages for c in m.calls]
    assert [r.call_id for m in session.messages for r in m.results] == [c.id for c in calls]
    assert json.loads(calls[0].arguments) == {"language": "PYTHON", "code": "2 + 2"}


@pytest.mark.parametrize("around", ["list", "messages", "values", "channel_values"])
def test_older_kinds_and_states_of_langchain_are_read(around: str, tmp_path: Path) -> None:
    asked = {"function_call": {"name": "run", "arguments": "{}"}}
    made: list[dict[str, Any]] = [
        {"type": "chat", "role": "user", "content": REQUEST},
        {"type": "ai", "content": "", "additional_kwargs": asked},
        {"type": "function", "name": "run", "content": FOUND},
        {"type": "ChatMessage", "role": "Assistant", "content": LAST},
    ]
    whole: object = made
    if around != "list":
        whole = {"messages": made} if around == "messages" else {around: {"messages": made}, "next": []}
    session = _read(whole, tmp_path)
    assert session.format == "langchain"
    assert [(m.role, m.text) for m in session.messages] == [
        *(("user", REQUEST), ("assistant", ""), ("tool", ""), ("assistant", LAST))
    ]
    assert [(r.call_id, r.text) for r in session.messages[2].results] == [
        (session.messages[1].calls[0].id, FOUND)
    ]


def test_a_text_of_several_lines_that_aider_printed_is_no_reply(tmp_path: Path) -> None:
    history = (
        "# aider chat started at 2026-03-01 10:00:00\n\n> Aider v0.86\nModel: x\nRepo-map: on  \n"
        "#### go  \n\n> a quotation\nof a reply\n\nmore  \n\n> Tokens: 1k  \n> Run it:\n> make  \n\n#### and now?  \n"
    )
    session = _read(history.encode(), tmp_path)
    assert [(m.role, m.is_request, m.text) for m in session.messages] == [
        ("user", False, "Aider v0.86\nModel: x\nRepo-map: on"),
        ("user", True, "go"),
        ("assistant", False, "> a quotation\nof a reply\n\nmore"),
        ("user", False, "Tokens: 1k\nRun it:\nmake"),
        ("user", True, "and now?"),
    ]


@pytest.mark.parametrize(
    "time", [1_772_359_200.0, "1772359200", "2026-03-01T10:00:00", "2026-03-01T10:00:00Z"]
)
def test_chatgpt_writes_times_and_parts_in_several_ways(time: object, tmp_path: Path) -> None:
    chat = json.loads(SAMPLES["chatgpt alone"][1])
    asked = chat["mapping"]["n0"]["message"]
    asked |= {"create_time": time, "content": {"content_type": "text", "parts": [None, REQUEST]}}
    memory = {"content_type": "model_editable_context", "model_set_context": "likes pumps"}
    chat["mapping"]["root"]["message"] = {"id": "r", "author": {"role": "user"}, "content": memory}
    older = chat | {"title": "older", "update_time": "never"}
    session = _read([older, chat | {"update_time": time}], tmp_path)
    assert (session.title, [s.reason for s in session.skipped][1:]) == ("The pump", [])
    note, request = session.messages[:2]
    assert (note.text, note.is_request) == ("likes pumps", False)
    assert (request.text, request.time) == (REQUEST, "2026-03-01T10:00:00+00:00")


def test_continue_keeps_a_summary_beside_the_last_message_that_it_covers(tmp_path: Path) -> None:
    document = json.loads(SAMPLES["continue"][1])
    call = document["history"][2]["message"].pop("toolCalls")[0]
    document["history"][2].pop("toolCallStates")
    state = {"toolCallId": "c0", "toolCall": call, "status": "done", "output": [{"content": FOUND}]}
    document["history"][2] |= {"toolCallState": state, "reasoning": {"text": "aha", "active": False}}
    document["history"][-1]["conversationSummary"] = "In short: the pump"
    document["history"].append({"message": {"role": "user", "content": "go on"}})
    session = _read(document, tmp_path)
    assert [(c.through_seq, c.summary) for c in session.compactions] == [
        (len(session.messages) - 1, "In short: the pump")
    ]
    reply = next(m for m in session.messages if m.calls)
    assert reply.parts[0] == Reasoning(text="aha")
    assert [r.text for m in session.messages for r in m.results] == [FOUND]


@pytest.mark.parametrize("name", ["gemini", "langchain", "vercel", "pydantic-ai", "responses"])
def test_messages_one_by_one_on_lines_are_read_as_in_a_list(name: str, tmp_path: Path) -> None:
    document = json.loads(SAMPLES[name][1])
    key = next((key for key in ("contents", "input") if key in document), "")
    items: list[object] = document[key] if key else document
    session = _read(lines(items) + b"{half a li", tmp_path)
    assert session.format == SAMPLES[name][0]
    assert [m.text for m in session.messages if m.is_request] == [REQUEST]
    assert session.messages[-1].text.endswith(LAST)
    (left,) = session.skipped
    assert left.line == len(items) + 1
    assert "not JSON" in left.reason


def test_what_pydantic_ai_asks_for_and_what_a_provider_runs_itself_is_read(tmp_path: Path) -> None:
    prompt = [
        REQUEST,
        {"kind": "image-url", "url": "https://x.example/a.png"},
        {"kind": "binary", "data": "YQ=="},
    ]
    ran = {"tool_name": "search", "tool_call_id": "s"}
    made = {
        "all_messages": [
            {"kind": "request", "instructions": "be short", "parts": [{"part_kind": "user-prompt", "content": prompt}]},
            {
                "kind": "response",
                "parts": [
                    ran | {"part_kind": "builtin-tool-call", "args": '{"q": 1}'},
                    ran | {"part_kind": "builtin-tool-return", "content": "2 hits"},
                    {"part_kind": "text", "content": FIRST},
                    {"part_kind": "speech", "transcript": "hm"},
                    {"part_kind": "file", "content": {"kind": "binary", "media_type": "image/png", "data": "YQ=="}},
                ],
            },
            {
                "kind": "request",
                "instructions": "be short",
                "parts": [{"part_kind": "retry-prompt", "content": "give JSON"}, {"part_kind": "new-kind"}],
            },
        ]
    }  # fmt: skip
    session = _read(made, tmp_path)
    assert [(m.role, m.text, m.is_request) for m in session.messages] == [
        ("system", "be short", False),
        ("user", REQUEST, True),
        ("assistant", "", False),
        ("tool", "", False),
        ("assistant", FIRST, False),
        ("user", "give JSON", False),
    ]
    assert [(r.call_id, r.text) for r in session.messages[3].results] == [("s", "2 hits")]
    assert [s.reason for s in session.skipped] == [
        "message 1 has a part of kind 'speech'",
        "message 2 has a part of kind 'new-kind'",
    ]


def test_a_dump_of_pydantic_ai_itself_is_read(tmp_path: Path) -> None:
    library = pytest.importorskip("pydantic_ai.messages")
    made = library.ModelMessagesTypeAdapter.validate_python(pydantic_ai_messages())
    session = _read(library.ModelMessagesTypeAdapter.dump_json(made), tmp_path)
    assert session == replace(_read(SAMPLES["pydantic-ai"][1], tmp_path), messages=session.messages)
    assert [m.text for m in session.messages if m.is_request] == [REQUEST]
