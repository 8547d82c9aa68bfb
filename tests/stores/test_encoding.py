"""Messages and records as bytes."""

from __future__ import annotations

import zlib
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from msgspec import structs

from autocompact.core.messages import Message, Text, ToolResult, text_message
from autocompact.core.redacted import own
from autocompact.errors import StoreCorrupt, StoreTooNew
from autocompact.ledger.entries import Entry, Ledger
from autocompact.stores.encoding import (
    EARLIER_CHECK,
    decode_message,
    decode_record,
    encode_message,
    encode_record,
)
from autocompact.testing.messages import made_messages, wire_messages
from autocompact.testing.records import compaction
from autocompact.wire.request import parse_message


def _again(message: Message) -> Message:
    return decode_message(
        encode_message(message), seq=message.seq, role=message.role, replaces=message.replaces
    )


@given(message=made_messages() | wire_messages())
def test_a_message_is_read_as_it_was_written(message: Message) -> None:
    assert _again(message) == message


def test_a_message_from_the_wire_is_stored_once() -> None:
    message = parse_message(b'{"role":"user","content":"as it came"}', seq=1, dialect="openai_chat")
    masked = message.with_parts([Text(text="masked")])
    assert encode_message(message).count(b"as it came") == 1
    assert b"parts" not in encode_message(message)
    assert b"masked" in encode_message(masked)
    assert (_again(message), _again(masked)) == (message, masked)


def test_parts_that_the_json_does_not_say_are_stored_beside_it() -> None:
    raw = b'{"role":"user","content":"as it came"}'
    message = structs.replace(
        text_message(1, "user", "as another parser read it"), raw=raw, dialect="openai_chat"
    )
    broken = structs.replace(message, raw=b"{not json")
    unknown = structs.replace(message, dialect=None)
    assert (_again(message), _again(unknown)) == (message, unknown)
    assert _again(broken) == structs.replace(broken, dialect=None)  # its bytes are kept, and not sent


def test_a_system_prompt_outside_of_the_list_keeps_its_role() -> None:
    message = parse_message(b'"Be brief."', seq=1, dialect="anthropic", role="system")
    assert _again(message) == message
    assert message.role == "system"


def test_repetitive_messages_become_small() -> None:
    listing = "\n".join(f"src/invoices/module_{n}.py: ok" for n in range(500))
    message = Message(seq=1, role="tool", parts=(ToolResult(call_id="call_1", text=listing),))
    assert len(encode_message(message)) < len(listing) / 4


def test_fields_of_a_newer_program_are_ignored() -> None:
    body = b"\x00" + msgspec.msgpack.encode(
        {"id": "m1", "mood": "good", "parts": [["text", {"text": "hello", "colour": "red"}]]}
    )
    assert decode_message(body, seq=1, role="user", replaces=None) == text_message(
        1, "user", "hello", id="m1"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x07what is this",
        b"\x00\xc1",
        b"\x01not deflated",
        b"\x00" + msgspec.msgpack.encode("not a message"),
        b"\x00" + msgspec.msgpack.encode({}),
        b"\x00" + msgspec.msgpack.encode({"parts": [["smell", {}]]}),
        b"\x00" + msgspec.msgpack.encode({"parts": [], "id": msgspec.msgpack.Ext(9, b"?")}),
        b"\x00" + msgspec.msgpack.encode({"raw": b"{not json", "dialect": "openai_chat"}),
        b"\x00" + msgspec.msgpack.encode({"raw": b"{}", "dialect": "klingon"}),
    ],
)
def test_a_body_that_cannot_be_read_is_reported_with_its_message(body: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="message 7"):
        decode_message(body, seq=7, role="user", replaces=None)


def test_a_record_is_read_as_it_was_written() -> None:
    record = compaction("c1", 5, keep=(2, 4), parent="c0")
    assert decode_record(encode_record(record)) == record


