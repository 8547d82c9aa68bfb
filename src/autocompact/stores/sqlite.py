"""The store in a SQLite file, for one machine: any number of processes may use the file at once.

One thread writes and one reads, each with its own connection (WAL: they do not wait for each other). Every method is
one transaction, flushed to the disk before it returns. Open the file with nothing else than this while it is in
use: a second copy of the SQLite library in the same process breaks its locks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Literal, Self, TypeVar

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.errors import InvalidInput, StoreCorrupt, StoreError
from autocompact.ports import Clock, ConversationInfo, Key, Lease, Snapshot, SystemClock
from autocompact.stores.connection import Connection
from autocompact.stores.encoding import encode_message
from autocompact.stores.indexing import SqliteIndexer
from autocompact.stores.lanes import Lane
from autocompact.stores.leases import expiry, is_held
from autocompact.stores.naming import check_file_name
from autocompact.stores.rows import LAST_SEQ
from autocompact.stores.rules import check_commit, check_end, check_numbers, title_of, unknown_record
from autocompact.stores.sqlite_file import errors, open_reader, open_writer, rewrite, transaction
from autocompact.stores.sqlite_index import SqliteIndexer as SearchIndexer
from autocompact.stores.sqlite_tables import Tables
from autocompact.stores.stamps import milliseconds

T = TypeVar("T")

_INDEX_BATCH = 500

IN_MEMORY = ":memory:"
"""What SQLite calls a database without a file."""


class SqliteStore:
    """Implements `Store`, `Leases` and `Retention`. Nothing is opened before the first use.

    Args:
        path: the file; made if there is none, its folder must exist.
        clock: stamps, and when a lease expires.
        indexer: keeps a search index up to date: "search" is `autocompact.stores.sqlite_index`, None keeps none.
            What was appended without one is caught up with on opening.
        busy_seconds: how long to wait for another process that writes, from when something is asked for.
        failpoint: called with the name of each step of a writing method ("append:begun", "append:written",
            "append:committed"), so that a test can end the process there.

    Raises:
        InvalidInput: the path is ``:memory:``, SQLite's name for no file: `autocompact.stores.memory.MemoryStore` needs none;
            or it is the URL of a PostgreSQL server.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        clock: Clock | None = None,
        indexer: SqliteIndexer | Literal["search"] | None = "search",
        busy_seconds: float = 5.0,
        failpoint: Callable[[str], object] = str,
    ) -> None:
        if str(path) == IN_MEMORY:
            raise InvalidInput(
                f"{IN_MEMORY!r} is no file, and this store needs one: name a file, or use MemoryStore"
            )
        check_file_name(path)
        self.path = Path(path).absolute()
        self._clock = clock or SystemClock()
        self._indexer = SearchIndexer() if indexer == "search" else indexer
        self._failpoint = failpoint
        self._busy_seconds = busy_seconds
        self._owed: set[int] = set()  # leases that are done with and could not be given back
        wrap = partial(errors, self.path)
        connect = partial(open_reader, self.path, busy_seconds=busy_seconds)
        lane = partial(Lane, path=self.path, errors=wrap, busy_seconds=busy_seconds, clock=self._clock)
        self._writer = lane("autocompact-writer", connect=self._open)
        self._reader = lane("autocompact-reader", connect=connect)

    async def __aenter__(self) -> Self:
        await self._writer.run(_nothing)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        await self._reader.aclose()
        await self._writer.aclose()

    def _open(self) -> Connection:
        connection = open_writer(self.path, busy_seconds=self._busy_seconds)
        try:
            if self._indexer is not None:
                self._catch_up(connection, self._indexer)
        except BaseException:
            connection.close()
            raise
        return connection

    def _catch_up(self, connection: Connection, indexer: SqliteIndexer) -> None:
        tables = Tables(connection)
        for conversation, done, last in tables.to_index():
            # A damaged conversation keeps nobody from the others: it is reported when it is read.
            with suppress(StoreCorrupt):
                for seq in range(done, last, _INDEX_BATCH):
                    through = min(seq + _INDEX_BATCH, last)
                    with transaction(connection, "IMMEDIATE"):
                        messages = tables.messages(conversation, from_seq=seq + 1, through_seq=through)
                        indexer.index(connection, messages, conversation=conversation)
                        tables.indexed(conversation, seq=through)

    async def reading(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` finds in the file as it is now, in the reader's thread; for indexes and tools."""
        if not self._writer.is_open:
            await self._writer.run(_nothing)

        def read(connection: Connection) -> T:
            with transaction(connection, "DEFERRED"):
                return work(connection)

        return await self._reader.run(read)

    @contextmanager
    def _writing(self, connection: Connection, name: str) -> Generator[Tables]:
        with transaction(connection, "IMMEDIATE"):
            self._failpoint(f"{name}:begun")
            yield Tables(connection)
            self._failpoint(f"{name}:written")
        self._failpoint(f"{name}:committed")

    # The log

    async def append(self, key: Key, messages: Sequence[Message], *, after: int) -> str | None:
        """See `Store.append`."""
        check_numbers(messages, after=after)
        if after + len(messages) > LAST_SEQ:
            raise StoreError(f"a conversation in this store holds at most {LAST_SEQ:,} messages")
        return await self._writer.run(
            lambda connection: self._append(connection, key, messages=messages, after=after)
        )

    def _append(
        self, connection: Connection, key: Key, *, messages: Sequence[Message], after: int
    ) -> str | None:
        bodies = [encode_message(message) for message in messages]
        with self._writing(connection, "append") as tables:
            row = tables.find(key)
            check_end(key, last_seq=row.last_seq if row else 0, after=after)
            if not messages:
                return row.active if row else None
            now = self._clock.now()
            row = row or tables.add(key, now=now)
            edits = len(tables.edits(row)) if row.edits is None else row.edits
            tables.extend(row, messages=messages, bodies=bodies)
            last, indexed = after + len(messages), row.indexed_seq
            if self._indexer is not None:
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

        def load(connection: Connection) -> Snapshot:
            tables = Tables(connection)
            row = tables.find(key)
            if row is None:
                return Snapshot(key=key)
            active = tables.active(row)
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

        return await self.reading(load)

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """See `Store.read`."""

        def read(connection: Connection) -> tuple[Message, ...]:
            tables = Tables(connection)
            row = tables.find(key)
            if row is None:
                return ()
            last = row.last_seq if through_seq is None else min(through_seq, row.last_seq)
            return tables.messages(row.id, from_seq=from_seq, through_seq=last)

        return await self.reading(read)

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

        def commit(connection: Connection) -> None:
            with self._writing(connection, "commit") as tables:
                row, now = tables.find(key), self._clock.now()
                newest, _ = tables.lease(key)
                in_force = row.active if row else None
                check_commit(key, in_force=in_force, expected=expected, newest=newest, fence=fence)
                row = row or tables.add(key, now=now)
                tables.put_records(row.id, records)
                record = tables.record(row.id, active) if active is not None else None
                if active is not None and record is None:
                    raise unknown_record(key, active)
                tables.put_in_force(row, record, now=now)
                if state is not None:
                    tables.put_state(row.id, state)
                tables.seal(row.id)

        await self._writer.run(commit)

    async def compactions(self, key: Key) -> tuple[Compaction, ...]:
        """See `Store.compactions`."""

        def compactions(connection: Connection) -> tuple[Compaction, ...]:
            tables = Tables(connection)
            row = tables.find(key)
            return tables.records(row) if row else ()

        return await self.reading(compactions)

    async def conversations(
        self, namespace: str, *, limit: int | None = None, after: ConversationInfo | None = None
    ) -> tuple[ConversationInfo, ...]:
        """See `Store.conversations`."""
        return await self.reading(
            lambda connection: Tables(connection).conversations(namespace, limit=limit, after=after)
        )

    async def delete(self, key: Key) -> bool:
        """See `Store.delete`."""

        def delete(connection: Connection) -> bool:
            with self._writing(connection, "delete") as tables:
                return self._delete(tables, key)

        return await self._writer.run(delete)

    def _delete(self, tables: Tables, key: Key) -> bool:
        tables.delete_lease(key)
        row = tables.find(key, check=False)
        if row is None:
            return False
        if self._indexer is not None:
            self._indexer.delete(tables.connection, conversation=row.id)
        tables.delete(row.id)
        tables.deleted()
        return True

    # Retention

    async def namespaces(self) -> tuple[str, ...]:
        """See `Retention.namespaces`."""
        return await self.reading(lambda connection: Tables(connection).namespaces())

    async def idle(self, namespace: str, *, before: str) -> tuple[Key, ...]:
        """See `Retention.idle`."""
        now = milliseconds(self._clock)
        return await self.reading(
            lambda connection: Tables(connection).idle(namespace, before=before, now=now)
        )

    async def expire(self, key: Key, *, before: str) -> bool:
        """See `Retention.expire`."""

        def expire(connection: Connection) -> bool:
            with self._writing(connection, "expire") as tables:
                now = milliseconds(self._clock)
                return tables.is_idle(key, before=before, now=now) and self._delete(tables, key)

        return await self._writer.run(expire)

    async def purge(self) -> None:
        """See `Retention.purge`. Nothing is done where nothing was deleted since the last time, by any process.

        Raises:
            StoreUnavailable: another program reads or writes without a pause; traces may be left.
        """
        deleted = await self._writer.run(lambda connection: Tables(connection).unpurged())
        if deleted is None:
            return
        begun = False
        while await self._writer.run(partial(self._tidied, begun=begun)):
            begun = True
        await self._writer.run(partial(self._rewritten, deleted=deleted))

    def _rewritten(self, connection: Connection, *, deleted: int) -> None:
        rewrite(self.path, connection)
        with self._writing(connection, "purged") as tables:
            tables.purged(deleted)

    def _tidied(self, connection: Connection, *, begun: bool) -> bool:
        if self._indexer is None:
            return False
        with self._writing(connection, "purge"):
            return self._indexer.tidy(connection, begun=begun)

    # Leases

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        """See `Leases.acquire`."""
        owed = tuple(self._owed)

        def acquire(connection: Connection) -> Lease | None:
            with self._writing(connection, "acquire") as tables:
                for fence in owed:
                    tables.end_lease(fence)
                now = milliseconds(self._clock)
                if is_held(tables.lease(key)[1], now=now):
                    return None
                fence = tables.give_lease(key, holder=holder, expires=expiry(now, seconds=seconds))
                return Lease(key=key, holder=holder, fence=fence)

        lease = await self._writer.run(acquire)
        self._owed.difference_update(owed)
        return lease

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        """See `Leases.renew`."""

        def renew(connection: Connection) -> bool:
            with self._writing(connection, "renew") as tables:
                expires = expiry(milliseconds(self._clock), seconds=seconds)
                return tables.extend_lease(lease.fence, expires=expires)

        return await self._writer.run(renew)

    async def release(self, lease: Lease) -> None:
        """See `Leases.release`. One that could not be given back goes when the next one is asked for."""
        self._owed.add(lease.fence)

        def release(connection: Connection) -> None:
            with self._writing(connection, "release") as tables:
                tables.end_lease(lease.fence)

        await self._writer.run(release)
        self._owed.discard(lease.fence)


def _nothing(_: Connection) -> None:
    """What to do with a connection that only has to be opened."""
