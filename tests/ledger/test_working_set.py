"""The working set: which files are foreseen, and which calls show their latest version."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from autocompact.core.messages import Message, ToolCall, ToolResult
from autocompact.ledger.extraction import extract
from autocompact.ledger.scan import scan
from autocompact.ledger.working_set import FACTS, LEARNED, FileNeed, foreseen
from tests.core.strategies import numbered, said


def use(id: str, name: str, *, output: str = "ok", is_error: bool = False, **arguments: str) -> list[Message]:
    call = ToolCall(id=id, name=name, arguments=json.dumps(arguments))
    return [said("assistant", call), said("tool", ToolResult(call_id=id, text=output, is_error=is_error))]


def read(id: str, path: str, *, is_error: bool = False) -> list[Message]:
    return use(id, "Read", output=f"text of {path}", is_error=is_error, file_path=path)


def edit(id: str, path: str) -> list[Message]:
    return use(id, "Edit", file_path=path, old_string="a", new_string="b")


def files(*steps: Sequence[Message]) -> dict[str, FileNeed]:
    found = foreseen(scan(numbered([message for step in steps for message in step])).calls)
    return {str(file.path): file for file in found}


def shown(file: FileNeed) -> list[int]:
    return [call.seq for call in file.calls]


def test_the_last_reading_and_the_edits_since_show_the_latest_version() -> None:
    found = files(
        read("1", "/srv/a.py"), edit("2", "/srv/a.py"), read("3", "/srv/a.py"), edit("4", "/srv/a.py")
    )
    assert shown(found["/srv/a.py"]) == [5, 7]


def test_a_file_that_was_written_whole_is_shown_by_that() -> None:
    found = files(
        read("1", "/srv/a.py"),
        use("2", "Write", file_path="/srv/a.py", content="new"),
        edit("3", "/srv/a.py"),
    )
    assert shown(found["/srv/a.py"]) == [3, 5]


def test_edits_of_a_file_that_was_never_read_do_not_show_it() -> None:
    assert shown(files(edit("1", "/srv/a.py"))["/srv/a.py"]) == []


@pytest.mark.parametrize(
    "command",
    [
        "sed -i s/a/b/ /srv/a.py",
        "echo x > /srv/a.py",
        "rm /srv/a.py",
        "git checkout main",
        "git stash",
        "git -C /srv pull",
    ],
)
def test_what_a_command_may_have_changed_is_not_known_any_more(command: str) -> None:
    found = files(read("1", "/srv/a.py"), use("2", "Bash", command=command))
    assert shown(found["/srv/a.py"]) == []


def test_a_command_that_shows_one_file_is_a_reading_and_one_that_shows_two_is_none() -> None:
    found = files(use("1", "Bash", command="cat src/a.py"), use("2", "Bash", command="cat src/b.py src/c.py"))
    assert shown(found["src/a.py"]) == [1]
    assert shown(found["src/b.py"]) == shown(found["src/c.py"]) == []


def test_calls_that_failed_or_that_nobody_answered_show_nothing() -> None:
    found = files(
        read("1", "/srv/a.py", is_error=True),
        [said("assistant", ToolCall(id="2", name="Read", arguments='{"file_path": "/srv/b.py"}'))],
    )
    assert found == {}


def test_temporary_files_are_left_out_and_two_spellings_are_one_file() -> None:
    found = files(read("1", "/tmp/x.py"), read("2", "/srv/app/src/a.py"), edit("3", "src/a.py"))
    assert list(found) == ["/srv/app/src/a.py"]
    assert shown(found["/srv/app/src/a.py"]) == [3, 5]


def test_what_was_touched_last_and_what_the_agent_speaks_of_comes_first() -> None:
    messages = numbered(
        [
            said("user", "Please mend tax.py."),
            *(message for n in range(12) for message in read(f"r{n}", f"/srv/other_{n}.py")),
            *read("t", "/srv/tax.py"),
            *(message for n in range(3) for message in read(f"s{n}", f"/srv/late_{n}.py")),
            said(
                "assistant", "Now I mend other_2.py, the last place that rounds too late for the accountant."
            ),
        ]
    )
    calls = scan(messages).calls
    found = {str(file.path): file for file in foreseen(calls, extract(messages).entries)}
    facts = {path: dict(zip(FACTS, file.facts, strict=True)) for path, file in found.items()}
    assert facts["/srv/other_2.py"]["named last"] == 1
    assert facts["/srv/tax.py"]["named"] == 1
    assert facts["/srv/other_5.py"]["named"] == facts["/srv/other_5.py"]["named last"] == 0
    assert found["/srv/late_2.py"].need > found["/srv/other_5.py"].need
    assert found["/srv/other_2.py"].need > found["/srv/other_1.py"].need
    needs = [file.need for file in foreseen(calls, extract(messages).entries)]
    assert needs == sorted(needs, reverse=True)
    assert len(LEARNED.facts) == len(FACTS)
