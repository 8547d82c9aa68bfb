"""Copilot CLI, Gemini CLI, pi and OpenHands."""

from __future__ import annotations

import json

import msgspec
import pytest

from autocompact.core.messages import Image, Reasoning, Text, Usage
from autocompact.sessions import Session, copilot_cli, gemini_cli, openhands, pi
from tests.sessions.claude_lines import Line, jsonl, spoken

pytestmark = pytest.mark.requirement("E8")


def event(type: str, **data: object) -> bytes:
    return jsonl([{"type": type, "data": data, "id": f"id-{type}", "timestamp": "2026-03-01T10:00:00Z"}])


def copilot() -> Session:
    return copilot_cli.read(
        [
            event("session.start", context={"cwd": "/srv/pump"}),
            event("hook.start", input={"prompt": "go"}),
            event("system.message", role="system", content="rules"),
            event("user.message", content="go", transformedContent="<date/> go"),
            event("system.message", role="system", content="rules"),
            event(
                "assistant.message",
                messageId="m1",
                model="gpt-x",
                content="",
                reasoningText="think",
                toolRequests=[
                    {"toolCallId": "c1", "name": "bash", "arguments": {"command": "ls"}},
                    {"toolCallId": "c2", "name": "bash", "arguments": NONE},
                ],
            ),
            event("tool.execution_start", toolCallId="c1"),
            event("tool.execution_complete", toolCallId="c2", success=False, error={"message": "denied"}),
            event("tool.execution_complete", toolCallId="c1", success=True, result={"content": "a.py"}),
            event("assistant.message", parentToolCallId="c1", content="of a sub-agent"),
            event("system.notification", content="shell finished"),
            event("system.message", role="system", content="new rules"),
            event("session.compaction_complete", success=False),
            event("session.compaction_complete", summaryContent="S", preCompactionTokens=9),
            event("assistant.message", content="", toolRequests=[]),
            event("assistant.message", content=5),
        ]
    )


def test_of_a_system_prompt_that_copilot_sends_again_only_what_changed_is_told() -> None:
    rules = [f"Rule {number}." for number in range(9)]
    later = [*rules[:7], "Answer in German."]
    session = copilot_cli.read(
        [
            event("system.message", role="system", content="\n".join(rules)),
            event("user.message", content="go"),
            event("system.message", role="system", content="\n".join(later)),
            event("system.message", role="system", content="\n".join(rules)),
            event("system.message", role="system", content="\n".join(later[:7])),
        ]
    )
    assert [text for role, text in spoken(session)[1:] if role == "user"] == [
        "go",
        "The system prompt changed.\nNew in it:\nAnswer in German.\nNo longer in it:\nRule 7.\nRule 8.",
        "The system prompt changed.\nNo longer in it:\nRule 7.\nRule 8.",
    ]


def test_copilot_events_become_messages_and_noise_is_left_out() -> None:
    session = copilot()
    assert spoken(session) == [
        ("system", "rules"),
        ("user", "go"),
        ("assistant", "c1,c2"),
        ("tool", "c2"),
        ("tool", "c1"),
        ("user", "shell finished"),
        ("user", "new rules"),
    ]
    assert [m.text for m in session.messages if m.is_request] == ["go"]
    assert session.messages[2].parts[0] == Reasoning(text="think")
    assert session.messages[2].calls[0].arguments == '{"command": "ls"}'
    assert [(m.results[0].text, m.results[0].is_error) for m in session.messages[3:5]] == [
        ("denied", True),
        ("a.py", False),
    ]
    assert [m.text for m in session.sidechains["c1"]] == ["of a sub-agent"]
    assert [(c.through_seq, c.summary, c.receipt.tokens_before) for c in session.compactions] == [(7, "S", 9)]
    assert [skipped.line for skipped in session.skipped] == [16]
    assert (session.model, session.cwd, session.lines[:3]) == ("gpt-x", "/srv/pump", (3, 4, 6))


NONE: Line = {}


def gemini(*messages: object) -> Session:
    return gemini_cli.read([json.dumps({"sessionId": "s", "messages": messages}).encode()])


