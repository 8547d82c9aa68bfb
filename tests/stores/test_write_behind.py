"""What is written behind is there for whoever reads through the store, in order, and its failures are told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Message, text_message
from autocompact.core.tokens import Estimator
from autocompact.errors import Conflict, StoreError, StoreUnavailable
from autocompact.ports import Clock, Key
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.write_behind import MOST_IN_ALL, WriteBehind
from autocompact.testing.records import KEY, compaction, talk

pytestmark = pytest.mark.anyio

Failures = list[tuple[Key, Exception]]


class SlowStore(MemoryStore):
    """Appends as soon as it may, and remembers how much each time; more than ``room`` messages do not fit.

    Attributes:
        away: so many appends find it away; with ``stores_first``, after they were stored.
    """

    def __init__(self, *, room: int = 1000, clock: Clock | None = None) -> None:
        super().__init__(clock=clock)
        self.go = asyncio.Event()
        self.appended = asyncio.Event()
        self.batches: list[int] = []
        self.room = room
        self.away, self.stores_first = 0, False

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        await self.go.wait()
        if after + len(messages) > self.room:
            raise OSError("the disk is full")
        if self.away:
            self.away -= 1
            if self.stores_first:
                await super().append(key, messages, after=after, resent=resent)
            raise StoreUnavailable("the server is away")
        active = await super().append(key, messages, after=after, resent=resent)
        self.batches.append(len(messages))
        self.appended.set()
        return active


def behind(store: Any, **options: Any) -> tuple[WriteBehind, Failures]:
    failures: Failures = []
    return WriteBehind(store, failed=lambda key, error: failures.append((key, error)), **options), failures


async def test_an_append_returns_before_it_is_stored_and_what_follows_is_one_transaction() -> None:
    store = SlowStore()
    front, failures = behind(store)
    said = tuple(talk("user", "assistant", "user", "assistant"))
    for message in said:
        await front.append(KEY, [message], after=message.seq - 1)
    other = Key(conversation="other")
    await front.append(other, talk("user"), after=0)
    with pytest.raises(Conflict):
        await front.append(KEY, [said[1]], after=1)
    assert await store.read(KEY) == ()
    store.go.set()
    assert await front.read(KEY) == said
    assert store.batches in ([1, 3], [1, 1, 3], [4], [4, 1])
    assert {info.key for info in await front.conversations(KEY.namespace)} == {other, KEY}
    assert failures == []


async def test_a_record_waits_for_the_messages_that_it_covers() -> None:
    store = SlowStore()
    front, _ = behind(store)
    await front.append(KEY, talk("user", "assistant"), after=0)
    committing = asyncio.create_task(
        front.commit(KEY, records=[compaction("c1", 2)], active="c1", expected=None, fence=0)
    )
    store.go.set()
    await committing
    assert (await store.load(KEY)).active == compaction("c1", 2)


async def test_after_a_lost_append_a_record_that_only_masks_is_stored_if_what_it_masks_is() -> None:
    """It covers no message: the error named message 0 of the conversation, for ever."""
    store = SlowStore(room=2)
    front, failures = behind(store)
    store.go.set()
    await front.append(KEY, talk("user", "assistant"), after=0)
    await front.settled(KEY)
    await front.append(KEY, [text_message(3, "user", "More.")], after=2)
    await front.settled(KEY)
    assert len(failures) == 1
    masks = compaction("c1", 0)
    await front.commit(KEY, records=[masks], active="c1", expected=None, fence=0)
    assert (await front.load(KEY)).active == masks
    (mask,) = masks.masks
    beyond = replace(masks, id="c2", masks=(replace(mask, seq=3),))
    with pytest.raises(StoreError, match="message 3 of conversation 'talk' could not be stored"):
        await front.commit(KEY, records=[beyond], active="c2", expected="c1", fence=0)


async def test_after_a_conflict_no_record_masks_another_programs_message_in_the_place_of_its_own(
    tmp_path: Path,
) -> None:
    """A record that only masks has no hash of a log: whether there was a message at its place was all that was asked."""
    path, said = tmp_path / "chats.db", tuple(talk("user", "assistant"))
    theirs, masks = text_message(2, "assistant", "What the model told another program."), compaction("c1", 0)
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front, failures = behind(one)
        await front.append(KEY, said[:1], after=0)
        await front.settled(KEY)
        await other.append(KEY, [theirs], after=1)
        await front.append(KEY, said[1:], after=1)
        await front.settled(KEY)
        assert [type(error) for _, error in failures] == [Conflict]
        with pytest.raises(Conflict, match="other messages than this compaction was made from"):
            await front.commit(KEY, records=[masks], active="c1", expected=None, fence=0)
        assert (await front.load(KEY)).messages == (
            *said[:1],
            theirs,
        )  # so from here on its masks are of these
        await front.commit(KEY, records=[masks], active="c1", expected=None, fence=0)
        assert (await front.load(KEY)).active == masks


async def test_a_record_masks_what_was_lost_once_it_is_stored_after_all() -> None:
    store = SlowStore(room=1)
    front, failures = behind(store)
    said = tuple(talk("user", "assistant"))
    store.go.set()
    await front.append(KEY, said, after=0)
    await front.settled(KEY)
    assert len(failures) == 1
    store.room = 1000
    changed = text_message(2, "assistant", "Another answer.")
    await front.append(KEY, (said[0], changed), after=0)
    masks = compaction("c1", 0)
    await front.commit(KEY, records=[masks], active="c1", expected=None, fence=0)
    assert (await store.load(KEY)).active == masks


async def test_what_cannot_be_stored_is_told_with_all_that_follows_it_and_no_record_covers_it() -> None:
    store = SlowStore(room=2)
    front, failures = behind(store)
    said = tuple(talk("user", "assistant", "user", "assistant"))
    await front.append(KEY, said[:2], after=0)
    store.go.set()
    await front.settled(KEY)
    store.go.clear()
    await front.append(KEY, said[2:3], after=2)
    await asyncio.sleep(0)  # the first of the two is being written
    await front.append(KEY, said[3:], after=3)
    store.go.set()
    assert await front.read(KEY) == said[:2]
    ((key, error),) = failures
    assert (key, str(error)) == (KEY, "the disk is full")
    with pytest.raises(StoreError, match="message 4 of conversation 'talk' could not be stored"):
        await front.commit(KEY, records=[compaction("c1", 4)], active="c1", expected=None, fence=0)
    store.room = 1000
    await front.append(KEY, said[2:], after=2)
    assert await front.read(KEY) == said


@pytest.mark.requirement("E7")
@pytest.mark.parametrize("stores_first", [False, True])
async def test_what_a_store_did_not_take_is_stored_without_anybody_bringing_it_again(
    *, stores_first: bool
) -> None:
    """Who had the last answer of a conversation never asks again."""
    store = SlowStore()
    front, failures = behind(store, pause_seconds=0.0)
    said = tuple(talk("user", "assistant", "user", "assistant"))
    store.go.set()
    await front.append(KEY, said[:2], after=0)
    await front.settled(KEY)
    store.away, store.stores_first = 1 if stores_first else 3, stores_first
    store.appended.clear()
    await front.append(KEY, said[2:3], after=2)
    # what follows meanwhile is lost with it, and comes back with it
    await front.append(KEY, said[3:], after=3)
    await store.appended.wait()
    assert await store.read(KEY) == said
    assert [type(error) for _, error in failures] == [StoreUnavailable]
    record = compaction("c1", 4)
    prefix = Transcript(said, counter=Estimator()).prefix(4)
    await front.commit(KEY, records=[replace(record, prefix=prefix)], active="c1", expected=None, fence=0)
    await front.aclose()


@pytest.mark.requirement("E7")
async def test_closing_tries_what_a_store_did_not_take_once_more(tmp_path: Path) -> None:
    path, said = tmp_path / "chats.db", tuple(talk("user", "assistant"))

    class AwayOnce(SqliteStore):
        away = False

        async def append(
            self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
        ) -> str | None:
            if self.away:
                self.away = False
                raise StoreUnavailable("the server is away")
            return await super().append(key, messages, after=after, resent=resent)

    store = AwayOnce(path)
    front, failures = behind(store, pause_seconds=3_600.0)
    await front.append(KEY, said[:1], after=0)
    await front.settled()
    store.away = True
    await front.append(KEY, said[1:], after=1)
    await front.settled()
    assert len(failures) == 1
    await front.aclose()
    async with SqliteStore(path) as again:
        assert await again.read(KEY) == said


@pytest.mark.requirement("E7")
async def test_what_was_deleted_begun_or_said_otherwise_meanwhile_does_not_come_back() -> None:
    store, others = SlowStore(), [Key(conversation=name) for name in ("deleted", "begun", "otherwise")]
    front, failures = behind(store, pause_seconds=0.0)
    store.go.set()
    said, other = tuple(talk("user", "assistant")), text_message(2, "assistant", "Something else.")
    for key in (others[0], others[2]):
        await front.append(key, said[:1], after=0)
    await front.settled()
    store.away = 3
    await front.append(others[0], said[1:], after=1)
    await front.append(others[1], said, after=0)
    await front.append(others[2], said[1:], after=1)
    await front.settled()
    assert len(failures) == 3
    # another program's, in both cases
    await store.delete(others[0])
    await store.append(others[2], [other], after=1)
    # each has been tried once this one is there, which is tried after them
    await front.append(KEY, said[:1], after=0)
    await front.settled()
    store.away = 1
    store.appended.clear()
    await front.append(KEY, said[1:], after=1)
    await front.settled()
    while await store.read(KEY) != said:
        await store.appended.wait()
        store.appended.clear()
    assert [len(await store.read(key)) for key in others] == [0, 0, 2]
    assert (await store.read(others[2]))[1] == other
    await front.aclose()


async def test_another_program_that_was_faster_with_something_else_is_told_as_a_failure(
    tmp_path: Path,
) -> None:
    path, theirs = tmp_path / "chats.db", (text_message(1, "user", "What another program was told."),)
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front, failures = behind(one)
        await other.append(KEY, theirs, after=0)
        await front.append(KEY, talk("user", "assistant"), after=0)
        assert await front.read(KEY) == theirs
        assert [type(error) for _, error in failures] == [Conflict]


@pytest.mark.parametrize("stored", [1, 3])
async def test_what_another_program_stored_of_the_same_messages_is_followed_by_the_rest(
    tmp_path: Path, stored: int
) -> None:
    """That program may have ended there, and no request may come that brings the rest again."""
    path, said = tmp_path / "chats.db", tuple(talk("user", "assistant", "user"))
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front, failures = behind(one)
        await other.append(KEY, said[:stored], after=0)
        front.take(KEY, said, after=0, active=None)
        assert await front.read(KEY) == said
        assert failures == []


async def test_after_a_conflict_no_record_covers_another_programs_message_in_the_place_of_its_own(
    tmp_path: Path,
) -> None:
    path, said = tmp_path / "chats.db", tuple(talk("user", "assistant", "user", "assistant"))
    theirs = text_message(3, "user", "What another program was told.")

    def made_from(*messages: Message) -> Compaction:
        log = Transcript(messages, counter=Estimator())
        return replace(compaction("c1", 3), masks=(), prefix=log.prefix(3))

    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front, failures = behind(one)
        await front.append(KEY, said[:2], after=0)
        await front.settled(KEY)
        await other.append(KEY, [theirs], after=2)
        await front.append(KEY, said[2:], after=2)
        await front.settled(KEY)
        assert [type(error) for _, error in failures] == [Conflict]
        with pytest.raises(Conflict, match="other messages than this compaction was made from"):
            await front.commit(KEY, records=[made_from(*said)], active="c1", expected=None, fence=0)
        assert (await front.load(KEY)).active is None
        stored = made_from(*said[:2], theirs)
        await front.commit(KEY, records=[stored], active="c1", expected=None, fence=0)
        assert (await front.load(KEY)).active == stored
        undone = replace(made_from(*said), status="undone")
        await front.commit(KEY, records=[undone], active=None, expected="c1", fence=0)
        assert (await front.load(KEY)).active is None


async def test_after_a_conflict_with_an_edit_of_what_was_folded_a_record_is_refused_as_a_conflict() -> None:
    store = MemoryStore()
    written, failures = behind(store)
    await store.append(KEY, talk("user", "assistant", "user", "assistant"), after=0)
    await store.commit(KEY, records=[compaction("c1", 3)], active="c1", expected=None, fence=0)
    await store.append(KEY, [structs.replace(text_message(5, "user", "Edited."), replaces=2)], after=4)
    await written.append(KEY, [text_message(5, "user", "Ours.")], after=4)
    await written.settled()
    assert [type(error) for _, error in failures] == [Conflict]
    record = replace(compaction("c2", 4), masks=())
    with pytest.raises(Conflict, match="other messages than this compaction was made from"):
        await written.commit(KEY, records=[record], active="c2", expected="c1", fence=0)


async def test_a_compaction_that_another_program_moved_is_told_with_the_next_messages(tmp_path: Path) -> None:
    path, said = tmp_path / "chats.db", tuple(talk("user", "assistant", "user", "assistant"))
    async with SqliteStore(path) as one, SqliteStore(path) as other:
        front, failures = behind(one)
        await front.append(KEY, said[:2], after=0)
        front.take(KEY, said[2:3], after=2, active=None)
        await front.settled(KEY)
        assert failures == []
        await other.commit(KEY, records=[compaction("c1", 2)], active="c1", expected=None, fence=0)
        front.take(KEY, said[3:], after=3, active=None)
        assert await front.read(KEY) == said
    ((key, error),) = failures
    assert (key, type(error)) == (KEY, Conflict)
    assert "has 'c1' as its active compaction, not None" in str(error)


async def test_who_appends_more_than_may_wait_waits_for_the_disk() -> None:
    store = SlowStore()
    front, _ = behind(store, most_bytes=-1)
    one, two = talk("user", "assistant")
    await front.append(KEY, [one], after=0)
    appending = asyncio.create_task(front.append(KEY, [two], after=1))
    store.go.set()
    await appending
    assert store.batches[:1] == [1]
    await front.settled()
    assert (store.batches, await store.read(KEY)) == ([1, 1], (one, two))


async def test_appends_that_nobody_waits_for_gather_for_a_while_and_are_one_transaction() -> None:
    store = SlowStore()
    store.go.set()
    front, _ = behind(store, gather_seconds=0.01)
    said = tuple(talk("user", "assistant", "user", "assistant"))
    await front.append(KEY, said[:1], after=0)
    await asyncio.wait_for(store.appended.wait(), 10)  # the first of a conversation does not wait for others
    store.appended.clear()
    for message in said[1:]:
        await front.append(KEY, [message], after=message.seq - 1)
    await asyncio.wait_for(store.appended.wait(), 10)
    assert (store.batches, await store.read(KEY)) == ([1, 3], said)


async def test_who_reads_does_not_wait_for_more_to_come() -> None:
    store = SlowStore()
    store.go.set()
    front, _ = behind(store, gather_seconds=3_600)
    said = tuple(talk("user", "assistant", "user"))
    for message in said:
        await front.append(KEY, [message], after=message.seq - 1)
        await asyncio.sleep(0)  # the writer waits already
        assert await front.read(KEY) == said[: message.seq]
    await front.aclose()


async def test_closing_writes_what_waits(tmp_path: Path) -> None:
    front, _ = behind(SqliteStore(tmp_path / "chats.db"))
    await front.append(KEY, talk("user"), after=0)
    await front.aclose()
    async with SqliteStore(tmp_path / "chats.db") as store:
        assert await store.read(KEY) == tuple(talk("user"))


async def test_a_large_message_of_one_conversation_holds_up_no_other() -> None:
    store = SlowStore()
    front, _ = behind(store, most_bytes=10)
    large = structs.replace(text_message(1, "user", "large"), raw=b"x" * 11)
    await front.append(KEY, [large], after=0)
    another = Key(conversation="another")
    await front.append(another, talk("user"), after=0)  # the store has taken nothing yet
    waiting = asyncio.create_task(front.append(KEY, [structs.replace(large, seq=2)], after=1))
    await asyncio.sleep(0)
    assert not waiting.done()
    store.go.set()
    await waiting
    await front.settled()
    assert [len(await store.read(key)) for key in (KEY, another)] == [2, 1]


async def test_too_much_of_all_conversations_together_waits_for_the_disk() -> None:
    store = SlowStore()
    front, _ = behind(store, most_bytes=10)
    for number in range(MOST_IN_ALL + 1):
        message = structs.replace(text_message(1, "user", "large"), raw=b"x" * 10)
        await front.append(Key(conversation=str(number)), [message], after=0)
    waiting = asyncio.create_task(front.append(KEY, talk("user"), after=0))
    await asyncio.sleep(0)
    assert not waiting.done()
    store.go.set()
    await waiting
    await front.settled()
    assert len(await store.read(KEY)) == 1


async def test_an_append_of_nothing_while_a_conversation_is_written_stops_no_later_one() -> None:
    """The writer found nothing to write, and ended: whatever came later waited for ever."""
    store = SlowStore()
    front, failures = behind(store)
    said = tuple(talk("user", "assistant", "user"))
    await front.append(KEY, said[:2], after=0)
    asking = asyncio.create_task(front.append(KEY, [], after=2))
    await asyncio.sleep(0)
    store.go.set()
    async with asyncio.timeout(10):
        assert await asking is None
        await front.settled(KEY)
        with pytest.raises(Conflict):
            await front.append(KEY, [], after=1)
        await front.append(KEY, said[2:], after=2)
        assert await front.read(KEY) == said
    assert failures == []


async def test_once_all_that_was_lost_is_stored_a_commit_reads_nothing_more_for_it() -> None:
    """What was lost was forgotten message by message, and that there had been some never."""

    class Read(SlowStore):
        reads = 0

        async def read(
            self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
        ) -> tuple[Message, ...]:
            self.reads += 1
            return await super().read(key, from_seq=from_seq, through_seq=through_seq)

    store = Read(room=2)
    front, failures = behind(store)
    store.go.set()
    await front.append(KEY, talk("user", "assistant", "user"), after=0)
    await front.settled(KEY)
    assert len(failures) == 1
    store.room = 10
    await front.append(KEY, talk("user", "assistant", "user"), after=0)
    await front.settled(KEY)
    before = store.reads
    await front.commit(KEY, records=[compaction("c1", 0)], active="c1", expected=None, fence=0)
    assert store.reads == before
