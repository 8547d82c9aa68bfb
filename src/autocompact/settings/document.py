"""Reads a ``settings.json``: its settings, each with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from autocompact.errors import InvalidInput
from autocompact.runtime.files import read_file
from autocompact.settings.fields import by_path, sections, suggestion

SCHEMA = "$schema"

Document = TypeVar("Document")

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')
# A text or comment that never ends is taken up to the end, and stays: else each quote and each /* would be looked at to the end.
_TEXT = r'("(?:[^"\\\n]|\\.)*"?)'
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?\*/|(/\*.*)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_TEXT}|,(?=\s*[}}\]])")
_BLANKED = re.compile(r"[^\n]+")
_BYTE = re.compile(r" \(byte (\d+)\)$")
_PATH = re.compile(r" - at `\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


class Given(Struct, frozen=True, kw_only=True):
    """A value and where it stands."""

    value: object
    where: str


def read_document(path: Path) -> dict[str, Given]:
    """The settings that the file gives, by their paths; none if there is no such file.

    The file is JSON; ``//`` and ``/* */`` comments and trailing commas are allowed.

    Args:
        path: the file.

    Raises:
        InvalidInput: it cannot be read, is no JSON, or holds what is no setting; the message names file, line and path.
    """
    try:
        text = _text(read_file(path), file=path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from error
    return dict(_settings(_decoded(text, file=path), file=path, lines=_lines(text)))


def check_document(text: str, *, file: Path) -> None:
    """Read a ``settings.json`` for its errors.

    Args:
        text: of it.
        file: named in an error.

    Raises:
        InvalidInput: see `read_document`.
    """
    plain = plain_json(text)
    for _ in _settings(_decoded(plain, file=file), file=file, lines=_lines(plain)):
        pass


def decode_document(path: Path, kind: type[Document], *, what: str, form: str) -> Document:
    """The document of another kind that stands in a file as the settings do: JSON, with comments.

    Args:
        path: the file.
        kind: a type that msgspec knows.
        what: what it is called.
        form: a sentence on what stands in it, which ends an error.

    Raises:
        InvalidInput: it cannot be read, or is none; the message names file, line, column and what is expected there.
    """
    try:
        # a person may give a pipe, <(…)
        text = _text(path.read_bytes(), file=path)
    except OSError as error:
        raise InvalidInput(f"{path}: the {what} cannot be read: {error.strerror or error}") from error
    try:
        return msgspec.convert(_decoded(text, file=path), kind)
    except msgspec.ValidationError as error:
        place = place_of(text, str(error))
        raise InvalidInput(f"{path}:{place}: this is no {what}: {error}. {form}") from None


def place_of(text: str, message: str) -> str:
    """Line and column (``3:14``) of the value that an error of msgspec names, as far as the path leads.

    Args:
        text: the JSON.
        message: of the error; it ends with a path such as ``$.policies[1].kind``.
    """
    named = _PATH.search(message)
    at = _blank_end(text, 0)
    for key, index in _STEP.findall(named[1] if named else ""):
        step = key or int(index)
        found = next((start for name, start in _members(text, at) if name == step), None)
        if found is None:  # a member that is missing: the object without it is the place
            break
        at = found
    return _line_and_column(text, at)


def _members(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Key or index, and the first character, of each value in the object or list that begins at ``at``."""
    decoder, count, opening = json.JSONDecoder(), 0, text[at]
    at = _blank_end(text, at + 1)
    while opening in "{[" and text[at] not in "}]":
        name: str | int = count
        if opening == "{":
            name, at = decoder.raw_decode(text, at)
            at = _blank_end(text, _blank_end(text, at) + 1)
        yield name, at
        _, at = decoder.raw_decode(text, at)
        at = _blank_end(text, at)
        at, count = (_blank_end(text, at + 1) if text[at] == "," else at), count + 1


def _blank_end(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


def _line_and_column(text: str, at: int) -> str:
    return f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"


def _text(content: bytes, *, file: Path) -> str:
    """The JSON in the content of a file, without comments."""
    try:
        return plain_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file}: is no UTF-8 (byte {error.start})") from error


def _decoded(text: str, *, file: Path) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{file}{_told(str(error), text)}") from None
    except RecursionError:  # who clones a repository with such a file must still be able to run every command
        raise InvalidInput(f"{file}: the JSON is nested too deeply") from None


def plain_json(text: str) -> str:
    """``text`` with spaces in place of comments and trailing commas: each character keeps its place."""
    return _blanked(_TRAILING_COMMA, without_comments(text))


def without_comments(text: str) -> str:
    """``text`` with spaces in place of comments: each character keeps its place."""
    return _blanked(_COMMENT, text)


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    def blank(found: re.Match[str]) -> str:
        if found.lastindex:
            return found[0]
        return _BLANKED.sub(lambda part: " " * len(part[0]), found[0])

    return pattern.sub(blank, text)


def _told(message: str, text: str) -> str:
    """A message that says "(byte 8)" with line and column instead; what is cut short is so at its end."""
    if "truncated" in message:
        end = _line_and_column(text, len(text.rstrip()))
        return f":{end}: the JSON ends here before it is complete: a bracket or quote is open, or the file was cut short"
    byte = _BYTE.search(message)
    if byte is None:
        return f": {message}"
    at = len(text.encode()[: int(byte[1])].decode(errors="replace"))
    return f":{_line_and_column(text, at)}: {message[: byte.start()]}"


def _settings(document: object, *, file: Path, lines: Mapping[str, int]) -> Iterator[tuple[str, Given]]:
    """Walk the sections; what is below a setting is its value."""

    def walk(value: object, path: str) -> Iterator[tuple[str, Given]]:
        place = f"{file}:{lines.get(path, 1)}"
        if setting := by_path().get(path):
            yield path, Given(value=setting.accept(value, where=f"{place}: {path}"), where=place)
            return
        if not isinstance(value, dict):
            label = f"{path}: " if path else ""
            raise InvalidInput(f"{place}: {label}expected an object with {', '.join(sections()[path])}")
        for name, member in cast("dict[str, object]", value).items():
            if not path and name == SCHEMA:
                continue
            below = f"{path}.{name}" if path else name
            if name not in sections()[path]:
                there = sections()[path]
                raise InvalidInput(
                    f"{file}:{lines.get(below, 1)}: {below}: no such setting{suggestion(name, there)}; "
                    f"there are {', '.join(there)}"
                )
            yield from walk(member, below)

    yield from walk(document, "")


def _lines(text: str) -> dict[str, int]:
    """The line of each member of the objects in ``text``, by its path; ``text`` is known to be JSON."""
    found: dict[str, int] = {}
    path: list[str | None] = []
    key, line, seen = "", 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", seen, token.start())
        seen = token.start()
        match token[0]:
            case "{" | "[":
                path.append(key or None)
                key = ""
            case "}" | "]":
                path.pop()
                key = ""
            case ",":
                key = ""
            case ":":
                found[".".join((*filter(None, path), key))] = line
            case string if not key:
                key = cast("str", msgspec.json.decode(string))
            case _:
                pass
    return found
