"""The edits in a reply of aider's model, in each of the formats that aider asks models for.

A block to search and replace says by itself what it is. Any other block of code may stand there to be read only, so it is an
edit where aider reported one of the file that the block is named after: a whole file, a diff, a patch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from autocompact.core.edit_blocks import TAG, TICKS, edit_blocks, is_fence, named, normal_path

_LONG_TICKS = "````"

_PATCH_BEGINS, _PATCH_ENDS = "*** Begin Patch", "*** End Patch"
_PATCHED = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$")
_DIFFED = re.compile(r"\+\+\+ (?:b/)?(?P<path>\S[^\t]*)")
_HEAD = 5
"""Lines of a diff before its first hunk, with those of git."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit of a file.

    Attributes:
        path: the file, with slashes; of a patch the first one.
        new: what stands there now, all of the file unless there is an ``old``; a patch as it is written.
        old: what stood there; None for a whole file and for a patch.
        files: the files of a patch; empty for any other edit.
    """

    path: str
    new: str
    old: str | None = None
    files: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it is about."""
        return self.files or (self.path,)


def find_edits(lines: Sequence[str], *, reported: Collection[str]) -> tuple[list[str], list[Edit]]:
    """The lines of a reply without its edits, and the edits; a half block stays.

    Args:
        lines: the reply.
        reported: the files, in the spelling of `normal_path`, of which aider said that it edited them or would have.
    """
    kept, blocks = edit_blocks(lines)
    if blocks or not reported:
        return kept, [Edit(path=path, old=old, new=new) for path, old, new in blocks]
    return _fenced(lines, reported=reported)


def _fenced(lines: Sequence[str], *, reported: Collection[str]) -> tuple[list[str], list[Edit]]:
    """The blocks of code that aider reported edits of: whole files, diffs, patches."""
    kept: list[str] = []
    edits: list[Edit] = []
    unnamed: list[tuple[int, str]] = []
    never: set[str] = set()
    at = 0
    while at < len(lines):
        end = _fence_end(lines, at, never=never)
        if not end and is_fence(lines[at]) and _name_of(kept, ())[0] in reported:
            end = len(lines)  # the reply was cut off, and aider wrote what there is
        if not end:
            kept.append(lines[at])
            at += 1
            continue
        inside = [*(lines[at : end + 1] if lines[at].startswith(_PATCH_BEGINS) else lines[at + 1 : end])]
        while end == len(lines) and inside and not inside[-1].strip():
            inside.pop()
        path, headed = _name_of(kept, inside)
        found = [*_in_block(path, inside, reported=reported)]
        if found:
            del kept[len(kept) - (headed if path in reported else 0) :]
            edits += found
        else:
            unnamed.append((len(kept), "\n".join(inside)))
            kept += lines[at : end + 1]
        at = end + 1
    if not edits and unnamed and len(reported) == 1:
        # a single file in the chat needs no name above its block: aider takes the first one
        (place, text), [path] = unnamed[0], reported
        del kept[place : place + text.count("\n") + 3]
        edits.append(Edit(path=path, new=text))
    return kept, edits


def with_ticks(lines: Sequence[str]) -> list[str]:
    """The lines, those fences that are tags as the ticks that stand for code elsewhere."""
    kept = list(lines)
    never: set[str] = set()
    at = 0
    while at < len(kept):
        end = _fence_end(kept, at, never=never)
        if end and TAG.match(kept[at]):
            kept[at] = kept[end] = _LONG_TICKS
        at = max(at, end) + 1
    return kept


def _fence_end(lines: Sequence[str], at: int, *, never: set[str]) -> int:
    """The line that closes the block which opens at ``at``; 0 if none opens there, or it is never closed.

    Args:
        lines: the reply.
        at: a line.
        never: what closes nothing from an earlier line on, and so none from here on; what is found so is added. Without it
            a reply of nothing but opening lines takes the square of its length.
    """
    tag, ticks = TAG.match(lines[at]), TICKS.match(lines[at])
    if tag or lines[at].startswith(_PATCH_BEGINS):
        closing = f"</{tag['name']}>" if tag else _PATCH_ENDS
    elif ticks:
        closing = ticks["mark"]
    else:
        return 0
    # a line that begins with more ticks begins with fewer, too
    if closing in never or (ticks and any(closing.startswith(each) for each in never)):
        return 0
    for end in range(at + 1, len(lines)):
        line = lines[end].strip()
        if line.startswith(closing) if ticks else line == closing:
            return end
    never.add(closing)
    return 0


def _name_of(kept: Sequence[str], inside: Sequence[str]) -> tuple[str, int]:
    """The file above a block, and how many lines say so; "" for a diff, which names its own."""
    if not kept or any(line.startswith(("+++ ", _PATCH_BEGINS)) for line in inside[:_HEAD]):
        return "", 0
    return (named(kept[-1]), 1) if kept[-1].strip() else (named("".join(kept[-2:])), 2)


def _in_block(path: str, inside: Sequence[str], *, reported: Collection[str]) -> Iterator[Edit]:
    """The edits that a block of code holds."""
    if path in reported:
        yield Edit(path=path, new="\n".join(inside))
    elif any(line.startswith(_PATCH_BEGINS) for line in inside[:1]):
        files = tuple(normal_path(found[1]) for line in inside if (found := _PATCHED.match(line)))
        if any(file in reported for file in files):
            yield Edit(path=files[0], new="\n".join(inside), files=files)
    elif any(line.startswith("+++ ") for line in inside[:_HEAD]):
        yield from _diff(inside, reported=reported)


def _diff(inside: Sequence[str], *, reported: Collection[str]) -> Iterator[Edit]:
    """The hunks of a unified diff, each as what stood there and what stands there now."""
    path = ""
    old: list[str] = []
    new: list[str] = []

    def done() -> Iterator[Edit]:
        if path in reported and (old or new):
            yield Edit(path=path, old="\n".join(old), new="\n".join(new))
        old.clear()
        new.clear()

    for line in inside:
        if named := _DIFFED.match(line):
            yield from done()
            path = normal_path(named["path"])
        elif line.startswith(("@@", "--- ", "diff --git ", "index ")):
            yield from done()
        else:
            if not line.startswith("+"):
                old.append(line[1:])
            if not line.startswith("-"):
                new.append(line[1:])
    yield from done()
