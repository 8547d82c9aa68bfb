"""Search: from a question and the places its words stand to messages in order of likelihood.

An index keeps **passages** (a piece of one part of one message, cut at line ends) and, for each term, the passages it
stands in with its positions. Ranking, in two steps so that an index in a database reads little:

1. `shortlist`: passages by how often and how rare the query's terms are in them.
2. `rank`: BM25 over the passages on the shortlist, raised where terms stand close together; a message counts with its
   best passage, since the sum of many weak ones prefers long messages; what a neighbouring message says counts in part,
   since a call, its output and the words around them belong together. Newest first among equals.

Sources: BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009); proximity after Büttcher,
Clarke and Lushman, "Term Proximity Scoring" (2006). The constants were chosen with ``benchmarks/retrieval.py``.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, TypeAlias, cast

from msgspec import Struct

from autocompact.core.messages import Document, Message, Part, Reasoning, Text, ToolCall, ToolResult, decoded
from autocompact.core.terms import terms

Kind: TypeAlias = Literal["request", "words", "reasoning", "call", "output", "document"]

KINDS: tuple[Kind, ...] = ("request", "words", "reasoning", "call", "output", "document")
"""In the order in which an index may number them; only ever add at the end."""

PASSAGE = 2_000
"""Characters of a passage at most: about what one search result shows."""

MOST_TERMS = 80
"""Terms of a query that are looked up, the rarest; those beyond say nothing new."""

MOST_WORDS = 200
"""Distinct terms of a query whose rarity is looked at; of a longer text the longest ones, which are the rarest as a rule."""

SHORTLIST = 100
"""Passages that are ranked; more of them change nothing among the first ten (measured), and cost time."""

FINALISTS = 40
"""Passages of the shortlist that are looked at for names and closeness, which cost more than the rest together."""

K1 = 1.2
"""BM25: how soon a repeated term stops counting. The usual value."""

B = 0.5
"""BM25: how much a long passage counts for less. Below the usual 0.75, because passages are cut to one size."""

TYPICAL = 60
"""Terms of a passage of usual length. Fixed, so that the order does not change as the archive grows."""

CLOSE = 0.5
"""What terms that stand close together add, as a share of their weight."""

EXACT = 1.0
"""What a name that stands there whole adds, as a share of the weight of its terms."""

NEIGHBOUR = 0.25
"""What the messages right before and after add, as a share of their scores."""

REASONING = 0.6
"""What the model's thinking counts: it repeats what is said elsewhere, and cannot be quoted to the user."""


class Passage(Struct, frozen=True, kw_only=True):
    """A piece of a message that is searched as one.

    Attributes:
        seq: the message.
        part: index of the part within the message.
        start: first character of it within the part's text (`part_text`).
        end: the character after it.
        kind: whose words it is.
        length: terms in it.
    """

    seq: int
    part: int
    start: int
    end: int
    kind: Kind
    length: int


class Query(Struct, frozen=True, kw_only=True):
    """A question, taken apart.

    Attributes:
        terms: the distinct terms in order.
        names: the words that give several terms, such as ``src/login.py`` or ``loadState``: indices into ``terms``.
    """

    terms: tuple[str, ...]
    names: tuple[tuple[int, ...], ...] = ()


class Posting(Struct, frozen=True, kw_only=True):
    """Occurrences of a term of the query.

    Attributes:
        places: positions of the term by the number of the passage.
        found: how many passages hold it; more than there are in ``places`` where the index cut the list.
    """

    places: Mapping[int, Sequence[int]]
    found: int


class Ranked(Struct, frozen=True, kw_only=True):
    """A message that answers.

    Attributes:
        log: number of its conversation in the index.
        seq: which message.
        score: the larger, the likelier.
        passages: where in it, best first.
        weights: what each term of the query weighs in this search; one that stands nowhere weighs most.
    """

    log: int
    seq: int
    score: float
    passages: tuple[Passage, ...]
    weights: Mapping[str, float]


def parse_query(query: str) -> Query:
    """Parse a query into distinct terms, at most `MOST_WORDS`; `narrowed` chooses among them."""
    words = [tuple(terms(word)) for word in query.split()]
    distinct = tuple(dict.fromkeys(term for word in words for term in word))
    if len(distinct) > MOST_WORDS:
        # long words are rare ones, as far as that can be told without an index
        longest = frozenset(heapq.nlargest(MOST_WORDS, distinct, key=len))
        distinct = tuple(term for term in distinct if term in longest)
    return _query(distinct, words)


def narrowed(query: Query, counts: Sequence[int]) -> tuple[Query, list[int]]:
    """The query with the `MOST_TERMS` rarest of its terms, in their order, and the passages that hold each.

    Args:
        query: all terms.
        counts: passages that hold each term; 0 counts as rare, since a term that stands nowhere says that nothing fits.
    """
    if len(query.terms) <= MOST_TERMS:
        return query, list(counts)
    chosen = sorted(heapq.nsmallest(MOST_TERMS, range(len(counts)), key=counts.__getitem__))
    words = [tuple(query.terms[term] for term in name) for name in query.names]
    return _query(tuple(query.terms[term] for term in chosen), words), [counts[term] for term in chosen]


