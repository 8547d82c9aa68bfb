from __future__ import annotations

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.core.media import (
    LARGEST_IMAGE,
    PAGE,
    UNKNOWN_DOCUMENT,
    UNKNOWN_IMAGE,
    document_tokens,
    image_size,
    image_tokens,
    opaque_text,
    sealed_tokens,
)
from autocompact.core.messages import Document, Image, Opaque


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + bytes(20)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + bytes(20)


def jpeg(width: int, height: int, *, thumbnail: int = 100) -> bytes:
    exif = b"\xff\xe1" + struct.pack(">H", thumbnail + 2) + bytes(thumbnail)
    huffman = b"\xff\xc4" + struct.pack(">H", 6) + bytes(4)
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + bytes(10)
    return b"\xff\xd8" + exif + huffman + frame


def webp(kind: bytes, width: int, height: int) -> bytes:
    if kind == b"VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        body = b"\x2f" + (width - 1 | height - 1 << 14).to_bytes(4, "little")
    else:
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return b"RIFF" + bytes(4) + b"WEBP" + kind + bytes(4) + body + bytes(10)


@pytest.mark.parametrize(
    "data",
    [
        png(640, 480),
        gif(640, 480),
        jpeg(640, 480),
        jpeg(640, 480, thumbnail=40_000),
        webp(b"VP8X", 640, 480),
        webp(b"VP8L", 640, 480),
        webp(b"VP8 ", 640, 480),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_header(data: bytes) -> None:
    assert image_size(encoded(data)) == (640, 480)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "é",
        "AAAA",
        "A",
        encoded(b"\x89PNG"),
        encoded(b"GIF8"),
        encoded(b"RIFF"),
        encoded(b"\xff\xd8\xff"),
        encoded(b"\xff\xd8" + bytes(50)),
        encoded(webp(b"ALPH", 1, 1)),
        encoded(png(0, 10)),
    ],
)
def test_what_shows_no_size_has_none_and_weighs_the_default(data: str) -> None:
    assert image_size(data) is None
    assert image_tokens(Image(data=data)) == UNKNOWN_IMAGE


@given(st.binary(max_size=80))
def test_no_bytes_break_the_header_reader(data: bytes) -> None:
    for start in (b"", b"\x89PNG", b"GIF8", b"RIFF", b"\xff\xd8", b"\xff\xd8\xff\xc0"):
        size = image_size(encoded(start + data))
        assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        (100, 100, 255),
        (1_000, 1_000, 1_333),
        (1_568, 1_176, 2_458),
        (8_000, 8_000, LARGEST_IMAGE),
        (100, 8_000, 1_066),
        (200, 2_048, 85 + 170 * 4),
    ],
)
def test_a_picture_weighs_the_larger_of_two_providers_rules(width: int, height: int, tokens: int) -> None:
    assert image_tokens(Image(width=width, height=height)) == tokens
    assert image_tokens(Image(data=encoded(png(width, height)))) == tokens


def test_a_pdf_weighs_its_pages_where_it_shows_them() -> None:
    shown = b"%PDF-1.7 /Type /Pages " + b"<</Type /Page >> <</Type/Page/Parent 1 0 R>> " * 2
    assert document_tokens(Document(media_type="application/pdf", data=encoded(shown))) == 4 * PAGE
    packed = encoded(bytes(150_000))
    assert document_tokens(Document(media_type="application/pdf", data=packed)) == 3 * PAGE


def test_other_documents_weigh_by_their_bytes() -> None:
    assert document_tokens(Document(media_type="text/csv", data=encoded(bytes(3_000)))) == 1_000
    assert document_tokens(Document(media_type="application/msword", data=encoded(bytes(100)))) == PAGE
    assert document_tokens(Document(url="https://example.com/a.pdf")) == UNKNOWN_DOCUMENT


def test_an_encrypted_run_weighs_by_its_bytes_and_plain_json_nothing() -> None:
    sealed = json.dumps({"type": "redacted_thinking", "data": "Ab3+" * 1_000}).encode()
    assert sealed_tokens(sealed) == (3_000 - 650) // 4
    assert sealed_tokens(b'{"type":"server_tool_use","name":"web_search"}') == 0
    assert sealed_tokens(json.dumps({"signature": "A" * 300}).encode()) == 0


def test_the_words_of_an_opaque_part_are_told_from_its_blobs() -> None:
    raw = json.dumps({"type": "web_search", "query": "weather", "encrypted": "x" * 4_000}).encode()
    words, tokens = opaque_text(Opaque(kind="web_search", raw=raw))
    assert json.loads(words) == {"type": "web_search", "query": "weather", "encrypted": ""}
    assert tokens == (3_000 - 650) // 4


def test_sound_weighs_by_its_length() -> None:
    raw = json.dumps({"type": "input_audio", "data": "A" * 40_000}).encode()
    assert opaque_text(Opaque(kind="input_audio", raw=raw))[1] == 30
