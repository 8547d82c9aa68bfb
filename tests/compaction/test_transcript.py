from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import structs

from autocompact.compaction.record import Compaction, Mask
from autocompact.compaction.repair import NO_RESPONSE, UNDERSTOOD, problems
from autocompact.compaction.transcript import Context, Messages, Transcript, View, masked, view
from autocompact.core.lookup import OPENS, Lookup
from autocompact.core.messages import Image, Message, Text, ToolResult, text_message
from autocompact.core.redaction import redact
from autocompact.core.tokens import Cost, message_cost
from autocompact.ledger.entries import Ledger
from autocompact.ledger.summary import HEADING
from tests.core.strategies import (
    RECEIPT,
    LengthCounter,
    call,
    compactions,
    histories,
    logs,
    numbered,
    result,
    said,
    talk,
    valid_histories,
)


def log_of(messages: Sequence[Message]) -> Transcript:
    return Transcript(messages, counter=LengthCounter())


def record(through_seq: int, **fields: object) -> Compaction:
    made = Compaction(
        id="c1",
        from_seq=1,
        through_seq=through_seq,
        summary=redact("so far" if through_seq else ""),
        ledger=Ledger(),
        receipt=RECEIPT,
    )
    return dataclasses.replace(made, **fields)


def texts(context: Context) -> list[str]:
    return [message.text for message in context.messages]


def requests(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if message.is_request]


@given(logs(), st.data())
@pytest.mark.requirement("D3", "A14")
def test_every_context_is_valid_whatever_the_log_and_the_record(
    messages: list[Message], data: st.DataObject
) -> None:
    log = log_of(messages)
    compaction = data.draw(compactions(log) | st.none())
    for closed in (False, True):
        context = view(log, compaction, closed=closed)
        assert problems(context.messages) == []
        weights = [message_cost(message, log.counter) for message in context.messages]
        assert context.cost == sum(weights, start=Cost())
        assert context.standing == standing(context, log)
    last = view(log, compaction, closed=True).messages[-1:]
    assert not last or not last[0].results or last[0].role == "user"


def standing(context: Context, log: Transcript) -> int:
    """How many messages at the end of a context are those at the end of the log."""
    count = 0
    for number, message in enumerate(reversed(context.messages)):
        seq = len(log) - number
        if not seq or message.seq != seq or message is not log[seq]:
            break
        count += 1
    return count


class Conversation(RuleBasedStateMachine):
    """A view kept up to date says at every moment what the fold from scratch says."""

    @initialize(messages=logs())
    def begin(self, messages: list[Message]) -> None:
        self.log = log_of([])
        self.todo = list(messages)
        self.view = View(self.log)
        self.wanted: Compaction | None = None
        self.seen: list[tuple[Context, list[Message]]] = []

    @rule(count=st.integers(1, 4))
    def append(self, count: int) -> None:
        self.log.extend(self.todo[:count])
        del self.todo[:count]

    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        self.wanted = data.draw(compactions(self.log) | st.none())
        self.view.activate(self.wanted)

    @rule(closed=st.booleans())
    def look(self, closed: bool) -> None:
        context = self.view.context(closed=closed)
        assert context == view(self.log, self.wanted, closed=closed)
        self.seen.append((context, list(context.messages)))

    @invariant()
    def contexts_handed_out_earlier_never_change(self) -> None:
        for context, then in self.seen:
            assert list(context.messages) == then


TestConversation = Conversation.TestCase
TestConversation.settings = settings(deadline=None, stateful_step_count=12)


@given(valid_histories(), st.data())
def test_between_compactions_the_prefix_is_byte_stable(messages: list[Message], data: st.DataObject) -> None:
    whole = log_of(messages)
    compaction = data.draw(compactions(whole) | st.none())
    log = log_of(messages[: compaction.through_seq if compaction else 0])
    kept_up = View(log, compaction)
    before = kept_up.context().messages
    for message in messages[len(log) :]:
        log.append(message)
        now = kept_up.context().messages
        settled = list(before)
        while settled and not settled[-1].seq and settled[-1].results:
            settled.pop()  # stood in for a result that might still come
        assert [id(m) for m in now[: len(settled)]] == [id(m) for m in settled]
        before = now


