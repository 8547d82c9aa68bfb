from __future__ import annotations

import json

import pytest

from autocompact.core.messages import Image
from autocompact.sessions import Session, chat_json
from tests.sessions.claude_lines import Line, jsonl, spoken

pytestmark = pytest.mark.requirement("E8")

CALL: Line = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
CHAT: list[Line] = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "go", "name": "ada"},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "later": 1},
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "done"},
]
SPOKEN = [("system", "rules"), ("user", "go"), ("assistant", "c1"), ("tool", "c1"), ("assistant", "done")]
ANTHROPIC: list[Line] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]},
]


def document(content: object) -> Session:
    raw = json.dumps(content).encode()
    return chat_json.read_list([raw]) if isinstance(content, list) else chat_json.read_object([raw])


def test_openai_messages_are_read_from_a_list_an_object_and_lines_with_their_bytes() -> None:
    raws = [json.dumps(message).encode() for message in CHAT]
    for session in (
        document(CHAT),
        document({"model": "gpt-x", "messages": CHAT}),
        chat_json.read([jsonl([m]) for m in CHAT]),
    ):
        assert spoken(session) == SPOKEN
        assert [message.raw for message in session.messages] == raws
        assert (session.format, session.messages[0].dialect) == ("openai", "openai_chat")
    assert document({"model": "gpt-x", "messages": CHAT}).model == "gpt-x"
    assert chat_json.read([jsonl([m]) for m in CHAT]).lines == (1, 2, 3, 4, 5)


def test_anthropic_messages_are_told_by_their_blocks_or_their_system_prompt() -> None:
    session = document(ANTHROPIC)
    assert (session.format, spoken(session)) == (
        "anthropic",
        [("user", "go"), ("assistant", "c1"), ("tool", "c1")],
    )
    session = document({"system": [{"type": "text", "text": "rules"}], "messages": ANTHROPIC[:1]})
    assert (session.format, spoken(session)) == ("anthropic", [("system", "rules"), ("user", "go")])
    assert [message.seq for message in session.messages] == [1, 2]


def test_plain_messages_and_pictures_of_openai_are_openai() -> None:
    picture: Line = {"type": "image_url", "image_url": {"url": "https://x/y.png"}}
    session = document([{"role": "user", "content": [picture]}, {"role": "strange"}, {"role": 5}])
    assert session.format == "openai"
    assert [type(part) for part in session.messages[0].parts] == [Image]
    assert len(session.skipped) == 2


def test_the_reply_of_a_request_log_is_the_last_message() -> None:
    response: Line = {"model": "m", "choices": [{"message": CHAT[-1]}]}
    session = document({"messages": CHAT[:-1], "response": response})
    assert (spoken(session), session.model) == (SPOKEN, "m")
    assert spoken(document({"messages": CHAT[:-1], "response": "lost"})) == SPOKEN[:-1]


def test_swe_agent_results_name_their_call_and_observations_are_not_the_persons_words() -> None:
    history: list[Line] = [
        {"role": "user", "content": "fix it", "message_type": "demonstration", "is_demo": True},
        {"role": "user", "content": "fix it"},
        {**CHAT[2], "message_type": "action"},
        {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"]},
        {"role": "user", "content": "$ ls", "message_type": "observation"},
    ]
    session = document({"history": history, "trajectory": [{"action": "ls"}]})
    assert spoken(session)[2:4] == [("assistant", "c1"), ("tool", "c1")]
    assert [message.is_request for message in session.messages] == [False, True, False, False, False]
    assert json.loads(session.messages[3].raw or b"")["tool_call_id"] == "c1"


def test_the_notices_of_claude_science_are_nobodys_words_and_its_summaries_are_named() -> None:
    lines: list[Line] = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "[Auditor] Mend it."}],
            "_harness_notice": True,
        },
        {"role": "user", "content": [{"type": "text", "text": "go"}], "_uuid": "a"},
        {"role": "user", "content": "[rolling-summary 7u]", "_rolling_summary": {"text": "went", "level": 1}},
        *ANTHROPIC[1:],
    ]
    session = chat_json.read([jsonl([line]) for line in lines])
    assert spoken(session)[:3] == [("user", "[Auditor] Mend it."), ("user", "go"), ("assistant", "c1")]
    assert [message.is_request for message in session.messages] == [False, True, False, False]
    [skipped] = session.skipped
    assert (skipped.line, skipped.reason) == (
        3,
        "a summary by Claude Science, of messages that are all there",
    )


def test_the_task_of_a_swe_agent_session_is_a_request_and_nothing_that_its_editor_shows() -> None:
    status = "\n\n(Open file: n/a)\n(Current directory: /repo)\nbash-$"
    history: list[Line] = [
        {"role": "system", "content": "SETTING: You are an autonomous programmer.", "agent": "main"},
        {
            "role": "user",
            "content": "Here is a demonstration of how to correctly accomplish this task.",
            "agent": "main",
        },
        {
            "role": "user",
            "content": f"We're currently solving the following issue: it leaks.{status}",
            "agent": "main",
        },
        {"role": "assistant", "content": "I look.\n```\nls\n```", "agent": "main", "action": "ls"},
        {"role": "user", "content": f"pump.py{status}", "agent": "main"},
    ]
    for kinds in ((None,) * 5, ("system_prompt", "demonstration", "observation", "action", "observation")):
        marked = [
            line if kind is None else {**line, "message_type": kind}
            for line, kind in zip(history, kinds, strict=True)
        ]
        session = document({"history": marked})
        assert [message.is_request for message in session.messages] == [False, False, True, False, False]


def test_the_first_of_several_conversations_is_the_session() -> None:
    one: Line = {"task_id": 1, "traj": CHAT}
    two: Line = {"task_id": 2, "traj": ANTHROPIC}
    for session in (document([one, two, {"task_id": 3}]), chat_json.read([jsonl([one]), jsonl([two])])):
        assert spoken(session) == SPOKEN
        assert [len(chain) for chain in session.sidechains.values()] == [3]
        assert [skipped.line for skipped in session.skipped] == [0]


def test_lines_that_are_no_messages_are_reported() -> None:
    session = chat_json.read([jsonl(CHAT[:2]), b'{"other": 1}\n', b"3\n", b'{"messages": []}\n'])
    assert len(session.messages) == 2
    assert [skipped.line for skipped in session.skipped] == [2, 3, 4]
    assert chat_json.read([b'{"other": 1}\n']).messages == ()


OF_AGENTS: list[tuple[object, str]] = [
    ({"environment": "e", "trajectory": [], "history": CHAT}, "swe_agent"),
    ({"trajectory_format": "mini-swe-agent-1.1", "messages": CHAT, "info": {}}, "swe_agent"),
    ([{"task_id": 1, "reward": 0.0, "info": {}, "traj": CHAT}], "tau_bench"),
    (
        {"messages": CHAT, "kwargs": {}, "context_window": 200_000, "cost": 0.1, "latency_sec": 2.0},
        "openhands",
    ),
    ({"messages": CHAT, "cost": 0.1}, "openai"),
    ({"messages": ANTHROPIC}, "anthropic"),
    (CHAT, "openai"),
]


@pytest.mark.parametrize(("content", "format"), OF_AGENTS)
def test_an_agent_that_keeps_chat_messages_is_called_by_its_name(content: object, format: str) -> None:
    assert document(content).format == format
