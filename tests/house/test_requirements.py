"""docs/reference/requirements.md and the tests agree, both ways."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.house.rules import marked_requirements
from tests.house.source import ROOT, parse, python_files, read

_ROW = re.compile(r"^\| *([A-Z]\d+) *\| *(.+?) *\| *(\w[\w ]*?) *\|$", re.MULTILINE)
_SHARED = ROOT.parent / "shared" / "REQUIREMENTS.md"


def _rows() -> list[tuple[str, str, str]]:
    return _ROW.findall(read(Path("docs/reference/requirements.md")))


def _with_status(*statuses: str) -> set[str]:
    return {identifier for identifier, _, status in _rows() if status in statuses}


@cache
def _marked() -> frozenset[str]:
    return frozenset(name for path in python_files("tests") for name in marked_requirements(parse(path)))


def test_the_list_is_well_formed() -> None:
    identifiers = [identifier for identifier, _, _ in _rows()]
    assert identifiers == sorted(identifiers, key=lambda each: (each[0], int(each[1:])))
    assert (
        len(identifiers)
        == len(set(identifiers))
        == read(Path("docs/reference/requirements.md")).count("\n| ") - 1
    )
    assert {status for _, _, status in _rows()} <= {"done", "in progress"}


def test_each_requirement_claimed_as_done_is_proved_by_a_test() -> None:
    unproved = _with_status("done") - _marked()
    assert unproved == set(), "mark the tests that prove them: @pytest.mark.requirement(...)"


def test_each_requirement_that_a_test_names_is_listed() -> None:
    unlisted = _marked() - _with_status("done", "in progress")
    assert unlisted == set(), "give each a row in docs/reference/requirements.md"


def test_each_listed_requirement_is_one_of_the_project() -> None:
    if not _SHARED.exists():
        pytest.skip("the project's REQUIREMENTS.md is not beside this checkout")
    known = set(re.findall(r"^\| ([A-Z]\d+) \|", _SHARED.read_text(encoding="utf-8"), re.MULTILINE))
    assert _with_status("done", "in progress") - known == set()
