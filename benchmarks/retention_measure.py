"""What "needed" and "kept" mean: identifiers, needs, plain and supported retention.

A *need* is an identifier in the arguments of the agent's next calls that stood in the history before the boundary
and not in the messages that stay. Bare numbers are none, nor is the vocabulary of the tools themselves (``in_progress``,
``files_with_matches``): a model that has the tools has these words. It is *plain* kept when it stands in the kept text; it is *supported* when at
least 40% of the content words of its last source line (the last line of the history it stood in) stand within 200
characters of it. What counts as an identifier is a matter of taste, so every figure is given under several
definitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from autocompact.core.messages import ToolCall
from autocompact.what_if.needs import BARE_NUMBER, CAMEL, CHUNK, argument_text, mixed, names, vocabulary

CHARACTERS = 200
SHARE = 0.4

_FILE = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,5}\Z")
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]{4,60})[\"'`]")
_WORD = re.compile(r"[^\W\d_]{3,}")
_STOP = frozenset(
    "the and for that this with from are was were have has had not but you your will can all its into out our"
    " they them their there then than when what which who how why where would could should been being does did"
    " done just also only more most some any each other one two now let see use used using here very about".split()
)


def symbols(text: str) -> set[str]:
    """Names of code alone: snake_case, camelCase, CONSTANT_CASE, of five characters or more; dots split them."""
    return {
        word for word in re.findall(r"[A-Za-z_]\w{4,}", text) if "_" in word.strip("_") or CAMEL.search(word)
    }


def paths(text: str) -> set[str]:
    """Paths with a slash and file names with a suffix, as they stand there."""
    return {
        chunk.strip(".:-")
        for chunk in CHUNK.findall(text)
        if ("/" in chunk and len(chunk) > 4) or _FILE.match(chunk.strip(".:-"))
    }


def wide(text: str) -> set[str]:
    """As `mixed`, and flags, hyphenated names and short quoted strings besides."""
    more = {c.strip(".:") for c in CHUNK.findall(text) if "-" in c[1:-1] or c.startswith("--")}
    return mixed(text) | {chunk for chunk in more if len(chunk) > 3} | set(_QUOTED.findall(text))


DEFINITIONS: Mapping[str, Callable[[str], set[str]]] = {
    "mixed": mixed,
    "names": names,
    "symbols": symbols,
    "paths": paths,
    "wide": wide,
}


def words(line: str) -> set[str]:
    """The content words of a line: letters, three or more, lower case, without function words."""
    return {word for word in map(str.lower, _WORD.findall(line)) if word not in _STOP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """An identifier the agent went on to use, with the line that last explained it."""

    name: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Counts of one case under one definition."""

    needs: int
    plain: int
    supported: int


def needs(
    lines: Sequence[str], *, recent: str, calls: Sequence[ToolCall], define: Callable[[str], set[str]]
) -> list[Need]:
    """What the next calls use of the older history; ``recent`` is the text that stays."""
    wanted = define("\n".join(argument_text(call) for call in calls)) - vocabulary(calls)
    wanted = {name for name in wanted if name not in recent and not BARE_NUMBER.match(name)}
    found: dict[str, str] = {}
    for line in lines:
        for name in define(line) & wanted:
            found[name] = line
    return [Need(name=name, line=line) for name, line in sorted(found.items())]


def rate(wanted: Sequence[Need], kept: str) -> Rate:
    """How many of the needs ``kept`` states, plainly and supported."""
    plain = supported = 0
    for need in wanted:
        places = _places(need.name, kept)
        if not places:
            continue
        plain += 1
        supported += _supported(need, kept, places=places)
    return Rate(needs=len(wanted), plain=plain, supported=supported)


def _places(name: str, kept: str) -> list[int]:
    found: list[int] = []
    start = kept.find(name)
    while start >= 0:
        before, after = kept[start - 1 : start], kept[start + len(name) : start + len(name) + 1]
        if not (_glued(before, name[0]) or _glued(name[-1], after)):
            found.append(start)
        start = kept.find(name, start + 1)
    return found


def _glued(left: str, right: str) -> bool:
    return bool(left and right) and (left.isalnum() or left == "_") and (right.isalnum() or right == "_")


def _supported(need: Need, kept: str, *, places: Iterable[int]) -> bool:
    explaining = words(need.line.replace(need.name, " "))
    if not explaining:
        return True
    return any(
        len(explaining & words(kept[max(0, at - CHARACTERS) : at + len(need.name) + CHARACTERS]))
        >= SHARE * len(explaining)
        for at in places
    )
