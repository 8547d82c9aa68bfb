"""Checksums of rows, so that a bit that flipped on the disk is found when the row is read.

SQLite checks the structure of its pages, not what stands in them. A checksum covers the whole row, its key included: a
message that turns up in the place of another is found, too. CRC-32 finds every error of up to 32 bits in a row and all
but one in four billion of the others; it costs a tenth of inflating the same bytes. It guards against decay, not against
somebody who means to deceive.

Rows that an older version wrote have none (NULL) and are taken as they are. A conversation and a record get theirs when
they are next written, messages with ``autocompact doctor --seal``.
"""

from __future__ import annotations

from zlib import crc32

from autocompact.stores.connection import Value


def message_checksum(id: int, body: bytes, *, role: str, replaces: int | None) -> int:
    """The checksum of a row of ``messages``; -1, which is none, for columns of other types, as damaged pages have them."""
    if not (isinstance(body, bytes) and isinstance(role, str) and isinstance(replaces, int | None)):  # pyright: ignore[reportUnnecessaryIsInstance] - a damaged page has any type in any column
        return -1
    return crc32(body, crc32(b"%d %b %d" % (id, role.encode(), replaces or 0)))


def row_checksum(*values: Value) -> int:
    """The checksum of the columns of any row, in order."""
    checksum = 0
    for value in values:
        match value:
            case None:
                checksum = crc32(b"n", checksum)
            case str():
                data = value.encode("utf-8", "surrogatepass")
                checksum = crc32(data, crc32(b"s%d " % len(data), checksum))
            case bytes():
                checksum = crc32(value, crc32(b"b%d " % len(value), checksum))
            case _:
                checksum = crc32(b"i%b " % repr(value).encode(), checksum)
    return checksum
