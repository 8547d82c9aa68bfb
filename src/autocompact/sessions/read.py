"""Read a recorded session, whichever program wrote it."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec

from autocompact.core.messages import Message, Reasoning, Text
from autocompact.core.plurals import plural
from autocompact.errors import InvalidRequest, UnreadableSession
from autocompact.sessions.formats import (
    CHAT_LINES,
    CHAT_OBJECT,
    DOCUMENTS,
    KNOWN_ARE,
    LABELS,
    LISTS,
    TEXTS,
    Fields,
    Read,
    Reader,
    readers,
)
from autocompact.sessions.jsonl import BOM, NOT_JSON, Lines, salvage
from autocompact.sessions.session import Session
from autocompact.wire.json import mend

_HEAD_BYTES = 4_096
"""Of a text, enough to recognise it."""

_FIRST_ITEMS = 200
"""Of JSON lines, enough to tell what they are the items of."""

_MOST_FOREIGN = 10
"""Lines that are no JSON for each message, in a session that was damaged or stands amid the lines of a log."""

_SAMPLE = 8_192
"""Bytes of what could not be read, enough to tell an encoding or a program."""

_TRUNCATED = "truncated"
"""In what msgspec says of JSON that is right as far as it goes."""

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_any = msgspec.json.Decoder(msgspec.Raw).decode


def read_session(path: Path | str) -> Session:
    """Read a recorded session; the format is told by the content, not by the name.

    JSON lines are read as a stream, one JSON document as a whole. What cannot be used is in ``Session.skipped``, what is no
    UTF-8 in ``Session.garbled``.

    Raises:
        UnreadableSession: there is no such file, or nothing in it is a message of a session.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            session = _read(file, path=path)
            file.seek(0)
            session = replace(session, garbled=tuple(_garbled(file)))
    except OSError as error:
        raise UnreadableSession(_no_file(path, error)) from error
    if lines := _foreign_lines(session):
        raise UnreadableSession(
            f"{str(path)!r} is no session: {plural(lines, 'line')} of it cannot be read, and the rest is no more than "
            f"{plural(len(session.messages), 'message')}, as a text that quotes some has them. {KNOWN_ARE}"
        )
    problems = f" {session.skipped[0].reason}." if session.skipped else ""
    if not session.messages:
        raise UnreadableSession(
            f"{str(path)!r} is a session of {LABELS[session.format]} without a single message.{problems} "
            "Choose a session in which something was said."
        )
    if not any(_says_something(message) for message in session.messages):
        raise UnreadableSession(
            f"{str(path)!r} looks like a session of {LABELS[session.format]}, but all of its "
            f"{len(session.messages)} messages came out empty: another program wrote it, or a newer one.{problems} "
            f"{KNOWN_ARE}"
        )
    return session


def _foreign_lines(session: Session) -> int:
    """Lines that are no JSON, where they are so many that the file is a program or a document in which messages stand; else 0."""
    lines = sum(each.reason.startswith(NOT_JSON) for each in session.skipped)
    return lines if session.messages and lines >= _MOST_FOREIGN * len(session.messages) else 0


def _garbled(lines: Iterable[bytes]) -> Iterator[int]:
    """The numbers of the lines that are no UTF-8."""
    for number, line in enumerate(lines, start=1):
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError:
                yield number


def _says_something(message: Message) -> bool:
    return any(not isinstance(part, Text | Reasoning) or part.text for part in message.parts)


def _read(file: BinaryIO, *, path: Path) -> Session:
    lines = (line for line in file if line.removeprefix(BOM).strip())
    first, alone = next(lines, b""), next(lines, None) is None
    if not first:
        raise UnreadableSession(f"{str(path)!r} is empty: choose a session file with content.")
    file.seek(0)
    if (read := _text_reader(file.read(_HEAD_BYTES))) is not None:
        file.seek(0)
        return read(file)
    if (content := _whole(file, first=first)) is not None:
        return _read_document(content, path=path)
    file.seek(0)
    reader = _reader(file, alone=alone)
    file.seek(0)
    if reader is CHAT_LINES and _is_list_of_others(file):
        reader = None
    file.seek(0)
    try:
        session = _read_items(file) if reader is None else reader.read(file)
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidRequest) as error:
        raise UnreadableSession(f"{str(path)!r} is JSON, but no session: {error}. {KNOWN_ARE}") from error
    if session is None:
        file.seek(0)
        content = file.read(_SAMPLE if _is_json(first) else -1)
        raise UnreadableSession(_no_session(path, first, alone=alone, content=content))
    return session


def _is_list_of_others(lines: Iterable[bytes]) -> bool:
    """True if lines that begin like chat messages are the items of another API, as a later one of them shows."""
    document = _joined(item for _, item in islice(Lines(lines, msgspec.Raw), _FIRST_ITEMS))
    first = next((reader for reader in LISTS if reader.matches(document)), LISTS[-1])
    return first is not LISTS[-1]


def _joined(items: Iterable[msgspec.Raw]) -> bytes:
    return b"[" + b",".join(bytes(item) for item in items) + b"]"


