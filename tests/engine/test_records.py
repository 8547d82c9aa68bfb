"""Look before, change it, take it back, go back, compare, branch off, pin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.compaction.repair import problems
from autocompact.core.budget import Policy
from autocompact.core.messages import Message, Text
from autocompact.engine import Conversation
from autocompact.engine.conversation import load_conversation
from autocompact.errors import CompactionRunning, Conflict, InvalidInput
from autocompact.events import CompactionCompleted, CompactionStarted, CompactionUndone, Event
from autocompact.stores.memory import MemoryStore
from tests.engine.support import compactor, step, work

pytestmark = pytest.mark.anyio
NO_BACKGROUND = replace(DEFAULT, background=False)


async def worked(steps: int = 12, *, store: MemoryStore | None = None) -> Conversation:
    conversation = await compactor(store=store, mode=NO_BACKGROUND).open("task")
    await conversation.say("You are careful.", role="system")
    await work(conversation, steps)
    return conversation


@pytest.mark.requirement("E2")
async def test_undo_brings_the_earlier_context_back_and_keeps_what_was_said_since() -> None:
    conversation = await worked()
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    before = tuple(conversation.context().messages)
    await conversation.compact()
    await conversation.say("One more thing.")
    assert await conversation.records.undo() is None
    assert tuple(conversation.context().messages)[:-1] == before
    assert conversation.context().messages[-1].text == "One more thing."
    assert heard[-1] == CompactionUndone(conversation_id="task", compaction_id="c1", restored_id=None)
    assert [record.status for record in await conversation.records.all()] == ["undone"]
    with pytest.raises(InvalidInput, match="nothing to undo"):
        await conversation.records.undo()


@pytest.mark.requirement("E2")
async def test_what_was_undone_is_not_compacted_again_before_the_context_has_grown() -> None:
    conversation = await worked()
    while conversation.records.active is None:
        await conversation.say("word " * 40)
        await conversation.ready()
    await conversation.records.undo()
    threshold = conversation.internals.replica.shared.mode.policy.threshold(
        conversation.internals.replica.shared.budget
    )
    assert conversation.usage().used >= threshold
    await conversation.ready()
    assert conversation.records.active is None
    again = await load_conversation(conversation.internals.replica.shared, conversation.internals.replica.key)
    await again.ready()
    assert again.records.active is None
    while again.usage().used < threshold * 1.06 + 20:
        await again.say("word " * 10)
    await again.ready()
    assert again.records.active is not None


@pytest.mark.requirement("E2")
async def test_undo_goes_back_step_by_step_and_restore_to_any() -> None:
    conversation = await worked()
    await conversation.compact()
    first = tuple(conversation.context().messages)
    await work(conversation, 8, start=20)
    await conversation.compact()
    assert conversation.internals.replica.active_id == "c2"
    under_second = tuple(conversation.context().messages)
    await conversation.records.undo()
    assert conversation.internals.replica.active_id == "c1"
    assert tuple(conversation.context().messages)[: len(first)] == first
    assert (await conversation.records.restore("c2")).id == "c2"
    assert tuple(conversation.context().messages) == under_second
    await conversation.records.restore("c1")
    await conversation.compact()
    assert conversation.internals.replica.active_id == "c3"  # a new one, though it covers what c2 did
    assert [record.id for record in await conversation.records.all()] == ["c1", "c2", "c3"]
    with pytest.raises(InvalidInput, match="there are: c1, c2, c3"):
        await conversation.records.restore("c9")


@pytest.mark.requirement("E2")
async def test_a_compaction_whose_history_was_edited_cannot_be_restored_and_nothing_changes() -> None:
    conversation = await worked()
    await conversation.compact()
    await conversation.records.undo()
    await conversation.append(Message(seq=0, role="user", parts=(Text(text="No, this."),), replaces=4))
    before = tuple(conversation.context().messages)
    with pytest.raises(InvalidInput, match="edited since"):
        await conversation.records.restore("c1")
    assert tuple(conversation.context().messages) == before
    assert (
        tuple(
            (
                await load_conversation(
                    conversation.internals.replica.shared, conversation.internals.replica.key
                )
            )
            .context()
            .messages
        )
        == before
    )


async def test_undo_while_one_is_made_is_refused_and_after_another_program_compacted_too() -> None:
    store = MemoryStore()
    conversation = await worked(store=store)
    await conversation.compact()
    lease = await store.acquire(conversation.internals.replica.key, holder="other", seconds=60)
    assert lease is not None
    with pytest.raises(CompactionRunning):
        await conversation.records.undo()
    await store.release(lease)
    other = await compactor(store=store).open("task")
    await work(other, 8, start=30)
    await other.compact()
    with pytest.raises(Conflict, match="another program"):
        await conversation.records.undo()
    assert conversation.internals.replica.active_id == other.internals.replica.active_id  # it has looked now
    await conversation.records.undo()
    assert conversation.internals.replica.active_id == "c1"


@pytest.mark.requirement("E2")
async def test_a_preview_changes_nothing_can_be_edited_and_then_takes_effect() -> None:
    conversation = await worked()
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    before = tuple(conversation.context().messages)
    preview = await conversation.records.preview("tax")
    assert preview is not None
    assert tuple(conversation.context().messages) == before
    assert await conversation.records.all() == ()
    assert heard == []
    edited = conversation.records.edited(preview, "Rounded, as Ada said.")
    await conversation.say("Meanwhile this.")
    applied = await conversation.records.apply(edited)
    assert conversation.records.active == applied
    assert applied.summary == "Rounded, as Ada said."
    assert applied.receipt.tokens_after == conversation.internals.replica.cost().tokens
    assert conversation.context().messages[-1].text == "Meanwhile this."
    assert [type(event) for event in heard] == [CompactionStarted, CompactionCompleted]


async def test_an_edit_that_is_empty_too_long_or_too_late_is_refused() -> None:
    conversation = await worked()
    preview = await conversation.records.preview()
    assert preview is not None
    with pytest.raises(InvalidInput, match="cannot be empty"):
        conversation.records.edited(preview, " \n")
    long = conversation.records.edited(preview, "word " * 9_000)
    with pytest.raises(InvalidInput, match="shorten the summary"):
        await conversation.records.apply(long)
    assert conversation.records.active is None
    await conversation.compact()
    with pytest.raises(Conflict, match="make it again"):
        conversation.records.edited(preview, "Rounded.")
    with pytest.raises(Conflict, match="make it again"):
        await conversation.records.apply(preview)


@pytest.mark.requirement("E2")
async def test_two_compactions_are_compared_by_what_they_keep() -> None:
    conversation = await worked()
    await conversation.compact()
    await work(conversation, 8, start=20)
    await conversation.compact()
    both = await conversation.records.compare("c1", "c2")
    first, second = await conversation.records.all()
    assert both.tokens == (first.receipt.tokens_after, second.receipt.tokens_after)
    assert "--- c1" in both.summaries
    assert any(entry.key == "src/tax25.py" for entry in both.only_second)
    same = await conversation.records.compare("c2", "c2")
    assert (same.only_first, same.only_second, same.summaries) == ((), (), "")


async def test_a_fork_goes_its_own_way_with_its_pins() -> None:
    conversation = await worked()
    await conversation.records.pin(2)
    await conversation.records.note("The boss is Ada.")
    await conversation.compact()
    fork = await conversation.fork("what if")
    assert tuple(fork.context().messages) == tuple(conversation.context().messages)
    assert (fork.records.pins, fork.records.notes) == ((2,), ("The boss is Ada.",))
    await fork.say("Elsewhere.")
    assert len(conversation) == len(fork) - 1
    early = await conversation.fork("early", through_seq=4)
    assert early.records.active is None
    assert [message.seq for message in early.context().messages] == [1, 2, 3, 4]
    with pytest.raises(InvalidInput, match="exists already"):
        await conversation.fork("early")


async def test_pins_and_notes_outlive_every_compaction_and_a_restart() -> None:
    conversation = await worked()
    await conversation.records.pin(2)
    await conversation.records.note("The boss is Ada.")
    for start in (20, 40, 60):
        await work(conversation, 8, start=start)
        assert (await conversation.compact()).success
        again = await load_conversation(
            conversation.internals.replica.shared, conversation.internals.replica.key
        )
        shown = [message.text for message in again.context().messages]
        assert "Please round item 0 as well." in shown
        assert any("- The boss is Ada." in text for text in shown)
    await conversation.records.unpin(2)
    await conversation.records.unpin("The boss is Ada.")
    await work(conversation, 8, start=80)
    assert (await conversation.compact()).success
    shown = [message.text for message in conversation.context().messages]
    assert "Please round item 0 as well." not in shown


async def test_a_message_pinned_after_it_was_folded_comes_back_with_its_step() -> None:
    conversation = await worked()
    assert (await conversation.compact()).success
    folded = next(m for m in await conversation.history(from_seq=5) if m.results)
    assert not conversation.internals.replica.shows(folded.seq)
    await conversation.records.pin(folded.seq)
    for held in (
        conversation,
        await load_conversation(conversation.internals.replica.shared, conversation.internals.replica.key),
    ):
        results = [result for message in held.context().messages for result in message.results]
        assert folded.results[0] in results
        assert problems(list(held.context().messages)) == []
        assert held.usage() == conversation.usage()
    await work(conversation, 8, start=20)
    assert (await conversation.compact()).success
    assert conversation.internals.replica.shows(folded.seq)


async def test_a_pin_set_while_a_compaction_is_made_is_kept_by_it() -> None:
    conversation = await worked()
    preview = await conversation.records.preview()
    assert preview is not None
    assert 2 not in preview.keep
    await conversation.records.pin(2)
    await conversation.records.apply(preview)
    assert conversation.internals.replica.shows(2)
    assert "Please round item 0 as well." in [m.text for m in conversation.context().messages]


async def test_what_is_pinned_while_a_compaction_waits_or_is_made_is_kept_by_it_and_weighed() -> None:
    conversation = await worked()
    preview = await conversation.records.preview()
    assert preview is not None
    await conversation.records.note("The boss is Ada.")
    await conversation.records.note("tax")  # a word that the summary has anyway
    applied = await conversation.records.apply(preview)
    assert conversation.context().messages[1].text.count("- The boss is Ada.\n") == 1
    assert "- tax\n" in applied.summary
    assert applied.receipt.tokens_after == conversation.internals.replica.cost().tokens
    assert applied.receipt.tokens_after > preview.receipt.tokens_after


async def test_a_result_that_is_pinned_is_shown_again_where_it_was_a_stub() -> None:
    store = MemoryStore()
    conversation = await compactor(store=store, window=8_000).open("task")
    other = await compactor(store=store, window=8_000).open("task")
    number = 0
    while conversation.records.active is None:
        await step(conversation, number, lines=12)
        await conversation.ready()
        number += 1
    *_, mask = conversation.records.active.masks
    assert mask.seq > conversation.records.active.through_seq
    await other.internals.replica.sync()
    before = other.context().cost.tokens
    await conversation.records.pin(mask.seq)
    await other.internals.replica.sync()
    (pinned,) = await conversation.history(from_seq=mask.seq, through_seq=mask.seq)
    for held in (conversation, other):
        assert pinned in held.context().messages
        assert held.context().cost.tokens > before


async def test_pins_have_a_budget_and_name_what_is_pinned() -> None:
    conversation = await worked()
    with pytest.raises(InvalidInput, match="at most 900 may be pinned"):
        await conversation.records.note("word " * 2_000)
    assert conversation.records.notes == ()
    with pytest.raises(InvalidInput, match=r"no message 999: the conversation has 1\.\.\d+"):
        await conversation.records.pin(999)
    with pytest.raises(InvalidInput, match="empty text"):
        await conversation.records.note("  ")
    with pytest.raises(InvalidInput, match="pinned are"):
        await conversation.records.unpin(3)
    wrong: Any
    for wrong in (True, 1.0, "1"):
        with pytest.raises(InvalidInput, match=f"a whole number, not by {wrong!r}"):
            await conversation.records.pin(wrong)
    wrong = 5
    with pytest.raises(InvalidInput, match="not int"):
        await conversation.records.note(wrong)
    await conversation.records.note("Half an emoji: \ud83d")
    again = await load_conversation(conversation.internals.replica.shared, conversation.internals.replica.key)
    assert (again.records.pins, again.records.notes) == ((), ("Half an emoji: \ufffd",))
    await conversation.append(Message(seq=0, role="user", parts=(Text(text="Other."),), replaces=5))
    with pytest.raises(InvalidInput, match="was replaced"):
        await conversation.records.pin(6)


async def test_two_handles_that_pin_do_not_lose_each_others_pins_nor_the_breaker() -> None:
    store = MemoryStore()
    one = await worked(store=store)
    other = await compactor(store=store).open("task")
    await one.records.pin(2)
    await other.records.note("The boss is Ada.")
    await one.records.pin(3)
    again = await compactor(store=store).open("task")
    assert again.records.pins == (2, 3)
    assert again.records.notes == ("The boss is Ada.",)
    assert (await one.compact()).success  # it knows the other's note
    assert "The boss is Ada." in one.context().messages[1].text


@pytest.mark.requirement("E5")
async def test_growth_is_counted_from_the_compaction_not_from_the_last_opening() -> None:
    store = MemoryStore()
    policy = Policy(ratio=0.5, tail_tokens=0)
    mode = replace(DEFAULT, background=False, policy=policy)
    compacted = 0
    conversation = await compactor(store=store, mode=mode).open("task")
    for number in range(60):  # a program that opens the conversation anew for each turn
        conversation = await compactor(store=store, mode=mode).open("task")
        if number % 5 == 0:
            await conversation.say(f"Please round item {number} as well.")
        before = conversation.internals.replica.active_id
        await conversation.ready()
        assert conversation.usage().used <= conversation.internals.replica.shared.budget.limit
        compacted += conversation.internals.replica.active_id != before
        await step(conversation, number)
    records = await conversation.records.all()
    assert 3 <= compacted == len(records) <= 20
    assert all(record.receipt.trigger == "threshold" for record in records)
