"""Which limits count, where the summary goes, and what a turn costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec import structs

from autocompact.compaction.modes import DEFAULT
from autocompact.compaction.record import Compaction, Placement
from autocompact.core.budget import Compact, Policy
from autocompact.core.messages import Image, Message, Text, Usage, text_message
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor
from autocompact.errors import IncompressibleContext, ModelOverflow
from autocompact.ports import Key, ModelReply, Snapshot
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock
from tests.engine.support import TalkingModel, compactor, step, work

pytestmark = pytest.mark.anyio
MODE = replace(DEFAULT, background=False)


def named(name: str, *, window: int | None = None) -> Compactor:
    model = TalkingModel(name=name, reply=lambda _: ModelOverflow("never asked"))
    return Compactor(MemoryStore(), model=model, mode=MODE, window=window, counter=Estimator())


def picture(number: int, size: int = 100) -> Message:
    image = Image(media_type="image/png", data=f"{number:08}" + "A" * size, width=32, height=32)
    return Message(seq=0, role="user", parts=(Text(text=f"Picture {number}."), image))


async def test_the_window_follows_the_model_and_tables_of_ones_own_go_first() -> None:
    assert named("gpt-4o").budget.window == 128_000
    assert named("claude-sonnet-4-5").budget.window == 200_000
    assert named("gpt-4o", window=9_000).budget.window == 9_000
    own = Compactor(
        MemoryStore(),
        model=TalkingModel(name="gpt-4o-mine"),
        windows={"gpt-4o-mine": 5_000},
        counter=Estimator(),
    )
    assert own.budget.window == 5_000


async def test_too_many_images_are_a_reason_to_compact_and_fewer_are_left() -> None:
    conversation = await named("claude-sonnet-4-5").open("pictures")
    for number in range(85):
        await conversation.append(picture(number))
        await conversation.say("Seen.", role="assistant")
    decision = conversation.internals.decisions.decide()
    assert isinstance(decision, Compact)
    assert decision.pressure.kind == "images"
    for number in range(85, 102):
        await conversation.append(picture(number))
        await conversation.say("Seen.", role="assistant")
    assert conversation.internals.replica.cost().images == 102
    context = await conversation.ready()  # does not fit: also without its model
    assert context.cost.images <= 100
    assert conversation.records.active is not None
    assert conversation.records.active.receipt.images_before == 102


async def test_too_many_bytes_are_refused_only_when_nothing_helps() -> None:
    conversation = await named("claude-sonnet-4-5").open("pictures")
    for number in range(40):
        await conversation.append(picture(number, size=1_000_000))
        await conversation.say("Seen.", role="assistant")
    assert conversation.internals.replica.cost().bytes > 32_000_000
    assert (await conversation.ready()).cost.bytes <= 32_000_000
    images = tuple(Image(media_type="image/png", data="A" * 17_000_000) for _ in range(2))
    await conversation.append(Message(seq=0, role="user", parts=(Text(text="Both?"), *images)))
    before = conversation.context()
    with pytest.raises(IncompressibleContext):
        await conversation.ready()
    assert conversation.context() == before


@pytest.mark.requirement("A7")
@pytest.mark.parametrize(
    "placement, role", [("system", "system"), ("user", "user"), ("assistant", "assistant")]
)
async def test_the_summary_goes_where_the_mode_says(placement: Placement, role: str) -> None:
    mode = replace(MODE, placement=placement)
    conversation = await compactor(mode=mode).open("task")
    await conversation.say("You are careful.", role="system")
    await work(conversation, 12)
    assert (await conversation.compact()).success
    (holder,) = [m for m in conversation.context().messages if "# Conversation Summary" in m.text]
    assert holder.role == role


async def test_many_tools_do_not_make_the_tail_disappear() -> None:
    conversation = await compactor(mode=MODE, window=40_000).open("task")
    conversation.internals.replica.use_tools(
        b'[{"name":"Read","description":"%s"}]' % (b"reads a file " * 6_000)
    )
    assert conversation.internals.replica.state.meter.overhead.tokens > 12_000
    number = 0
    while conversation.records.active is None:
        await step(conversation, number)
        number += 1
        await conversation.ready()
    assert sum(len(message.results) for message in conversation.context().messages) >= 3


async def test_an_empty_conversation_whose_tools_do_not_fit_is_refused_with_figures() -> None:
    conversation = await compactor(mode=MODE).open("task")
    conversation.internals.replica.use_tools(
        b'[{"name":"Read","description":"%s"}]' % (b"reads a file " * 6_000)
    )
    with pytest.raises(IncompressibleContext, match=r"tools \d"):
        await conversation.ready()


async def test_what_only_the_provider_sees_is_named_where_nothing_fits() -> None:
    conversation = await compactor(mode=MODE, window=10_000).open("task")
    await conversation.say("What is the total? " * 30)
    reply = text_message(0, "assistant", "It is 12.")
    await conversation.append(structs.replace(reply, usage=Usage(prompt=9_500, completion=5)))
    await conversation.say("And without the tax?")
    result = await conversation.compact()

    limit = conversation.internals.replica.shared.budget.limit
    assert not result.success
    assert f"but only {limit:,} fit. What fills it: what the provider adds by itself 9," in result.message


async def test_a_compaction_by_hand_says_when_there_is_nothing_to_gain_yet() -> None:
    conversation = await compactor(mode=MODE).open("task")
    await conversation.say("Hello.")
    result = await conversation.compact()

    assert not result.success
    assert (
        result.message
        == "there is nothing to compact yet: a summary would take no less than what it stands for"
    )


async def test_an_overflow_where_nothing_can_be_gained_reaches_the_caller() -> None:
    conversation = await compactor(mode=MODE).open("task")
    await conversation.say("word " * 500)
    calls: list[int] = []

    async def call(context: object) -> ModelReply:
        calls.append(1)
        raise ModelOverflow("maximum context length exceeded", status=400)

    with pytest.raises(ModelOverflow):
        await conversation.attempt(call)
    assert calls == [1]


async def test_the_breaker_opens_when_compactions_are_of_no_use_and_says_why() -> None:
    mode = replace(MODE, policy=Policy(tokens=500, min_growth=0.0, tail_tokens=0))
    conversation = await compactor(mode=mode, window=50_000).open("task")
    await conversation.say("word " * 4_000)
    made: list[int] = []
    for number in range(12):
        await conversation.say(f"ok {number}, " * 3, role="assistant")
        await conversation.ready()
        made.append(len(await conversation.records.all()))
    assert made[-1] <= 4
    assert conversation.internals.replica.state.breaker.is_open
    assert (
        "freed only" in conversation.internals.decisions.decide().reason
        or "nothing to compact" in conversation.internals.decisions.decide().reason
    )


class Counting(Estimator):
    """Counts how many characters it is asked to count."""

    characters = 0

    def count(self, text: str) -> int:
        self.characters += len(text)
        return super().count(text)


class Watched(MemoryStore):
    """Counts what is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self.written, self.messages = 0, 0, 0

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> None:
        self.written += len(messages)
        await super().append(key, messages, after=after, resent=resent)

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        self.reads += 1
        snapshot = await super().load(key, after=after)
        self.messages += len(snapshot.messages)
        return snapshot

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        self.reads += 1
        return await super().read(key, from_seq=from_seq, through_seq=through_seq)


