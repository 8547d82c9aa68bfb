"""aider's ``.aider.chat.history.md``: what the person typed stands behind ``####``, what aider printed behind ``>``.

aider ends both kinds of line with two spaces, which tells a line of its own from a quotation in a reply. One file holds
every run in its folder, in order. An edit in a reply is a call of aider's own: whether it was applied is what aider printed
after the reply (`aider_report`). So are a command that the user let it run, a commit, and what ``/undo`` took back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from msgspec import Struct, field

from autocompact.core.messages import UNRECORDED, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.aider_edits import Edit, find_edits, with_ticks
from autocompact.sessions.aider_lines import Block, blocks_of, is_start, started
from autocompact.sessions.aider_report import Commit, Report, Run, Undone, did_fail, is_answer, read_report
from autocompact.sessions.building import Log
from autocompact.sessions.session import Session

_MODEL = re.compile(r"(?:(?:Main )?[Mm]odel|Models): (\S+) with ")
_NOT_APPLIED = "aider did not report that this edit was applied"
_COMMITTED = "aider committed what it edited, and did not report this edit by itself"
_NOT_FOUND = "the SEARCH block did not match the file, so this edit was not applied"
_REFUSED = "this edit was not applied: the user did not let aider make it"
_OPENING, _CLOSING = re.compile(r"<(thinking-content-\w+)>\s*$"), re.compile(r"</(thinking-content-\w+)>\s*$")
_COMMAND = re.compile(r"/(?!(?:ask|code|architect|context)\s+\S)\w[\w-]*(?:\s|$)|![^\s!]")
"""A command that aider carries out; those that hand words to the model are requests."""
_LEAVES = re.compile(r"(?:exit|quit|q|ls|clear|cls|aider(?: -.*)?)$")
"""What is typed to aider as if to a shell."""
_REQUEST = re.compile(r"/(?:ask|code|architect|context)\s+")
_ADVICE = re.compile(
    r"(?:You can use /undo to undo|Use /help <question>|Use `/help <question>`|https://aider\.chat/|You can skip this check with"
    r"|Update git (?:name|email) with:|See https://aider\.chat/|For more info, see: https://aider\.chat/|The repo map has been refreshed"
    r"|Initial repo scan can be slow|Note: in-chat filenames are always relative|Cost estimates may be inaccurate"
    r"|VSCode terminal detected|Multiline mode: |\^C (?:again to exit|KeyboardInterrupt)|Retrying in [\d.]+ seconds)"
)
"""Lines in which aider tells how to use it: nothing of the work."""

_HELP, _DOCUMENTS = "# Question: ", "\n# Relevant docs:"
"""Begins what aider hands on of a question about itself, and what it puts behind it."""
_WATCHED = re.compile(
    r"Find the \"AI\" comments below \(marked with █\)|I've written your instructions in comments in the code"
)
_LONG = 100
"""Characters of a text that nobody types to repeat the end of a reply."""
_BLANK = "<blank>"
"""What aider records where nothing was typed."""


def matches(text: str) -> bool:
    """True if a text begins like a history of aider."""
    return is_start(text.lstrip().partition("\n")[0])


def read(lines: Iterable[bytes]) -> Session:
    """Read a history from its lines."""
    reader = _Reader()
    texts = [line.decode(errors="replace").removeprefix("\ufeff").rstrip("\r\n") for line in lines]
    blocks = [*blocks_of(texts)]
    for at, block in enumerate(blocks):
        reader.feed(
            block, report=read_report([*_printed_after(blocks, at)]) if block.kind == "reply" else None
        )
    log = reader.log
    return Session(format="aider", messages=tuple(log.messages), lines=tuple(log.lines), model=reader.model)


def _printed_after(blocks: Sequence[Block], at: int) -> Iterator[str]:
    """What aider printed after a reply, the answers to its questions included, up to what was typed or replied next."""
    for block in blocks[at + 1 :]:
        if block.kind == "printed":
            yield from block.words
        elif block.kind != "typed" or not all(map(is_answer, block.words)):
            return


@dataclass(frozen=True, slots=True)
class _Made:
    """An edit that was applied, with what the file held before, as far as this history says it."""

    edit: Edit
    before: str | None
    created: bool


class _Reader(Struct):
    log: Log = field(default_factory=Log)
    model: str = ""
    _time: str = ""
    _calls: int = 0
    _replied: str = ""
    _asked: str = ""
    _contents: dict[str, str] = field(default_factory=dict[str, str])
    _made: list[_Made] = field(default_factory=list[_Made])
    _commits: dict[str, list[_Made]] = field(default_factory=dict[str, list[_Made]])

    def feed(self, block: Block, *, report: Report | None) -> None:
        """Take in a block; a reply comes with what aider printed after it."""
        if report is not None:
            self._reply(block, report)
        elif block.kind == "start":
            # aider writes the clock of its computer and no zone; what is compared with it is of the same history
            self._time = started(block.lines[-1]) + "Z"
        elif block.kind == "printed":
            self._printed(block)
        else:
            for typed in _typed(block.words):
                self._type(typed, line=block.line)

    def _type(self, typed: str, *, line: int) -> None:
        """Take in what was typed, unless it is what aider itself hands on: to its editor, or without the command before."""
        if typed == _BLANK or _same(typed, self._replied) or _same(typed, self._asked):
            self._asked = ""
            return
        helped = typed.startswith(_HELP) and _DOCUMENTS in typed
        note = bool(helped or is_answer(typed) or _COMMAND.match(typed) or _LEAVES.match(typed))
        words = typed if note else _REQUEST.sub("", typed, count=1)
        self._asked = words if words != typed else ""
        words = _in_comments(words)
        self.log.add("user", [Text(text=words)], line=line, synthetic=note, time=self._time)

    def _printed(self, block: Block) -> None:
        self.model = next(iter(_MODEL.findall("\n".join(block.words))), self.model)
        if text := "\n".join(line for line in block.words if not _ADVICE.match(line)).strip():
            self.log.add("user", [Text(text=text)], line=block.line, synthetic=True, time=self._time)
        for event in read_report(block.words).events:
            match event:
                case Run():
                    asked = {"command": event.command}
                    self._done([("bash", asked, event.output or UNRECORDED)], line=block.line)
                case Commit():
                    asked = {"command": f"git commit -m {json.dumps(event.title, ensure_ascii=False)}"}
                    self._done([("git", asked, f"Commit {event.hash} {event.title}")], line=block.line)
                    if event.own:
                        self._commits[event.hash], self._made = self._made, []
                case Undone():
                    self._undo(event, line=block.line)

    def _undo(self, event: Undone, *, line: int) -> None:
        """Take back the edits of a commit, or of those after it, as edits the other way round."""
        hashes = [*self._commits]
        if event.hash not in hashes:
            return
        first = hashes.index(event.hash)
        gone = hashes[first + 1 :] if event.later else [event.hash]
        made = [made for hash in gone for made in self._commits.pop(hash)]
        self._done([(*_reverse(each), event.line) for each in reversed(made)], line=line)
        for each in made:
            self._contents.pop(each.edit.path, None)

    def _done(self, done: Sequence[tuple[str, dict[str, str], str]], *, line: int) -> None:
        """Calls of aider's own, each with its answer."""
        calls = [self._call(name, asked) for name, asked, _ in done]
        self.log.add("assistant", calls, line=line, time=self._time, model=self.model)
        for call, (_, _, text) in zip(calls, done, strict=True):
            self.log.add("tool", [ToolResult(call_id=call.id, text=text)], line=line, time=self._time)

    def _call(self, name: str, asked: dict[str, str]) -> ToolCall:
        self._calls += 1
        arguments = json.dumps(asked, ensure_ascii=False)
        return ToolCall(id=f"{name}-{self._calls}", name=name, arguments=arguments)

    def _reply(self, block: Block, report: Report) -> None:
        kept, edits = find_edits(block.lines, reported=report.named)
        said, thoughts = _thoughts(with_ticks(kept))
        self._replied, self._asked = _thoughts(block.lines)[0], ""
        parts: list[Part] = [Reasoning(text=thought) for thought in thoughts]
        if said:
            parts.append(Text(text=said))
        calls = [self._call(*_asked(edit, created=edit.path in report.created)) for edit in edits]
        self.log.add("assistant", [*parts, *calls], line=block.line, time=self._time, model=self.model)
        self._made = []
        for call, edit in zip(calls, edits, strict=True):
            text, made = _came_of(edit, report)
            result = ToolResult(call_id=call.id, text=text, is_error=not made)
            self.log.add("tool", [result], line=block.line, time=self._time)
            if made:
                self._note(edit, created=edit.path in report.created)

    def _note(self, edit: Edit, *, created: bool) -> None:
        """Keep an edit that was made, for an ``/undo`` of it."""
        before = self._contents.get(edit.path)
        self._made.append(_Made(edit, before, created))
        if edit.old is None and not edit.files:
            self._contents[edit.path] = edit.new
        else:
            self._contents.pop(edit.path, None)


