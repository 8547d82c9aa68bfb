"""What did not work here, and what did instead."""

from __future__ import annotations

import pytest

from autocompact.core.messages import ToolCall, ToolResult
from autocompact.ledger.account import account
from tests.core.talk import Talk, Words


def told(talk: Talk) -> list[str]:
    return [entry.text for entry in talk.entries("finding") if entry.key.startswith("obstacle ")]


def test_a_call_that_was_refused_is_told_with_what_worked_instead() -> None:
    talk = Talk().user("Publish it.")
    talk.runs("make check && stack push --force", "unknown flag: --force", is_error=True)
    talk.runs("git status", "clean").runs("make check && stack push", "pushed")
    assert told(talk) == [
        "`make check && stack push --force` — unknown flag: --force; then ok: `make check && stack push`"
    ]
    text = account(talk.ledger, budget=400, counter=Words())
    assert "## What did not work\n- `make check && stack push --force` — unknown flag: --force; then ok: `make check && stack push` (m2)" in text  # fmt: skip
    assert talk.entries("error") == []


@pytest.mark.parametrize(
    ("command", "output", "reason"),
    [
        ("git push origin main", " ! [remote rejected] main -> main (protected branch)\nerror: failed to push some refs", "! [remote rejected] main -> main (protected branch)"),
        ("cargo test pump --lib", "error: no library targets found in package `pump`", "error: no library targets found in package `pump`"),
        ("curl -s https://a.example", "The action was redirected: use the tool fetch", "The action was redirected: use the tool fetch"),
        # a test that fails is the code's matter, however it puts it, and so is a look that finds nothing
        ("pytest -q", "\n".join([*(f"line {n}" for n in range(20)), "E  assert 'denied' == 'granted'", "1 failed"]), ""),
        ("pytest -q", "1 failed, 2 passed", ""),
        ("go test ./...", "pump_test.go:88: the second session is blocked\nFAIL", ""),
        ("make run", "\n".join([*(f"ok {n}" for n in range(20)), "What I found in the end is that the tool exits because of an unknown command", "failed"]), ""),
        ("ls /srv/a", "ls: cannot open directory '/srv/a': Permission denied", ""),
        ("make", "The user doesn't want to proceed with this tool use: denied", ""),
        # among much else only that a program does not take the call
        ("make && tool push --now", "\n".join([*(f"ok {n}" for n in range(20)), "access denied", "Error: unknown option '--now'", "Usage: tool push"]), "Error: unknown option '--now'"),
    ],
)  # fmt: skip
def test_what_refuses_a_call_is_told_from_what_is_wrong_with_the_code(
    command: str, output: str, reason: str
) -> None:
    talk = Talk().user("Go.").runs(command, output, is_error=True)
    assert told(talk) == ([f"`{command}` — {reason}"] if reason else [])


def test_a_tool_that_cannot_do_it_is_told_and_an_edit_that_did_not_match_is_not() -> None:
    talk = Talk().user("Go.")
    talk.calls("WebFetch", {"url": "https://a.example/docs", "prompt": "Read it."})
    talk.gets("Unable to verify if domain a.example is safe to fetch.", is_error=True)
    talk.calls("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"})
    talk.gets("Invalid argument: old_string not found", is_error=True)
    talk.calls("Read", {"file_path": "b.py"}).gets("Permission denied", is_error=True)
    assert told(talk) == [
        "`WebFetch https://a.example/docs` — Unable to verify if domain a.example is safe to fetch."
    ]


def test_the_same_command_again_is_no_other_way_and_of_one_reason_the_last_is_told() -> None:
    talk = Talk().user("Go.")
    for _ in range(2):
        talk.runs("gh pr merge 3", "HTTP 403: rate limit exceeded", is_error=True)
    talk.runs("gh auth status", "ok").runs("gh pr merge 3", "merged")
    assert told(talk) == ["`gh pr merge 3` — HTTP 403: rate limit exceeded"]
    assert [entry.seq for entry in talk.entries("finding")] == [4]
    for number in range(20):
        talk.runs(f"tool{number} go", f"unknown command: go{number}", is_error=True)
    assert len(told(talk)) == 12


