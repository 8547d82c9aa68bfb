"""Edits of a JSON document that leave every other byte of it as it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_STEP = 2
_SPACES = " \t\r\n"
_value_at = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A member of an object or an element of an array, in the text of the document.

    Attributes:
        name: of the member; "" for an element.
        start: where it begins, its name included.
        value: where its value begins.
        end: where it ends.
    """

    name: str
    start: int
    value: int
    end: int


def parts(text: str, at: int) -> list[Part]:
    """The members of the object, or the elements of the array, that begins at ``at``."""
    return list(_parts(text, at + 1, named=text[at] == "{"))


def add_element(text: str, path: Sequence[str], *, element: object) -> str:
    """The document with one more element at the end of the array at ``path``, which is made where it is missing.

    Raises:
        ValueError: it is no JSON, or something else than objects and an array is on the way.
    """
    at, depth = _start(text), 1
    json.loads(text)
    for place, name in enumerate(path):
        if text[at] != "{":
            raise ValueError(f"{name!r} cannot be in something that is no object")
        found = [part for part in parts(text, at) if part.name == name]
        if not found:
            value: object = [element]
            for missing in reversed(path[place + 1 :]):
                value = {missing: value}
            return _with(text, at, added=f"{json.dumps(name)}: {_shown(value, depth)}", depth=depth)
        at, depth = found[-1].value, depth + 1
    if text[at] != "[":
        raise ValueError(f"{path[-1]!r} is no array")
    return _with(text, at, added=_shown(element, depth), depth=depth)


def remove(text: str, path: Sequence[str | int]) -> str:
    """The document without the member or element at ``path``, and without an array or object that it leaves empty.

    Raises:
        KeyError: there is none.
    """
    at, way = _start(text), list[tuple[list[Part], int]]()
    for name in path:
        inside = parts(text, at)
        # of two members with one name every reader takes the last, as `add_element` does
        index = next((n for n, part in reversed([*enumerate(inside)]) if name == (part.name or n)), None)
        if index is None:
            raise KeyError(name)
        way.append((inside, index))
        at = inside[index].value
    while len(way) > 1 and len(way[-1][0]) == 1:
        way.pop()
    inside, index = way[-1]
    if len(inside) == 1:  # all that the document had
        opened = _start(text)
        return f"{text[: opened + 1]}{text[_value_at(text, opened)[1] - 1 :]}"
    start = inside[index - 1].end if index else inside[index].start
    end = inside[index].end if index else inside[index + 1].start
    return text[:start] + text[end:]


def _parts(text: str, at: int, *, named: bool) -> Iterator[Part]:
    at = _skip(text, at)
    while text[at] not in "]}":
        start, name = at, ""
        if named:
            name, at = _value_at(text, at)
            at = _skip(text, _skip(text, at) + 1)  # behind the colon
        _, end = _value_at(text, at)
        yield Part(name=name, start=start, value=at, end=end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _with(text: str, at: int, *, added: str, depth: int) -> str:
    """``added`` behind the last part of the object or array that begins at ``at``."""
    inside = parts(text, at)
    line = "\n" + " " * _STEP * depth
    if inside:
        end = inside[-1].end
        return f"{text[:end]},{line}{added}{text[end:]}"
    closing = _skip(text, at + 1)
    return f"{text[: at + 1]}{line}{added}\n{' ' * _STEP * (depth - 1)}{text[closing:]}"


def _shown(value: object, depth: int) -> str:
    lines = json.dumps(value, indent=_STEP, ensure_ascii=False).splitlines()
    return ("\n" + " " * _STEP * depth).join(lines)


def _start(text: str) -> int:
    return _skip(text, 0)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACES:
        at += 1
    return at
