"""JSON lines as agents leave them: half-written, glued together, with stray bytes.

One line is one object, except after a crash: then a line breaks off, and what is appended later can follow on the
same line. Everything that can be read is; the rest is reported with its line number, and nothing raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import msgspec

from autocompact.sessions.session import Skipped
from autocompact.wire.json import mend

T = TypeVar("T")

BOM = b"\xef\xbb\xbf"
NOT_JSON = "not JSON"
"""Begins the reason why a line that is no JSON was skipped."""
_OPENING = re.compile(r'\{"(?:parentUuid|type|timestamp|id|role|message|sessionId)":')
# How many places of a broken line are tried as the start of an intact object: keeps a long broken line linear.
_ATTEMPTS = 200
_scan = json.JSONDecoder().raw_decode


class Lines(Generic[T]):
    """The objects of a JSONL file, decoded one by one as ``(line number from 1, object)``.

    What could not be read is in ``skipped`` once the iteration is over.

    Args:
        lines: of the file, or those that came since it was last read.
        kind: of the objects.
        first: number of the first of ``lines``.
        skipped: what could not be read of the lines before.
    """

    def __init__(
        self,
        lines: Iterable[bytes],
        kind: type[T],
        *,
        first: int = 1,
        skipped: Iterable[Skipped] = (),
    ) -> None:
        self.skipped = list(skipped)
        self.last = first - 1
        self._lines = lines
        self._decode = msgspec.json.Decoder(kind).decode

    def __iter__(self) -> Iterator[tuple[int, T]]:
        for number, line in enumerate(self._lines, start=self.last + 1):
            self.last = number
            if number == 1 and line.startswith(BOM):
                line = line[len(BOM) :]
            try:
                # The decoder checks only the strings that it makes, not what it skips or keeps as bytes.
                if not line.isascii():
                    line.decode()
                yield number, self._decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                if line.strip():
                    yield from self._recovered(number, line)

    def skip(self, line: int, reason: str) -> None:
        """Note that something could not be used."""
        self.skipped.append(Skipped(line=line, reason=reason))

    def _recovered(self, number: int, line: bytes) -> Iterator[tuple[int, T]]:
        pieces, rest = salvage(line)
        if rest:
            self.skip(number, f"{NOT_JSON}: {rest[:60]!r}")
        for piece in pieces:
            try:
                yield number, self._decode(piece)
            except (msgspec.DecodeError, RecursionError) as error:
                self.skip(number, f"unexpected content: {error}")


def salvage(line: bytes) -> tuple[list[bytes], str]:
    """The intact JSON objects of a broken line, and the first text between them that is none.

    Invalid UTF-8 and lone surrogates (an emoji cut in half) become U+FFFD.
    """
    text = mend(line.decode("utf-8", errors="replace").encode()).decode().rstrip()
    pieces: list[bytes] = []
    rest = ""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        end = _object_end(text, at)
        if end is None:
            rest = rest or text[at : at + 200]
            at = _next_object(text, at + 1)
        else:
            pieces.append(text[at:end].encode())
            at = end
    return pieces, rest


def _object_end(text: str, at: int) -> int | None:
    if text[at] != "{":
        return None
    try:
        return _scan(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _next_object(text: str, at: int) -> int:
    """Start of the next object that is an entry of its own; the end if there is none.

    One inside a broken entry is followed by a comma or a bracket.
    """
    for attempt, opening in enumerate(_OPENING.finditer(text, at)):
        if attempt == _ATTEMPTS:
            break
        end = _object_end(text, opening.start())
        if end is not None and text[end : end + 100].lstrip()[:1] not in (",", "]", "}"):
            return opening.start()
    return len(text)
