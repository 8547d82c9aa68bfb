from __future__ import annotations

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.outcomes import (
    HEAD,
    TAIL,
    error_lines,
    is_status_hidden,
    normal,
    read_outcome,
    was_not_edited,
    without_wrappers,
)


@pytest.mark.parametrize(
    ("output", "is_error", "failed", "code"),
    [
        ("Exit code 2\nboom", True, True, 2),
        ("Process exited with code 0\nOutput:\nfine", False, False, 0),
        ("Process exited with code 0\n--- FAIL: TestX in the text it printed", False, False, 0),
        ("ok\n<shellId: 3 completed with exit code 1>", False, True, 1),
        ('{"output":"x","metadata":{"exit_code":3}}', False, True, 3),
        ("--- FAIL: TestX (0.00s)", False, True, None),
        ("3 warnings in 5.52s\nERROR: not found: tests/test_a.py::test_b", False, True, None),
        ("3 failed, 12 passed in 2.1s", False, True, None),
        ("0 failed, 12 passed", False, False, None),
        ("fine", False, False, None),
        ("refused", True, True, None),
        (f"Exit code {'9' * 5_000}", False, True, 9_999_999_999),
    ],
)
def test_failure_is_read_from_exit_code_or_output(
    output: str, is_error: bool, failed: bool, code: int | None
) -> None:
    outcome = read_outcome(redact(output), is_error=is_error)

    assert (outcome.failed, outcome.exit) == (failed, code)


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        (
            "a.go:3: string `main` has 5 occurrences (goconst)\n2 issues:\n* goconst: 2\n[lint] ERROR task failed",
            True,
        ),
        ("Process exited with code 0\nOutput:\nFound 3 errors in 1 file (checked 40 source files)", True),
        ("make: *** [Makefile:12: test] Error 1", True),
        ("npm ERR! code ELIFECYCLE", True),
        ("12 tests, 2 failures", True),
        ("\u2716 4 problems (4 errors, 0 warnings)", True),
        (
            "✖ 179 problems (0 errors, 179 warnings)\n  0 errors and 4 warnings potentially fixable with the `--fix` option.",
            False,
        ),
        ("Found 0 errors", False),
        ("0 issues.\nAll checks passed!", False),
        ("Build succeeded: 12 warnings", False),
        ("test_a_build_failed_before ... ok\n" + "ok\n" * 800, False),
    ],
)
def test_where_a_pipe_hides_the_exit_code_the_last_words_tell(output: str, failed: bool) -> None:
    assert read_outcome(redact(output), is_error=False, hidden=True).failed is failed


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("mise run test && mise run lint 2>&1 | tail -20", True),
        ("pytest -q | tee log.txt", True),
        ("make check || true", True),
        ("npm test; echo done", True),
        ("make check || exit 1", False),
        ("cd src && pytest -q 2>&1", False),
    ],
)
def test_a_pipe_or_a_command_after_it_hides_an_exit_code(command: str, hidden: bool) -> None:
    assert is_status_hidden(command) is hidden


@pytest.mark.requirement("C7")
@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("...\n== 3 failed, 12 passed in 2.1s ==\n", "== 3 failed, 12 passed in 2.1s =="),
        ("TOTAL      812     40    95%\n", "TOTAL      812     40    95%"),
        ("coverage: 81.2% of statements", "coverage: 81.2% of statements"),
        ("test result: ok. 4 passed; 0 failed", "test result: ok. 4 passed; 0 failed"),
        (
            "[main 9f3ab12] Round per line\n 2 files changed, 9 insertions(+)",
            "[main 9f3ab12] Round per line; 2 files changed, 9 insertions(+)",
        ),
        ("nothing to count", ""),
    ],
)
def test_counts_coverage_and_commits_are_kept(output: str, counts: str) -> None:
    assert read_outcome(redact(output), is_error=False).counts == counts


def test_the_end_of_a_long_output_is_read() -> None:
    output = "x\n" * (HEAD + TAIL) + "7 failed, 1 passed"

    assert read_outcome(redact(output), is_error=False).failed


def test_error_lines_say_what_went_wrong() -> None:
    output = "Traceback (most recent call last):\n  File x\nValueError: no such tax code\nerror: 1\nfatal: 2\npanic: 3"

    assert error_lines(output) == ("ValueError: no such tax code", "error: 1", "fatal: 2")


