"""Code fences of Markdown, as CommonMark closes them: by a line of as many marks as opened them, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autocompact.core.patterns import LazyPattern

_FENCE = LazyPattern(r"(?P<indent> {0,3})(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^`\n]*?)[ \t]*")


class Fence(NamedTuple):
    """An opening line: its marks, what stands behind them, and how many blanks before."""

    marks: str
    language: str
    indent: int = 0

    def ends_at(self, line: str) -> bool:
        """True if ``line`` closes it; one that stands further in is text, as the unchanged line of a diff."""
        if not line.startswith(self.marks, len(line) - len(line.lstrip(" "))):
            return False
        return not line.strip().strip(self.marks[0]) and len(line) - len(line.lstrip(" ")) <= self.indent

    def is_within(self, other: Fence) -> bool:
        """True if every line that closes it would close ``other``, too."""
        return self.marks.startswith(other.marks) and self.indent <= other.indent


def fence_at(line: str) -> Fence | None:
    """The fence that a line opens; None if it is no fence."""
    found = _FENCE.fullmatch(line)
    return Fence(found["marks"], found["language"], len(found["indent"])) if found else None


def fenced(lines: Sequence[str], at: int, *, last: bool = False) -> tuple[Fence, int] | None:
    """The fence that line ``at`` opens, and the line that closes it; None where there is none.

    Args:
        lines: of a text.
        at: a line.
        last: the last line that could close it does: a program that put a text into a fence without looking at it has put
            the fences of that text there, too.
    """
    fence = fence_at(lines[at])
    if fence is None:
        return None
    places = range(len(lines) - 1, at, -1) if last else range(at + 1, len(lines))
    end = next((place for place in places if fence.ends_at(lines[place])), 0)
    return (fence, end) if end else None
