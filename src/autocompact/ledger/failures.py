"""Errors that nothing later has settled.

What settles one: the same command works, or the same check on as much or more, with other flags or another runner; the
same step of git, or the same script from another folder; the same tool works on the same file; the program that was missing
is reached another way; a merge that stopped at a conflict is committed, continued or given up. What is no error at all: what the user refused or stopped, and a look that found
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import edited, filled, joined, pieces
from autocompact.core.redaction import Redacted
from autocompact.ledger.commands import Check, folder_of, is_check, is_look, parse_checks, parse_steps, short
from autocompact.ledger.entries import Entry
from autocompact.ledger.outcomes import error_lines, normal, was_not_run
from autocompact.ledger.scan import Call

RECENT_CALLS = 30
MOST = 100
"""Failures that are followed at once; of more the oldest are given up, since each success is held against all."""

_MISSING = LazyPattern(
    r"command not found|No module named|is not recognized as|not found: \S+\Z|: not found\Z|executable file not found|ENOENT"
)
_CONFLICT = LazyPattern(r"CONFLICT \(")
_RESOLVES = LazyPattern(
    r"\bgit (?:-[cC] \S+ )*(?:commit\b|(?:merge|rebase|cherry-pick|revert|am) --(?:continue|skip|abort|quit)\b"
    r"|reset --(?:hard|merge)\b)"
)


class _Failure(Struct, kw_only=True):
    """A call that failed.

    Attributes:
        entry: what the ledger says of it.
        checks: the checks in it, else the steps, that have not succeeded since.
        missing: all words of the command, where a program was not there; else none.
        is_conflict: whether it is a merge, of whatever kind, that waits for someone to resolve a conflict.
        folder: that the command went into; "" for none, or where nobody knows any more.
    """

    entry: Entry
    checks: frozenset[Check]
    missing: frozenset[str]
    is_conflict: bool
    folder: str = ""


def find_errors(calls: Sequence[Call], *, earlier: Iterable[Entry] = ()) -> list[Entry]:
    """The calls that failed and that no later call made good, in order; ``earlier`` ones were open before them."""
    failing = {(key := edited(entry.key, _key)): _open(entry, key) for entry in earlier}
    for index, call in enumerate(calls):
        if not call.answered or (call.outcome is not None and not call.outcome.known):
            continue
        command = edited(call.action.command, normal)
        key = command or edited(filled("{} {}", call.action.name, call.subject), str.strip)
        folder = folder_of(call.action.command)
        failed, lines = failure_of(call)
        failing.pop(key, None)
        if not failed:
            _settle(failing, command, folder=folder, failed=False)
        elif not _is_answer(call, command):
            failure = _failed(call, key, lines=lines, recent=len(calls) - index <= RECENT_CALLS)
            if not failure.missing:
                _settle(failing, command, folder=folder, failed=True)
            failure.folder = folder
            failing[key] = failure
            if len(failing) > MOST:
                del failing[next(iter(failing))]
    return [failure.entry for failure in failing.values()]


def _key(key: str) -> str:
    return key.removeprefix("error ")


def failure_of(call: Call) -> tuple[bool, tuple[Redacted, ...]]:
    """Whether a call failed, and the lines that say what went wrong."""
    if call.outcome is not None:
        return call.outcome.failed, call.outcome.errors
    return call.is_error, tuple(pieces(call.output, error_lines)) if call.is_error else ()


def _is_answer(call: Call, command: str) -> bool:
    """Whether a failure only answers a question: there is no such file, nothing was found, the user said no."""
    looks = is_look(command) if command else call.action.verb in ("read", "search", "poll")
    return looks or was_not_run(call.output)


def _failed(call: Call, key: Redacted, *, lines: Sequence[Redacted], recent: bool) -> _Failure:
    command = call.action.command
    said = filled("{}: {}", edited(key, short), joined(" / ", lines))
    important = bool(command) and is_check(key)
    entry = Entry(
        kind="error",
        text=edited(said, _ended),
        seq=call.answered,
        key=filled("error {}", key),
        state="open",
        state_seq=call.answered,
        need=0.7 if important and recent else 0.4 if important or recent else 0.05,
    )
    return _open(entry, key)


def _ended(text: str) -> str:
    return text.rstrip(": ")


def _open(entry: Entry, key: str) -> _Failure:
    missing = frozenset(key.split()) if _MISSING.search(entry.text) else frozenset[str]()
    return _Failure(
        entry=entry,
        checks=parse_checks(key) or parse_steps(key),
        missing=missing,
        is_conflict=_CONFLICT.search(entry.text) is not None,
    )


def _settle(failing: dict[Redacted, _Failure], command: str, *, folder: str, failed: bool) -> None:
    """Take out of ``failing`` what a later run of ``command`` has made good; one that failed only reached a program."""
    checks = parse_checks(command) | parse_steps(command) if command else frozenset[Check]()
    words = frozenset(command.split())
    resolves = not failed and _RESOLVES.found_in(command)
    for key, failure in list(failing.items()):
        if failed and not failure.missing:
            continue
        around = folder in ("", failure.folder) or failure.folder.startswith(f"{folder}/")
        left = frozenset(
            one for one in failure.checks if not any(check.covers(one, around=around) for check in checks)
        )
        is_reached = bool(failure.missing) and failure.missing <= words
        if (failure.checks and not left) or is_reached or (failure.is_conflict and resolves):
            del failing[key]
        failure.checks = left
