"""A store whose appends are written behind: the caller goes on while the disk is still at it.

For a log whose messages somebody else has as well and brings again, as the client of a gateway sends its whole history
with every request. A crash loses what was appended in the last moments, and the next append of the caller's whole
history brings it back. For a log that is the only copy this is the wrong store.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript, content_bytes
from autocompact.core.messages import Message
from autocompact.core.tokens import Estimator
from autocompact.errors import Conflict, StoreError, StoreUnavailable
from autocompact.ports import ConversationInfo, ConversationStore, Key, Lease, Snapshot
from autocompact.runtime.off_loop import LARGE_BODY, off_loop_if
from autocompact.stores.owed import FIRST_PAUSE_SECONDS, Owed
from autocompact.stores.rules import check_end, check_numbers

MOST_BYTES = 8_000_000
"""Raw bytes of one conversation that may wait to be written; above that, its next append waits for them."""

MOST_IN_ALL = 4
"""Times as many may wait of all conversations together; above that, each append waits for the oldest one."""


@dataclass(slots=True, kw_only=True)
class _Unwritten:
    """Data of one conversation that is not stored yet: ``messages`` wait, the other fields are being written.

    ``active`` is the active compaction as whoever appends knows it, once that was said (`told`); ``bytes`` is what
    waits or is being written.
    """

    end: int
    bytes: int = 0
    told: bool = False
    active: str | None = None
    messages: list[Message] = field(default_factory=list[Message])
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class WriteBehind:
    """Implements `Store`, `Leases` and `Retention` over another store. Use it from one event loop.

    What is appended to one conversation while its last append is being written, or waits to be, becomes one
    transaction. Every other method waits until what was appended before is stored, so what is written here is read
    here, and no record covers messages that are not stored.

    An append that cannot be stored, because of the disk or because another program appended something else first, is
    told to ``failed``, and dropped together with those that follow it: load the conversation anew. So is one, as a `Conflict`,
    that found another active compaction than the caller has; it is stored. What a store did not take because it could not be reached
    is tried again beside that (`autocompact.stores.owed`): nobody has to bring it.

    Args:
        store: what is written to; closed with this one.
        failed: called with the conversation and the error.
        most_bytes: raw bytes of one conversation's messages that may wait; of all, `MOST_IN_ALL` times as many.
        gather_seconds: how long an append waits for others before it is written, unless somebody waits for it, or it
            is the first of its conversation. The thread that writes takes turns with the one that serves, so fewer
            transactions disturb fewer requests.
        pause_seconds: before the first further try of what a store did not take.
    """

    def __init__(
        self,
        store: ConversationStore,
        *,
        failed: Callable[[Key, Exception], object],
        most_bytes: int = MOST_BYTES,
        gather_seconds: float = 0.0,
        pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self.store = store
        self._failed = failed
        self._most_bytes = most_bytes
        self._unwritten: dict[Key, _Unwritten] = {}
        self._queue: dict[Key, None] = {}
        # digests of messages that could not be stored: a record made from one of them must not be committed over
        # somebody else's message of that number
        self._lost: dict[Key, dict[int, bytes]] = {}
        self._bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._gather_seconds = gather_seconds
        self._waiting = 0
        self._hurry = asyncio.Event()
        self._owed = Owed(
            self._append, stored=self._found, most_bytes=MOST_IN_ALL * most_bytes, pause_seconds=pause_seconds
        )

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        """See `Store.append`; returns before the messages are stored, so without the active compaction.

        Whatever comes is stored as resent.

        Raises:
            Conflict: they do not follow what waits to be written; where nothing waits, ``failed`` is told later.
        """
        check_numbers(messages, after=after)
        # what waits may hold some of them; of nothing the active compaction is asked, and the writer has no use for it
        if resent or not messages:
            await self.settled(key)
            return await self.store.append(key, messages, after=after, resent=resent)
        await self.room(key)
        self._take(key, messages, after=after)
        return None

    async def room(self, key: Key) -> None:
        """Wait until more of a conversation may wait to be written; what others brought makes it wait only late."""
        # looked up anew each time: the writer removes an entry that is stored
        while (own := self._unwritten.get(key)) is not None and own.bytes > self._most_bytes:
            await self._stored(own)
        # the oldest first, since dictionaries keep their order
        while self._unwritten and self._bytes > MOST_IN_ALL * self._most_bytes:
            await self._stored(next(iter(self._unwritten.values())))

    def take(self, key: Key, messages: Sequence[Message], *, after: int, active: str | None) -> None:
        """Have messages written that follow message ``after``. See `autocompact.ports.Behind.take`."""
        self._take(key, messages, after=after)
        unwritten = self._unwritten[key]
        unwritten.told, unwritten.active = True, active

    def _take(self, key: Key, messages: Sequence[Message], *, after: int) -> None:
        unwritten = self._unwritten.get(key)
        if unwritten is None:
            # what the store's end is nobody asked: if ``after`` is wrong, the store says so when it is written
            unwritten = self._unwritten[key] = _Unwritten(end=after)
        check_end(key, last_seq=unwritten.end, after=after)
        unwritten.messages.extend(messages)
        unwritten.end += len(messages)
        weight = _weight(messages)
        unwritten.bytes += weight
        self._bytes += weight
        self._queue.setdefault(key)
        # the first message of a conversation is written at once, so that it is in every list
        if not (after and self._gather_seconds):
            self._hurry.set()
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        # the task ends when nothing waits, so an idle store holds no task
        while self._queue:
            await self._gathered()
            for key in tuple(self._queue):
                await self._write_all(key)
        self._writer = None

    async def _gathered(self) -> None:
        """Let more come, until somebody waits for what is there."""
        if not (self._waiting or self._hurry.is_set()):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._gather_seconds)
        self._hurry.clear()

    async def _write_all(self, key: Key) -> None:
        """Store what waits of one conversation."""
        self._queue.pop(key, None)
        unwritten = self._unwritten[key]
        # exchanged before the await: what comes meanwhile is the next transaction
        batch, unwritten.messages = unwritten.messages, []
        # somebody waits now, so gathering more would only delay them
        try:
            active = await self._append(key, batch, after=unwritten.end - len(batch))
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody waits for this append to hear of it
            lost = self._lost.setdefault(key, {})
            # those that follow a lost message would stand on another log, so they are lost with it
            lost.update((message.seq, _digest(message)) for message in (*batch, *unwritten.messages))
            self._drop_weight(unwritten, unwritten.messages)
            if isinstance(error, StoreUnavailable):
                self._owed.add(key, (*batch, *unwritten.messages))
            unwritten.messages = []
            self._queue.pop(key, None)
            self._failed(key, error)
        else:
            self._owed.drop(key)
            self._found(key, batch)
            # No commit of the caller's own is under way: it waits until this is stored.
            if unwritten.told and active != unwritten.active:
                self._failed(key, _moved(key, active, known=unwritten.active))
        self._drop_weight(unwritten, batch)
        if not unwritten.messages:
            del self._unwritten[key]
            unwritten.settled.set()

    def _found(self, key: Key, messages: Sequence[Message]) -> None:
        """Remember that messages are stored after all, if they were lost before."""
        if (lost := self._lost.get(key)) is not None:
            for message in messages:
                lost.pop(message.seq, None)
            if not lost:
                del self._lost[key]

    async def _append(self, key: Key, messages: Sequence[Message], *, after: int) -> str | None:
        """Store messages; where another program stored the same ones first, what it did not come to follows them.

        It may have ended there: who waited for the next request to bring the rest would wait for ever after the last.
        """
        return await self.store.append(key, messages, after=after, resent=True)

    def _drop_weight(self, unwritten: _Unwritten, messages: Sequence[Message]) -> None:
        weight = _weight(messages)
        unwritten.bytes -= weight
        self._bytes -= weight

    async def _stored(self, unwritten: _Unwritten) -> None:
        """Wait until it is; nobody lets more come meanwhile."""
        self._waiting += 1
        self._hurry.set()
        try:
            await unwritten.settled.wait()
        finally:
            self._waiting -= 1

    async def settled(self, key: Key | None = None) -> None:
        """Wait until what was appended so far is stored, or dropped; of one conversation, or of all."""
        waiting = [*self._unwritten.values()] if key is None else [self._unwritten.get(key)]
        for unwritten in waiting:
            if unwritten is not None:
                await self._stored(unwritten)

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        """See `Store.load`. Whoever loads sees what is stored: what of it was lost before does not count any more."""
        await self.settled(key)
        snapshot = await self.store.load(key, after=after)
        lost = self._lost.get(key, {})
        for seq in [seq for seq in lost if seq > after]:
            del lost[seq]
        return snapshot

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """See `Store.read`."""
        await self.settled(key)
        return await self.store.read(key, from_seq=from_seq, through_seq=through_seq)

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
        """See `Store.commit`.

        Raises:
            StoreError: a record covers messages that could not be stored.
            Conflict: other messages are stored in their place.
        """
        await self.settled(key)
        if key in self._lost:
            # in the usual case nothing was lost, and a commit costs no extra read
            await self._check_stored(key, records)
        await self.store.commit(
            key, records=records, active=active, expected=expected, fence=fence, state=state
        )

    async def _check_stored(self, key: Key, records: Sequence[Compaction]) -> None:
        """Check that the log holds what ``records`` were made from; `Compaction.prefix` does not reach their masks."""
        lost = self._lost[key]
        # a mask shows a message that the hash of the record does not cover
        masked = {mask.seq for record in records for mask in record.masks if mask.seq > record.through_seq}
        for seq in sorted({record.through_seq for record in records if record.through_seq} | masked):
            stored = await self.store.read(key, from_seq=seq, through_seq=seq)
            if not stored:
                raise StoreError(
                    f"message {seq} of conversation {key.conversation!r} could not be stored: load it again"
                )
            if seq in masked and lost.get(seq, digest := _digest(stored[0])) != digest:
                raise _changed(key)
        # The message of that number may be another program's, which the record was not made from.
        covering = [record for record in records if record.through_seq and record.status != "undone"]
        if covering:
            await self._check_same(key, covering)

    async def _check_same(self, key: Key, records: Sequence[Compaction]) -> None:
        """Check that the stored log begins with the messages that the records were made from."""
        snapshot = await self.store.load(key)
        active, messages = snapshot.active, snapshot.messages
        log = Transcript(
            # nothing is counted here, only hashed
            counter=Estimator(),
            first=active.through_seq + 1 if active else 1,
            prefix=active.prefix if active else "",
        )
        # an edit of what the active compaction covers, which is not held here: no record made from it holds any more
        if any(message.replaces is not None and message.replaces < log.first for message in messages):
            raise _changed(key)
        log.extend(messages)
        large = sum(len(message.raw or b"") for message in messages) > LARGE_BODY
        if not await off_loop_if(large, lambda: all(map(log.admits, records))):
            raise _changed(key)

    async def compactions(self, key: Key) -> tuple[Compaction, ...]:
        """See `Store.compactions`."""
        await self.settled(key)
        return await self.store.compactions(key)

    async def conversations(
        self,
        namespace: str,
        *,
        limit: int | None = None,
        after: ConversationInfo | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[ConversationInfo, ...]:
        """See `Store.conversations`."""
        if names is None:
            await self.settled()
        else:
            # of the others it does not matter what is stored yet, and some may take long
            for name in names:
                await self.settled(Key(conversation=name, namespace=namespace))
        return await self.store.conversations(namespace, limit=limit, after=after, names=names)

    async def delete(self, key: Key) -> bool:
        """See `Store.delete`."""
        await self.settled(key)
        self._lost.pop(key, None)
        self._owed.drop(key)
        return await self.store.delete(key)

    async def aclose(self) -> None:
        """Write what waits, then close the store. See `Store.aclose`."""
        await self.settled()
        await self._owed.aclose()
        await self.store.aclose()

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        """See `Leases.acquire`."""
        return await self.store.acquire(key, holder=holder, seconds=seconds)

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        """See `Leases.renew`."""
        return await self.store.renew(lease, seconds=seconds)

    async def release(self, lease: Lease) -> None:
        """See `Leases.release`."""
        await self.store.release(lease)

    async def namespaces(self) -> tuple[str, ...]:
        """See `Retention.namespaces`."""
        await self.settled()
        return await self.store.namespaces()

    async def idle(self, namespace: str, *, before: str) -> tuple[Key, ...]:
        """See `Retention.idle`."""
        await self.settled()
        return await self.store.idle(namespace, before=before)

    async def expire(self, key: Key, *, before: str) -> bool:
        """See `Retention.expire`."""
        await self.settled(key)
        return await self.store.expire(key, before=before)

    async def purge(self) -> None:
        """See `Retention.purge`."""
        await self.settled()
        await self.store.purge()


def _moved(key: Key, active: str | None, *, known: str | None) -> Conflict:
    return Conflict(
        f"conversation {key.conversation!r} has {active!r} as its active compaction, not {known!r}: load it again"
    )


def _changed(key: Key) -> Conflict:
    return Conflict(
        f"conversation {key.conversation!r} has other messages than this compaction was made from: load it again"
    )


def _digest(message: Message) -> bytes:
    return hashlib.blake2b(content_bytes(message), digest_size=16).digest()


def _weight(messages: Sequence[Message]) -> int:
    return sum(len(message.raw or b"") for message in messages)
