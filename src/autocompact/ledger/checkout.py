"""Where the checkout stands: last commit, last push, last status and pull request, as git and its hosts told them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from autocompact.core.actions import HEREDOC
from autocompact.core.patterns import LazyPattern
from autocompact.core.redaction import Redacted
from autocompact.core.references import reference
from autocompact.ledger.commands import parts
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
_CHECKS_OUT = LazyPattern(r"git\s+(?:-[cC]\s+\S+\s+){0,3}(?P<how>checkout|switch)\s(?P<told>.*)", re.DOTALL)
_MAKES = LazyPattern(r"-q?[bBcC]|--create|--force-create|--orphan")
_REDIRECTS = LazyPattern(r"[\d&]?[<>]\S*")
_NAME = LazyPattern(r"[\w./-]{1,100}")
_DETACHES = frozenset({"--detach", "-d", "--track", "-t"})

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

_WITH_BRANCH = LazyPattern(r"\s(?:-[a-z]*b|--branch)\b")
"""A short status that says the branch first, whatever the user's configuration."""

_BRANCH = LazyPattern(r"^[\w./-]{1,100}\Z", re.MULTILINE)
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
                news = dict(_done(command, line=line, output=call.output)) | news
            if _COMMIT in news:
                told.pop(_LEFT, None)
            if _PUSHES.search(line) and not (call.outcome and call.outcome.failed):
                told.pop(_PUSH, None)  # a later one, which may print nothing, took its place
            told |= {what: (words, call.seq) for what, words in news.items() if words}
    order = sorted(told.items(), key=lambda item: item[1][1])
    pieces = [f"{what} {words} ({reference(seq)})" for what, (words, seq) in order]
    return Redacted("; ".join(pieces)), order[-1][1][1] if order else 0


def _done(command: str, *, line: str, output: str) -> Iterable[tuple[str, str]]:
    """What a command did that may print nothing of it: a quiet commit, and the branch that it checked out.

    Args:
        command: as it was called.
        line: the same without its documents.
        output: what it printed.
    """
    if shown := quiet_commit(command, output=output):
        # by its hash where a log shows one, as any other commit: the titles stand with the commands. What is told of the
        # commit without the log is the title alone, which may begin with what looks like a hash.
        title = quiet_commit(command, output="")
        yield _COMMIT, shown.removesuffix(title).strip() or f"“{title}”"
    if branch := _checked_out(line):
        yield "status", f"on {branch}"


def _checked_out(command: str) -> str:
    """The branch that a command line leaves checked out; "" where it checks none out, or nobody can tell which."""
    branch = ""
    for part in parts(command):
        if out := _CHECKS_OUT.match(part):
            words = [word for word in out["told"].split() if not _REDIRECTS.fullmatch(word)]
            branch = _branch_of(words, is_switch=out["how"] == "switch", before=branch)
    return branch if _NAME.fullmatch(branch) else ""


def _branch_of(words: Sequence[str], *, is_switch: bool, before: str) -> str:
    """The branch that one checkout leaves, told by its arguments; "" where they do not say which."""
    flags = {word for word in words if word.startswith("-") and word != "-"}
    made = next((after for flag, after in pairwise(words) if _MAKES.fullmatch(flag)), "")
    if made:
        return made
    named = [word for word in words if word not in flags]
    # files of the branch that is there are checked out, too
    if "--" in flags or len(named) != 1 or named == ["."]:
        return before
    # a single name may be a file's where it is no switch, and "-" is the branch before
    return named[0] if is_switch and named != ["-"] and not flags & _DETACHES else ""


def _told(command: str, printed: str) -> Iterable[tuple[str, str]]:
    """What the output of a git command says, by what it is about."""
    output = printed[-_LOOKED_AT:]
    for commit in [*_COMMITTED.finditer(output)][-1:]:
        yield _COMMIT, commit["alone"] or f"{commit['hash']} on {commit['branch']}"
    for push in [*_PUSHED.finditer(output)][-1:] if "push" in command else ():
        way = push["to"] if push["from"] == push["to"] else f"{push['from']} -> {push['to']}"
        yield _PUSH, f"{push['range'] or 'new branch'} {way}"
    if _OPENS.search(command) and (request := _REQUEST.search(output)):
        yield "pull request", request[0]
    yield from _status(command, output, short=_short(command, printed))


def _short(command: str, printed: str) -> str:
    """The branch as ``git status --short --branch`` tells it in its first line, and not as a document's title; "" for none."""
    calls = [part for part in parts(command) if part and not part.startswith("cd ")]
    stand = [at for at, part in enumerate(calls) if _STATUS.search(part)]
    if not stand:
        return ""
    if stand == [0]:  # nothing was printed before it, whatever came behind
        found = _SHORT.match(printed.lstrip("\n"))
    elif stand[-1] == len(calls) - 1:
        found = next(reversed([*_SHORT.finditer(printed[-_LOOKED_AT:])]), None)
    else:
        found = _SHORT.search(printed[-_LOOKED_AT:])
    if found is None or not ("..." in found["short"] or any(_WITH_BRANCH.search(calls[at]) for at in stand)):
        return ""
    return found["short"].strip()


def _status(command: str, output: str, *, short: str) -> Iterable[tuple[str, str]]:
    """What is checked out, how it stands to its remote, and what is not committed."""
    if _NAMES_BRANCH.search(command) and (branch := _BRANCH.search(output)):
        yield "status", f"on {branch[0]}"
    if not _STATUS.search(command):
        if switched := _SWITCHED.search(output):
            yield "status", f"on {switched['branch']}"
        return
    yield _LEFT, _uncommitted(output)
    if short:
        yield "status", short
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
