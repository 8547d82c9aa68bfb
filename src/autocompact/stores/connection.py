"""The part of a database driver that we use, typed; `Connection` is ``apsw.Connection``, whose stubs need a newer Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

Value: TypeAlias = str | int | float | bytes | None
Bindings: TypeAlias = Sequence[Value] | Mapping[str, Value]


class Cursor(Protocol):
    """The rows of a statement, as they come."""

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Row after row; each column is what the table says."""
        ...

    @property
    def get(self) -> Any:
        """The only row: its value if it has one column, else a tuple; None if there is no row."""
        ...


class Statements(Protocol):
    """Runs statements: a connection of any driver, for one thread at a time."""

    def execute(self, statements: str, bindings: Bindings | None = None, /) -> Cursor:
        """Run statements up to the first row; the rest runs, and the rows come, while the cursor is read."""
        ...

    def executemany(self, statements: str, sequenceofbindings: Iterable[Bindings], /) -> Cursor:
        """Run statements once for each bindings."""
        ...


class Connection(Statements, Protocol):
    """A connection to a SQLite file."""

    @property
    def in_transaction(self) -> bool:
        """True if a transaction is open."""
        ...

    def total_changes(self) -> int:
        """Rows that were inserted, changed or deleted since it was opened."""
        ...

    def readonly(self, name: str, /) -> bool:
        """True if the database of that name was opened for reading only."""
        ...

    def set_busy_timeout(self, milliseconds: int, /) -> None:
        """Set how long a statement waits for a lock."""
        ...

    def config(self, op: int, /, *args: int) -> int:
        """Change an SQLITE_DBCONFIG setting."""
        ...

    def close(self) -> None:
        """End it."""
        ...
