from __future__ import annotations

import pytest

from tests.core.talk import Talk


def test_a_file_says_what_happened_to_it() -> None:
    talk = Talk().calls("Read", {"file_path": "a.py"}).gets("x")
    talk.calls("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}).gets("ok")
    talk.calls("Edit", {"file_path": "a.py", "old_string": "2", "new_string": "3"}).gets("ok")
    talk.calls("Read", {"file_path": "b.py"}).gets("y")
    talk.calls("Write", {"file_path": "c.py", "content": "z"}).gets("ok").runs("rm c.py", "")

    assert [(e.key, e.text, e.seq, e.state) for e in talk.entries("file")] == [
        ("a.py", "a.py — edited 2×", 5, "done"),
        ("b.py", "b.py — read", 7, ""),
        ("c.py", "c.py — created, deleted", 11, "done"),
    ]


def test_a_failed_edit_touched_nothing() -> None:
    talk = Talk().calls("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"})
    talk.gets("String to replace not found", is_error=True)

    assert talk.entries("file") == []


def test_a_command_is_kept_with_the_outcome_of_its_last_run() -> None:
    talk = (
        Talk().runs("pytest -q", "2 failed, 3 passed\nE  assert 1 == 2").runs("pytest -q", "5 passed in 1s")
    )
    talk.runs("make build", "Exit code 2\nerror: no rule", is_error=True).runs("git status", "clean")
    talk.calls("Bash", {"command": "sleep 9"})

    assert [(e.text, e.state) for e in talk.entries("command")] == [
        ("`pytest -q` 2× — ok: 5 passed in 1s", "done"),
        ("`make build` — failed (2): error: no rule", "open"),
    ]


def test_a_failure_without_words_and_a_long_command_are_short() -> None:
    talk = Talk().runs("make " + "x" * 500, "", is_error=True)

    (command,) = talk.entries("command")
    assert command.text.endswith("…` — failed")
    assert len(command.text) < 200


@pytest.mark.requirement("E1")
def test_an_error_stays_open_until_the_same_command_succeeds() -> None:
    talk = Talk().runs("pytest tests/a.py", "1 failed\nE  assert 1 == 2")
    assert [e.text for e in talk.entries("error")] == ["pytest tests/a.py: E  assert 1 == 2"]

    talk.runs("pytest tests/a.py", "1 passed")
    assert talk.entries("error") == []


def test_a_success_on_more_settles_an_error_on_less() -> None:
    talk = Talk().runs("go test ./... -run TestX", "--- FAIL: TestX").runs("go vet ./...", "")
    assert len(talk.entries("error")) == 1

    talk.runs("go test ./...", "ok")
    assert talk.entries("error") == []


def test_a_tool_error_is_settled_by_success_on_the_same_file() -> None:
    edit = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    talk = Talk().calls("Edit", edit).gets("String to replace was not found", is_error=True)
    assert [e.text for e in talk.entries("error")] == ["Edit a.py: String to replace was not found"]

    talk.calls("Edit", edit).gets("ok")
    assert talk.entries("error") == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("grep x y", "Exit code 1"),
        ("make", "The user doesn't want to proceed with this tool use."),
        ("make", "[Request interrupted by user]"),
    ],
)
def test_what_is_no_error_is_none(command: str, output: str) -> None:
    assert Talk().runs(command, output, is_error=True).entries("error") == []


def test_an_old_error_of_a_look_is_needed_less_than_a_recent_failed_check() -> None:
    talk = Talk().runs("curl x", "Exit code 7", is_error=True)
    for _ in range(40):
        talk.runs("ls", "")
    talk.runs("pytest", "1 failed")
    old, recent = talk.entries("error")

    assert old.need < 0.1 < recent.need


def test_only_the_latest_todo_list_counts() -> None:
    def todos(*items: tuple[str, str]) -> dict[str, object]:
        return {"todos": [{"content": text, "status": status} for text, status in items]}

    talk = Talk().calls("TodoWrite", todos(("old", "pending"))).gets("ok")
    talk.calls("TodoWrite", todos(("a", "completed"), ("b", "in_progress"), ("c", "cancelled"), ("", "x")))
    talk.gets("ok").calls("TodoWrite", todos(("failed", "pending"))).gets("no", is_error=True)

    assert [(e.text, e.state) for e in talk.entries("todo")] == [
        ("a", "done"),
        ("b ←", "open"),
        ("c", "withdrawn"),
    ]


def test_a_plan_of_another_agent_is_a_todo_list_too() -> None:
    talk = Talk().calls("update_plan", {"plan": [{"step": "a", "status": "completed"}, {"step": "b"}, "x"]})

    assert [(e.text, e.state, e.state_seq) for e in talk.entries("todo")] == [("a", "done", 1), ("b", "", 0)]


def test_tasks_made_one_by_one_have_their_last_status() -> None:
    talk = (
        Talk()
        .calls("TaskCreate", {"subject": "a"})
        .gets("Task #1")
        .calls("TaskCreate", {"subject": "b"})
        .gets("")
    )
    talk.calls("TaskUpdate", {"taskId": "1", "status": "completed"}).gets("")
    talk.calls("TaskUpdate", {"taskId": "9", "status": "completed"}).gets("")

    assert [(e.text, e.state, e.seq, e.state_seq) for e in talk.entries("todo")] == [
        ("a", "done", 1, 5),
        ("b", "open", 3, 3),
    ]


STARTED = "Command running in background with ID: b1f"


def test_a_background_process_runs_until_it_is_seen_to_end() -> None:
    talk = Talk().calls("Bash", {"command": "npm run dev", "run_in_background": True}).gets(STARTED)
    assert [e.text for e in talk.entries("running")] == ["npm run dev (id b1f)"]

    talk.calls("BashOutput", {"bash_id": "b1f"}).gets("<status>running</status>")
    assert len(talk.entries("running")) == 1

    talk.calls("KillShell", {"shell_id": "b1f"}).gets("Successfully killed")
    assert talk.entries("running") == []


def test_a_sub_agent_runs_until_its_result_or_a_notice_comes() -> None:
    talk = Talk().calls("Task", {"description": "Find callers", "prompt": "x"}).gets("Launched.\nagentId: a7")
    talk.calls("Task", {"description": "Find tests", "prompt": "y"}).gets("Launched.\nagentId: a8")
    talk.calls("Task", {"prompt": "z"})
    assert [e.text for e in talk.entries("running")] == ["Find callers (id a7)", "Find tests (id a8)", "Task"]

    talk.calls("TaskOutput", {"task_id": "a7"}).gets("<status>completed</status>")
    talk.agent("<task-notification><task-id>a8</task-id><status>completed</status></task-notification>")
    talk.program("<task-notification><task-id>a8</task-id><status>running</status></task-notification>")
    assert [e.text for e in talk.entries("running")] == ["Find tests (id a8)", "Task"]

    talk.program("<task-notification><task-id>a8</task-id><status>completed</status></task-notification>")
    assert [e.text for e in talk.entries("running")] == ["Task"]
