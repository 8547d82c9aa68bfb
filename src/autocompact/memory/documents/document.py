"""A text file whose untouched lines keep their bytes.

A line is read as UTF-8, and as Windows-1252 where it is not; the five bytes that this leaves out are read as Latin-1. So
every byte has a character: no file is unreadable, and none is changed by being read. What is written anew takes the file's
own line end and encoding; a character that Windows-1252 lacks becomes a numeric reference (``&#21271;``), which Markdown
shows as the character.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autocompact.core.patterns import LazyPattern
from autocompact.errors import InvalidInput

BOM = b"\xef\xbb\xbf"
_UNWRITABLE = LazyPattern(r"[\ud800-\udfff]")
_UNDEFINED = b"\x81\x8d\x8f\x90\x9d"
# What a byte is in Latin-1, and in Windows-1252.
_WINDOWS = {byte: ord(bytes([byte]).decode("cp1252")) for byte in range(0x80, 0xA0) if byte not in _UNDEFINED}
_LATIN = {character: byte for byte, character in _WINDOWS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Lines ``start`` to ``end`` (from 0, ``end`` not included) are replaced by ``lines``, which have no line ends."""

    start: int
    end: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A file as lines.

    Attributes:
        bom: the byte order mark it begins with, or nothing.
        raw: the lines with their ends, as bytes.
        texts: the same as text, without their ends.
        newline: the line end that is used most; a line feed in a file without any.
        is_windows: some line is not UTF-8.
    """

    bom: bytes
    raw: tuple[bytes, ...]
    texts: tuple[str, ...]
    newline: bytes
    is_windows: bool

    def edited(self, edits: Iterable[Edit]) -> bytes:
        """The file after ``edits``, which must not overlap; those at one place are made in the order given.

        A line that takes the place of one line keeps its line end and encoding.
        """
        out = bytearray(self.bom)
        at = 0
        # stable: edits at one place stay in the order given
        for edit in sorted(edits, key=lambda each: (each.start, each.end)):
            out += b"".join(self.raw[at : edit.start])
            old = self.raw[edit.start : edit.end]
            # line for line: each keeps its own end and encoding, also in a file that mixes them
            if len(old) == len(edit.lines):
                for line, text in zip(old, edit.lines, strict=True):
                    out += _encoded(text, is_windows=_text(line)[1]) + _end(line)
            elif edit.lines:
                self._end_line(out)
                newline = self.newline.decode()
                out += _encoded(f"{newline.join(edit.lines)}{newline}", is_windows=self.is_windows)
            at = edit.end
        if at < len(self.raw):
            self._end_line(out)
        return bytes(out + b"".join(self.raw[at:]))

    def _end_line(self, out: bytearray) -> None:
        """End the last line, so that what follows begins a new one."""
        if len(out) > len(self.bom) and not out.endswith((b"\n", b"\r")):
            out += self.newline


def read_document(content: bytes, *, name: str) -> Document:
    """The lines of a file.

    Args:
        content: all of it.
        name: the file's, for the message.

    Raises:
        InvalidInput: it is no text: it holds NUL bytes, as binary files and UTF-16 do.
    """
    # writing into a binary file or UTF-16 would destroy it
    if b"\0" in content:
        raise InvalidInput(
            f"{name} holds NUL bytes: it is no text in UTF-8 or Windows-1252. Save it as UTF-8"
        )
    bom = BOM if content.startswith(BOM) else b""
    content = content[len(bom) :]
    raw = tuple(content.splitlines(keepends=True))
    # decoding all at once is many times faster than line by line, which only mixed files need
    texts = _texts(content, raw)
    return Document(
        bom=bom,
        raw=raw,
        texts=texts or tuple(_text(line)[0] for line in raw),
        newline=_newline(content),
        is_windows=texts is None,
    )


def _texts(content: bytes, raw: Sequence[bytes]) -> tuple[str, ...] | None:
    """The lines without their ends, read at once; None if some line is not UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # `str.splitlines` also cuts at characters that are no line end in a file
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[: len(raw)])


def _newline(content: bytes) -> bytes:
    """The line end that is used most, in doubt the shorter."""
    both = content.count(b"\r\n")
    counts = {b"\n": content.count(b"\n") - both, b"\r": content.count(b"\r") - both, b"\r\n": both}
    # the first of equals, which is the line feed
    return max(counts, key=lambda end: counts[end])


def _text(line: bytes) -> tuple[str, bool]:
    """The line without its end, and whether it is not UTF-8."""
    line = line.rstrip(b"\r\n")
    try:
        return line.decode("utf-8"), False
    except UnicodeDecodeError:
        return line.decode("latin-1").translate(_WINDOWS), True


def _end(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]


def _encoded(text: str, *, is_windows: bool) -> bytes:
    text = _UNWRITABLE.sub("\ufffd", text)
    return (
        text.translate(_LATIN).encode("latin-1", "xmlcharrefreplace") if is_windows else text.encode("utf-8")
    )
