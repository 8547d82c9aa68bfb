"""Read a recorded session, whichever program wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from autocompact.errors import InvalidRequest, UnreadableSession
from autocompact.sessions import chat_json, claude_code, codex, copilot_cli, gemini_cli, openhands, pi
from autocompact.sessions.jsonl import BOM, salvage
from autocompact.sessions.session import Session
from autocompact.wire.json import mend

FORMATS = (
    "Claude Code, Codex, Copilot CLI, Gemini CLI, pi, OpenHands, SWE-agent and tau-bench sessions, "
    "OpenAI chat messages and Anthropic messages as JSON or JSON lines"
)

_Fields: TypeAlias = Mapping[str, msgspec.Raw]
_Reader: TypeAlias = Callable[[Iterable[bytes]], Session]
_FORMATS: tuple[tuple[Callable[[_Fields], bool], _Reader], ...] = (
    (codex.matches, codex.read),
    (claude_code.matches, claude_code.read),
    (copilot_cli.matches, copilot_cli.read),
    (gemini_cli.matches, gemini_cli.read),
    (pi.matches, pi.read),
    (openhands.matches, openhands.read),
    (chat_json.matches, chat_json.read),
)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_any = msgspec.json.Decoder(msgspec.Raw).decode


def read_session(path: Path) -> Session:
    """Read a recorded session; the format is told by the content, not by the name.

    JSON lines are read as a stream, one JSON document as a whole. What cannot be used is in ``Session.skipped``.

    Raises:
        UnreadableSession: there is no such file, or nothing in it is a message of a session.
    """
    try:
        with path.open("rb") as file:
            session = _read(file, path=path)
    except OSError as error:
        raise UnreadableSession(_no_file(path, error)) from error
    if not session.messages:
        problems = f" {session.skipped[0].reason}." if session.skipped else ""
        raise UnreadableSession(
            f"{str(path)!r} is a {session.format} session without a single message.{problems} "
            "Choose a session in which something was said."
        )
    return session


def _read(file: BinaryIO, *, path: Path) -> Session:
    first = file.readline()
    while first and not first.removeprefix(BOM).strip():
        first = file.readline()
    if not first:
        raise UnreadableSession(f"{str(path)!r} is empty: choose a session file with content.")
    file.seek(0)
    if not _is_json(first):
        content = _document(file)
        if _is_json(content):
            return _read_document(content, path=path)
        file.seek(0)
    elif first.removeprefix(BOM).lstrip().startswith(b"["):
        return _read_document(_document(file), path=path)
    reader = _reader(file)
    if reader is None:
        file.seek(0)
        raise UnreadableSession(_no_session(path, first, sample=file.read(8192)))
    file.seek(0)
    try:
        return reader(file)
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidRequest) as error:
        raise UnreadableSession(f"{str(path)!r} is JSON, but no session: {error}. {_KNOWN}") from error


def _document(file: BinaryIO) -> bytes:
    """The file as one document; invalid UTF-8 and half surrogates (an emoji cut in two) become U+FFFD, as in JSON lines."""
    content = file.read().removeprefix(BOM)
    try:
        content.decode()
    except UnicodeDecodeError:
        content = content.decode("utf-8", errors="replace").encode()
    return content if _is_json(content) else mend(content)


def _read_document(content: bytes, *, path: Path) -> Session:
    try:
        if content.lstrip().startswith(b"["):
            if chat_json.is_list(content):
                return chat_json.read_list(content)
        elif gemini_cli.matches(_fields(content)):
            return gemini_cli.read([content])
        elif chat_json.matches(_fields(content)):
            return chat_json.read_object(content)
    except (msgspec.DecodeError, InvalidRequest) as error:
        raise UnreadableSession(f"{str(path)!r} is JSON, but no session: {error}. {_KNOWN}") from error
    raise UnreadableSession(f"{str(path)!r} is JSON, but no session that is known. {_KNOWN}")


def _reader(lines: Iterable[bytes]) -> _Reader | None:
    """The reader of the first format that a line belongs to."""
    for line in lines:
        for fields in _objects(line):
            for matches, read in _FORMATS:
                if matches(fields):
                    return read
    return None


def _objects(line: bytes) -> Iterator[_Fields]:
    try:
        # The decoder checks only the strings that it makes: a reader must never meet bytes that are no text.
        line.decode()
        yield _fields(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for piece in salvage(line)[0]:
            yield _fields(piece)


def _is_json(content: bytes) -> bool:
    try:
        _any(content.removeprefix(BOM))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


_KNOWN = f"Known are {FORMATS}."


def _no_file(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no file {str(path)!r}: check the path of the session."
    if isinstance(error, IsADirectoryError):
        return f"{str(path)!r} is a folder: name one session file in it."
    return f"{str(path)!r} cannot be read: {error.strerror or error}."


def _no_session(path: Path, first: bytes, *, sample: bytes) -> str:
    if b"\0" in sample:
        return f"{str(path)!r} is a binary file, not a session. {_KNOWN}"
    if _is_json(first):
        return f"{str(path)!r} is JSON lines, but none of them belongs to a session that is known. {_KNOWN}"
    return f"{str(path)!r} is not JSON: no line of it can be read. {_KNOWN}"
