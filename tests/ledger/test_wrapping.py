from __future__ import annotations

import json

import pytest

from autocompact.ledger.wrapping import (
    finished,
    launched,
    ordered,
    printed,
    reported,
    task_notices,
    unnumbered,
)
from tests.core.talk import Talk


def test_a_note_that_is_never_closed_is_part_of_the_output() -> None:
    text = "<system-reminder>one " * 9

    assert unnumbered(text) == text


def test_line_numbers_and_reminders_are_no_part_of_an_output() -> None:
    assert unnumbered("     1→one\n    12→two<system-reminder>x</system-reminder>\n") == "one\ntwo\n"
    assert unnumbered("1\tone\n2\ttwo") == "one\ntwo"
    assert unnumbered("in 1\tone") == "in 1\tone"


def test_notices_name_tasks_with_their_status() -> None:
    notice = "<task-notification>\n<task-id> a1 </task-id>\n<summary>x</summary><status>completed</status>"

    assert task_notices(f"{notice}<task-notification><task-id>a2</task-id><task-notification>") == [
        ("a1", "completed", "", None)
    ]
    assert task_notices("<task-id>a1</task-id><status>completed</status>") == []
    reported = f"{notice}\n<result>\nIt races.\n</result>\n<usage>3</usage></task-notification>"
    assert task_notices(reported) == [("a1", "completed", "It races.", None)]
    ended = notice.replace("x</summary>", 'Command "make" failed with exit code 2</summary>')
    assert [notice.exit for notice in task_notices(ended)] == [2]


def test_orders_of_a_hook_and_of_a_lead_are_read_without_their_wrapping() -> None:
    assert ordered("Stop hook feedback: Run the tests.") == "Run the tests."
    assert ordered("Fix it.") == ""
    lead = '<teammate-message teammate_id="lead">{}</teammate-message>'
    assert ordered(lead.format("Fix it.") + lead.format('{"type": "idle"}')) == "Fix it."
    assert ordered('<teammate-message teammate_id="lead">Fix it.') == "Fix it."
    assert ordered('<hook_prompt hook_run_id="1">Run the tests.</hook_prompt>') == "Run the tests."


def test_what_a_reviewer_of_the_program_wants_is_an_order() -> None:
    found = '[Auditor] <verification_findings starts="0">\nThe row is wrong.\n\nMend it.\n</verification_findings>'
    assert ordered(found) == "The row is wrong.\n\nMend it."
    assert ordered("[Auditor]s want to know") == ""
    assert ordered("[Auditor] role must not see prices") == ""
    assert ordered("[System] Your execution plan has been approved. Follow it.").startswith(
        "Your execution plan"
    )
    assert ordered("[System] Your plan was read.") == ""


@pytest.mark.parametrize(
    "result, text",
    [
        ('{"stdout": "one\\ntwo\\n", "stderr": "", "exit_code": 0}', "Exit code 0\none\ntwo"),
        (
            '{"stdout": "", "stderr": "no such file", "exit_code": 2, "host": "a"}',
            "Exit code 2\nno such file",
        ),
        ('{"stdout": "one", "interrupted": false}', "one"),
        ('{"output": "one", "metadata": {"exit_code": 1}}', "one"),
        ('{"content": "x = 1", "filename": "a.py", "total_lines": 1}', "x = 1"),
        (
            '{"content": [{"type": "text", "text": "one"}, {"type": "image", "data": "x"}], "isError": false}',
            "one",
        ),
        ('[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]', "one\ntwo"),
        ('{"error": "not found", "success": false}', "error: not found"),
        ('{"success": false, "output": "no pump"}', "error: no pump"),
        ('{"text": "no pump", "status": "failed"}', "error: no pump"),
        ('{"output": "no pump", "exit_code": true}', "no pump"),
    ],
)
def test_a_result_in_json_is_read_as_what_was_printed(result: str, text: str) -> None:
    assert printed(result) == text


@pytest.mark.parametrize(
    "result",
    [
        "one",
        '{"stdout": ',
        '{"output": "one", "user": 7}',
        '{"output": "one", "text": "two"}',
        '{"content": 7}',
        '{"content": []}',
        '{"content": [7]}',
        '{"content": [{"type": "image"}]}',
        '{"success": true}',
        '{"error": ""}',
        '[{"type": "text"}, 7]',
        '[{"type": "error", "text": "comparison to None", "line": 31}]',
        '[{"type": "text", "text": "comparison", "file": "a.py"}]',
        '{"result": "x", "error": {"message": "refused"}}',
        '[{"type": "text", "text": 7}]',
        '{"a": "\ud800"}',
        "{" * 99,
        '[{"type": ' * 9_999,
    ],
)
def test_any_other_json_is_what_a_program_printed(result: str) -> None:
    assert printed(result) == result


