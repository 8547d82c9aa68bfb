"""What did not work here, and what did instead.

How a host, a server or a tool wants to be called is found out by a call that it refuses. Once another call has worked, no
error is open any more, nobody says it in words, and the next context would find it out again. A test that fails is none:
what is wrong there is the code, and it is mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, edited, filled
from autocompact.core.redaction import Redacted
from autocompact.ledger.clipping import clipped
from autocompact.ledger.commands import actions, is_look, last_action
from autocompact.ledger.entries import Entry
from autocompact.ledger.failures import failure_of
from autocompact.ledger.outcomes import normal, was_not_run, without_wrappers
from autocompact.ledger.scan import Call

MOST = 12
"""Obstacles that are told, the latest ones: the others only settle errors."""

_LINES, _CALL, _ARGUMENT, _REASON = 15, 120, 60, 160
"""Lines of an output at most, since who refuses a call says little more; characters of a
call, of what a tool is told first, and of the reason."""

_READ = 4_000
"""Characters at the end of an output that are read."""

_AHEAD = 15
"""Calls after it of which one may be what worked instead."""

_MISCALLED = LazyPattern(
    r"^.{0,40}?\b(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such)(?: \w+)? (?:option|flag|argument|command|subcommand|choice)\b"
)
"""A call that the program itself does not take, whatever else was printed before it."""

_MISSING = LazyPattern(
    r"command not found|: not found\Z|not recognized as|executable (?:file )?not found|No module named|\bnot installed\b|No version is set"
    r"|\bno \w+ targets?\b|[Mm]issing script"
)
_REFUSED = LazyPattern(
    r"\b(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such|ambiguous)(?: \w+)? (?:option|flag|argument|command|subcommand|choice|field|type|revision)"
    r"|[Ww]rong number of|\btype '[^'\n]{1,80}' not found"
    r"|\b(?:permission|access|action)\b[^\n]{0,60}\b(?:denied|blocked)|[Nn]ot permitted|\b(?:denied|blocked|rejected|forbidden|refused|redirected)\b"
    r"|protected branch|\b(?:HTTP|status|code|error)\b[^\n]{0,40}\b(?:401|403|429)\b|\b(?:401|403|429) (?:Unauthorized|Forbidden|Too Many)"
    r"|[Rr]ate limit|[Uu]nauthori[sz]ed|\b(?:not|un)[ -]?supported\b|is not (?:allowed|enabled|available)|\b[Uu]nable to\b|\balready (?:in|exists)\b"
    r"|socket hang up|\btimed? ?out\b|can(?:not|'t) be used|outside the (?:project|workspace|allowed)",
)
_JUDGES_CODE = LazyPattern(
    r"\b(?:tests?|pytest|jest|vitest|mocha|rspec|phpunit|e2e|lint|eslint|ruff|golangci-lint|mypy|pyright|tsc|vet|clippy|checks?|fmt|format"
    r"|build|compile|typecheck|tox|nox)\b"
)
"""Commands that say what is wrong with the code in whatever words: of them only a call that they do not take is told."""

_OF_CODE = LazyPattern(r"[\w./-]+\.\w{1,5}:\d+")
"""The place in the code that a test or a compiler speaks of."""

_FILES = frozenset(["edit", "create", "delete", "read", "search", "todo"])


class Obstacle(NamedTuple):
    """A call that was refused.

    Attributes:
        entry: what the ledger says of it.
        command: the command line, "" for a call of another tool.
        is_settled: whether all that it was to do was done later.
    """

    entry: Entry
    command: str
    is_settled: bool


def find_obstacles(calls: Sequence[Call], *, words: Mapping[str, Redacted]) -> list[Obstacle]:
    """The calls that were refused, each with the reason and the like of it that worked next; the last one for each reason.

    Args:
        calls: in order.
        words: of the conversation's language.
    """
    found: dict[str, Obstacle] = {}
    for index, call in enumerate(calls):
        if (reason := _reason(call)) is None:
            continue
        command = edited(call.action.command, normal)
        later = _worked_next(command, calls[index + 1 : index + 1 + _AHEAD])
        told = later if later != command else EMPTY
        worked = filled("; {}: `{}`", words["instead"], edited(told, _clipped_call)) if told else EMPTY
        found.pop(reason, None)
        entry = Entry(
            kind="finding",
            text=filled("`{}` — {}{}", edited(_what(call), _clipped_call), reason, worked),
            seq=call.seq,
            key=filled("obstacle {}", reason),
            state_seq=call.answered,
            need=0.6 if told else 0.45,
        )
        settled = bool(told) and actions(command) <= actions(told)
        found[reason] = Obstacle(entry, command=command, is_settled=settled)
    return list(found.values())


def is_obstacle(entry: Entry) -> bool:
    """Whether an entry says what did not work."""
    return entry.key.startswith("obstacle ")


def without_settled(errors: Iterable[Entry], obstacles: Iterable[Obstacle]) -> list[Entry]:
    """The errors without those of calls whose work another did."""
    settled = {(f"error {one.command}", one.entry.state_seq) for one in obstacles if one.is_settled}
    return [error for error in errors if (str(error.key), error.seq) not in settled]


def _reason(call: Call) -> Redacted | None:
    """The line in which a call was refused; None where it was not, or where it found only that something is not there."""
    unknown = call.outcome is not None and not call.outcome.known
    if not call.answered or unknown or not failure_of(call)[0] or was_not_run(call.output):
        return None
    command = edited(call.action.command, normal)
    is_plain = not command and (call.action.files or call.action.verb in _FILES - {"read"})
    if is_plain or is_look(command):
        return None
    judges = _JUDGES_CODE.search(last_action(command)) is not None
    return edited(call.output, partial(_refusal, judges=judges)) or None


def _refusal(output: str, *, judges: bool) -> str:
    """The line that refuses the call; ``judges`` says that the command prints what is wrong with the code."""
    lines = [line.strip() for line in without_wrappers(output[-_READ:]).split("\n") if line.strip()]
    short = (_MISSING,) if judges else (_MISSING, _REFUSED)
    said = (_MISCALLED, *short) if len(lines) <= _LINES else (_MISCALLED,)
    told = (line for line in lines if any(one.search(line) for one in said) and not _OF_CODE.match(line))
    return clipped(next(told, ""), _REASON)


def _what(call: Call) -> Redacted:
    return edited(call.action.command, normal) or filled(
        "{} {}", call.action.name, edited(call.action.text, _first)
    )


def _first(text: str) -> str:
    return clipped(text.partition("\n")[0], _ARGUMENT)


def _clipped_call(call: str) -> str:
    return clipped(" ".join(call.split()), _CALL)


def _worked_next(command: Redacted, following: Sequence[Call]) -> Redacted:
    """The next command that did the last thing which ``command`` was to do, and worked; "" where none did."""
    wanted, quoted = last_action(command), _QUOTED.findall(command)
    for later in following if wanted else ():
        other = edited(later.action.command, normal)
        outcome = later.outcome
        worked = later.answered and outcome is not None and outcome.known and not outcome.failed
        if worked and _does(other, wanted, quoted=quoted) and not _HELP.search(other):
            return other
    return EMPTY


def _does(command: str, action: str, *, quoted: Sequence[str]) -> bool:
    """Whether ``command`` does ``action``; what stands in quotes may be the whole of it, as with ssh, whatever host it names."""
    if not quoted:
        # a program alone does this and that
        return " " in action and action in actions(command)
    program = action.partition(" ")[0]
    return all(text in command for text in quoted) and any(
        one.partition(" ")[0] == program for one in actions(command)
    )


_QUOTED = LazyPattern(r"'[^']{1,400}'|\"[^\"]{1,400}\"")
_HELP = LazyPattern(r"(?<!\S)(?:--help|-h|--dry-run|--version|--delete)(?!\S)")
