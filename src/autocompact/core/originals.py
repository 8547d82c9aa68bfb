"""Originals as a reader reads them: each part under a line that says whose it is, an edit as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import cast

from autocompact.core.argument_names import EDITS, NEW, OLD, PATCHES, WHOLE, in_snake_case, snake_case
from autocompact.core.messages import ToolCall, decoded

_TEXT = (*PATCHES, *WHOLE, "new_source")
_ALL = 1_000_000
"""Unchanged lines that a diff shows: all, so that it says what the arguments say."""


def call_text(call: ToolCall) -> str:
    """Text of a call's request: an edit as a diff, a patch or a file's content as it is, else the arguments as they came.

    The other arguments stand above it, one on a line. Edits are recognised by the names of their arguments, which the
    agents share, however they are spelled: old and new text, a list of edits, a patch (`argument_names`).
    """
    arguments = decoded(call.arguments)
    blocks = list(_diffs(arguments))
    shown = {*OLD, *NEW, *EDITS} if blocks else set[str]()
    if not blocks:
        named = in_snake_case(arguments)
        name = next((name for name in _TEXT if "\n" in str(named.get(name, ""))), None)
        if name is None:
            return call.arguments
        blocks, shown = [str(named[name])], {name}
    rest = [f"{name}: {value}" for name, value in arguments.items() if snake_case(name) not in shown]
    return "\n".join([*rest, *blocks])


def _diffs(arguments: Mapping[str, object]) -> Iterator[str]:
    named = in_snake_case(arguments)
    old, new = (_first(named, names) for names in (OLD, NEW))
    if old is not None and new is not None:
        yield _diff(old, new)
    for name in EDITS:
        edits = named.get(name)
        for edit in cast("list[object]", edits) if isinstance(edits, list) else []:
            if isinstance(edit, dict):
                yield from _diffs(cast("dict[str, object]", edit))


def _first(arguments: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    given = (arguments.get(name) for name in names)
    return next((value for value in given if isinstance(value, str)), None)


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=_ALL)
    return "\n".join(lines) or "(old and new are the same)"
