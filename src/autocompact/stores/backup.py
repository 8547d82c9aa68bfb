"""A copy of a store file while others write to it, checked before it takes its name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from autocompact.errors import InvalidInput, StoreCorrupt, StoreUnavailable
from autocompact.runtime.files import give_name
from autocompact.stores.connection import Connection
from autocompact.stores.doctor import Examination, examine
from autocompact.stores.sqlite_file import check_file, errors

OF_THE_PLACE = ("modes", "disk", "log")
"""Checks of the doctor that say nothing of what is in a file."""


def back_up(source: Path, target: Path, *, overwrite: bool = False) -> Examination:
    """Copy a store file as it is at one moment; whoever writes to it goes on.

    The copy is one file without a write-ahead log, for its owner alone. It is there whole and checked, or not at all.

    Args:
        source: the file.
        target: where to.
        overwrite: replace a file that is there.

    Returns:
        What the doctor says of the copy.

    Raises:
        InvalidInput: the target is there, or is the file itself.
        StoreUnavailable: there is no such file or folder, or it cannot be read or written.
        StoreCorrupt: the file is damaged; there is no copy.
    """
    with errors(source):
        check_target(source, target, overwrite=overwrite)
        check_file(source)
    temporary = target.with_name(f".autocompact-{secrets.token_hex(6)}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with errors(source), _writing(target):
            copy_pages(source, temporary)
            _without_log(temporary)
        found = examine(temporary)
        wrong = [finding for finding in found.problems if finding.check not in OF_THE_PLACE]
        if wrong:
            raise StoreCorrupt(
                f"{str(source)!r} is damaged, no backup was made: {wrong[0].where}: {wrong[0].what}. "
                f"`autocompact doctor --db {source}` lists all, with what to do"
            )
        take_its_name(temporary, target, overwrite=overwrite)
    except OSError as error:
        raise StoreUnavailable(
            f"the backup {str(target)!r} cannot be written: {error.strerror or error}"
        ) from error
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            temporary.with_name(temporary.name + suffix).unlink(missing_ok=True)
    return found


@contextmanager
def _writing(target: Path) -> Generator[None]:
    """An error of what cannot be written names the copy: the driver says of both files alike that it failed."""
    import apsw

    try:
        yield
    except (apsw.FullError, apsw.IOError) as error:
        if isinstance(error, apsw.IOError) and cast("Any", error).extendedresult == apsw.SQLITE_IOERR_READ:
            raise
        raise StoreUnavailable(
            f"the backup {str(target)!r} cannot be written ({error}): free some space, or choose another folder"
        ) from error


def check_target(source: Path, target: Path, *, overwrite: bool) -> None:
    """Check that there is a source, and that the target can be made of it.

    Raises:
        InvalidInput: the target is there, or is the source.
        StoreUnavailable: there is no such file or folder.
    """
    if not source.is_file():
        raise StoreUnavailable(f"there is no file {str(source)!r}: check the path, or name one with --db")
    if not target.absolute().parent.is_dir():
        raise StoreUnavailable(f"there is no folder {str(target.parent)!r}: make it, or choose another file")
    if target.exists() and target.samefile(source):
        raise InvalidInput(f"{str(target)!r} is the store itself: choose another file")
    if target.is_dir():
        raise InvalidInput(f"{str(target)!r} is a folder: name a file in it")
    if target.exists() and not overwrite:
        raise InvalidInput(f"{str(target)!r} is there already: choose another file, or give --overwrite")


def copy_pages(source: Path, target: Path) -> None:
    """Copy the pages of a file, and of its write-ahead log, as they are at one moment; whoever writes goes on.

    Raises:
        apsw.Error: the file cannot be read, or the target not written.
    """
    import apsw

    with (
        closing(apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)) as reader,
        closing(apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)) as writer,
    ):
        reader.set_busy_timeout(5000)
        # All pages in one step: a step holds one state of the file, and a writer need not wait for it (WAL).
        with cast("Any", writer).backup("main", reader, "main") as copying:
            copying.step(-1)


def _without_log(path: Path) -> None:
    import apsw

    with closing(
        cast("Connection", apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE))
    ) as connection:
        connection.execute("PRAGMA journal_mode = delete")


def take_its_name(temporary: Path, target: Path, *, overwrite: bool) -> None:
    """Flush a file to the disk and give it its name, at once.

    Raises:
        InvalidInput: another program made a file of that name meanwhile.
        OSError: it cannot be done.
    """
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    if not overwrite:
        try:
            give_name(temporary, target)
        except FileExistsError as error:
            raise InvalidInput(
                f"{str(target)!r} is there already: choose another file, or give --overwrite"
            ) from error
    else:
        temporary.replace(target)
    with suppress(OSError):
        folder = os.open(target.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
