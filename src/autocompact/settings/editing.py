"""Writes single settings into a ``settings.json``: comments, order, indentation and what nobody asked about stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from autocompact.errors import InvalidInput
from autocompact.runtime.files import make_folder, replace_file
from autocompact.settings.document import check_document, plain_json, without_comments
from autocompact.settings.fields import by_path

_SPACE = re.compile(r"\s*")
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"')
_INDENT = "  "
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """Where a member of an object stands in the text, in characters: its name, its value, and what follows."""

    path: str
    start: int
    value: int
    end: int
    comma: int | None


def change_settings(path: Path, changes: dict[str, object]) -> None:
    """Set or remove settings in the file; it is made where there is none.

    Args:
        path: the file.
        changes: plain JSON values by the path of the setting; None removes it, so that another source or the default
            holds.

    Raises:
        InvalidInput: no such setting, a value that it does not accept, or a file that is no ``settings.json`` or cannot
            be written: it is as it was.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: cannot be read: {error}") from error
    changed = changed_text(text, changes, file=path)
    try:
        make_folder(path.parent)
        replace_file(path, changed.encode())
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from error


def changed_text(text: str, changes: dict[str, object], *, file: Path) -> str:
    """The text of a ``settings.json`` with other values; see `change_settings`."""
    bom, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    text = text if text.strip() else "{}\n"
    check_document(text, file=file)
    for setting, value in changes.items():
        if setting not in by_path():
            raise InvalidInput(f"{setting}: no such setting; see autocompact settings")
        if value is not None:
            by_path()[setting].accept(value, where=setting)
        text = _removed(text, setting) if value is None else _set(text, setting, value=value)
    check_document(text, file=file)
    return bom + text


def _set(text: str, path: str, *, value: object) -> str:
    members = _members(text)
    if path in members:
        found = members[path]
        return text[: found.value] + _json(value) + text[found.end :]
    section, rest = "", path.split(".")
    while rest[:-1] and (below := f"{section}.{rest[0]}".lstrip(".")) in members:
        section, rest = below, rest[1:]
    for name in reversed(rest[1:]):
        value = {name: value}
    return _inserted(text, section, name=rest[0], value=value, members=members)


def _inserted(text: str, section: str, *, name: str, value: object, members: dict[str, _Member]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    start = members[section].value if section else _skip(without_comments(text), 0)
    depth = section.count(".") + 2 if section else 1
    beside = [each for each in members.values() if each.path.rpartition(".")[0] == section]
    indent = _indent(text, beside[-1].start) if beside else _indent(text, start) + _INDENT
    written = _json(value, step=_step(indent, depth=depth)).replace("\n", f"{newline}{indent}")
    line = f"{newline}{indent}{json.dumps(name)}: {written}"
    if beside:
        return _after(text, beside[-1], line=line, newline=newline)
    rest = text[start + 1 :]
    # behind a brace that a comment or the end of its line follows, what comes next has a line of its own already
    end = "" if rest.lstrip(" \t").startswith(("\r", "\n", "/")) else f"{newline}{_indent(text, start)}"
    return f"{text[: start + 1]}{line}{end}{rest.lstrip(' ') if end else rest}"


def _after(text: str, last: _Member, *, line: str, newline: str) -> str:
    """The text with a line after its last member, whose own comment stays beside it."""
    trailing = last.comma is not None
    text = text if trailing else f"{text[: last.end]},{text[last.end :]}"
    at = last.comma + 1 if last.comma is not None else last.end + 1
    end = text.find(newline, at)
    rest = without_comments(text)[at : max(at, end)]
    at = end if end >= 0 and not rest.strip() else at
    return f"{text[:at]}{line}{',' if trailing else ''}{text[at:]}"


def _removed(text: str, path: str) -> str:
    members = _members(text)
    if path not in members:
        return text
    found = members[path]
    section = path.rpartition(".")[0]
    if found.comma is not None:
        text, start = text[: found.start] + text[found.comma + 1 :].removeprefix(" "), found.start
    else:  # the last one: the comma before it goes, so that programs that know no trailing comma can read it
        before = [m for m in members.values() if m.path.rpartition(".")[0] == section and m.end < found.start]
        text, start = text[: found.start] + text[found.end :], found.start
        if before and (comma := before[-1].comma) is not None:
            text, start = text[:comma] + text[comma + 1 :], start - 1  # the comma stood before it
    text = _without_empty_line(text, start)
    emptied = section and not any(each.startswith(f"{section}.") for each in _members(text))
    return _removed(text, section) if emptied and not _has_comment(text, section) else text


def _has_comment(text: str, section: str) -> bool:
    found = _members(text)[section]
    return "/" in text[found.value : found.end]


def _without_empty_line(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end + 1
    return text if text[begin:end].strip() else text[:begin] + text[end:]


def _members(text: str) -> dict[str, _Member]:
    """The members of the objects by their paths; ``text`` is a document that was checked."""
    bare = without_comments(text)
    return {member.path: member for member in _walk(bare, plain_json(text), at=_skip(bare, 0), prefix="")}


def _walk(bare: str, plain: str, *, at: int, prefix: str) -> Iterator[_Member]:
    """The members of the object at ``at``: ``bare`` is the text without comments, ``plain`` without trailing commas."""
    at = _skip(bare, at + 1)
    while bare[at] != "}":
        key = _KEY.match(bare, at)
        assert key is not None, "it was checked to be JSON"
        path = f"{prefix}{json.loads(key[0])}"
        value = _skip(bare, _skip(bare, key.end()) + 1)
        end = json.JSONDecoder().raw_decode(plain, value)[1]
        after = _skip(bare, end)
        comma = after if bare[after] == "," else None
        yield _Member(path=path, start=at, value=value, end=end, comma=comma)
        if bare[value] == "{":
            yield from _walk(bare, plain, at=value, prefix=f"{path}.")
        at = _skip(bare, after + 1) if comma is not None else after


def _skip(plain: str, at: int) -> int:
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _step(indent: str, *, depth: int) -> str:
    """The indentation of one level, in a file whose members at ``depth`` are indented so."""
    return indent[: len(indent) // depth] or _INDENT


def _json(value: object, *, step: str = _INDENT) -> str:
    return json.dumps(
        msgspec.to_builtins(value), ensure_ascii=False, indent=step if isinstance(value, dict) else None
    )
