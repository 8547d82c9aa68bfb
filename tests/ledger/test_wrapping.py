from __future__ import annotations

import pytest

from autocompact.ledger.wrapping import (
    finished,
    launched,
    ordered,
    reported,
    task_notices,
    unnumbered,
)


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
        ("a1", "completed", "")
    ]
    assert task_notices("<task-id>a1</task-id><status>completed</status>") == []
    reported = f"{notice}\n<result>\nIt races.\n</result>\n<usage>3</usage></task-notification>"
    assert task_notices(reported) == [("a1", "completed", "It races.")]


def test_orders_of_a_hook_and_of_a_lead_are_read_without_their_wrapping() -> None:
    assert ordered("Stop hook feedback: Run the tests.") == "Run the tests."
    assert ordered("Fix it.") == ""
    lead = '<teammate-message teammate_id="lead">{}</teammate-message>'
    assert ordered(lead.format("Fix it.") + lead.format('{"type": "idle"}')) == "Fix it."
    assert ordered('<teammate-message teammate_id="lead">Fix it.') == "Fix it."
    assert ordered('<hook_prompt hook_run_id="1">Run the tests.</hook_prompt>') == "Run the tests."


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
    for whole in ("Two callers.", f"Two.{below} And more.", "agentId: aa84 is what the hook gets"):
        assert finished(whole) == whole
