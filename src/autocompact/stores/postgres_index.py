"""The search index on a PostgreSQL server: a GIN index tells where each term stands, `autocompact.core.search` ranks.

A passage's terms stand in an array in their order, each with the number of its namespace in front (``3_login``), so that
nothing of another namespace is read, counted or found. How much is read: `autocompact.stores.bounded_search`; ``ts_rank``
would look at every match.

The GIN index says which passages hold a term. How often and where says the array alone, which is compressed, so only those
of the likeliest passages are read (``sql/postgres/migrations/0005_search.sql``), and of a small scope all at once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from autocompact.core.messages import Message
from autocompact.core.search import K1, SHORTLIST, Kind, Passage, parse_query, passages
from autocompact.ports import Hit, Key
from autocompact.stores.bounded_search import (
    MOST_COMMON,
    ONCE,
    Asked,
    Passages,
    find,
    passage_of,
    passage_row,
)
from autocompact.stores.connection import Value
from autocompact.stores.postgres_server import DIALECT, PostgresConnection, Rows
from autocompact.stores.queries import queries
from autocompact.stores.rows import place, row_id, row_range
from autocompact.stores.tenants import Tenant

T = TypeVar("T")

SMALL = 200
"""Passages of a conversation whose terms are all read: looking each term up costs more."""

BUDGET = 300
"""As `autocompact.stores.bounded_search.BUDGET`, of a table that a place is looked up in for each: fewer, for as much time."""

RECENT = 1_500
"""Newest passages, among which terms that are all common are looked for first."""

LARGE = 5_000
"""Passages of a tenant from which on their number is remembered, as is which terms are common: a hundred more would not change them."""

LONG = 20_000
"""Passages of a tenant from which on reading some hundred of its newest takes less than the posting lists of common terms."""

FEW = 6
"""Terms asked for of each passage, on average, up to which their places are looked for at the server. Each takes it a fifth of the time in
which it hands out all that is said, which then has to be taken apart here."""

REMEMBERED_SECONDS = 300.0
"""How long that holds."""

TENANTS = 64
"""Tenants of which it is remembered at most: those that searched last."""

_TERMS = 2_000
"""Terms of each at most; with `TENANTS`, some ten megabytes."""

_LAST = (1 << 63) - 1

_COLUMNS = ("id", "seq", "part", "start", "length", "kind", "terms", "words")


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
        first, last = row_id(conversation, 0), row_range(conversation)[1]
        namespace, space, number = tables.run(
            "place_of", conversation=conversation, first=first, last=last
        ).get
        if space is None:
            tables.run("add_space", name=namespace)
            space = tables.run("space", name=namespace).get
        rows: list[tuple[Value, ...]] = []
        for message in messages:
            for passage, terms in passages(message):
                number += 1
                rows.append((*passage_row(number, passage), " ".join([f"{space}_{term}" for term in terms])))
        if rows:
            columns = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
            tables.run("add_passages", conversation=conversation, more=len(rows), **columns)

    def delete(self, connection: PostgresConnection, *, conversation: int) -> None:
        """See `autocompact.stores.indexing.Indexer.delete`."""
        first, last = row_range(conversation)
        _Tables(connection).run("delete_passages", first=first, last=last)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTenant:
    """What is remembered of a large tenant for a while.

    Attributes:
        total: passages of it.
        until: when it has to be found out anew, by the monotonic clock.
        is_large: there are so many that the index alone says which terms are common.
        common: terms that more than `BUDGET` of them hold.
    """

    total: int
    until: float
    is_large: bool = False
    common: set[str] = field(default_factory=set[str])

    def note(self, counts: Mapping[str, int]) -> None:
        """Remember the terms that are common, of counts up to one more than `BUDGET`."""
        if len(self.common) < _TERMS:
            self.common.update(term for term, count in counts.items() if count > BUDGET)


class LargeTenants:
    """What is remembered of the tenants that searched last; any thread may use it.

    Args:
        most: so many tenants.
    """

    def __init__(self, most: int = TENANTS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._used: OrderedDict[str, LargeTenant] = OrderedDict()

    def get(self, namespace: str) -> LargeTenant | None:
        """What is remembered of the tenant, if it still holds."""
        with self._lock:
            tenant = self._used.get(namespace)
            if tenant is None or tenant.until < time.monotonic():
                return None
            self._used.move_to_end(namespace)
            return tenant

    def add(self, namespace: str, tenant: LargeTenant) -> None:
        """Remember ``tenant``, and forget the one that has not searched for longest where there are too many."""
        with self._lock:
            self._used[namespace] = tenant
            self._used.move_to_end(namespace)
            if len(self._used) > self._most:
                self._used.popitem(last=False)


class PostgresIndex:
    """Implements `Index` on the database of a store that keeps one.

    Args:
        store: the one.
        large: see `LARGE`.
    """

    def __init__(self, store: PostgresReader, *, large: int = LARGE) -> None:
        self._store = store
        self._large = large
        self._tenants = LargeTenants()

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
            tables = _Tables(connection)
            held = (
                self._of_tenant(tables, namespace, is_open=admit is None and kinds is None)
                if conversation is None
                else _of_conversation(tables, query, key=Key(conversation=conversation, namespace=namespace))
            )
            return () if held is None else find(held, query, k=k, admit=admit, kinds=kinds)

        return await self._store.reading(work, tenant=namespace)

    def _of_tenant(self, tables: _Tables, namespace: str, *, is_open: bool) -> Passages | None:
        """The passages of a tenant; None where nothing was ever indexed.

        Args:
            tables: on the connection of this search.
            namespace: of the tenant.
            is_open: whatever it finds is admitted.
        """
        tenant = self._tenants.get(namespace)
        if tenant is None:
            total = tables.run("passages_of", name=namespace).get
            is_large = total >= self._large
            tenant = LargeTenant(total=total, until=time.monotonic() + REMEMBERED_SECONDS, is_large=is_large)
            if is_large:
                tenant.common.update(term for (term,) in tables.run("common_terms", most=BUDGET + 1))
                # two threads may do so at once: what is lost is only asked again
                self._tenants.add(namespace, tenant)
        if not tenant.total:
            return None
        return _Scope(
            tables=tables,
            namespace=namespace,
            conversation=None,
            total=tenant.total,
            tenant=tenant,
            is_open=is_open,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A passage that was read.

    Attributes:
        id: its number.
        passage: where it stands.
        name: of its conversation.
        places: positions of the terms that were asked for, by term; those that do not stand there are left out.
    """

    id: int
    passage: Passage
    name: str
    places: Mapping[str, Sequence[int]]


