"""Conformance tests of deletion and retention: a part of `StoreConformance`."""

from __future__ import annotations

from typing import Protocol

import pytest

from autocompact.errors import Conflict
from autocompact.ports import Key, Leases, Retention, Snapshot, Store
from autocompact.testing.clock import FakeClock
from autocompact.testing.records import KEY, compaction, talk


class StoreUnderTest(Store, Leases, Retention, Protocol):
    """A store that also gives leases and forgets what is old."""


class RetentionConformance:
    """Deletion and retention; `StoreConformance` brings the store and its clock."""

    async def test_deleting_removes_the_log_the_records_and_the_lease(self, store: StoreUnderTest) -> None:
        """The name can be used again, for a conversation that knows nothing of the old one."""
        other = Key(conversation="other")
        for key in (KEY, other):
            await store.append(key, talk("user", "assistant"), after=0)
        record = compaction("c1", 1)
        await store.commit(KEY, records=[record], active="c1", expected=None, fence=0, state=b"x")
        lease = await store.acquire(KEY, holder="a", seconds=60)
        assert await store.delete(KEY) is True
        assert await store.delete(KEY) is False
        assert [info.key for info in await store.conversations(KEY.namespace)] == [other]
        assert await store.load(KEY) == Snapshot(key=KEY)
        assert await store.compactions(KEY) == ()
        again = await store.acquire(KEY, holder="b", seconds=60)
        assert lease is not None
        assert again is not None
        assert again.fence > lease.fence
        log = talk("assistant")
        await store.append(KEY, log, after=0)
        assert await store.load(KEY) == Snapshot(key=KEY, messages=tuple(log), last_seq=1)
        assert len(await store.read(other)) == 2

    async def test_what_was_not_updated_for_long_is_idle_unless_somebody_compacts_it(
        self, store: StoreUnderTest, clock: FakeClock
    ) -> None:
        """A lease that has expired, or was given back, keeps nothing."""
        keys = [Key(conversation=name, namespace="a") for name in ("old", "held", "left", "new")]
        old, held, left, new = keys
        foreign = Key(conversation="old", namespace="b")
        for key in (old, held, left, foreign):
            await store.append(key, talk("user"), after=0)
            clock.advance(1)
        assert await store.acquire(left, holder="x", seconds=5) is not None
        clock.advance(10)
        before = clock.now()
        await store.append(new, talk("user"), after=0)
        assert await store.acquire(held, holder="x", seconds=60) is not None
        assert await store.namespaces() == ("a", "b")
        assert await store.idle("a", before=before) == (old, left)
        assert await store.idle("b", before=before) == (foreign,)
        assert await store.idle("c", before=before) == ()
        assert [await store.expire(key, before=before) for key in keys] == [True, False, True, False]
        assert await store.expire(old, before=before) is False
        assert [info.key for info in await store.conversations("a")] == [new, held]
        assert await store.load(old) == Snapshot(key=old)
        await store.purge()
        assert [info.key for info in await store.conversations("b")] == [foreign]

    async def test_a_compaction_that_ends_after_its_conversation_was_deleted_brings_nothing_back(
        self, store: StoreUnderTest
    ) -> None:
        """Its lease went with the conversation."""
        await store.append(KEY, talk("user", "assistant"), after=0)
        lease = await store.acquire(KEY, holder="a", seconds=60)
        assert lease is not None
        await store.delete(KEY)
        for record, active in (
            (compaction("c1", 1, status="prepared"), None),
            (compaction("c1", 1), "c1"),
        ):
            with pytest.raises(Conflict):
                await store.commit(KEY, records=[record], active=active, expected=None, fence=lease.fence)
        assert await store.renew(lease, seconds=60) is False
        assert await store.conversations(KEY.namespace) == ()
        assert await store.compactions(KEY) == ()
