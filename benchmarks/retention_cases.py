"""Histories to measure retention on: the real compactions of the data pack, and artificial cuts.

A history is what the model had in its context: the messages since the previous compaction, with that compaction's
recorded summary in front.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from autocompact.core.messages import Message, ToolCall, text_message
from autocompact.core.tokens import Counter
from autocompact.sessions import Session, read_session
from autocompact.what_if.needs import content

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CALLS = 40
CUT_SHARE, CUT_BUDGET, CUT_LEAST = 0.7, 0.1, 40_000
ENDLESS = 10**9
CLAUDE = ("claude_code/*.jsonl",)
OTHERS = ("codex/agentv__*.jsonl", "pi/*.jsonl", "copilot_cli/*.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cut.

    Attributes:
        name: the session's file, and the line of the boundary or "cut".
        history: the messages before it that leave the context.
        recent: the messages after these that stay in it.
        calls: the agent's next tool calls, at most `CALLS`, up to the next compaction.
        budget: tokens for what is kept.
        recorded: the recorded summary, "" at an artificial cut.
    """

    name: str
    history: tuple[Message, ...]
    calls: tuple[ToolCall, ...]
    budget: int
    recorded: str = ""
    recent: tuple[Message, ...] = ()

    def beside_tail(self, tail: int, *, counter: Counter) -> Case:
        """The same cut where the last messages, of at most ``tail`` tokens together, stay in the context."""
        at = len(self.history)
        while at > 1 and (tail := tail - counter.count(content(self.history[at - 1]))) >= 0:
            at -= 1
        return replace(self, history=self.history[:at], recent=self.history[at:])


@cache
def session(path: Path) -> Session:
    """A recorded session, read once."""
    return read_session(path)


def boundaries(data: Path) -> list[dict[str, Any]]:
    """The real compactions of the pack."""
    return [json.loads(line) for line in (data / "compactions.jsonl").read_text().splitlines()]


def real_cases(data: Path = DATA) -> Iterator[Case]:
    """The 20 recorded compactions."""
    marks = boundaries(data)
    for mark in marks:
        lines = sorted(other["boundary_line"] for other in marks if other["file"] == mark["file"])
        at = mark["boundary_line"]
        before = max((line for line in lines if line < at), default=0)
        after = min((line for line in lines if line > at), default=ENDLESS)
        recorded = session(data / mark["file"])
        yield Case(
            name=f"{Path(mark['file']).stem}:{at}",
            history=(*_carried(data / mark["file"], before), *_between(recorded, above=before, below=at)),
            calls=calls_of(_between(recorded, above=at, below=after)),
            budget=mark["summary_tokens_o200k"],
            recorded=summary_text(data / mark["file"], mark["summary_line"]),
        )


def artificial_cases(data: Path = DATA, *, counter: Counter, files: Sequence[str] = CLAUDE) -> Iterator[Case]:
    """Every uncompacted segment of `CUT_LEAST` tokens or more, cut at `CUT_SHARE` of its tokens."""
    for path in sorted(path for pattern in files for path in data.glob(pattern)):
        name = path.relative_to(data).as_posix()
        lines = [0, *sorted(m["boundary_line"] for m in boundaries(data) if m["file"] == name), ENDLESS]
        for before, segment in zip(lines, segments(path, lines), strict=False):
            sizes = [counter.count(content(message)) for message in segment]
            if sum(sizes) < CUT_LEAST:
                continue
            index = _index_at(sizes, CUT_SHARE)
            calls = calls_of(segment[index:])
            if calls:
                yield Case(
                    name=f"{path.stem}:{before}:cut",
                    history=segment[:index],
                    calls=calls,
                    budget=int(sum(sizes[:index]) * CUT_BUDGET),
                )


def summary_text(path: Path, line: int) -> str:
    """The text of a recorded summary, as it stands in line ``line`` of the file (1-based)."""
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if number == line:
                found = json.loads(text)["message"]["content"]
                return found if isinstance(found, str) else "\n".join(part["text"] for part in found)
    raise ValueError(f"{path} has no line {line}")


def _carried(path: Path, boundary: int) -> tuple[Message, ...]:
    return (text_message(0, "user", summary_text(path, boundary + 1), synthetic=True),) if boundary else ()


def _between(recorded: Session, *, above: int, below: int) -> tuple[Message, ...]:
    return tuple(
        message
        for message, line in zip(recorded.messages, recorded.lines, strict=True)
        if above < line < below
    )


def segments(path: Path, lines: Sequence[int]) -> list[tuple[Message, ...]]:
    """The messages of a session between each two of ``lines``, an earlier summary in front."""
    recorded = session(path)
    return [
        (*_carried(path, above), *_between(recorded, above=above, below=below))
        for above, below in pairwise(lines)
    ]


def calls_of(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    return tuple(call for message in messages for call in message.calls)[:CALLS]


def _index_at(sizes: Sequence[int], share: float) -> int:
    wanted, passed = sum(sizes) * share, 0
    for index, size in enumerate(sizes):
        passed += size
        if passed >= wanted:
            return index + 1
    return len(sizes)