class _Tables:
    """The named queries on one connection."""

    def __init__(self, connection: PostgresConnection) -> None:
        self.connection = connection
        self.sql = queries(DIALECT, "search.sql")

    def run(self, query: str, **values: Value | Sequence[Value]) -> Rows:
        return self.connection.execute(self.sql[query], values)

    def read(
        self, asked: Mapping[int, Sequence[str]], *, weights: Mapping[str, float], most: int
    ) -> Iterator[_Row]:
        """Yield the likeliest of these passages, with the positions of the terms that are asked for of each.

        Args:
            asked: terms by passage.
            weights: of the terms; only needed where there are more passages than ``most``.
            most: passages at most, unless they are read whole.
        """
        if sum(map(len, asked.values())) > FEW * len(asked):
            yield from self.read_whole(asked, {term for terms in asked.values() for term in terms})
        elif asked:
            # mostly the same few for all: each set goes to the server once
            sets: dict[tuple[str, ...], int] = {}
            kinds = [sets.setdefault(tuple(terms), len(sets) + 1) for terms in asked.values()]
            for *columns, name, places in self.run(
                "read_likeliest",
                ids=_numbers(asked),
                kinds=_numbers(kinds),
                asked=[" ".join(terms) for terms in sets],
                weights=[" ".join([str(weights.get(term, 0.0)) for term in terms]) for terms in sets],
                saturation=K1,
                most=most,
            ):
                found = _apart(asked[columns[0]], places)
                yield _Row(id=columns[0], passage=passage_of(tuple(columns)), name=name, places=found)

    def read_whole(self, ids: Iterable[int], asked: Collection[str]) -> Iterator[_Row]:
        """Yield passages, with the positions of all of these terms; all that is said is handed out and taken apart here."""
        words: dict[str, str] = {}
        for *columns, name, line in self.run("read_passages", ids=_numbers(ids)):
            # the namespace's number is in front of every term, and the same in all that a transaction sees
            words = words or {line[: line.index("_") + 1] + term: term for term in asked}
            found: dict[str, list[int]] = defaultdict(list)
            for position, word in enumerate(line.split(" ")):
                if word in words:
                    found[words[word]].append(position)
            yield _Row(id=columns[0], passage=passage_of(tuple(columns)), name=name, places=found)


def _numbers(numbers: Iterable[int]) -> str:
    """An array as the server reads it; the driver takes several times as long for a list."""
    return f"{{{','.join(map(str, numbers))}}}"


