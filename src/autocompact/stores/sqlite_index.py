"""The search index in the store's SQLite file: FTS5 holds where each term stands, `autocompact.core.search` ranks.

FTS5's own ranking looks at every match of every term in the whole file: tens of milliseconds for a question with
common words, and its figures would mix tenants. So it is only asked where a term stands, rarest terms first, and the
number of places that are read is bounded:

- the rarest terms are read whole, as far as `BUDGET` goes;
- the others only count in passages where a term that was read stands, too;
- where all are common, the newest passages that hold all of them are looked at, else the newest that hold any.

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
from autocompact.core.search import (
    KINDS,
    Kind,
    Passage,
    Posting,
    Query,
    Ranked,
    narrowed,
    parse_query,
    passages,
    search,
)
from autocompact.errors import StoreCorrupt
from autocompact.ports import Hit, Key
from autocompact.stores.connection import Connection, Cursor, Value
from autocompact.stores.indexing import SqliteReader
from autocompact.stores.queries import queries
from autocompact.stores.rows import place, row_id, row_range

BUDGET = 1_500
"""Places that are read for the rare terms together, and for each common one: about a millisecond each time. Reading
ten times as many finds no more in an archive of 100,000 messages (``benchmarks/retrieval.py``)."""

_COUNTED = (30, 250, BUDGET + 1)
"""Bounds up to which the passages of a term are counted, one after the other, until `_ENOUGH` rare places are known."""

_FEW = 20
"""Terms that are counted at once: looking a term up costs as much as counting a thousand of its passages."""

_ENOUGH = 250
"""Places of rare terms after which more common terms are not counted any further."""

MERGED_PAGES = 100
"""Pages of the index that one step of `SqliteIndexer.tidy` writes, so that others need not wait long."""

MOST_COMMON = 2
"""Common terms of a query that count, the first ones."""

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
                sql(add_passage, _row(number, passage))
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
        _Tables(connection).run("merge", pages=MERGED_PAGES if begun else -MERGED_PAGES)
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
        asked = parse_query(query)

        def find(connection: Connection) -> tuple[Hit, ...]:
            scope = _scope(_Tables(connection), namespace=namespace, conversation=conversation)
            if scope is None:
                return ()
            try:
                found = _Search(scope, _notes(connection)).find(asked, admit=admit, kinds=kinds)
                return tuple(
                    Hit(
                        key=scope.key(one.log),
                        seq=one.seq,
                        score=one.score,
                        passages=one.passages,
                        weights=one.weights,
                    )
                    for one in found[:k]
                )
            except (TypeError, ValueError, LookupError, ArithmeticError) as error:
                raise StoreCorrupt(f"the search index cannot be read: {error!r}") from error

        return await self._store.reading(find)


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
        return {row[0]: _passage(row) for row in self.run("passages", ids=wanted)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What is searched: the passages of a namespace, or of one conversation of it.

    Attributes:
        tables: on the connection of this search.
        namespace: its name.
        space: its number, which stands in front of every term.
        first: id of the first passage.
        last: id of the last one.
        total: how many there are.
        keys: of conversations, by id, as they are asked for.
    """

    tables: _Tables
    namespace: str
    space: int
    first: int
    last: int
    total: int
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


def _scope(tables: _Tables, *, namespace: str, conversation: str | None) -> _Scope | None:
    """None where nothing was ever indexed."""
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


