"""What `ready` promises whatever model is given: no context that does not fit, no error that is not ours."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace

import pytest

from autocompact.compaction.modes import DEFAULT
from autocompact.core.budget import Compact, Policy
from autocompact.core.messages import Image, Message, Text, Usage
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import IncompressibleContext, ModelError
from autocompact.events import BreakerOpened, Event
from autocompact.ports import ModelReply
from autocompact.stores.memory import MemoryStore
from tests.engine.support import SUMMARY, TalkingModel, compactor, step, work

pytestmark = pytest.mark.anyio
MODE = replace(DEFAULT, policy=Policy(tail_tokens=0))
AT_ONCE = replace(MODE, background=False)


class Foreign(TalkingModel):
    """A model of the user's own: what it raises is no error of ours."""

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        self.requests.append(tuple(messages))
        raise RuntimeError(
            "the pool is closed; Authorization: Bearer sk-proj-Xy12Zw34Ab56Cd78Ef90Gh12Ij34Kl56"
        )


class Wrong(TalkingModel):
    """A model of the user's own that answers with something else than a reply."""

    answer: object = None

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        return self.answer  # pyright: ignore[reportReturnType] - that is what this test is about


async def until_due(conversation: Conversation) -> None:
    number = 0
    while not isinstance(conversation.internals.decisions.decide(), Compact):
        await step(conversation, number)
        number += 1


# Models that fail in their own way


@pytest.mark.requirement("E5")
async def test_whatever_a_model_raises_ready_hands_out_the_context_and_counts_a_failure() -> None:
    model = Foreign()
    conversation = await compactor(model=model, mode=AT_ONCE, window=8_000).open("task")
    heard: list[Event] = []
    conversation.internals.replica.shared.subscribe(heard.append)
    await until_due(conversation)
    before = conversation.context()
    for _ in range(5):
        assert await conversation.ready() == before
    assert len(model.requests) == 3
    (opened,) = [event for event in heard if isinstance(event, BreakerOpened)]
    assert opened.reason.startswith("the model 'talking-model' failed: RuntimeError: the pool is closed")
    assert "Xy12Zw34" not in opened.reason


@pytest.mark.requirement("E5", "E6")
async def test_whatever_a_model_raises_a_request_that_would_not_fit_gets_the_steps_without_a_model() -> None:
    conversation = await compactor(model=Foreign(), mode=AT_ONCE, window=8_000).open("task")
    await work(conversation, 60)
    context = await conversation.ready()
    assert context.cost.tokens <= conversation.internals.replica.shared.budget.limit
    assert conversation.records.active is not None
    assert "RuntimeError" in conversation.records.active.receipt.problem


async def test_what_is_prepared_with_a_model_that_raises_anything_counts_as_a_failure_as_well() -> None:
    model = Foreign()
    conversation = await compactor(model=model, mode=MODE, window=8_000).open("task")
    await work(conversation, 24)
    for _ in range(6):
        await conversation.ready()
        await conversation.internals.background.wait_idle()
    assert len(model.requests) == 3
    assert conversation.internals.replica.state.breaker.is_open


async def test_a_compaction_by_hand_reports_what_a_model_of_ones_own_raised() -> None:
    conversation = await compactor(model=Foreign(), mode=MODE).open("task")
    await work(conversation, 12)
    result = await conversation.compact()
    assert isinstance(result.error, ModelError)
    assert isinstance(result.error.__cause__, RuntimeError)


@pytest.mark.parametrize(
    "answer, named",
    [("words", "str"), (None, "NoneType"), (ModelReply(text=None), "ModelReply whose text")],  # pyright: ignore[reportArgumentType] - that is what this test is about
)
async def test_a_model_that_answers_with_no_reply_is_told_what_a_reply_is(answer: object, named: str) -> None:
    model = Wrong()
    model.answer = answer
    conversation = await compactor(model=model, mode=MODE).open("task")
    await work(conversation, 12)
    result = await conversation.compact()
    assert isinstance(result.error, ModelError)
    assert named in result.message
    assert "must return a ModelReply" in result.message


