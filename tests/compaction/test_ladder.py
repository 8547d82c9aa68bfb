from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs

from autocompact.compaction.cuts import LogOrder
from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import SummaryNeeded, SummaryReply, answer, finish, plan
from autocompact.compaction.pricing import Pace
from autocompact.compaction.receipts import found_in, unchecked, with_found
from autocompact.compaction.record import Compaction, Rung
from autocompact.compaction.repair import problems
from autocompact.compaction.transcript import Transcript, view
from autocompact.core.messages import Message, Text, text_message
from autocompact.core.prices import CACHES, CacheRates
from autocompact.core.redaction import redact
from autocompact.core.tokens import Cost, Estimator
from autocompact.errors import IncompressibleContext
from tests.compaction.offline import climb_offline
from tests.core.strategies import call, logs, numbered, result, said

COUNTER = Estimator()
LINE = "src/invoices/tax.py:{n}: rounded the line total of item {n} to cents, because the accountant asked for it"


def work(steps: int, *, lines: int = 12) -> list[Message]:
    """A session: system prompt, requests, and steps with a call and a long output each."""
    messages = [said("system", "You are a careful programmer.")]
    for n in range(steps):
        if n % 5 == 0:
            messages.append(said("user", f"Please round item {n} as well."))
        messages.append(
            said("assistant", f"Looking at item {n}.", call(f"c{n}", "Read", f'{{"file_path":"tax{n}.py"}}'))
        )
        messages.append(
            said("tool", result(f"c{n}", "\n".join(LINE.format(n=n * 100 + i) for i in range(lines))))
        )
    messages.append(said("assistant", "All items are rounded now."))
    messages.append(said("user", "Thanks. Now write the release note, in German."))
    return numbered(messages)


def log_of(messages: list[Message]) -> Transcript:
    return Transcript(messages, counter=COUNTER)


GOAL = Goal(limit=100_000, target=3_000, summary_tokens=800, tail_tokens=1_000)


def test_old_outputs_are_masked_first_and_nothing_is_summarised_if_that_is_enough():
    log = log_of(work(12))
    record = climb_offline(log, replace(GOAL, target=4_000))
    assert record is not None
    assert record.receipt.rung == "mask"
    assert record.summary == ""
    assert record.receipt.masked > 0
    assert record.receipt.tokens_after <= 4_000


@pytest.mark.parametrize(
    ("pace", "rung"),
    [
        (None, "mask"),
        (Pace(rates=CACHES["claude"], threshold=10_000), "summarise"),
        (Pace(rates=CacheRates(read=0.1), threshold=10_000), "summarise"),
        (Pace(rates=CACHES["claude"], threshold=10_000, cold=True), "summarise"),
    ],
)
def test_masks_are_skipped_where_the_requests_that_follow_would_cost_more_than_after_a_summary(
    pace: Pace | None, rung: str
):
    """Masks alone leave more than twice what a summary and the tail take."""
    record = climb_offline(log_of(work(60)), replace(GOAL, target=8_000, summary_tokens=300, pace=pace))
    assert record is not None
    assert record.receipt.rung == rung


def test_masks_that_leave_the_beginning_in_the_cache_are_taken_where_rewriting_is_dear():
    dear = CacheRates(read=0.0001, write=10.0)
    log = log_of(work(12))
    first = climb_offline(log, replace(GOAL, target=4_000))
    assert first is not None
    longer = log_of(work(16))
    goal = replace(GOAL, target=6_000, pace=Pace(rates=dear, threshold=10**6))
    again = climb_offline(longer, goal, active=first)
    assert again is not None
    assert again.receipt.rung == "mask"
    marked = replace(goal, pace=Pace(rates=replace(dear, marked=True), threshold=10**6))
    anew = climb_offline(longer, marked, active=first)
    assert anew is not None
    assert anew.receipt.rung == "summarise"


def test_where_there_is_nothing_to_summarise_masks_need_not_pay():
    log = log_of(work(12))
    goal = replace(GOAL, tail_tokens=3_000, target=4_000)
    record = climb_offline(log, replace(goal, pace=Pace(rates=CACHES["claude"], threshold=1)))
    assert record is not None