def _apart(terms: Sequence[str], places: str) -> dict[str, list[int]]:
    """Positions by term, of each behind those of the one before; the server counts from 1, and only how far they are apart matters."""
    found = zip(terms, places.split(","), strict=True)
    return {term: list(map(int, here.split(" "))) for term, here in found if here}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Scope of a search: the passages of a namespace, or of one conversation of it; implements `Passages`.

    Attributes:
        tables: on the connection of this search.
        namespace: its name.
        conversation: id of the only one; None for all.
        total: passages in it.
        budget: see `Passages`.
        keys: of conversations, by id, as passages of them are looked up.
        postings: by term, where it stands in each passage: `ONCE` until the passage is read.
        held: passages that were read.
        rare: by term, ids of the passages that hold it, of terms that were counted to their end.
        beside: ids of the passages that hold a common term and one of these rare ones, where that came with the count.
        tenant: what is known of it; None for one conversation.
        is_open: whatever is found is admitted, so that of passages that count the same the newest of the shortlist are enough.
    """

    tables: _Tables
    namespace: str
    conversation: int | None
    total: int
    budget: int = BUDGET
    keys: dict[int, Key] = field(default_factory=dict[int, Key])
    postings: dict[str, dict[int, Sequence[int]]] = field(default_factory=dict[str, dict[int, Sequence[int]]])
    held: dict[int, Passage] = field(default_factory=dict[int, Passage])
    rare: dict[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    beside: dict[tuple[str, frozenset[str]], Sequence[int]] = field(
        default_factory=dict[tuple[str, frozenset[str]], Sequence[int]]
    )
    tenant: LargeTenant | None = None
    is_open: bool = False

    @property
    def ids(self) -> tuple[int, int]:
        """The first and the last that a passage of it can have."""
        return (1, _LAST) if self.conversation is None else row_range(self.conversation)

    def key(self, conversation: int) -> Key:
        """See `Passages.key`."""
        return self.keys[conversation]

    def count(self, terms: Sequence[str], *, most: int) -> list[int]:
        """See `Passages.count`."""
        counts = dict.fromkeys(terms, most)
        for term, count, ids in self._counted(terms, most=most):
            counts[term] = count
            if ids is not None:
                self.rare[term] = ids
        if self.tenant is not None:
            if self.tenant.is_large:
                self._look_up(counts, most=most)
            self.tenant.note(counts)
        return list(counts.values())

    def _counted(self, terms: Sequence[str], *, most: int) -> Iterable[tuple[str, int, Sequence[int] | None]]:
        """For each term of which it is not known that it is common the passages that hold it, and which, if they are few."""
        # what is common is known of a large tenant
        known = self.tenant.common if self.tenant else ()
        asked = [term for term in terms if term not in known]
        if self.tenant is None:
            first, last = self.ids
            found = self.tables.run("find_between", terms=asked, first=first, last=last, most=most)
        elif not asked:
            return ()
        elif not self.tenant.is_large:
            found = self.tables.run("find_in_tenant", terms=asked, most=most)
        # of a long question the first rounds do not say which terms are rare
        elif most <= self.budget or self.rare:
            found = self.tables.run("find_terms", terms=asked, most=most, budget=self.budget)
        else:
            return self._with_beside(terms, known=known, most=most)
        return [(term, count, ids) for term, (count, ids) in zip(asked, found, strict=True)]

    def _with_beside(
        self, terms: Sequence[str], *, known: Collection[str], most: int
    ) -> list[tuple[str, int, Sequence[int] | None]]:
        """As `_counted`; and remember where common terms stand beside the rare ones, which is asked for next."""
        common = _numbers([number for number, term in enumerate(terms, 1) if term in known])
        rows = self.tables.run(
            "find_beside", terms=list(terms), known=common, most=most, budget=self.budget, common=MOST_COMMON
        )
        counted: list[tuple[str, int, Sequence[int] | None]] = []
        rare: frozenset[str] = frozenset()
        for number, count, ids in cast("Iterable[tuple[int, int | None, list[int]]]", rows):
            if count is not None:
                counted.append((terms[number - 1], count, ids))
            elif number:
                self.beside[terms[number - 1], rare] = ids
            else:
                rare = frozenset([terms[each - 1] for each in ids])
        return counted

    def places(self, asked: Sequence[Asked]) -> list[dict[int, Sequence[int]]]:
        """See `Passages.places`; all that are asked for at once differ in their terms alone."""
        if not asked:
            return []
        one, terms = asked[0], [each.term for each in asked]
        if one.every:
            found = [self._newest(one.every, most=one.most)] * len(asked)
        elif one.newest:
            found = [self._newest([term], most=one.most) for term in terms]
        elif not one.beside:
            # what is read whole is what was counted whole
            found = [self.rare[term] for term in terms]
        else:
            found = self._stand_beside(terms, others=one.beside, most=one.most)
        new = {
            term: dict.fromkeys(ids, cast("Sequence[int]", ONCE))
            for term, ids in zip(terms, found, strict=True)
        }
        self.postings.update(new)
        return list(new.values())

    def _stand_beside(self, terms: Sequence[str], *, others: Sequence[str], most: int) -> list[Sequence[int]]:
        """The passages that hold each term and one of the others."""
        rare = frozenset(others)
        if all((term, rare) in self.beside for term in terms):
            return [self.beside[term, rare] for term in terms]
        first, last = self.ids
        rows = self.tables.run(
            "passages_with", terms=terms, beside=list(others), first=first, last=last, most=most
        )
        return [ids for (ids,) in rows]

    def _look_up(self, counts: dict[str, int], *, most: int) -> None:
        """Find the passages of rare terms that did not come with the count, of which so many were deleted that there is room for them."""
        left = self.budget
        for term in sorted(counts, key=counts.__getitem__):
            # common ones are counted no further than that
            if counts[term] > left or counts[term] >= most:
                break
            if term not in self.rare:
                first, last = self.ids
                rows = self.tables.run(
                    "passages_with", terms=[term], beside=[], first=first, last=last, most=most
                )
                self.rare[term] = rows.get
                counts[term] = len(self.rare[term])
            left -= counts[term]

    def _newest(self, terms: Sequence[str], *, most: int) -> list[int]:
        """Ids of the newest passages that hold all terms."""
        if self.conversation is None:
            # all of them hold the terms, and count the same until they are read
            few = self.is_open and self.total >= LONG
            rows = self.tables.run(
                "newest_in_tenant",
                terms=list(terms),
                recent=RECENT,
                enough=SHORTLIST,
                most=SHORTLIST if few else most,
                reads=few,
            )
            return [id for (id,) in rows]
        first, last = self.ids
        # of a common word the last passages hold enough, and all others need not be looked at
        for begin in (row_id(self.conversation, max(1, self.total - RECENT)), first):
            rows = self.tables.run("newest_with", terms=list(terms), first=begin, last=last, most=most)
            found = [id for (id,) in rows]
            if len(found) >= SHORTLIST:
                break
        return found

    def fill_in(self, ids: Iterable[int], *, weights: Mapping[str, float], most: int) -> None:
        """See `Passages.fill_in`."""
        asked = {
            id: [term for term, numbers in self.postings.items() if id in numbers]
            for id in ids
            if id not in self.held
        }
        for row in self.tables.read(asked, weights=weights, most=most):
            self.held[row.id] = row.passage
            if (log := place(row.id)[0]) not in self.keys:
                self.keys[log] = Key(conversation=row.name, namespace=self.namespace)
            for term, here in row.places.items():
                # read whole, it may hold a term for which it was not read
                if row.id in self.postings[term]:
                    self.postings[term][row.id] = here

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """See `Passages.passages`."""
        asked = list(ids)
        self.fill_in(asked, weights={}, most=len(asked))
        # an index that is damaged names passages that are not there
        return {id: self.held[id] for id in asked if id in self.held}


class _Small:
    """A conversation of few passages, which are read at once, whatever is asked; implements `Passages`."""

    def __init__(
        self, tables: _Tables, terms: Sequence[str], *, conversation: int, key: Key, total: int
    ) -> None:
        self.total, self.budget = total, BUDGET
        self._conversation, self._key = conversation, key
        self._postings: dict[str, dict[int, Sequence[int]]] = {term: {} for term in terms}
        self._passages: dict[int, Passage] = {}
        first = row_id(conversation, 1)
        for row in tables.read_whole(range(first, first + total), terms):
            self._passages[row.id] = row.passage
            for term, here in row.places.items():
                self._postings[term][row.id] = here

    def key(self, conversation: int) -> Key:
        """See `Passages.key`."""
        assert conversation == self._conversation
        return self._key

    def count(self, terms: Sequence[str], *, most: int) -> list[int]:
        """See `Passages.count`."""
        return [min(most, len(self._postings[term])) for term in terms]

    def places(self, asked: Sequence[Asked]) -> list[Mapping[int, Sequence[int]]]:
        """See `Passages.places`; no term is so common here that the newest passages are asked for."""
        return [self._beside(each) for each in asked]

    def _beside(self, asked: Asked) -> Mapping[int, Sequence[int]]:
        held = self._postings[asked.term]
        if not asked.beside:
            return held
        others = {id for term in asked.beside for id in self._postings[term]}
        return {id: held[id] for id in held.keys() & others}

    def fill_in(self, ids: Sequence[int], *, weights: Mapping[str, float], most: int) -> None:
        """See `Passages.fill_in`; nothing is left open."""

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """See `Passages.passages`."""
        return {id: self._passages[id] for id in ids}


def _of_conversation(tables: _Tables, query: str, *, key: Key) -> Passages | None:
    """The passages of a conversation for a search for ``query``; None where nothing was ever indexed."""
    id, total = tables.run("conversation", namespace=key.namespace, name=key.conversation).get or (0, 0)
    if not total:
        return None
    if total > SMALL:
        return _Scope(tables=tables, namespace=key.namespace, conversation=id, total=total)
    return _Small(tables, parse_query(query).terms, conversation=id, key=key, total=total)
