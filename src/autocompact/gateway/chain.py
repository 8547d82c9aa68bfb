"""Recognising a conversation by its messages: a chained hash, and a table of the prefixes that are known.

A client sends its whole history with every request. Message ``i`` has the digest ``h(i) = hash(h(i-1), message i)``,
so equal digests mean equal histories, and the longest known prefix of a request names its conversation. A history
that ends where a conversation's log ends goes on with it. One that leaves the log earlier is a branch: it becomes a
conversation of its own, and each of the two is recognised from then on; neither ever takes the other's place.

Hashing message by message is what takes the time, so what is known is not hashed again: next to its digests a
conversation remembers the bytes of the messages as they came last. As far as a request brings the very same bytes, its
digests are those of the conversation; comparing takes a fiftieth of hashing. The bytes are only a shortcut: where they
were forgotten, or came in another form, the hash says the same.

What a client changes from request to request without changing what was said is left out of the hash
(`autocompact.wire.canonical`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import compress, count
from operator import ne
from typing import Generic, Protocol, TypeVar

from autocompact.core.messages import Dialect
from autocompact.wire.canonical import canonical, without_marks

_BILLING = re.compile(rb'"x-anthropic-billing-header:(?:[^"\\]++|\\.)*+"')
"""Claude Code begins its system prompt with a line that is another one for every request."""

_DIGEST = 16

_ROOT = 2
"""Messages by which the conversations that may be meant are found; the first is often the same in all."""


def seed(namespace: str, dialect: Dialect, *, system: bytes) -> bytes:
    """What the chain of a conversation begins with: whose it is, the API, a system prompt outside of the list."""
    words = _BILLING.sub(b'""', without_marks(system))
    return blake2b(b"\0".join((namespace.encode(), dialect.encode(), words)), digest_size=_DIGEST).digest()


def chain(start: bytes, raws: Iterable[bytes]) -> Iterator[bytes]:
    """The digest of each prefix, the shortest first."""
    for raw in raws:
        start = blake2b(canonical(raw), key=start, digest_size=_DIGEST).digest()
        yield start


class Chained(Protocol):
    """A conversation that is known by its messages.

    Attributes:
        digests: of the prefixes of its log, one per message, in order.
        raws: the bytes as which its first messages came last; fewer than digests where they were forgotten.
    """

    digests: list[bytes]
    raws: list[bytes]

    def forget_bytes(self) -> None:
        """Let go of ``raws``, and of what else holds bytes of messages."""
        ...


C = TypeVar("C", bound=Chained)


def common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many messages two chains of digests have in common at their beginning."""
    length = min(len(one), len(other))
    # chained: where the last is equal, all before it are, and the first difference is found by halving
    if not length or one[length - 1] == other[length - 1]:
        return length
    return bisect_left(range(length), True, key=lambda place: one[place] != other[place])


def _alike(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many items two lists have in common at their beginning."""
    length = min(len(one), len(other))
    # most often all are alike, and this is one comparison in C, by identity first
    if tuple(one[:length]) == tuple(other[:length]):
        return length
    return next(compress(count(), map(ne, one, other)))


class Known(Generic[C]):
    """The conversations in memory, by how they begin; of too many the one used least recently is forgotten.

    Args:
        size: conversations at most.
        raw_bytes: bytes of messages to remember at most, all conversations together; the one in use has its own in
            any case.
    """

    def __init__(self, size: int, *, raw_bytes: int = 32_000_000) -> None:
        self._size = size
        self._used: OrderedDict[int, C] = OrderedDict()
        self._begun: dict[bytes, dict[int, C]] = {}
        self._most_bytes = raw_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._used)

    def __iter__(self) -> Iterator[C]:
        return iter(tuple(self._used.values()))

    def newest(self) -> Iterator[C]:
        """The one used last first."""
        return reversed(self._used.values())

    def digests(self, start: bytes, raws: Sequence[bytes]) -> tuple[list[bytes], int]:
        """The digest of each prefix of a request, as `chain` gives them, and how many of its messages are remembered.

        Args:
            start: the `seed` of the chain.
            raws: the messages of the request.

        It may run in a thread: conversations come and go meanwhile, but what one holds only grows or is forgotten.
        """
        found, remembered = list(chain(start, raws[:_ROOT])), 0
        for one in self._beginning(found):
            known = tuple(one.raws)
            shared = _alike(known, raws)
            # `found` has two at first: less than that in common is no shortcut
            if shared > len(found):
                found, remembered = one.digests[:shared], shared
                if shared == len(known):
                    break
        return [*found, *chain(found[-1] if found else start, raws[len(found) :])], remembered

    def find(self, digests: Sequence[bytes]) -> tuple[C, int] | None:
        """The conversation with the longest common prefix, and how long that is; None if there is none.

        Of several the one whose log ends there. A common first message is not enough, unless the log has no more:
        many conversations begin with the same system prompt.
        """
        found = [(common(one.digests, digests), one) for one in self._beginning(digests)]
        if not found:
            return None
        shared, one = max(found, key=lambda it: (it[0], it[0] == len(it[1].digests)))
        self._used.move_to_end(id(one))
        return one, shared

    def add(self, one: C) -> None:
        """Know a conversation by the digests and bytes that it has."""
        self._used[id(one)] = one
        self._index(one)
        self._bytes += sum(map(len, one.raws))
        while len(self._used) > self._size:
            self.drop(next(iter(self._used.values())))

    def extend(self, one: C, digests: Iterable[bytes]) -> None:
        """The log of a conversation grew by messages with these digests."""
        held = id(one) in self._used
        if held:
            self._unindex(one)
        one.digests.extend(digests)
        if held:
            self._index(one)

    def remember(self, one: C, raws: Sequence[bytes]) -> None:
        """The log of a conversation came as these bytes."""
        if id(one) not in self._used:
            return
        same = _alike(one.raws, raws)
        self._bytes += sum(map(len, raws[same:])) - sum(map(len, one.raws[same:]))
        one.raws[same:] = raws[same:]  # those that are alike stay the objects that the log holds too
        for other in self._used.values():
            if self._bytes <= self._most_bytes or other is one:
                break
            self._forget_bytes(other)

    def drop(self, one: C) -> None:
        """Forget a conversation."""
        if self._used.pop(id(one), None) is None:
            return
        self._unindex(one)
        self._forget_bytes(one)

    def _forget_bytes(self, one: C) -> None:
        self._bytes -= sum(map(len, one.raws))
        one.forget_bytes()

    def _index(self, one: C) -> None:
        self._begun.setdefault(_root(one.digests), {})[id(one)] = one

    def _unindex(self, one: C) -> None:
        root = _root(one.digests)
        begun = self._begun[root]
        del begun[id(one)]
        if not begun:
            del self._begun[root]

    def _beginning(self, digests: Sequence[bytes]) -> Iterable[C]:
        """Those that begin with the same two messages, and those that have only the first."""
        for place in reversed(range(min(_ROOT, len(digests)))):
            yield from tuple(self._begun.get(digests[place], {}).values())  # another thread may add one


def _root(digests: Sequence[bytes]) -> bytes:
    """What a log is found by."""
    return digests[min(_ROOT, len(digests)) - 1] if digests else b""
