"""The transitions of a conversation's state, without a store: each returns the next state and changes nothing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autocompact.compaction.record import Compaction, Receipt, Trigger
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Usage, text_message
from autocompact.core.redacted import own
from autocompact.core.tokens import Cost, Estimator
from autocompact.core.usage import Load
from autocompact.engine.state import ConversationState, EngineState, Settled
from autocompact.errors import StoreCorrupt
from autocompact.ledger.entries import Ledger

WINDOW = 10_000


def record(*, before: int = 1_000, after: int = 200, trigger: Trigger = "threshold") -> Compaction:
    receipt = Receipt(
        tokens_before=before,
        tokens_after=after,
        bytes_before=0,
        bytes_after=0,
        rung="summarise",
        trigger=trigger,
    )
    return Compaction(
        id="c3", from_seq=1, through_seq=4, summary=own("## Summary"), ledger=Ledger(), receipt=receipt
    )


def activated(state: ConversationState, made: Compaction) -> ConversationState:
    settled = Settled(context="c3", last_seq=6, cost=Cost(tokens=made.receipt.tokens_after))
    return state.activated(made, settled, model="", fixed=50, made=3)


def test_a_request_is_remembered_and_a_reply_moves_the_meter() -> None:
    state = ConversationState()
    asked = state.appended(text_message(1, "user", "Hello?"), tokens=3, sent=None, window=WINDOW)
    assert (state.request, asked.request) == (0, 1)
    reply = replace(text_message(2, "assistant", "Yes."), usage=Usage(prompt=120, completion=7))
    sent = Load(tokens=100)
    answered = asked.appended(reply, tokens=5, sent=sent, window=WINDOW)
    assert answered.meter.observed
    assert answered.meter.read(Load(tokens=105)).used == 127
    assert not asked.meter.observed


def test_a_message_that_says_nothing_new_gives_the_same_state() -> None:
    state = ConversationState()
    same = state.appended(text_message(1, "system", "Be brief."), tokens=3, sent=None, window=WINDOW)
    assert same is state
    assert state.peaked(0) is state
    assert state.with_request(0) is state


def test_the_peak_only_rises_until_a_compaction_takes_effect() -> None:
    state = ConversationState().peaked(900).peaked(700)
    assert state.peak == 900
    assert activated(state, record()).peak == 0


def test_after_an_activation_no_earlier_report_counts_but_what_it_taught_is_kept() -> None:
    state = ConversationState().observe_usage(Usage(prompt=80), sent=Load(tokens=100), window=WINDOW)
    state = state.with_prepared(record(), made=3)
    after = activated(state, record())
    assert after.prepared is None
    assert after.meter.gauge.anchor is None
    assert after.meter.gauge.context == "c3"
    assert after.stored.calibration == state.meter.gauge.calibration
    assert after.stored.made == 3
    assert after.settled("c3") == Settled(context="c3", last_seq=6, cost=Cost(tokens=200))
    assert after.settled("c2") is None
    assert state.meter.gauge.anchor is not None


@pytest.mark.parametrize(("trigger", "failures"), [("threshold", 1), ("manual", 0)])
def test_a_compaction_that_freed_next_to_nothing_is_a_failure_unless_the_user_asked_for_it(
    trigger: Trigger, failures: int
) -> None:
    after = activated(ConversationState(), record(after=990, trigger=trigger))
    assert after.breaker.failures == failures
    assert after.breaker.fixed == (50 if failures else 0)


def test_failures_open_the_breaker_and_a_useful_compaction_closes_it() -> None:
    state = ConversationState()
    for _ in range(3):
        state = state.failed("the model is overloaded", used=1_000, fixed=100)
    assert state.breaker.is_open
    assert not activated(state, record()).breaker.is_open
    assert activated(state, record(after=990, trigger="manual")).breaker == state.breaker


def test_an_undo_measures_growth_from_the_context_that_it_brought_back() -> None:
    compacted = activated(ConversationState(), record())
    undone = compacted.restored(Settled(context="", last_seq=6, cost=Cost(tokens=1_000)))
    assert undone.settled("") == Settled(context="", last_seq=6, cost=Cost(tokens=1_000))
    assert undone.settled("c3") is None


def test_what_another_program_stored_is_taken_over_but_not_what_only_this_one_knows() -> None:
    state = ConversationState().peaked(900).with_request(7)
    synced = state.synced(EngineState(pins=(2,), peak=400, request=3))
    assert (synced.pins, synced.peak, synced.request) == ((2,), 900, 7)


def test_another_log_drops_what_was_prepared_and_counts_as_a_rewrite() -> None:
    state = ConversationState().with_prepared(record(), made=3)
    assert state.loaded(state.stored, rewritten=False).rewrites == 0
    loaded = state.loaded(EngineState(pins=(2,)), rewritten=True)
    assert (loaded.prepared, loaded.rewrites, loaded.pins) == (None, 1, (2,))


def test_pins_stand_once_and_in_order_and_leave_again() -> None:
    stored = EngineState().pinned(5).pinned(2).pinned(5).noted("Ada is the boss.").noted("Ada is the boss.")
    assert (stored.pins, stored.notes) == ((2, 5), ("Ada is the boss.",))
    assert stored.unpinned(2).pins == (5,)
    assert stored.unpinned("Ada is the boss.").notes == ()


def test_after_a_restart_replies_count_only_from_when_the_active_compaction_took_effect() -> None:
    reply = replace(text_message(2, "assistant", "Yes."), usage=Usage(prompt=120, completion=7))
    log = Transcript([text_message(1, "user", "Hello?"), reply], counter=Estimator())
    load = Load(tokens=110)
    assert ConversationState().replayed(log, load=load, window=WINDOW).meter.gauge.anchor is not None
    later = ConversationState(stored=EngineState(settled=Settled(context="", last_seq=2, cost=Cost())))
    assert later.replayed(log, load=load, window=WINDOW).meter.gauge.anchor is None
    elsewhere = ConversationState(stored=EngineState(settled=Settled(context="c9", last_seq=0, cost=Cost())))
    assert elsewhere.replayed(log, load=load, window=WINDOW).meter.gauge.anchor is None


def test_the_stored_part_comes_back_as_it_was_and_anything_else_is_refused() -> None:
    stored = activated(ConversationState(), record()).stored.noted("Ada is the boss.")
    assert EngineState.decode(stored.encode()) == stored
    assert EngineState.decode(b"") == EngineState()
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        EngineState.decode(b'{"pins": "all"}')
