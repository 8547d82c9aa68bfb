"""Edits that a model writes into its words as blocks: what to search for in a file, and what to put there.

aider asks models for them, and models that know aider write them to anybody. The file is named above the fence around a
block, or in the fence's first line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

BEGINS = "<<<<< SEARCH"
"""Stands in every text that holds such a block."""

_SEARCH = re.compile(r"<{5,9} SEARCH>?\s*$")
_DIVIDER = re.compile(r"={5,9}\s*$")
_REPLACE = re.compile(r">{5,9} REPLACE\s*$")
TICKS = re.compile(r"\s*(?P<mark>`{3,}|~{3,})(?P<info>.*)")
TAG = re.compile(r"<(?P<name>source|code|pre|codeblock|sourcecode)>\w*\s*$")
"""The fences that aider uses where the files hold back ticks themselves."""

_NEAR = 20
"""Lines above a block in which its heading is looked for."""

_LIKE_PATH = re.compile(r"[^\s<>|?*\"]*[/\\.][^\s<>|?*\"]*$|[A-Z]\w*file$")


def normal_path(path: str) -> str:
    """A path in one spelling: aider prints that of the system, models write slashes, Markdown's editors mark underscores."""
    return path.strip().replace(".\\_", "._").replace("\\", "/").removeprefix("./")


def edit_blocks(lines: Sequence[str]) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The lines without the blocks, and of each block the file, what stood there, and what stands there now.

    Half a block stays among the lines.
    """
    kept: list[str] = []
    edits: list[tuple[str, str, str]] = []
    last = max((at for at, line in enumerate(lines) if _REPLACE.match(line)), default=-1)
    at = 0
    path = ""
    while at < len(lines):
        begins = at < last and _SEARCH.match(lines[at])
        heading = _heading(kept) if begins else ("", 0)
        path = heading[0] or path
        block = _block_at(lines, at) if begins and path else None
        if block is None:
            kept.append(lines[at])
            at += 1
            continue
        old, new, at = block
        edits.append((path, old, new))
        del kept[len(kept) - heading[1] :]
        while at < len(lines) and not lines[at].strip() and _SEARCH.match(_next_words(lines, at)):
            at += 1
        if at < len(lines) and _SEARCH.match(lines[at]):
            continue  # another edit of the same file, in the same fence
        at += at < len(lines) and is_fence(lines[at])
    return kept, edits


def _next_words(lines: Sequence[str], at: int) -> str:
    """The next line that is not blank, looked for a little way only."""
    return next((line for line in lines[at : at + 4] if line.strip()), "")


def _heading(kept: Sequence[str]) -> tuple[str, int]:
    """The file that an edit block is for, and how many lines say so: it stands before the fence, or first in it."""
    blanks = next((at for at, line in enumerate(kept[: -_NEAR - 1 : -1]) if line.strip()), len(kept))
    end = len(kept) - blanks
    above = kept[max(0, end - 3) : end][::-1]
    fence = TICKS.match(above[0]) if above else None
    if fence and is_path(path := named(fence["info"].rpartition(" ")[2])):
        return path, blanks + 1
    if len(above) > 1 and is_fence(above[0]) and (path := named(above[1])):
        return path, blanks + 2
    if len(above) > 2 and is_fence(above[0]) and not above[1].strip() and (path := named(above[2])):
        return path, blanks + 3
    if len(above) > 1 and is_fence(above[1]) and (path := named(above[0])):
        return path, blanks + 2
    return "", 0


def named(line: str) -> str:
    """The file that a line names, without the marks around it; "" for a fence."""
    if is_fence(line):
        return ""
    return normal_path(line.strip().strip("#").strip().strip("`*").rstrip(":").strip("`* "))


def is_path(name: str) -> bool:
    """True for a name with a folder or an ending, and for one such as "Makefile"."""
    return _LIKE_PATH.match(name) is not None


def is_fence(line: str) -> bool:
    """True for a line that opens or closes a block of code."""
    return bool(TICKS.match(line) or TAG.match(line) or line.startswith("</"))


def _block_at(lines: Sequence[str], at: int) -> tuple[str, str, int] | None:
    """Old text, new text, and where the block that begins at ``at`` has ended; None if it does not end."""
    divider = _next(_DIVIDER, lines, at=at + 1)
    end = _next(_REPLACE, lines, at=divider + 1) if divider else 0
    if not end:
        return None
    return "\n".join(lines[at + 1 : divider]), "\n".join(lines[divider + 1 : end]), end + 1


def search_texts(lines: Sequence[str]) -> Iterator[str]:
    """What each block among ``lines`` searches for."""
    at = 0
    while at < len(lines):
        block = _block_at(lines, at) if _SEARCH.match(lines[at]) else None
        if block:
            yield block[0]
        at = block[2] if block else at + 1


def _next(mark: re.Pattern[str], lines: Sequence[str], *, at: int) -> int:
    """Line of the next mark; 0 if another block begins before it, or there is none."""
    for place in range(at, len(lines)):
        if mark.match(lines[place]):
            return place
        if _SEARCH.match(lines[place]):
            break
    return 0


def bare(text: str) -> str:
    """A text without the blanks around its lines, which editors of Markdown take away: two that are alike have the same."""
    return "\n".join(line.strip() for line in text.strip().split("\n"))
