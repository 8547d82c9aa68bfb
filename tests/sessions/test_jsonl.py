from __future__ import annotations

import json

import msgspec
import pytest

from autocompact.sessions.jsonl import BOM, Lines, salvage

pytestmark = pytest.mark.requirement("E8")


class Numbered(msgspec.Struct):
    n: int


def test_lines_are_decoded_with_their_numbers() -> None:
    lines = Lines([BOM + b'{"n":1}\r\n', b"\n", b"  \n", b'{"n":2,"x":[]}'], Numbered)
    assert list(lines) == [(1, Numbered(1)), (4, Numbered(2))]
    assert lines.skipped == []


def test_an_object_after_a_half_written_one_on_the_same_line_is_found() -> None:
    whole = b'{"type":"user","message":{"role":"user","content":"b"}}'
    assert salvage(b'{"type":"user","message":{"role":"us' + whole + b"\n") == (
        [whole],
        '{"type":"user","message":{"role":"us' + whole.decode(),
    )


def test_objects_on_one_line_are_read_one_by_one() -> None:
    assert salvage(b'{"n":1}{"n":2} {"n":3}') == ([b'{"n":1}', b'{"n":2}', b'{"n":3}'], "")


def test_half_an_emoji_becomes_a_replacement_character_and_whole_ones_stay() -> None:
    line = rb'{"a":"\ud83d","b":"\ud83d\ude00","c":"\\ud83d","d":"\ude00x"}'
    (piece,), rest = salvage(line + b"\xff"[:0])
    assert json.loads(piece) == {"a": "\ufffd", "b": "😀", "c": "\\ud83d", "d": "\ufffdx"}
    assert rest == ""


def test_invalid_utf8_costs_one_character_not_the_line() -> None:
    lines = Lines([b'{"n":1,"text":"a\xffb"}\n'], msgspec.Raw)
    assert [bytes(raw) for _, raw in lines] == ['{"n":1,"text":"a\ufffdb"}'.encode()]


def test_what_is_no_object_is_reported() -> None:
    lines = Lines([b"hello\n", b"42\n", b'{"n":"x"}\n', b"\0\0\0\n", b'{"n":1} tail\n'], Numbered)
    assert list(lines) == [(5, Numbered(1))]
    assert [skipped.line for skipped in lines.skipped] == [1, 2, 3, 4, 5]


def test_endless_nesting_and_endless_openings_are_reported_not_raised() -> None:
    deep = b'{"n":' * 100_000
    openings = b'{"type":' * 5_000
    lines = Lines([deep, openings], Numbered)
    assert list(lines) == []
    assert len(lines.skipped) == 2
