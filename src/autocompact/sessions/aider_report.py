"""What aider printed: which edits it applied, which failed or were refused, what it committed, ran and took back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from autocompact.core.edit_blocks import bare, normal_path, search_texts

_APPLIED = re.compile(r"Applied edit to (.+)$")
_SKIPPED = re.compile(r"(?:Skipping edits to|Did not apply edit to) (.+?)(?: \(--dry-run\))?$")
_CREATE, _ALLOW = "Create new file?", "Allow edits to "
_ANSWER = re.compile(r"\([Yy]\)es/\(N\)o.*[\]?:] *(?P<answer>\w*)$|\? (?P<old>[yn]\w*)$")
"""A question of aider's with the answer to it, which it records as typed."""

_FAILED = re.compile(r"# \d+ SEARCH/REPLACE blocks? failed to match!$")
_OTHERS = re.compile(r"# The other \d+ SEARCH/REPLACE blocks? (?:was|were) applied successfully\.$")
_COMMIT = re.compile(r"Commit (?P<hash>[0-9a-f]{7,12}) (?P<title>.*)$")
_REMOVED = re.compile(r"Removed: (?P<hash>[0-9a-f]{7,12})\b")
_RESET = re.compile(r"HEAD is now at (?P<hash>[0-9a-f]{7,12})\b")
_USAGE, _BEFORE = "Tokens: ", "Committing "
_RUNNING = re.compile(r"Running (?P<command>\S.*)$")
_AFTER_OUTPUT = re.compile(
    r"(?:Add command output|Attempt to fix|Run shell command|Added \d+ lines|You can use /undo|Add .{1,300} to the chat\?|\^C"
    r"|Tokens: |Commit [0-9a-f]{7}|Committing |Running )"
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that aider made; ``own`` where it holds the edits of the reply before, not what was changed beside the chat."""

    hash: str
    title: str
    own: bool


@dataclass(frozen=True, slots=True)
class Run:
    """A command that the model proposed and the user let aider run, with what was recorded of its output."""

    command: str
    output: str


@dataclass(frozen=True, slots=True)
class Undone:
    """A commit that was taken back; with ``later`` those after it, while it stays itself."""

    hash: str
    later: bool
    line: str


@dataclass(slots=True)
class Report:
    """What aider printed after a reply.

    Attributes:
        applied: the files that it edited.
        refused: the files of edits that were not made as the user, or a dry run, did not let it.
        created: the files that were new.
        failed: what the blocks searched for that did not match their file.
        others: True if the other blocks of the reply were applied nevertheless.
        committed: True if it committed what it edited.
        events: commits, commands and what was taken back, in order.
    """

    applied: set[str] = field(default_factory=set[str])
    refused: set[str] = field(default_factory=set[str])
    created: set[str] = field(default_factory=set[str])
    failed: set[str] = field(default_factory=set[str])
    others: bool = False
    committed: bool = False
    events: list[Commit | Run | Undone] = field(default_factory=list[Commit | Run | Undone])

    @property
    def named(self) -> set[str]:
        """The files that the reply edits or would have."""
        return self.applied | self.refused | self.created


def is_answer(line: str) -> bool:
    """True for a line with a question of aider's and the answer to it."""
    return re.search(r"\([Yy]\)es/\(N\)o", line) is not None


def read_report(lines: Sequence[str]) -> Report:
    """Read what aider printed, without the marks before its lines."""
    report = Report()
    failed = next((at for at, line in enumerate(lines) if _FAILED.match(line)), len(lines))
    report.failed = {bare(text) for text in search_texts(lines[failed:])}
    for at, line in enumerate(lines):
        if applied := _APPLIED.match(line):
            report.applied.add(normal_path(applied[1]))
        elif skipped := _SKIPPED.match(line):
            report.refused.add(normal_path(skipped[1]))
        elif at and line.startswith(_CREATE) and _agreed(line):
            report.created.add(normal_path(lines[at - 1]))
        elif _OTHERS.match(line):
            report.others = True
    report.events += _events(lines)
    report.committed = any(isinstance(event, Commit) and event.own for event in report.events)
    return report


def did_fail(report: Report, text: str) -> bool:
    """True if a block that searches for ``text`` did not match."""
    return bare(text) in report.failed


def _agreed(line: str) -> bool:
    found = _ANSWER.search(line)
    return bool(found) and (found["answer"] or found["old"] or "y").lower()[:1] in "yad"


def _events(lines: Sequence[str]) -> Iterator[Commit | Run | Undone]:
    # an error may have kept it from saying what it applied
    own = any(line.startswith(_USAGE) for line in lines)
    for at, line in enumerate(lines):
        if line.startswith(_BEFORE):
            own = False
        elif _APPLIED.match(line) or _OTHERS.match(line):
            own = True
        elif commit := _COMMIT.match(line):
            yield Commit(commit["hash"], commit["title"].strip(), own)
            own = False
        elif removed := _REMOVED.match(line):
            yield Undone(removed["hash"], False, line)
        elif reset := _RESET.match(line):
            yield Undone(reset["hash"], True, line)
        elif running := _RUNNING.match(line):
            yield Run(running["command"].strip(), "\n".join(_output(lines, at + 1)))


def _output(lines: Sequence[str], at: int) -> Iterator[str]:
    """The lines that a command printed, up to what aider prints of its own."""
    for place in range(at, len(lines)):
        line = lines[place]
        if _AFTER_OUTPUT.match(line):
            break
        if line.strip():
            yield line