def test_a_bare_traceback_and_a_plain_first_line_are_better_than_nothing() -> None:
    (long,) = error_lines("ValueError: " + "no such tax code " * 20)
    assert long.endswith(" code…")
    assert error_lines("Traceback (most recent call last):") == ("Traceback (most recent call last):",)
    assert error_lines("<tool_use_error>String to replace was absent</tool_use_error>\nmore") == (
        "String to replace was absent",
    )
    assert error_lines("") == ()


@pytest.mark.parametrize(
    ("command", "same"),
    [
        ("cd /a && go test ./... 2>&1 | tail -20", "go test ./..."),
        ("go  test ./... 2>/dev/null", "go test ./..."),
        ("cd a; cd b && ls", "ls"),
        ("# What is there?\n\n  # and where\ncd a; ls # here", "ls # here"),
        ("# only words", "# only words"),
        ("cat <<'EOF' > x.txt\nmany\nlines\nEOF", "cat <<'EOF'…"),
    ],
)
def test_commands_that_mean_the_same_have_the_same_key(command: str, same: str) -> None:
    assert normal(command) == same


@pytest.mark.parametrize(
    ("command", "same"),
    [
        ("pytest | tail -5 2>&1 | head -3", "pytest"),
        ("pytest | tail -5 && ls", "pytest | tail -5 && ls"),
        ("cat <<EOF\nnever closed", "cat <<EOF…"),
        ("cat <<'EOF' > x.txt\nmany\nEOF\nls", "cat <<'EOF'… ls"),
        ("grep x <<< word\nls", "grep x <<< word ls"),
        ("cd 'a b'\n cd c;make", "make"),
        ("", ""),
    ],
)
def test_only_what_shortens_the_output_is_taken_off(command: str, same: str) -> None:
    assert normal(command) == same


@pytest.mark.uncovered
@pytest.mark.parametrize("piece", [" ", "\n", "cd a && ", "| tail -5 ", " 2>&1", "<<A\n", "cat <<A\nA\n"])
def test_a_hostile_command_takes_no_longer_than_its_length(piece: str) -> None:
    """In quadratic time each would take minutes."""
    assert len(normal(piece * (400_000 // len(piece)))) <= 400_000


@pytest.mark.parametrize(
    ("output", "not_edited"),
    [
        ("<tool_use_error>File has not been read yet. Read it first.</tool_use_error>", True),
        ("String to replace not found in file.", True),
        ("Error: old_str did not appear verbatim in /a.py. No replacement was performed.", True),
        ("Your proposed edit has introduced new syntax error(s). Please understand the fixes", True),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nInvalid patch", True),
        ("Failed to edit, could not find the string", True),
        (
            "The file /a.py has been updated.\n 1\tdef error():\n 2\t    raise ValueError('failed to read')",
            False,
        ),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM a.py", False),
        ("Successfully replaced text in errors.py. Changed 3 characters.", False),
        ("", False),
    ],
)
def test_an_edit_says_itself_whether_it_was_made(output: str, not_edited: bool) -> None:
    assert was_not_edited(output) is not_edited


GEMINI = "Command: ls {0}\nDirectory: (root)\nOutput: {1}\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 26593"


@pytest.mark.parametrize(
    ("output", "inside"),
    [
        (GEMINI.format("docs", "blue.md"), "blue.md"),
        (GEMINI.format("docs\nrm x", "(empty)"), ""),
        ("moved\nShell cwd was reset to /repo", "moved"),
        ("ok\n<shellId: 3 completed with exit code 0>", "ok"),
        ("ok\n<exited with exit code 0>", "ok"),
        (
            "ok\n[The command completed with exit code 0.]\n[Current working directory: /repo]\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code 0]",
            "ok",
        ),
        ("ok\n(Open file: n/a)\n(Current directory: /repo)\nbash-$", "ok"),
        ("ok\n(base) anna@Annas-MBP shop % ", "ok"),
        ("ok\nanna@host:~/shop$ ", "ok"),
        ("mail anna@host.org costs 5 %", "mail anna@host.org costs 5 %"),
        ("def f\n[12 more lines in file. Use offset=40 to continue]", "def f"),
        (
            "Signal: what the text says of it\nError: (none) of these",
            "Signal: what the text says of it\nError: (none) of these",
        ),
    ],
)
def test_what_a_clients_tool_writes_around_an_output_is_none_of_it(output: str, inside: str) -> None:
    assert without_wrappers(output).strip() == inside


def test_an_error_is_not_read_from_the_tools_own_lines() -> None:
    text = GEMINI.format("docs", "3 files differ").replace("Exit Code: 0", "Exit Code: 1")
    outcome = read_outcome(redact(text), is_error=False)
    assert (outcome.failed, outcome.errors) == (True, ("3 files differ",))
