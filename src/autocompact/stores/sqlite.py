"""The store in a SQLite file, for one machine: any number of processes may use the file at once.

One thread writes and one reads, each with its own connection (WAL: they do not wait for each other). Every method is
one transaction, flushed to the disk before it returns. Open the file with nothing else than this while it is in
use: a second copy of the SQLite library in the same process breaks its locks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Literal, Self, TypeVar

from autocompact.errors import InvalidInput
from autocompact.ports import Clock, Key, SystemClock
from autocompact.stores.connection import Connection
from autocompact.stores.db_worker import DbWorker
from autocompact.stores.indexing import SqliteIndexer
from autocompact.stores.naming import IN_MEMORY, check_file_name
from autocompact.stores.sqlite_file import errors, open_reader, open_writer, rewrite, transaction
from autocompact.stores.sqlite_index import SqliteIndex
from autocompact.stores.sqlite_index import SqliteIndexer as SearchIndexer
from autocompact.stores.table_store import TableStore
from autocompact.stores.tables import Tables
from autocompact.stores.tenants import Tenant, Tenants

T = TypeVar("T")


class SqliteStore(TableStore[Connection]):
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
        clock = clock or SystemClock()
        search = SearchIndexer() if indexer == "search" else indexer
        super().__init__(clock=clock, indexer=search, dialect="sqlite")
        self._search = search
        self._failpoint = failpoint
        self._busy_seconds = busy_seconds
        wrap = partial(errors, self.path)
        connect = partial(open_reader, self.path, busy_seconds=busy_seconds)
        worker = partial(DbWorker, path=self.path, errors=wrap, busy_seconds=busy_seconds, clock=clock)
        self._writer = worker("autocompact-writer", connect=self._open)
        self._reader = worker("autocompact-reader", connect=connect)

    @property
    def index(self) -> SqliteIndex:
        """See `TableStore.index`."""
        return SqliteIndex(self)

    async def __aenter__(self) -> Self:
        await self._writer.run(_nothing)
        return self

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        try:
            await self._reader.aclose()
        finally:
            await self._writer.aclose()

    def _open(self) -> Connection:
        connection = open_writer(self.path, busy_seconds=self._busy_seconds)
        try:
            self._catch_up(connection, partial(_begun, connection))
        except BaseException:
            connection.close()
            raise
        return connection

    async def reading(self, work: Callable[[Connection], T], *, tenant: Tenant = Tenants.NONE) -> T:
        """See `TableStore.reading`: in the reader's thread. A file knows no tenants."""
        del tenant
        if not self._writer.is_open:
            await self._writer.run(_nothing)

        def read(connection: Connection) -> T:
            with transaction(connection, "DEFERRED"):
                return work(connection)

        return await self._reader.run(read)

    async def _change(self, work: Callable[[Connection], T], *, name: str, key: Key) -> T:
        del key  # a file has one writer at a time

        def change(connection: Connection) -> T:
            with self._writing(connection, name):
                return work(connection)

        return await self._writer.run(change)

    @contextmanager
    def _writing(self, connection: Connection, name: str) -> Generator[Tables]:
        with transaction(connection, "IMMEDIATE"):
            self._failpoint(f"{name}:begun")
            yield Tables(connection)
            self._failpoint(f"{name}:written")
        self._failpoint(f"{name}:committed")

    # Retention

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
        if self._search is None:
            return False
        with self._writing(connection, "purge"):
            return self._search.tidy(connection, begun=begun)


def _begun(connection: Connection, key: Key | None) -> AbstractContextManager[object]:
    """A transaction that changes a conversation; for None one that reads, which waits for nobody."""
    return transaction(connection, "DEFERRED" if key is None else "IMMEDIATE")


def _nothing(_: Connection) -> None:
    """Do nothing: for a connection that only has to be opened."""
