"""A SQLite file of ours: refusing what is not, bringing an older one up to date, and saying what went wrong.

A file is looked at before it is opened for writing: read-only and "immutable", so that SQLite makes no lock and no
file beside it. What is refused stays byte for byte as it was. (Plain reading would not do: closing any descriptor
of a file drops the locks that other connections of this process hold on it.) Without a lock the look may fall into
the middle of what another connection writes, where the first page already counts pages that are yet to come: a file
is damaged only if it still is when looked at again.

A new file gets its tables before it is switched to WAL, so that the main file always carries our application id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, cast

from autocompact.errors import InvalidInput, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from autocompact.runtime.files import close_to_others, make_file
from autocompact.stores.connection import Connection
from autocompact.stores.queries import migrations

APPLICATION_ID = 0x41435054
""""ACPT": tells a file of ours from any other SQLite file (``PRAGMA application_id``)."""

_HEADER_BYTES = 100
_LOOKS = 20
_LOOK_AGAIN_SECONDS = 0.05
_WAL_BYTES = 16 * 1024 * 1024
_PRAGMAS = (
    "synchronous = FULL",
    "foreign_keys = ON",
    "secure_delete = ON",  # what is deleted is overwritten with zeros
    f"journal_size_limit = {_WAL_BYTES}",
)


def open_writer(path: Path, *, busy_seconds: float) -> Connection:
    """A connection that may write; the file is made if there is none, and migrated if it is older.

    Raises:
        StoreUnavailable: no such folder, not a regular file, read-only, or locked for longer than ``busy_seconds``.
        StoreCorrupt: it is no database of ours.
        StoreTooNew: a newer program wrote it.
    """
    import apsw

    # before SQLite opens it for writing, which would already make files beside it
    check_file(path)
    _make_private(path)
    connection = cast("Connection", apsw.Connection(str(path)))
    try:
        # SQLite falls back to read-only without an error
        if connection.readonly("main"):
            raise StoreUnavailable(f"{str(path)!r} is read-only: make it writable, or choose another file")
        connection.set_busy_timeout(round(busy_seconds * 1000))
        # before WAL: see the head of this module
        _migrate(connection, path)
        _use_wal(connection)
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: Path) -> None:
    """Make the file for its owner alone, before SQLite does; what an older version made is closed to others.

    What SQLite puts beside a database gets the mode of the database.
    """
    with suppress(OSError):  # SQLite says better what is wrong
        make_file(path)
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        close_to_others(path.with_name(name))


def rewrite(path: Path, connection: Connection) -> None:
    """Write the file anew without what was deleted, and empty the write-ahead log.

    ``secure_delete`` alone is not enough: where SQLite moved rows between pages, copies of them stay in the unused
    middle of a page.

    Raises:
        StoreUnavailable: others use the file without a pause.
    """
    # without the checkpoint the old pages stay in the write-ahead log
    connection.execute("VACUUM")
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    if busy:
        raise StoreUnavailable(f"{str(path)!r} is read by another program: try again when that has ended")


def open_reader(path: Path, *, busy_seconds: float) -> Connection:
    """A connection that only reads a file that a writer has open."""
    import apsw

    # opened for writing all the same: a reader of a WAL file has to write into its index
    connection = cast("Connection", apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE))
    connection.set_busy_timeout(round(busy_seconds * 1000))
    connection.execute("PRAGMA query_only = ON")
    return connection


@contextmanager
def transaction(
    connection: Connection, kind: Literal["DEFERRED", "IMMEDIATE", "EXCLUSIVE"]
) -> Generator[None]:
    """Run the block as one transaction."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # some errors (a full disk) have rolled back already, and a second ROLLBACK fails
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def errors(path: Path) -> Generator[None]:
    """The driver's errors as ours."""
    import apsw

    try:
        yield
    except apsw.Error as error:
        raise _of_driver(error, path=path) from error
    except StoreCorrupt as error:
        if str(path) in str(error):
            raise
        raise StoreCorrupt(f"{str(path)!r} is damaged: {error}") from error
    except UnicodeDecodeError as error:
        raise StoreCorrupt(f"{str(path)!r} is damaged: a text in it is no UTF-8 ({error})") from error
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a name holds half a surrogate pair: {error.object!r}") from error


