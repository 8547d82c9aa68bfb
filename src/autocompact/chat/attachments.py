"""Files that a person attaches to a request: recognised by their content, kept in the log as parts of the message.

What is attached is stored once, with the message: an image or a PDF as base64, a text file as its text. It is sent with
every request until a compaction takes its message out of the context, and counted like everything else.
"""

from __future__ import annotations

import codecs
import re
import uuid
from base64 import b64encode
from collections.abc import Sequence
from pathlib import PurePath

from autocompact.core.media import image_size
from autocompact.core.messages import Document, Image
from autocompact.errors import InvalidInput

MOST = 10
"""Attachments of one request."""
LARGEST_IMAGE = 5_000_000
"""Bytes of an image: what Anthropic takes; OpenAI takes 20 MB."""
LARGEST_PDF = 20_000_000
LARGEST_TEXT = 400_000
"""Bytes of a text file: about 100,000 tokens. The agent reads larger ones from its workspace, page by page."""
LARGEST = max(LARGEST_IMAGE, LARGEST_PDF, LARGEST_TEXT)
WAITING_BYTES = 100_000_000
"""Bytes of files that were attached and not sent yet; the oldest go first."""
_LONGEST_NAME = 120
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""What no text has, but for the colours of a terminal."""

Attachment = Image | Document


def image_type(content: bytes) -> str:
    """The media type of an image that the APIs take, by its first bytes; "" for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


def attachment(name: str, content: bytes) -> Attachment:
    """A file as the part of a message.

    Args:
        name: of the file, for people and the model.
        content: of it.

    Raises:
        InvalidInput: it is empty, too large, or of a kind that no model reads.
    """
    plain = "".join(each for each in PurePath(name.replace("\\", "/")).name if each.isprintable())
    plain = plain[-_LONGEST_NAME:] or "file"
    if not content:
        raise InvalidInput(f"{plain} is empty")
    if kind := image_type(content):
        _check_size(plain, content, most=LARGEST_IMAGE)
        data = b64encode(content).decode()
        width, height = image_size(data) or (None, None)
        return Image(media_type=kind, data=data, width=width, height=height)
    if content.startswith(b"%PDF-"):
        _check_size(plain, content, most=LARGEST_PDF)
        return Document(media_type="application/pdf", name=plain, data=b64encode(content).decode())
    return _text(plain, content)


def _text(name: str, content: bytes) -> Document:
    text = _decoded(content)
    if text is None:
        raise InvalidInput(
            f"{name} cannot be read by a model: attach images (PNG, JPEG, GIF, WebP), PDF or text"
        )
    if not text:
        raise InvalidInput(f"{name} is empty")
    _check_size(name, content, most=LARGEST_TEXT)
    return Document(media_type="text/plain", name=name, text=text)


def _decoded(content: bytes) -> str | None:
    """The text of a file as programs save one: UTF-8, UTF-16 and UTF-32 by their mark, else Windows-1252; None for data."""
    # the mark of UTF-16 is the beginning of that of UTF-32
    marked = [codec for mark, codec in _MARKS if content.startswith(mark)]
    for codec in marked[:1] or ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(codec)
        except UnicodeDecodeError:
            continue
        if codec == "cp1252" and _CONTROL.search(text):
            return None
        return None if "\0" in text else text
    return None


def _check_size(name: str, content: bytes, *, most: int) -> None:
    if len(content) > most:
        raise InvalidInput(
            f"{name} has {len(content):,} bytes, at most {most:,} can be attached: "
            "put it into the workspace, where the agent reads what it needs of it"
        )


class Uploads:
    """Files that were attached and wait for their message, in memory."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Attachment, int]] = {}

    def add(self, part: Attachment, *, size: int) -> str:
        """Keep an attachment of ``size`` bytes until `take`; returns its name."""
        id = uuid.uuid4().hex
        self._waiting[id] = (part, size)
        while len(self._waiting) > 1 and sum(size for _, size in self._waiting.values()) > WAITING_BYTES:
            del self._waiting[next(iter(self._waiting))]
        return id

    def get(self, ids: Sequence[str]) -> tuple[Attachment, ...]:
        """The attachments of these names; they stay until `drop`.

        Raises:
            InvalidInput: one is not there any more, or there are more than `MOST`.
        """
        if len(ids) > MOST:
            raise InvalidInput(f"{len(ids)} files are attached, at most {MOST} can be sent with a message")
        if missing := [id for id in ids if id not in self._waiting]:
            raise InvalidInput(
                f"{len(missing)} attached files are gone, since the server was restarted: attach them again"
            )
        return tuple(self._waiting[id][0] for id in ids)

    def drop(self, ids: Sequence[str]) -> None:
        """Forget attachments: they were sent, or taken back."""
        for id in ids:
            self._waiting.pop(id, None)
