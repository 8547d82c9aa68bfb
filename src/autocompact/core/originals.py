"""Originals as a reader reads them: each part under a line that says whose it is, an edit as a diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import cast

from autocompact.core.messages import ToolCall, decoded

_OLD = ("old_string", "old_str", "oldText", "old_text", "old", "search")
_NEW = ("new_string", "new_str", "newText", "new_text", "new", "replace", "replacement")
_TEXT = ("patch", "diff", "input", "content", "contents", "file_text", "new_source", "text")
_EDITS = ("edits", "changes", "replacements")
_ALL = 1_000_000
"""Unchanged lines that a diff shows: all, so that it says what the arguments say."""


def call_text(call: ToolCall) -> str:
    """Text of a call's request: an edit as a diff, a patch or a file's content as it is, else the arguments as they came.

    The other arguments stand above it, one on a line. Edits are recognised by the names of their arguments, which the
    agents share: ``old_string`` and ``new_string``, ``old_str``, ``oldText``, a list of ``edits``, a ``patch``.
    """
    arguments = decoded(call.arguments)
    blocks = list(_diffs(arguments))
    shown = {*_OLD, *_NEW, *_EDITS} if blocks else set[str]()
    if not blocks:
        name = next((name for name in _TEXT if "\n" in str(arguments.get(name, ""))), None)
        if name is None:
            return call.arguments
        blocks, shown = [str(arguments[name])], {name}
    rest = [f"{name}: {value}" for name, value in arguments.items() if name not in shown]
    return "\n".join([*rest, *blocks])


def _diffs(arguments: Mapping[str, object]) -> Iterator[str]:
    old, new = (_first(arguments, names) for names in (_OLD, _NEW))
    if old is not None and new is not None:
        yield _diff(old, new)
    for name in _EDITS:
        edits = arguments.get(name)
        for edit in cast("list[object]", edits) if isinstance(edits, list) else []:
            if isinstance(edit, dict):
                yield from _diffs(cast("dict[str, object]", edit))


def _first(arguments: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    given = (arguments.get(name) for name in names)
    return next((value for value in given if isinstance(value, str)), None)


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "old", "new", lineterm="", n=_ALL)
    return "\n".join(lines) or "(old and new are the same)"