@given(histories())
def test_the_log_keeps_every_message_as_it_came(messages: list[Message]) -> None:
    log = log_of(messages)
    view(log, record(len(messages)))
    assert len(log) == len(messages)
    assert all(log[message.seq] is message for message in messages)


@given(logs(), st.data())
def test_undo_restores_the_earlier_context_and_keeps_what_was_said_since(
    messages: list[Message], data: st.DataObject
) -> None:
    half = data.draw(st.integers(0, len(messages)))
    log = log_of(messages[:half])
    kept_up = View(log)
    earlier = data.draw(compactions(log) | st.none())
    kept_up.activate(earlier)
    kept_up.context()
    kept_up.activate(data.draw(compactions(log)))
    kept_up.context()
    log.extend(messages[half:])
    kept_up.activate(earlier)
    assert kept_up.context() == view(log_of(messages), earlier)
    kept_up.activate(None)
    assert kept_up.context() == view(log_of(messages))


@given(histories(), st.data())
def test_a_log_held_in_part_gives_the_same_context(messages: list[Message], data: st.DataObject) -> None:
    whole = log_of(messages)
    first = data.draw(st.integers(1, len(whole) + 1))
    compaction = data.draw(compactions(whole, at_least=first - 1))
    pins = [whole[seq] for seq in compaction.keep if seq < first]
    part = Transcript(
        messages[first - 1 :],
        counter=LengthCounter(),
        first=first,
        earlier={m.seq: m for m in (*whole.prompt, *pins) if m.seq < first}.values(),
        prompt=[m.seq for m in whole.prompt if m.seq < first],
        prefix=whole.prefix(first - 1),
    )
    assert len(part) == len(whole)
    assert part.prefix(len(part)) == whole.prefix(len(whole))
    assert part.admits(compaction)
    for closed in (False, True):
        assert view(part, compaction, closed=closed) == view(whole, compaction, closed=closed)


@given(logs(), st.data())
def test_what_a_compaction_leaves_to_hold_gives_the_same_context_and_grows_alike(
    messages: list[Message], data: st.DataObject
) -> None:
    half = data.draw(st.integers(0, len(messages)))
    whole = log_of(messages[:half])
    compaction = data.draw(compactions(whole))
    rest = whole.after(compaction)
    if rest is whole:
        assert compaction.through_seq == 0
        return
    assert view(rest, compaction) == view(whole, compaction)
    assert rest.first == compaction.through_seq + 1
    for message in messages[half:]:
        if message.replaces is not None and message.replaces < rest.first:
            break
        whole.append(message)
        rest.append(message)
        assert view(rest, compaction) == view(whole, compaction)
    assert rest.after(compaction) is rest


@given(logs(), st.data())
def test_a_snapshot_stays_as_it_is_while_the_log_grows(messages: list[Message], data: st.DataObject) -> None:
    half = data.draw(st.integers(0, len(messages)))
    log = log_of(messages[:half])
    compaction = data.draw(compactions(log) | st.none())
    before = view(log, compaction)
    copy = log.snapshot()
    prefixes = [log.prefix(seq) for seq in range(half + 1)]
    log.extend(messages[half:])
    assert view(copy, compaction) == before
    assert [copy.prefix(seq) for seq in range(len(copy) + 1)] == prefixes
    copy.extend(messages[half:])
    assert view(copy, compaction) == view(log, compaction)


