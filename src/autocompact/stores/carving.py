"""Rows out of the pages of a SQLite file, whatever of its structure is damaged: for a rescue, where the library gives up.

SQLite finds a row by way of the pages above it, and refuses all of them for one that is damaged. The rows themselves stand
in the leaves, and each leaf says where its own rows are. So every page is read for itself as a leaf of a table
(https://www.sqlite.org/fileformat2.html, sections 1.5, 1.6 and 2.1). Most of what that yields of other pages is no row, and
the rest is for the caller to tell by its columns and its checksum. Freed pages hold nothing: our stores overwrite what they delete.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import mmap
from typing import TypeAlias

from autocompact.stores.connection import Value

Columns: TypeAlias = tuple[Value, ...]

_LEAF = 13
_PAGE_BYTES = 4096
"""Of the files that we write."""
_FILE_HEADER = 100
_LEAF_HEADER = 8
_VERSION_AT = 60
_MOST_COLUMNS = 16
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer, by the type that stands before the columns."""
_UNREADABLE = (IndexError, ValueError, struct.error)
"""What reading of damaged bytes can raise; a text that is no UTF-8 is a ValueError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A row as it stands in a page.

    Attributes:
        at: byte of the file where it begins, for `Pages.cell`.
        rowid: its number.
        columns: as they are stored; the one that is an alias of the number is None.
        is_leaf: the page says that it is a leaf of a table.
    """

    at: int
    rowid: int
    columns: Columns
    is_leaf: bool


class Pages:
    """The pages of a file that fits the memory or is mapped into it.

    Args:
        data: the whole file.
    """

    def __init__(self, data: bytes | mmap) -> None:
        self._data = memoryview(data)
        said = int.from_bytes(self._data[16:18], "big")
        said = 65536 if said == 1 else said
        # a damaged size would make nothing of all pages
        self._size = said if said >= 512 and not said & (said - 1) else _PAGE_BYTES

    def close(self) -> None:
        """Give the file back."""
        self._data.release()

    @property
    def version(self) -> int:
        """The version of our schema that the file says it has."""
        return int.from_bytes(self._data[_VERSION_AT : _VERSION_AT + 4], "big")

    def cells(self) -> Iterator[Cell]:
        """Everything that may be a row, page by page."""
        for start in range(0, len(self._data) - _LEAF_HEADER + 1, self._size):
            header = start + (0 if start else _FILE_HEADER)
            for at in self._pointers(start, header):
                try:
                    yield self.cell(at)
                except _UNREADABLE:
                    continue

    def _pointers(self, start: int, header: int) -> Iterator[int]:
        count = int.from_bytes(self._data[header + 3 : header + 5], "big")
        first = header + _LEAF_HEADER
        for place in range(first, min(first + 2 * count, start + self._size), 2):
            offset = int.from_bytes(self._data[place : place + 2], "big")
            if first - start <= offset < self._size:
                yield start + offset

    def cell(self, at: int) -> Cell:
        """The row that begins at a byte of the file.

        Raises:
            ValueError, IndexError, struct.error: there is none.
        """
        length, place = self._varint(at)
        rowid, place = self._varint(place)
        start = at - at % self._size
        header = start + (0 if start else _FILE_HEADER)
        columns = _columns(self._payload(place, length=length, end=start + self._size))
        return Cell(at=at, rowid=_signed(rowid), columns=columns, is_leaf=self._data[header] == _LEAF)

    def _varint(self, at: int) -> tuple[int, int]:
        return _varint(self._data, at)

    def _payload(self, at: int, *, length: int, end: int) -> bytes:
        """The bytes of a row: what stands in its page, and what goes on in pages of its own."""
        if length > len(self._data):
            raise ValueError("longer than the file")
        # of section 1.6, with no bytes reserved at a page's end, as ours have none
        most, least = self._size - 35, (self._size - 12) * 32 // 255 - 23
        local = length
        if length > most:
            local = least + (length - least) % (self._size - 4)
            local = local if local <= most else least
        if at + local > end:
            raise ValueError("it does not end in its page")
        pieces = [bytes(self._data[at : at + local])]
        left, following = length - local, at + local
        while left > 0:
            number = int.from_bytes(self._data[following : following + 4], "big")
            following = (number - 1) * self._size
            piece = (
                bytes(self._data[following + 4 : following + min(self._size, left + 4)]) if number else b""
            )
            if not piece:
                raise ValueError("it goes on in a page that is not there")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    number = 0
    for place in range(at, at + 8):
        byte = data[place]
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, place + 1
    return number << 8 | data[at + 8], at + 9


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _columns(payload: bytes) -> Columns:
    end, at = _varint(payload, 0)
    kinds: list[int] = []
    while at < end and len(kinds) < _MOST_COLUMNS:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != end:
        raise ValueError("no header of a row of ours")
    values: list[Value] = []
    for kind in kinds:
        value, at = _value(payload, kind, at=at)
        values.append(value)
    if at != len(payload):
        raise ValueError("it has another length than its columns")
    return tuple(values)


def _value(payload: bytes, kind: int, *, at: int) -> tuple[Value, int]:
    if kind == 0:
        return None, at
    # the numbers 0 and 1 have kinds of their own, and take no bytes
    if kind in (8, 9):
        return kind - 8, at
    if kind >= 12:
        size = (kind - 12) // 2
        data = payload[at : at + size]
        if len(data) != size:
            raise ValueError("a column is cut off")
        return data.decode() if kind % 2 else data, at + size
    if kind == 7:
        return struct.unpack(">d", payload[at : at + 8])[0], at + 8
    size = _INTEGERS.get(kind)
    if size is None:
        raise ValueError("no such kind of column")
    return int.from_bytes(payload[at : at + size], "big", signed=True), at + size
