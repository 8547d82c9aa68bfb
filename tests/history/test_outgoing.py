"""What an export of a whole conversation holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from msgspec.structs import replace

from autocompact.compaction.repair import problems
from autocompact.core.messages import Message, text_message
from autocompact.history.archive import Archive
from autocompact.history.incoming import read_incoming
from autocompact.history.outgoing import ExportFormat, render, valid
from autocompact.sessions import read_session
from tests.cli.program import ANTHROPIC, OPENAI
from tests.core.strategies import logs


def exported(archive: Archive, format: ExportFormat) -> bytes:
    return b"".join(render(archive, format))


def of_file(path: Path) -> Archive:
    return Archive(name="talk", messages=read_incoming(path).messages)


@pytest.mark.parametrize(("path", "format"), [(OPENAI, "openai"), (ANTHROPIC, "anthropic")])
def test_a_message_keeps_its_bytes_in_the_dialect_it_came_in(path: Path, format: ExportFormat) -> None:
    messages = of_file(path).messages
    whole = exported(of_file(path), format)
    assert [message.seq for message in messages if message.raw is None or message.raw not in whole] == []
    assert json.loads(whole)["messages"] == json.loads(path.read_bytes())["messages"]


def test_json_lines_hold_one_message_each_and_are_read_as_the_same_conversation(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(exported(of_file(OPENAI), "jsonl"))
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert lines == json.loads(OPENAI.read_bytes())["messages"]
    again, before = read_session(path).messages, of_file(OPENAI).messages
    assert [message.text for message in again] == [message.text for message in before]


def test_markdown_shows_every_message_replaced_ones_too() -> None:
    messages = (text_message(1, "user", "First try"), replace(text_message(2, "user", "Second"), replaces=1))
    page = exported(Archive(name="talk", messages=messages), "markdown").decode()
    assert page.startswith("# talk\n")
    assert "First try" in page
    assert "Second" in page


def test_what_was_replaced_is_not_sent_again() -> None:
    messages = (text_message(1, "user", "First try"), replace(text_message(2, "user", "Second"), replaces=1))
    body = json.loads(exported(Archive(name="talk", messages=messages), "openai"))
    assert [message["content"] for message in body["messages"]] == ["Second"]


@given(logs())
def test_what_is_exported_for_an_api_is_valid(log: list[Message]) -> None:
    assert problems(valid(log)) == []
