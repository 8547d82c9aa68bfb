from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.ledger.identifiers import LONGEST, Shape, chunks, names


def found(text: str) -> dict[str, Shape]:
    return {name: shape for chunk in chunks(text) for name, shape in names(chunk)}


@pytest.mark.parametrize(
    ("text", "name", "shape"),
    [
        ("open src/app/main.py now", "src/app/main.py", "path"),
        ("see ./docs/guide.md.", "./docs/guide.md", "path"),
        ("in ~/work/notes", "~/work/notes", "path"),
        ("the file main.py,", "main.py", "file"),
        ("edit .env.local.yaml", ".env.local.yaml", "file"),
        ("at https://example.org/a?b=1.", "https://example.org/a?b=1", "url"),
        ("call load_state()", "load_state", "snake"),
        ("call loadState()", "loadState", "camel"),
        ("class HTTPServer:", "HTTPServer", "camel"),
        ("store.loadState(x)", "loadState", "camel"),
        ("os.path is", "os.path", "dotted"),
        ("commit 9f3ab12 fixed", "9f3ab12", "hash"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000", "hash"),
        ("released v1.2.3", "v1.2.3", "number"),
        ("released 10.4", "10.4", "number"),
        ("issue 4711", "4711", "number"),
        ("since 2026-01-05", "2026-01-05", "number"),
        ("uses SHA256 here", "SHA256", "number"),
        ("with --dry-run set", "--dry-run", "flag"),
        ("the manual-commit way", "manual-commit", "kebab"),
        ("用 load_state 函数读取", "load_state", "snake"),
    ],
)
def test_an_identifier_is_found_with_its_shape(text: str, name: str, shape: Shape) -> None:
    assert found(text)[name] == shape


@pytest.mark.parametrize(
    "text",
    [
        "plain words only", "The Start", "--- a rule ---", "no", "12", "a--b----c", "///", "--", "-x", "---abc", "...", "__x__",
        "a" * 3 + "/" + "b" * LONGEST, "https://" + "x" * LONGEST, "1/2/3", "//comment", "x.y-z", "--1st-", "0" * 25,
    ],
)  # fmt: skip
def test_what_is_no_identifier_is_left_out(text: str) -> None:
    assert found(text) == {}


def test_a_single_dash_before_a_name_is_no_part_of_it() -> None:
    assert "load_state" in found("-load_state")


@given(st.text(max_size=300))
def test_every_name_stands_in_the_text(text: str) -> None:
    for name, _ in [pair for chunk in chunks(text) for pair in names(chunk)]:
        assert name in text
        assert len(name) <= LONGEST
