"""What one JSON value has that another one has not, so that the two together give the first again.

A framework's message stands in the log as a message of a provider's API, so that all of autocompact can read it. What that
cannot say (ids, time stamps, provider details) is the remainder; kept beside it, the framework's message is restored
exactly, and its words are not stored twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = Any
Remainder: TypeAlias = dict[str, Any]


def remainder(value: Json, base: Json) -> Remainder:
    """What makes ``value`` of ``base`` (`restored`); empty where they are equal, whatever the order of members."""
    if _is_object(value) and _is_object(base):
        return _of_members(value, base)
    if _is_array(value) and _is_array(base) and len(value) == len(base):
        pairs = enumerate(zip(value, base, strict=True))
        changed = {str(place): remainder(each, other) for place, (each, other) in pairs}
        return _with(inside={place: each for place, each in changed.items() if each})
    # the type too: True equals 1, and 1 equals 1.0, but their JSON does not
    return {} if type(value) is type(base) and value == base else {"is": value}


def restored(base: Json, rest: Mapping[str, Json]) -> Json:
    """The value that ``rest`` is the remainder of."""
    if "is" in rest:
        return rest["is"]
    inside: Mapping[str, Any] = rest.get("in", {})
    if _is_array(base):
        return [restored(each, inside.get(str(place), {})) for place, each in enumerate(base)]
    if not _is_object(base):
        return base
    dropped: Sequence[str] = rest.get("without", ())
    kept = {name: restored(each, inside.get(name, {})) for name, each in base.items() if name not in dropped}
    return kept | rest.get("with", {})


def _of_members(value: dict[str, Json], base: dict[str, Json]) -> Remainder:
    changed = {name: remainder(value[name], base[name]) for name in value if name in base}
    return _with(
        new={name: each for name, each in value.items() if name not in base},
        inside={name: each for name, each in changed.items() if each},
        gone=[name for name in base if name not in value],
    )


def _with(
    *, new: Mapping[str, Json] | None = None, inside: Mapping[str, Json], gone: Sequence[str] = ()
) -> Remainder:
    parts = {"with": dict(new or {}), "in": dict(inside), "without": list(gone)}
    return {name: part for name, part in parts.items() if part}


def _is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict)


def _is_array(value: Json) -> TypeGuard[list[Json]]:
    return isinstance(value, list)
