"""The service behind ``autocompact compact``, without a file."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autocompact.compaction.repair import problems
from autocompact.core.messages import Message, Text
from autocompact.core.tokens import Estimator
from autocompact.errors import IncompressibleContext, InvalidInput
from autocompact.history.recorded import Compacted, Options, compact_session
from autocompact.sessions import Session
from autocompact.testing.clock import FakeClock
from tests.core.strategies import call, numbered, result, said

LINE = "src/invoices/tax.py:{n}: rounded the line total of item {n} to cents, because the accountant asked for it"


def session(messages: Iterable[Message]) -> Session:
    return Session(format="openai", messages=tuple(numbered(messages)))


def work(steps: int, *, ends_on_result: bool = False) -> Session:
    """A session: system prompt, a request now and then, and a call with a long output in each step."""
    messages = [said("system", "You are a careful programmer.")]
    for n in range(steps):
        if n % 5 == 0:
            messages.append(said("user", f"Please round item {n} as well."))
        messages.append(
            said("assistant", f"Item {n}.", call(f"c{n}", "Read", f'{{"file_path":"tax{n}.py"}}'))
        )
        messages.append(
            said("tool", result(f"c{n}", "\n".join(LINE.format(n=n * 50 + i) for i in range(20))))
        )
    return session(messages if ends_on_result else [*messages, said("assistant", "All of it is rounded.")])


def compacted(recorded: Session, **options: object) -> Compacted:
    return compact_session(recorded, Options(**options), counter=Estimator(), clock=FakeClock())  # pyright: ignore[reportArgumentType] - each test names options of the right type


def attempted(recorded: Session, **options: int | None) -> Compacted | IncompressibleContext:
    try:
        return compacted(recorded, **options)
    except IncompressibleContext as error:
        return error


@pytest.mark.requirement("D3", "E6")
@given(
    steps=st.integers(1, 30),
    to=st.integers(200, 20_000),
    tail=st.none() | st.integers(0, 4_000),
    through=st.none() | st.integers(2, 60),
    ends_on_result=st.booleans(),
)
def test_every_context_is_valid_closed_and_within_its_target(
    steps: int, to: int, tail: int | None, through: int | None, ends_on_result: bool
) -> None:
    recorded = work(steps, ends_on_result=ends_on_result)
    through = None if through is None else min(through, len(recorded.messages))
    made = attempted(recorded, to=to, tail_tokens=tail and min(tail, to), through=through)
    if isinstance(made, IncompressibleContext):
        assert made.limit == to < sum(made.breakdown.values())
        return
    assert (
        made.receipt.tokens_after
        == made.after.cost.tokens
        <= max(to, made.receipt.tokens_before * (not made.record))
    )
    assert problems(made.after.messages) == []
    assert made.after.messages[-1].role != "tool"
    assert made.after.messages[0] is recorded.messages[0]
    assert len(made.found.stated) == made.receipt.stated


def test_a_context_that_fits_its_target_stays_as_it_is() -> None:
    made = compacted(work(5), to=50_000)
    assert (made.record, made.receipt.rung, made.after) == (None, "none", made.before)
    assert (made.summary, made.ledger.entries) == ("", ())


def test_what_the_tail_holds_whole_stays_as_it_is() -> None:
    assert compacted(work(5), tail_tokens=50_000).record is None


def test_masking_old_outputs_is_enough_for_a_target_that_is_near() -> None:
    recorded = work(30)
    total = compacted(recorded, to=10**6).receipt.tokens_before
    made = compacted(recorded, to=total * 3 // 4)
    assert made.receipt.rung == "mask"
    assert [message.text for message in made.after.messages] == [
        message.text for message in recorded.messages
    ]


def test_a_target_is_filled_when_what_has_to_be_summarised_has_much_to_tell() -> None:
    found = (
        f"The cause in module {n}: rate_{n} is read before table_{n} is loaded, so that order {n * 37} is taxed twice. "
        f"I decided to load table_{n} first, because the report of day {n} needs it, and left cache_{n} as it is."
        for n in range(60)
    )
    told = [
        replace(message, parts=(Text(text=next(found)), *message.parts[1:]))
        if message.role == "assistant" and len(message.parts) > 1
        else message
        for message in work(60).messages
    ]
    made = compacted(session(told), to=8_000)
    assert made.receipt.rung == "summarise"
    assert 6_000 < made.receipt.tokens_after <= 8_000


def test_the_record_and_the_receipt_tell_the_same_with_the_time_by_the_clock() -> None:
    made = compacted(work(30), to=5_000)
    assert made.record is not None
    assert made.after.compaction == made.record
    assert made.record.receipt == made.receipt
    assert (made.receipt.seconds, made.receipt.time) == (0.0, "2026-01-01T00:00:00.000+00:00")
    assert made.receipt.trigger == "manual"


def test_the_largest_parts_that_leave_are_named() -> None:
    made = compacted(work(30), to=5_000)
    leaving = made.leaving(3)
    assert len(leaving) == 3
    stay = {message.seq for message in made.after.messages if not message.changed}
    assert all(piece.seq not in stay and piece.what.startswith("result of Read tax") for piece in leaving)


@pytest.mark.parametrize(
    "options", [{"window": 0}, {"to": -1}, {"summary_tokens": 0}, {"tail_tokens": -1}, {"pins": ("",)}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        compacted(work(3), **options)


def test_a_pinned_text_names_the_request_it_stands_in_rather_than_an_echo() -> None:
    recorded = session(
        [
            said("user", "Keep the schema as it is."),
            *work(6).messages[1:],
            said("assistant", "I do: Keep the schema as it is."),
        ]
    )
    made = compacted(recorded, tail_tokens=0, pins=("Keep the schema", "Keep nothing else"))
    assert "- Keep the schema [m1]\n- Keep nothing else\n" in made.summary
