"""The newest text of the files in work, as the log shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from autocompact.core.messages import Message, ToolCall, ToolResult
from autocompact.ledger.file_versions import FileVersion, newest_versions
from autocompact.ledger.scan import scan
from tests.core.strategies import numbered, said

PATH = "/srv/a.py"
TEXT = "1\tx = 1\n2\ty = 1\n3\t"


def versions(*steps: list[Message]) -> list[FileVersion]:
    return list(newest_versions(scan(numbered([message for step in steps for message in step])).calls))


def use(name: str, arguments: Mapping[str, object], output: str = "ok") -> list[Message]:
    call = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    return [said("assistant", call), said("tool", ToolResult(call_id="c", text=output))]


def read(output: str = TEXT, path: str = PATH, *, limit: int | None = None) -> list[Message]:
    return use("Read", {"file_path": path} | ({"limit": limit} if limit else {}), output)


def edit(old: str, new: str, path: str = PATH, *, replace_all: bool = False) -> list[Message]:
    texts = {"old_string": old, "new_string": new, "replace_all": replace_all}
    return use("Edit", {"file_path": path, **texts})


def run(command: str) -> list[Message]:
    return use("Bash", {"command": command})


def text_of(*steps: list[Message]) -> str | None:
    (file,) = versions(*steps)
    assert file.is_known or file.text == ""
    return file.text if file.is_known else None


@pytest.mark.parametrize(
    "output",
    [
        TEXT,
        "     1→x = 1\n     2→y = 1\n     3→",
        "1:x = 1\n2:y = 1\n3:",
        f"{TEXT}\n\n<system-reminder>\nThis may be malware.\n</system-reminder>\n",
    ],
)
def test_a_reading_of_the_whole_file_shows_it(output: str) -> None:
    assert text_of(read(output)) == "x = 1\ny = 1\n"


@pytest.mark.parametrize(
    ("output", "limit"),
    [
        ("10\tx = 1\n11\ty = 1", None),
        ("1\tx = 1\n3\ty = 1", None),
        ("1\tx = 1\n[the rest is left out]", None),
        ("This file is empty.", None),
        (TEXT, 2),
    ],
)
def test_a_part_or_an_unknown_form_is_not_taken_for_the_file(output: str, limit: int | None) -> None:
    assert text_of(read(output, limit=limit)) is None


def test_edits_are_applied_to_what_was_read_or_written() -> None:
    assert text_of(read(), edit("= 1", "= 2")) == "x = 2\ny = 1\n"
    assert text_of(read(), edit("= 1", "= 2", replace_all=True)) == "x = 2\ny = 2\n"
    edits = [{"old_string": "x", "new_string": "a"}, {"old_string": "a = 1", "new_string": "b"}]
    assert text_of(read(), use("MultiEdit", {"file_path": PATH, "edits": edits})) == "b\ny = 1\n"
    written = use("Write", {"file_path": PATH, "content": "z = 3\n"})
    assert text_of(read(), written, edit("3", "4")) == "z = 4\n"


@pytest.mark.parametrize(
    "step",
    [
        edit("z = 1", "z = 2"),
        edit("", "z = 2"),
        use("Edit", {"file_path": PATH}),
        run(f"sed -i s/1/2/ {PATH}"),
    ],
)
def test_after_a_change_that_the_log_does_not_show_the_text_is_not_known(step: list[Message]) -> None:
    assert text_of(read(), step) is None
    assert text_of(read(), step, edit("y = 1", "y = 2")) is None


def test_a_second_reading_of_an_unchanged_file_leaves_what_the_first_showed() -> None:
    answer = "File unchanged since last read. The content from the earlier Read is still current."
    assert text_of(read(), read(answer)) == "x = 1\ny = 1\n"


def test_the_file_touched_last_comes_first_and_deleted_ones_and_those_of_commands_are_left_out() -> None:
    found = versions(
        read(path="/srv/b.py"),
        read(),
        run("cat /srv/shown.py"),
        read(path="/srv/gone.py"),
        run("rm /srv/gone.py"),
        edit("x", "z", path="/srv/b.py"),
    )
    assert [(file.path, file.opened) for file in found] == [("/srv/b.py", 1), (PATH, 3)]


def test_a_secret_that_only_an_edit_completes_is_not_shown() -> None:
    shown = text_of(read("1\tkey = 'sk-ant-'"), edit("sk-ant-", "sk-ant-api03-" + "aB3" * 31 + "AA"))
    assert shown is not None
    assert "aB3aB3" not in shown
