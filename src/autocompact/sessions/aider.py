"""aider's ``.aider.chat.history.md``: what the person typed stands behind ``####``, what aider printed behind ``>``.

aider ends both kinds of line with two spaces, which tells a line of its own from a quotation in a reply. One file holds
every run in its folder, in order. An edit block in a reply is a call of aider's own: whether it was applied is what aider
printed after the reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from autocompact.core.messages import Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log
from autocompact.sessions.session import Session

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)[ \t]*$", re.MULTILINE)
_MODEL = re.compile(r"> (?:Main )?[Mm]odel: (\S+) with ")
_APPLIED = re.compile(r"Applied edit to (.+?) *$", re.MULTILINE)
_NOT_APPLIED = "aider did not report that this edit was applied"
_OPENING, _CLOSING = re.compile(r"<(thinking-content-\w+)>\s*$"), re.compile(r"</(thinking-content-\w+)>\s*$")
_ANSWER = re.compile(r"\((?:Y|y)\)es/\(N\)o")
"""A question of aider's with the answer to it, which it records as typed."""
_COMMAND = re.compile(r"/(?!(?:ask|code|architect|context)\s+\S)\w[\w-]*(?:\s|$)")
"""A command that aider carries out; those that hand words to the model are requests."""
_REQUEST = re.compile(r"/(?:ask|code|architect|context)\s+")
_SEARCH = re.compile(r"<{5,9} SEARCH\s*$")
_DIVIDER = re.compile(r"={5,9}\s*$")
_REPLACE = re.compile(r">{5,9} REPLACE\s*$")
_LONGEST_PRINTED = 400
"""Lines of one text that aider printed: keeps a file without any mark linear."""
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")


def matches(text: str) -> bool:
    """True if a text begins like a history of aider."""
    return _START.match(text.lstrip()) is not None


def read(lines: Iterable[bytes]) -> Session:
    """Read a history from its lines."""
    reader = _Reader()
    texts = [line.decode(errors="replace").removeprefix("\ufeff").rstrip("\r\n") for line in lines]
    for kind, group in groupby(enumerate(_kinds(texts), start=1), key=itemgetter(1)):
        numbers = [number for number, _ in group]
        block = [texts[number - 1] for number in numbers]
        number = next((at for at, line in zip(numbers, block, strict=True) if line.strip()), numbers[0])
        reader.feed(kind, block, line=number)
    reader.settle(())
    log = reader.log
    return Session(format="aider", messages=tuple(log.messages), lines=tuple(log.lines), model=reader.model)


def _kinds(lines: Sequence[str]) -> list[str]:
    """The kind of each line.

    Of a text of several lines aider marks the first only, and ends the last one with two spaces.
    """
    kinds: list[str] = []
    while len(kinds) < len(lines):
        at = len(kinds)
        kind = _kind(lines[at])
        marked = at > 0 and kind == "reply" and lines[at].startswith("> ")
        after_own = marked and (kinds[-1] in ("printed", "typed") or _after_start(lines, kinds))
        end = _end_of_printed(lines, at) if after_own else 0
        kinds += ["printed"] * (end - at) if end else [kind]
    return kinds


def _after_start(lines: Sequence[str], kinds: Sequence[str]) -> bool:
    """True if nothing but blank lines stands between the start of a run and what comes now."""
    before = len(kinds) - 1
    while before > 0 and not lines[before].strip():
        before -= 1
    return kinds[before] == "start"


def _end_of_printed(lines: Sequence[str], start: int) -> int:
    """Line after the text that aider printed from line ``start`` on; 0 if it does not end."""
    for at in range(start + 1, min(start + _LONGEST_PRINTED, len(lines))):
        if _kind(lines[at]) in ("start", "typed"):
            break
        if lines[at].endswith("  "):
            return at + 1
    return 0


def _kind(line: str) -> str:
    if _START.match(line):
        return "start"
    if line.startswith("####") and (line.endswith("  ") or line == "####"):
        return "typed"
    return "printed" if line.startswith("> ") and line.endswith("  ") else "reply"


