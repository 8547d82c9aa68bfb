"""JSON objects as their members' bytes: what is not changed keeps its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Raw

from autocompact.wire import json

Members: TypeAlias = dict[str, bytes]
"""An object's members, each as its JSON."""


def parts_of(raw: bytes | Raw) -> Members:
    """The members of an object.

    Raises:
        InvalidRequest: it is no object.
    """
    return {name: bytes(value) for name, value in json.members(raw, path="answer").items()}


def items_of(raw: bytes | None) -> list[bytes]:
    """The items of an array; none where there is no array."""
    return [bytes(item) for item in json.items(raw, path="answer")] if raw and json.is_array(raw) else []


def object_of(members: Mapping[str, bytes]) -> bytes:
    """The object with these members."""
    return json.encode({name: json.fragment(value) for name, value in members.items()})
