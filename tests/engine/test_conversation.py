from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from msgspec import structs

from autocompact.compaction.modes import DEFAULT
from autocompact.compaction.pricing import Step, growth_that_pays
from autocompact.compaction.repair import problems
from autocompact.core.budget import HIGHEST_RATIO, Policy
from autocompact.core.lookup import WITH_TOOLS, Lookup
from autocompact.core.messages import Message, Text, Usage, text_message
from autocompact.core.prices import CACHES
from autocompact.core.tokens import Estimator, breakdown
from autocompact.engine import Compactor
from autocompact.errors import Conflict, IncompressibleContext, ModelOverflow, ModelRefused
from autocompact.events import (
    BreakerOpened,
    CompactionCompleted,
    CompactionDiscarded,
    CompactionPrepared,
    CompactionStarted,
    Event,
)
from autocompact.ports import ModelReply
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock
from tests.engine.support import SUMMARY, TalkingModel, compactor, step, work

pytestmark = pytest.mark.anyio
NO_BACKGROUND = replace(DEFAULT, background=False)


async def test_what_is_said_is_in_the_log_and_in_the_context():
    shared = compactor()
    conversation = await shared.open("invoices")
    await conversation.say("You are careful.", role="system")
    await conversation.say("Hello.")
    assert [message.text for message in conversation.context().messages] == ["You are careful.", "Hello."]
    assert [message.seq for message in await conversation.history()] == [1, 2]
    assert len(conversation) == 2


async def test_a_conversation_is_the_same_after_a_restart():
    store = MemoryStore()
    conversation = await compactor(store=store, mode=NO_BACKGROUND).open("invoices")
    await work(conversation, 40)
    await conversation.ready()
    assert conversation.records.active is not None
    again = await compactor(store=store).open("invoices")
    assert tuple(again.context().messages) == tuple(conversation.context().messages)
    assert again.context().cost == conversation.context().cost
    await step(again, 41)
    assert problems(list(again.context().messages)) == []


@pytest.mark.requirement("A1", "D1")
async def test_before_a_call_the_context_is_compacted_once_the_threshold_is_reached():
    conversation = await compactor(mode=NO_BACKGROUND).open("invoices")
    sizes: list[int] = []
    for number in range(60):
        if number % 5 == 0:
            await conversation.say(f"Please round item {number} as well.")
        context = await conversation.ready()
        sizes.append(context.cost.tokens)
        assert context.cost.tokens <= 3_600
        assert problems(list(context.messages)) == []
        await step(conversation, number)
    falls = [after for before, after in itertools.pairwise(sizes) if after < before]
    assert 2 <= len(falls) <= 20
    assert len(await conversation.history()) == 60 * 2 + 12


@pytest.mark.requirement("A12")
async def test_switched_off_nothing_is_compacted_and_a_request_that_does_not_fit_is_refused():
    off = replace(DEFAULT, policy=Policy(enabled=False))
    conversation = await compactor(mode=off).open("invoices")
    await work(conversation, 40)
    with pytest.raises(IncompressibleContext, match="tool results"):
        await conversation.ready()
    assert conversation.records.active is None
    assert (await conversation.compact()).success  # by hand it stays possible


@pytest.mark.requirement("A2", "A6", "A7")
async def test_by_hand_with_a_focus_the_model_summarises_and_the_result_is_told():
    model = TalkingModel()
    conversation = await compactor(model=model).open("invoices")
    await work(conversation, 12)
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    result = await conversation.compact("tax rules")
    assert result.success
    assert "The totals were rounded per line." in result.summary
    assert "tax rules" in model.requests[0][-1].text
    assert isinstance(heard[0], CompactionStarted)
    assert isinstance(heard[-1], CompactionCompleted)
    assert heard[-1].success
    first = next(message for message in conversation.context().messages if message.synthetic)
    assert "# Conversation Summary" in first.text
    assert "The totals were rounded per line." in first.text


@pytest.mark.requirement("A11")
async def test_an_empty_conversation_is_left_alone():
    result = await (await compactor().open("empty")).compact()
    assert not result.success
    assert result.message == "there is nothing to compact"


