"""The search index in the store's SQLite file: FTS5 holds where each term stands, `autocompact.core.search` ranks.

How much of it is read: `autocompact.stores.bounded_search`.

Every term is stored with the number of its namespace in front (``3_login``): a namespace has its own dictionary, so
nothing of another one is read, counted or found.

What a passage is and which terms it has: `autocompact.core.search.passages`. The table is contentless: the text is
read from the log. A deleted conversation's terms are marked and leave the file when FTS5 next merges its segments, at
the latest with `SqliteIndexer.tidy`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast
from weakref import WeakKeyDictionary

from autocompact.core.messages import Message
from autocompact.core.search import Kind, Passage, passages
from autocompact.errors import StoreCorrupt
from autocompact.ports import Hit, Key
from autocompact.stores.bounded_search import BUDGET, Asked, find, passage_of, passage_row
from autocompact.stores.connection import Connection, Cursor, Value
from autocompact.stores.indexing import SqliteReader
from autocompact.stores.queries import queries
from autocompact.stores.rows import row_id, row_range

MERGED_PAGES = 100
"""Pages of the index that one step of `SqliteIndexer.tidy` writes, so that others need not wait long."""

_LAST = (1 << 63) - 1


class SqliteIndexer:
    """Implements `autocompact.stores.indexing.SqliteIndexer`: for ``SqliteStore(path, indexer=SqliteIndexer())``."""

    def index(self, connection: Connection, messages: Sequence[Message], *, conversation: int) -> None:
        """See `autocompact.stores.indexing.SqliteIndexer.index`."""
        tables = _Tables(connection)
        namespace = tables.run("namespace_of", conversation=conversation).get
        space = tables.run("add_space", name=namespace).get
        number = first = tables.last_passage(conversation)
        sql, add_passage, add_terms = connection.execute, tables.sql["add_passage"], tables.sql["add_terms"]
        for message in messages:
            for passage, terms in passages(message):
                number += 1
                sql(add_passage, passage_row(number, passage))
                sql(add_terms, (number, " ".join([f"{space}_{term}" for term in terms])))
        tables.run("count_passages", name=namespace, more=number - first)

    def delete(self, connection: Connection, *, conversation: int) -> None:
        """See `autocompact.stores.indexing.SqliteIndexer.delete`."""
        tables = _Tables(connection)
        first, last = row_range(conversation)
        held = tables.last_passage(conversation) - row_id(conversation, 0)
        namespace = tables.run("namespace_of", conversation=conversation).get
        tables.run("count_passages", name=namespace, more=-held)
        tables.run("delete_terms", first=first, last=last)
        tables.run("delete_passages", first=first, last=last)
        tables.run("drop_space", name=namespace)

    def tidy(self, connection: Connection, *, begun: bool) -> bool:
        """See `autocompact.stores.indexing.SqliteIndexer.tidy`: FTS5 merges its segments without what was deleted."""
        before = connection.total_changes()
        # below zero it begins a merge of all levels; above, it goes on with the one that was begun
        _Tables(connection).run("merge", pages=MERGED_PAGES if begun else -MERGED_PAGES)
        # FTS5 counts one change for the command itself, and more for each page that it merged
        return connection.total_changes() - before > 1


class SqliteIndex:
    """Implements `Index` on the file of a store that was opened with `SqliteIndexer`."""

    def __init__(self, store: SqliteReader) -> None:
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

        def work(connection: Connection) -> tuple[Hit, ...]:
            scope = _scope(_Tables(connection), namespace=namespace, conversation=conversation)
            return () if scope is None else find(scope, query, k=k, admit=admit, kinds=kinds)

        return await self._store.reading(work)


class _Tables:
    """The named queries on one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.sql = queries("sqlite", "search.sql")

    def run(self, query: str, **values: Value) -> Cursor:
        return self.connection.execute(self.sql[query], values)

    def last_passage(self, conversation: int) -> int:
        """The id of the conversation's last passage; the id before the first one if it has none."""
        first = row_id(conversation, 0)
        return self.run("last_passage", first=first, last=row_range(conversation)[1]).get

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        wanted = json.dumps(list(ids))
        return {row[0]: passage_of(row) for row in self.run("passages", ids=wanted)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Scope of a search: the passages of a namespace, or of one conversation of it.

    Attributes:
        tables: on the connection of this search.
        namespace: its name.
        space: its number, which stands in front of every term.
        first: id of the first passage.
        last: id of the last one.
        total: how many there are.
        budget: see `autocompact.stores.bounded_search.Passages`.
        keys: of conversations, by id, as they are asked for.
    """

    tables: _Tables
    namespace: str
    space: int
    first: int
    last: int
    total: int
    budget: int = BUDGET
    keys: dict[int, Key] = field(default_factory=dict[int, Key])

    def key(self, conversation: int) -> Key:
        if conversation not in self.keys:
            name = self.tables.run("name_of", conversation=conversation).get
            if name is None:
                raise StoreCorrupt(
                    f"the search index has passages of conversation {conversation}, which is not there"
                )
            self.keys[conversation] = Key(conversation=name, namespace=self.namespace)
        return self.keys[conversation]

    def count(self, terms: Sequence[str], *, most: int) -> list[int]:
        """See `autocompact.stores.bounded_search.Passages`."""
        matches = json.dumps([self._match(term) for term in terms])
        found = self.tables.run("count_places", terms=matches, first=self.first, last=self.last, most=most)
        return [count for (count,) in found]

    def places(self, asked: Sequence[Asked]) -> list[Mapping[int, Sequence[int]]]:
        """See `autocompact.stores.bounded_search.Passages`."""
        return [self._places(each) for each in asked]

    def _places(self, asked: Asked) -> Mapping[int, Sequence[int]]:
        match = " AND ".join(map(self._match, (asked.term, *asked.every)))
        if asked.beside:
            match += f" AND ({' OR '.join(map(self._match, asked.beside))})"
        query = "newest_places" if asked.newest else "places"
        notes = _notes(self.tables.connection)
        places = notes.places = {}
        rows = self.tables.run(query, match=match, first=self.first, last=self.last, most=asked.most)
        # run to the end for what `note_places` is called with; the rows themselves are empty
        deque(rows, maxlen=0)
        return places

    def fill_in(self, ids: Sequence[int], *, weights: Mapping[str, float], most: int) -> None:
        """See `autocompact.stores.bounded_search.Passages`; nothing is left open."""

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """See `autocompact.stores.bounded_search.Passages`."""
        return self.tables.passages(ids)

    def _match(self, term: str) -> str:
        return f'"{self.space}_{term}"'


def _scope(tables: _Tables, *, namespace: str, conversation: str | None) -> _Scope | None:
    """Return the scope of a search; None where nothing was ever indexed."""
    found = tables.run("space", name=namespace).get
    if found is None:
        return None
    space, total = found
    if conversation is None:
        return _Scope(tables=tables, namespace=namespace, space=space, first=1, last=_LAST, total=total)
    id = tables.run("conversation", namespace=namespace, name=conversation).get
    if id is None:
        return None
    before, last = row_id(id, 0), tables.last_passage(id)
    return _Scope(
        tables=tables, namespace=namespace, space=space, first=before + 1, last=last, total=last - before
    )


class _Api(Protocol):
    """The part of ``apsw.FTS5ExtensionApi`` that we use: the row that matched."""

    rowid: int

    def phrase_locations(self, phrase: int, /) -> Sequence[Sequence[int]]: ...


class _Connection(Protocol):
    def register_fts5_function(self, name: str, function: Callable[..., None], /) -> None: ...


class _Notes:
    """The SQL function ``note_places``: keeps where the first term of the query stands in each row.

    Positions do not travel through SQL as values, which would cost more than finding them.
    """

    def __init__(self) -> None:
        self.places: dict[int, Sequence[int]] = {}

    def note(self, api: _Api, *_: object) -> None:
        self.places[api.rowid] = api.phrase_locations(0)[0]


_NOTES: WeakKeyDictionary[Connection, _Notes] = WeakKeyDictionary()
"""A connection keeps its functions until it is closed, so it is given one, however many indexes search on it."""


def _notes(connection: Connection) -> _Notes:
    notes = _NOTES.get(connection)
    if notes is None:
        notes = _NOTES[connection] = _Notes()
        cast("_Connection", connection).register_fts5_function("note_places", notes.note)
    return notes
