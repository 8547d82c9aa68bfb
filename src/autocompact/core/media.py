"""Estimated tokens of pictures, documents and sealed blocks, which no tokenizer sees.

Every figure leans to the high side, and the figure that the provider reports corrects it one request later
(`autocompact.core.usage`).
"""

from __future__ import annotations

import binascii
import math
import re
import struct

from autocompact.core.messages import Document, Image, Opaque

UNKNOWN_IMAGE = 1_600
"""Tokens of a picture of unknown size: what Claude downscales one to up to version 4.6 (Anthropic, "Vision")."""

LARGEST_IMAGE = 4_784
"""Most tokens that one picture takes: 2,576 pixels on the long edge with Claude 4.7 and later."""

PAGE = 3_000
"""Tokens of a PDF page: its picture, and 1,500 to 3,000 of text (Anthropic, "PDF support")."""

UNKNOWN_DOCUMENT = 10_000
"""Tokens of a document behind a URL or a file id: a guess, nothing is known about it."""

_MOST_PAGES = 600
_JPEG_HEAD = 65_536
_SEALED = re.compile(rb"[A-Za-z0-9+/=_-]{256,}")
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![a-z])")


def image_tokens(image: Image) -> int:
    """Tokens of a picture: the larger of two documented rules.

    - Anthropic, "Vision": width x height / 750 pixels, capped at `LARGEST_IMAGE`.
    - OpenAI, "Images and vision": 85, and 170 for each tile of 512 pixels, after the picture was scaled down to
      2,048 x 2,048 and its short side to 768.
    """
    size = (image.width, image.height) if image.width and image.height else image_size(image.data)
    if size is None:
        return UNKNOWN_IMAGE
    width, height = size
    return max(min(LARGEST_IMAGE, width * height // 750), _tile_tokens(width, height))


def _tile_tokens(width: int, height: int) -> int:
    scale = min(1.0, 2_048 / max(width, height), 768 / min(width, height))
    return 85 + 170 * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels, from the header of a PNG, JPEG, GIF or WebP in base64; None if it shows none."""
    head = _decoded(data, 32)
    size = None
    if head.startswith(b"\x89PNG") and len(head) >= 24:
        size = struct.unpack(">II", head[16:24])
    elif head.startswith(b"GIF8") and len(head) >= 10:
        size = struct.unpack("<HH", head[6:10])
    elif head.startswith(b"RIFF") and len(head) >= 30:
        size = _webp_size(head)
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg_size(_decoded(data, _JPEG_HEAD))
    return (size[0], size[1]) if size is not None and all(size) else None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """The first frame header (SOF): segments are FF, a marker, and their length in two bytes."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


def _decoded(data: str, size: int) -> bytes:
    """The first ``size`` bytes of base64 ``data``, or less; b"" if it is none."""
    try:
        return binascii.a2b_base64(data[: -(-size // 3) * 4])
    except (binascii.Error, ValueError):
        return b""


def document_tokens(document: Document) -> int:
    """Tokens of a document whose text is not known.

    A PDF counts its pages where it shows them, else one for each 60,000 bytes; text a token for each three bytes.
    """
    size = len(document.data) * 3 // 4
    if not size:
        return UNKNOWN_DOCUMENT
    if document.media_type.startswith("text/"):
        return size // 3
    pages = 0
    if document.media_type == "application/pdf":
        pages = len(_PDF_PAGE.findall(_decoded(document.data, size)))
    return PAGE * min(_MOST_PAGES, pages or -(-size // 60_000))


def sealed_tokens(raw: bytes) -> int:
    """Tokens of the encrypted runs in a block's JSON; 0 where there are none.

    Each weighs what Codex CLI reckons (``estimate_reasoning_length``): three quarters of its length, less 650
    bytes of framing, a token for each four bytes.
    """
    return sum(max(0, len(run) * 3 // 4 - 650) for run in _SEALED.findall(raw)) // 4


def opaque_text(part: Opaque) -> tuple[str, int]:
    """The words of a part that we do not interpret, and the tokens of what is no words in it.

    Sound takes a token for each 1,000 bytes (10 to 32 tokens a second), anything else what an encrypted block does.
    """
    words = _SEALED.sub(b"", part.raw)
    sealed = sealed_tokens(part.raw)
    if "audio" in part.kind:
        sealed = (len(part.raw) - len(words)) * 3 // 4_000
    return words.decode("utf-8", "replace"), sealed
