"""What pictures, documents and sealed blocks weigh: estimates, because no tokenizer sees them."""

from __future__ import annotations

import re

from autocompact.core.messages import Document, Image, Opaque

UNKNOWN_IMAGE = 1_600
PDF_PAGE = 3_000
_SEALED = re.compile(rb"[A-Za-z0-9+/=_-]{256,}")


def image_tokens(image: Image) -> int:
    """Tokens of a picture."""
    if image.width is None or image.height is None:
        return UNKNOWN_IMAGE
    return min(UNKNOWN_IMAGE, max(255, image.width * image.height // 750))


def document_tokens(document: Document) -> int:
    """Tokens of a document whose text is not known."""
    return PDF_PAGE * max(1, len(document.data) // 60_000)


def sealed_tokens(raw: bytes) -> int:
    """Tokens of the encrypted part of a reasoning block; 0 where there is none."""
    return sum(max(0, len(run) * 3 // 4 - 650) for run in _SEALED.findall(raw)) // 4


def opaque_text(part: Opaque) -> tuple[str, int]:
    """The words of a part we do not interpret, and the tokens of its blobs."""
    return _SEALED.sub(b"", part.raw).decode("utf-8", "replace"), sealed_tokens(part.raw)