@dataclass(slots=True)
class _Reader:
    log: Log = field(default_factory=Log)
    model: str = ""
    _time: str = ""
    _calls: int = 0
    _open: list[tuple[str, str]] = field(
        default_factory=list[tuple[str, str]]
    )  # call id and file of the last edits

    def feed(self, kind: str, lines: list[str], *, line: int) -> None:
        text = "\n".join(lines)
        if not text.strip():
            return
        if kind == "printed":
            self._printed(lines, line=line)
            return
        self.settle(())
        if kind == "start":
            self._time = "T".join(_START.findall(text)[-1]) + "Z"
        elif kind == "reply":
            self._reply(lines, line=line)
        else:
            for typed in _typed(lines):
                note = bool(_ANSWER.search(typed) or _COMMAND.match(typed))
                parts = [Text(text=typed if note else _REQUEST.sub("", typed, count=1))]
                self.log.add("user", parts, line=line, synthetic=note, time=self._time)

    def settle(self, applied: Iterable[str]) -> None:
        """Answer the edits of the last reply: those of the files ``applied`` were made."""
        for id, path in self._open:
            made = path in applied
            text = f"Applied edit to {path}" if made else _NOT_APPLIED
            result = ToolResult(call_id=id, text=text, is_error=not made)
            self.log.add("tool", [result], line=self.log.lines[-1], time=self._time)
        self._open.clear()

    def _printed(self, lines: list[str], *, line: int) -> None:
        text = "\n".join(line.removeprefix(">").strip() for line in lines)
        self.model = next(iter(_MODEL.findall("\n".join(lines))), self.model)
        if applied := _APPLIED.findall(text):
            self.settle(applied)
        self.log.add("user", [Text(text=text)], line=line, synthetic=True, time=self._time)

    def _reply(self, lines: list[str], *, line: int) -> None:
        kept, edits = _edits(lines)
        said, thoughts = _thoughts(kept)
        parts: list[Part] = [Reasoning(text=thought) for thought in thoughts]
        if said:
            parts.append(Text(text=said))
        for path, old, new in edits:
            self._calls += 1
            self._open.append((f"edit-{self._calls}", path))
            asked = json.dumps({"file_path": path, "old_string": old, "new_string": new}, ensure_ascii=False)
            parts.append(ToolCall(id=self._open[-1][0], name="edit", arguments=asked))
        self.log.add("assistant", parts, line=line, time=self._time, model=self.model)


def _typed(lines: list[str]) -> list[str]:
    """Split typed lines into requests and answers to aider's questions."""
    words = [line.removeprefix("####").removeprefix(" ").rstrip() for line in lines]
    groups = groupby(words, key=lambda line: bool(_ANSWER.search(line)))
    return [typed for _, group in groups if (typed := "\n".join(group).strip())]


def _thoughts(lines: list[str]) -> tuple[str, list[str]]:
    """The text without its thinking, and the thinking; a tag that is never closed stays text."""
    closed = {tag[1]: at for at, line in enumerate(lines) if (tag := _CLOSING.match(line))}
    kept: list[str] = []
    thoughts: list[str] = []
    at = 0
    while at < len(lines):
        tag = _OPENING.match(lines[at])
        end = closed.get(tag[1], 0) if tag else 0
        if end > at:
            thoughts.append("\n".join(lines[at + 1 : end]).strip())
            at = end
        else:
            kept.append(lines[at])
        at += 1
    return "\n".join(kept).strip(), [thought for thought in thoughts if thought]


def _edits(lines: list[str]) -> tuple[list[str], list[tuple[str, str, str]]]:
    """The lines without their edit blocks, and each block's file, old text and new text; a half block stays."""
    kept: list[str] = []
    edits: list[tuple[str, str, str]] = []
    last = max((at for at, line in enumerate(lines) if _REPLACE.match(line)), default=-1)
    at = 0
    while at < len(lines):
        path = _path_before(kept) if at < last and _SEARCH.match(lines[at]) else ""
        block = _block(lines, at) if path else None
        if block is None:
            kept.append(lines[at])
            at += 1
            continue
        old, new, at = block
        edits.append((path, old, new))
        if at < len(lines) and _SEARCH.match(lines[at]):
            continue  # another edit of the same file, in the same fence
        while kept and not kept[-1].strip():
            kept.pop()
        del kept[-2:]  # the file's name and the fence
        at += at < len(lines) and bool(_FENCE.match(lines[at]))
    return kept, edits


def _path_before(kept: list[str]) -> str:
    """The file that an edit block is for: the line before its fence."""
    if len(kept) < 2 or not _FENCE.match(kept[-1]):
        return ""
    return kept[-2].strip().strip("`*").rstrip(":").strip()


def _block(lines: list[str], at: int) -> tuple[str, str, int] | None:
    """Old text, new text, and where the block that begins at ``at`` has ended; None if it does not end."""
    divider = _next(_DIVIDER, lines, at=at + 1)
    end = _next(_REPLACE, lines, at=divider + 1) if divider else 0
    if not end:
        return None
    return "\n".join(lines[at + 1 : divider]), "\n".join(lines[divider + 1 : end]), end + 1


def _next(mark: re.Pattern[str], lines: list[str], *, at: int) -> int:
    """Line of the next mark; 0 if another block begins before it, or there is none."""
    for place in range(at, len(lines)):
        if mark.match(lines[place]):
            return place
        if _SEARCH.match(lines[place]):
            break
    return 0
