"""Compact a recorded session.

    compact_session(session, Options(to=12_000), counter=…, clock=…) -> Compacted

What is compacted is the live context under the last compaction that the recording program made itself; the ledger is
found in the originals of those earlier compactions as well.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from msgspec import Struct

from autocompact.compaction.goal import SMALLEST_LEDGER, Goal
from autocompact.compaction.ladder import (
    SummaryNeeded,
    SummaryReply,
    SummaryRequest,
    answer,
    plan,
)
from autocompact.compaction.last_request import LEAST_REQUEST
from autocompact.compaction.receipts import found_in, unchecked, with_found
from autocompact.compaction.record import Compaction, Receipt
from autocompact.compaction.transcript import Context, Transcript, view
from autocompact.core.budget import Budget
from autocompact.core.lookup import WITH_TOOLS, Lookup
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.redacted import EMPTY, filled
from autocompact.core.redaction import Redacted, redact
from autocompact.core.reply import parse_summary
from autocompact.core.tokens import Counter, message_cost
from autocompact.core.windows import budget_for, window_for
from autocompact.errors import IncompressibleContext, InvalidInput
from autocompact.history.recorded.moment import Moment, moment
from autocompact.history.recorded.pieces import Piece, largest, weighed
from autocompact.history.recorded.usage import ContextUsage, usage_of
from autocompact.ledger.entries import Ledger
from autocompact.ledger.verification import Verification
from autocompact.ports import Clock
from autocompact.sessions import Session

TAIL_TOKENS, TAIL_SHARE, TAIL_PART = 20_000, 10, 4
"""The tail by default: so many tokens, but no more than a 10th of the window and a 4th of the context."""

SUMMARY_MOST, SUMMARY_LEAST, SUMMARY_PART = 8_000, 1_000, 20
"""Summary and ledger by default: a 20th of the context, within these bounds."""

TARGET_SUMMARY = 0.4
"""With a target: the share of it, less what is fixed, that goes to summary and ledger; the tail gets the rest."""

_OUTSIDE_ADVICE = (
    "Shorten the largest of these, unpin something, or choose a larger target or window; {:,} tokens outside of the log "
    "(system prompt, tool schemas, attachments) come on top, which no compaction removes."
)

FRAME_TOKENS = 100
"""What the words around a summary take, rounded up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a compaction; None means the default.

    Attributes:
        window: tokens of the model's window; by default that of the session's model, else 200,000.
        to: tokens that the context may take afterwards; by default the window less room for the reply.
        summary_tokens: size of summary plus ledger.
        tail_tokens: recent messages that stay verbatim; 0 for none.
        through: compact as if the conversation ended at this message.
        summary: a summary to take instead of making one.
        pins: what must stay verbatim: a message by its number, any other text in the summary.
        focus: what the summary should concentrate on.
        lookup: how whoever goes on from the result opens what left the context.
        masks_alone: a context in which old tool outputs are masked and nothing is summarised will do, where it is enough.

    Raises:
        InvalidInput: a number that is too small, or an empty pin.
    """

    window: int | None = None
    to: int | None = None
    summary_tokens: int | None = None
    tail_tokens: int | None = None
    through: int | None = None
    summary: str | None = None
    pins: tuple[str, ...] = ()
    focus: str = ""
    lookup: Lookup = WITH_TOOLS
    masks_alone: bool = True

    def __post_init__(self) -> None:
        for name, least in (("window", 1), ("to", 1), ("summary_tokens", 1), ("tail_tokens", 0)):
            value: int | None = getattr(self, name)
            if value is not None and value < least:
                raise InvalidInput(f"{name.replace('_', '-')} is {value:,}, it must be at least {least}")
        if not all(pin.strip() for pin in self.pins):
            raise InvalidInput("a pin is empty: give a text, or the number of a message")

    @property
    def asks_for_summary(self) -> bool:
        """True if masking old tool outputs would not be what was asked for, even if it were enough."""
        # who names one of these wants a summary, though masks might do
        sized = (self.summary_tokens, self.tail_tokens, self.summary) != (None, None, None)
        wants = self.to is None or sized or bool(self.focus) or not self.masks_alone
        return wants or any(_number(pin) is None for pin in self.pins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A session, compacted.

    Attributes:
        session: what was read.
        log: its messages, through the one asked for.
        goal: what the compaction had to reach.
        window: tokens of the model's window.
        target: tokens that what the log holds may take afterwards.
        usage: tokens of the context before. Its figures, ``window`` and ``target`` are the provider's where it reported
            any; those of ``goal``, ``before``, ``after`` and the receipt are our own count of the log.
        before: the context before, under the recording program's own last compaction.
        after: the context now; neither ends on a tool result.
        record: the compaction; None if there was nothing to gain, and ``after`` is ``before``.
        receipt: what it did; its rung is "none" without a record.
        found: what of the ledger the new context states.
    """

    session: Session
    log: Transcript
    goal: Goal
    window: int
    target: int
    usage: ContextUsage
    before: Context
    after: Context
    record: Compaction | None
    receipt: Receipt
    found: Verification

    @property
    def summary(self) -> Redacted:
        """The active summary, ledger included; "" if there is none."""
        return self.after.compaction.summary if self.after.compaction else EMPTY

    @property
    def ledger(self) -> Ledger:
        """Entries of the ledger, the most needed first; empty if nothing was summarised."""
        return self.record.ledger if self.record else Ledger()

    def leaving(self, most: int) -> tuple[Piece, ...]:
        """The largest parts of messages that are no longer in the context, or only as a stub."""
        # a stub does not count as staying
        stay = {message.seq for message in self.after.messages if not message.changed}
        parts = weighed(self.before.messages, self.log.counter)
        return largest(parts, cwd=self.session.cwd, most=most, without=stay)

    def texts(self) -> list[str]:
        """Every text in the new context."""
        return [text for message in self.after.messages for text in _words(message)]


