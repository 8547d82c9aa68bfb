"""The search index on a PostgreSQL server: a GIN index tells where each term stands, `autocompact.core.search` ranks.

A passage's terms stand in an array in their order, each with the number of its namespace in front (``3_login``), so that
nothing of another namespace is read, counted or found. The array says by itself where in the passage a term stands. How
much is read: `autocompact.stores.bounded_search`; ``ts_rank`` would look at every match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from autocompact.core.messages import Message
from autocompact.core.search import Kind, Passage, passages
from autocompact.errors import StoreCorrupt
from autocompact.ports import Hit, Key
from autocompact.stores.bounded_search import Asked, find, passage_of, passage_row
from autocompact.stores.connection import Value
from autocompact.stores.postgres_server import DIALECT, PostgresConnection, Rows
from autocompact.stores.queries import queries
from autocompact.stores.rows import row_id, row_range
from autocompact.stores.tenants import Tenant

T = TypeVar("T")

_LAST = (1 << 63) - 1


class PostgresReader(Protocol):
    """Runs reads on a store's database. `autocompact.stores.postgres.PostgresStore` implements it."""

    async def reading(self, work: Callable[[PostgresConnection], T], *, tenant: Tenant) -> T:
        """The result of ``work`` on the database as it is now, of which it sees the tenant's part."""
        ...


class PostgresIndexer:
    """Implements `autocompact.stores.indexing.Indexer`: for ``PostgresStore(url, indexer=PostgresIndexer())``."""

    def index(
        self, connection: PostgresConnection, messages: Sequence[Message], *, conversation: int
    ) -> None:
        """See `autocompact.stores.indexing.Indexer.index`."""
        tables = _Tables(connection)
        namespace = tables.run("namespace_of", conversation=conversation).get
        tables.run("add_space", name=namespace)
        space = tables.run("space", name=namespace).get
        before = number = tables.last_passage(conversation)
        rows: list[tuple[Value, ...]] = []
        for message in messages:
            for passage, terms in passages(message):
                number += 1
                rows.append((*passage_row(number, passage), " ".join([f"{space}_{term}" for term in terms])))
        connection.executemany(tables.sql["add_passage"], rows)
        tables.run("count_passages", conversation=conversation, more=number - before)

    def delete(self, connection: PostgresConnection, *, conversation: int) -> None:
        """See `autocompact.stores.indexing.Indexer.delete`."""
        first, last = row_range(conversation)
        _Tables(connection).run("delete_passages", first=first, last=last)


class PostgresIndex:
    """Implements `Index` on the database of a store that keeps one."""

    def __init__(self, store: PostgresReader) -> None:
        self._store = store

    async def search(
        self,
        namespace: str,
        query: str,
        *,
        k: int,
        conversation: str | None = None,
        admit: Callable[[Key, int], bool] | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> tuple[Hit, ...]:
        """See `Index.search`."""

        def work(connection: PostgresConnection) -> tuple[Hit, ...]:
            scope = _scope(_Tables(connection), namespace=namespace, conversation=conversation)
            return () if scope is None else find(scope, query, k=k, admit=admit, kinds=kinds)

        return await self._store.reading(work, tenant=namespace)


class _Tables:
    """The named queries on one connection."""

    def __init__(self, connection: PostgresConnection) -> None:
        self.connection = connection
        self.sql = queries(DIALECT, "search.sql")

    def run(self, query: str, **values: Value | Sequence[Value]) -> Rows:
        return self.connection.execute(self.sql[query], values)

    def last_passage(self, conversation: int) -> int:
        """The id of the conversation's last passage; the id before the first one if it has none."""
        first, last = row_id(conversation, 0), row_range(conversation)[1]
        return self.run("last_passage", first=first, last=last).get


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Scope of a search: the passages of a namespace, or of one conversation of it; implements `Passages`.

    Attributes:
        tables: on the connection of this search.
        namespace: its name.
        first: id of the first passage.
        last: id of the last one.
        total: how many there are.
        keys: of conversations, by id, as they are asked for.
    """

    tables: _Tables
    namespace: str
    first: int
    last: int
    total: int
    keys: dict[int, Key] = field(default_factory=dict[int, Key])

    def key(self, conversation: int) -> Key:
        """See `Passages.key`."""
        if conversation not in self.keys:
            name = self.tables.run("name_of", conversation=conversation).get
            if name is None:
                raise StoreCorrupt(
                    f"the search index has passages of conversation {conversation}, which is not there"
                )
            self.keys[conversation] = Key(conversation=name, namespace=self.namespace)
        return self.keys[conversation]

    def count(self, terms: Sequence[str], *, most: int) -> list[int]:
        """See `Passages.count`."""
        asked = list(terms)
        found = self.tables.run("count_places", terms=asked, first=self.first, last=self.last, most=most)
        return [count for (count,) in found]

    def places(self, asked: Asked) -> dict[int, Sequence[int]]:
        """See `Passages.places`."""
        found = self.tables.run(
            "places",
            every=[asked.term, *asked.every],
            beside=list(asked.beside),
            first=self.first,
            last=self.last,
            most=asked.most,
            newest=asked.newest,
        )
        return {id: [at - 1 for at in places] for id, places in found}

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """See `Passages.passages`."""
        return {row[0]: passage_of(row) for row in self.tables.run("passages", ids=list(ids))}


def _scope(tables: _Tables, *, namespace: str, conversation: str | None) -> _Scope | None:
    """Return the scope of a search; None where nothing was ever indexed."""
    if tables.run("space", name=namespace).get is None:
        return None
    if conversation is None:
        total = tables.run("passages_of", name=namespace).get
        return _Scope(tables=tables, namespace=namespace, first=1, last=_LAST, total=total)
    id = tables.run("conversation", namespace=namespace, name=conversation).get
    if id is None:
        return None
    before, last = row_id(id, 0), tables.last_passage(id)
    return _Scope(tables=tables, namespace=namespace, first=before + 1, last=last, total=last - before)