@pytest.mark.requirement("A13")
async def test_a_second_compaction_while_one_runs_is_refused_not_queued():
    asked, answered = asyncio.Event(), asyncio.Event()

    class Slow(TalkingModel):
        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            asked.set()
            await answered.wait()
            return ModelReply(text=SUMMARY)

    conversation = await compactor(model=Slow()).open("invoices")
    await work(conversation, 12)
    running = asyncio.create_task(conversation.compact())
    await asked.wait()
    second = await conversation.compact()
    assert not second.success
    assert "being compacted already" in second.message
    await conversation.say("Meanwhile the talk goes on.")
    answered.set()
    assert (await running).success
    assert conversation.context().messages[-1].text == "Meanwhile the talk goes on."


@pytest.mark.requirement("A11")
async def test_a_failing_model_changes_nothing_and_is_reported_as_what_it_is():
    model = TalkingModel(reply=lambda _: ModelRefused("wrong key", status=401))
    conversation = await compactor(model=model).open("invoices")
    await work(conversation, 12)
    before = conversation.context()
    result = await conversation.compact()
    assert not result.success
    assert "wrong key" in result.message
    assert conversation.context() == before


async def test_if_the_request_would_not_fit_the_model_free_steps_act_for_a_failing_model():
    model = TalkingModel(reply=lambda _: ModelRefused("wrong key", status=401))
    conversation = await compactor(model=model, mode=NO_BACKGROUND).open("invoices")
    await work(conversation, 45)
    assert conversation.internals.replica.cost().tokens > conversation.internals.replica.shared.budget.limit
    context = await conversation.ready()
    assert context.cost.tokens <= conversation.internals.replica.shared.budget.limit
    assert conversation.records.active is not None
    receipt = conversation.records.active.receipt
    assert receipt.rung == "mask" or ("wrong key" in receipt.problem and receipt.model == "offline")


async def test_repeated_failures_open_the_breaker_which_survives_a_restart_and_half_opens_with_growth():
    store = MemoryStore()
    model = TalkingModel(reply=lambda _: ModelRefused("no access", status=403))
    mode = replace(NO_BACKGROUND, policy=Policy(ratio=0.5, tail_tokens=0))
    conversation = await compactor(model=model, mode=mode, store=store, window=20_000).open("invoices")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    await work(conversation, 55)
    for _ in range(5):
        await conversation.ready()
    assert len(model.requests) == 3
    assert any(isinstance(event, BreakerOpened) for event in heard)
    again = await compactor(model=model, mode=mode, store=store, window=20_000).open("invoices")
    await again.ready()
    assert len(model.requests) == 3
    assert "no access" in again.internals.decisions.decide().reason
    await work(again, 10, start=55)
    await again.ready()
    assert len(model.requests) == 4


@pytest.mark.parametrize("in_the_log", [True, False])
async def test_an_open_breaker_waits_for_growth_of_what_can_be_folded_wherever_the_system_prompt_stands(
    in_the_log: bool,
):
    model = TalkingModel(reply=lambda _: ModelRefused("no access", status=403))
    mode = replace(NO_BACKGROUND, policy=Policy(ratio=0.5, tail_tokens=0))
    conversation = await compactor(model=model, mode=mode, window=40_000).open("invoices")
    prompt = "You are careful with every single invoice. " * 500
    if in_the_log:
        await conversation.say(prompt, role="system")
    else:
        conversation.internals.replica.use_tools(None, system=prompt)
    number = 0
    while not conversation.internals.replica.state.breaker.is_open:
        await step(conversation, number)
        await conversation.ready()
        number += 1
    breaker, fixed = conversation.internals.replica.state.breaker, conversation.internals.replica.fixed
    assert fixed > 3_000
    assert breaker.fixed == fixed
    while len(model.requests) == 3:
        await step(conversation, number)
        await conversation.ready()
        number += 1
    grown = conversation.usage().used - breaker.tokens
    assert breaker.growth * (breaker.tokens - fixed) < grown < breaker.growth * breaker.tokens