def test_a_gemini_call_and_its_result_in_one_object_are_two_messages() -> None:
    answered = {"functionResponse": {"id": "c1", "response": {"output": "a.py"}}}
    failed = {"functionResponse": {"id": "c2", "response": {"error": "no such file"}}}
    odd = {"functionResponse": {"id": "c3", "response": {"rows": 2}}}
    bare = {"functionResponse": {"id": "c3", "response": "plain"}}
    session = gemini(
        {"type": "user", "content": [{"text": "go"}], "id": "u"},
        {"type": "info", "content": "updated"},
        {
            "type": "gemini",
            "content": "I look.",
            "model": "gemini-x",
            "thoughts": [{"subject": "Plan", "description": "look first"}],
            "tokens": {"input": 50, "output": 4, "thoughts": 3},
            "toolCalls": [
                {"id": "c1", "name": "ls", "args": {"path": "."}, "result": [answered], "status": "success"},
                {
                    "id": "c2",
                    "name": "cat",
                    "args": NONE,
                    "result": [failed, {"text": "!"}],
                    "status": "error",
                },
                {"id": "c3", "name": "sql", "args": NONE, "result": [odd, bare]},
                {"id": "c4", "name": "ask", "args": NONE, "status": "cancelled"},
            ],
        },
        {"type": "user", "content": "System: Please continue."},
        {"type": "gemini", "content": "", "tokens": {"input": 0}},
        {"type": "gemini", "content": 4, "toolCalls": "none"},
    )
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "tool", "tool", "user"]
    reply = session.messages[1]
    assert reply.parts[0] == Reasoning(text="**Plan**\n\nlook first")
    assert [call.id for call in reply.calls] == ["c1", "c2", "c3", "c4"]
    assert reply.usage == Usage(prompt=50, completion=7)
    assert [(m.results[0].text, m.results[0].is_error) for m in session.messages[2:5]] == [
        ("a.py", False),
        ("no such file\n!", True),
        ('{"rows": 2}\nplain', False),
    ]
    assert [m.is_request for m in session.messages] == [True, False, False, False, False, False]
    assert [skipped.reason[:9] for skipped in session.skipped] == ["message 5"]


def test_a_gemini_document_of_another_shape_is_an_error() -> None:
    with pytest.raises(msgspec.DecodeError):
        gemini_cli.read([b'{"sessionId": 4, "messages": []}'])


def gemini_lines(*records: object) -> Session:
    head = {"sessionId": "s", "projectHash": "9c56", "startTime": "2026-11-24T20:18:54.202Z", "kind": "main"}
    return gemini_cli.read_lines(json.dumps(record).encode() + b"\n" for record in (head, *records))


def typed(id: str, text: str, type: str = "user") -> dict[str, object]:
    return {"id": id, "type": type, "content": [{"text": text}]}


def test_the_json_lines_of_gemini_cli_hold_messages_as_they_are_in_the_end() -> None:
    """As 0.61 writes them: the first message comes in a change, a message comes again when its call was answered."""
    begun = {"id": "c1", "name": "ls", "args": {"path": "."}}
    answered = {**begun, "result": [{"functionResponse": {"response": {"output": "a.py"}}}]}
    session = gemini_lines(
        {"$set": {"messages": [typed("m0", "<session_context>\nToday is Tuesday.")], "lastUpdated": "t"}},
        typed("m1", "Fix the pump."),
        {"id": "m2", "type": "gemini", "content": "I look.", "model": "gemini-x", "toolCalls": [begun]},
        {"$set": {"lastUpdated": "t"}},
        {"id": "m2", "type": "gemini", "content": "I look.", "model": "gemini-x", "toolCalls": [answered]},
        {"id": "m3", "type": "info", "content": "updated"},
    )
    assert [m.role for m in session.messages] == ["user", "user", "assistant", "tool"]
    assert [m.is_request for m in session.messages] == [False, True, False, False]
    assert (session.model, session.lines) == ("gemini-x", (2, 3, 4, 4))
    assert session.messages[3].results[0].text == "a.py"


def test_what_gemini_cli_compressed_stays_and_what_it_rewound_goes() -> None:
    session = gemini_lines(
        typed("m1", "Fix the pump. Never push."),
        typed("m2", "Done.", "gemini"),
        {
            "$set": {
                "messages": [typed("m3", "<state_snapshot>The pump is fixed."), typed("m4", "Now the wall.")]
            }
        },
        typed("m5", "Paint it red."),
        {"$rewindTo": "m5"},
        typed("m6", "Paint it blue."),
    )
    said = [
        "Fix the pump. Never push.",
        "Done.",
        "<state_snapshot>The pump is fixed.",
        "Now the wall.",
        "Paint it blue.",
    ]
    assert [m.text for m in session.messages] == said
    assert not gemini_lines(typed("m1", "One."), {"$rewindTo": "gone"}).messages


def test_a_line_of_gemini_cli_that_is_broken_is_told_and_the_rest_is_read() -> None:
    session = gemini_lines(
        typed("m1", "One."),
        {"$set": 4},
        {"id": "m2", "type": "gemini", "toolCalls": "none"},
        typed("m3", "Two."),
    )
    assert [m.text for m in session.messages] == ["One.", "Two."]
    assert sorted(skipped.line for skipped in session.skipped) == [3, 4]


def entry(type: str, **fields: object) -> bytes:
    return jsonl([{"type": type, "timestamp": "2026-03-01T10:00:00Z", **fields}])


def said(role: str, content: object, **fields: object) -> bytes:
    ids = {name: fields.pop(name) for name in ("id", "parentId") if name in fields}
    return entry("message", message={"role": role, "content": content, **fields}, **ids)


