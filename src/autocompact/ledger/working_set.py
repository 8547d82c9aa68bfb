"""The working set: which files the agent will need next, and where the log shows their latest version.

After a compaction an agent reads files again that it had read before. Which ones is foreseen from a few plain facts: how long
ago a file was touched, whether it was changed, how often it was read, whether the plan or the current step names it. The
weights are learned by ``benchmarks/working_set.py`` from recorded sessions.

The latest version of a file is what its last reading showed, and the edits since. A file that something else may have changed
since (a shell command, a checkout, a deletion) has none that the log knows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import mul

from msgspec import Struct, field

from autocompact.core.actions import Effect
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.ledger.entries import Entry
from autocompact.ledger.paths import is_temporary, spellings
from autocompact.ledger.scan import Call

FACTS = (
    "touched ago",  # log(1 + calls since)
    "changed",
    "changed ago",
    "read",  # log(1 + times)
    "named",  # by the plan, the last calls or an open request
    "named last",  # by the agent's last words
)


class Weights(Struct, frozen=True, kw_only=True):
    """A logistic model: a weight for each of `FACTS`, and the log-odds to begin with."""

    facts: tuple[float, ...]
    bias: float


LEARNED = Weights(facts=(-0.63, -0.37, 0.25, 0.77, 0.11, 0.29), bias=-0.61)


class FileNeed(Struct, frozen=True, kw_only=True):
    """A file, how likely it is read again, and what shows it.

    Attributes:
        path: as the calls name it, the absolute spelling where there is one.
        need: probability that one of the next 40 calls reads it.
        calls: those that show its latest version: its last reading (or the writing of the whole file), then the edits
            since; none where the log does not know that version.
        facts: what is known of it, in the order of `FACTS`.
    """

    path: Redacted
    need: float
    calls: tuple[Call, ...]
    facts: tuple[float, ...]


_UNCHANGED = (
    "File unchanged since last read",
    "Wasted call",
    "<system-reminder>This file is already in your context",
)
"""Claude Code's answers to a second reading of an unchanged file: what the first one showed is the file still."""


class FileHistory(Struct):
    """What happened to a file.

    Attributes:
        touched: index of the last call that touched it.
        changed: index of the last call that changed it; -1 if none did.
        reads: times that it was read.
        opened: ``seq`` of the last call by which a file tool, not a command, read it or wrote it whole; 0 if none did.
        by_tools: a file tool touched it.
        is_deleted: the last call that changed it deleted it.
        calls: those that show its latest version; none where the log does not know that version.
    """

    touched: int = 0
    changed: int = -1
    reads: int = 0
    opened: int = 0
    by_tools: bool = False
    is_deleted: bool = False
    calls: list[Call] = field(default_factory=list[Call])

    def take(self, call: Call, *, effect: Effect, index: int) -> None:
        """Take in what ``call``, the ``index``-th one, did to it, and whether the log still shows all of it."""
        action = call.action
        self.touched = index
        self.reads += effect == "read"
        if effect != "read":
            self.changed, self.is_deleted = index, effect == "deleted"
        if action.verb != "run":
            self.by_tools = True
            self.opened = call.seq if effect in ("read", "created") else self.opened
        if effect == "read":
            # a listing of several files does not say which of them a line belongs to
            if (
                len(action.files) == 1
                and action.verb in ("read", "run")
                and not call.output.startswith(_UNCHANGED)
            ):
                self.calls = [call]
        elif effect == "deleted" or (action.verb == "run" and "*** " not in action.command):
            self.calls = []
        elif effect == "created":
            self.calls = [call]
        elif self.calls:
            self.calls.append(call)


def foreseen(
    calls: Sequence[Call], entries: Iterable[Entry] = (), *, weights: Weights = LEARNED
) -> tuple[FileNeed, ...]:
    """The files that the calls touched, the most needed first.

    Args:
        calls: in order.
        entries: of the ledger: what the plan, the current step and the open requests say counts.
        weights: how the need is foreseen.
    """
    files = followed(calls)
    named, last = _named(entries)
    found = (
        _file_need(path, file, end=len(calls), named=named, last=last, weights=weights)
        for path, file in files.items()
        if not is_temporary(path)
    )
    return tuple(sorted(found, key=lambda each: (-each.need, each.path)))


def _file_need(
    path: Redacted, file: FileHistory, *, end: int, named: str, last: str, weights: Weights
) -> FileNeed:
    name = path.rsplit("/", 1)[-1]
    facts = (
        math.log1p(end - file.touched),
        float(file.changed >= 0),
        math.log1p(end - file.changed) if file.changed >= 0 else 0.0,
        math.log1p(file.reads),
        float(_names(named, name)),
        float(_names(last, name)),
    )
    score = weights.bias + sum(map(mul, weights.facts, facts))
    return FileNeed(path=path, need=1 / (1 + math.exp(-score)), calls=tuple(file.calls), facts=facts)


def _names(text: str, name: str) -> bool:
    """True if ``text`` has the file's name as a word."""
    return name in text and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None


def _named(entries: Iterable[Entry]) -> tuple[str, str]:
    """The words of the plan, the current step and the open requests, and apart from them the agent's last ones."""
    named: list[str] = []
    last: list[str] = []
    for entry in entries:
        if entry.kind == "step" and entry.key.startswith("step words"):
            last.append(entry.text)
        elif entry.kind == "step" or (entry.kind in ("request", "todo") and entry.state in ("", "open")):
            named.append(entry.text)
    return "\n".join(named), "\n".join(last)


def followed(calls: Sequence[Call]) -> Mapping[Redacted, FileHistory]:
    """What happened to each file."""
    same = spellings(path for call in calls for path, _ in call.action.files)
    files: dict[Redacted, FileHistory] = {}
    for index, call in enumerate(calls):
        if call.is_error or not call.answered:
            continue
        if _REWRITES.search(call.action.command):
            for file in files.values():
                file.calls = []
        for path, effect in call.action.files:
            files.setdefault(same.get(path, path), FileHistory()).take(call, effect=effect, index=index)
    return files


_REWRITES = LazyPattern(
    r"\bgit (?:-\S+ \S+ )?(?:checkout(?! -b)|restore|reset|stash(?! list)|pull|merge|rebase|cherry-pick|revert|apply|am|switch(?! -c))\b"
)
"""Commands after which any file may be another."""