def test_that_an_agent_was_started_is_told_from_its_report() -> None:
    notice = "Async agent launched successfully.\nagentId: a02cdeb (for you)\nThe agent is working."
    assert launched(notice) == "a02cdeb"
    assert launched("Agent started in the background.") == "agent"
    assert launched('{"agent_id":"worker-1"}') == "worker-1"
    assert launched("The cause is `parse_line`.") == ""
    assert launched(f"{'The parser drops a column. ' * 20}\nagentId: a02cdeb (to resume it)") == ""


def test_a_report_is_read_without_what_the_client_puts_around_it() -> None:
    told = "<status>completed</status>\n<output>\nThe cause is `parse_line`.\n</output>"
    assert reported(told) == "The cause is `parse_line`."
    assert reported(told.replace("completed", "running")) == ""
    assert reported("The cause is `parse_line`.") == "The cause is `parse_line`."


_LONG = " The race comes from `close()`, which runs before `flush()`." * 9


@pytest.mark.parametrize(
    "report",
    [
        "Task completed: the dev server is running on port 3000. The race comes from `close()`.",
        "Task completed: the dev server is running on port 3000." + _LONG,
        "Agent report: the worker is running twice.",
        "Agent report: the worker is running twice." + _LONG,
        "Subagent finished: the server was started. agentId: a02cdeb",
        "Task finished.\nagentId: a02cdeb",
        "The agent pool is running twice." + _LONG,
        "Agent workers are running twice." + _LONG,
    ],
)
def test_a_report_that_says_that_something_runs_is_no_launch(report: str) -> None:
    assert launched(report) == ""


@pytest.mark.parametrize(
    "notice, agent",
    [
        ("Agent started; it reports when it has finished.", "agent"),
        ("Task 'report-writer' is running in the background.", "agent"),
        ("Async agent launched successfully.\nagentId: a02cdeb" + _LONG, "a02cdeb"),
    ],
)
def test_a_launch_is_known_by_its_id_or_by_its_shortness(notice: str, agent: str) -> None:
    assert launched(notice) == agent


def test_what_claude_code_writes_below_a_report_is_no_part_of_it() -> None:
    below = "\nagentId: aa84 (for resuming to continue this agent's work if needed)\n<usage>total_tokens: 5\ntool_uses: 2</usage>"
    assert finished(f"Two callers.{below}") == "Two callers."
    assert finished(f"Two callers.{below.partition('<usage>')[0]}") == "Two callers."
    assert finished('{"task_name":"lane/review"}') == ""
    assert finished('{"task_name":"lane/review","found":{"a":1}}') != ""
    anew = "\nagentId: a04 (use SendMessage with to: 'a04' to continue this agent)\n<usage>total_tokens: 5</usage>"
    assert finished(f"Two callers.{anew}") == "Two callers."
    for whole in ("Two callers.", f"Two.{below} And more.", "agentId: aa84 is what the hook gets"):
        assert finished(whole) == whole


def test_what_a_tool_hands_on_in_json_is_understood_and_its_secrets_are_hidden() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nabcdEFGH0123456789\n-----END PRIVATE KEY-----"
    failed = {"stdout": f"{key}\nE  assert pump.level == 3", "stderr": "", "exit_code": 1}
    talk = Talk().user("Mend the pump.").runs("pytest tests/test_pump.py", json.dumps(failed))
    talk.runs("python3 sum.py", json.dumps({"stdout": "level 3\nrest 7\n", "exit_code": 0}))

    failure, total = talk.entries("command")
    assert (failure.state, failure.text) == ("open", "`pytest tests/test_pump.py` — failed (1)")
    assert "E assert pump.level == 3" in talk.entries("error")[0].text
    assert total.text == "`python3 sum.py` — ok → level 3 / rest 7"
    assert "MIIEvQ" not in repr(talk.ledger)


def test_a_secret_in_what_is_not_told_of_a_result_is_hidden_where_it_is_repeated() -> None:
    result = {
        "content": [{"type": "text", "text": "the account was made"}],
        "structuredContent": {"password": "Kx7pQ2vLm9Zt4Wd"},
    }
    talk = Talk().user("Make an account.").calls("make_account", {}).gets(json.dumps(result))
    talk.agent("The account is there because the first page takes Kx7pQ2vLm9Zt4Wd for the admin.")
    assert talk.entries("finding")
    assert "Kx7pQ2vLm9Zt4Wd" not in repr(talk.ledger)
