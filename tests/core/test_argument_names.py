"""One name, however an agent spells it."""

from __future__ import annotations

import pytest

from autocompact.core.argument_names import in_snake_case, snake_case


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("filePath", "file_path"),
        ("TargetFile", "target_file"),
        ("file-path", "file_path"),
        ("file_path", "file_path"),
        ("issueIdOrKey", "issue_id_or_key"),
        ("", ""),
    ],
)
def test_a_name_is_compared_in_snake_case(name: str, plain: str) -> None:
    assert snake_case(name) == plain


def test_of_two_spellings_of_one_name_the_plain_one_stays() -> None:
    assert in_snake_case({"file_path": "a", "filePath": "b", "newText": "c"}) == {
        "file_path": "a",
        "new_text": "c",
    }
    same = {"path": "a"}
    assert in_snake_case(same) is same
