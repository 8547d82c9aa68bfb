"""Searching a database of passages within bounds: what is read grows with the query, not with what is stored.

A database's own ranking looks at every match of every term: tens of milliseconds for a question with common words, and its
figures would mix tenants. So the database is only asked where a term stands, rarest terms first, and the number of places
that are read is bounded:

- the rarest terms are read whole, as far as `BUDGET` goes;
- the others only count in passages where a term that was read stands, too;
- where all are common, the newest passages that hold all of them are looked at, else the newest that hold any.

`autocompact.core.search` ranks what was read, the same for every database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from autocompact.core.search import (
    KINDS,
    SHORTLIST,
    Kind,
    Passage,
    Posting,
    Query,
    contenders,
    narrowed,
    parse_query,
    rarity,
    search,
)
from autocompact.errors import StoreCorrupt
from autocompact.ports import Hit, Key
from autocompact.stores.rows import place

BUDGET = 1_500
"""Places that are read for the rare terms together, and for each common one, in a file: about a millisecond each time. Reading
ten times as many finds no more in an archive of 100,000 messages (``benchmarks/retrieval.py``). Also those of the newest passages
where all terms are common: of them many may not be admitted, since they are in the context still."""

_COUNTED = (30, 250)
"""Bounds up to which the passages of a term are counted first, one after the other, until `_ENOUGH` rare places are known."""

_FEW = 20
"""Terms that are counted at once: looking a term up costs as much as counting a thousand of its passages."""

_ENOUGH = 250
"""Places of rare terms after which more common terms are not counted any further."""

ONCE = (0,)
"""Places of a term in a passage that holds it, before they are known."""

FILLED = 1.5
"""Passages whose places are found out, for each on the shortlist. The others count as if each term stood there once, as it mostly does. With 2, or all of
them, no more is found in an archive of 1,193 documents (``benchmarks/fleet.py``, its documents in one archive)."""

MOST_COMMON = 2
"""Common terms of a query that count, the first ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Occurrences of one term.

    Attributes:
        term: the one whose places are asked for.
        most: passages at most.
        beside: only in passages that hold one of these, too; none for all passages.
        every: only in passages that hold each of these.
        newest: those of the newest passages.
    """

    term: str
    most: int
    beside: Sequence[str] = ()
    every: Sequence[str] = ()
    newest: bool = False


class Passages(Protocol):
    """The passages of a namespace, or of one conversation of it, in a database."""

    @property
    def total(self) -> int:
        """The number of passages."""
        ...

    @property
    def budget(self) -> int:
        """Places that are read for the rare terms together, and for each common one."""
        ...

    def count(self, terms: Sequence[str], *, most: int) -> Sequence[int]:
        """Count the passages that hold each term, up to ``most``; asked before `places`."""
        ...

    def places(self, asked: Sequence[Asked]) -> Sequence[Mapping[int, Sequence[int]]]:
        """For each of them by the id of the passage, where in it the term stands.

        Where that is dear to find out, it may be `ONCE` until the passage is filled in or looked up.
        """
        ...

    def fill_in(self, ids: Sequence[int], *, weights: Mapping[str, float], most: int) -> None:
        """Find out what `places` left open of these passages, at least of those that are first in the shortlist.

        Args:
            ids: of the passages.
            weights: of the terms.
            most: passages that are needed; those left out count no more than if each term stood there once.
        """
        ...

    def passages(self, ids: Iterable[int]) -> Mapping[int, Passage]:
        """Return the passages with these ids, and fill in what `places` left open of them."""
        ...

    def key(self, conversation: int) -> Key:
        """The conversation with that id."""
        ...


def find(
    held: Passages,
    query: str,
    *,
    k: int,
    admit: Callable[[Key, int], bool] | None,
    kinds: Collection[Kind] | None,
) -> tuple[Hit, ...]:
    """The ``k`` likeliest messages, see `autocompact.ports.Index.search`.

    Raises:
        StoreCorrupt: what the index holds makes no sense.
    """
    try:
        return _found(held, parse_query(query), k=k, admit=admit, kinds=kinds)
    # a damaged index gives numbers that make no sense anywhere in the ranking
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise StoreCorrupt(f"the search index cannot be read: {error!r}") from error


def _found(
    held: Passages,
    query: Query,
    *,
    k: int,
    admit: Callable[[Key, int], bool] | None,
    kinds: Collection[Kind] | None,
) -> tuple[Hit, ...]:
    query, counts = narrowed(query, _counts(held, query.terms))
    postings, is_whole = _postings(held, query.terms, counts=counts)
    if is_whole:
        # with a filter, any of them may come to its turn
        limit = SHORTLIST if admit is None and kinds is None else held.budget
        ids = contenders(postings, total=held.total, limit=limit)[: int(FILLED * limit)]
        weights = [rarity(posting.found, held.total) for posting in postings]
        held.fill_in(ids, weights=dict(zip(query.terms, weights, strict=True)), most=limit)
    ranked = search(
        query,
        postings,
        total=held.total,
        look_up=held.passages,
        log_of=lambda id: place(id)[0],
        admit=None if admit is None else lambda log, seq: admit(held.key(log), seq),
        kinds=kinds,
    )
    return tuple(
        Hit(key=held.key(one.log), seq=one.seq, score=one.score, passages=one.passages, weights=one.weights)
        for one in ranked[:k]
    )


def _counts(held: Passages, terms: Sequence[str]) -> list[int]:
    """Passages that hold each term, counted no further than the choice of the rare ones needs.

    A question of many words mostly has words that stand everywhere: counting each of them to the budget would cost more
    than the search.
    """
    counts = dict.fromkeys(terms, 0)
    pending = list(counts)
    # in rounds: a long question is decided by its rare words, which the first rounds find
    for most in (*_COUNTED, held.budget + 1) if len(counts) > _FEW else (held.budget + 1,):
        counts |= dict(zip(pending, held.count(pending, most=most), strict=True))
        pending = [term for term in pending if counts[term] >= most]
        if sum(counts.values()) - most * len(pending) >= _ENOUGH:
            break
    # common enough: how common does not matter any more
    counts |= dict.fromkeys(pending, held.budget + 1)
    return [counts[term] for term in terms]


def _postings(held: Passages, terms: Sequence[str], *, counts: Sequence[int]) -> tuple[list[Posting], bool]:
    """Where each term stands, and whether that is wherever a rare one does; else it is in the newest passages."""
    rare = _rare(counts, budget=held.budget)
    common = [index for index, count in enumerate(counts) if count and index not in rare][:MOST_COMMON]
    found: dict[int, Posting] = {}
    if rare:
        either = [terms[index] for index in rare]
        places = held.places([Asked(term=term, most=held.budget) for term in either])
        for index, here in zip(rare, places, strict=True):
            found[index] = Posting(places=here, found=counts[index])
        # common terms alone would be read to the end of the archive; beside
        # rare ones they only order what those found
        anchors = len({id for here in places for id in here})
        beside = held.places([Asked(term=terms[index], most=held.budget, beside=either) for index in common])
        for index, here in zip(common, beside, strict=True):
            # its frequency among the anchors, taken for that of the whole:
            # exact counting would read all its places
            share = held.total * len(here) // anchors
            found[index] = Posting(places=here, found=max(counts[index], share))
    elif common:
        found = _newest(held, {index: terms[index] for index in common})
    postings = [found.get(index, Posting(places={}, found=count)) for index, count in enumerate(counts)]
    return postings, bool(rare)


def _newest(held: Passages, terms: Mapping[int, str]) -> dict[int, Posting]:
    """Places of terms that are all common: where all of them stand, else where any does."""
    every, most = list(terms.values()), BUDGET // len(terms)
    places = held.places([Asked(term=term, every=every, newest=True, most=most) for term in every])
    # no passage has all of them among the newest
    if not any(places):
        places = held.places([Asked(term=term, newest=True, most=most) for term in every])
    return {
        index: Posting(places=where, found=held.budget) for index, where in zip(terms, places, strict=True)
    }


def _rare(counts: Sequence[int], *, budget: int) -> list[int]:
    """Indices of the terms whose places are all read, rarest first."""
    chosen: list[int] = []
    left = budget
    for index in sorted(range(len(counts)), key=counts.__getitem__):
        # the budget is of places in all, so one very common term leaves nothing for others
        if 0 < counts[index] <= left:
            chosen.append(index)
            left -= counts[index]
    return chosen


def passage_row(id: int, passage: Passage) -> tuple[int, ...]:
    """The columns of a passage."""
    return (
        id,
        passage.seq,
        passage.part,
        passage.start,
        passage.end - passage.start,
        KINDS.index(passage.kind),
        passage.length,
    )


def passage_of(row: tuple[int, ...]) -> Passage:
    """The passage of a row.

    Raises:
        ValueError, IndexError: no passage has such columns.
    """
    _, seq, part, start, length, kind, terms = row
    # a negative index would silently read from the end
    if min(seq, part, start, length, kind, terms) < 0:
        raise ValueError(f"passage {row[0]} has a number below zero")
    return Passage(seq=seq, part=part, start=start, end=start + length, kind=KINDS[kind], length=terms)
