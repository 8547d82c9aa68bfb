"""A store on tables: what every SQL database does alike. Each method is one transaction.

How a transaction runs (in which thread, on which connection, with what lock) is the subclass's; what is asked and changed
in it is written here once, so that the databases cannot differ in it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.errors import StoreCorrupt, StoreError
from autocompact.ports import Clock, ConversationInfo, Index, Key, Lease, Snapshot
from autocompact.stores.connection import Statements
from autocompact.stores.encoding import encode_message
from autocompact.stores.indexing import Indexer
from autocompact.stores.leases import expiry, is_held
from autocompact.stores.rows import LAST_SEQ
from autocompact.stores.rules import (
    check_commit,
    check_end,
    check_numbers,
    not_there,
    title_of,
    unknown_record,
)
from autocompact.stores.stamps import milliseconds
from autocompact.stores.tables import Row, Tables, without_nul
from autocompact.stores.tenants import Tenant, Tenants

T = TypeVar("T")
C = TypeVar("C", bound=Statements)

_INDEX_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Everything that a store keeps of a conversation.

    Attributes:
        row: its entry; the id means nothing elsewhere.
        messages: all.
        records: of all compactions, the oldest first.
    """

    row: Row
    messages: tuple[Message, ...]
    records: tuple[Compaction, ...]

    def is_same(self, other: Whole) -> bool:
        """True if both say the same."""
        return self._said == other._said

    @property
    def _said(self) -> object:
        row = replace(
            self.row,
            title=without_nul(self.row.title),
            compressed_context=without_nul(self.row.compressed_context),
        )
        return row.info, row.active, row.state, self.messages, self.records


