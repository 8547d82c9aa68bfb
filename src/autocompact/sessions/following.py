"""Follows the file of a session that a program still writes: what was read is not read again."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from autocompact.sessions import claude_code, codex
from autocompact.sessions.formats import readers
from autocompact.sessions.jsonl import BOM
from autocompact.sessions.read import read_session
from autocompact.sessions.session import Session

_Reader: TypeAlias = claude_code.Reader | codex.Reader
_BEGINNING = 4_096
"""Bytes that must be the same in a file that only grew."""

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Followed:
    """The session in a file that may grow.

    Sessions of Claude Code and Codex are read on from the last whole line; any other is read anew when its file changed.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._reader: _Reader | None = None
        self._beginning = b""
        self._end = 0
        self._session: Session | None = None
        self._reading = threading.Lock()

    def read(self) -> Session:
        """The session as its file has it now; the same object if the file did not change.

        Raises:
            UnreadableSession: there is no such file, or nothing in it is a message of a session.
        """
        # the thread of a call that was cut off reads on while the next call begins: both would take the same lines
        with self._reading:
            stamp = self._changed()
            if self._session is None or stamp != self._stamp:
                self._session = self._on() or self._anew()
                self._stamp = stamp
            return self._session

    def _changed(self) -> tuple[int, int, int]:
        try:
            found = self.path.stat()
        except OSError:
            return (0, 0, 0)  # the reader says what is wrong with it
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _on(self) -> Session | None:
        """The session with what came since, None where the file is another one or its last line is not whole."""
        if self._reader is None:
            return None
        try:
            with self.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < self._end or file.read(len(self._beginning)) != self._beginning:
                    return None
                return self._session_of(self._reader, file)
        except OSError:
            return None

    def _session_of(self, reader: _Reader, file: BinaryIO) -> Session | None:
        file.seek(self._end)
        lines = file.readlines()
        if lines and not lines[-1].endswith(b"\n"):
            return None
        reader.read(lines)
        self._end = file.tell()
        return reader.session()

    def _anew(self) -> Session:
        """The whole file; a reader is kept where it can go on."""
        self._reader, self._end = None, 0
        try:
            with self.path.open("rb") as file:
                self._beginning = file.read(_BEGINNING)
                file.seek(0)
                reader = _reader_of(file.readline())
                session = self._session_of(reader, file) if reader is not None else None
        except OSError:
            return read_session(self.path)
        if reader is None or session is None or not session.messages:
            return read_session(self.path)
        self._reader = reader
        return session


def _reader_of(line: bytes) -> _Reader | None:
    """A reader that can go on for the session that begins with ``line``; None for any other."""
    try:
        fields = _fields(line.removeprefix(BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = next(readers(fields), None)
    if found is None:
        return None
    if found.module == "codex":
        return codex.Reader()
    return claude_code.Reader() if found.module == "claude_code" else None
