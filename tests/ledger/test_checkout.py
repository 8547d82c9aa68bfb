"""What git told of the checkout."""

from __future__ import annotations

import pytest

from autocompact.core.messages import UNRECORDED
from autocompact.ledger.checkout import git_state
from autocompact.ledger.scan import scan
from tests.core.talk import Talk


def _state(*runs: tuple[str, str]) -> tuple[str, int]:
    talk = Talk().user("go")
    for command, output in runs:
        talk.calls("Bash", {"command": command}).gets(output)
    return git_state(scan(talk.messages).calls)


def test_the_last_commit_push_status_and_pull_request_are_told_with_their_messages() -> None:
    pushed = "To example.com:a/b.git\n   0efd40b..41249ec  fix/pump -> fix/pump\n"
    told, seq = _state(
        ("git status", "On branch fix/pump\nYour branch is ahead of 'origin/main' by 2 commits.\n"),
        ("git commit -m a", "[fix/pump 0efd40b] a\n"),
        ("git add . && git commit -m b && git push", f"[fix/pump 41249ec] b\n 1 file changed\n{pushed}"),
        (
            "gh pr create --body \"$(cat <<'EOF'\nOne git status instead of two.\nEOF\n)\"",
            "https://git.example.com/a/b/pull/141\n",
        ),
    )
    assert told == (
        "status on fix/pump, ahead of origin/main by 2 commits (m2); last commit 41249ec on fix/pump (m6); "
        "last push 0efd40b..41249ec fix/pump (m6); pull request https://git.example.com/a/b/pull/141 (m8)"
    )
    assert seq == 8


def test_a_commit_that_the_agents_program_made_is_told_without_a_branch() -> None:
    assert _state(("git commit -m a", "Commit 0efd40b a")) == ("last commit 0efd40b (m2)", 2)


@pytest.mark.parametrize(
    ("command", "output", "told"),
    [
        ("git status --short --branch", "## main...origin/main [behind 1]\n M a.py",
         "uncommitted 1 changed (m2); status main...origin/main [behind 1] (m2)"),
        ("git --no-pager status --short && git --no-pager branch --show-current", "?? .entire/\n M a b.py\nmain\n<shellId: 0 completed with exit code 0>",
         "status on main (m2); uncommitted 1 changed, untracked .entire/ (m2)"),
        ("git status -s", "M a\nM b\nM c\nM d\nM e", "uncommitted 5 changed (m2)"),
        ("git status -s", "?? a\n?? b\n?? c\n?? d", "uncommitted untracked 4 files (m2)"),
        ("git rev-parse --abbrev-ref HEAD 2>/dev/null", "fix/pump", "status on fix/pump (m2)"),
        ("git branch --show-current; ls", "main\na.py", ""),
        ("git -C /repo status -sb", "## main", "status main (m2)"),
        ("git status", "On branch main\nnothing to commit", "status on main (m2)"),
        (
            "git status", "On branch main\nYour branch and 'origin/main' have diverged,\nand have 2 and 3 different commits",
            "status on main, diverged from origin (m2)",
        ),
        ("git status", "On branch main\nYour branch is based on what is gone.", "status on main, is based on what is gone (m2)"),
        ("git checkout -q -B fix/pump origin/main && git log --oneline -1", "0efd40b a", "status on fix/pump (m2)"),
        (
            "git commit -q -F - <<'MSG' 2>&1 | tail -3\nfix(pump): close the valve\n\nIt leaked.\nMSG", "",
            "last commit “fix(pump): close the valve” (m2)",
        ),
        ("git switch -c fix", "Exit code 128\nfatal: a branch named 'fix' already exists", ""),
        ("git status --short && cat GUIDE.md", " M a.py\n# Guide\n## Phase 4: Verification", "uncommitted 1 changed (m2)"),
        ("git status -sb", "## No commits yet on main", "status No commits yet on main (m2)"),
        ("git checkout -b fix", "Switched to a new branch 'fix'", "status on fix (m2)"),
        ("git push -u origin HEAD", " * [new branch]      HEAD -> fix", "last push new branch HEAD -> fix (m2)"),
        ("git fetch", "   1234567..89abcde  main       -> origin/main", ""),
        ("git log", "pull request https://example.com/a/b/pull/1", ""),
        ("cat notes.md", "On branch main\n[main 1234567] words", ""),
        ("ls .git ", "HEAD", ""),
        ("git status -sb && cat README.md", "## main...origin/main\n" + "Much is said here.\n" * 400 + "## Installation\n", "status main...origin/main (m2)"),
        ("git status -sb && cat README.md", "## " + "a" * 200 + "\n## Installation", ""),
        ("git status -s && cat README.md", "## Installation\n", ""),
        ("cat README.md && git status -sb", "## Installation\n## main", "status main (m2)"),
        ("cd /w && git fetch -q; git status -sb; git log -1", "## main\n0efd40b a", "status main (m2)"),
        ("git commit -q -am '1234567 rows are migrated'", "", "last commit “1234567 rows are migrated” (m2)"),
        ("git commit -q -am 'deadbeef is gone' && git log --oneline -1", "0efd40b deadbeef is gone", "last commit 0efd40b (m2)"),
        ("git switch -q -c tmp && make gen && git switch -q main 2>/dev/null", "", "status on main (m2)"),
        ("git checkout -qb tmp && git checkout -q main -- a.py && git checkout .", "", "status on tmp (m2)"),
        ("git checkout -q -b tmp && make gen && git checkout -q -", "", ""),
        ("git checkout -q -b tmp && make gen && git checkout -q main", "", ""),
        ("git switch -q --detach 0efd40b", "", ""),
        ("git switch -q -c 'tmp'", "", ""),
        ("GIT_PAGER=cat git status -sb", "## main", "status main (m2)"),
    ],
)  # fmt: skip
def test_each_is_read_where_git_tells_it(command: str, output: str, told: str) -> None:
    assert _state((command, output))[0] == told


