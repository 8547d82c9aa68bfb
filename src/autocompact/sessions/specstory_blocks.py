"""Turns and blocks of a history that SpecStory wrote: what is a mark of SpecStory's, and what only quotes one.

SpecStory puts the words of people and models, the output of commands and the text of files into its Markdown as they are,
so that each may hold what looks like a mark, and a fence that is never closed. A header inside a fence or a call counts
where it names a time that is not before that of the turn around it: what a call shows of an earlier history is older.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.sessions.markdown_fences import Fence, fence_at

_HEADER = LazyPattern(
    r"_\*\*(?P<who>User|Agent|Assistant)(?P<side> - sidechain| \(sidechain\))?(?: \((?P<told>[^\n]*?)\))?(?P<behind> \(sidechain\))?\*\*_[ \t]*"
)
_TIME = LazyPattern(
    r"(?P<rest>(?:.*[ (,])?)(?P<day>\d{4}-\d\d-\d\d)[ T](?P<clock>\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*(?P<zone>Z|[+-]\d\d:?\d\d|)"
)
_MODEL = LazyPattern(r"(?:model:? )?(?P<model>[^\s,<>][^,<>\n]*)(?:, mode:? .*)?")
_ID = LazyPattern(r"<!-- message-id: (\S+) -->")
_TOOL = LazyPattern(r"<tool-use data-tool-type=\"")
_THOUGHT = LazyPattern(r"<think>")
_RULE = LazyPattern(r"---[ \t]*")

Who: TypeAlias = Literal["user", "agent"]
Kind: TypeAlias = Literal["text", "thought", "tool", "rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The line above a turn.

    Attributes:
        who: whose turn it is.
        time: when, ISO 8601; "" where the header does not say.
        model: which model wrote it, "" if that is not said.
        sidechain: it is a turn of a sub-agent.
    """

    who: Who
    time: str = ""
    model: str = ""
    sidechain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Lines of a turn, from ``start`` up to ``end``."""

    kind: Kind
    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class Turn:
    """A header with the blocks below it; ``line`` is the header's, ``id`` the message's where it is told."""

    header: Header
    line: int
    id: str = ""
    blocks: list[Block] = field(default_factory=list[Block])


def header_of(line: str) -> Header | None:
    """The header that a line is; None if it is none."""
    found = _HEADER.fullmatch(line)
    if found is None:
        return None
    told, time = found["told"] or "", ""
    if dated := _TIME.fullmatch(told):
        told, time = dated["rest"], iso(told)
    named = _MODEL.fullmatch(told.strip(" (,"))
    model = named["model"] if named and named["model"] != "default" else ""
    return Header(
        who="user" if found["who"] == "User" else "agent",
        time=time,
        model=model,
        sidechain=bool(found["side"] or found["behind"]),
    )


def iso(told: str) -> str:
    """The time at the end of a text as ISO 8601 in UTC; "" if there is none. One without a zone is taken for UTC."""
    found = _TIME.fullmatch(told.strip())
    if found is None:
        return ""
    try:
        time = datetime.fromisoformat(f"{found['day']}T{found['clock']}{found['zone'] or 'Z'}")
        return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return ""


def turns(lines: Sequence[str]) -> Iterator[Turn]:
    """Yield the turns of a history, each with its blocks."""
    return _Scan(lines).turns()


class _Scan:
    """One pass over the lines; ``now`` is the time that a turn named last."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines, self.now = lines, ""
        self.unclosed = 0
        """Marks of the shortest fence that nothing closes from here on; 0 while there is none."""
        self.endless: set[Kind] = set()
        """What nothing closes from here on."""
        self.cut: dict[bool, tuple[Fence, int]] = {}
        """Of fences that show Markdown, and of others, the last one that no line closes before a header, and that header."""

    def turns(self) -> Iterator[Turn]:
        turn: Turn | None = None
        at = 0
        while at < len(self.lines):
            if (header := self._header(at)) is not None:
                if turn is not None:
                    yield turn
                self.now = header.time or self.now
                turn = Turn(header=header, line=at + 1)
                at += 1
                if at < len(self.lines) and (told := _ID.match(self.lines[at])):
                    turn.id, at = told[1], at + 1
            elif turn is None:
                at += 1
            else:
                block = self._block(at, agent=turn.header.who == "agent")
                turn.blocks.append(block)
                at = block.end
        if turn is not None:
            yield turn

    def _header(self, at: int, *, inside: Fence | None = None) -> Header | None:
        """The header at a line that stands alone; ``inside`` a fence one counts that is not older than the turn."""
        header = header_of(self.lines[at]) if self.lines[at].startswith("_**") else None
        if header is None or (at > 0 and self.lines[at - 1].strip()) or not self._alone(at + 1):
            return None
        if inside is None or (header.time and header.time >= self.now):
            return header
        # of headers without a time only a fence for Markdown shows examples
        return None if header.time or self.now or _shows_markdown(inside) else header

    def _alone(self, at: int) -> bool:
        return at >= len(self.lines) or not self.lines[at].strip() or _ID.match(self.lines[at]) is not None

    def _block(self, at: int, *, agent: bool) -> Block:
        line = self.lines[at]
        kind: Kind = "tool" if _TOOL.match(line) else "thought" if _THOUGHT.match(line) else "text"
        if agent and kind != "text" and kind not in self.endless:
            start, closes = (at + 1, _closes_tool) if kind == "tool" else (at, _closes_thought)
            if (end := self._end(start, closes)) is not None:
                return Block(kind=kind, start=at, end=end)
            self.endless.add(kind)
        if _RULE.fullmatch(line):
            return Block(kind="rule", start=at, end=at + 1)
        return Block(kind="text", start=at, end=self._end_of_fence(at) or at + 1)

    def _end_of_fence(self, at: int) -> int:
        """The line behind the fence that a line opens; 0 if it opens none, or none that ends within the turn."""
        fence = fence_at(self.lines[at])
        if fence is None or (self.unclosed and len(fence.marks) >= self.unclosed):
            return 0
        outer, header = self.cut.get(_shows_markdown(fence), (fence, 0))
        # what does not close the outer one closes none within
        if at < header and fence.is_within(outer):
            return 0
        for place in range(at + 1, len(self.lines)):
            if fence.ends_at(self.lines[place]):
                return place + 1
            if self._header(place, inside=fence) is not None:
                self.cut[_shows_markdown(fence)] = (fence, place)
                return 0
        self.unclosed = len(fence.marks)
        return 0

    def _end(self, start: int, closes: Callable[[str], bool]) -> int | None:
        """The line behind the one that closes a call or a thought, or of the next turn; None if neither comes."""
        fence: Fence | None = None
        last = None
        for at in range(start, len(self.lines)):
            line = self.lines[at]
            if closes(line):
                last = at + 1
                if fence is None or self._ends_here(last):
                    return last
            elif self._header(at, inside=_ANY) is not None:
                return last or at
            elif fence is not None:
                fence = None if fence.ends_at(line) else fence
            else:
                fence = fence_at(line)
        return last

    def _ends_here(self, at: int) -> bool:
        """True if what follows is a mark of SpecStory's: a fence that is open there may be one of a text that holds fences."""
        at = self._next(at)
        ruled = at < len(self.lines) and _RULE.fullmatch(self.lines[at]) is not None
        at = self._next(at + 1) if ruled else at
        if at >= len(self.lines):
            return True
        header = header_of(self.lines[at])
        if header is None:
            return ruled
        # a sub-agent's messages stand behind the call that ended it, and began before
        return not self.now or header.sidechain or self._header(at, inside=_ANY) is not None

    def _next(self, at: int) -> int:
        """The first line from ``at`` on that is not empty."""
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        return at


_ANY = Fence("```", "markdown")


def _shows_markdown(fence: Fence) -> bool:
    return len(fence.marks) > 3 or fence.language.lower() in ("markdown", "md")


def _closes_tool(line: str) -> bool:
    return line.startswith(("</details></tool-use>", "</tool-use>"))


def _closes_thought(line: str) -> bool:
    return line.rstrip().endswith("</think>")
