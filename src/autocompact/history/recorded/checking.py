"""Checks a summary against the recorded session that it stands for, and says what belongs beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message, Text, ToolCall, ToolResult
from autocompact.core.redaction import Redacted, redact
from autocompact.core.tokens import Counter
from autocompact.errors import InvalidInput
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import without_records
from autocompact.ledger.summary_repair import beside
from autocompact.ledger.verification import Verification, verify
from autocompact.sessions import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSummary:
    """A summary checked against its session: what it states, and what is missing.

    Attributes:
        summary: the text, without secrets.
        through_seq: last message that it stands for.
        verification: what the model sees without us: the summary, and messages that stayed beside it. Records that we put there
            before do not count.
        repair: the most needed of what is not stated, rules first; "" for nothing.
        repaired: what the model sees with it, and with those records.
    """

    summary: Redacted
    through_seq: int
    verification: Verification
    repair: Redacted
    repaired: Verification


def last_summary(session: Session) -> Compaction | None:
    """The last compaction of the recording program that has a summary and was not undone."""
    made = (record for record in reversed(session.compactions) if record.status == "active")
    return next((record for record in made if record.summary), None)


def check_summary(
    session: Session, summary: str, *, through: int | None = None, budget: int, counter: Counter
) -> CheckedSummary:
    """Compare ``summary`` with the messages that it stands for.

    What was said since counts as seen by the model, and tells what became of what the messages hold.

    Args:
        session: the session.
        summary: the text.
        through: last message (``seq``) that it stands for; by default the last one.
        budget: tokens of the repair.
        counter: measures it.

    Raises:
        InvalidInput: the summary is empty, or there is no such message.
    """
    last = len(session.messages)
    end = last if through is None else through
    if not summary.strip():
        raise InvalidInput("the summary is empty: give its text")
    if not 1 <= end <= last:
        raise InvalidInput(f"there is no message {end}: choose one from 1 to {last}")
    # as `compact` finds and counts them: what is said afterwards tells what became of an entry, and is seen besides
    ledger = extract(session.messages, through=end)
    recent = words_of(message for message in session.messages if message.seq > end)
    return check_seen(redact(summary), ledger, recent=recent, through=end, budget=budget, counter=counter)


def check_last_summary(session: Session, *, budget: int, counter: Counter) -> CheckedSummary:
    """Compare the last summary of the recording program with the messages that it stands for.

    What stayed beside it, and what was said since, counts as seen by the model.

    Raises:
        InvalidInput: the program has not compacted this session.
    """
    record = last_summary(session)
    if record is None:
        raise InvalidInput(
            f"the session of {len(session.messages)} messages has no summary: its program has not compacted it"
        )
    ledger = extract(session.messages, through=record.through_seq)
    recent = (
        message
        for message in session.messages
        if message.seq > record.through_seq or message.seq in record.needed
    )
    return check_seen(
        record.summary,
        ledger,
        recent=words_of(recent),
        through=record.through_seq,
        budget=budget,
        counter=counter,
    )


def check_seen(
    summary: Redacted, ledger: Ledger, *, recent: str = "", through: int, budget: int, counter: Counter
) -> CheckedSummary:
    """Compare what a model sees with a ledger.

    Args:
        summary: of the messages that left the context; "" where it cannot be read.
        ledger: of these messages.
        recent: what the model sees besides.
        through: last message that left the context.
        budget: tokens of the repair.
        counter: measures it.
    """
    seen = redact(f"{summary}\n{recent}")
    # what stands in a record of ours is there, and is not asked for twice; the summary does not get the credit
    repair = beside(seen, ledger, budget=budget, counter=counter)
    before = verify(redact(without_records(seen)), ledger)
    return CheckedSummary(
        summary=summary,
        through_seq=through,
        verification=before,
        repair=repair,
        repaired=verify(f"{seen}\n\n{repair}", ledger),
    )


def words_of(messages: Iterable[Message]) -> str:
    """Joined text of messages: texts, calls and their results."""
    return "\n".join(_texts(messages))


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                yield part.text
            elif isinstance(part, ToolCall):
                yield part.arguments