def test_what_goes_on_or_was_never_answered_is_no_obstacle() -> None:
    talk = (
        Talk().user("Go.").runs("npm run dev", "Command running in background with ID: b1\nPermission denied")
    )
    talk.calls("Bash", {"command": "tool --now"})
    assert told(talk) == []


@pytest.mark.parametrize(
    ("refused", "output", "later"),
    [
        ("npm run deploy", "Error: HTTP 403 Forbidden", "npm run lint"),
        ("gh pr merge 3", "Merging is blocked by branch protection", "gh pr view 3"),
        ("make check && stack push", "stack: permission denied", "make check"),
        ("uv run alembic upgrade head", "connection refused", "uv run ruff check ."),
        ("aws s3 cp a s3://b", "Access denied", "aws s3 ls"),
        ("git -C /srv/a gc --auto", "fatal: unable to write", "git -C /srv/a count-objects"),
        ("curl -s https://a.example", "HTTP 403", "curl -s https://b.example"),
        ("git push origin main", "! [remote rejected] main (protected branch)", "git push --help"),
        ("ssh prod 'sudo systemctl restart api'", "Permission denied (publickey)", "ssh prod 'uptime'"),
    ],
)
def test_what_does_another_thing_with_the_same_program_is_no_other_way(
    refused: str, output: str, later: str
) -> None:
    talk = Talk().user("Go.").runs(refused, output, is_error=True).runs(later, "fine")
    assert told(talk) == [f"`{refused}` — {output}"]
    # the ledger of errors settles steps of git by itself
    assert len(talk.entries("error")) == (0 if refused.startswith("git ") else 1)


def test_who_is_reached_in_another_way_did_the_same() -> None:
    refused = "me@web: Permission denied (publickey)."
    talk = Talk().user("Go.").runs("ssh web 'uptime -p'", refused, is_error=True)
    talk.runs("ssh root@web 'uptime -p'", "up 3 days")
    assert told(talk) == [f"`ssh web 'uptime -p'` — {refused}; then ok: `ssh root@web 'uptime -p'`"]
    talk.runs("TOKEN=x deploy push web", "HTTP 401", is_error=True).runs("deploy push web --as me", "pushed")
    assert told(talk)[1] == "`TOKEN=x deploy push web` — HTTP 401; then ok: `deploy push web --as me`"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q", "1 failed, 403 passed in 12s"),
        ("python -m unittest", "Ran 401 tests in 3s\nFAILED (failures=1)"),
        ("npx tsc", "TS2345: Argument of type 'x' is not supported"),
        ("npm run test", "AssertionError: value is not supported"),
        ("cargo test", "connection refused\ntest result: FAILED. 0 passed; 1 failed"),
    ],
)
def test_a_check_that_fails_is_no_refusal_in_whatever_words(command: str, output: str) -> None:
    talk = Talk().user("Go.").runs(command, output, is_error=True).runs(f"{command} parser", "ok")
    assert told(talk) == []
    assert len(talk.entries("error")) == 1


def test_an_error_that_was_answered_beside_a_refusal_stays_open() -> None:
    talk = Talk().user("Go.")
    talk.add(
        "assistant",
        ToolCall(id="a", name="Bash", arguments='{"command": "stack push --force"}'),
        ToolCall(id="b", name="Bash", arguments='{"command": "make test"}'),
    )
    talk.add(
        "tool",
        ToolResult(call_id="a", text="unknown flag: --force", is_error=True),
        ToolResult(call_id="b", text="3 failed, 4 passed", is_error=True),
    )
    talk.runs("stack push", "pushed")
    assert [entry.text for entry in talk.entries("error")] == ["make test: 3 failed, 4 passed"]


def test_all_that_was_made_good_is_settled_though_the_latest_alone_are_told() -> None:
    talk = Talk().user("Go.")
    for number in range(14):
        talk.runs(f"tool{number} go --now", f"unknown flag: --now{number}", is_error=True).runs(
            f"tool{number} go", "done"
        )
    assert len(told(talk)) == 12
    assert talk.entries("error") == []