class TableStore(ABC, Generic[C]):
    """Implements `Store`, `Leases` and `Retention`.

    Args:
        clock: stamps, and when a lease expires.
        indexer: keeps a search index up to date; None keeps none.
        dialect: of the queries.
    """

    def __init__(self, *, clock: Clock, indexer: Indexer[C] | None, dialect: str) -> None:
        self._clock = clock
        self._indexer = indexer
        self._dialect = dialect
        self._owed: set[int] = set()  # leases that are done with and could not be given back

    @property
    @abstractmethod
    def index(self) -> Index:
        """Searches what the store's own indexer keeps; it finds nothing where another or none does."""

    @abstractmethod
    async def reading(self, work: Callable[[C], T], *, tenant: Tenant = Tenants.NONE) -> T:
        """Run ``work`` on the database as it is now and return its result; for indexes and tools.

        Args:
            work: with a connection in a transaction that reads.
            tenant: whose conversations it sees, where the database knows tenants.
        """

    @abstractmethod
    async def _change(self, work: Callable[[C], T], *, name: str, key: Key) -> T:
        """Do ``work`` in one transaction, in which nobody else changes the conversation ``key``.

        Args:
            work: with a connection in the transaction.
            name: of the step, for tests.
            key: the conversation.
        """

    async def changing(self, work: Callable[[C], T], *, name: str, key: Key) -> T:
        """Run ``work`` in one transaction and return its result, while nobody else changes what ``key`` names; for tools."""
        return await self._change(work, name=name, key=key)

    @property
    def dialect(self) -> str:
        """The dialect of its queries: the folder of their files."""
        return self._dialect

    @abstractmethod
    async def purge(self) -> None:
        """See `Retention.purge`."""

    @abstractmethod
    async def aclose(self) -> None:
        """See `Store.aclose`."""

    async def __aenter__(self) -> Self:
        await self.reading(_nothing)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _tables(self, connection: C) -> Tables:
        return Tables(connection, dialect=self._dialect)

    def _catch_up(self, connection: C, begin: Callable[[Key | None], AbstractContextManager[object]]) -> None:
        """Index what was appended without an index.

        Args:
            connection: on which it is done.
            begin: a transaction on it in which nobody else changes a conversation; one that reads those of every tenant
                for None.
        """
        if self._indexer is None:
            return
        with begin(None):
            keys = self._tables(connection).to_index()
        for key in keys:
            # A damaged conversation keeps nobody from the others: it is reported when it is read.
            with suppress(StoreCorrupt):
                # in short transactions: others may write between them, and a crash loses one batch of work
                while self._batch_indexed(connection, key, begin=begin(key)):
                    pass

    def _batch_indexed(self, connection: C, key: Key, *, begin: AbstractContextManager[object]) -> bool:
        """Index some messages of a conversation; whether there are more."""
        assert self._indexer is not None
        tables = self._tables(connection)
        with begin:
            row = tables.find(key)
            # read again: another program may have done it since the list was made
            if row is None or row.indexed_seq >= row.last_seq:
                return False
            through = min(row.indexed_seq + _INDEX_BATCH, row.last_seq)
            messages = tables.messages(row.id, from_seq=row.indexed_seq + 1, through_seq=through)
            self._indexer.index(connection, messages, conversation=row.id)
            tables.indexed(row.id, seq=through)
            return through < row.last_seq

    # The log

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        """See `Store.append`."""
        check_numbers(messages, after=after)
        if after + len(messages) > LAST_SEQ:
            raise StoreError(f"a conversation in this store holds at most {LAST_SEQ:,} messages")

        def append(connection: C) -> str | None:
            return self._append(connection, key, messages=messages, after=after, resent=resent)

        return await self._change(append, name="append", key=key)

    def _append(
        self, connection: C, key: Key, *, messages: Sequence[Message], after: int, resent: bool
    ) -> str | None:
        tables = self._tables(connection)
        row = tables.find(key)
        if row is not None and resent and messages and after < row.last_seq:
            through = min(row.last_seq, after + len(messages))
            there = tables.messages(row.id, from_seq=after + 1, through_seq=through)
            messages, after = not_there(key, messages, there=there), through
            if not messages:
                return row.active
        check_end(key, last_seq=row.last_seq if row else 0, after=after)
        if not messages:
            # an empty append asks for the active compaction, and makes no conversation
            return row.active if row else None
        now = self._clock.now()
        row = row or tables.add(key, now=now)
        # older versions did not count them
        edits = len(tables.edits(row)) if row.edits is None else row.edits
        tables.extend(row, messages=messages, bodies=[encode_message(message) for message in messages])
        last, indexed = after + len(messages), row.indexed_seq
        if self._indexer is not None:
            # an older program appended without indexing: its messages are caught up in the same transaction
            missed = indexed < after
            new = tables.messages(row.id, from_seq=indexed + 1, through_seq=last) if missed else messages
            self._indexer.index(connection, new, conversation=row.id)
            indexed = last
        title = row.title or title_of(messages)
        edits += sum(message.replaces is not None for message in messages)
        tables.extended(
            replace(row, last_seq=last, indexed_seq=indexed, title=title, updated=now, edits=edits)
        )
        return row.active

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        """See `Store.load`."""

        def load(connection: C) -> Snapshot:
            tables = self._tables(connection)
            row = tables.find(key)
            if row is None:
                return Snapshot(key=key)
            active = tables.active(row)
            # covered messages are not read, so opening costs what the context holds and not what was ever said
            covered = max(after, active.through_seq if active else 0)
            earlier, prompt = tables.earlier(row, active) if active else ((), ())
            return Snapshot(
                key=key,
                active=active,
                prepared=tables.prepared(row.id),
                earlier=earlier,
                prompt=prompt,
                messages=tables.messages(row.id, from_seq=covered + 1, through_seq=row.last_seq),
                last_seq=row.last_seq,
                state=row.state,
            )

        return await self.reading(load, tenant=key.namespace)

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """See `Store.read`."""

        def read(connection: C) -> tuple[Message, ...]:
            tables = self._tables(connection)
            row = tables.find(key)
            if row is None:
                return ()
            last = row.last_seq if through_seq is None else min(through_seq, row.last_seq)
            return tables.messages(row.id, from_seq=from_seq, through_seq=last)

        return await self.reading(read, tenant=key.namespace)

    # Compactions

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
        """See `Store.commit`."""

        def commit(connection: C) -> None:
            tables = self._tables(connection)
            row, now = tables.find(key), self._clock.now()
            # of all leases that were ever given: a smaller fence is of somebody who was too slow
            newest, _ = tables.lease(key)
            active_now = row.active if row else None
            check_commit(key, active=active_now, expected=expected, newest=newest, fence=fence)
            row = row or tables.add(key, now=now)
            tables.put_records(row.id, records)
            # read back: a restore names a record that this commit does not bring
            record = tables.record(row.id, active) if active is not None else None
            if active is not None and record is None:
                raise unknown_record(key, active)
            tables.activate(row, record, now=now)
            if state is not None:
                tables.put_state(row.id, state)
            tables.seal(row.id)

        # the key's lock is held from the first read to the last write: check and change are one
        await self._change(commit, name="commit", key=key)

    async def compactions(self, key: Key) -> tuple[Compaction, ...]:
        """See `Store.compactions`."""

        def compactions(connection: C) -> tuple[Compaction, ...]:
            tables = self._tables(connection)
            row = tables.find(key)
            return tables.records(row) if row else ()

        return await self.reading(compactions, tenant=key.namespace)

    async def conversations(
        self,
        namespace: str,
        *,
        limit: int | None = None,
        after: ConversationInfo | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[ConversationInfo, ...]:
        """See `Store.conversations`."""
        return await self.reading(
            lambda connection: (
                self._tables(connection).conversations(namespace, limit=limit, after=after)
                if names is None
                else self._tables(connection).named(namespace, names)
            ),
            tenant=namespace,
        )

    async def delete(self, key: Key) -> bool:
        """See `Store.delete`."""
        return await self._change(lambda connection: self._delete(connection, key), name="delete", key=key)

    def _delete(self, connection: C, key: Key) -> bool:
        tables = self._tables(connection)
        # also of a conversation that does not exist: a lease may be all there is of it
        tables.delete_lease(key)
        # a damaged conversation must be deletable, so its checksum is not looked at
        row = tables.find(key, check=False)
        if row is None:
            return False
        if self._indexer is not None:
            self._indexer.delete(connection, conversation=row.id)
        tables.delete(row.id)
        tables.deleted()
        return True

    # Moving to another store

    async def whole(self, key: Key) -> Whole | None:
        """Return everything kept of a conversation; None if there is none."""

        def read(connection: C) -> Whole | None:
            tables = self._tables(connection)
            row = tables.find(key)
            if row is None:
                return None
            messages = tables.messages(row.id, through_seq=row.last_seq)
            return Whole(row=row, messages=messages, records=tables.records(row))

        return await self.reading(read, tenant=key.namespace)

    async def put_whole(self, whole: Whole) -> bool:
        """Add a conversation as another store kept it; False, and nothing is changed, if there is one of its name."""
        key, messages = whole.row.info.key, whole.messages

        def put(connection: C) -> bool:
            tables = self._tables(connection)
            if tables.find(key) is not None:
                # never over an existing conversation: moving twice is safe
                return False
            row = tables.add(key, now=whole.row.created)
            tables.extend(row, messages=messages, bodies=map(encode_message, messages))
            if self._indexer is not None:
                self._indexer.index(connection, messages, conversation=row.id)
            tables.put_records(row.id, whole.records)
            indexed = 0 if self._indexer is None else whole.row.last_seq
            tables.put_row(row.id, replace(whole.row, indexed_seq=indexed))
            tables.seal(row.id)
            return True

        return await self._change(put, name="put", key=key)

    # Retention

    async def namespaces(self) -> tuple[str, ...]:
        """See `Retention.namespaces`."""
        return await self.reading(
            lambda connection: self._tables(connection).namespaces(), tenant=Tenants.EVERY
        )

    async def idle(self, namespace: str, *, before: str) -> tuple[Key, ...]:
        """See `Retention.idle`."""
        now = milliseconds(self._clock)
        return await self.reading(
            lambda connection: self._tables(connection).idle(namespace, before=before, now=now),
            tenant=namespace,
        )

    async def expire(self, key: Key, *, before: str) -> bool:
        """See `Retention.expire`."""

        def expire(connection: C) -> bool:
            now = milliseconds(self._clock)
            # asked again in the transaction that deletes: it may have been used since the list was made
            is_idle = self._tables(connection).is_idle(key, before=before, now=now)
            return is_idle and self._delete(connection, key)

        return await self._change(expire, name="expire", key=key)

    # Leases

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        """See `Leases.acquire`."""
        # a lease that could not be released would block its conversation until it expires
        owed = tuple(self._owed)

        def acquire(connection: C) -> Lease | None:
            tables = self._tables(connection)
            for fence in owed:
                tables.end_lease(fence)
            now = milliseconds(self._clock)
            if is_held(tables.lease(key)[1], now=now):
                return None
            fence = tables.give_lease(key, holder=holder, expires=expiry(now, seconds=seconds))
            return Lease(key=key, holder=holder, fence=fence)

        lease = await self._change(acquire, name="acquire", key=key)
        self._owed.difference_update(owed)
        return lease

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        """See `Leases.renew`."""

        def renew(connection: C) -> bool:
            expires = expiry(milliseconds(self._clock), seconds=seconds)
            return self._tables(connection).extend_lease(lease.fence, expires=expires)

        return await self._change(renew, name="renew", key=lease.key)

    async def release(self, lease: Lease) -> None:
        """See `Leases.release`. One that could not be given back goes when the next one is asked for."""
        # before the attempt: if it fails, the next acquire ends it
        self._owed.add(lease.fence)

        def release(connection: C) -> None:
            self._tables(connection).end_lease(lease.fence)

        await self._change(release, name="release", key=lease.key)
        self._owed.discard(lease.fence)


def _nothing(_: Statements) -> None:
    """Do nothing: for a connection that only has to be opened."""