class Listening(Estimator):
    """The estimator, which remembers what it was asked to count."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        self.texts.append(text)
        return super().count(text)


@pytest.mark.parametrize(("limit", "weighed"), [(1_000, False), (100_000, True)])
def test_no_output_gets_a_stub_where_the_words_alone_are_above_the_limit(limit: int, weighed: bool):
    counter = Listening()
    log = Transcript(work(200), counter=counter)
    record = climb_offline(log, replace(GOAL, limit=limit, target=900, tail_tokens=200))
    assert record is not None
    assert record.receipt.rung != "mask"
    assert any("tax0.py" in text and "memory_expand" in text for text in counter.texts) is weighed


def test_a_context_that_the_caller_has_folded_gives_the_same_compactions():
    log, active = log_of(work(60)), None
    for target in (3_000, 900):  # the second one has masks of the first
        goal = replace(GOAL, target=target)
        given = answer(plan(log, goal, active=active, context=view(log, active)), None)
        assert given is not None
        assert given == climb_offline(log, goal, active=active)
        active = given


@pytest.mark.requirement("D4")
def test_masks_leave_the_request_in_place_that_the_summary_before_them_does_not_state():
    rule = "Round every item. Never push to main without my explicit approval."
    talk = [each for each in work(20) if not each.is_request]
    log = log_of(numbered([talk[0], said("user", rule), *talk[1:]]))
    first = climb_offline(log, replace(GOAL, first_rung="summarise"))
    assert first is not None
    assert (first.keep, "Never push" in first.summary) == ((2,), False)
    more = [each for each in work(12)[1:] if not each.is_request]
    log = log_of(
        numbered([*(log[seq] for seq in range(1, len(log) + 1)), said("user", "And now the rest."), *more])
    )
    second = climb_offline(log, replace(GOAL, target=4_000), active=first)
    assert second is not None
    assert second.receipt.rung == "mask"
    assert rule in [message.text for message in view(log, second).messages]
    third = climb_offline(log, replace(GOAL, target=2_000), active=second)
    assert third is not None
    assert third.receipt.rung == "summarise"
    assert any("Never push to main" in message.text for message in view(log, third).messages)


def test_the_head_is_summarised_and_a_recent_tail_stays_verbatim():
    log = log_of(work(60))
    record = climb_offline(log, GOAL)
    assert record is not None
    assert record.receipt.rung == "summarise"
    context = view(log, record)
    assert context.messages[0] is log[1]
    assert context.messages[-1] is log[len(log)]
    assert context.messages[1].synthetic
    assert record.receipt.tokens_after == context.cost.tokens <= GOAL.target


@pytest.mark.requirement("E5")
def test_a_tighter_target_takes_a_smaller_tail_and_a_smaller_ledger():
    log = log_of(work(60))
    loose, tight = climb_offline(log, GOAL), climb_offline(log, replace(GOAL, target=900))
    assert loose is not None
    assert tight is not None
    assert tight.receipt.rung in ("tighten", "floor")
    assert tight.receipt.tokens_after < loose.receipt.tokens_after


@pytest.mark.requirement("E5", "D4")
def test_the_floor_keeps_system_prompt_pins_and_the_last_request_verbatim():
    log = log_of(work(60))
    record = climb_offline(log, replace(GOAL, limit=185, target=10, pins=frozenset({2})))
    assert record is not None
    assert record.receipt.rung == "floor"
    texts = [message.text for message in view(log, record).messages]
    assert texts[0] == "You are a careful programmer."
    assert "Please round item 0 as well." in texts
    assert texts[-1] == "Thanks. Now write the release note, in German."


@pytest.mark.requirement("E5")
def test_what_cannot_fit_is_refused_with_figures():
    messages = numbered(
        [said("system", "Obey. " * 400), said("user", "Sum it up. " * 400), said("assistant", "ok")]
    )
    with pytest.raises(IncompressibleContext) as refusal:
        climb_offline(log_of(messages), replace(GOAL, limit=500, target=500, overhead=Cost(tokens=77)))
    assert next(iter(refusal.value.breakdown)) in ("system prompt", "last request")
    assert refusal.value.breakdown["tools"] == 77
    assert "system prompt" in str(refusal.value)


def test_there_is_nothing_to_gain_from_a_conversation_that_fits_the_tail():
    log = log_of(numbered([said("user", "Hello."), said("assistant", "Hi.")]))
    assert climb_offline(log, GOAL) is None
    assert climb_offline(log_of([]), GOAL) is None


@pytest.mark.requirement("A11")
def test_a_second_compaction_takes_what_came_since_and_merges_the_first():
    log = log_of(work(40))
    first = climb_offline(log, GOAL)
    assert first is not None
    for message in work(30)[1:]:
        log.append(structs.replace(message, seq=len(log) + 1))
    second = climb_offline(log, GOAL, active=first)
    assert second is not None
    assert second.from_seq == first.through_seq + 1
    assert second.through_seq > first.through_seq
    assert first.summary not in second.summary
    known = {(entry.kind, entry.key) for entry in second.ledger.entries}
    assert any((entry.kind, entry.key) in known for entry in first.ledger.entries)


@pytest.mark.requirement("D6")
def test_the_last_request_can_stand_inside_the_one_summary_message():
    log = log_of(work(60)[:-1])
    record = climb_offline(log, replace(GOAL, tail_tokens=0, inline_request=True, first_rung="summarise"))
    assert record is not None
    messages = view(log, record).messages
    assert [message.role for message in messages] == ["system", "user"]
    assert "Last request from user was: Please round item 55 as well." in messages[1].text


def test_a_request_that_nobody_answered_yet_is_never_summarised():
    log = log_of(work(60))
    record = climb_offline(log, replace(GOAL, tail_tokens=0, first_rung="summarise"))
    assert record is not None
    assert record.through_seq == len(log) - 1
    assert view(log, record).messages[-1] is log[len(log)]


def with_unseen(messages: list[Message], *outputs: str) -> list[Message]:
    """The session, and then a step whose results the model has not seen."""
    calls = [call(f"new{n}", "Read", f'{{"file_path":"new{n}.py"}}') for n in range(len(outputs))]
    results = [said("tool", result(f"new{n}", text)) for n, text in enumerate(outputs)]
    return numbered([*messages, said("assistant", "Let me look.", *calls), *results])


@pytest.mark.requirement("D1")
@pytest.mark.parametrize("first_rung", ["mask", "summarise"])
def test_results_that_the_model_has_not_seen_yet_stay_whole_though_they_exceed_the_tail(first_rung: Rung):
    outputs = ["\n".join(LINE.format(n=n * 1_000 + i) for i in range(80)) for n in (1, 2)]
    log = log_of(with_unseen(work(60), *outputs))
    record = climb_offline(log, replace(GOAL, first_rung=first_rung, limit=12_000))
    assert record is not None
    assert record.receipt.rung == "summarise"
    context = view(log, record)
    assert list(context.messages[-3:]) == [log[len(log) - 2], log[len(log) - 1], log[len(log)]]
    assert log.counter.count(record.summary) > GOAL.summary_tokens // 2  # they do not take the summary's room
    assert GOAL.target < context.cost.tokens <= 12_000


def test_unseen_results_too_large_for_the_window_are_cut_and_stay_the_answers_to_their_calls():
    outputs = ["short", "FIRST LINE\n" + "\n".join(LINE.format(n=i) for i in range(400)) + "\nLAST LINE"]
    log = log_of(with_unseen(work(60), *outputs))
    record = climb_offline(log, replace(GOAL, limit=4_000))
    assert record is not None
    assert record.receipt.rung == "floor"
    short, long = (message.results[0].text for message in view(log, record).messages[-2:])
    assert short == "short"
    assert long.startswith("FIRST LINE\n")
    assert "LAST LINE" in long
    assert record.summary
    assert record.receipt.tokens_after <= 4_000
    log.append(structs.replace(said("assistant", "I have seen it."), seq=len(log) + 1))
    log.append(structs.replace(said("user", "Go on."), seq=len(log) + 1))
    later = climb_offline(log, replace(GOAL, tail_tokens=10), active=record)
    assert later is None or len({(mask.seq, mask.part) for mask in later.masks}) == len(later.masks)


def test_a_first_result_that_is_too_large_is_cut_with_nothing_summarised():
    log = log_of(with_unseen(work(1)[:2], "\n".join(LINE.format(n=i) for i in range(400))))
    record = plan(log, replace(GOAL, limit=4_000))
    assert isinstance(record, Compaction)  # no model is asked: there is nothing to summarise
    assert record.summary == ""
    assert record.receipt.tokens_after <= 4_000
    assert view(log, record).messages[:3] == tuple(log[seq] for seq in (1, 2, 3))


@pytest.mark.parametrize("together", [False, True], ids=["a message each", "one message"])
def test_the_output_of_a_command_that_the_user_ran_is_cut_where_it_does_not_fit_and_never_folded_unseen(
    together: bool,
):
    shown = "FIRST LINE\n" + "\n".join(LINE.format(n=i) for i in range(400)) + "\nLAST LINE"
    notes = ("<bash-input>git log</bash-input>", f"<bash-stdout>{shown}</bash-stdout>", "What does it show?")
    asked = [said("user", *notes)] if together else [said("user", note) for note in notes]
    log = log_of(numbered([*work(20), said("assistant", "Done."), *asked]))
    record = climb_offline(log, replace(GOAL, limit=4_000))
    assert record is not None
    assert record.receipt.tokens_after <= 4_000
    texts = [part.text for m in view(log, record).messages for part in m.parts if isinstance(part, Text)]
    assert texts[-1] == notes[-1]
    assert texts[-3] == notes[0]
    assert texts[-2].startswith("<bash-stdout>FIRST LINE\n")
    assert (
        f'LAST LINE</bash-stdout>\n[memory_expand("m{len(log) - (0 if together else 1)}") shows' in texts[-2]
    )


def test_unseen_results_that_do_not_even_fit_cut_are_folded():
    log = log_of(with_unseen(work(60), *["x y z " * 30] * 30))
    record = climb_offline(log, replace(GOAL, limit=900, target=500, summary_tokens=200))
    assert record is not None
    assert record.through_seq == len(log)
    assert record.receipt.tokens_after <= 900


def test_with_no_tail_everything_is_folded_unseen_results_too():
    log = log_of(with_unseen(work(60), "The last lines."))
    record = climb_offline(log, replace(GOAL, tail_tokens=0, inline_request=True, first_rung="summarise"))
    assert record is not None
    assert [message.role for message in view(log, record).messages] == ["system", "user"]


def test_pinned_words_stand_in_the_summary_whatever_its_budget():
    log = log_of(work(60))
    record = climb_offline(log, replace(GOAL, notes=("Never touch prod.",), first_rung="summarise"))
    assert record is not None
    assert record.summary.startswith("## Pinned\n\n- Never touch prod.")


def test_a_pinned_result_keeps_its_call_and_its_group():
    messages = work(60)
    seq = next(message.seq for message in messages if message.results)
    log = log_of(messages)
    record = climb_offline(log, replace(GOAL, pins=frozenset({seq}), first_rung="summarise"))
    assert record is not None
    assert {seq - 1, seq} <= set(record.keep)
    assert log[seq] in view(log, record).messages


@pytest.mark.requirement("E1")
def test_a_models_summary_is_asked_for_once_verified_and_repaired():
    log = log_of(work(60))
    needed = plan(log, replace(GOAL, target=1_200, focus="tax"))
    assert isinstance(needed, SummaryNeeded)
    request = needed.request
    assert request.messages[0] is log[1]
    assert request.focus == "tax"
    record = answer(plan(log, GOAL), SummaryReply(text=redact("Items were rounded."), model="m-1", cost=0.5))
    assert record is not None
    assert record.summary.startswith("Items were rounded.")
    assert len(record.summary) > 200
    assert record.receipt.model == "m-1"
    assert record.receipt.cost == 0.5
    receipt = record.receipt
    assert receipt.stated > 0
    assert receipt.missing > 0
    assert receipt.stated + receipt.referenced + receipt.missing == len(record.ledger.entries)


@pytest.mark.parametrize("goal", [GOAL, replace(GOAL, target=3_000, first_rung="summarise")])
def test_of_all_candidates_only_the_one_that_is_taken_is_checked(goal: Goal):
    log, taken = log_of(work(60)), list[Compaction]()

    def check(record: Compaction, of: Transcript) -> Compaction:
        assert of is log
        taken.append(record)
        return replace(record, receipt=replace(record.receipt, missing=7))

    record = answer(plan(log, goal, check=check), None, check=check)
    assert record is not None
    assert record.receipt.missing == 7
    assert len(taken) == 1
    assert taken[0].receipt.tokens_after == record.receipt.tokens_after > 0
    assert taken[0].receipt.stated == 0


def test_the_same_plan_is_finished_with_one_reply_or_another():
    log = log_of(work(60))
    needed = plan(log, GOAL)
    assert isinstance(needed, SummaryNeeded)
    reply = SummaryReply(text=redact("Items were rounded."), model="m-1")
    offline = finish(needed, None)
    assert offline == finish(needed, None) == climb_offline(log, GOAL)
    assert finish(needed, reply) == answer(plan(log, GOAL), reply) != offline


def test_a_model_is_asked_about_the_head_that_can_reach_the_target_not_about_a_smaller_one():
    log = log_of(work(60))
    goal = replace(GOAL, first_rung="summarise", tail_tokens=8_000, summary_tokens=300)
    needed = plan(log, goal)
    assert isinstance(needed, SummaryNeeded)
    rest = sum(log.cost(seq).tokens for seq in range(needed.request.messages[-1].seq + 1, len(log) + 1))
    assert GOAL.target < rest <= goal.tail_tokens // 2  # old outputs of a smaller tail become stubs


def test_without_a_usable_reply_the_offline_summary_serves_and_the_receipt_says_why():
    log = log_of(work(60))
    record = answer(
        plan(log, GOAL), SummaryReply(text=redact(""), model="m-1", problem=redact("the model refused"))
    )
    assert record is not None
    assert record.receipt.model == "offline"
    assert record.receipt.problem == "the model refused"


def test_a_cut_needs_the_order_of_the_log():
    late = [said("user", "a"), said("user", "b"), said("user", "c")]
    moved = [
        structs.replace(late[0], seq=1),
        structs.replace(late[2], seq=3),
        structs.replace(late[1], seq=2),
        text_message(0, "user", "made"),
    ]
    assert list(LogOrder().allowed(moved)) == [0, 1, 3, 4]


def test_limits_on_bytes_and_images_count_as_well():
    log = log_of(work(60))
    free, bound = climb_offline(log, GOAL), climb_offline(log, replace(GOAL, max_bytes=4_000))
    assert free is not None
    assert bound is not None
    assert bound.receipt.bytes_after <= 4_000 < free.receipt.bytes_after


def words_of(messages: list[Message]) -> str:
    return "\n".join(part.text for message in messages for part in message.parts if isinstance(part, Text))


paces = st.builds(
    Pace,
    rates=st.sampled_from(list(CACHES.values())),
    threshold=st.integers(1, 1_000),
    growth=st.integers(1, 100),
    cold=st.booleans(),
)


@given(logs(), paces, st.integers(0, 100), st.integers(1, 3))
def test_a_price_changes_which_step_is_taken_never_whether_one_is(
    messages: list[Message], pace: Pace, tail: int, times: int
):
    goal = Goal(limit=10**6, target=200, summary_tokens=60, tail_tokens=tail)
    active: Compaction | None = None
    for part in range(1, times + 1):
        log = log_of(messages[: len(messages) * part // times])
        free, priced = (climb_offline(log, replace(goal, pace=each), active=active) for each in (None, pace))
        assert (free is None) == (priced is None)
        before = view(log, active).cost.tokens
        assert priced is None or view(log, priced).cost.tokens < before
        active = priced or active


@given(
    logs(),
    st.integers(20, 400),
    st.integers(0, 200),
    st.sampled_from(["system", "user", "assistant"]),
    st.data(),
)
def test_every_accepted_compaction_keeps_the_invariants(
    messages: list[Message], limit: int, tail: int, placement: str, data: st.DataObject
):
    log = log_of(messages)
    before = view(log)
    goal = Goal(
        limit=limit,
        target=data.draw(st.integers(10, limit)),
        summary_tokens=120,
        tail_tokens=tail,
        placement=placement,  # pyright: ignore[reportArgumentType] - one of the placements, drawn
        pins=frozenset(data.draw(st.sets(st.integers(1, max(1, len(log))), max_size=2)))
        if len(log)
        else frozenset(),
        first_rung=data.draw(st.sampled_from(["mask", "summarise"])),
        pace=data.draw(st.none() | paces),
    )
    try:
        record = climb_offline(log, goal)
    except IncompressibleContext:
        assume(before.cost.tokens <= limit)  # rightly refused: there is nothing more to look at
        raise
    if record is None:
        return
    context = view(log, record)
    assert context.compaction is record
    assert problems(list(context.messages)) == []
    assert record.receipt.tokens_after == context.cost.tokens < before.cost.tokens
    last = next((message for message in reversed(before.messages) if message.is_request), None)
    if last is not None:
        assert any(message.seq == last.seq and message.text == last.text for message in context.messages)
    for system in (message for message in log.prompt if message.text.strip()):  # an empty one cannot be sent
        assert any(
            message.text.startswith(system.text) for message in context.messages if message.role == "system"
        )
    assert climb_offline(log_of(messages), goal) == record


@given(logs(), st.integers(30, 300))
def test_a_context_over_the_limit_is_made_to_fit_or_refused(messages: list[Message], limit: int):
    log = log_of(messages)
    goal = Goal(limit=limit, target=limit // 2, summary_tokens=100, tail_tokens=limit // 4)
    try:
        record = climb_offline(log, goal)
    except IncompressibleContext:
        return
    assert view(log, record).cost.tokens <= limit or view(log).cost.tokens <= limit


def test_compacting_again_at_once_gains_nothing():
    log = log_of(work(60))
    record: Compaction | None = climb_offline(log, GOAL)
    assert record is not None
    again = climb_offline(log, replace(GOAL, target=record.receipt.tokens_after), active=record)
    assert again is None or again.receipt.tokens_after < record.receipt.tokens_after


@pytest.mark.requirement("E1")
def test_what_a_models_summary_makes_room_for_and_names_that_never_were_are_noted():
    log = log_of(work(60))
    told = [f"Step {n}: module {n} of the parser was read whole and left as it is." for n in range(40)]
    words = "\n".join([*told, *told, "We ran it with --never-was."])
    goal = replace(GOAL, tail_tokens=0, first_rung="summarise")
    record = answer(plan(log, goal), SummaryReply(text=redact(words), model="m"))
    assert record is not None
    notes = "\n".join(record.receipt.notes)
    assert "names in the summary that stand nowhere in the conversation: --never-was" in notes
    assert "passages of the model's summary made room for what it did not say" in notes


def test_a_record_can_be_checked_later_by_whoever_looks_at_its_context() -> None:
    log = log_of(work(12))
    checked = climb_offline(log, replace(GOAL, first_rung="summarise"))
    record = answer(plan(log, replace(GOAL, first_rung="summarise"), check=unchecked), None, check=unchecked)
    assert checked is not None
    assert record is not None
    assert (record.receipt.stated, record.receipt.referenced, record.receipt.missing) == (0, 0, 0)
    assert with_found(record, found_in(record, log)) == checked
    assert checked.receipt.stated > 0
