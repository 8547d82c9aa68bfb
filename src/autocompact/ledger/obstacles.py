"""What did not work here, and what did instead.

How a host, a server or a tool wants to be called is found out by a call that it refuses. Once another call has worked, no
error is open any more, nobody says it in words, and the next context would find it out again. A test that fails is none:
what is wrong there is the code, and it is mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from autocompact.core.patterns import LazyPattern
from autocompact.core.redacted import EMPTY, edited, filled
from autocompact.core.redaction import Redacted
from autocompact.ledger.clipping import clipped
from autocompact.ledger.commands import is_look, programs
from autocompact.ledger.entries import Entry
from autocompact.ledger.failures import failure_of
from autocompact.ledger.outcomes import normal, was_not_run, without_wrappers
from autocompact.ledger.scan import Call

MOST = 12
"""Obstacles that are told, the latest ones."""

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

_REFUSED = LazyPattern(
    r"\b(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such|ambiguous)(?: \w+)? (?:option|flag|argument|command|subcommand|choice|field|type|revision)"
    r"|command not found|: not found\Z|not recognized as|executable (?:file )?not found|No module named|\bnot installed\b|No version is set"
    r"|\bno \w+ targets?\b|[Mm]issing script|[Ww]rong number of|\btype '[^'\n]{1,80}' not found"
    r"|\b(?:permission|access|action)\b[^\n]{0,60}\b(?:denied|blocked)|[Nn]ot permitted|\b(?:denied|blocked|rejected|forbidden|refused|redirected)\b"
    r"|protected branch|\bstatus code[^\n]{0,40}\b40[13]\b|\b(?:401|403|429)\b|[Rr]ate limit|[Uu]nauthori[sz]ed"
    r"|\b(?:not|un)[ -]?supported\b|is not (?:allowed|enabled|available)|\b[Uu]nable to\b|\balready (?:in|exists)\b"
    r"|socket hang up|\btimed? ?out\b|can(?:not|'t) be used|outside the (?:project|workspace|allowed)",
    needs=r"unknown|recogni|unexpected|invalid|no such|ambiguous|found|no module|install|no version|target|script|wrong|denied|blocked|permi"
    r"|rejected|forbidden|refused|redirected|protected|40[13]|429|rate|authori|support|is not|unable|already|hang|time|be used|outside",
)
_OF_CODE = LazyPattern(r"[\w./-]+\.\w{1,5}:\d+")
"""The place in the code that a test or a compiler speaks of."""

_FILES = frozenset(["edit", "create", "delete", "read", "search", "todo"])


def find_obstacles(calls: Sequence[Call], *, words: Mapping[str, Redacted]) -> list[Entry]:
    """The calls that were refused, each with the reason and with what worked instead; of one reason the last.

    Args:
        calls: in order.
        words: of the conversation's language.
    """
    found: dict[str, Entry] = {}
    for index, call in enumerate(calls):
        if (reason := _reason(call)) is None:
            continue
        what = edited(_what(call), _clipped_call)
        instead = _instead(call, calls[index + 1 : index + 1 + _AHEAD])
        worked = filled("; {}: `{}`", words["instead"], edited(instead, _clipped_call)) if instead else EMPTY
        found.pop(reason, None)
        found[reason] = Entry(
            kind="finding",
            text=filled("`{}` — {}{}", what, reason, worked),
            seq=call.seq,
            key=filled("obstacle {}", reason),
            state_seq=call.answered,
            need=0.6 if instead else 0.45,
            where=instead,
        )
    return list(found.values())[-MOST:]


def is_obstacle(entry: Entry) -> bool:
    """Whether an entry says what did not work."""
    return entry.key.startswith("obstacle ")


def without_settled(errors: Iterable[Entry], obstacles: Iterable[Entry]) -> list[Entry]:
    """The errors without those of calls in whose place another worked."""
    settled = {entry.state_seq for entry in obstacles if entry.where}
    return [error for error in errors if error.seq not in settled]


def _reason(call: Call) -> Redacted | None:
    """The line in which a call was refused; None where it was not, or where it found only that something is not there."""
    unknown = call.outcome is not None and not call.outcome.known
    if not call.answered or unknown or not failure_of(call)[0] or was_not_run(call.output):
        return None
    is_plain = not call.action.command and (call.action.files or call.action.verb in _FILES - {"read"})
    if is_plain or is_look(edited(call.action.command, normal)):
        return None
    return edited(call.output, _refusal) or None


def _refusal(output: str) -> str:
    lines = [line.strip() for line in without_wrappers(output[-_READ:]).split("\n") if line.strip()]
    said = _REFUSED if len(lines) <= _LINES else _MISCALLED
    told = (line for line in lines if said.search(line) and not _OF_CODE.match(line))
    return clipped(next(told, ""), _REASON)


def _what(call: Call) -> Redacted:
    return edited(call.action.command, normal) or filled(
        "{} {}", call.action.name, edited(call.action.text, _first)
    )


def _first(text: str) -> str:
    return clipped(text.partition("\n")[0], _ARGUMENT)


def _clipped_call(call: str) -> str:
    return clipped(" ".join(call.split()), _CALL)


def _instead(call: Call, following: Sequence[Call]) -> Redacted:
    """The command of the same program that worked next; "" where none did, or it was the same."""
    command = edited(call.action.command, normal)
    mine = programs(command)
    for later in following:
        other = edited(later.action.command, normal)
        worked = (
            later.answered and later.outcome is not None and later.outcome.known and not later.outcome.failed
        )
        if worked and mine & programs(other):
            return other if other != command else EMPTY
    return EMPTY
