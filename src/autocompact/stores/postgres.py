"""The store on a PostgreSQL server, for many machines: any number of gateways and chat servers share it.

Who changes a conversation holds its lock (an advisory one, which ends with the transaction and is there before the
conversation is), so that appends, commits and leases of one conversation come one after the other, and those of others do
not wait. Who reads sees one state of the database. A method is one transaction, on the server's disk before it returns.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from typing import Literal, TypeVar

from autocompact.errors import StoreUnavailable
from autocompact.ports import Clock, Key, SystemClock
from autocompact.stores.indexing import Indexer
from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres_index import PostgresIndex, PostgresIndexer
from autocompact.stores.postgres_server import DIALECT, Call, PostgresConnection, Server, begin, milliseconds
from autocompact.stores.queries import queries
from autocompact.stores.table_store import TableStore
from autocompact.stores.tenants import Tenant, Tenants, tenant_setting

T = TypeVar("T")

CONNECTIONS = 8
"""Connections of one store at most: as many things are done at once."""

ANSWER_SECONDS = 30.0
"""For one method. A conversation of 100,000 messages is read in three."""

DOUBT_SECONDS = 2.0
"""After so long without an answer, and each time again, another connection is asked for: does the server let anybody in?"""

_TABLES = ("conversations", "messages", "compactions", "passages", "leases")


class PostgresStore(TableStore[PostgresConnection]):
    """Implements `Store`, `Leases` and `Retention`. Nothing is opened before the first use.

    Args:
        url: ``postgresql://user:password@host:port/database``; the tables are made in its schema ``autocompact``.
        clock: stamps, and when a lease expires. The machines' clocks have to agree to within seconds.
        indexer: keeps a search index up to date: "search" is `autocompact.stores.postgres_index`, None keeps none.
        connections: to the server at most.
        busy_seconds: how long to wait for a connection, and for who changes the same conversation.
        answer_seconds: how long a method may take, but for upkeep and `put_whole`; then its connection is cut.
        doubt_seconds: after how long, of the same methods, the server is asked for another connection; if it says nothing, as one does
            that a network does not reach any more, the method's is cut.
        failpoint: called with the name of each step of a writing method ("append:begun", "append:written",
            "append:committed"), so that a test can end the process there.

    Raises:
        InvalidInput: the URL is none of a PostgreSQL server.
        ModuleNotFoundError: the driver is not installed; the message says how to.
    """

    def __init__(
        self,
        url: str | ServerUrl,
        *,
        clock: Clock | None = None,
        indexer: Indexer[PostgresConnection] | Literal["search"] | None = "search",
        connections: int = CONNECTIONS,
        busy_seconds: float = 5.0,
        answer_seconds: float = ANSWER_SECONDS,
        doubt_seconds: float = DOUBT_SECONDS,
        failpoint: Callable[[str], object] = str,
    ) -> None:
        search = PostgresIndexer() if indexer == "search" else indexer
        super().__init__(clock=clock or SystemClock(), indexer=search, dialect=DIALECT)
        place = url if isinstance(url, ServerUrl) else ServerUrl(url)
        self._server = Server(place, connections=connections, patience=busy_seconds)
        self._failpoint = failpoint
        self._patience = milliseconds(busy_seconds)
        self._answer_seconds, self._doubt_seconds = answer_seconds, doubt_seconds
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="autocompact-postgres")
        self._opening = threading.Lock()
        self._is_open = self._is_closed = False
        self._index = PostgresIndex(self)

    @property
    def url(self) -> ServerUrl:
        """The database."""
        return self._server.url

    @property
    def is_away(self) -> bool:
        """See `autocompact.ports.Remote`."""
        return self._server.is_away

    @property
    def index(self) -> PostgresIndex:
        """See `TableStore.index`."""
        return self._index

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        self._is_closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._server.close)
        self._threads.shutdown(wait=False)

    async def _run(self, work: Callable[[], T], *, is_long: bool = False) -> T:
        if self._is_closed:
            # threads that were shut down would say so in words of their own
            raise StoreUnavailable("the store was closed: open it again")
        call, loop = Call(), asyncio.get_running_loop()
        limits: list[asyncio.TimerHandle] = []

        def run() -> T:
            self._open()
            if is_long:
                return work()
            # from now on: waiting for a thread is no fault of the server
            loop.call_soon_threadsafe(begin)
            try:
                with self._server.called(call):
                    return work()
            finally:
                # here, since who waits for it may have been cancelled meanwhile
                with suppress(RuntimeError):  # the loop may have ended with them
                    loop.call_soon_threadsafe(end)

        def begin() -> None:
            limits.append(loop.call_later(self._answer_seconds, call.cut))
            limits.append(loop.call_later(self._doubt_seconds, doubt))

        def doubt() -> None:
            self._server.doubt(call)
            limits[-1] = loop.call_later(self._doubt_seconds, doubt)

        def end() -> None:
            for each in limits:
                each.cancel()

        return await loop.run_in_executor(self._threads, run)

    def _open(self) -> None:
        with self._opening:
            if not self._is_open:
                self._server.open()
                with self._server.connection() as connection:
                    self._catch_up(connection, partial(self._begun, connection))
                self._is_open = True

    async def reading(self, work: Callable[[PostgresConnection], T], *, tenant: Tenant = Tenants.NONE) -> T:
        """See `TableStore.reading`."""

        def read() -> T:
            with self._server.transaction(tenant, reads=True) as connection:
                return work(connection)

        return await self._run(read)

    async def catch_up(self) -> None:
        """Index what was appended without an index, as every opening of the store does.

        Raises:
            StoreError: the server cannot be reached, or refuses.
        """

        def work() -> None:
            with self._server.connection() as connection:
                self._catch_up(connection, partial(self._begun, connection))

        await self._run(work, is_long=True)

    async def _change(self, work: Callable[[PostgresConnection], T], *, name: str, key: Key) -> T:
        def change() -> T:
            with self._server.connection() as connection, self._begun(connection, key):
                self._failpoint(f"{name}:begun")
                result = work(connection)
                self._failpoint(f"{name}:written")
            self._failpoint(f"{name}:committed")
            return result

        return await self._run(change, is_long=name == "put")

    @contextmanager
    def _begun(self, connection: PostgresConnection, key: Key | None) -> Generator[None]:
        """A transaction in which nobody else changes the conversation; for None one that reads those of every tenant."""
        if key is None:
            with begin(connection, Tenants.EVERY, reads=True):
                yield
            return
        with connection.transaction():
            # all that the transaction needs to know, in one statement
            connection.execute(
                queries(DIALECT)["lock"],
                {"patience": self._patience, "tenant": tenant_setting(key.namespace), "key": _lock_of(key)},
            )
            yield

    async def purge(self) -> None:
        """See `Retention.purge`: the space of what was deleted is given free for what comes.

        PostgreSQL writes over it in time; only ``VACUUM FULL``, for which all others have to wait, writes the tables anew.
        """

        def vacuum() -> None:
            with self._server.connection() as connection:
                tables = self._tables(connection)
                if (deleted := tables.unpurged()) is not None:
                    for table in _TABLES:
                        connection.execute(f"VACUUM autocompact.{table}")
                    tables.purged(deleted)

        await self._run(vacuum, is_long=True)


def migrate_tables(url: ServerUrl, *, post: bool) -> None:
    """Make the tables of a store, or bring them up to date.

    Args:
        url: of the database, as a user who may make tables.
        post: change also what ends older programs. Without it these run on, and can be started; programs of this version run beside
            them, and leave the rest alone until it is asked for.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses.
        StoreTooNew: a newer program made the tables.
    """
    server = Server(url, connections=1, patience=5.0)
    server.open(post=post)
    server.close()


def shared_secret(url: ServerUrl, *, name: str, made: bytes) -> bytes:
    """Random bytes that all programs on one database share.

    Args:
        url: of the database.
        name: of the secret.
        made: kept as the secret if there is none of that name.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses.
        StoreTooNew: a newer program made the tables.
    """
    server = Server(url, connections=1, patience=5.0)
    server.open()
    try:
        with server.transaction(Tenants.NONE) as connection:
            connection.execute(queries(DIALECT)["add_secret"], {"name": name, "value": made})
            found: bytes = connection.execute(queries(DIALECT)["secret"], {"name": name}).get
            return found
    finally:
        server.close()


def _lock_of(key: Key) -> int:
    """The number of the advisory lock of a conversation; that two have the same costs a wait."""
    name = f"{key.namespace}\0{key.conversation}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)