def test_half_surrogates_in_a_record_are_replaced() -> None:
    record = replace(compaction("c1", 5), summary="cut \ud83d here, 😀 there")
    assert decode_record(encode_record(record)).summary == "cut � here, 😀 there"


def _envelope(version: int, **fields: object) -> bytes:
    plain = msgspec.to_builtins(compaction("c1", 5))
    assert isinstance(plain, dict)
    return b"\x00" + msgspec.json.encode({"version": version, "record": {**plain, **fields}, "later": 1})


def test_a_record_with_fields_of_a_newer_program_is_read() -> None:
    assert decode_record(_envelope(4, mood="good")) == compaction("c1", 5)


def test_the_ledger_of_an_older_record_is_read_with_the_kinds_of_today() -> None:
    old = {
        "entries": [
            {"kind": "decision", "text": "Round per line.", "seq": 2, "key": "d"},
            {"kind": "file", "text": "src/a.py — edited 2×", "seq": 3, "key": "src/a.py", "state": "done"},
            {"kind": "file", "text": "src/b.py — read", "seq": 4, "key": "src/b.py"},
        ]
    }
    entries = decode_record(_envelope(2, ledger=old)).ledger.entries
    assert [(entry.kind, entry.text) for entry in entries] == [
        ("finding", "Round per line."),
        ("change", "edited 2×"),
        ("file", "src/b.py — read"),
    ]


def test_the_receipt_of_an_older_record_is_read_in_the_words_of_today_and_says_that_it_meant_less() -> None:
    receipt = {
        "tokens_before": 9,
        "tokens_after": 5,
        "bytes_before": 9,
        "bytes_after": 5,
        "rung": "summarise",
    }
    old = {**receipt, "kept": 3, "recoverable": 4, "lost": 2, "notes": ["as asked"]}
    read = decode_record(_envelope(3, receipt=old)).receipt
    assert (read.stated, read.referenced, read.missing) == (3, 0, 6)
    assert read.notes == ("as asked", EARLIER_CHECK)
    nothing = decode_record(_envelope(3, receipt={**receipt, "kept": 0, "recoverable": 0, "lost": 0})).receipt
    assert (nothing.stated, nothing.referenced, nothing.missing, nothing.notes) == (0, 0, 0, ())


def test_a_record_of_a_newer_version_is_refused() -> None:
    with pytest.raises(StoreTooNew, match="update"):
        decode_record(_envelope(6))


def _version(data: bytes) -> int:
    body = data[1:] if data[:1] == b"\x00" else zlib.decompress(data[1:], wbits=-zlib.MAX_WBITS)
    version: int = msgspec.json.decode(body)["version"]
    return version


def test_only_a_record_that_older_programs_have_no_word_for_is_refused_by_them() -> None:
    """Programs of version 4 took a ledger with a wish for a damaged file, and would refuse every record of a newer version."""
    without = compaction("c1", 5)
    wish = Entry(kind="wish", text=own("tables over bullet points"), seq=3, key=own("tables"))
    wished = replace(without, ledger=Ledger(entries=(*without.ledger.entries, wish)))
    assert (_version(encode_record(without)), _version(encode_record(wished))) == (4, 5)
    assert decode_record(encode_record(wished)) == wished


def test_a_wish_that_was_written_before_it_had_a_version_is_read() -> None:
    ledger = {"entries": [{"kind": "wish", "text": "tables", "seq": 3, "key": "tables"}]}
    (entry,) = decode_record(_envelope(4, ledger=ledger)).ledger.entries
    assert (entry.kind, entry.text) == ("wish", "tables")


@pytest.mark.parametrize("data", [b"", b"\x00{", b"\x01?", b"\x00{}", _envelope(1, status="on fire")])
def test_a_record_that_cannot_be_read_is_reported(data: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        decode_record(data)


def test_a_text_part_keeps_its_own_block() -> None:
    block = b'{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}'
    message = Message(seq=1, role="user", parts=(Text(text="hi", raw=block),))
    assert _again(message) == message
