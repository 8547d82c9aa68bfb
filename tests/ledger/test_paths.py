from __future__ import annotations

import pytest

from autocompact.core.redaction import redact
from autocompact.ledger.paths import is_absolute, is_temporary, spellings


@pytest.mark.parametrize(
    ("paths", "same"),
    [
        (["/w/src/a.py", "src/a.py"], {"src/a.py": "/w/src/a.py"}),
        (["./src/a.py", "/w/src/a.py", "src/a.py"], {"./src/a.py": "/w/src/a.py", "src/a.py": "/w/src/a.py"}),
        (["/w/src/a.py", "src/a.py", "/w/b.py", "b.py"], {"src/a.py": "/w/src/a.py", "b.py": "/w/b.py"}),
        (["/w/b.py", "b.py"], {}),
        (["/w/src/a.py", "/v/src/a.py", "src/a.py"], {}),
        (["/w/mysrc/a.py", "src/a.py"], {}),
        (["src/a.py", "a.py"], {}),
        (["/w/src/a.py", "src/a.py", "/w/src/b.py", "b.py"], {"src/a.py": "/w/src/a.py"}),
        ([], {}),
    ],
)
def test_a_relative_path_is_the_absolute_one_it_surely_is(paths: list[str], same: dict[str, str]) -> None:
    assert spellings(map(redact, paths)) == same


def test_what_lies_in_tmp_is_made_to_be_thrown_away() -> None:
    assert is_temporary("/tmp/x.py")
    assert is_temporary("C:/Users/kim/AppData/Local/Temp/x.py")
    assert is_temporary("/home/kim/.claude/jobs/a1/x.py")
    assert not is_temporary("/w/tmp/x.py")


def test_a_path_of_windows_begins_at_its_drive() -> None:
    assert is_absolute("C:/w/a.py")
    assert is_absolute("/w/a.py")
    assert not is_absolute("src/a.py")
