"""Masks and pins name a place in the log, so they take effect also where ids of tool calls repeat or are empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from autocompact.compaction.goal import Goal
from autocompact.compaction.masking import mask_old_results
from autocompact.compaction.pins import PINNED, kept_steps, with_notes, with_pins
from autocompact.compaction.record import Compaction, Mask
from autocompact.compaction.repair import problems
from autocompact.compaction.transcript import masked, view
from autocompact.core.messages import Message, ToolResult
from autocompact.core.redaction import redact
from autocompact.core.tokens import Estimator, message_cost
from autocompact.errors import IncompressibleContext
from autocompact.ledger.entries import Ledger
from tests.compaction.offline import climb_offline
from tests.compaction.test_ladder import log_of
from tests.core.strategies import RECEIPT, call, id_histories, numbered, result, said

COUNTER = Estimator()


EMPTY = Compaction(id="c1", from_seq=1, through_seq=0, summary=redact(""), ledger=Ledger(), receipt=RECEIPT)


def texts(messages: Sequence[Message]) -> list[str]:
    return [part.text for message in messages for part in message.results]


def turns(count: int, *, id: str = "call_0", words: int = 120) -> list[Message]:
    """Turns of one call each, every call with the same id."""
    messages = [said("system", "You are careful.")]
    for n in range(count):
        if n % 4 == 0:
            messages.append(said("user", f"Please look at file {n}."))
        messages.append(
            said("assistant", f"Looking at {n}.", call(id, "Read", f'{{"file_path":"src/f{n}.py"}}'))
        )
        messages.append(said("tool", result(id, f"content of f{n}: " + f"word{n} " * words)))
    return numbered([*messages, said("assistant", "All seen."), said("user", "Thanks. What now?")])


@given(id_histories(size=30), st.integers(0, 400))
def test_every_mask_takes_effect_in_the_context(messages: list[Message], protect: int) -> None:
    log = log_of(messages)
    before = view(log)
    weights = [message_cost(message, COUNTER).tokens for message in before.messages]
    masks = mask_old_results(before.messages, weights, counter=COUNTER, protect_tokens=protect)
    record = replace(EMPTY, masks=masks)
    after = view(log, record)
    assert problems(list(after.messages)) == []
    assert sum(text.startswith("[left the context") for text in texts(after.messages)) == len(masks)
    hidden = {(mask.seq, mask.part) for mask in masks}
    for message in after.messages:
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolResult) and message.seq:
                source = log[message.seq].parts[message.place_of(index)]
                assert isinstance(source, ToolResult)
                assert (part.text == source.text) != ((message.seq, message.place_of(index)) in hidden)
    assert (after.cost.tokens < before.cost.tokens) == bool(masks)


@pytest.mark.requirement("A7")
@given(
    id_histories(max_steps=9, size=30),
    st.integers(60, 900),
    st.integers(0, 300),
    st.data(),
)
def test_a_compaction_of_repeated_ids_keeps_pins_and_what_was_not_seen(
    messages: list[Message], limit: int, tail: int, data: st.DataObject
) -> None:
    assume(messages)
    log = log_of(messages)
    pins = frozenset(data.draw(st.sets(st.integers(1, len(log)), max_size=2)))
    goal = Goal(limit=limit, target=limit // 2, summary_tokens=100, tail_tokens=tail, pins=pins)
    try:
        record = climb_offline(log, goal)
    except IncompressibleContext:
        return
    again = None
    if record is not None:
        log.append(structs.replace(said("assistant", "seen"), seq=len(log) + 1))
        log.append(structs.replace(said("user", "and now?"), seq=len(log) + 1))
        try:
            again = climb_offline(log, replace(goal, first_rung="summarise"), active=record)
        except IncompressibleContext:
            again = None
    for made in filter(None, (record, again)):
        context = view(log, made)
        assert context.compaction is made
        assert problems(list(context.messages)) == []
        shown = {message.seq: message for message in context.messages if message.seq}
        in_log = {message.seq for message in view(log).messages}
        for pin in pins & in_log:
            assert texts([shown[pin]]) == texts([m for m in view(log).messages if m.seq == pin][:1])
            assert shown[pin].text == log[pin].text


@pytest.mark.parametrize("id", ["call_0", ""])
def test_masks_make_a_history_of_one_id_smaller(id: str) -> None:
    log = log_of(turns(20, id=id))
    whole = view(log).cost.tokens
    record = climb_offline(log, Goal(limit=100_000, target=whole // 2, summary_tokens=500, tail_tokens=600))
    assert record is not None
    assert record.receipt.rung == "mask"
    assert view(log, record).cost.tokens <= whole // 2


@pytest.mark.parametrize("id", ["call_0", ""])
def test_a_pin_ties_no_more_than_its_own_step(id: str) -> None:
    log = log_of(turns(20, id=id))
    goal = Goal(limit=100_000, target=1_500, summary_tokens=500, tail_tokens=300, first_rung="summarise")
    plain, pinned = climb_offline(log, goal), climb_offline(log, replace(goal, pins=frozenset([8])))
    assert plain is not None
    assert pinned is not None
    assert log[8].results
    assert set(pinned.keep) - set(plain.keep) == {7, 8}
    assert log[8].results[0].text in texts(view(log, pinned).messages)
    assert with_pins(plain, [8], log=log).keep == pinned.keep


def test_an_unseen_result_of_a_repeated_id_is_cut_and_does_not_vanish() -> None:
    messages = turns(6)[:-2]
    lines = "\n".join(f"row {n} of the table, with some words" for n in range(600))
    unseen = [said("assistant", "Now this.", call("call_0", "Read", '{"file_path":"big.py"}')), said("tool", result("call_0", lines))]  # fmt: skip
    log = log_of(numbered([*messages, *unseen]))
    record = climb_offline(log, Goal(limit=2_500, target=1_200, summary_tokens=400, tail_tokens=400))
    assert record is not None
    last = view(log, record).messages[-1].results[0].text
    assert last.startswith("row 0 of the table")
    assert f'memory_expand("m{len(log)}")' in last


def test_the_other_results_of_a_pinned_ones_step_stay_as_stubs() -> None:
    calls = [call(id, "Read", f'{{"file_path":"{id}.py"}}') for id in ("a", "b")]
    long = [result("a", "alpha " * 300), result("b", "beta " * 300)]
    messages = numbered(
        [
            said("user", "look"),
            said("assistant", *calls),
            *(said("tool", each) for each in long),
            *turns(8)[1:],
        ]
    )
    log = log_of(messages)
    kept = kept_steps(log, [3])
    assert kept.seqs == {2, 3, 4}
    assert [(mask.seq, mask.part) for mask in kept.masks] == [(4, 0)]
    assert kept.tokens(log) < sum(log.cost(seq).tokens for seq in kept.seqs)
    assert kept_steps(log, [2]).masks == ()
    assert kept_steps(log, [99]).seqs == frozenset()
    goal = Goal(
        limit=100_000,
        target=1_500,
        summary_tokens=300,
        tail_tokens=200,
        first_rung="summarise",
        pins=frozenset([3]),
    )
    record = climb_offline(log, goal)
    assert record is not None
    shown = {message.seq: message for message in view(log, record).messages}
    assert shown[3] is log[3]
    assert shown[4].results[0].text.startswith("[left the context")
    later = with_pins(record, [3, 4], log=log)
    assert {message.seq: message for message in view(log, later).messages}[4] is log[4]


def test_a_refusal_names_what_pins_take_as_they_stay() -> None:
    calls = [call(id, "Read", f'{{"file_path":"{id}.py"}}') for id in ("a", "b")]
    long = [result("a", "alpha " * 300), result("b", "beta " * 300)]
    messages = numbered(
        [
            said("user", "look"),
            said("assistant", *calls),
            *(said("tool", each) for each in long),
            *turns(8)[1:],
        ]
    )
    log = log_of(messages)
    with pytest.raises(IncompressibleContext) as refused:
        climb_offline(log, Goal(limit=200, target=100, summary_tokens=80, tail_tokens=0, pins=frozenset([3])))
    assert log.cost(3).tokens <= refused.value.breakdown["pins"] < log.cost(3).tokens + log.cost(4).tokens


@pytest.mark.parametrize(
    ("id", "parts", "hidden"),
    [
        ("b", ["a", "b"], 1),
        ("call_0_7", ["call_1", "call_0"], 1),
        ("call_0_7", ["call_9"], 0),
        ("call_9", ["call_0", "call_1"], None),
    ],
)
def test_a_mask_of_an_older_version_finds_its_result_by_the_id_of_its_call(
    id: str, parts: list[str], hidden: int | None
) -> None:
    message = numbered([said("tool", *(result(each, f"text of {each}") for each in parts))])[0]
    old = Mask(seq=1, stub=redact("[gone]"), call_id=id)
    shown = masked(message, [old]).results
    assert [index for index, part in enumerate(shown) if part.text == "[gone]"] == (
        [] if hidden is None else [hidden]
    )
    assert old.located(message) == (
        None if hidden is None else Mask(seq=1, part=hidden, stub=redact("[gone]"))
    )
    assert Mask(seq=1, part=7, stub=redact("[gone]")).located(message) is None


def test_masks_of_an_older_version_are_taken_over_by_the_next_compaction() -> None:
    log = log_of(turns(12))
    old = replace(
        EMPTY,
        masks=(
            Mask(seq=4, stub=redact("[gone]"), call_id="call_0"),
            Mask(seq=6, stub=redact("[lost]"), call_id="call_0_2"),
        ),
    )
    assert [text for text in texts(view(log, old).messages) if text.startswith("[")] == ["[gone]", "[lost]"]
    record = climb_offline(
        log, Goal(limit=100_000, target=2_000, summary_tokens=300, tail_tokens=100), active=old
    )
    assert record is not None
    assert all(mask.call_id == "" for mask in record.masks)
    assert {"[gone]", "[lost]"} <= {mask.stub for mask in record.masks}


def test_pinned_texts_that_a_summary_lacks_are_added_to_those_that_it_has() -> None:
    old = replace(EMPTY, summary=redact("## Summary\nIt was rounded."))
    one = with_notes(old, [redact("The code is 8.")])
    assert one.summary == f"{PINNED}- The code is 8.\n\n{old.summary}"
    two = with_notes(one, map(redact, ["The code is 8.", "The code is 12."]))
    assert two.summary == f"{PINNED}- The code is 12.\n- The code is 8.\n\n{old.summary}"
    assert with_notes(two, map(redact, ["The code is 12."])) is two
    assert with_notes(old, []) is old
