"""A PostgreSQL server: connections as `Statements`, tables brought up to date, and its errors as ours.

No statement relies on a session: names are qualified, nothing is prepared, and locks end with their transaction. So a pooler
that gives connections out by the transaction (PgBouncer) may stand between.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from typing import Any, LiteralString, TypeAlias, cast

from autocompact.errors import InvalidInput, StoreError, StoreTooNew, StoreUnavailable, StoreUnreachable
from autocompact.runtime.extras import install_command
from autocompact.stores.breaker import ATTENTION_SECONDS, Breaker, in_a_thread
from autocompact.stores.connection import Bindings
from autocompact.stores.naming import ServerUrl
from autocompact.stores.queries import migrations, post_migrations, queries
from autocompact.stores.tenants import Tenant, Tenants, tenant_setting

try:
    import psycopg
    from psycopg import errors as refused
    from psycopg import sql
    from psycopg.pq import ExecStatus
    from psycopg.pq.abc import PGconn
    from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"a conversation store on a PostgreSQL server needs an extra: {install_command('postgres')}"
    ) from error

DIALECT = "postgres"

Pool: TypeAlias = ConnectionPool[psycopg.Connection[tuple[Any, ...]]]

KEPT_ALIVE: Mapping[str, int] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Options of a connection: a machine that is gone says nothing, which is found out within half a minute, not within the system's two
hours."""

_HOW: dict[str, Any] = {
    "autocommit": True,
    "prepare_threshold": None,
    "application_name": "autocompact",
    # a database that was made with the locale C has SQL_ASCII, of which the driver would not take any other letter
    "client_encoding": "utf8",
    "connect_timeout": 10,
    **KEPT_ALIVE,
}

_ATTEMPT_SECONDS = 2
"""For an attempt to reach a server that was away; the driver allows no fewer."""

_ASKING_SECONDS = 3
"""For another connection beside a call that waits, after which the server is silent; the same."""

_MIGRATING = 0x41435054
"""The advisory lock under which tables are made and changed."""


