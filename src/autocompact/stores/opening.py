"""The store at a place: a file, or a database on a PostgreSQL server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autocompact.errors import InvalidInput
from autocompact.ports import Clock
from autocompact.stores.naming import StorePlace
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.table_store import TableStore


def open_store(place: StorePlace, *, clock: Clock | None = None) -> TableStore[Any]:
    """A store that keeps a search index; nothing is opened before the first use.

    Args:
        place: the file, made if there is none; or the database.
        clock: stamps, and when a lease expires.

    Raises:
        InvalidInput: ``place`` cannot be one; or it is a server, and the driver is not installed.
    """
    if isinstance(place, Path):
        return SqliteStore(place, clock=clock)
    try:
        from autocompact.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("autocompact"):
            raise
        raise InvalidInput(str(error)) from error
    return PostgresStore(place, clock=clock)