def test_what_was_not_committed_is_not_told_after_a_commit() -> None:
    told, _ = _state(("git status -s", " M a.py"), ("git commit -am a", "[main 1234567] a\n"))
    assert told == "last commit 1234567 on main (m4)"


@pytest.mark.parametrize(
    "command",
    [
        "git commit -qm 'Round half up'",
        'git commit --quiet -m "Round half up"',
        "git add -A && git commit -q -F - <<'EOF'\nRound half up\n\nWhy.\nEOF",
        "git -C /w commit -q -m \"$(cat <<'EOF'\nRound half up\nEOF\n)\"",
    ],
)
def test_a_commit_that_prints_nothing_is_told_by_its_title(command: str) -> None:
    assert _state(("git status -s", " M a.py\n"), (command, "")) == ("last commit “Round half up” (m4)", 4)
    assert _state((command, "error: pathspec 'x' did not match"))[0] == ""
    talk = Talk().user("go").calls("Bash", {"command": command}).gets("")
    assert [entry.text for entry in talk.entries("command")] == ["`git commit` — ok: Round half up"]


@pytest.mark.parametrize(
    "output",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        UNRECORDED,
        "On branch main\nnothing to commit, working tree clean",
        'On branch main\nno changes added to commit (use "git add")',
    ],
)
def test_a_commit_that_was_not_made_or_that_nobody_saw_is_none(output: str) -> None:
    assert "commit" not in _state(("git commit -q -m 'Round half up'", output))[0]
    talk = Talk().user("go").calls("Bash", {"command": "git commit -q -m 'Round half up'"}).gets(output)
    assert not any("ok: Round" in entry.text for entry in talk.entries("command"))


def test_a_status_that_is_clean_behind_a_quiet_commit_does_not_deny_it() -> None:
    clean = "On branch main\nnothing to commit, working tree clean"
    told, _ = _state(("git commit -qm 'Round half up'; git status", clean))
    assert "last commit “Round half up”" in told


@pytest.mark.parametrize(
    "command",
    ['grep -rn "git checkout -b release" docs/', 'git commit -am "docs: explain git switch -c topic"'],
)
def test_a_checkout_that_is_only_spoken_of_is_none(command: str) -> None:
    status = ("git status -sb", "## main...origin/main")
    assert _state(status, (command, "docs/a.md:1:git checkout"))[0] == "status main...origin/main (m2)"


def test_without_git_nothing_is_told() -> None:
    assert git_state([]) == ("", 0)
    assert git_state(scan(Talk().user("go").calls("Bash", {"command": "git status"}).messages).calls) == (
        "",
        0,
    )


def test_the_account_says_where_the_checkout_stands() -> None:
    talk = Talk().user("go").calls("Bash", {"command": "git commit -m a"}).gets("[main 1234567] a")
    assert "git, as it last told: last commit 1234567 on main (m2)" in [
        entry.text for entry in talk.entries("step")
    ]


@pytest.mark.parametrize("flags", ["--a " * 40_000, "-c " * 4_000, "-c -c x " * 4_000])
def test_many_flags_take_no_time(flags: str) -> None:
    assert _state((f"git {flags}log", "main"))[0] == ""
    assert _state((f"git {flags}branch", "main"))[0] == ""


def test_git_called_by_itself_takes_no_time() -> None:
    assert _state(("git -c " * 20_000, "main"))[0] == ""


def test_a_push_is_not_the_last_one_once_another_printed_nothing() -> None:
    pushed = ("git push", "   0efd40b..41249ec  fix/pump -> fix/pump")
    assert _state(pushed, ("git push --dry-run -q", ""))[0] == "last push 0efd40b..41249ec fix/pump (m2)"
    assert (
        _state(pushed, ("git push -q", "Exit code 1\nerror: no"))[0]
        == "last push 0efd40b..41249ec fix/pump (m2)"
    )
    assert _state(pushed, ("git push -q", ""))[0] == ""