class Rows:
    """Rows that a statement returned, see `autocompact.stores.connection.Cursor`."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)

    @property
    def get(self) -> Any:
        """The first row: its value if it has one column; None if there is no row."""
        if not self._rows:
            return None
        return self._rows[0][0] if len(self._rows[0]) == 1 else self._rows[0]


class PostgresConnection:
    """A connection of the driver as `autocompact.stores.connection.Statements`."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def transaction(self) -> AbstractContextManager[object]:
        """A transaction; all or nothing."""
        return self._connection.transaction()

    @contextmanager
    def reading(self, begun: str, bindings: Mapping[str, object], /) -> Generator[None]:
        """A transaction that sees one state of the database in all its statements, and changes nothing.

        Args:
            begun: statement that it begins with, sent along with ``BEGIN``, which spares a round trip.
            bindings: of that one.
        """
        connection = self._connection
        # several statements at once cannot have their bindings sent beside them
        psycopg.ClientCursor(connection).execute(
            cast("LiteralString", f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {begun}"), bindings
        )
        try:
            yield
        finally:
            # of one that failed, too: it ends as it has to
            if not connection.closed:
                connection.commit()

    def execute(
        self,
        statements: str | sql.Composed,
        bindings: Sequence[object] | Mapping[str, object] | None = None,
        /,
    ) -> Rows:
        """See `Statements.execute`; all rows come at once."""
        # The statements come from our own files; psycopg wants to see that they are literals. What they return comes as the server has it:
        # as text, a message's bytes are twice as many, and have to be read. Only a script, of several statements, has to do with that.
        cursor = self._connection.execute(
            cast("LiteralString", statements), bindings, binary=bindings is not None
        )
        return Rows(cursor.fetchall() if cursor.description is not None else [])

    def executemany(self, statements: str, sequenceofbindings: Iterable[Bindings], /) -> Rows:
        """Run one statement for all bindings: it is written for the columns as arrays."""
        columns = [list(column) for column in zip(*sequenceofbindings, strict=True)]
        return self.execute(statements, columns) if columns else Rows([])


class Call:
    """One use of a connection, which another thread may end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lent: psycopg.Connection[Any] | None = None
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """True once `cut` was called."""
        return self._is_cut

    @contextmanager
    def uses(self, connection: psycopg.Connection[Any]) -> Generator[None]:
        """Within this block, `cut` ends the connection."""
        with self._lock:
            self._lent = connection
        if self._is_cut:
            self.cut()
        try:
            yield
        finally:
            with self._lock:
                self._lent = None

    def cut(self) -> None:
        """End the connection under whoever waits for an answer on it, who then gets the driver's error."""
        with self._lock:
            self._is_cut = True
            if self._lent is not None and not self._lent.closed:
                # the driver's own way to cancel asks the server, which does not answer
                with suppress(OSError), socket.socket(fileno=os.dup(self._lent.fileno())) as line:
                    line.shutdown(socket.SHUT_RDWR)


class Server:
    """The connections to one database, opened when they are first needed.

    Once the server was waited for in vain, nothing waits for it until it answers: `autocompact.stores.breaker`.

    Args:
        url: of the database.
        connections: at most.
        patience: seconds to wait for a connection, and for who changes the same conversation.
    """

    def __init__(self, url: ServerUrl, *, connections: int, patience: float) -> None:
        self.url = url
        self._connections = connections
        self._patience = patience
        self._calls = threading.local()
        self._breaker = Breaker(str(url), self._attempt, fails=psycopg.Error)
        # guards the pool, which an attempt exchanges, and the count of connections that are lent
        self._changing = threading.Lock()
        self._lent = 0
        # one question beside calls that wait is asked for all of them
        self._asking = threading.Lock()
        self._asked, self._is_silent = -math.inf, False
        self._pool = self._new_pool()

    def _new_pool(self) -> Pool:
        return ConnectionPool(
            self.url.url,
            kwargs=_HOW,
            min_size=1,
            max_size=self._connections,
            timeout=self._patience,
            reconnect_timeout=self._patience,
            open=False,
            name="autocompact",
        )

    @property
    def is_away(self) -> bool:
        """True while nothing waits for the server, since it did not answer."""
        return self._breaker.is_open

    def open(self, *, post: bool | None = None) -> None:
        """Make the tables, or bring them up to date.

        Args:
            post: change also what ends older programs; None does, unless `autocompact migrate --pre` was run.

        Raises as `connection` does; the first connection is made without the pool, which would try again and not say why.
        """
        # with the server's own words where it refuses: wrong password, no such database
        with self._errors():
            self._admit()
            with self._first() as connection:
                _migrate(PostgresConnection(connection), name=str(self.url), post=post)
        self._pool.open()

    def _first(self) -> psycopg.Connection[tuple[Any, ...]]:
        begun = time.monotonic()
        try:
            return psycopg.connect(self.url.url, **_HOW)
        except psycopg.OperationalError as error:
            # who is refused at once costs nobody any time
            if time.monotonic() - begun > ATTENTION_SECONDS:
                self._breaker.trip(self._said(error))
            raise

    def close(self) -> None:
        """End the connections."""
        with self._changing:
            self._pool.close()

    def _admit(self) -> None:
        if not self._breaker.admits():
            raise StoreUnreachable(f"{self.url} does not answer, and is not waited for until it does")

    def _attempt(self) -> None:
        """Reach the server after an outage, and have new connections from then on.

        Those of before are dead, and the pool's own tries to get others come at growing intervals.
        """
        self._reach(_ATTEMPT_SECONDS)
        with self._changing:
            old = self._pool
            # closed: not opened yet, or not needed any more
            if old.closed:
                return
            self._pool = self._new_pool()
            self._pool.open()
        # What is lent is closed when it comes back. Its threads may be waiting for a machine that is gone.
        threading.Thread(target=old.close, args=(_HOW["connect_timeout"],), daemon=True).start()

    def _reach(self, seconds: int) -> None:
        """Get an answer on a connection of its own; raises the driver's error where none comes."""
        call = Call()
        limit = threading.Timer(seconds, call.cut)
        how: dict[str, Any] = {**_HOW, "connect_timeout": seconds}
        with psycopg.connect(self.url.url, **how) as connection, call.uses(connection):
            limit.start()
            try:
                # a pooler lets clients in while the server behind it is away
                connection.execute("SELECT 1")
            finally:
                limit.cancel()

    def doubt(self, call: Call) -> None:
        """Cut a call that waits for an answer, if the server lets nobody else in either; returns at once.

        A statement may take its time, and so may a disk or the queue of a pooler; a server that hangs, or that a network does not reach
        any more, says nothing to anybody. A pooler lets clients in while the server behind it hangs: that call ends at its own limit.
        """
        since = time.monotonic()

        def ask() -> None:
            with self._asking:
                if self._asked < since:
                    self._is_silent = self._says_nothing()
                    self._asked = time.monotonic()
                if self._is_silent:
                    call.cut()

        # without a thread for it the call ends at its own limit
        with suppress(RuntimeError):
            in_a_thread(ask)

    def _says_nothing(self) -> bool:
        begun = time.monotonic()
        how: dict[str, Any] = {**_HOW, "connect_timeout": _ASKING_SECONDS}
        try:
            # Who lets us in is there. A statement is no better question: behind a pooler it also waits where all connections are at work.
            psycopg.connect(self.url.url, **how).close()
        except psycopg.Error:
            # who refuses at once is there: too many connections, or a restart, which ends the waiting ones itself
            return time.monotonic() - begun > ATTENTION_SECONDS
        return False

    def _is_there(self, connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
        """True if a connection of the pool is still there; one that says nothing for as long as `patience` is not.

        A pooler whose server is gone keeps its clients waiting, and so does a network.
        """
        try:
            with self._call().uses(connection):
                return _answers(connection.pgconn, seconds=self._patience)
        except psycopg.Error:
            return False

    def _call(self) -> Call:
        """What this thread is at; one that nobody cuts outside of `called`."""
        return getattr(self._calls, "call", None) or Call()

    @contextmanager
    def connection(self) -> Generator[PostgresConnection]:
        """Lend one connection, outside of any transaction.

        Raises:
            StoreUnavailable: the server cannot be reached, or does not take what is asked now.
            StoreError: it refuses.
            InvalidInput: a text that PostgreSQL cannot hold.
        """
        with self._errors():
            self._admit()
            with self._borrowed() as connection, self._call().uses(connection):
                yield PostgresConnection(connection)

    @contextmanager
    def _borrowed(self) -> Generator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection of the pool."""
        pool, connection = self._taken()
        with self._changing:
            self._lent += 1
        try:
            yield connection
        finally:
            with self._changing:
                self._lent -= 1
            pool.putconn(connection)

    def _taken(self) -> tuple[Pool, psycopg.Connection[tuple[Any, ...]]]:
        """A connection that is there, and the pool that it came from."""
        until = time.monotonic() + self._patience
        while True:
            pool = self._pool
            try:
                connection = pool.getconn(until - time.monotonic())
            except PoolClosed:
                # an attempt exchanged it meanwhile; else the store was closed
                if pool is self._pool:
                    raise
                continue
            except PoolTimeout:
                # while others have connections, it is they who are waited for, and the server is there
                if not self._lent:
                    self._breaker.trip(f"no connection in {self._patience:g} s")
                raise
            # Not the pool's own check, which pauses for a second after each that is gone, and ever longer: a server that
            # was restarted leaves all of them so.
            if self._is_there(connection):
                return pool, connection
            pool.putconn(connection)

    @contextmanager
    def called(self, call: Call) -> Generator[None]:
        """Within this block, what this thread does with connections can be cut by ``call``."""
        self._calls.call = call
        try:
            yield
        finally:
            self._calls.call = None

    @contextmanager
    def transaction(self, tenant: Tenant, *, reads: bool = False) -> Generator[PostgresConnection]:
        """Lend one connection in a transaction that sees what is the tenant's.

        Args:
            tenant: whose conversations it is about.
            reads: it sees one snapshot of the database, and changes nothing.
        """
        # who reads waits for whoever has a whole table, such as VACUUM FULL
        patience = self._patience if reads else None
        with self.connection() as connection, begin(connection, tenant, reads=reads, patience=patience):
            yield connection

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except PoolClosed as error:
            raise StoreUnavailable("the store was closed: open it again") from error
        except PoolTimeout as error:
            raise StoreUnavailable(
                f"{self.url} gave no connection in {self._patience:g} s: is the server there, and does it take so many?"
            ) from error
        except psycopg.Error as error:
            raise self._of_driver(error) from error
        except UnicodeEncodeError as error:
            raise InvalidInput(f"a name holds half a surrogate pair: {error.object!r}") from error

    def _said(self, error: psycopg.Error) -> str:
        return self.url.hidden(" ".join(str(error).split()))

    def _of_driver(self, error: psycopg.Error) -> Exception:
        said = self._said(error)
        if self._call().is_cut:
            self._breaker.trip(said)
        match error:
            case psycopg.DataError():
                return InvalidInput(f"PostgreSQL cannot hold a text: {said}")
            case refused.LockNotAvailable() | refused.DeadlockDetected() | refused.SerializationFailure():
                return StoreUnavailable(
                    f"{self.url}: the conversation is being changed by another program: try again ({said})"
                )
            case refused.InsufficientPrivilege():
                return StoreUnavailable(
                    f"{self.url}: the user may not do that; its owner runs `autocompact migrate --db URL --grant ROLE` once ({said})"
                )
            case psycopg.OperationalError():
                return StoreUnavailable(f"{self.url} does not answer: {said}")
            case _:
                return StoreError(f"{self.url}: {said}")


def _answers(connection: PGconn, *, seconds: float) -> bool:
    """True if an empty query is answered in so many seconds. The driver's own way to ask waits without end.

    Raises:
        psycopg.Error: the connection is broken.
    """
    until, answered = time.monotonic() + seconds, False
    connection.send_query(b"")
    with DefaultSelector() as selector:
        selector.register(connection.socket, EVENT_READ)
        while True:
            while connection.is_busy():
                if not selector.select(max(0.0, until - time.monotonic())):
                    return False
                connection.consume_input()
            # its end comes as None
            if (answer := connection.get_result()) is None:
                return answered
            answered = answer.status == ExecStatus.EMPTY_QUERY


def milliseconds(seconds: float) -> str:
    """A time as PostgreSQL's settings have it."""
    return f"{round(seconds * 1000)}ms"


@contextmanager
def begin(
    connection: PostgresConnection, tenant: Tenant, *, reads: bool = False, patience: float | None = None
) -> Generator[None]:
    """Run the block as one transaction; arguments as in `Server.transaction`, ``patience`` in seconds for a lock."""
    # both end with the transaction: a pooler gives the connection to somebody else then
    settings: dict[str, object] = {
        "tenant": tenant_setting(tenant),
        "patience": None if patience is None else milliseconds(patience),
    }
    if reads:
        with connection.reading(queries(DIALECT)["tenant"], settings):
            yield
        return
    with connection.transaction():
        connection.execute(queries(DIALECT)["tenant"], settings)
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class _Schema:
    """How far the tables of a database are.

    Attributes:
        version: number of the migrations that all have run; programs that know fewer may not be started any more.
        ready: as ``version``, but for those after it that end older programs: ``--pre`` leaves them out.
    """

    version: int
    ready: int


def _migrate(connection: PostgresConnection, *, name: str, post: bool | None) -> None:
    """Run the migrations that the database has not run.

    Args:
        connection: to the database.
        name: of it.
        post: run also those that end older programs; None does, unless the owner has run all others before them on purpose.

    Raises:
        StoreTooNew: a newer program made the tables.
    """
    known = len(migrations(DIALECT))
    # the usual case takes no lock, and needs no right to change tables
    if _is_done(_schema(connection, name=name), known=known, post=post):
        return
    # what a migration changes, it changes for all
    with begin(connection, Tenants.EVERY):
        # released with the transaction, also when the process dies
        connection.execute(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        schema = _schema(connection, name=name)
        if schema.version == 0:
            connection.execute("CREATE SCHEMA IF NOT EXISTS autocompact")
            connection.execute("CREATE TABLE autocompact.version (version BIGINT NOT NULL)")
            connection.execute("INSERT INTO autocompact.version (version) VALUES (0)")
            post = True  # there are no older programs
        elif _is_done(schema, known=known, post=post):
            return
        _run(connection, schema, post=schema.ready == schema.version if post is None else post)


def _is_done(schema: _Schema, *, known: int, post: bool | None) -> bool:
    return schema.version == known or (not post and schema.ready >= known)


def _run(connection: PostgresConnection, schema: _Schema, *, post: bool) -> None:
    scripts, ending = migrations(DIALECT), post_migrations(DIALECT)
    for number, script in enumerate(scripts[schema.version :], schema.version + 1):
        if post if number in ending else number > schema.ready:
            connection.execute(script)
    connection.execute("ALTER TABLE autocompact.version ADD COLUMN IF NOT EXISTS ready BIGINT")
    connection.execute(
        "UPDATE autocompact.version SET version = %s, ready = %s",
        (len(scripts) if post else schema.version, max(len(scripts), schema.ready)),
    )


def _schema(connection: PostgresConnection, *, name: str) -> _Schema:
    """How far the database is; 0 for one without tables."""
    # Asked as a table: `to_regclass` may answer from the connection's cache, from before it waited for the lock.
    there = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'autocompact' AND tablename = 'version'"
    if connection.execute(there).get is None:
        return _Schema(version=0, ready=0)
    # the first programs made the table without the second column
    found = "SELECT version, greatest(version, (to_jsonb(one) ->> 'ready')::bigint) FROM autocompact.version AS one"
    version, ready = connection.execute(found).get
    if version > (known := len(migrations(DIALECT))):
        raise StoreTooNew(
            f"{name} has schema version {version}, this autocompact knows {known}: update autocompact"
        )
    return _Schema(version=version, ready=ready)