@pytest.mark.parametrize("length", [40, 400])
def test_a_turn_costs_the_same_however_long_the_conversation_is(length: int) -> None:
    counter = LengthCounter()
    log = Transcript(talk(length), counter=counter)
    kept_up = View(log)
    kept_up.context()
    asked = counter.asked
    log.append(said_next(log, "user", "and now?"))
    kept_up.context()
    assert counter.asked == asked + 1
    log.append(said_next(log, "assistant", "done"), cost=Cost(tokens=1))
    assert kept_up.context().messages[-1].text == "done"
    assert counter.asked == asked + 1


@pytest.mark.parametrize("length", [40, 400])
def test_starting_over_measures_only_what_the_log_did_not(length: int) -> None:
    counter = LengthCounter()
    log = Transcript(talk(length), counter=counter)
    view(log)
    asked = counter.asked
    assert asked == length
    compaction = record(8, masks=(Mask(seq=11, part=0, stub=redact("[…]")),))
    view(log, compaction)
    view(log)
    assert counter.asked == asked + 2


def test_a_log_takes_over_what_its_copy_worked_out() -> None:
    counter = LengthCounter()
    log = Transcript(talk(40), counter=counter)
    copy = log.snapshot()
    view(copy)
    expected, asked = copy.prefix(30), counter.asked
    log.append(said_next(log, "user", "meanwhile"))
    log.learn(copy)
    assert log.cost(40) == copy.cost(40)
    assert counter.asked == asked
    assert log.prefix(30) == expected
    log.append(said_next(log, "user", "edited", replaces=20))
    log.learn(copy)
    assert log.prefix(30) != expected
    log.after(record(8)).learn(copy)  # it begins elsewhere: nothing of the copy is its own


def test_a_log_learns_nothing_from_a_copy_of_another_log() -> None:
    copy = log_of(talk(40)).snapshot()
    view(copy)
    of_another = copy.prefix(30)
    log = log_of([text_message(n, "user", f"Something else {n}.") for n in range(1, 36)])
    log.learn(copy)
    assert log.prefix(30) != of_another
    assert log.cost(1) != copy.cost(1)
    log.append(said_next(log, "user", "one more"))
    assert view(log).cost == view(log_of(list(log.live()))).cost


def test_a_log_continues_an_earlier_one_if_both_hold_the_same_messages() -> None:
    said = talk(12)
    log, shorter, copy = log_of(said), log_of(said[:9]), log_of(talk(12))
    other = log_of([*said[:11], text_message(12, "user", "Something else.")])
    assert log.continues(log.snapshot())
    assert log.continues(copy)
    assert log.continues(shorter)
    assert not shorter.continues(log)
    assert not log.continues(other)
    assert log.after(record(8)).continues(log)
    assert not log.after(record(8)).continues(other)
    raw = structs.replace(said[11], raw=b'{"role":"user","content":"Something."}')
    assert not log.continues(log_of([*said[:11], raw]))
    assert log_of([raw_at(1)]).continues(log_of([raw_at(1)]))


def raw_at(seq: int) -> Message:
    return structs.replace(text_message(seq, "user", "Hello."), raw=b'{"role":"user","content":"Hello."}')


def said_next(log: Transcript, role: str, text: str, **fields: int | str) -> Message:
    made = text_message(len(log) + 1, "user" if role == "user" else "assistant", text)
    return structs.replace(made, **fields)


def test_a_late_result_measures_no_settled_message_again() -> None:
    counter = LengthCounter()
    steps = [said("assistant", call("late")), *talk(40), said("tool", result("late", "at last"))]
    log = Transcript(numbered(steps[:-1]), counter=counter)
    kept_up = View(log)
    kept_up.context()
    log.append(numbered(steps)[-1])
    asked = counter.asked
    assert kept_up.context().messages[1].results[0].text == "at last"
    assert counter.asked == asked + 1


@pytest.mark.requirement("A14")
def test_replaced_messages_stay_in_the_log_and_are_neither_sent_nor_summarised() -> None:
    log = log_of(talk(4))
    kept_up = View(log)
    kept_up.context()
    log.append(said_next(log, "user", "rather this", replaces=1))
    assert texts(kept_up.context()) == ["rather this"]
    assert [message.seq for message in log.live()] == [5]
    assert [seq for seq in range(1, 6) if log.is_replaced(seq)] == [1, 2, 3, 4]
    assert log[1].text == "request 0"


