"""A summary that somebody else wrote, checked against the session, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.sessions.claude_lines import Claude, Line, call, jsonl, result, text

PLAN = (
    "Mend the sums of the importer",
    "Add a test for negative amounts",
    "Write the release notes for version 2.4",
)


def _plan(id: str, *states: str) -> Line:
    todos = [
        {"content": words, "status": state, "activeForm": words}
        for words, state in zip(PLAN, states, strict=True)
    ]
    return call(id, name="TodoWrite", todos=todos)


def session(path: Path) -> Path:
    """The sums are mended and the linter passes; a test fails, and two things are still to do."""
    claude = Claude()
    claude.user("Mend the import in src/importer.py, then run make test and make lint.")
    claude.reply(_plan("p1", "in_progress", "pending", "pending"), id="r1")
    claude.user([result("p1", "Todos have been modified")])
    claude.reply(text("The sums were wrong because total() added the tax column."), id="r2")
    claude.reply(call("lint", command="make lint"), id="r3")
    claude.user([result("lint", "All checks passed!")])
    claude.reply(_plan("p2", "completed", "in_progress", "pending"), id="r4")
    claude.user([result("p2", "Todos have been modified")])
    claude.reply(call("test", command="make test"), id="r5")
    claude.user([result("test", "1 failed, 41 passed\nmake: *** [test] Error 1", is_error=True)])
    claude.reply(
        text("It fails because load_rows() drops the sign. Next is read() in src/reader.py."), id="r6"
    )
    claude.user("Also try it with the --dry-run flag.")
    claude.reply(text("I will do that after the test is mended."), id="r7")
    claude.user("Good. Go on.")
    path.write_bytes(jsonl(claude.lines))
    return path


def told(program: Program, folder: Path, summary: str) -> str:
    """What the report says of ``summary``."""
    file = folder / "summary.txt"
    file.write_text(summary)
    ended = program(
        "compact", session(folder / "s.jsonl"), "--window", 64_000, "--tail-tokens", 0, "--summary", file
    )
    assert ended.code == 0, ended.err
    return ended.err


SAYS_DONE, SAYS_OPEN = "the summary says done, but", "the summary says open or failed, but"
NOWHERE, NO_MESSAGE = (
    "names in the summary that stand nowhere",
    "references to messages that do not exist: m4711",
)


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    ("lie", "note"),
    [
        ("`make test` passes.", SAYS_DONE),
        ("make test: 42 passed, 0 failed.", SAYS_DONE),
        ("The suite is green: `make test` succeeded.", SAYS_DONE),
        ("Ran `make lint`: it failed with 3 errors.", SAYS_OPEN),
        ("## Completed\n- Write the release notes for version 2.4", SAYS_DONE),
        ("- [x] Add a test for negative amounts", SAYS_DONE),
        ("## Pending tasks\n- Mend the sums of the importer", SAYS_OPEN),
        ("- [ ] Mend the sums of the importer", SAYS_OPEN),
        ("Changed src/ledger_export.py as well.", NOWHERE),
        ("Ran it with --force-all.", NOWHERE),
        ("save_everything() writes the rows.", NOWHERE),
        ("As said in m4711, all is well.", NO_MESSAGE),
    ],
)
def test_a_lie_of_a_given_summary_is_told(program: Program, tmp_path: Path, lie: str, note: str) -> None:
    assert note in told(program, tmp_path, lie)


@pytest.mark.requirement("E1")
@pytest.mark.parametrize(
    "summary",
    [
        "`make test` fails: 1 failed, 41 passed. `make lint` passes.",
        "- [x] Mend the sums of the importer\n- [ ] Add a test for negative amounts",
        "The sums were wrong because total() added the tax column. Run `make test` until it passes.",
        "Run `make test` and make sure that all tests pass before the release notes are written.",
        "Once `make test` passes, write the release notes for version 2.4.",
        "Mended the sums in src/importer.py; `make lint` is clean, but `make test` is not.",
        'The user: "Mend the import in src/importer.py, then run make test and make lint."',
        "Completed: the sums. Not completed: the release notes for version 2.4.",
    ],
)
def test_a_true_summary_is_not_accused(program: Program, tmp_path: Path, summary: str) -> None:
    report = told(program, tmp_path, summary)
    assert not any(note in report for note in (SAYS_DONE, SAYS_OPEN, NOWHERE, "do not exist"))