class Plan(Struct, frozen=True, kw_only=True):
    """A session that is compacted but for the summary; `finish_session` does the rest.

    Attributes:
        session: what was read.
        then: its log and its own last compaction.
        goal: what the compaction has to reach.
        window: tokens of the model's window; ``target`` and ``usage`` as in `Compacted`.
        before: the context before.
        ending: tokens that the end of a context takes: "Understood." after a tool result.
        planned: what the ladder came to without a summary.
        started: seconds of the monotonic clock.
    """

    session: Session
    then: Moment
    goal: Goal
    window: int
    target: int
    usage: ContextUsage
    before: Context
    ending: int
    planned: Compaction | SummaryNeeded | None
    started: float

    @property
    def request(self) -> SummaryRequest | None:
        """The request for a summary; None if no summary is needed."""
        return self.planned.request if isinstance(self.planned, SummaryNeeded) else None


def compact_session(session: Session, options: Options, *, counter: Counter, clock: Clock) -> Compacted:
    """Compact ``session`` without a model.

    Raises:
        InvalidInput: there is no message ``through`` or none of a pin's number, the given summary is empty, the window
            has no room for ``to``, or ``to`` has none for the summary or the tail.
        IncompressibleContext: what must stay is larger than ``to``, or than the window leaves.
    """
    given = _given(options)
    return finish_session(plan_session(session, options, counter=counter, clock=clock), given, clock=clock)


def plan_session(session: Session, options: Options, *, counter: Counter, clock: Clock) -> Plan:
    """Compact ``session`` as far as that goes without a summary.

    Raises:
        InvalidInput: there is no message ``through``, none of a pin's number, the window has no room for ``to``, or ``to``
            has none for the summary or the tail.
        IncompressibleContext: what must stay is larger than ``to``, or than the window leaves.
    """
    started = clock.monotonic()
    then = moment(session, through=options.through, counter=counter, lookup=options.lookup)
    before = view(then.log, then.active, closed=True)
    budget = budget_for(session.model, window=options.window)
    options = _within_window(options, budget, model=session.model)
    usage = usage_of(then, session, log_tokens=before.cost.tokens)
    # the limit is of the whole request; the log holds less than that
    target = options.to or max(1, budget.limit - usage.outside)
    goal = _goal(options, before, log=then.log, budget=budget, limit=usage.to_estimate(target))
    planned, ending = None, 0
    # nothing to do for a session that fits already
    if options.asks_for_summary or before.cost.tokens > goal.limit:
        # the export may not end on a tool result; the word that ends it must fit too
        ending = before.cost.tokens - view(then.log, then.active).cost.tokens
        with _refusals(usage, ending=ending, limit=target):
            planned = _planned(goal, then, before=before, ending=ending)
    return Plan(
        session=session,
        then=then,
        goal=goal,
        window=budget.window,
        target=target,
        usage=usage,
        before=before,
        ending=ending,
        planned=planned,
        started=started,
    )