def _of_driver(error: Exception, *, path: Path) -> StoreError:
    import apsw

    match error:
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(
                f"{str(path)!r} is locked by another program: try again, or close that program"
            )
        case apsw.FullError():
            return StoreUnavailable(f"{str(path)!r} cannot grow, the disk is full: free some space")
        case apsw.CorruptError() | apsw.NotADBError() | apsw.FormatError():
            return StoreCorrupt(
                f"{str(path)!r} is damaged ({error}): `autocompact doctor --db {path}` says what can be done"
            )
        case apsw.ReadOnlyError() | apsw.CantOpenError() | apsw.PermissionsError() | apsw.IOError():
            return StoreUnavailable(
                f"{str(path)!r} cannot be read or written: check the file, its folder and the disk ({error})"
            )
        case _:
            return StoreError(f"{str(path)!r}: {error}")


def check_file(path: Path, *, pause: Callable[[float], object] = time.sleep) -> None:
    """Refuse what is not ours without touching it; a file that is not there yet is fine.

    Args:
        path: of the file.
        pause: waits so many seconds before a file that looks damaged is looked at again.

    Raises:
        StoreUnavailable: no such folder, or not a regular file.
        StoreCorrupt: it is no database of ours.
        StoreTooNew: a newer program wrote it.
    """
    import apsw

    if not path.parent.is_dir():
        raise StoreUnavailable(f"there is no folder {str(path.parent)!r}: make it, or choose another file")
    if path.exists() and not path.is_file():
        raise StoreUnavailable(f"{str(path)!r} is not a file: choose another path")
    # an empty file is what a killed process leaves that was just creating one
    if not (path.exists() and path.stat().st_size):
        return
    for look in range(1, _LOOKS + 1):
        try:
            _look(path)
        except apsw.CorruptError:
            # damage stays, a write in progress does not
            if look == _LOOKS:
                raise
            pause(_LOOK_AGAIN_SECONDS)
        else:
            return


def _look(path: Path) -> None:
    import apsw

    connection = None
    try:
        if path.stat().st_size < _HEADER_BYTES:
            raise apsw.NotADBError("it is too short")
        # as a URI, so that names with ? and # stay names
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = cast("Connection", apsw.Connection(uri, flags=flags))
        if _number(connection, "application_id") != APPLICATION_ID:
            raise StoreCorrupt(
                f"{str(path)!r} is a database of another program: choose another file for autocompact"
            )
        _check_version(connection, path)
    except apsw.NotADBError as error:
        raise StoreCorrupt(
            f"{str(path)!r} is not a database: choose another file ({error}). If it was one of autocompact, "
            f"`autocompact doctor --rescue NEW.db --db {path}` copies what can still be read of it"
        ) from error
    finally:
        if connection is not None:
            connection.close()


def _check_version(connection: Connection, path: Path) -> int:
    version, known = _number(connection, "user_version"), len(migrations("sqlite"))
    if version > known:
        raise StoreTooNew(
            f"{str(path)!r} has schema version {version}, this autocompact knows {known}: update autocompact"
        )
    return version


def _migrate(connection: Connection, path: Path) -> None:
    import apsw

    # Until the version is known, closing must not move a newer program's write-ahead log into the file.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    scripts = migrations("sqlite")
    if _check_version(connection, path) < len(scripts):
        # two programs may find the old version at once: the second looks again inside the lock
        with transaction(connection, "EXCLUSIVE"):
            version = _check_version(connection, path)
            for script in scripts[version:]:
                connection.execute(script)
            # with the tables in one transaction: a file is ours or empty, never half
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(scripts)}")
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _use_wal(connection: Connection) -> None:
    import apsw

    if connection.execute("PRAGMA journal_mode").get != "wal":
        try:
            connection.execute("PRAGMA journal_mode = wal")
        except apsw.BusyError:
            return  # another connection is at the same; the mode belongs to the file


def _number(connection: Connection, name: str) -> int:
    return connection.execute(f"PRAGMA {name}").get
