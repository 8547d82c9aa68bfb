"""The lease while a compaction runs, and what happens to its result when the world changed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Policy
from autocompact.core.messages import Message, Text
from autocompact.engine.state import EngineState
from autocompact.engine.work import LEASE_SECONDS, leased
from autocompact.errors import ModelOverflow, StoreCorrupt, StoreUnavailable
from autocompact.events import CompactionDiscarded, Event
from autocompact.ports import Key, Lease, ModelReply
from autocompact.stores.memory import MemoryStore
from tests.engine.support import SUMMARY, TalkingModel, compactor, step, work

pytestmark = pytest.mark.anyio
KEY = Key(conversation="task")


class Beating(MemoryStore):
    """Answers renewals as told: True, False or an error; `beats` counts them."""

    def __init__(self, answers: Sequence[bool | Exception]) -> None:
        super().__init__()
        self.answers = list(answers)
        self.enough = asyncio.Event()

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        answer = self.answers.pop(0)
        if not self.answers:
            self.enough.set()
        if isinstance(answer, Exception):
            raise answer
        return answer and await super().renew(lease, seconds=seconds)


@pytest.mark.parametrize(
    "answers", [(True, True, False), (StoreUnavailable("locked"), True, StoreUnavailable("locked"), False)]
)
async def test_a_lease_is_renewed_until_it_is_lost_and_a_store_that_is_busy_does_not_end_it(
    answers: Sequence[bool | Exception],
) -> None:
    store = Beating(answers)
    async with leased(store, KEY, holder="me", seconds=0.003):
        await store.enough.wait()
    assert store.answers == []


async def test_a_store_that_answers_slowly_gives_longer_leases_so_that_none_ends_while_it_is_renewed() -> (
    None
):
    now, asked = 0.0, list[float]()
    enough = asyncio.Event()

    class Slow(MemoryStore):
        async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
            nonlocal now
            asked.append(seconds)
            now += 4.0
            return await super().acquire(key, holder=holder, seconds=seconds)

        async def renew(self, lease: Lease, *, seconds: float) -> bool:
            asked.append(seconds)
            enough.set()
            return False

    async with leased(Slow(), KEY, holder="me", monotonic=lambda: now):
        await enough.wait()  # at once, since most of the first one is over
    assert asked == [LEASE_SECONDS, 20.0]


async def test_a_lease_that_cannot_be_given_back_expires_and_hides_no_result() -> None:
    class Stubborn(MemoryStore):
        async def release(self, lease: Lease) -> None:
            raise StoreUnavailable("locked")

    conversation = await compactor(store=Stubborn()).open("task")
    await work(conversation, 12)
    assert (await conversation.compact()).success
    assert "being compacted already" in (await conversation.compact()).message


async def test_an_edit_while_an_automatic_compaction_is_made_is_answered_by_another_decision() -> None:
    mode = replace(DEFAULT, background=False, policy=Policy(tail_tokens=0))
    asked, go_on = asyncio.Event(), asyncio.Event()

    class Slow(TalkingModel):
        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            asked.set()
            await go_on.wait()
            return ModelReply(text=SUMMARY)

    conversation = await compactor(model=Slow(), mode=mode).open("task")
    while not conversation.should_compact():
        await step(conversation, len(conversation))
    running = asyncio.create_task(conversation.ready())
    await asked.wait()
    await conversation.append(Message(seq=0, role="user", parts=(Text(text="Anew."),), replaces=1))
    go_on.set()
    context = await running
    assert [message.text for message in context.messages] == ["Anew."]
    assert await conversation.records.all() == ()


async def test_a_prepared_compaction_that_would_not_make_enough_room_is_thrown_away() -> None:
    mode = replace(DEFAULT, policy=Policy(tail_tokens=0))
    conversation = await compactor(model=TalkingModel(), mode=mode, window=8_000).open("task")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    while conversation.records.prepared is None:
        await step(conversation, len(conversation))
        await conversation.ready()
        await conversation.internals.background.wait_idle()
    prepared = conversation.records.prepared
    await conversation.append(Message(seq=0, role="assistant", parts=(Text(text="word " * 7_500),)))
    context = await conversation.ready()
    assert CompactionDiscarded(conversation_id="task", compaction_id=prepared.id) in heard
    assert conversation.records.active is not None
    assert conversation.records.active.through_seq > prepared.through_seq
    assert context.cost.tokens <= conversation.internals.replica.shared.budget.limit


async def test_an_overflow_with_nothing_in_the_log_reaches_the_caller() -> None:
    conversation = await compactor().open("task")

    async def call(context: object) -> ModelReply:
        raise ModelOverflow("maximum context length exceeded", status=400)

    with pytest.raises(ModelOverflow):
        await conversation.attempt(call)


def test_a_state_that_is_none_is_refused_and_one_that_was_never_written_is_the_first() -> None:
    assert EngineState.decode(b"") == EngineState()
    state = EngineState(pins=(1, 2), request=7, made=3, unseen=40)
    assert EngineState.decode(state.encode()) == state
    with pytest.raises(StoreCorrupt):
        EngineState.decode(b"{")
