"""Diffs in a history of SpecStory: what was there before, and what is there now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from autocompact.core.patterns import LazyPattern

Edit: TypeAlias = "dict[str, str]"
"""``old_string`` and ``new_string``, as the edit tools of most agents call them."""

_PATH = LazyPattern(r"\A--- (?P<path>\S[^\n]*)\n\+\+\+ [^\n]*\n")


def patched(diff: str) -> str:
    """The file that the first lines of a diff name; "" if they name none."""
    found = _PATH.match(diff)
    return found["path"] if found else ""


def replacements(diff: str) -> list[Edit]:
    """What each part of a diff replaces; of a text without any mark of a diff, that all of it is new."""
    text = _PATH.sub("", diff, count=1)
    hunks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.startswith("@@"):
            hunks.append([])
        else:
            hunks[-1].append(line)
    return [edit for hunk in hunks if (edit := _edit(hunk))]


def _edit(lines: Sequence[str]) -> Edit:
    """What a part of a diff replaces; nothing where it changes nothing."""
    if not any(line.startswith(("-", "+")) for line in lines):
        whole = "\n".join(lines)
        return {"new_string": whole} if whole.strip() else {}
    # SpecStory's extension puts a blank between the mark and the line
    wide = all(line[1:2] in ("", " ") for line in lines if line)
    old, new = (_side(lines, mark, skip=1 + wide) for mark in "-+")
    return {"old_string": old, "new_string": new} if old != new else {}


def _side(lines: Sequence[str], mark: str, *, skip: int) -> str:
    kept = (line for line in lines if line[:1] in ("", " ", mark))
    return "\n".join(line[skip:] for line in kept).rstrip("\n")
