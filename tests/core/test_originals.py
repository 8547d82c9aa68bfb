"""How a call is shown to a reader."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autocompact.core.messages import ToolCall
from autocompact.core.originals import call_text

DIFF = "--- old\n+++ new\n@@ -1,2 +1,2 @@\n def tax():\n-    return 7\n+    return 9"
OLD, NEW = "def tax():\n    return 7", "def tax():\n    return 9"


def _text(arguments: dict[str, Any] | str) -> str:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return call_text(ToolCall(id="c", name="t", arguments=given))


@pytest.mark.parametrize(
    "old, new",
    [("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old", "new")],
)
def test_an_edit_is_a_diff_whatever_the_agent_calls_its_arguments(old: str, new: str) -> None:
    assert _text({"path": "tax.py", old: OLD, new: NEW}) == f"path: tax.py\n{DIFF}"


def test_each_of_several_edits_is_a_diff() -> None:
    edits = [{"old_string": OLD, "new_string": NEW}, {"old_string": "a", "new_string": "b"}, "odd", {"x": 1}]
    text = _text({"file_path": "tax.py", "edits": edits})
    assert text == f"file_path: tax.py\n{DIFF}\n--- old\n+++ new\n@@ -1 +1 @@\n-a\n+b"


def test_a_diff_shows_every_line() -> None:
    same = "\n".join(f"line {number}" for number in range(40))
    text = _text({"old_string": f"{same}\na", "new_string": f"{same}\nb"})
    assert all(f" line {number}\n" in text for number in range(40))


def test_a_patch_and_the_content_of_a_file_are_shown_with_their_lines() -> None:
    patch = "*** Begin Patch\n*** Update File: tax.py\n-7\n+9\n*** End Patch"
    assert _text({"input": patch}) == patch
    assert _text({"path": "a.py", "content": "x = 1\ny = 2"}) == "path: a.py\nx = 1\ny = 2"
    assert _text(patch) == patch


def test_other_calls_stay_as_they_came() -> None:
    for arguments in (
        '{"command": "ls"}',
        '{"content": "one line"}',
        '{"old_string": 1, "edits": 2}',
        "{broken",
    ):
        assert _text(arguments) == arguments


def test_an_edit_that_changes_nothing_says_so() -> None:
    assert _text({"old_string": "a", "new_string": "a"}) == "(old and new are the same)"
