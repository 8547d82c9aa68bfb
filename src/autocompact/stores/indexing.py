"""The hook by which a store keeps a search index up to date, inside the transaction that appends or deletes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from autocompact.core.messages import Message
from autocompact.ports import Key
from autocompact.stores.connection import Connection, Statements

T = TypeVar("T")
C_contra = TypeVar("C_contra", bound=Statements, contravariant=True)


class SqliteReader(Protocol):
    """Runs reads on a store's file. `SqliteStore` implements it; an index is handed it, and knows no store."""

    async def reading(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work`` on the file as it is now, in the reader's thread."""
        ...


class Indexer(Protocol[C_contra]):
    """An index in the tables of the store's own database.

    It runs in the writer's thread, inside the open transaction, and leaves begin and commit to the store. An error
    it raises undoes the append.
    """

    def index(self, connection: C_contra, messages: Sequence[Message], *, conversation: int) -> None:
        """Add messages that were just stored.

        Args:
            connection: the writer, in a transaction.
            messages: in order; each comes once.
            conversation: id of the row in ``conversations``; `autocompact.stores.rows.row_id` gives the messages' ids.
        """
        ...

    def delete(self, connection: C_contra, *, conversation: int) -> None:
        """Remove everything of a conversation; its messages are still in their table."""
        ...


class SqliteIndexer(Indexer[Connection], Protocol):
    """An index in the tables of the store's own file."""

    def tidy(self, connection: Connection, *, begun: bool) -> bool:
        """Take one step of clearing the file of what was deleted; whether there are more.

        Args:
            connection: the writer, in a transaction.
            begun: whether a step was taken before, since the last deletion.
        """
        ...


class MemoryIndexer(Protocol):
    """An index beside `autocompact.stores.memory.MemoryStore`."""

    def index(self, key: Key, messages: Sequence[Message]) -> None:
        """Add messages that were just stored, in order; each comes once."""
        ...

    def delete(self, key: Key) -> None:
        """Remove everything of a conversation."""
        ...