@pytest.mark.requirement("A14")
def test_a_compaction_of_replaced_messages_is_no_longer_in_force() -> None:
    log = log_of(talk(8))
    compaction = record(4, prefix=log.prefix(4))
    kept_up = View(log, compaction)
    assert kept_up.context().compaction is compaction
    log.append(said_next(log, "user", "from the fifth on", replaces=5))
    assert kept_up.compaction is compaction
    assert kept_up.context().compaction is compaction
    log.append(said_next(log, "user", "from the third on", replaces=3))
    assert kept_up.context().compaction is None
    assert requests(kept_up.context().messages) == ["request 0", "from the third on"]


def test_a_compaction_beyond_the_log_or_of_another_log_is_not_admitted() -> None:
    log = log_of(talk(8))
    assert not log.admits(record(9))
    assert log.admits(record(8))
    assert not log.admits(record(8, prefix=log_of(talk(7)).prefix(7)))
    assert log.prefix(0) == ""


def test_a_compaction_that_ends_before_what_is_held_is_believed() -> None:
    whole = log_of(talk(8))
    part = Transcript(talk(8)[4:], counter=LengthCounter(), first=5, prefix=whole.prefix(4))
    assert part.admits(record(2, prefix="of messages that are not here"))
    assert part.prefix(2) == whole.prefix(4)


def test_equal_bytes_make_equal_prefixes_and_other_bytes_others() -> None:
    def prefix(raw: bytes | None, text: str) -> str:
        return log_of([Message(seq=1, role="user", parts=(Text(text=text),), raw=raw)]).prefix(1)

    assert prefix(b"{}", "a") == prefix(b"{}", "b") != prefix(b"[]", "a")
    assert prefix(None, "a") != prefix(None, "b")


def test_messages_come_in_order_and_replace_only_what_is_held() -> None:
    log = log_of(talk(2))
    with pytest.raises(ValueError, match="message has seq 5, the next one is 3"):
        log.append(text_message(5, "user", "too early"))
    with pytest.raises(ValueError, match=r"message 3 cannot replace 3: 1\.\.2 are held here"):
        log.append(said_next(log, "user", "x", replaces=3))
    part = Transcript(talk(4)[2:], counter=LengthCounter(), first=3, earlier=talk(4)[:1])
    with pytest.raises(ValueError, match="message 5 cannot replace 2"):
        part.append(said_next(part, "user", "x", replaces=2))
    assert part[1].text == "request 0"
    with pytest.raises(IndexError, match=r"message 2 is not held here: the log holds 3\.\.4"):
        part[2]
    assert part.cost(1) == message_cost(talk(4)[0], part.counter)


def test_the_prompt_is_the_system_messages_that_the_log_begins_with() -> None:
    history = numbered(
        [said("system", "one"), said("system", "two"), said("user", "hi"), said("system", "note")]
    )
    log = log_of(history)
    assert [m.text for m in log.prompt] == ["one", "two"]
    log.append(structs.replace(said("system", "new two"), seq=5, replaces=2))
    assert [m.text for m in log.prompt] == ["one", "new two"]
    log.append(said_next(log, "user", "hello"))
    assert texts(view(log, record(6)))[:2] == ["one", "new two"]
    assert [m.text for m in log.after(record(6)).prompt] == ["one", "new two"]


def test_of_a_log_held_in_part_the_prompt_is_what_the_holder_says() -> None:
    history = numbered(
        [said("system", "one"), said("system", "two"), said("user", "hi"), said("system", "pinned")]
    )
    part = Transcript(counter=LengthCounter(), first=5, earlier=history, prompt=[1, 2])
    assert [m.text for m in part.prompt] == ["one", "two"]
    divided = Transcript(history[1:], counter=LengthCounter(), first=2, earlier=history[:1], prompt=[1])
    assert [m.text for m in divided.prompt] == ["one", "two"]
    assert [m.seq for m in part.live()] == [1, 2, 3, 4]
    assert [m.seq for m in part.live(2, 3)] == [2, 3]


