"""Conformance tests that every store must pass: `StoreConformance`.

A store of your own is checked by a subclass in your tests; it needs pytest, hypothesis and anyio's pytest plugin:

    class TestMyStore(StoreConformance):
        async def make_store(self, clock):
            return MyStore(clock=clock)
"""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from autocompact.core.messages import Image, Message, Text, text_message
from autocompact.core.redacted import own
from autocompact.errors import Conflict, InvalidInput
from autocompact.ports import NO_MESSAGES, Clock, ConversationInfo, Key, Snapshot
from autocompact.testing.clock import FakeClock
from autocompact.testing.forgetting import RetentionConformance, StoreUnderTest
from autocompact.testing.messages import logs
from autocompact.testing.records import KEY, compaction, talk

_ONE_STORE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class StoreConformance(RetentionConformance, ABC):
    """Subclass it, say how a store is made, and pytest runs every test on it."""

    pytestmark = pytest.mark.anyio

    @abstractmethod
    async def make_store(self, clock: Clock) -> StoreUnderTest:
        """A new, empty store that takes its time from ``clock``; the tests close it."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """The event loop of the tests."""
        return "asyncio"

    @pytest.fixture
    def clock(self) -> FakeClock:
        """The store's clock."""
        return FakeClock()

    @pytest.fixture
    async def store(self, clock: FakeClock) -> AsyncGenerator[StoreUnderTest]:
        """The store."""
        store = await self.make_store(clock)
        yield store
        await store.aclose()

    # The log

    @_ONE_STORE
    @given(log=logs(), cut=st.integers(0, 12))
    async def test_a_log_reads_back_as_it_was_written(
        self, store: StoreUnderTest, *, log: list[Message], cut: int
    ) -> None:
        """Raw bytes, parts and every field, however many appends it took."""
        key = Key(conversation=uuid.uuid4().hex)
        await store.append(key, log[:cut], after=0)
        await store.append(key, log[cut:], after=len(log[:cut]))
        assert await store.read(key) == tuple(log)
        assert (await store.load(key)).messages == tuple(log)

    async def test_a_range_of_the_log_is_read_in_order(self, store: StoreUnderTest) -> None:
        """Both ends belong to it; what is not there is left out."""
        log = talk("system", "user", "assistant", "user", "assistant")
        await store.append(KEY, log, after=0)
        assert await store.read(KEY, from_seq=2, through_seq=4) == tuple(log[1:4])
        assert await store.read(KEY, from_seq=4) == tuple(log[3:])
        assert await store.read(KEY, through_seq=2) == tuple(log[:2])
        assert await store.read(KEY, from_seq=6) == ()
        assert await store.read(KEY, from_seq=3, through_seq=2) == ()
        assert await store.read(KEY, from_seq=-1, through_seq=99) == tuple(log)
        assert await store.read(KEY, through_seq=0) == ()

    async def test_a_conversation_that_does_not_exist_is_empty(self, store: StoreUnderTest) -> None:
        """And asking for it does not make it."""
        assert await store.load(KEY) == Snapshot(key=KEY)
        assert await store.read(KEY) == ()
        assert await store.compactions(KEY) == ()
        assert await store.delete(KEY) is False
        await store.append(KEY, [], after=0)
        assert await store.conversations(KEY.namespace) == ()

    async def test_appending_elsewhere_than_at_the_end_is_a_conflict(self, store: StoreUnderTest) -> None:
        """And changes nothing."""
        log = talk("user", "assistant", "user")
        with pytest.raises(Conflict):
            await store.append(KEY, log[1:], after=1)
        await store.append(KEY, log, after=0)
        with pytest.raises(Conflict):
            await store.append(KEY, talk("user", "user", "user")[2:], after=2)
        with pytest.raises(Conflict):
            await store.append(KEY, [], after=2)
        assert await store.read(KEY) == tuple(log)

    async def test_of_a_resent_history_what_is_missing_is_appended(self, store: StoreUnderTest) -> None:
        """However far the log goes; what another program put in its place is a conflict, and nothing is lost."""
        log, theirs = talk("user", "assistant", "user", "assistant"), text_message(5, "user", "Theirs.")
        await store.append(KEY, log[:2], after=0, resent=True)
        await store.append(KEY, log[1:3], after=1, resent=True)
        assert await store.read(KEY) == tuple(log[:3])
        await store.append(KEY, log, after=0, resent=True)
        await store.append(KEY, [theirs], after=4)
        for start in range(4):
            # the log goes on after them
            await store.append(KEY, log[start:], after=start, resent=True)
        ours = text_message(5, "user", "Ours.")
        with pytest.raises(Conflict, match="other messages after 3"):
            await store.append(KEY, [log[3], ours], after=3, resent=True)
        with pytest.raises(Conflict):
            await store.append(KEY, [text_message(7, "user", "After a gap.")], after=6, resent=True)
        assert await store.read(KEY) == (*log, theirs)

    async def test_messages_that_are_not_numbered_on_are_refused(self, store: StoreUnderTest) -> None:
        """All of them."""
        log = talk("user", "assistant")
        for wrong in (
            [log[0], structs.replace(log[1], seq=3)],
            [structs.replace(log[0], replaces=1)],
            [log[0], structs.replace(log[1], replaces=0)],
        ):
            with pytest.raises(InvalidInput):
                await store.append(KEY, wrong, after=0)
        assert await store.read(KEY) == ()

    async def test_of_concurrent_appends_at_one_place_one_succeeds(self, store: StoreUnderTest) -> None:
        """The others hear of it and can go on behind it."""

        async def say(name: str) -> int:
            conflicts = 0
            while True:
                last = (await store.load(KEY)).last_seq
                try:
                    await store.append(KEY, [text_message(last + 1, "user", name)], after=last)
                except Conflict:
                    conflicts += 1
                else:
                    return conflicts

        names = [f"writer {n}" for n in range(8)]
        await asyncio.gather(*map(say, names))
        log = await store.read(KEY)
        assert sorted(message.text for message in log) == names
        assert [message.seq for message in log] == list(range(1, 9))

    # Loading

    async def test_loading_brings_only_what_a_context_needs(self, store: StoreUnderTest) -> None:
        """The system prompt, what was kept, and what came after the compaction."""
        log = talk("system", "system", "user", "assistant", "user", "assistant", "user")
        await store.append(KEY, log, after=0)
        record = compaction("c1", 5, keep=(2, 4))
        await store.commit(KEY, records=[record], active="c1", expected=None, fence=0, state=b"{}")
        loaded = await store.load(KEY)
        assert loaded == Snapshot(
            key=KEY,
            active=record,
            earlier=(log[0], log[1], log[3]),
            prompt=(1, 2),
            messages=tuple(log[5:]),
            last_seq=7,
            state=b"{}",
        )

    async def test_loading_leaves_out_the_messages_that_nobody_asks_for(self, store: StoreUnderTest) -> None:
        """What the log ends with and what is active are there all the same."""
        log = talk("system", "user", "assistant", "user", "assistant")
        await store.append(KEY, log, after=0)
        assert (await store.load(KEY, after=3)).messages == tuple(log[3:])
        await store.commit(
            KEY, records=[compaction("c1", 2)], active="c1", expected=None, fence=0, state=b"{}"
        )
        whole = await store.load(KEY)
        for after, rest in ((0, log[2:]), (1, log[2:]), (4, log[4:]), (5, []), (NO_MESSAGES, [])):
            assert await store.load(KEY, after=after) == replace(whole, messages=tuple(rest))

    async def test_the_system_prompt_is_the_one_that_was_not_replaced(self, store: StoreUnderTest) -> None:
        """An edit may bring a new one, or take it away."""
        log = talk("system", "user", "system", "user", "assistant", "user", "assistant")
        log[2] = structs.replace(log[2], replaces=1)
        log[5] = structs.replace(log[5], replaces=4)
        await store.append(KEY, log, after=0)
        for through, prompt in ((2, [1]), (3, [3]), (5, [3]), (7, [3])):
            expected = (await store.load(KEY)).active
            await store.commit(
                KEY,
                records=[compaction(f"c{through}", through)],
                active=f"c{through}",
                expected=expected.id if expected else None,
                fence=0,
            )
            loaded = await store.load(KEY)
            assert [message.seq for message in loaded.earlier] == prompt
            assert loaded.messages == tuple(log[through:])

    async def test_a_log_without_a_system_prompt_brings_only_what_was_kept(
        self, store: StoreUnderTest
    ) -> None:
        """A system message later on is no prompt."""
        log = talk("user", "system", "assistant")
        await store.append(KEY, log, after=0)
        await store.commit(KEY, records=[compaction("c1", 3)], active="c1", expected=None, fence=0)
        loaded = await store.load(KEY)
        assert (loaded.earlier, loaded.messages, loaded.last_seq) == ((), (), 3)

    # Compactions

    async def test_a_commit_on_another_compaction_than_expected_changes_nothing(
        self, store: StoreUnderTest
    ) -> None:
        """Compare and swap."""
        await store.append(KEY, talk("user", "assistant"), after=0)
        first, second = compaction("c1", 1), compaction("c2", 2)
        await store.commit(KEY, records=[first], active="c1", expected=None, fence=0)
        before = await store.load(KEY)
        for expected in (None, "c2"):
            with pytest.raises(Conflict):
                await store.commit(
                    KEY, records=[second], active="c2", expected=expected, fence=0, state=b"new"
                )
        assert await store.load(KEY) == before
        assert await store.compactions(KEY) == (first,)

    async def test_only_a_record_that_is_there_can_be_put_in_force(self, store: StoreUnderTest) -> None:
        """Else nothing changes."""
        await store.append(KEY, talk("user"), after=0)
        with pytest.raises(Conflict):
            await store.commit(
                KEY, records=[compaction("c1", 1)], active="c2", expected=None, fence=0, state=b"new"
            )
        assert await store.compactions(KEY) == ()
        assert (await store.load(KEY)).state == b""

    async def test_of_concurrent_commits_on_one_compaction_one_succeeds(self, store: StoreUnderTest) -> None:
        """The others raise."""
        await store.append(KEY, talk("user", "assistant"), after=0)

        async def commit(name: str) -> None:
            await store.commit(KEY, records=[compaction(name, 2)], active=name, expected=None, fence=0)

        names = [f"c{n}" for n in range(8)]
        outcomes = await asyncio.gather(*map(commit, names), return_exceptions=True)
        won = [name for name, outcome in zip(names, outcomes, strict=True) if outcome is None]
        assert len(won) == 1
        assert all(isinstance(outcome, Conflict) for outcome in outcomes if outcome is not None)
        assert [record.id for record in await store.compactions(KEY)] == won

    async def test_who_appends_is_told_which_compaction_is_in_force(self, store: StoreUnderTest) -> None:
        """So a program learns that another one compacted, or took that back."""
        one, two, three, four = talk("user", "assistant", "user", "assistant")
        assert await store.append(KEY, [one, two], after=0) is None
        await store.commit(KEY, records=[compaction("c1", 2)], active="c1", expected=None, fence=0)
        assert await store.append(KEY, [three], after=2) == "c1"
        assert await store.append(KEY, [], after=3) == "c1"
        await store.commit(KEY, active=None, expected="c1", fence=0)
        assert await store.append(KEY, [four], after=3) is None

    async def test_of_prepared_compactions_only_the_newest_is_kept(self, store: StoreUnderTest) -> None:
        """And it becomes the active one under its own id."""
        await store.append(KEY, talk("user", "assistant", "user"), after=0)
        first, second = (compaction(name, 2, status="prepared") for name in ("c1", "c2"))
        await store.commit(KEY, records=[first], active=None, expected=None, fence=0)
        assert (await store.load(KEY)).prepared == first
        assert (await store.load(KEY)).active is None
        await store.commit(KEY, records=[second], active=None, expected=None, fence=0)
        assert (await store.load(KEY)).prepared == second
        assert await store.compactions(KEY) == (second,)
        swapped = replace(second, status="active")
        await store.commit(KEY, records=[swapped], active="c2", expected=None, fence=0)
        loaded = await store.load(KEY)
        assert (loaded.active, loaded.prepared) == (swapped, None)

    async def test_undoing_a_compaction_brings_the_earlier_context_back(self, store: StoreUnderTest) -> None:
        """And keeps the record, and what was said since."""
        log = talk("system", "user", "assistant", "user", "assistant")
        await store.append(KEY, log[:4], after=0)
        first = compaction("c1", 2)
        second = compaction("c2", 4, parent="c1")
        await store.commit(KEY, records=[first], active="c1", expected=None, fence=0)
        await store.commit(KEY, records=[second], active="c2", expected="c1", fence=0)
        await store.append(KEY, log[4:], after=4)
        undone = replace(second, status="undone")
        await store.commit(KEY, records=[undone], active="c1", expected="c2", fence=0)
        loaded = await store.load(KEY)
        assert (loaded.active, loaded.messages) == (first, tuple(log[2:]))
        await store.commit(
            KEY, records=[replace(first, status="undone")], active=None, expected="c1", fence=0
        )
        loaded = await store.load(KEY)
        assert (loaded.active, loaded.earlier, loaded.messages) == (None, (), tuple(log))
        assert await store.compactions(KEY) == (replace(first, status="undone"), undone)

    async def test_the_summary_in_force_can_be_read_beside_the_conversation(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """With the time it took effect."""

        async def compressed() -> tuple[str | None, str | None]:
            (info,) = await store.conversations(KEY.namespace)
            return info.compressed_context, info.compressed_at

        await store.append(KEY, talk("user", "assistant"), after=0)
        assert await compressed() == (None, None)
        clock.advance(10)
        took_effect = clock.now()
        record = compaction("c1", 1)
        await store.commit(KEY, records=[record], active="c1", expected=None, fence=0)
        clock.advance(10)
        await store.append(KEY, talk("user", "user", "user")[2:], after=2)
        await store.commit(KEY, active="c1", expected="c1", fence=0, state=b"{}")
        assert await compressed() == (record.summary, took_effect)
        edited = replace(record, summary=own("edited"))
        await store.commit(KEY, records=[edited], active="c1", expected="c1", fence=0)
        assert await compressed() == ("edited", took_effect)
        await store.commit(
            KEY, records=[replace(edited, status="undone")], active=None, expected="c1", fence=0
        )
        assert await compressed() == (None, None)

    async def test_the_state_stays_until_another_one_is_committed(self, store: StoreUnderTest) -> None:
        """A state may be there before the first message."""
        await store.commit(KEY, active=None, expected=None, fence=0, state=b"\x00\xff")
        await store.append(KEY, talk("user"), after=0)
        await store.commit(KEY, active=None, expected=None, fence=0)
        assert (await store.load(KEY)).state == b"\x00\xff"
        await store.commit(KEY, active=None, expected=None, fence=0, state=b"")
        assert (await store.load(KEY)).state == b""

    # Leases

    async def test_a_lease_is_given_once_until_it_is_returned(self, store: StoreUnderTest) -> None:
        """Also to the same holder: one process, too, compacts a conversation only once at a time."""
        lease = await store.acquire(KEY, holder="a", seconds=60)
        assert lease is not None
        assert (lease.key, lease.holder) == (KEY, "a")
        assert lease.fence > 0
        assert await store.acquire(KEY, holder="b", seconds=60) is None
        assert await store.acquire(KEY, holder="a", seconds=60) is None
        other = await store.acquire(Key(conversation="other"), holder="b", seconds=60)
        assert other is not None
        await store.release(lease)
        second = await store.acquire(KEY, holder="b", seconds=60)
        assert second is not None
        assert second.fence > lease.fence
        await store.release(lease)
        assert await store.renew(lease, seconds=60) is False
        assert await store.acquire(KEY, holder="c", seconds=60) is None
        assert await store.renew(second, seconds=60) is True

    async def test_a_lease_that_expired_is_given_to_the_next(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """Unless it was renewed in time; one that nobody took can still be renewed."""
        lease = await store.acquire(KEY, holder="a", seconds=60)
        assert lease is not None
        clock.advance(59)
        assert await store.acquire(KEY, holder="b", seconds=60) is None
        assert await store.renew(lease, seconds=60) is True
        clock.advance(59)
        assert await store.acquire(KEY, holder="b", seconds=60) is None
        clock.advance(2)
        assert await store.renew(lease, seconds=60) is True
        clock.advance(61)
        second = await store.acquire(KEY, holder="b", seconds=60)
        assert second is not None
        assert second.fence > lease.fence
        assert await store.renew(lease, seconds=60) is False
        await store.release(lease)
        assert await store.acquire(KEY, holder="a", seconds=60) is None

    @pytest.mark.parametrize("given", ["acquired", "renewed"])
    async def test_a_lease_that_was_given_while_the_clock_was_wrong_blocks_nobody(
        self, store: StoreUnderTest, clock: FakeClock, *, given: str
    ) -> None:
        """Once the clock is right again: neither the next lease nor what is forgotten after long waits for it."""
        await store.append(KEY, talk("user"), after=0)
        lease = await store.acquire(KEY, holder="a", seconds=60) if given == "renewed" else None
        right = clock.now()
        clock.advance(3_650 * 86_400)
        if lease is None:
            lease = await store.acquire(KEY, holder="a", seconds=60)
            assert lease is not None
        else:
            assert await store.renew(lease, seconds=60) is True
        assert await store.acquire(KEY, holder="b", seconds=60) is None
        clock.set(right)
        clock.advance(1)
        assert await store.idle(KEY.namespace, before=clock.now()) == (KEY,)
        second = await store.acquire(KEY, holder="b", seconds=60)
        assert second is not None
        assert second.fence > lease.fence
        assert await store.renew(lease, seconds=60) is False
        assert await store.idle(KEY.namespace, before=clock.now()) == ()
        with pytest.raises(Conflict):
            await store.commit(KEY, active=None, expected=None, fence=lease.fence)

    async def test_a_lease_holds_for_a_minute_at_most_and_a_clock_set_back_a_little_does_not_end_it(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """However long a lease was asked for."""
        lease = await store.acquire(KEY, holder="a", seconds=1e9)
        assert lease is not None
        clock.advance(59)
        assert await store.acquire(KEY, holder="b", seconds=1) is None
        before = clock.now()
        clock.advance(4)
        now = clock.now()
        assert await store.renew(lease, seconds=1e9) is True
        clock.set(before)
        assert await store.acquire(KEY, holder="b", seconds=1) is None
        clock.set(now)
        clock.advance(61)
        assert await store.acquire(KEY, holder="b", seconds=1) is not None

    async def test_of_concurrent_claims_one_gets_the_lease(self, store: StoreUnderTest) -> None:
        """The others get nothing."""
        claims = [store.acquire(KEY, holder=f"h{n}", seconds=60) for n in range(8)]
        given_out = [lease for lease in await asyncio.gather(*claims) if lease is not None]
        assert len(given_out) == 1

    async def test_a_commit_under_a_lost_lease_is_refused(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """Whatever does not need a lease still passes."""
        await store.append(KEY, talk("user", "assistant"), after=0)
        lost = await store.acquire(KEY, holder="a", seconds=1)
        clock.advance(2)
        newest = await store.acquire(KEY, holder="b", seconds=60)
        assert lost is not None
        assert newest is not None
        records = [compaction("c1", 1)]
        with pytest.raises(Conflict):
            await store.commit(KEY, records=records, active="c1", expected=None, fence=lost.fence)
        assert await store.compactions(KEY) == ()
        await store.commit(KEY, active=None, expected=None, fence=0, state=b"pins")
        await store.commit(KEY, records=records, active="c1", expected=None, fence=newest.fence)
        await store.release(newest)
        with pytest.raises(Conflict):
            await store.commit(KEY, active=None, expected="c1", fence=lost.fence)
        assert (await store.load(KEY)).active == records[0]

    # Conversations

    async def test_conversations_are_listed_with_the_last_updated_first(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """With their stamps, their length and the first words of the first request."""
        started = clock.now()
        picture = Message(seq=2, role="user", parts=(Image(media_type="image/png", data="aa"),))
        hook = text_message(3, "user", "hook output", synthetic=True)
        await store.append(KEY, [text_message(1, "system", "Be brief."), picture, hook], after=0)
        clock.advance(1)
        other = Key(conversation="other")
        await store.append(other, [text_message(1, "user", "second")], after=0)
        listed = await store.conversations(KEY.namespace)
        assert [(info.key, info.title) for info in listed] == [(other, "second"), (KEY, "")]
        clock.advance(1)
        request = Message(seq=4, role="user", parts=(Text(text="  Fix\nthe   tax " + "rounding " * 20),))
        await store.append(KEY, [request], after=3)
        await store.append(KEY, [text_message(5, "user", "Thanks")], after=4)
        first, second = await store.conversations(KEY.namespace)
        assert (first.key, second.key) == (KEY, other)
        assert (first.last_seq, first.created, first.updated) == (5, started, clock.now())
        assert first.title.startswith("Fix the tax rounding rounding")
        assert len(first.title) <= 80
        clock.advance(1)
        await store.commit(other, records=[compaction("c1", 1)], active="c1", expected=None, fence=0)
        assert [info.key for info in await store.conversations(KEY.namespace)] == [other, KEY]

    async def test_the_list_of_conversations_comes_page_by_page(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """Each once, also where several were updated at one tick, and where some were deleted meanwhile."""
        for number in range(7):
            await store.append(Key(conversation=f"talk {number}"), talk("user"), after=0)
            clock.advance(number % 2)
        whole = await store.conversations(KEY.namespace)
        assert len(whole) == 7
        assert await store.conversations(KEY.namespace, limit=0) == ()
        paged: list[ConversationInfo] = []
        while page := await store.conversations(KEY.namespace, limit=2, after=paged[-1] if paged else None):
            assert len(page) <= 2
            paged += page
            await store.delete(paged[-1].key)
        assert tuple(paged) == whole

    async def test_conversations_are_found_by_their_names(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """Those that are there, the last updated first, and none of another namespace."""
        for name in ("one", "two", "three"):
            await store.append(Key(conversation=name), talk("user"), after=0)
            clock.advance(1)
        await store.append(Key(conversation="two", namespace="theirs"), talk("user"), after=0)
        found = await store.conversations(KEY.namespace, names=["two", "none", "one", 'quo"te'])
        assert [info.key for info in found] == [Key(conversation="two"), Key(conversation="one")]
        assert await store.conversations(KEY.namespace, names=[]) == ()

    async def test_nothing_crosses_a_namespace(self, store: StoreUnderTest) -> None:
        """The same name in another one is another conversation."""
        ours, theirs = Key(conversation="talk", namespace="a"), Key(conversation="talk", namespace="b")
        await store.append(ours, talk("user", "assistant"), after=0)
        await store.commit(ours, records=[compaction("c1", 1)], active="c1", expected=None, fence=0)
        assert await store.acquire(ours, holder="x", seconds=60) is not None
        before = await store.load(ours)
        assert await store.load(theirs) == Snapshot(key=theirs)
        assert await store.read(theirs) == ()
        assert await store.compactions(theirs) == ()
        assert await store.conversations("b") == ()
        with pytest.raises(Conflict):
            await store.commit(theirs, active="c1", expected=None, fence=0)
        assert await store.acquire(theirs, holder="y", seconds=60) is not None
        await store.append(theirs, talk("user"), after=0)
        assert [info.key for info in await store.conversations("a")] == [ours]
        assert await store.delete(theirs) is True
        assert await store.load(ours) == before