class _Search:
    """One search: reads the places of the query's terms within the bounds, and lets the core rank them."""

    def __init__(self, scope: _Scope, notes: _Notes) -> None:
        self._scope = scope
        self._notes = notes

    def find(
        self,
        query: Query,
        *,
        admit: Callable[[Key, int], bool] | None,
        kinds: Collection[Kind] | None = None,
    ) -> list[Ranked]:
        scope = self._scope
        query, counts = narrowed(query, self._counts([self._match(term) for term in query.terms]))
        return search(
            query,
            self._postings([self._match(term) for term in query.terms], counts),
            total=scope.total,
            look_up=scope.tables.passages,
            log_of=lambda id: place(id)[0],
            admit=None if admit is None else lambda log, seq: admit(scope.key(log), seq),
            kinds=kinds,
        )

    def _match(self, term: str) -> str:
        return f'"{self._scope.space}_{term}"'

    def _counts(self, terms: Sequence[str]) -> list[int]:
        """Passages that hold each term, counted no further than the choice of the rare ones needs.

        A question of many words mostly has words that stand everywhere: counting each of them to `BUDGET` would cost
        more than the search.
        """
        counts = dict.fromkeys(terms, 0)
        pending = list(counts)
        for most in _COUNTED if len(counts) > _FEW else _COUNTED[-1:]:
            found = self._scope.tables.run(
                "count_places",
                terms=json.dumps(pending),
                first=self._scope.first,
                last=self._scope.last,
                most=most,
            )
            counts |= dict(zip(pending, (count for (count,) in found), strict=True))
            pending = [term for term in pending if counts[term] >= most]
            if sum(counts.values()) - most * len(pending) >= _ENOUGH:
                break
        counts |= dict.fromkeys(pending, BUDGET + 1)
        return [counts[term] for term in terms]

    def _postings(self, terms: Sequence[str], counts: Sequence[int]) -> list[Posting]:
        rare = _rare(counts)
        common = [index for index, count in enumerate(counts) if count and index not in rare][:MOST_COMMON]
        found: dict[int, Posting] = {
            index: Posting(places=self._places(terms[index]), found=counts[index]) for index in rare
        }
        if rare:
            anchors = len({id for posting in found.values() for id in posting.places})
            either = " OR ".join(terms[index] for index in rare)
            for index in common:
                places = self._places(f"{terms[index]} AND ({either})")
                share = self._scope.total * len(places) // anchors
                found[index] = Posting(places=places, found=max(counts[index], share))
        elif common:
            found = self._newest({index: terms[index] for index in common})
        return [found.get(index, Posting(places={}, found=count)) for index, count in enumerate(counts)]

    def _newest(self, terms: Mapping[int, str]) -> dict[int, Posting]:
        """Places of terms that are all common: where all of them stand, else where any does."""
        every = " AND ".join(terms.values())
        most = BUDGET // len(terms)
        places = {
            index: self._places(f"{term} AND {every}", query="newest_places", most=most)
            for index, term in terms.items()
        }
        if not any(places.values()):
            places = {
                index: self._places(term, query="newest_places", most=most) for index, term in terms.items()
            }
        return {index: Posting(places=where, found=BUDGET) for index, where in places.items()}

    def _places(
        self, match: str, *, query: str = "places", most: int = BUDGET
    ) -> Mapping[int, Sequence[int]]:
        places = self._notes.places = {}
        deque(self._run(query, match, most=most), maxlen=0)
        return places

    def _run(self, query: str, match: str, *, most: int) -> Cursor:
        scope = self._scope
        return scope.tables.run(query, match=match, first=scope.first, last=scope.last, most=most)


def _rare(counts: Sequence[int]) -> list[int]:
    """Indices of the terms whose places are all read, rarest first."""
    chosen: list[int] = []
    left = BUDGET
    for index in sorted(range(len(counts)), key=counts.__getitem__):
        if 0 < counts[index] <= left:
            chosen.append(index)
            left -= counts[index]
    return chosen


class _Api(Protocol):
    """What we use of ``apsw.FTS5ExtensionApi``: the row that matched."""

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


def _row(id: int, passage: Passage) -> tuple[int, ...]:
    return (
        id,
        passage.seq,
        passage.part,
        passage.start,
        passage.end - passage.start,
        KINDS.index(passage.kind),
        passage.length,
    )


def _passage(row: tuple[int, ...]) -> Passage:
    _, seq, part, start, length, kind, terms = row
    if min(seq, part, start, length, kind, terms) < 0:
        raise ValueError(f"passage {row[0]} has a number below zero")
    return Passage(seq=seq, part=part, start=start, end=start + length, kind=KINDS[kind], length=terms)
