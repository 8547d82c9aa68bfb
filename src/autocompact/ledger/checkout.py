"""Where the checkout stands: last commit, last push, last status and pull request, as git and its hosts told them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autocompact.core.actions import HEREDOC
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.ledger.outcomes import quiet_commit, without_wrappers
from autocompact.ledger.scan import Call

_COMMITTED = LazyPattern(
    r"^(?:\[(?P<branch>[^\]\n ]{1,100})[^\]\n]{0,40} (?P<hash>[0-9a-f]{7,12})\]|Commit (?P<alone>[0-9a-f]{7,12})) ",
    re.MULTILINE,
)
_PUSHED = LazyPattern(
    r"^ *(?:[+*]? *(?P<range>[0-9a-f]{7,12}\.{2,3}[0-9a-f]{7,12})|\* \[new branch\]) +(?P<from>\S{1,100}) +-> (?P<to>\S{1,100})",
    re.MULTILINE,
)
_SHORT = LazyPattern(
    r"^## (?P<short>(?:(?:No commits yet|Initial commit) on )?[^\s\[]{1,100}(?: \[(?:ahead|behind|gone)[^\]\n]{0,60}\])?"
    r"|HEAD \(no branch\))[ \t]*$",
    re.MULTILINE,
)
"""Not a title of a document that was read beside it."""

_LONG = LazyPattern(
    r"^On branch (?P<branch>\S{1,100})(?:\nYour branch (?P<how>[^\n.,]{1,120}))?", re.MULTILINE
)
_SWITCHED = LazyPattern(r"^Switched to (?:a new )?branch '(?P<branch>[^'\n]{1,100})'", re.MULTILINE)
_MAKES = LazyPattern(
    r"(?<![\w./-])git\s+(?:-[cC]\s+\S+\s+){0,3}(?:checkout|switch)\s+(?:-\S+\s+){0,4}?(?:-[bBcC]|--create|--force-create)\s+"
    r"(?P<branch>[\w./-]{1,100})"
)
"""A branch that a quiet command checks out, too."""

_REQUEST = LazyPattern(
    r"https?://[\w.:-]{3,100}/[\w./-]{3,200}/(?:pull|pulls|pull-requests|merge_requests)/\d{1,9}(?![\w/])"
)
_GIT = LazyPattern(r"(?<![\w./-])(?:git|gh|glab|hub)\s")
_NAMES_BRANCH = LazyPattern(
    r"(?<![\w./-])git\s+(?:-[cC]\s+\S+\s+|-\S+\s+){0,20}+(?:branch\s+--show-current|rev-parse\s+--abbrev-ref\s+HEAD)\s*(?:\Z|2>|\n)"
)
"""At the end of the command: what it printed stands at the end as well."""
_OPENS = LazyPattern(r"(?<![\w./-])(?:gh|glab|hub)\s+(?:pr|mr|pull-request)\b")
_STATUS = LazyPattern(r"(?<![\w./-])git\s+(?:-[cC]\s+\S+\s+|-\S+\s+){0,20}+status\b")
_ENTRY = LazyPattern(r"^(?: ?[MADRCUT]{1,2}|(?P<new>\?\?)) {1,2}(?P<path>\S[^\n]{0,200})$", re.MULTILINE)
"""A line of ``git status --short``; the first one may have lost the blank it begins with."""

_BRANCH = LazyPattern(r"^[\w./-]{1,100}\Z", re.MULTILINE)
_HASH = LazyPattern(r"[0-9a-f]{7,12}(?= )")
_LOOKED_AT = 4_000
_NAMED = 3
"""New files that are told by their names at most: those that changed have a section of their own."""

_COMMIT, _LEFT, _PUSH = "last commit", "uncommitted", "last push"
_PUSHES = LazyPattern(
    r"(?<![\w./-])git\s+(?:-[cC]\s+\S+\s+){0,3}push\b(?![^\n;&|]{0,200}(?:--dry-run|--help|--tags|:refs/|\s-n\b))"
)


def git_state(calls: Iterable[Call]) -> tuple[Redacted, int]:
    """One line on the checkout, oldest first, and the last message that it comes from; "" and 0 if git told nothing."""
    told: dict[str, tuple[str, int]] = {}
    for call in calls:
        command = call.action.command
        if call.answered and _GIT.search(command):
            line = HEREDOC.sub(r"\1\3", command)
            news = dict(_told(line, without_wrappers(call.output).rstrip()))
            if not (call.outcome and call.outcome.failed):
                news = dict(_done(line, title=quiet_commit(command, output=call.output))) | news
            if _COMMIT in news:
                told.pop(_LEFT, None)
            if _PUSHES.search(line) and not (call.outcome and call.outcome.failed):
                told.pop(_PUSH, None)  # a later one, which may print nothing, took its place
            told |= {what: (words, call.seq) for what, words in news.items() if words}
    order = sorted(told.items(), key=lambda item: item[1][1])
    pieces = [f"{what} {words} ({reference(seq)})" for what, (words, seq) in order]
    return Redacted("; ".join(pieces)), order[-1][1][1] if order else 0


def _done(command: str, *, title: str) -> Iterable[tuple[str, str]]:
    """What a command did that may print nothing of it: a quiet commit, and the branch that it made."""
    if title:
        # by its hash where one is shown, as any other commit: the titles stand with the commands
        hash = _HASH.match(title)
        yield _COMMIT, hash[0] if hash else f"“{title}”"
    for made in [*_MAKES.finditer(command)][-1:]:
        yield "status", f"on {made['branch']}"


def _told(command: str, output: str) -> Iterable[tuple[str, str]]:
    """What the output of a git command says, by what it is about."""
    output = output[-_LOOKED_AT:]
    for commit in [*_COMMITTED.finditer(output)][-1:]:
        yield _COMMIT, commit["alone"] or f"{commit['hash']} on {commit['branch']}"
    for push in [*_PUSHED.finditer(output)][-1:] if "push" in command else ():
        way = push["to"] if push["from"] == push["to"] else f"{push['from']} -> {push['to']}"
        yield _PUSH, f"{push['range'] or 'new branch'} {way}"
    if _OPENS.search(command) and (request := _REQUEST.search(output)):
        yield "pull request", request[0]
    yield from _status(command, output)


def _status(command: str, output: str) -> Iterable[tuple[str, str]]:
    """What is checked out, how it stands to its remote, and what is not committed."""
    if _NAMES_BRANCH.search(command) and (branch := _BRANCH.search(output)):
        yield "status", f"on {branch[0]}"
    if not _STATUS.search(command):
        if switched := _SWITCHED.search(output):
            yield "status", f"on {switched['branch']}"
        return
    yield _LEFT, _uncommitted(output)
    if short := _SHORT.search(output):
        yield "status", short["short"].strip()
    elif long := _LONG.search(output):
        yield "status", f"on {long['branch']}{_relation(long['how'] or '', branch=long['branch'])}"


def _uncommitted(output: str) -> str:
    """How many changed files ``git status --short`` lists, and the new ones, a few by name; "" for none."""
    entries = [*_ENTRY.finditer(output)]
    untracked = [entry["path"] for entry in entries if entry["new"]]
    told = untracked if len(untracked) <= _NAMED else [f"{len(untracked)} files"]
    changed = len(entries) - len(untracked)
    return ", ".join(
        (*([f"{changed} changed"] if changed else ()), *([f"untracked {' '.join(told)}"] if told else ()))
    )


def _relation(how: str, *, branch: str) -> str:
    """How the branch stands to its remote, in few words: ", ahead of origin by 2 commits"."""
    remote = re.search(r"'([^']+)'", how)
    name = remote[1].removesuffix(f"/{branch}") if remote else ""
    if "diverged" in how:
        return f", diverged from {name}"
    told = how.removeprefix("is ").replace(f"'{remote[1]}'", name) if remote else how
    return f", {told}" if told else ""