def finish_session(made: Plan, reply: SummaryReply | None, *, clock: Clock) -> Compacted:
    """The session, compacted with ``reply`` as the summary where one is needed; None has it made without a model.

    Args:
        made: what `plan_session` returned.
        reply: the summary.
        clock: for the receipt.

    Raises:
        IncompressibleContext: what must stay is larger than ``to``, or than the window leaves.
    """
    then, before = made.then, made.before
    with _refusals(made.usage, ending=made.ending, limit=made.target):
        record = answer(made.planned, reply, check=unchecked)
    found = Verification()
    if record is not None:
        found = found_in(record, then.log)
        record = with_found(record, found)
    # closed: an export has to be valid where it ends
    after = view(then.log, record, closed=True) if record else before
    receipt = _receipt(record, before, after=after, counter=then.log.counter)
    receipt = replace(receipt, seconds=clock.monotonic() - made.started, time=clock.now())
    if record is not None:
        record = replace(record, receipt=receipt, parent=then.active.id if then.active else "")
        after = replace(after, compaction=record)
    return Compacted(
        session=made.session,
        log=then.log,
        goal=made.goal,
        window=made.window,
        target=made.target,
        usage=made.usage,
        before=before,
        after=after,
        record=record,
        receipt=receipt,
        found=found,
    )


def _given(options: Options) -> SummaryReply | None:
    if options.summary is None:
        return None
    text = redact(parse_summary(options.summary).text)
    if not text.strip():
        raise InvalidInput("the given summary is empty: write something into it, or leave it out")
    return SummaryReply(text=text, model="given")


def _within_window(options: Options, budget: Budget, *, model: str) -> Options:
    """The options with a target that the window has room for, and that has room for what was asked for itself.

    Raises:
        InvalidInput: the window is known, and it has not; or summary or tail would be larger than the target.
    """
    for name, size in (("summary-tokens", options.summary_tokens), ("tail-tokens", options.tail_tokens)):
        if options.to is not None and size is not None and size > options.to:
            raise InvalidInput(
                f"{name} is {size:,}, but to is {options.to:,} tokens for the whole context: choose less, or a larger to"
            )
    if options.to is None or options.to <= budget.limit:
        return options
    # the window is our own guess, so it gives way; a known one does not
    if options.window is None and window_for(model) is None:
        return replace(options, to=budget.limit)
    raise InvalidInput(
        f"to is {options.to:,} tokens, but the window of {budget.window:,} has room for {budget.limit:,} beside the reply: "
        f"choose {budget.limit:,} or less, or a larger window"
    )


def _goal(options: Options, before: Context, *, log: Transcript, budget: Budget, limit: int) -> Goal:
    room = limit - _fixed(options, before, log=log)
    # what a cut of the request frees goes to tail and summary; cut, it stands within the summary
    last, cut = _last_request(options, before, log=log, room=room)
    tail, summary = _sizes(
        options, before, window=budget.window, room=max(0, room + (last - cut if cut else 0))
    )
    numbers = {number for pin in options.pins if (number := _number(pin)) is not None}
    for number in sorted(numbers):
        if not 1 <= number <= len(log):
            raise InvalidInput(
                f"pin {number}: there is no such message, choose one from 1 to {len(log)}; "
                f"to pin the number as a text, give some words with it"
            )
    return Goal(
        limit=limit,
        target=limit,
        summary_tokens=max(min(summary, SMALLEST_LEDGER), summary - cut)
        if options.summary_tokens
        else summary,
        tail_tokens=tail,
        request_tokens=cut,
        max_bytes=budget.max_bytes,
        max_images=budget.max_images,
        # a number pins a message, any other text goes into the summary
        pins=frozenset(numbers),
        notes=tuple(_note(pin, log) for pin in options.pins if _number(pin) is None),
        focus=redact(options.focus),
        first_rung="summarise" if options.asks_for_summary else "mask",
        trigger="manual",
    )