def _query(distinct: tuple[str, ...], words: Sequence[tuple[str, ...]]) -> Query:
    index = {term: number for number, term in enumerate(distinct)}
    names = (
        tuple(index[term] for term in word)
        for word in words
        if len(word) > 1 and all(term in index for term in word)
    )
    return Query(terms=distinct, names=tuple(dict.fromkeys(names)))


def part_text(part: Part) -> str:
    """Searchable text of a part: its words, a call's name and the values of its arguments."""
    if isinstance(part, ToolCall):
        return "\n".join([part.name, *(_values(part.arguments) or [part.arguments])])
    if isinstance(part, Document):
        return f"{part.name}\n{part.text}".strip()
    return part.text if isinstance(part, Text | Reasoning | ToolResult) else ""


def _values(arguments: str) -> list[str]:
    """Every string and number inside the JSON of a call's arguments, in order; none if it is not an object."""
    # a stack: arguments may be nested deeper than Python recurses
    waiting: list[object] = [decoded(arguments)]
    values: list[str] = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed(cast("dict[str, object]", value).values())
        elif isinstance(value, list):
            waiting += reversed(cast("list[object]", value))
        # true, false and null stand everywhere, so they find nothing
        elif value is not None and not isinstance(value, bool):
            values.append(str(value))
    return values


def part_kind(part: Part, message: Message) -> Kind:
    """The speaker of a part of a message."""
    match part:
        case ToolCall():
            return "call"
        case ToolResult():
            return "output"
        case Reasoning():
            return "reasoning"
        case Document():
            return "document"
        case _:
            return "request" if message.is_request else "words"