def test_the_summary_goes_where_it_is_placed() -> None:
    log = log_of(numbered([said("system", "be brief"), *talk(5)]))
    as_user = view(log, record(5, placement="user")).messages
    assert [m.role for m in as_user] == ["system", "user", "user"]
    assert "so far" in as_user[1].text
    assert as_user[1].synthetic
    as_assistant = view(log, record(5, placement="assistant")).messages
    assert [m.role for m in as_assistant] == ["system", "user", "assistant", "user"]
    assert "so far" in as_assistant[2].text
    in_prompt = view(log, record(5, placement="system")).messages
    assert [m.role for m in in_prompt] == ["system", "user"]
    assert in_prompt[0].parts[0] == Text(text="be brief")
    assert HEADING in in_prompt[0].text
    without_prompt = view(log_of(talk(5)), record(4, placement="system")).messages
    assert [m.role for m in without_prompt] == ["system", "user"]


def test_kept_messages_stay_verbatim_and_the_prompt_stands_once() -> None:
    log = log_of(numbered([said("system", "be brief"), *talk(8)]))
    context = view(log, record(9, keep=(1, 2, 6)))
    assert [m.seq for m in context.messages] == [1, 0, 2, 6]
    assert context.messages[2] is log[2]


def test_masked_results_are_shown_as_their_stub() -> None:
    log = log_of(talk(8))
    context = view(log, record(0, masks=(Mask(seq=3, part=0, stub=redact("[gone]")),)))
    assert [r.text for m in context.messages for r in m.results] == ["[gone]", "done"]
    answer = ToolResult(call_id="b", text="x", media=(Image(),), raw=b"{}")
    message = masked(said("tool", result("a"), answer), [Mask(seq=1, part=1, stub=redact("[gone]"))])
    assert message.parts == (result("a"), ToolResult(call_id="b", text="[gone]"))
    assert message.changed


def test_summary_and_stubs_are_worded_for_what_the_model_can_look_up_with() -> None:
    masks = (Mask(seq=8, part=0, stub=redact("[left out; " + OPENS.format(8))),)
    log = Transcript(
        numbered([said("system", "be brief"), *talk(8)]),
        counter=LengthCounter(),
        lookup=Lookup(tools=False, command="show m123"),
    )
    made = record(4, masks=masks)
    for held in (log, log.snapshot(), log.after(made)):
        context = view(held, made)
        told = "\n".join([m.text + "".join(r.text for r in m.results) for m in context.messages])
        assert "memory_" not in told
        assert "`show m123` shows it" in told
        assert "[left out; archived as m8]" in told


def test_an_open_call_is_answered_only_in_the_context_of_that_moment() -> None:
    log = log_of(numbered([said("user", "go"), said("assistant", call("a"))]))
    kept_up = View(log)
    assert [r.text for m in kept_up.context().messages for r in m.results] == [NO_RESPONSE]
    assert kept_up.context(closed=True).messages[-1].text == UNDERSTOOD
    log.append(structs.replace(said("tool", result("a", "real")), seq=3))
    assert [r.text for m in kept_up.context().messages for r in m.results] == ["real"]


def test_messages_of_a_context_read_like_a_sequence() -> None:
    history = talk(3)
    messages = Messages(list(history[:2]), tail=(history[2],))
    assert list(messages) == history == [messages[0], messages[1], messages[-1]]
    assert messages[1:] == tuple(history[1:])
    assert messages == history
    assert messages != history[:2]
    assert messages != 3
    with pytest.raises(IndexError):
        messages[3]
    with pytest.raises(TypeError):
        hash(messages)