@pytest.mark.parametrize("length", [10, 1_000])
async def test_a_turn_counts_and_touches_only_what_is_new_however_long_the_conversation_is(
    length: int,
) -> None:
    counter, store = Counting(), Watched()
    shared = Compactor(store, mode=MODE, window=10_000_000, counter=counter)
    conversation = await shared.open("long")
    for number in range(length):
        await conversation.say(f"Message {number}: " + "words " * 20)
        await conversation.ready()
    counter.characters = store.reads = store.written = 0
    await conversation.say("x" * 100)
    await conversation.ready()
    conversation.should_compact()
    assert counter.characters == 100
    assert (store.reads, store.written) == (0, 1)


async def test_a_compaction_reads_no_message_of_the_log_a_second_time() -> None:
    store = Watched()
    shared = Compactor(store, mode=MODE, window=4_000, reserve=400, counter=Estimator())
    conversation = await shared.open("long")
    await work(conversation, 40)
    store.messages = 0
    assert (await conversation.compact()).success
    assert (store.messages, conversation.records.active is not None) == (0, True)


async def test_the_same_history_offline_gives_the_same_records() -> None:
    async def lived() -> tuple[Compaction, ...]:
        clock = FakeClock()
        shared = Compactor(
            MemoryStore(clock=clock), mode=MODE, window=4_000, reserve=400, counter=Estimator(), clock=clock
        )
        conversation = await shared.open("task")
        for start in range(0, 60, 5):
            await work(conversation, 5, start=start)
            await conversation.ready()
        await conversation.records.undo()
        await conversation.compact("tax")
        return await conversation.records.all()

    first = await lived()
    assert len(first) >= 3
    assert first == await lived()