def passages(message: Message) -> Iterator[tuple[Passage, list[str]]]:
    """Yield the passages of a message with their terms, in order, as an index keeps them.

    A system prompt gives none: it never leaves the context.
    """
    if message.role == "system":
        return
    for index, part in enumerate(message.parts):
        text = part_text(part)
        kind = part_kind(part, message)
        for start, end in spans(text):
            found = terms(text[start:end])
            if found:
                yield (
                    Passage(seq=message.seq, part=index, start=start, end=end, kind=kind, length=len(found)),
                    found,
                )


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Cuts ``text`` into pieces of at most `PASSAGE` characters: at a line's end, else at a space, else anywhere."""
    start = 0
    while len(text) - start > PASSAGE:
        end = start + PASSAGE
        for mark in ("\n", " "):
            # in the second half only, so that pieces do not become small
            cut = text.rfind(mark, start + PASSAGE // 2, end)
            if cut > 0:
                end = cut + 1
                break
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def rarity(found: int, total: int) -> float:
    """Weight of a term that stands in ``found`` of ``total`` passages: BM25's inverse document frequency."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


def shortlist(postings: Sequence[Posting], *, total: int, limit: int | None = None) -> list[int]:
    """Numbers of passages, best first by how often and how rare the terms are; newest first among equals.

    Args:
        postings: one for each term of the query.
        total: passages that were searched.
        limit: at most so many; None: every passage with a term of the query.
    """
    scores: dict[int, float] = {}
    for posting in postings:
        weight = rarity(posting.found, total)
        for number, positions in posting.places.items():
            often = len(positions)
            scores[number] = scores.get(number, 0.0) + weight * often / (often + K1)
    return heapq.nlargest(
        len(scores) if limit is None else limit, scores, key=lambda number: (scores[number], number)
    )


def contenders(postings: Sequence[Posting], *, total: int, limit: int) -> list[int]:
    """Numbers of the passages that `shortlist` may choose, for an index that knows which terms a passage holds, and not yet how often.

    The likeliest come first, the newest among equals. Of its weight a term that stands there once gives 1 / (1 + `K1`), and never all: who would stay behind the last of the list even
    so, is none.
    """
    most: dict[int, float] = {}
    for posting in postings:
        weight = rarity(posting.found, total)
        for number in posting.places:
            most[number] = most.get(number, 0.0) + weight
    least = min(heapq.nlargest(limit, most.values()), default=0.0) / (1 + K1) if len(most) > limit else 0.0
    chosen = [number for number, weight in most.items() if weight >= least]
    return sorted(chosen, key=lambda number: (most[number], number), reverse=True)


def search(
    query: Query,
    postings: Sequence[Posting],
    *,
    total: int,
    look_up: Callable[[Sequence[int]], Mapping[int, Passage]],
    log_of: Callable[[int], int],
    admit: Callable[[int, int], bool] | None = None,
    kinds: Collection[Kind] | None = None,
) -> list[Ranked]:
    """Messages that hold a term of the query, the likeliest first: `shortlist`, then `rank`.

    Args:
        query: the question.
        postings: one for each term of it.
        total: passages that were searched.
        look_up: gives passages by number.
        log_of: the conversation that the number of a passage belongs to.
        admit: whether message ``seq`` of a conversation may be found.
        kinds: passages of other kinds are passed over; None for all.
    """
    # without a filter the best of the shortlist are the best of all;
    # with one, it may take several rounds to fill it
    is_open = admit is None and kinds is None
    numbers = shortlist(postings, total=total, limit=SHORTLIST if is_open else None)
    chosen: dict[int, Passage] = {}
    for first in range(0, len(numbers), SHORTLIST):
        for number, passage in look_up(numbers[first : first + SHORTLIST]).items():
            if (kinds is None or passage.kind in kinds) and (
                admit is None or admit(log_of(number), passage.seq)
            ):
                chosen[number] = passage
        if len(chosen) >= SHORTLIST:
            break
    return rank(query, postings, passages=chosen, total=total, log_of=log_of)


def rank(
    query: Query,
    postings: Sequence[Posting],
    *,
    passages: Mapping[int, Passage],
    total: int,
    log_of: Callable[[int], int],
) -> list[Ranked]:
    """Messages, the likeliest first, newest first among equals; ``passages`` is the shortlist by number."""
    weights = [rarity(posting.found, total) for posting in postings]
    said = dict(zip(query.terms, weights, strict=True))
    scores = _bm25(passages, postings=postings, weights=weights)
    stand = [(term, posting.places) for term, posting in enumerate(postings) if posting.places]
    # closeness looks at every place of every term, so only the likeliest are looked at so closely
    for number in heapq.nlargest(FINALISTS, scores, key=lambda number: (scores[number], number)):
        places = {term: here for term, numbers in stand if (here := numbers.get(number))}
        scores[number] += CLOSE * _closeness(places, weights)
        scores[number] += EXACT * _exactness(query, places, weights=weights)
    found: dict[tuple[int, int], list[tuple[float, Passage]]] = {}
    for number, passage in passages.items():
        # a model's own guesses repeat the words of the question more often than the answer does
        score = scores[number] * (REASONING if passage.kind == "reasoning" else 1.0)
        found.setdefault((log_of(number), passage.seq), []).append((score, passage))
    own: dict[tuple[int, int], float] = {}
    for place, scored in found.items():
        scored.sort(key=lambda pair: (-pair[0], pair[1].part, pair[1].start))
        own[place] = scored[0][0]
    ranked = [
        Ranked(
            log=log,
            seq=seq,
            # a question and its answer, a call and its output stand side by side and share the terms
            score=own[log, seq] + NEIGHBOUR * (own.get((log, seq - 1), 0.0) + own.get((log, seq + 1), 0.0)),
            passages=tuple(passage for _, passage in scored),
            weights=said,
        )
        for (log, seq), scored in found.items()
    ]
    # rounded, so that the order of additions does not decide between equals
    return sorted(ranked, key=lambda one: (-round(one.score, 6), -one.log, -one.seq))


def _bm25(
    passages: Mapping[int, Passage], *, postings: Sequence[Posting], weights: Sequence[float]
) -> dict[int, float]:
    """The score of each passage by how often it holds each term, its length considered."""
    norms = {number: K1 * (1 - B + B * passage.length / TYPICAL) for number, passage in passages.items()}
    scores = dict.fromkeys(passages, 0.0)
    for posting, weight in zip(postings, weights, strict=True):
        # most of a long query's terms stand in few of the passages: those are not looked up one by one
        for number in posting.places.keys() & norms.keys():
            often = len(posting.places[number])
            scores[number] += weight * often * (K1 + 1) / (often + norms[number])
    return scores


_Standing: TypeAlias = Mapping[int, Sequence[int]]
"""By the index of a term, where it stands in a passage; a term that does not is not in it."""


def _exactness(query: Query, places: _Standing, *, weights: Sequence[float]) -> float:
    """The weight of the query's names that stand there whole, their terms one right after the other."""
    return sum(sum(weights[term] for term in name) for name in query.names if _in_row(name, places))


def _in_row(name: Sequence[int], places: _Standing) -> bool:
    # mostly one of them stands elsewhere
    if not all(map(places.__contains__, name)):
        return False
    standing = [places[term] for term in name]
    # its rarest term leaves few places to look at
    nth, rarest = min(enumerate(standing), key=lambda one: len(one[1]))
    return any(all(at - nth + place in here for place, here in enumerate(standing)) for at in rarest)


def _closeness(places: _Standing, weights: Sequence[float]) -> float:
    """Score for the closeness of the terms to each other.

    For each two that stand next to each other, other words left out: the rarer one's weight, divided by how far apart
    they are where they are nearest.
    """
    here = sorted([(position, term) for term, positions in places.items() for position in positions])
    nearest: dict[tuple[int, int], int] = {}
    for (left, a), (right, b) in pairwise(here):
        if a != b:
            pair = (a, b) if a < b else (b, a)
            nearest[pair] = min(right - left, nearest.get(pair, right - left))
    return sum(min(weights[a], weights[b]) / max(1, distance) for (a, b), distance in nearest.items())
