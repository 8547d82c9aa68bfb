"""The provider's figures for a recorded context: before a compaction, in its limits, and in its refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.messages import Message, Usage
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator, message_cost
from autocompact.errors import IncompressibleContext
from autocompact.history.recorded import Compacted, Options, compact_session
from autocompact.history.recorded.inspecting import inspect_session
from autocompact.history.recorded.usage import ContextUsage
from autocompact.ledger.entries import Ledger
from autocompact.sessions import Session
from autocompact.testing.clock import FakeClock
from tests.core.strategies import numbered, said

WORDS = "the valve is checked and the pressure of part {n} is written down " * 20
OUTSIDE_TOKENS = 30_000


def session(
    turns: int, *, outside: int = OUTSIDE_TOKENS, factor: float = 1.0, unanswered: int = 0, start: int = 0
) -> Session:
    """A session whose provider reports ``outside`` and our own count times ``factor``; the last turns have no report."""
    messages: list[Message] = []
    tokens = 0
    for n, message in enumerate(numbered(_turns(turns))):
        reported = message.role == "assistant" and n < 2 * turns - unanswered
        if reported:
            prompt = outside + round(tokens * factor)
            message = structs.replace(message, usage=Usage(prompt=prompt, completion=_weight(message)))
        tokens += _weight(message) if n >= start else 0
        messages.append(structs.replace(message, time=f"2026-11-26T10:{n // 60:02}:{n % 60:02}Z"))
    return Session(format="claude_code", messages=tuple(messages), model="claude-opus-4-5")


def _turns(turns: int) -> list[Message]:
    return [said("user" if n % 2 == 0 else "assistant", WORDS.format(n=n)) for n in range(2 * turns)]


def _weight(message: Message) -> int:
    return message_cost(message, Estimator()).tokens


def compacted(recorded: Session, **options: int | None) -> Compacted:
    return compact_session(recorded, Options(**options), counter=Estimator(), clock=FakeClock())  # pyright: ignore[reportArgumentType] - each test names options of the right type


def usage_of(recorded: Session) -> ContextUsage:
    return inspect_session(recorded, counter=Estimator()).usage


def last_reported(messages: Sequence[Message]) -> int:
    usage = [message.usage for message in messages if message.usage][-1]
    return usage.prompt + usage.completion


@pytest.mark.requirement("A8", "E8")
def test_what_the_provider_reported_is_the_figure_before_everywhere() -> None:
    recorded = session(40)
    reported = last_reported(recorded.messages)
    made = compacted(recorded)
    assert (made.usage.reported, made.usage.since) == (reported, 0)
    assert made.usage.used == reported == usage_of(recorded).used
    # a receipt counts the messages, as that of a live conversation does
    assert made.receipt.tokens_before == made.usage.log == made.before.cost.tokens
    assert made.record is not None
    assert made.record.receipt == made.receipt


def test_what_came_since_the_last_report_is_added() -> None:
    recorded = session(40, unanswered=20)
    usage = usage_of(recorded)
    assert usage.reported == last_reported(recorded.messages)
    since = sum(_weight(message) for message in recorded.messages[-20:])
    assert since <= usage.since <= since * 1.4
    assert usage.used == usage.reported + usage.since


def test_a_target_is_in_tokens_of_the_provider() -> None:
    usage = usage_of(recorded := session(40, factor=1.3))
    to = round(usage.log * 1.1)
    assert usage.log < to < usage.scaled(usage.log)
    made = compacted(recorded, to=to)
    assert made.record is not None  # by our own count it would have fitted
    assert usage.scaled(made.after.cost.tokens) <= to


def test_a_target_is_for_the_messages_and_what_is_outside_of_the_log_comes_on_top() -> None:
    made = compacted(session(40), to=2_000)
    assert made.record is not None
    assert made.receipt.tokens_after <= 2_000
    with pytest.raises(IncompressibleContext, match=r"tokens outside of the log .* come on top") as refused:
        compacted(session(40), to=100)
    assert refused.value.limit == 100


def test_a_window_has_to_hold_what_is_outside_of_the_log_too() -> None:
    usage = usage_of(recorded := session(40))
    window = usage.outside + usage.log
    made = compacted(recorded, window=window)
    assert made.record is not None  # the log alone would have fitted
    assert usage.metered(made.after.cost.tokens) < window
    with pytest.raises(IncompressibleContext, match="outside of the log"):
        compacted(recorded, window=usage.outside)


def test_a_log_that_holds_more_than_was_sent_is_scaled_to_what_was() -> None:
    recorded = session(40, outside=0, factor=0.6)
    usage = usage_of(recorded)
    assert usage.used == last_reported(recorded.messages) < usage.log
    assert usage.outside == 0


def test_where_nothing_was_reported_our_count_is_the_figure() -> None:
    recorded = session(10)
    plain = replace(
        recorded, messages=tuple(structs.replace(message, usage=None) for message in recorded.messages)
    )
    usage = usage_of(plain)
    assert (usage.reported, usage.outside, usage.factor) == (0, 0, 1.0)
    assert usage.used == usage.log == compacted(plain).receipt.tokens_before


def test_a_report_from_before_a_compaction_is_not_the_present_figure() -> None:
    """Some programs keep recent messages verbatim: what their replies reported was of the larger context."""
    recorded = session(40)
    record = Compaction(
        id="c1",
        from_seq=1,
        through_seq=70,
        summary=redact("The valves were checked."),
        ledger=Ledger(),
        receipt=Receipt(
            tokens_before=0,
            tokens_after=0,
            bytes_before=0,
            bytes_after=0,
            rung="summarise",
            time="2026-11-26T11:00:00Z",
        ),
    )
    usage = usage_of(replace(recorded, compactions=(record,)))
    assert usage.reported == 0
    assert usage.used == usage.log < 3_000
