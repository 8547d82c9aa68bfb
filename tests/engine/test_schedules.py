"""Invariant 11: what a conversation gives depends on what was said, not on when the scheduler runs what."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocompact.compaction.modes import CODING_AGENT, DEFAULT, MODES, Mode
from autocompact.compaction.record import Compaction
from autocompact.core.budget import Policy
from autocompact.core.messages import Message, Text
from autocompact.core.tokens import Estimator
from autocompact.engine import Compactor, Conversation
from autocompact.errors import AutocompactError
from autocompact.ports import Key, Lease, ModelReply, Snapshot
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.testing.clock import FakeClock
from autocompact.wire import export_messages
from tests.engine.support import SUMMARY, TalkingModel, step, work

pytestmark = pytest.mark.anyio

Pause = Callable[[], Awaitable[None]]


async def at_once() -> None:
    """The tight loop: nothing ever gives way."""


async def a_moment(chance: random.Random) -> None:
    """Another schedule each time: others run for some rounds of the loop, or until all is done."""
    for _ in range(chance.choice((0, 0, 1, 2, 7))):
        await asyncio.sleep(0)


class Unsteady(MemoryStore):
    """A store whose answers take some rounds of the loop."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(clock=FakeClock())
        self._chance = chance

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        await a_moment(self._chance)
        return await super().append(key, messages, after=after, resent=resent)

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        await a_moment(self._chance)
        return await super().load(key, after=after)

    async def commit(
        self,
        key: Key,
        *,
        records: Sequence[Compaction] = (),
        active: str | None,
        expected: str | None,
        fence: int,
        state: bytes | None = None,
    ) -> None:
        await a_moment(self._chance)
        await super().commit(key, records=records, active=active, expected=expected, fence=fence, state=state)

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        await a_moment(self._chance)
        return await super().acquire(key, holder=holder, seconds=seconds)

    async def release(self, lease: Lease) -> None:
        await a_moment(self._chance)
        await super().release(lease)


async def lived(
    store: MemoryStore | SqliteStore, *, script: Sequence[str], mode: Mode = DEFAULT, pause: Pause = at_once
) -> list[object]:
    """Everything that one life of a conversation gives: each context, each refusal, each record."""
    given_out: list[object] = []
    shared = Compactor(store, mode=mode, window=4_000, reserve=400, counter=Estimator(), clock=FakeClock())
    conversation = await shared.open("task")
    await conversation.say("You are careful.", role="system")
    await work(conversation, 6, start=1_000)
    for number, what in enumerate(script):
        try:
            await done(conversation, what, number=number)
            await pause()
            context = await conversation.ready()
            given_out.append(export_messages(context.messages, dialect="openai_chat").messages)
        except AutocompactError as error:
            given_out.append(str(error))
        given_out.append(
            (conversation.internals.replica.active_id, conversation.internals.replica.state.breaker)
        )
    await conversation.internals.background.wait_idle()
    given_out += [
        (record.id, record.parent, record.status, record.through_seq, record.keep, record.summary)
        for record in await conversation.records.all()
    ]
    await shared.aclose()
    return given_out


async def done(conversation: Conversation, what: str, *, number: int) -> None:
    match what:
        case "ask":
            await conversation.say(f"Please round item {number} as well, and say why.")
        case "step":
            await step(conversation, number)
        case "long":
            await step(conversation, number, lines=30)
        case "edit":
            seq = max(2, len(conversation) - 3)
            await conversation.append(
                Message(seq=0, role="user", parts=(Text(text="No: by hand."),), replaces=seq)
            )
        case "compact":
            await conversation.compact("tax")
        case "undo":
            await conversation.records.undo()
        case _:
            await conversation.records.pin(max(1, len(conversation) - 2))


WHAT = st.sampled_from(("ask", "step", "step", "step", "long", "edit", "compact", "undo", "pin"))
SCRIPT = (
    *("ask", "step", "step", "step") * 14,
    "edit",
    "undo",
    *("step",) * 8,
    "compact",
    "pin",
    *("long",) * 3,
)


@given(script=st.lists(WHAT, max_size=30), seed=st.integers(0, 2**32), name=st.sampled_from(sorted(MODES)))
async def test_a_script_gives_the_same_contexts_under_any_schedule(
    script: list[str], seed: int, name: str
) -> None:
    mode = replace(MODES[name], background=True, policy=replace(MODES[name].policy, tokens=None))
    chance = random.Random(seed)
    tight = await lived(MemoryStore(clock=FakeClock()), script=script, mode=mode)
    loose = await lived(Unsteady(chance), script=script, mode=mode, pause=partial(a_moment, chance))
    assert loose == tight


async def test_the_contexts_are_the_same_in_memory_and_on_disk_hurried_and_at_leisure(tmp_path: Path) -> None:
    tight = await lived(MemoryStore(clock=FakeClock()), script=SCRIPT)
    on_disk = await lived(SqliteStore(tmp_path / "chats.db", clock=FakeClock()), script=SCRIPT)
    leisure = await lived(
        Unsteady(random.Random(7)), script=SCRIPT, pause=partial(a_moment, random.Random(8))
    )
    assert on_disk == tight == leisure
    assert "'c5'" in repr(tight)  # it was compacted again and again


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("model", [None, TalkingModel()], ids=["offline", "a model that never waits"])
@pytest.mark.parametrize("mode", [DEFAULT, CODING_AGENT], ids=lambda mode: mode.name)
@pytest.mark.requirement("E4")
async def test_in_a_loop_that_never_waits_no_context_is_above_the_threshold(
    tmp_path: Path, mode: Mode, model: TalkingModel | None, kind: str
) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "chats.db")
    mode = replace(mode, policy=Policy(tokens=8_000), recount=False)
    async with Compactor(store, model=model, mode=mode, window=200_000, counter=Estimator()) as shared:
        conversation = await shared.open("task")
        highest = 0
        for number in range(200):
            await work(conversation, 1, start=number)
            await conversation.ready()
            highest = max(highest, conversation.usage().used)
        assert 4_000 < highest < 8_000
        assert len([r for r in await conversation.records.all() if r.receipt.trigger == "prepared"]) > 2


async def test_what_is_prepared_is_made_of_the_log_as_it_was_when_it_began() -> None:
    class Writing(TalkingModel):
        """The person goes on while the model is at it."""

        async def complete(
            self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
        ) -> ModelReply:
            await step(conversation, 900)
            return ModelReply(text=SUMMARY, stop_reason="stop")

    shared = Compactor(
        MemoryStore(),
        model=Writing(),
        mode=replace(DEFAULT, policy=Policy(tail_tokens=0)),
        window=8_000,
        reserve=800,
        counter=Estimator(),
    )
    conversation = await shared.open("task")
    began = 0
    for number in range(100):
        await step(conversation, number)
        await step(conversation, number + 100)
        began = len(conversation)
        await conversation.ready()
        if conversation.internals.background.running:
            break
    await step(conversation, 500)
    await conversation.internals.background.wait_idle()
    assert conversation.records.prepared is not None
    assert conversation.records.prepared.through_seq <= began
