"""Several processes on one store, and processes that are killed while they write to it."""

from __future__ import annotations

import signal

import pytest

from autocompact.core.messages import text_message
from autocompact.stores.naming import store_place
from autocompact.stores.opening import open_store
from autocompact.testing.clock import FakeClock
from autocompact.testing.records import KEY, compaction
from tests.stores.child import OTHER
from tests.stores.support import ask, child, finish

pytestmark = pytest.mark.anyio

TURNS = 100


async def test_two_processes_compact_one_conversation_and_exactly_one_wins_each_time(place: str) -> None:
    names = ("ann", "bob")
    rivals = [child("compete", place, name) for name in names]
    in_force, said, winners = "", list[str](), list[str]()
    for turn in range(1, TURNS + 1):
        for rival in rivals:
            assert rival.stdin is not None
            rival.stdin.write(f"{turn} {in_force}\n")
        answers = dict(zip(names, (ask(rival) for rival in rivals), strict=True))
        (author,) = [name for name, answer in answers.items() if answer.startswith("appended ")]
        (winner,) = [name for name, answer in answers.items() if answer.endswith(" won")]
        said.append(f'{{"role": "user",  "content": "{turn} by {author} \\u00e9"}}')
        winners.append(in_force := f"{turn}-{winner}")
    assert [finish(rival) for rival in rivals] == [0, 0]
    async with open_store(store_place(place)) as store:
        assert [message.raw for message in await store.read(KEY)] == [text.encode() for text in said]
        records = await store.compactions(KEY)
        assert [record.id for record in records] == winners
        assert [record.parent for record in records] == ["", *winners[:-1]]
        assert (await store.load(KEY)).active == records[-1]


STEPS = {
    "append:begun": 0,
    "append:written": 0,
    "append:committed": 1,
    "acquire:begun": 1,
    "acquire:written": 1,
    "acquire:committed": 2,
    "commit:begun": 2,
    "commit:written": 2,
    "commit:committed": 3,
    "delete:begun": 3,
    "delete:written": 3,
    "delete:committed": 4,
}
"""Where the process is killed, and how many of its four operations are there afterwards."""


@pytest.mark.parametrize("step, done", STEPS.items())
async def test_a_killed_process_leaves_all_of_a_step_or_nothing(place: str, step: str, done: int) -> None:
    clock = FakeClock()
    log = [text_message(seq, "user", f"words {seq}") for seq in range(1, 5)]
    first, prepared = compaction("c1", 2), compaction("p", 4, status="prepared")
    async with open_store(store_place(place), clock=clock) as store:
        await store.append(KEY, log, after=0)
        await store.append(OTHER, log, after=0)
        await store.commit(KEY, records=[first, prepared], active="c1", expected=None, fence=0)

    victim = child("die_at", place, step)
    assert finish(victim) == -signal.SIGKILL

    log += [text_message(seq, "user", f"more {seq}") for seq in (5, 6)]
    second = compaction("c2", 5, parent="c1")
    async with open_store(store_place(place), clock=clock) as store:
        loaded = await store.load(KEY)
        assert await store.read(KEY) == tuple(log if done >= 1 else log[:4])
        assert loaded.active == (second if done >= 3 else first)
        assert loaded.state == (b"new" if done >= 3 else b"")
        assert loaded.prepared == prepared
        assert await store.delete(OTHER) is (done < 4)

        lease = await store.acquire(KEY, holder="next", seconds=60)
        assert (lease is None) is (done >= 2)
        if lease is None:
            clock.advance(61)
            lease = await store.acquire(KEY, holder="next", seconds=60)
        assert lease is not None
        third = compaction("c3", loaded.last_seq, parent=loaded.active.id if loaded.active else "")
        await store.commit(KEY, records=[third], active="c3", expected=third.parent, fence=lease.fence)
        assert (await store.load(KEY)).active == third