def test_pi_messages_and_compactions_are_read() -> None:
    picture = {"type": "image", "data": "iV", "mimeType": "image/png"}
    session = pi.read(
        [
            entry("session", id="s", cwd="/srv/pump"),
            said("user", "go"),
            said(
                "assistant",
                [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "x"},
                    {"type": "text", "text": "I look."},
                    {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
                    {"type": "of tomorrow"},
                ],
                model="m-x",
                usage={"input": 1, "output": 2, "cacheRead": 30, "cacheWrite": 4},
                stopReason="aborted",
            ),
            said("toolResult", [{"type": "text", "text": "no"}, picture], toolCallId="c1", isError=True),
            entry("model_change", provider="p", modelId="m"),
            entry(
                "message", message={"role": "bashExecution", "command": "ls", "output": "a\n", "exitCode": 2}
            ),
            entry("compaction", summary="S", firstKeptEntryIndex=3, tokensBefore=99),
            said("user", []),
            said("assistant", [], usage={"input": 0}),
            entry("compaction", summary="T"),
        ]
    )
    assert spoken(session) == [
        ("user", "go"),
        ("assistant", "I look."),
        ("tool", "c1"),
        ("user", "Ran by the user: ls\na\n\nExit code: 2"),
    ]
    assert session.messages[1].usage == Usage(prompt=35, completion=2)
    assert (session.messages[2].results[0].media, session.messages[2].results[0].is_error) == (
        (Image(media_type="image/png", data="iV"),),
        True,
    )
    assert session.messages[3].synthetic
    assert [(c.from_seq, c.through_seq, c.summary) for c in session.compactions] == [(1, 2, "S"), (3, 4, "T")]
    assert session.compactions[0].receipt.tokens_before == 99
    assert (session.lines, session.cwd, session.model) == ((2, 3, 4, 6), "/srv/pump", "m-x")


def test_the_branch_of_a_pi_session_that_was_left_is_set_apart() -> None:
    session = pi.read(
        [
            entry("session", version=3, id="s", cwd="/srv/pump"),
            said("user", "go", id="a"),
            said("user", "wrong", id="b", parentId="a"),
            entry("branch_summary", id="c", parentId="a", summary="tried a wrong way"),
            entry("custom_message", id="d", parentId="c", content="a note"),
            said("user", "right", id="e", parentId="d"),
            entry("compaction", id="f", parentId="e", summary="S", firstKeptEntryId="e"),
            entry("session_info", id="g", parentId="f", name="Pump"),
        ]
    )
    assert spoken(session) == [
        ("user", "go"),
        ("user", "tried a wrong way"),
        ("user", "a note"),
        ("user", "right"),
    ]
    assert [m.is_request for m in session.messages] == [True, False, False, True]
    assert [m.text for m in session.abandoned] == ["wrong"]
    assert session.compactions[0].through_seq == 3
    assert session.title == "Pump"


def happened(kind: str, **fields: object) -> bytes:
    return jsonl([{"kind": kind, "source": "agent", "timestamp": "2026-03-01T10:00:00", "id": "e", **fields}])


def test_openhands_actions_of_one_reply_are_one_message() -> None:
    thought = [{"type": "text", "text": "I look."}]
    tool = {"name": "bash", "arguments": '{"command":"ls"}'}
    session = openhands.read(
        [
            happened("SystemPromptEvent", system_prompt={"type": "text", "text": "rules"}),
            happened(
                "MessageEvent", llm_message={"role": "user", "content": [{"type": "text", "text": "go"}]}
            ),
            happened("ConversationStateUpdateEvent", key="stats"),
            happened(
                "ActionEvent",
                thought=thought,
                reasoning_content="hm",
                tool_call_id="c1",
                tool_call=tool,
                llm_response_id="r1",
            ),
            happened("ActionEvent", tool_call_id="c2", tool_name="bash", llm_response_id="r1"),
            happened("ActionEvent", tool_call_id="c3", tool_name="bash", llm_response_id="r2"),
            happened(
                "ObservationEvent", tool_call_id="c2", observation={"content": thought, "is_error": False}
            ),
            happened("AgentErrorEvent", tool_call_id="c1", error="unknown tool"),
            happened("UserRejectObservation", tool_call_id="c3", rejection_reason="no"),
            happened(
                "MessageEvent",
                llm_message={"role": "assistant", "content": [{"type": "text", "text": "done"}]},
            ),
        ]
    )
    assert spoken(session) == [
        ("system", "rules"),
        ("user", "go"),
        ("assistant", "I look."),
        ("assistant", "c3"),
        ("tool", "c2"),
        ("tool", "c1"),
        ("tool", "c3"),
        ("assistant", "done"),
    ]
    assert session.messages[2].parts[:2] == (Reasoning(text="hm"), Text(text="I look."))
    assert [call.arguments for call in session.messages[2].calls] == ['{"command":"ls"}', "{}"]
    assert [m.results[0].is_error for m in session.messages if m.results] == [False, True, True]
    assert session.lines == (1, 2, 4, 6, 7, 8, 9, 10)
