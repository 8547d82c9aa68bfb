"""An archive holds a conversation whole, and says so when it does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from autocompact.errors import UnreadableSession
from autocompact.history.archive import BEGINNING, Archive, is_archive, read_archive, write_archive
from autocompact.testing.records import compaction, talk
from tests.core.strategies import histories, numbered

FULL = Message(
    seq=1,
    role="assistant",
    parts=(
        Text(text="half a pair: \ud83d", raw=b'{"text":"half a pair: \\ud83d"}'),
        Reasoning(text="hm", raw=b"\xff is no UTF-8"),
        ToolCall(id="c1", name="read", arguments='{"path": "a.py"}', raw=b"{}"),
        ToolResult(
            call_id="c1",
            text="x",
            is_error=True,
            media=(
                Image(media_type="image/png", data="AA==", width=3, height=4),
                Document(name="a.pdf", text="p"),
            ),
            raw=b"[]",
        ),
        Document(media_type="application/pdf", name="b", data="AA==", url="u", text="t"),
        Image(url="https://x/y.png"),
        Opaque(kind="server_tool_use", raw=b'{"type":"server_tool_use"}'),
    ),
    raw=b'{"role": "assistant",\n "content": "as it came"}',
    dialect="anthropic",
    changed=True,
    synthetic=True,
    id="msg_1",
    time="2026-05-04T08:16:51.066Z",
    model="some-model",
    usage=Usage(prompt=7, completion=2),
)
STATE = b'{"pins":[1]}'

DAMAGES: list[tuple[dict[str, Any], str]] = [
    ({"messages": []}, "holds no message"),
    ({"messages": [{"seq": 2, "role": "user", "parts": []}]}, "message 1 says that it is 2"),
    ({"messages": [{"seq": 1, "role": "user", "parts": [], "replaces": 1}]}, "replaces 1"),
    (
        {"messages": [{"seq": 1, "role": "user", "parts": [{"type": "rumour"}]}]},
        r"\$.messages\[0\].parts",
    ),
    ({"messages": [{"seq": 1, "role": "user", "parts": [{"type": "text"}]}]}, "text"),
    ({"active": "c9"}, "compaction 'c9' is active, but not in it"),
    ({"messages": [{"seq": 1, "role": "user", "parts": []}], "compactions": [{}]}, "compactions"),
    ({"state": "{"}, "state"),
]


def archived(*messages: Message, **fields: Any) -> Archive:
    return Archive(name="talk", messages=messages, **fields)


def document(**fields: Any) -> bytes:
    """The archive of two messages and a record, with other fields."""
    whole = archived(*talk("user", "assistant"), compactions=(compaction("c1", 1),), active="c1")
    return json.dumps(json.loads(write_archive(whole)) | fields).encode()


def test_nothing_is_missing_from_an_archive() -> None:
    whole = archived(
        FULL,
        replace(FULL, seq=2, replaces=1),
        compactions=(compaction("c1", 1, keep=[1]), compaction("c2", 2, status="undone", parent="c1")),
        active="c1",
        state=STATE,
    )
    written = write_archive(whole)
    assert is_archive(written[:BEGINNING])
    assert read_archive(written, source="x") == whole
    assert json.loads(written)["messages"][0]["raw"] == (FULL.raw or b"").decode()


@pytest.mark.requirement("E2")
@given(histories().filter(bool), st.binary())
def test_any_history_comes_back_as_it_was(history: list[Message], raw: bytes) -> None:
    messages = [replace(message, raw=raw) for message in numbered(history)]
    whole = archived(*(replace(message, replaces=None) for message in messages))
    assert read_archive(write_archive(whole), source="x") == whole


def test_a_file_says_at_its_beginning_that_it_is_an_archive() -> None:
    assert is_archive(b'\xef\xbb\xbf {\n  "format" : "autocompact", "version": 1')
    assert not is_archive(b'{"format":"autocompact-like"}')
    assert not is_archive(b'{"messages":[{"role":"user","content":"the format is \\"autocompact\\""}]}')


def test_an_archive_written_anew_by_another_program_is_read() -> None:
    pretty = json.dumps(json.loads(document()), indent=2).encode("utf-8-sig")
    assert read_archive(pretty, source="x") == read_archive(document(), source="x")


@pytest.mark.parametrize(("fields", "problem"), DAMAGES)
def test_a_damaged_archive_is_refused_and_the_place_is_named(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(
        UnreadableSession, match=f"'x.json' is an archive of autocompact, but damaged.*{problem}"
    ):
        read_archive(document(**fields), source="x.json")


def test_records_that_do_not_fit_the_messages_are_refused() -> None:
    for records in ((compaction("c1", 3),), (compaction("c1", 1), compaction("c1", 2))):
        whole = archived(*talk("user", "assistant"), compactions=records)
        with pytest.raises(UnreadableSession, match="its compactions do not fit 2 messages"):
            read_archive(write_archive(whole), source="x")


def test_half_an_archive_is_refused() -> None:
    with pytest.raises(UnreadableSession, match="damaged"):
        read_archive(document()[:-20], source="x")


def test_an_archive_of_a_newer_program_is_refused() -> None:
    with pytest.raises(UnreadableSession, match="version 2, this autocompact knows 1: update autocompact"):
        read_archive(document(version=2), source="x")


def test_what_a_newer_program_added_is_ignored() -> None:
    assert read_archive(document(colour="blue"), source="x") == read_archive(document(), source="x")
