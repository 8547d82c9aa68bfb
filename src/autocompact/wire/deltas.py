"""Events of a streamed answer, and the assembly of its pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from autocompact.core.messages import Usage
from autocompact.wire import json


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """More of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDelta:
    """More of the tool call number ``index`` of the answer; ``id`` and ``name`` come with its beginning."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """The tokens so far; the last report counts."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The provider said that this is all, and why, in its word."""

    stop_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The provider reported an error in the midst of the stream, or sent what cannot be read."""

    message: str


StreamEvent: TypeAlias = TextDelta | ReasoningDelta | CallDelta | UsageReport | Finish | Problem

Growing: TypeAlias = dict[str, object]
_WHOLE = frozenset({"id", "type", "name", "role", "format"})


def grow(target: Growing, delta: Mapping[str, object]) -> None:
    """Add a delta to what is there: texts are appended, objects filled up, lists too, by ``index`` where they have one.

    Members that come whole (``id``, ``type``, ``name``, ``role``, ``format``) are replaced, but not by nothing. Texts
    are kept as lists of their pieces until `settle`, so that a long answer costs O(length).
    """
    for key, value in delta.items():
        old = target.get(key)
        match value:
            case str() if key not in _WHOLE:
                target[key] = pieces = old if isinstance(old, _Pieces) else _Pieces()
                pieces.append(value)
            case dict():
                inner = target[key] = cast(Growing, old if isinstance(old, dict) else {})
                grow(inner, cast(Growing, value))
            case list():
                grown = target[key] = cast(
                    list[object], old if isinstance(old, list) and not isinstance(old, _Pieces) else []
                )
                _extend(grown, cast(list[object], value))
            case None | "":
                target.setdefault(key, value)
            case _:
                target[key] = value


def _extend(target: list[object], values: list[object]) -> None:
    for value in values:
        if not isinstance(value, dict):
            target.append(value)
            continue
        new = cast(Growing, value)
        index = new.get("index")
        # the last one of this index, which Gemini gives all calls of an answer
        place = next((item for item in reversed([*objects(target)]) if item.get("index") == index), None)
        if index is None or place is None or _begins_another(place, new):
            place = Growing()
            target.append(place)
        grow(place, new)


def _begins_another(old: Growing, new: Growing) -> bool:
    """True if a delta names a tool under another id: servers that make up ids for each delta name it once."""
    called = new.get("function")
    names_one = isinstance(called, dict) and bool(cast(Growing, called).get("name"))
    return names_one and bool(old.get("id") and new.get("id")) and old["id"] != new["id"]


def objects(value: object) -> Iterator[Growing]:
    """The objects in a list; none in anything else."""
    values = cast(list[object], value) if isinstance(value, list) else []
    return (cast(Growing, item) for item in values if isinstance(item, dict))


class _Pieces(list[str]):
    """A text that still grows."""


def settle(value: object) -> object:
    """The value with its texts in one piece."""
    match value:
        case _Pieces():
            return "".join(value)
        case dict():
            return {key: settle(item) for key, item in cast(Growing, value).items()}
        case list():
            return [settle(item) for item in cast(list[object], value)]
        case _:
            return value


def as_object(raw: bytes) -> Growing:
    """A JSON object as a dictionary.

    Raises:
        InvalidRequest: it is something else.
    """
    return {key: json.any_value(value, path=key) for key, value in json.members(raw, path="event").items()}


def text_of(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