async def test_a_count_that_is_no_number_is_a_failure_of_the_model() -> None:
    class Miscounting(TalkingModel):
        async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
            return "many"  # pyright: ignore[reportReturnType] - that is what this test is about

    conversation = await compactor(model=Miscounting(), mode=MODE).open("task")
    with pytest.raises(ModelError, match="counted 'many'"):
        await conversation.internals.execution.recount()


async def test_a_cancellation_passes_through_a_model() -> None:
    class Cancelled(TalkingModel):
        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            raise asyncio.CancelledError

    conversation = await compactor(model=Cancelled(), mode=AT_ONCE, window=8_000).open("task")
    await work(conversation, 60)
    with pytest.raises(asyncio.CancelledError):
        await conversation.ready()
    assert conversation.records.active is None
    assert not conversation.internals.replica.state.breaker.failures


async def test_a_model_whose_complete_does_not_wait_is_a_model_too() -> None:
    class Synchronous(TalkingModel):
        def complete(  # pyright: ignore[reportIncompatibleMethodOverride] - that is what this test is about
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            return ModelReply(text=SUMMARY, stop_reason="stop")

    conversation = await compactor(model=Synchronous(), mode=MODE).open("task")
    await work(conversation, 12)
    assert (await conversation.compact()).success


# Contexts that do not fit


@pytest.mark.requirement("E5")
async def test_a_context_that_does_not_fit_is_refused_where_nothing_can_be_gained() -> None:
    conversation = await compactor(mode=MODE, window=8_000).open("task")
    await conversation.say("What is the total? " * 20)
    await conversation.append(
        Message(seq=0, role="assistant", parts=(Text(text="12."),), usage=Usage(prompt=7_500, completion=5))
    )
    before = conversation.context()
    with pytest.raises(IncompressibleContext) as refused:
        await conversation.ready()
    limit = conversation.internals.replica.shared.budget.limit
    assert refused.value.limit <= limit
    assert sum(refused.value.breakdown.values()) > refused.value.limit
    assert conversation.context() == before


async def test_by_a_provider_that_counts_more_than_we_do_the_context_is_made_smaller_until_it_fits() -> None:
    conversation = await compactor(mode=AT_ONCE, window=20_000).open("task")
    await work(conversation, 30)
    tokens = conversation.internals.replica.cost().tokens
    assert tokens < conversation.internals.replica.shared.budget.limit
    conversation.report(Usage(prompt=19_000))
    assert conversation.usage().used > conversation.internals.replica.shared.budget.limit
    await conversation.ready()
    assert conversation.usage().used <= conversation.internals.replica.shared.budget.limit


async def test_too_many_pictures_are_refused_with_the_number_of_pictures() -> None:
    shared = Compactor(
        MemoryStore(), model=TalkingModel(name="claude-sonnet-4-5"), mode=MODE, counter=Estimator()
    )
    conversation = await shared.open("pictures")
    images = tuple(Image(media_type="image/png", data="A" * 100, width=8, height=8) for _ in range(120))
    await conversation.append(Message(seq=0, role="user", parts=(Text(text="All of them?"), *images)))
    with pytest.raises(
        IncompressibleContext, match=r"120 images, but only 100 fit\. What fills it: user 120"
    ):
        await conversation.ready()


# What is held


async def test_a_compactor_that_was_replaced_holds_no_finished_task() -> None:
    store = MemoryStore()
    old, new = (compactor(model=TalkingModel(), mode=MODE, window=8_000, store=store) for _ in range(2))
    conversation = await old.open("task")
    number = 0
    while not conversation.internals.background.running:
        await step(conversation, number)
        await conversation.ready()
        number += 1
    (task,) = (weakref.ref(each) for each in old.tasks)
    conversation.internals.replica.shared = new
    await conversation.internals.background.wait_idle()
    gc.collect()
    assert task() is None
    assert not old.tasks
    assert not new.tasks


async def test_a_long_life_holds_no_task_behind() -> None:
    shared = compactor(model=TalkingModel(), mode=MODE, window=4_000)
    conversation = await shared.open("task")
    for number in range(80):
        await step(conversation, number)
        await conversation.ready()
        assert len(shared.tasks) <= 1
    await conversation.internals.background.wait_idle()
    assert not shared.tasks
