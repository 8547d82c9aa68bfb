"""A search index in memory: for `autocompact.stores.memory.MemoryStore`, and for texts that are searched beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from autocompact.core.messages import Message
from autocompact.core.search import Kind, Passage, Posting, narrowed, parse_query, passages, search
from autocompact.ports import Hit, Key
from autocompact.stores.rows import place, row_id


@dataclass(slots=True, kw_only=True)
class _Log:
    """The passages of one conversation by number, and where each term stands: positions by passage."""

    key: Key
    passages: dict[int, Passage] = field(default_factory=dict[int, Passage])
    places: dict[str, dict[int, list[int]]] = field(default_factory=dict[str, dict[int, list[int]]])


class MemoryIndex:
    """Implements `Index` and the store's `MemoryIndexer`. No method ever waits."""

    def __init__(self) -> None:
        self._logs: dict[int, _Log] = {}
        self._numbers: dict[Key, int] = {}
        self._given = 0

    def index(self, key: Key, messages: Sequence[Message]) -> None:
        """See `MemoryIndexer.index`."""
        if key not in self._numbers:
            # a number is not given again: hits of a conversation that was deleted meanwhile must lead to no other
            self._given += 1
            self._numbers[key] = self._given
            self._logs[self._given] = _Log(key=key)
        conversation = self._numbers[key]
        log = self._logs[conversation]
        for message in messages:
            for passage, terms in passages(message):
                number = row_id(conversation, len(log.passages) + 1)
                log.passages[number] = passage
                for position, term in enumerate(terms):
                    log.places.setdefault(term, {}).setdefault(number, []).append(position)

    def delete(self, key: Key) -> None:
        """See `MemoryIndexer.delete`."""
        number = self._numbers.pop(key, None)
        if number is not None:
            del self._logs[number]

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
        return self.find(namespace, query, k=k, conversation=conversation, admit=admit, kinds=kinds)

    def find(
        self,
        namespace: str,
        query: str,
        *,
        k: int,
        conversation: str | None = None,
        admit: Callable[[Key, int], bool] | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> tuple[Hit, ...]:
        """`search`, for a caller in a thread."""
        logs = self._logs

        def admitted(log: int, seq: int) -> bool:
            return admit is None or admit(logs[log].key, seq)

        searched = [
            log
            for log in logs.values()
            if log.key.namespace == namespace and conversation in (None, log.key.conversation)
        ]
        asked = parse_query(query)
        counts = [sum(len(log.places.get(term, ())) for log in searched) for term in asked.terms]
        asked, _ = narrowed(asked, counts)
        ranked = search(
            asked,
            [_posting(searched, term) for term in asked.terms],
            total=sum(len(log.passages) for log in searched),
            look_up=lambda numbers: {n: logs[place(n)[0]].passages[n] for n in numbers},
            log_of=lambda number: place(number)[0],
            admit=admitted if admit else None,
            kinds=kinds,
        )
        return tuple(
            Hit(
                key=logs[one.log].key,
                seq=one.seq,
                score=one.score,
                passages=one.passages,
                weights=one.weights,
            )
            for one in ranked[:k]
        )


def _posting(logs: Sequence[_Log], term: str) -> Posting:
    places: dict[int, Sequence[int]] = {}
    for log in logs:
        places |= log.places.get(term, {})
    return Posting(places=places, found=len(places))
