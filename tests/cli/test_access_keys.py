"""`autocompact keys`, as whoever runs a gateway sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import Program


@pytest.fixture
def program(capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(capfdbinary)


def test_the_list_shows_limits_as_they_were_given(program: Program, tmp_path: Path) -> None:
    limits = ("--tokens-per-day", "1500k", "--dollars-per-month", "2.5", "--dollars-per-day", "20")
    made = program("keys", "create", "ci", *limits, "--db", tmp_path / "gateway.db")
    assert made.code == 0, made.err
    listed = program("keys", "list", "--db", tmp_path / "gateway.db").out.decode()
    assert (
        "limits: 1,500,000 tokens per day, 20 dollars per day, 2.50 dollars per month\n    today: 0 requests"
        in listed
    )
