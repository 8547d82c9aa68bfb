"""The lines of aider's history by their kind: the start of a run, what was typed, what aider printed, what the model replied."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import itemgetter
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["start", "typed", "printed", "reply"]

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)[ \t]*$")
_FAILED = re.compile(r"> # \d+ SEARCH/REPLACE blocks? failed to match!")
_FAILED_ENDS = re.compile(r".*(?:docstrings, etc|that failed to match\.)  $")
_USAGE = "> Tokens: "
_LONGEST_PRINTED, _LONGEST_FAILED = 400, 2_000
"""Lines of one text that aider printed: keeps a file without any mark linear."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of one kind, and the number of the first one that is not blank; ``words`` are the lines without aider's marks."""

    kind: Kind
    lines: list[str]
    line: int

    @property
    def words(self) -> list[str]:
        """The lines without the marks before them and the blanks behind."""
        mark = {"typed": "####", "printed": ">"}.get(self.kind, "")
        # what has no mark in a text that was typed is a blank line of an editor's
        own = [line for line in self.lines if self.kind != "typed" or line.startswith(mark)]
        return [line.removeprefix(mark).removeprefix(" ").rstrip() for line in own]


def is_start(line: str) -> bool:
    """True for the line that a run begins with."""
    return _START.match(line) is not None


def started(line: str) -> str:
    """When a run began, in ISO 8601 without a time zone; "" for any other line."""
    found = _START.match(line)
    return f"{found[1]}T{found[2]}" if found else ""


def blocks_of(lines: Sequence[str]) -> Iterator[Block]:
    """The blocks of a history, those of blank lines left out."""
    for kind, group in groupby(enumerate(_kinds(lines), start=1), key=itemgetter(1)):
        numbers = [number for number, _ in group]
        block = [lines[number - 1] for number in numbers]
        if number := next((at for at, line in zip(numbers, block, strict=True) if line.strip()), 0):
            yield Block(kind, block, number)


def _kinds(lines: Sequence[str]) -> list[Kind]:
    """The kind of each line."""
    kinds: list[Kind] = []
    trimmed = False
    before = -1  # the last line that is not blank
    while len(kinds) < len(lines):
        at = len(kinds)
        if is_start(lines[at]):
            trimmed = _is_trimmed(lines, at)
        after: Kind = kinds[before] if before >= 0 else "reply"
        kind = _kind_after(lines[at], after=after, right_below=before == at - 1, trimmed=trimmed)
        if trimmed and kind == after == "typed" and _goes_on(lines[before], lines[at]):
            # an editor of Markdown set the lines of one request apart
            kinds[before:] = repeat(kind, at - before)
        below = before == at - 1 or after == "start" or _FAILED.match(lines[at])
        several = kind == "reply" != after and below and lines[at].startswith("> ")
        end = _end_of_printed(lines, at) if several else 0
        if end:
            kinds.extend(repeat("printed", end - at))
        else:
            kinds.append(kind)
        before = next((last for last in range(len(kinds) - 1, at - 1, -1) if lines[last].strip()), before)
    return kinds


def _kind_after(line: str, *, after: Kind, right_below: bool, trimmed: bool) -> Kind:
    """The kind of a line, by itself and by that of the last one before it that is not blank."""
    kind = _kind(line)
    if kind != "reply" or not line.strip():
        return kind
    if trimmed and (own := _kind_of_trimmed(line, own=after != "reply")) != "reply":
        return own
    # a reply begins behind a blank line: this goes on with a text of which a line ends in two spaces
    return "printed" if right_below and after == "printed" and not line.startswith("> ") else "reply"


def _end_of_printed(lines: Sequence[str], start: int) -> int:
    """Line after the text that aider printed from line ``start`` on; 0 if it does not end.

    Of a text of several lines aider marks the first only, and ends the last one with two spaces.
    """
    failed = _FAILED.match(lines[start])
    for at in range(start + 1, min(start + (_LONGEST_FAILED if failed else _LONGEST_PRINTED), len(lines))):
        if _START.match(lines[at]) or (not failed and _kind(lines[at]) == "typed"):
            break
        if _FAILED_ENDS.match(lines[at]) if failed else lines[at].endswith("  "):
            return at + 1
    return 0


def _kind(line: str) -> Kind:
    if _START.match(line):
        return "start"
    if line.startswith("####") and (line.endswith("  ") or line == "####"):
        return "typed"
    return "printed" if line.startswith("> ") and line.endswith("  ") and not _FAILED.match(line) else "reply"


def _is_trimmed(lines: Sequence[str], start: int) -> bool:
    """True if an editor of Markdown took the blanks away at the ends of lines: what was typed first in a run has none."""
    for at in range(start + 1, len(lines)):
        if _START.match(lines[at]):
            break
        if lines[at].startswith("####"):
            return _kind(lines[at]) != "typed"
    return False


def _goes_on(line: str, further: str) -> bool:
    """True for two lines of one text that was typed; a command is one by itself."""
    return "/" not in (line[5:6], further[5:6])


def _kind_of_trimmed(line: str, *, own: bool) -> Kind:
    """The kind of a line without blanks at its end: aider's own only behind others of its own."""
    if line.startswith(_USAGE) or (own and line.startswith(">")):
        return "printed"
    return "typed" if own and line.startswith("#### ") else "reply"