@pytest.mark.requirement("E4")
async def test_a_compaction_is_prepared_ahead_and_swapped_in_at_the_threshold_without_waiting():
    model = TalkingModel()
    mode = replace(DEFAULT, policy=Policy(tail_tokens=0))
    conversation = await compactor(model=model, mode=mode, window=8_000).open("invoices")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    number = 0
    while conversation.records.prepared is None:
        await step(conversation, number)
        await conversation.ready()
        await conversation.internals.background.wait_idle()
        number += 1
    assert conversation.records.active is None
    assert any(isinstance(event, CompactionPrepared) for event in heard)
    prepared, asked = conversation.records.prepared, len(model.requests)
    while conversation.records.active is None:
        await step(conversation, number)
        await conversation.ready()
        number += 1
    assert conversation.records.active.id == prepared.id
    assert len(model.requests) == asked
    assert conversation.context().messages[-1].results[0].call_id == f"c{number - 1}"


@pytest.mark.requirement("E4")
async def test_a_prepared_compaction_is_thrown_away_if_the_history_it_covers_changed():
    model = TalkingModel()
    mode = replace(DEFAULT, policy=Policy(tail_tokens=0))
    conversation = await compactor(model=model, mode=mode, window=8_000).open("invoices")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    number = 0
    while conversation.records.prepared is None:
        await step(conversation, number)
        await conversation.ready()
        await conversation.internals.background.wait_idle()
        number += 1
    prepared = conversation.records.prepared
    edited = Message(seq=0, role="user", parts=(Text(text="Start over."),), replaces=3)
    await conversation.append(edited)
    await work(conversation, 40, start=100)
    await conversation.ready()
    assert any(isinstance(event, CompactionDiscarded) for event in heard)
    assert conversation.records.active is not None
    assert conversation.records.active.id != prepared.id
    assert conversation.internals.replica.transcript.admits(conversation.records.active)


async def test_a_provider_that_says_too_large_gets_one_smaller_request():
    conversation = await compactor().open("invoices")
    await work(conversation, 20)
    sizes: list[int] = []

    async def call(context: object) -> ModelReply:
        sizes.append(conversation.internals.replica.cost().tokens)
        if len(sizes) == 1:
            raise ModelOverflow("maximum context length exceeded", status=400)
        return ModelReply(text="fine")

    assert (await conversation.attempt(call)).text == "fine"
    assert sizes[1] <= sizes[0] * 3 // 4