def _read_items(lines: Iterable[bytes]) -> Session | None:
    """JSON lines that are the items of a list which is read as a document; None where they are none."""
    source = Lines(lines, msgspec.Raw)
    document = _joined(item for _, item in source)
    reader = next((reader for reader in LISTS if reader.matches(document)), None)
    if reader is None:
        return None
    session = reader.read([document])
    return replace(session, skipped=(*source.skipped, *session.skipped))


def _whole(file: BinaryIO, *, first: bytes) -> bytes | None:
    """The file as one document, None where it is JSON lines; ``first`` is its first line with content."""
    lines = _is_json(first) and not first.removeprefix(BOM).lstrip().startswith(b"[")
    file.seek(0)
    if lines:
        return None
    content = _document(file)
    return content if _is_json(first) or _is_json(content) else None


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
            for reader in LISTS:
                if reader.matches(content):
                    return reader.read([content])
        else:
            fields = _fields(content)
            for reader in (*DOCUMENTS, CHAT_OBJECT):
                if reader.matches(fields):
                    return reader.read([content])
    except (msgspec.DecodeError, InvalidRequest) as error:
        raise UnreadableSession(f"{str(path)!r} is JSON, but no session: {error}. {KNOWN_ARE}") from error
    raise UnreadableSession(f"{str(path)!r} is JSON, but no session that is known. {KNOWN_ARE}")


def _text_reader(head: bytes) -> Read | None:
    """The reader of a text that is no JSON, by how it begins."""
    text = head.removeprefix(BOM).decode(errors="replace").replace("\r\n", "\n")
    if text.lstrip().startswith(("{", "[")):  # as nearly all: those readers need not be loaded to say no
        return None
    return next((read for matches, read in TEXTS if matches(text)), None)


def _reader(lines: Iterable[bytes], *, alone: bool) -> Reader | None:
    """The reader of the first format that a line belongs to; ``alone`` says that there is only one line."""
    found = (fields for line in lines for fields in _objects(line))
    return next((reader for fields in found for reader in readers(fields, alone=alone)), None)


def _objects(line: bytes) -> Iterator[Fields]:
    try:
        # The decoder checks only the strings that it makes: a reader must never meet bytes that are no text.
        line.decode()
        yield _fields(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        for piece in salvage(line)[0]:
            with suppress(msgspec.DecodeError, RecursionError):  # it holds NaN, which is no JSON
                yield _fields(piece)


def _is_json(content: bytes) -> bool:
    try:
        _any(content.removeprefix(BOM))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _breaks_off(content: bytes) -> bool:
    """True for an object or array in JSON of which the end is missing."""
    content = content.removeprefix(BOM).lstrip()
    try:
        _any(content)
    except (msgspec.DecodeError, RecursionError) as error:
        return content.startswith((b"{", b"[")) and _TRUNCATED in str(error)
    return False


# UTF-32 first: its mark begins with that of UTF-16
_WIDE = (
    ("UTF-32", codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    ("UTF-16", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
)


def _wide_encoding(sample: bytes) -> str | None:
    """The encoding of two or four bytes a character of a text that begins like ``sample``; None if it is none."""
    for name, *marks in _WIDE:
        if sample.startswith(tuple(marks)) and _decodes(sample, name):
            return name
    # without a mark: JSON and most text begin with ASCII, of which every other byte is zero
    for name, zeros in (("UTF-16LE", sample[1:200:2]), ("UTF-16BE", sample[:200:2])):
        if zeros and not any(zeros) and _decodes(sample, name):
            return name
    return None


def _decodes(sample: bytes, encoding: str) -> bool:
    """True if ``sample`` is text of that encoding; its last character may be cut."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return False
    return bool(text) and "\0" not in text


def _no_file(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no file {str(path)!r}: check the path of the session."
    if isinstance(error, IsADirectoryError):
        return f"{str(path)!r} is a folder: name one session file in it."
    return f"{str(path)!r} cannot be read: {error.strerror or error}."


def _no_session(path: Path, first: bytes, *, alone: bool, content: bytes) -> str:
    sample = content[:_SAMPLE]
    if (encoding := _wide_encoding(sample)) is not None:
        return (
            f"{str(path)!r} is text in {encoding}, not in UTF-8: save it as UTF-8, for instance with "
            f"`iconv -f {encoding} -t UTF-8`, and name the new file."
        )
    if b"\0" in sample:
        return f"{str(path)!r} is a binary file, not a session. {KNOWN_ARE}"
    if _is_json(first) and alone:
        return f"{str(path)!r} is JSON, but no session that is known. {KNOWN_ARE}"
    if _is_json(first):
        return (
            f"{str(path)!r} is JSON lines, but none of them belongs to a session that is known. {KNOWN_ARE}"
        )
    if _breaks_off(content):
        return f"{str(path)!r} breaks off: it is one JSON document without its end. Copy or export it again."
    return f"{str(path)!r} is not JSON: no line of it can be read. {KNOWN_ARE}"