def _last_request(options: Options, before: Context, *, log: Transcript, room: int) -> tuple[int, int]:
    """Tokens of the last request, and to how many it is to be cut; 0 where it stays whole.

    It is cut where it is larger than the summary that was asked for (of which it then takes half) and than the tail, or
    than what everything else leaves: ``room`` are the tokens beside all that stays, itself included.
    """
    message = next((message for message in reversed(before.messages) if message.is_request), None)
    if message is None:
        return 0, 0
    tokens = message_cost(message, log.counter).tokens
    summary = options.summary_tokens
    # a small summary below a huge request would make no smaller context
    if summary is not None and tokens > summary and not _is_tail(options, tokens, left=room - summary):
        return tokens, max(LEAST_REQUEST, summary // 2)
    room += tokens - SMALLEST_LEDGER
    return tokens, 0 if tokens <= room else max(LEAST_REQUEST, room // 2)


def _is_tail(options: Options, tokens: int, *, left: int) -> bool:
    """True if the tail that was asked for, by itself or as what a target leaves, is large enough for the last request.

    Args:
        options: what was asked for.
        tokens: of the request.
        left: tokens beside the summary and all that stays, the request included.
    """
    if options.tail_tokens is not None:
        return tokens <= options.tail_tokens
    return options.to is not None and left >= 0


def _sizes(options: Options, before: Context, *, window: int, room: int) -> tuple[int, int]:
    """Tokens of the tail and of the summary, which have ``room`` together where there is a target."""
    tail, summary = options.tail_tokens, options.summary_tokens
    total = before.cost.tokens
    if options.to is None:
        part = total // SUMMARY_PART
        summary = summary or min(SUMMARY_MOST, max(SUMMARY_LEAST, part))
        tail = min(TAIL_TOKENS, window // TAIL_SHARE, total // TAIL_PART) if tail is None else tail
        return tail, summary
    if summary is None:
        share = int(room * TARGET_SUMMARY) if tail is None else room - tail
        summary = max(SMALLEST_LEDGER, min(SUMMARY_MOST, share))
    # a tail that was asked for goes before the size of the summary
    left = max(0, room - (summary if tail is None else SMALLEST_LEDGER))
    return left if tail is None else min(tail, left), summary


def _fixed(options: Options, before: Context, *, log: Transcript) -> int:
    """Tokens that every context of this log takes: system prompt, last request, pins, the frame of a summary."""
    last = next((message for message in reversed(before.messages) if message.is_request), None)
    pins = {_number(pin) for pin in options.pins}
    fixed = [
        message
        for message in before.messages
        if message.role == "system" or message is last or message.seq in pins
    ]
    words = sum(log.counter.count(pin) for pin in options.pins)
    return FRAME_TOKENS + words + sum(message_cost(message, log.counter).tokens for message in fixed)


def _planned(goal: Goal, then: Moment, *, before: Context, ending: int) -> Compaction | SummaryNeeded | None:
    """Plan with the ladder, leaving tokens for what closes a context."""
    smaller = replace(goal, limit=goal.limit - ending, target=goal.target - ending)
    if goal.first_rung == "mask":
        # masks alone are tried with a tail of the usual size: without a target the newest outputs stay, too
        newest = min(TAIL_TOKENS, before.cost.tokens // TAIL_PART, goal.tail_tokens)
        # if that needs a summary after all, it is planned once more with the tail that was asked for
        masked = plan(then.log, replace(smaller, tail_tokens=newest), active=then.active, check=unchecked)
        if isinstance(masked, Compaction):
            return masked
    return plan(then.log, replace(smaller, first_rung="summarise"), active=then.active, check=unchecked)


@contextmanager
def _refusals(usage: ContextUsage, *, ending: int, limit: int) -> Generator[None]:
    """Give the figures of a refusal in tokens of the provider, with the end of the context."""
    try:
        yield
    except IncompressibleContext as error:
        parts = {**error.breakdown, "the end": ending}
        raise IncompressibleContext(
            {name: usage.scaled(tokens) for name, tokens in parts.items()},
            limit=limit,
            advice=_OUTSIDE_ADVICE.format(usage.outside) if usage.outside else "",
        ) from error


def _number(pin: str) -> int | None:
    digits = pin.removeprefix("m")  # as every report writes it
    # nineteen digits number no message, and Python refuses to read some thousands
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _note(pin: str, log: Transcript) -> Redacted:
    """The text of a pin, with the message where it stands: a request of the user if one holds it."""
    holders = [message for message in log.live() if any(pin in text for text in _words(message))]
    # the person's own words are the better source
    asked = [message for message in holders if message.is_request] or holders
    return filled("{} [m{}]", redact(pin), asked[-1].seq) if asked else redact(pin)


def _receipt(record: Compaction | None, before: Context, *, after: Context, counter: Counter) -> Receipt:
    unchanged = Receipt(tokens_before=0, tokens_after=0, bytes_before=0, bytes_after=0, rung="none")
    return replace(
        record.receipt if record else unchanged,
        tokens_before=before.cost.tokens,
        tokens_after=after.cost.tokens,
        bytes_before=before.cost.bytes,
        bytes_after=after.cost.bytes,
        images_before=before.cost.images,
        images_after=after.cost.images,
        counter=counter.name,
    )


def _words(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text | ToolResult):
            yield part.text
        elif isinstance(part, ToolCall):
            yield part.arguments
