"""Use of the context window: by role, tool and file; the largest parts, repeats, and growth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context, Transcript, view
from autocompact.core.actions import Action, Effect
from autocompact.core.redacted import EMPTY, RedactedCall, RedactedResult, filled, joined, own
from autocompact.core.redaction import Redacted, redact
from autocompact.core.tokens import MESSAGE_TOKENS, Counter, breakdown
from autocompact.core.windows import budget_for
from autocompact.history.recorded.moment import Moment, moment
from autocompact.history.recorded.pieces import Piece, Weighed, called, largest, named, short_path, weighed
from autocompact.history.recorded.usage import ContextUsage, usage_of
from autocompact.ledger.summary import frame
from autocompact.sessions import Session

SAME_TOKENS = 50
"""Outputs smaller than this are not called duplicates: "ok" is said often and costs nothing."""

_NUMBER = re.compile(r"^\s*\d+[→\t:|]?")
"""What the tools that read files put before each line: an edit above would make all lines below it new ones."""

_TELLING = 4
"""Characters that a line has at least to tell its file: a bracket or `else` stands in each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Tokens of one role, tool or file. ``times`` counts its messages or calls; ``note`` says more."""

    name: Redacted
    tokens: int
    times: int
    note: Redacted = EMPTY


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Content that the context shows several times, at ``seqs``; ``tokens`` are those of the repetitions."""

    what: Redacted
    seqs: tuple[int, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Tokens of the context at message ``seq``."""

    seq: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A session, looked at.

    Attributes:
        session: what was read.
        messages: number of messages looked at; fewer than the session has where an earlier moment was asked for.
        log_tokens: tokens of all of them, those that left the context included.
        window: tokens of the model's window.
        context: what the model was sent at that moment, by our own count; so are the shares and parts of it below.
        usage: tokens of that context as the provider counts them.
        roles: shares of the context by who speaks, the largest first; likewise the next two.
        tools: by tool, calls and results together.
        files: by file; a call that touches several counts for each with its part.
        largest: the largest parts, the largest first.
        repeats: what stands there several times, the most wasteful first.
        points: the context over time.
        reported: the points are the provider's own figures; else they are counted.
        compactions: what the recording program compacted itself.
        counter: name of the token counter.
    """

    session: Session
    messages: int
    log_tokens: int
    window: int
    context: Context
    usage: ContextUsage
    roles: tuple[Share, ...]
    tools: tuple[Share, ...]
    files: tuple[Share, ...]
    largest: tuple[Piece, ...]
    repeats: tuple[Repeat, ...]
    points: tuple[Point, ...]
    reported: bool
    compactions: tuple[Compaction, ...]
    counter: str


@dataclass(slots=True, kw_only=True)
class _Output:
    """A call with its result: ``tokens`` are those of the result, ``asked`` those of the call."""

    seq: int
    action: Action
    text: Redacted
    tokens: int
    asked: int


@dataclass(slots=True, kw_only=True)
class _Sum:
    tokens: int = 0
    times: int = 0
    effects: dict[Effect, int] = field(default_factory=dict[Effect, int])


def inspect_session(
    session: Session, *, counter: Counter, through: int | None = None, window: int | None = None
) -> Inspection:
    """Look at ``session`` as it was at its end, or after message ``through``.

    Raises:
        InvalidInput: there is no such message, or the window is not positive.
    """
    budget = budget_for(session.model, window=window)
    then = moment(session, through=through, counter=counter)
    context = view(then.log, then.active)
    parts = weighed(context.messages, counter)
    outputs = list(_outputs(parts))
    points, reported = _points(then)
    return Inspection(
        session=session,
        messages=len(then.log),
        log_tokens=sum(then.log.cost(message.seq).tokens for message in then.log.live()),
        window=budget.window,
        context=context,
        usage=usage_of(then, session, log_tokens=context.cost.tokens),
        roles=_roles(context, counter),
        tools=_tools(parts),
        files=_files(outputs, session.cwd),
        largest=largest(parts, cwd=session.cwd, most=10),
        repeats=_repeats(outputs, session.cwd),
        points=points,
        reported=reported,
        compactions=then.made,
        counter=counter.name,
    )


def _roles(context: Context, counter: Counter) -> tuple[Share, ...]:
    sums: dict[str, _Sum] = {}
    for message in context.messages:
        for name, tokens in breakdown([message], tools=0, counter=counter).items():
            total = sums.setdefault(name, _Sum())
            total.tokens += tokens
            total.times += 1
    return _sorted(
        Share(name=redact(name), tokens=each.tokens, times=each.times) for name, each in sums.items()
    )


def _sorted(shares: Iterable[Share]) -> tuple[Share, ...]:
    return tuple(sorted(shares, key=lambda share: (-share.tokens, share.name)))


def _tools(parts: list[Weighed]) -> tuple[Share, ...]:
    sums: dict[Redacted, _Sum] = {}
    for each in parts:
        call = each.clean if each.call is None else parts[each.call].clean
        if isinstance(call, RedactedCall):
            total = sums.setdefault(call.name, _Sum())
            total.tokens += each.tokens
            total.times += each.call is None
    return _sorted(Share(name=name, tokens=each.tokens, times=each.times) for name, each in sums.items())


def _outputs(parts: list[Weighed]) -> Iterator[_Output]:
    for each in parts:
        if each.call is not None and isinstance(each.clean, RedactedResult):
            yield _Output(
                seq=each.message.seq,
                action=called(parts, each.call),
                text=each.clean.text,
                tokens=each.tokens,
                asked=parts[each.call].tokens,
            )


def _files(outputs: Iterable[_Output], cwd: str) -> tuple[Share, ...]:
    sums: dict[Redacted, _Sum] = {}
    for output in outputs:
        files = dict(output.action.files)
        for path, effect in files.items():
            total = sums.setdefault(short_path(path, cwd=cwd), _Sum())
            # shared out, so that the files together take no more than the window holds
            total.tokens += (output.tokens + output.asked) // len(files)
            total.times += 1
            total.effects[effect] = total.effects.get(effect, 0) + 1
    return _sorted(
        Share(name=path, tokens=each.tokens, times=each.times, note=_effects(each.effects))
        for path, each in sums.items()
    )


def _effects(effects: Mapping[Effect, int]) -> Redacted:
    return joined(
        ", ",
        (
            filled("{} {}×", own(effect), times) if times > 1 else own(effect)
            for effect, times in effects.items()
        ),
    )


def _repeats(outputs: Iterable[_Output], cwd: str) -> tuple[Repeat, ...]:
    """Files that were read again, then other outputs that are the same to the letter."""
    reads: dict[Redacted, list[_Output]] = {}
    same: dict[Redacted, list[_Output]] = {}
    for output in outputs:
        if output.action.verb == "read" and len(output.action.files) == 1:
            reads.setdefault(output.action.files[0][0], []).append(output)
        # a file that is read twice is told as that, though it came back the same
        elif output.tokens >= SAME_TOKENS:
            same.setdefault(output.text, []).append(output)
    found = [
        _repeat(
            filled("{} read {}×", short_path(path, cwd=cwd), len(group)), group, tokens=_read_again(group)
        )
        for path, group in reads.items()
    ]
    for group in same.values():
        what = filled("{}: same output {}×", named(group[0].action, cwd=cwd), len(group))
        found.append(_repeat(what, group, tokens=sum(output.tokens for output in group[:-1])))
    kept = [repeat for repeat in found if repeat.tokens]
    return tuple(sorted(kept, key=lambda repeat: (-repeat.tokens, repeat.seqs)))


def _repeat(what: Redacted, group: list[_Output], *, tokens: int) -> Repeat:
    return Repeat(what=what, seqs=tuple(output.seq for output in group), tokens=tokens)


def _read_again(group: list[_Output]) -> int:
    """Tokens of the earlier reads that later ones show again, line by line: two ranges of a file may not overlap."""
    seen: set[str] = set()
    tokens = 0
    for output in reversed(group):
        lines = [
            line for row in output.text.splitlines() if len(line := _NUMBER.sub("", row).strip()) >= _TELLING
        ]
        again = sum(line in seen for line in lines)
        tokens += output.tokens * again // len(lines) if lines else 0
        seen.update(lines)
    return tokens


def _points(then: Moment) -> tuple[tuple[Point, ...], bool]:
    """The context over time, and whether the provider reported it."""
    reported = tuple(
        Point(seq=message.seq, tokens=message.usage.prompt + message.usage.completion)
        for message in then.log.live()
        if message.usage is not None
    )
    return (reported, True) if reported else (tuple(_counted(then.log, then.made)), False)


def _counted(log: Transcript, made: Iterable[Compaction]) -> Iterator[Point]:
    """Sums of the messages' costs, beginning anew with the summary at each compaction."""
    restarts = {record.through_seq: record for record in made if record.summary}
    tokens = 0
    for message in log.live():
        tokens += log.cost(message.seq).tokens
        yield Point(seq=message.seq, tokens=tokens)
        if (record := restarts.get(message.seq)) is not None:
            tokens = log.counter.count(frame(record.summary, placement=record.placement)) + MESSAGE_TOKENS
            tokens += sum(log.cost(seq).tokens for seq in record.keep)
