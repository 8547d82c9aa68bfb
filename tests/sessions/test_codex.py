from __future__ import annotations

import json

import pytest

from autocompact.compaction.record import Standing
from autocompact.core.messages import Image, Opaque, Reasoning, Usage
from autocompact.sessions import Session, codex
from tests.sessions.claude_lines import Line, spoken

pytestmark = pytest.mark.requirement("E8")


def line(kind: str, **payload: object) -> bytes:
    entry = {"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload}
    return json.dumps(entry).encode() + b"\n"


def item(kind: str, **payload: object) -> bytes:
    return line("response_item", type=kind, **payload)


def message(role: str, *texts: str) -> bytes:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def function(id: str, **fields: object) -> bytes:
    return item("function_call", name="shell", arguments='{"command":["ls"]}', call_id=id, **fields)


def output(id: str, text: object) -> bytes:
    return item("function_call_output", call_id=id, output=text)


def read(*lines: bytes) -> Session:
    return codex.read(lines)


def test_screen_events_are_not_read_a_second_time() -> None:
    session = read(
        line("session_meta", id="s", cwd="/srv/pump"),
        line("turn_context", cwd="/other", model="gpt-x"),
        message("user", "go"),
        line("event_msg", type="user_message", message="go"),
        item("reasoning", summary=[{"type": "summary_text", "text": "plan"}], encrypted_content="abc"),
        line("event_msg", type="agent_reasoning", text="plan"),
        message("assistant", "I look."),
        function("c1", namespace="mcp__x"),
        line(
            "event_msg",
            type="token_count",
            info={"last_token_usage": {"input_tokens": 90, "output_tokens": 4}},
        ),
        output("c1", "a.py"),
        line("event_msg", type="token_count", info=None),
        line("response_item_of_tomorrow"),
    )
    assert spoken(session) == [("user", "go"), ("assistant", "I look."), ("tool", "c1")]
    reply = session.messages[1]
    assert isinstance(reply.parts[0], Reasoning)
    assert reply.parts[0].text == "plan"
    assert json.loads(reply.parts[0].raw or b"")["encrypted_content"] == "abc"
    assert (reply.calls[0].name, reply.calls[0].arguments) == ("mcp__xshell", '{"command":["ls"]}')
    assert (reply.usage, reply.model) == (Usage(prompt=90, completion=4), "gpt-x")
    assert (session.lines, session.cwd, session.model) == ((3, 5, 10), "/srv/pump", "gpt-x")


def test_the_window_is_the_one_recorded_last() -> None:
    session = read(
        message("user", "go"),
        line("event_msg", type="task_started", model_context_window=121_600),
        line("event_msg", type="token_count", info={"model_context_window": 258_400}),
        line("event_msg", type="token_count", info=None),
    )
    assert session.window == 258_400


def test_only_a_leading_developer_message_is_the_system_prompt() -> None:
    session = read(message("developer", "rules"), message("user", "go"), message("developer", "new rules"))
    assert [(m.role, m.synthetic) for m in session.messages] == [
        ("system", False),
        ("user", False),
        ("user", True),
    ]


def test_what_codex_puts_in_the_users_place_is_not_the_persons_words() -> None:
    session = read(
        message(
            "user",
            "# AGENTS.md instructions for /srv/pump\n\nbe good",
            "<environment_context>\n x\n</environment_context>",
        ),
        message("user", "<masked_words>\n x\n</masked_words>"),
        message("user", "<turn_aborted>\nstopped"),
        message("user", "<skill>\n<name>x</name></skill>"),
        message("user", "<div>is this</div> valid?"),
    )
    assert [m.is_request for m in session.messages] == [False, False, False, False, True]


def test_outputs_of_all_shapes_are_text() -> None:
    session = read(
        *(function(f"c{number}") for number in range(7)),
        output("c0", json.dumps({"output": "fine", "metadata": {"exit_code": 0}})),
        output("c1", json.dumps({"output": "broke", "metadata": {"exit_code": 2}})),
        output("c2", "Chunk ID: a\nWall time: 1\nProcess exited with code 1\nOutput:\nno"),
        output("c3", "Exit code: 0\nOutput:\nExit code: 9"),
        output("c4", '{"unrelated": 1}'),
        output(
            "c5",
            [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:image/png;base64,iV"},
            ],
        ),
        output("c6", None),
    )
    results = [m.results[0] for m in session.messages if m.results]
    assert [(r.text, r.is_error) for r in results] == [
        ("fine", False),
        ("Exit code: 2\nbroke", True),
        ("Chunk ID: a\nWall time: 1\nProcess exited with code 1\nOutput:\nno", True),
        ("Exit code: 0\nOutput:\nExit code: 9", False),
        ('{"unrelated": 1}', False),
        ("see", False),
        ("", False),
    ]
    assert results[5].media == (Image(media_type="image/png", data="iV"),)


def test_calls_of_all_kinds_are_calls() -> None:
    session = read(
        item("custom_tool_call", name="apply_patch", input="*** Begin Patch\n", call_id="c1"),
        item("local_shell_call", action={"command": ["ls"]}, call_id="c2"),
        item("tool_search_call", arguments={"query": "x"}, call_id="c3"),
        item("web_search_call", action={"type": "search"}),
        item("custom_tool_call_output", call_id="c1", output="ok"),
        item("tool_search_output", call_id="c3", tools=[{"name": "t"}]),
    )
    reply = session.messages[0]
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("apply_patch", "*** Begin Patch\n"),
        ("local_shell", '{"command": ["ls"]}'),
        ("tool_search", '{"query": "x"}'),
    ]
    assert isinstance(reply.parts[3], Opaque)
    assert [m.results[0].text for m in session.messages[1:]] == ["ok", '[{"name": "t"}]']


