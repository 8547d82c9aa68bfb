from __future__ import annotations

import pytest

from autocompact.ledger.failures import MOST
from tests.core.talk import Talk


@pytest.mark.requirement("E1")
def test_an_error_stays_open_until_the_same_command_succeeds() -> None:
    talk = Talk().runs("pytest tests/a.py", "1 failed\nE  assert 1 == 2")
    assert [e.text for e in talk.entries("error")] == ["pytest tests/a.py: E assert 1 == 2"]

    talk.runs("pytest tests/a.py", "1 passed")
    assert talk.entries("error") == []


def test_a_success_on_more_settles_an_error_on_less() -> None:
    talk = Talk().runs("go test ./... -run TestX", "--- FAIL: TestX").runs("go vet ./...", "")
    assert len(talk.entries("error")) == 1

    talk.runs("go test ./...", "ok")
    assert talk.entries("error") == []


@pytest.mark.parametrize("failed", ["cargo clippy --workspace", "ruff check src", "cd api && ruff check src"])
def test_a_lint_of_one_folder_settles_nothing_outside_of_it(failed: str) -> None:
    assert Talk().runs(failed, "Exit code 1").runs("cd web && npm run lint", "ok").entries("error")
    assert not Talk().runs(failed, "Exit code 1").runs("make lint", "ok").entries("error")


@pytest.mark.parametrize("folder", ["web", "./web/", '"web"', "web/src"])
def test_a_lint_of_a_folder_settles_what_a_linter_found_in_it(folder: str) -> None:
    talk = Talk().runs(f"cd {folder} && eslint src", "Exit code 1")
    assert not talk.runs("cd web && npm run lint", "ok").entries("error")


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
        ("cd web; git log --oneline | grep x", "Exit code 1"),
        ("grep -E 'a|b; c' y | grep -v \"x|z\"", "Exit code 1"),
    ],
)
def test_what_is_no_error_is_none(command: str, output: str) -> None:
    assert Talk().runs(command, output, is_error=True).entries("error") == []


def test_what_fails_behind_a_look_is_an_error() -> None:
    assert errors(("git fetch && git rebase main", "Exit code 1")) == ["git fetch && git rebase main"]


def test_an_old_error_of_a_look_is_needed_less_than_a_recent_failed_check() -> None:
    talk = Talk().runs("curl x", "Exit code 7", is_error=True)
    for _ in range(40):
        talk.runs("ls", "")
    talk.runs("pytest", "1 failed")
    old, recent = talk.entries("error")

    assert old.need < 0.1 < recent.need


def errors(*runs: tuple[str, str]) -> list[str]:
    """The commands of the open errors after these ran; what prints "Exit code" failed."""
    talk = Talk()
    for command, output in runs:
        talk.runs(command, output, is_error=output.startswith("Exit code"))
    return [entry.key.removeprefix("error ") for entry in talk.entries("error")]


RED, GREEN = "Exit code 1\n2 failed", "5 passed"


def test_a_red_check_is_settled_by_a_green_one_on_as_much_or_more() -> None:
    assert errors(("pytest tests/a.py -q", RED), ("python -m pytest", GREEN)) == []
    assert errors(("pytest tests/a.py", RED), ("pytest tests -x", GREEN)) == []
    assert errors(("pytest", RED), ("pytest tests/a.py", GREEN)) == ["pytest"]
    assert errors(("pytest", RED), ("pytest --lf", GREEN)) == ["pytest"]


def test_of_several_checks_in_one_line_all_must_succeed() -> None:
    both = "mise run fmt && mise run lint"

    assert errors((both, RED), ("mise run lint", GREEN)) == [both]
    assert errors((both, RED), ("mise run lint", GREEN), ("mise run fmt", GREEN)) == []
    assert errors(("mise run lint", RED), (both, GREEN)) == []


NO_UV = "Exit code 127\n/bin/bash: line 1: uv: command not found"


def test_a_missing_program_is_settled_once_another_way_reaches_the_same() -> None:
    assert errors(("uv run pytest -q", NO_UV), ("sleep 1", "")) == ["uv run pytest -q"]
    assert errors(("uv run pytest -q", NO_UV), ("python -m pytest -q", GREEN)) == []
    assert errors(("uv run pytest -q", NO_UV), ("python -m pytest -q", RED)) == ["python -m pytest -q"]
    assert errors(("uv run pytest", NO_UV), ("uv run pytest -q", NO_UV)) == [
        "uv run pytest",
        "uv run pytest -q",
    ]


def test_a_missing_module_is_settled_by_the_same_command_with_a_setting() -> None:
    missing = "Exit code 1\n/usr/bin/python: No module named invoices"

    assert (
        errors(("python -m invoices show 1", missing), ("PYTHONPATH=src python -m invoices show 1", "x"))
        == []
    )
    assert errors(("python -m invoices show 1", missing), ("python -m other show 1", "x")) == [
        "python -m invoices show 1"
    ]


def test_a_read_of_a_file_that_is_not_there_is_an_answer() -> None:
    talk = Talk().calls("Read", {"file_path": "a.py"}).gets("File does not exist.", is_error=True)

    assert talk.entries("error") == []


STUCK = "Exit code 1\nAuto-merging a.py\nCONFLICT (content): Merge conflict in a.py"


@pytest.mark.parametrize(
    "done",
    [
        "git add -A && git -C /w commit --no-edit",
        "GIT_EDITOR=true git rebase --continue",
        "git merge --abort",
        "git reset --hard origin/main",
    ],
)
def test_a_conflict_is_settled_by_whatever_ends_the_merge(done: str) -> None:
    merge = "git merge origin/store --no-edit"

    assert errors((merge, STUCK), ("git add a.py", ""), (done, "Exit code 1")) != []
    assert errors((merge, STUCK), (done, "")) == []
    assert errors(("make", RED), (done, "")) == ["make"]


@pytest.mark.parametrize(
    ("failed", "done", "left"),
    [
        ("git push", "git push --set-upstream origin topic", False),
        ("git add .ignored a.py", "git add a.py && git commit -m x", False),
        ("git add .ignored a.py", "git commit -am x", False),
        ("cd web && git -C . push", "git push origin topic", False),
        ("node assets/build.js", "cd assets && node build.js", False),
        ("python tools/gen.py --all", "python ./gen.py --all", False),
        ("python tools/manage.py check", "python manage.py migrate", True),
        ("git push -u origin main", "git commit -m 'fix; it' 2>&1 | tail -3; git push origin main", False),
        ("git push", 'git commit -m "say \\"it\\" && git push', True),
        ("git push", "git pull", True),
        ("git push", "echo git push", True),
        ("git fetch && git rebase main", "git fetch", True),
        ("node assets/build.js", "node assets/test.js", True),
        ("pytest a.py && git commit -m x", "git commit --no-verify -m x", True),
    ],
)
def test_a_step_that_succeeds_another_way_settles_the_one_that_failed(
    failed: str, done: str, left: bool
) -> None:
    """As people go on: with the option that was asked for, without the file that is ignored, from the right folder."""
    assert errors((failed, "Exit code 1\nfatal: it cannot be"), (done, "ok")) == ([failed] if left else [])


def test_a_conflict_is_told_by_its_file() -> None:
    (error,) = Talk().runs("git merge store", STUCK, is_error=True).entries("error")

    assert error.text == "git merge store: CONFLICT (content): Merge conflict in a.py"


def test_of_very_many_failures_the_latest_are_followed() -> None:
    found = errors(*((f"./job {number}", "Exit code 1") for number in range(MOST + 5)))

    assert (len(found), found[0]) == (MOST, "./job 5")