def _same(typed: str, words: str) -> bool:
    """True if both are the same words, white space apart; of a long text the end, since a model's thinking is not handed on."""
    told, said = typed.split(), words.split()
    return bool(told) and (told == said or (len(typed) >= _LONG and told == said[-len(told) :]))


def _in_comments(typed: str) -> str:
    """The words of the user in a prompt that aider makes of comments in the code; any other text as it is."""
    if not _WATCHED.match(typed):
        return typed
    kept = [line for line in typed.split("\n") if line.startswith("█") or line.endswith(":")]
    return "\n".join(line.removeprefix("█").strip() for line in kept) or typed


def _asked(edit: Edit, *, created: bool) -> tuple[str, dict[str, str]]:
    """Name and arguments of the call that makes an edit."""
    if edit.files:
        return "apply_patch", {"input": edit.new}
    if edit.old is None:
        # "content" is what tools take that create a file
        name, key = ("write", "content") if created else ("edit", "text")
        return name, {"file_path": edit.path, key: edit.new}
    return "edit", {"file_path": edit.path, "old_string": edit.old, "new_string": edit.new}


def _reverse(made: _Made) -> tuple[str, dict[str, str]]:
    """Name and arguments of the call that takes an edit back."""
    path = made.edit.path
    if made.created:
        return "delete_file", {"path": path}
    if made.edit.old is None and made.before is not None:
        return "undo_edit", {"file_path": path, "text": made.before}
    return "undo_edit", {"file_path": path, "old_string": made.edit.new, "new_string": made.edit.old or ""}


def _came_of(edit: Edit, report: Report) -> tuple[str, bool]:
    """What aider reported of an edit, and whether it was made."""
    if edit.old is not None and did_fail(report, edit.old):
        return _NOT_FOUND, False
    if any(path in report.applied for path in edit.paths):
        return f"Applied edit to {edit.path}", True
    if report.others:
        return f"Applied edit to {edit.path}; other blocks of the reply failed", True
    if report.committed and not report.applied and not report.failed and edit.path not in report.refused:
        return _COMMITTED, True
    return (_REFUSED if edit.path in report.refused else _NOT_APPLIED), False


def _typed(words: Iterable[str]) -> list[str]:
    """Split typed lines into requests and answers to aider's questions."""
    groups = groupby(words, key=is_answer)
    return [typed for _, group in groups if (typed := "\n".join(group).strip())]


def _thoughts(lines: Sequence[str]) -> tuple[str, list[str]]:
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