class Refused(Exception):
    """As an SDK raises it for a response of its provider."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.status_code = 400
        self.body = {"error": {"message": message, "type": "invalid_request_error"}}


async def test_the_call_of_an_attempt_may_be_a_plain_function_of_any_client():
    conversation = await compactor().open("invoices")
    await work(conversation, 20)
    errors = [Refused("prompt is too long: 210000 tokens > 200000 maximum"), None]
    sizes: list[int] = []

    def call(context: object) -> dict[str, str]:
        sizes.append(conversation.internals.replica.cost().tokens)
        if error := errors.pop(0):
            raise error
        return {"text": "fine"}

    assert await conversation.attempt(call) == {"text": "fine"}
    assert sizes[1] <= sizes[0] * 3 // 4
    errors.append(Refused("tools.0: Input should be an object"))
    with pytest.raises(Refused, match="should be an object"):
        await conversation.attempt(call)
    assert len(sizes) == 3


async def test_the_second_overflow_reaches_the_caller():
    conversation = await compactor().open("invoices")
    await work(conversation, 20)

    async def call(context: object) -> ModelReply:
        raise ModelOverflow("maximum context length exceeded", status=400)

    with pytest.raises(ModelOverflow):
        await conversation.attempt(call)


@pytest.mark.requirement("B1", "D2", "A8")
async def test_reported_usage_drives_the_trigger_and_a_compaction_resets_it():
    mode = replace(NO_BACKGROUND, policy=Policy(tokens=3_000, tail_tokens=0))
    conversation = await compactor(mode=mode, window=100_000).open("tickets")
    await work(conversation, 10)
    assert not conversation.should_compact()
    estimate = conversation.usage().used
    usage = Usage(prompt=int(estimate * 1.3), completion=20)
    await conversation.say("Ten are done.", role="assistant", usage=usage)
    assert conversation.usage().reported == usage.prompt + usage.completion
    await work(conversation, 30, start=10)
    assert conversation.should_compact()
    assert (await conversation.compact()).success
    assert not conversation.should_compact()


@pytest.mark.requirement("A14")
async def test_an_edit_of_what_was_compacted_takes_that_compaction_out_of_force():
    conversation = await compactor(mode=NO_BACKGROUND).open("invoices")
    await work(conversation, 12)
    assert (await conversation.compact()).success
    await conversation.append(Message(seq=0, role="user", parts=(Text(text="Other words."),), replaces=1))
    assert conversation.records.active is None
    assert [message.text for message in conversation.context().messages] == ["Other words."]
    assert len(await conversation.history()) == len(conversation)


async def test_two_handles_on_one_conversation_see_each_others_messages_in_one_order():
    store = MemoryStore()
    first = await compactor(store=store).open("shared")
    second = await compactor(store=store).open("shared")
    await first.say("one")
    await second.say("two")
    await first.say("three")
    assert [message.text for message in await first.history()] == ["one", "two", "three"]
    assert [message.text for message in first.context().messages] == ["one", "two", "three"]


async def test_the_meter_says_what_fills_the_context():
    conversation = await compactor().open("invoices")
    await conversation.say("You are careful.", role="system")
    await work(conversation, 3)
    conversation.internals.replica.use_tools(
        b'[{"name":"Read","description":"reads a file"}]', system="outside"
    )
    replica = conversation.internals.replica
    parts = breakdown(
        replica.context().messages, tools=replica.state.meter.overhead.tokens, counter=replica.shared.counter
    )
    assert set(parts) == {"system prompt", "tools", "user", "assistant", "tool results"}
    assert sum(parts.values()) == conversation.internals.replica.cost().tokens


async def test_a_context_is_worded_anew_for_a_model_without_the_memory_tools():
    shared = compactor()
    conversation = await shared.open("invoices")
    await work(conversation, 12)
    conversation.internals.replica.use_lookup(WITH_TOOLS)
    assert (await conversation.compact()).success
    with_tools = [message.text for message in conversation.context().messages]
    assert "memory_search finds them" in "".join(with_tools)
    conversation.internals.replica.use_lookup(Lookup(tools=False))
    assert "memory_" not in "".join(message.text for message in conversation.context().messages)
    await conversation.internals.replica.reload()
    assert conversation.internals.replica.transcript.lookup == Lookup(tools=False)
    conversation.internals.replica.use_lookup(WITH_TOOLS)
    assert [message.text for message in conversation.context().messages] == with_tools


async def test_messages_added_together_are_one_append_and_count_as_if_added_one_by_one():
    one, other = await compactor().open("one"), await compactor().open("other")
    said = [
        text_message(0, "user", "Please round item 1."),
        structs.replace(
            text_message(0, "assistant", "Item 1 is rounded."), usage=Usage(prompt=900, completion=9)
        ),
        structs.replace(text_message(0, "user", "Item 2, I mean."), replaces=1),
    ]
    together = await one.extend(said)
    singly = [await other.append(message) for message in said]
    assert list(together) == singly
    assert await one.history() == together
    assert one.usage() == other.usage()
    assert one.context() == other.context()
    assert one.internals.replica.state.request == other.internals.replica.state.request == 3
    assert await one.extend([]) == ()


async def test_messages_that_must_follow_a_certain_one_are_added_there_or_not_at_all():
    shared = compactor()
    one, other = await shared.open("invoices"), await shared.open("invoices")
    await one.say("Please round item 1.")
    for stale in (other, one):
        with pytest.raises(Conflict, match="ends at message 1, not at 0"):
            await stale.extend([text_message(0, "user", "Item 2.")], after=0)
    assert [message.text for message in await one.history()] == ["Please round item 1."]
    assert [m.seq for m in await one.extend([text_message(0, "user", "Item 2.")], after=1)] == [2]


async def test_a_compaction_with_a_model_does_not_begin_because_the_cache_is_cold_unless_it_is_prepared():
    policy = replace(DEFAULT.policy, cold=0.5, prepare=0.9, tail_tokens=0)
    mode = replace(DEFAULT, policy=policy)
    decisions: dict[bool, list[bool]] = {}
    for with_model in (True, False):
        clock = FakeClock()
        model = TalkingModel(name="claude-opus-4-5") if with_model else None
        shared = Compactor(
            MemoryStore(), model=model, mode=mode, window=8_000, reserve=800, counter=Estimator(), clock=clock
        )
        shared.rates = CACHES["claude"]
        conversation = await shared.open("invoices")
        number = 0
        while conversation.usage().used < 0.6 * 5_600:
            await step(conversation, number)
            await conversation.ready()
            number += 1
        warm = conversation.should_compact()
        clock.advance(301)
        early = conversation.should_compact()
        while conversation.records.prepared is None and with_model:
            await step(conversation, number)
            await conversation.ready()
            await conversation.internals.background.wait_idle()
            number += 1
        clock.advance(301)
        decisions[with_model] = [warm, early, conversation.should_compact()]
        await shared.aclose()
    assert decisions == {True: [False, False, True], False: [False, True, True]}


@pytest.mark.requirement("E4")
async def test_the_next_compaction_waits_for_growth_that_pays_where_the_cache_has_known_prices():
    shrunk: dict[str, list[tuple[int, int, int]]] = {"priced": [], "unpriced": []}
    for kind, found in shrunk.items():
        shared = compactor(mode=NO_BACKGROUND, window=60_000)
        shared.rates = CACHES["claude"] if kind == "priced" else None
        conversation = await shared.open("invoices")
        for number in range(400):
            await step(conversation, number, lines=12)
            used, active = conversation.usage().used, conversation.internals.replica.active_id
            await conversation.ready()
            if conversation.internals.replica.active_id != active:
                found.append((used, conversation.usage().used, conversation.internals.replica.fixed))
            assert conversation.usage().used <= shared.budget.limit
    limit = 54_000
    for (_, after, fixed), (used, *_) in pairwise(shrunk["priced"]):
        pays = growth_that_pays(Step(after=after, kept=fixed), CACHES["claude"])
        assert used - after >= min(pays, int(HIGHEST_RATIO * limit) - after) * 0.98
    assert 2 < len(shrunk["priced"]) < len(shrunk["unpriced"])


async def test_time_decides_nothing_unless_the_policy_says_so():
    """Offline, the same messages give the same contexts whenever they come, also where the cache has prices."""
    contexts: list[list[Message]] = []
    for seconds in (0.0, 100_000.0):
        clock = FakeClock()
        shared = Compactor(
            MemoryStore(), mode=DEFAULT, window=8_000, reserve=800, counter=Estimator(), clock=clock
        )
        shared.rates = CACHES["claude"]
        conversation = await shared.open("invoices")
        for number in range(60):
            await step(conversation, number)
            clock.advance(seconds)
            await conversation.ready()
        contexts.append([structs.replace(message, time=None) for message in conversation.context().messages])
    assert contexts[0] == contexts[1]


@pytest.mark.requirement("E4")
async def test_what_is_prepared_leaves_less_verbatim_where_what_is_still_to_come_is_priced():
    left: list[int] = []
    for rates in (CACHES["claude"], None):
        shared = compactor(mode=replace(DEFAULT, policy=Policy(prepare=0.8)), window=30_000)
        shared.rates = rates
        conversation = await shared.open("invoices")
        number = 0
        while conversation.records.prepared is None:
            await step(conversation, number)
            await conversation.ready()
            await conversation.internals.background.wait_idle()
            number += 1
        left.append(conversation.records.prepared.receipt.tokens_after)
    assert left[0] < left[1] * 0.9
