"""Which messages and which compactions a session had at some moment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autocompact.compaction.record import Compaction, Mask, Receipt
from autocompact.core.messages import text_message
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput
from autocompact.history.recorded.moment import moment
from autocompact.ledger.entries import Ledger
from autocompact.sessions import Session


def record(through_seq: int, *, time: str = "", **fields: object) -> Compaction:
    made = Compaction(
        id=f"c{through_seq}",
        from_seq=1,
        through_seq=through_seq,
        summary=redact("We fixed the valve."),
        ledger=Ledger(),
        receipt=Receipt(
            tokens_before=0, tokens_after=0, bytes_before=0, bytes_after=0, rung="summarise", time=time
        ),
    )
    return replace(made, **fields)


def session(*compactions: Compaction, timed: bool = True) -> Session:
    """Ten messages, a minute each."""
    messages = (
        text_message(seq, "user", f"message {seq}", time=f"2026-03-01T10:{seq:02}:00Z" if timed else "")
        for seq in range(1, 11)
    )
    return Session(format="claude_code", messages=tuple(messages), compactions=compactions)


def made(recorded: Session, through: int | None) -> list[str]:
    return [record.id for record in moment(recorded, through=through, counter=Estimator()).made]


def test_at_its_end_a_session_has_all_its_messages_and_its_last_compaction_is_in_force() -> None:
    then = moment(session(record(3), record(6)), through=None, counter=Estimator())
    assert len(then.log) == 10
    assert then.active == record(6)
    assert moment(session(), through=None, counter=Estimator()).active is None


def test_a_compaction_that_was_undone_is_not_in_force() -> None:
    assert made(session(record(3), record(6, status="undone")), None) == ["c3"]
    assert made(session(record(3), record(6, status="undone")), 9) == ["c3"]


def test_before_its_time_a_compaction_was_not_made() -> None:
    recorded = session(record(3), record(6))
    assert [made(recorded, through) for through in (2, 3, 4, 6, 7)] == [[], [], ["c3"], ["c3"], ["c3", "c6"]]
    assert len(moment(recorded, through=4, counter=Estimator()).log) == 4


def test_one_that_left_messages_verbatim_is_known_by_its_time() -> None:
    kept_a_tail = record(3, time="2026-03-01T10:07:30Z")
    assert [made(session(kept_a_tail), through) for through in (5, 6, 7, 8)] == [[], [], ["c3"], ["c3"]]
    assert made(session(kept_a_tail, timed=False), 5) == ["c3"]


def test_one_that_masks_a_later_message_was_made_later() -> None:
    masks = (Mask(seq=5, part=0, stub=redact("cleared")),)
    assert [made(session(record(0, masks=masks)), through) for through in (4, 5)] == [[], ["c0"]]


@pytest.mark.parametrize("through", [-1, 0, 11])
def test_a_moment_outside_of_the_session_is_refused(through: int) -> None:
    with pytest.raises(
        InvalidInput, match=f"through {through}: there is no such message, choose one from 1 to 10"
    ):
        moment(session(), through=through, counter=Estimator())