def test_pictures_of_the_user_come_from_data_and_from_the_web() -> None:
    content: list[Line] = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": "https://x/y.png"},
    ]
    session = read(item("message", role="user", content=content))
    assert session.messages[0].parts[1] == Image(url="https://x/y.png")


def test_a_compaction_keeps_the_messages_it_names_and_says_that_its_summary_is_sealed() -> None:
    history: list[Line] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "again"}]},
        {"type": "compaction", "encrypted_content": "abc"},
    ]
    session = read(
        message("developer", "rules"),
        message("user", "again"),
        message("assistant", "done"),
        message("user", "again"),
        line("compacted", message="", replacement_history=history),
        message("user", "next"),
        line("compacted", message="A plain summary"),
    )
    assert [(c.id, c.from_seq, c.through_seq, c.keep, c.summary) for c in session.compactions] == [
        ("line-5", 1, 4, (4,), codex.ENCRYPTED),
        ("line-7", 5, 5, (), "A plain summary"),
    ]


def test_instructions_that_a_compaction_keeps_stand_apart_from_what_was_said() -> None:
    rules = "# AGENTS.md instructions for /srv/pump\n\n<INSTRUCTIONS>\nNever push.\n</INSTRUCTIONS>"
    place = "<environment_context>\n x\n</environment_context>"
    kept = [{"type": "input_text", "text": text} for text in (rules, place)]
    session = read(
        message("user", rules, place),
        message("user", "go"),
        message("assistant", "done"),
        line(
            "compacted",
            message="S",
            replacement_history=[{"type": "message", "role": "user", "content": kept}],
        ),
    )
    (compaction,) = session.compactions
    assert (compaction.standing, compaction.keep) == ((Standing(seq=1, parts=(0, 1)),), ())


def test_turns_that_were_rolled_back_are_set_apart() -> None:
    session = read(
        message("user", "one"),
        message("assistant", "did one"),
        message("user", "two"),
        line("compacted", message="S"),
        message("assistant", "did two"),
        line("event_msg", type="thread_rolled_back", num_turns=1),
        line("event_msg", type="thread_rolled_back", num_turns=9),
        message("user", "three"),
    )
    assert [m.text for m in session.messages] == ["one", "did one", "three"]
    assert [m.text for m in session.abandoned] == ["two", "did two"]
    assert [c.status for c in session.compactions] == ["undone"]
    assert session.lines == (1, 2, 8)


def test_a_payload_of_another_shape_is_reported() -> None:
    session = read(message("user", "go"), line("response_item", type="message", role="user", content=7))
    assert [skipped.line for skipped in session.skipped] == [2]
