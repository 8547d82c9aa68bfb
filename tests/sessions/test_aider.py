"""aider's history: edits in every format that it asks models for, and what it did with them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from autocompact.core.messages import UNRECORDED, Message
from autocompact.sessions import Session, read_session

pytestmark = pytest.mark.requirement("E8")

START = "# aider chat started at 2026-03-01 10:00:00"
BLOCK = "<<<<<<< SEARCH\nseal = 1\n=======\nseal = 2\n>>>>>>> REPLACE"
EDIT = {"file_path": "src/pump.py", "old_string": "seal = 1", "new_string": "seal = 2"}


def read(folder: Path, *blocks: str) -> Session:
    """A history of these blocks: what begins with "####" or ">" ends with two spaces, as aider writes it."""
    path = folder / "history.md"
    lines = [
        f"{line}  " if line.startswith(("####", "> ")) else line
        for line in "\n\n".join((START, *blocks)).split("\n")
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_session(path)


def calls(session: Session) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for message in session.messages for call in message.calls]


def results(session: Session) -> list[tuple[str, bool]]:
    return [(result.text, result.is_error) for message in session.messages for result in message.results]


def requests(session: Session) -> list[str]:
    return [message.text for message in session.messages if message.is_request]


def reply(session: Session) -> Message:
    return next(message for message in session.messages if message.role == "assistant")


@pytest.mark.parametrize(
    "block",
    [
        f"src/pump.py\n```python\n{BLOCK}\n```",
        f"### `src/pump.py`:\n\n```python\n{BLOCK}\n```",
        f"```python\nsrc/pump.py\n{BLOCK}\n```",
        f"```python src/pump.py\n{BLOCK}\n```",
        f"src\\pump.py\n````\n{BLOCK}\n````",
        f"src/pump.py\n<source>\n{BLOCK}\n</source>",
        f"src/pump.py\n\n<source>python\n{BLOCK}\n</source>",
        "```diff\n--- a/src/pump.py\n+++ b/src/pump.py\n@@ ... @@\n-seal = 1\n+seal = 2\n```",
        "```diff\ndiff --git a/src/pump.py b/src/pump.py\nindex 1..2 100644\n--- a/src/pump.py\n+++ b/src/pump.py\n"
        "@@ -1 +1 @@\n-seal = 1\n+seal = 2\ndiff --git a/b b/b\n```",
    ],
)
def test_an_edit_is_a_call_in_each_of_the_forms_that_name_its_file(block: str, tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### mend it",
        f"So:\n\n{block}\n\nDone.",
        "> Tokens: 1k sent.\n> Applied edit to src\\pump.py",
    )
    assert calls(session) == [("edit", EDIT)]
    assert results(session) == [("Applied edit to src/pump.py", False)]
    assert "seal" not in reply(session).text
    assert [line for line in reply(session).text.split("\n") if line] == ["So:", "Done."]


def test_a_whole_file_is_an_edit_where_aider_reports_one_of_it(tmp_path: Path) -> None:
    shown = "src/other.py\n```python\nonly = 'shown'\n```"
    session = read(
        tmp_path,
        "#### write the pump and the valve",
        f"{shown}\n\nsrc/pump.py\n<source>\nseal = 1\n</source>\n\n**src/valve.py**\n\n````\n```\nopen\n```\n````",
        "> Tokens: 1k sent.\n> src/pump.py\n> Create new file? (Y)es/(N)o [Yes]: y\n"
        "> Applied edit to src/pump.py\n> Applied edit to src/valve.py",
    )
    assert calls(session) == [
        ("write", {"file_path": "src/pump.py", "content": "seal = 1"}),
        ("edit", {"file_path": "src/valve.py", "text": "```\nopen\n```"}),
    ]
    assert reply(session).text == shown


def test_the_first_block_without_a_name_is_the_only_file_of_the_chat(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### set the table",
        "Here:\n\n```markdown\n# Table\n```\n\n```\nmore\n```",
        "> Applied edit to docs/Table.md",
    )
    assert calls(session) == [("edit", {"file_path": "docs/Table.md", "text": "# Table"})]
    assert reply(session).text == "Here:\n\n\n```\nmore\n```"


def test_a_file_that_the_reply_was_cut_off_in_was_written_as_far_as_it_went(tmp_path: Path) -> None:
    session = read(
        tmp_path, "#### set the table", "Table.md\n```\n# Table\n| half", "> Applied edit to Table.md"
    )
    assert calls(session) == [("edit", {"file_path": "Table.md", "text": "# Table\n| half"})]


@pytest.mark.parametrize("fence", ["", "```"])
def test_a_patch_is_one_call_for_all_its_files(fence: str, tmp_path: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/pump.py\n@@\n-seal = 1\n+seal = 2\n"
        "*** Add File: src/valve.py\n+open = True\n*** End Patch"
    )
    session = read(
        tmp_path,
        "#### mend it",
        f"So:\n\n{fence}\n{patch}\n{fence}" if fence else f"So:\n\n{patch}",
        "> Applied edit to src/pump.py\n> Applied edit to src/valve.py",
    )
    assert calls(session) == [("apply_patch", {"input": patch})]
    assert results(session) == [("Applied edit to src/pump.py", False)]


def test_two_blocks_in_one_fence_are_edits_of_the_same_file(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### mend it",
        f"src/pump.py\n```python\n{BLOCK}\n\n{BLOCK.replace('seal', 'bolt')}\n```",
        "> Applied edit to src/pump.py",
    )
    assert [asked["new_string"] for _, asked in calls(session)] == ["seal = 2", "bolt = 2"]
    assert not reply(session).text


def test_only_the_blocks_that_did_not_match_were_not_applied(tmp_path: Path) -> None:
    other = BLOCK.replace("seal", "bolt")
    failed = (
        "> # 1 SEARCH/REPLACE block failed to match!\n\n"
        "## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in src/pump.py\n"
        f"{other}\n\nThe SEARCH section must exactly match an existing block of lines\n\n"
        "# The other 1 SEARCH/REPLACE block were applied successfully.\nDon't re-send them.\n"
        "Just reply with fixed versions of the block above that failed to match.  \n"
    )
    session = read(
        tmp_path,
        "#### mend it",
        f"src/pump.py\n```\n{BLOCK}\n{other}\n```",
        f"> Tokens: 1k sent.\n{failed}> Commit 5eb50b4 fix: the seal",
        "I see.",
    )
    assert [failed for _, failed in results(session)] == [False, True, False]
    assert results(session)[1][0].startswith("the SEARCH block did not match")
    assert [message.text for message in session.messages if message.role == "assistant"][-1] == "I see."


def test_what_the_user_refused_was_not_applied(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### tell me how to run it",
        "**1. Build**\n```bash\nmake\n```\n\nsrc/pump.py\n```\nseal = 1\n```",
        "> Tokens: 1k sent.\n> 1. Build\n> Create new file? (Y)es/(N)o [Yes]: n\n> Skipping edits to 1. Build\n"
        "> Applied edit to src/pump.py",
    )
    assert [asked["file_path"] for _, asked in calls(session)] == ["1. Build", "src/pump.py"]
    assert [failed for _, failed in results(session)] == [True, False]


def test_an_error_between_edit_and_commit_hides_no_edit(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### mend it",
        f"src/pump.py\n```\n{BLOCK}\n```",
        "> Tokens: 1k sent.\n> list index out of range\n> Commit 5eb50b4 fix: the seal",
        "#### and once more",
        f"src/pump.py\n```\n{BLOCK}\n```",
        "> Tokens: 1k sent.\n> Committing src/pump.py before applying edits.\n> Commit 6eb50b4 chore: by hand",
    )
    assert [failed for _, failed in results(session)] == [False, False, True, False]


def test_what_the_architect_hands_to_the_editor_is_no_request(tmp_path: Path) -> None:
    plan = "Raise the seal:\n\n- in src/pump.py\n- to 2"
    typed = "\n".join(f"#### {line}" for line in plan.split("\n"))
    session = read(
        tmp_path,
        "#### /architect mend the pump",
        "#### mend the pump",
        plan,
        "> Tokens: 1k sent.",
        typed,
        "It is.",
    )
    assert requests(session) == ["mend the pump"]
    assert [message.text for message in session.messages if message.role == "assistant"] == [plan, "It is."]


def test_the_thinking_before_it_hides_no_plan_of_the_architect(tmp_path: Path) -> None:
    plan = f"Raise the seal:{' and the next one' * 10}"
    session = read(tmp_path, "#### go", f"Hm.\n</think>\n\n{plan}", f"#### {plan}", "Yes, go.", "#### go.")
    assert requests(session) == ["go", "go."]


def test_comments_in_the_code_that_aider_watches_are_the_request(tmp_path: Path) -> None:
    intro = (
        '#### Find the "AI" comments below (marked with █) in the code files.\n#### They hold my questions.'
    )
    session = read(
        tmp_path, f"{intro}\n#### \n#### src/pump.py:\n#### ⋮\n#### │seal = 1\n#### █# why one? AI?"
    )
    assert requests(session) == ["src/pump.py:\n# why one? AI?"]
    assert requests(read(tmp_path, intro)) == [intro.replace("#### ", "")]


def test_what_aider_tells_of_its_own_use_is_left_out(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### go",
        "> Retrying in 0.5 seconds...\n> model-x is down",
        "#### go",
        "> ^C again to exit",
    )
    assert [message.text for message in session.messages] == ["go", "model-x is down", "go"]


def test_a_request_that_is_made_twice_stays_twice(tmp_path: Path) -> None:
    session = read(
        tmp_path, "#### /ask go on", "#### go on", "Yes.", "#### go on", "Yes.", "#### go on", "No."
    )
    assert requests(session) == ["go on", "go on", "go on"]


def test_commands_questions_on_aider_and_empty_lines_are_no_requests(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### <blank>",
        "#### !make pump",
        "#### exit",
        "#### aider --model model-x",
        "#### /help what is the map?",
        "#### # Question: what is the map?\n#### \n#### # Relevant docs:\n#### \n#### <doc>",
        "A map.",
        "#### !! look here",
    )
    assert requests(session) == ["!! look here"]


def test_commands_and_commits_of_aider_are_calls(tmp_path: Path) -> None:
    session = read(
        tmp_path,
        "#### build it",
        "Run:\n\n```bash\nmake pump\n```",
        "> Tokens: 1k sent.\n> make pump\nmake test\n> Run shell commands? (Y)es/(N)o [Yes]: y\n> Running make pump\n"
        "> pump built\n> Running make test\n> Add command output to the chat? (Y)es/(N)o [Yes]: y\n"
        '> Commit 5eb50b4 fix: the "seal"',
    )
    assert calls(session) == [
        ("bash", {"command": "make pump"}),
        ("bash", {"command": "make test"}),
        ("git", {"command": 'git commit -m "fix: the \\"seal\\""'}),
    ]
    assert [text for text, _ in results(session)] == [
        "pump built",
        UNRECORDED,
        'Commit 5eb50b4 fix: the "seal"',
    ]


def test_undo_takes_back_the_edits_of_the_commit(tmp_path: Path) -> None:
    whole = "src/valve.py\n```\n{}\n```"
    session = read(
        tmp_path,
        "#### one",
        whole.format("a") + "\n\nsrc/new.py\n```\nx\n```",
        "> Tokens: 1k sent.\n> src/new.py\n> Create new file? (Y)es/(N)o [Yes]: y\n> Applied edit to src/valve.py\n"
        "> Applied edit to src/new.py\n> Commit 1111111 one",
        "#### two",
        whole.format("b"),
        "> Tokens: 1k sent.\n> Committing src/pump.py before applying edits.\n> Commit 2222220 by hand\n"
        "> Applied edit to src/valve.py\n> Commit 2222222 two",
        "#### /undo",
        "> Removed: 2222222 two\n> Now at:  2222220",
        "#### /undo",
        "> Removed: 2222220 by hand",
        "#### three",
        f"src/pump.py\n```\n{BLOCK}\n```",
        "> Tokens: 1k sent.\n> Applied edit to src/pump.py\n> Commit 3333333 three",
        "#### /git reset --hard 2222220",
        "> HEAD is now at 9999999 elsewhere",
        "#### /git reset --hard HEAD~3",
        "> HEAD is now at 1111111 one",
        "#### /undo",
        "> Removed: 1111111 one",
    )
    taken = [(name, asked) for name, asked in calls(session) if name in ("undo_edit", "delete_file")]
    assert taken == [
        ("undo_edit", {"file_path": "src/valve.py", "text": "a"}),
        ("undo_edit", {"file_path": "src/pump.py", "old_string": "seal = 2", "new_string": "seal = 1"}),
        ("delete_file", {"path": "src/new.py"}),
        ("undo_edit", {"file_path": "src/valve.py", "old_string": "a", "new_string": ""}),
    ]
    assert ("Removed: 2222222 two", False) in results(session)


def test_a_history_that_an_editor_of_markdown_went_over_is_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "history.md"
    path.write_text(
        f"{START}\n\n> Aider v0.50.1  \n> Use /help\n\n#### /add a.md\n\n> Added a.md\n\n#### the pump leaks:\n\n####\n\n"
        "#### at the seal\n\n#### /drop\n\n> Dropping.\n\n#### mend it\n\nSo:\n\n#### A heading\n\n> a quotation\n\n"
        f"src/.\\_pump.py\n\n```py\n{BLOCK}\n```\n\n> Tokens: 1k sent.  \n> Applied edit to src/.\\_pump.py\n\n#### and now?\n"
        f"\n{START}\n\n> Aider v0.86  \n\n#### go on  \n\nYes.\n\n> a quotation\n\n#### no words of the user\n",
        encoding="utf-8",
    )
    session = read_session(path)
    assert requests(session) == ["the pump leaks:\n\nat the seal", "mend it", "and now?", "go on"]
    assert calls(session) == [("edit", EDIT | {"file_path": "src/._pump.py"})]
    assert reply(session).text == "So:\n\n#### A heading\n\n> a quotation"
    assert session.messages[-1].text.endswith("#### no words of the user")


@pytest.mark.uncovered
def test_many_blank_lines_take_no_more_than_time_in_their_number(tmp_path: Path) -> None:
    """Each looked back to the last line with words: minutes for 100,000 of them."""
    blank = "\n" * 100_000
    block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n" * 2_000
    session = read(tmp_path, "#### Mend it.", f"Done.{blank}", f"a.py\n```\n{BLOCK}\n{blank}{block}```")
    assert requests(session) == ["Mend it."]


@pytest.mark.parametrize("opens", ["<source>", "*** Begin Patch", "```` a"])
def test_a_reply_of_lines_that_only_open_a_block_costs_little(tmp_path: Path, opens: str) -> None:
    before = time.process_time()
    session = read(tmp_path, "#### Go on", "\n".join([opens] * 49_999), "> Applied edit to pump.py")
    assert reply(session).text.count(opens) == 49_999 or "````" in opens
    # 0.6 s; where each line is looked at to the end, minutes
    assert time.process_time() - before < 4
