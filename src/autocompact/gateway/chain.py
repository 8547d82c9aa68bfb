"""Recognising a conversation by its messages: a chained hash, and a table of the prefixes that are known.

A client sends its whole history with every request. Message ``i`` has the digest ``h(i) = hash(h(i-1), message i)``,
so equal digests mean equal histories, and the longest known prefix of a request names its conversation. A history
that ends where a conversation's log ends goes on with it. One that leaves the log earlier is a branch: it becomes a
conversation of its own, and each of the two is recognised from then on; neither ever takes the other's place.

What a client moves from request to request without changing what was said is left out of the hash: the
``cache_control`` marks of Anthropic's prompt cache, and whether a lone text is a string or a list of one block.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Generic, Protocol, TypeVar

from autocompact.core.messages import Dialect

_MARK = re.compile(
    rb'\s*,\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null)|"cache_control"\s*:\s*(?:\{[^{}]*\}|null)\s*,?\s*'
)
_LONE_TEXT = re.compile(
    rb'"content"\s*:\s*\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*("(?:[^"\\]++|\\.)*+")\s*\}\s*\]',
    re.DOTALL,
)
_BILLING = re.compile(rb'"x-anthropic-billing-header:(?:[^"\\]++|\\.)*+"')
"""Claude Code begins its system prompt with a line that is another one for every request."""

_DIGEST = 16


def without_marks(raw: bytes) -> bytes:
    """The JSON without ``cache_control`` members. Words that look like one are escaped in JSON, and stay."""
    return _MARK.sub(b"", raw) if b'"cache_control"' in raw else raw


def canonical(raw: bytes) -> bytes:
    """What of a message is hashed."""
    raw = without_marks(raw)
    return _LONE_TEXT.sub(rb'"content":\1', raw) if b'"text"' in raw[:200] else raw


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
    """A conversation that is known by its digests: one per message of its log, in order."""

    digests: list[bytes]


C = TypeVar("C", bound=Chained)


class Known(Generic[C]):
    """The conversations in memory, by their prefixes; of too many the one used least recently is forgotten.

    Args:
        size: conversations at most.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._used: OrderedDict[int, C] = OrderedDict()
        self._ends: dict[bytes, C] = {}
        self._prefixes: dict[bytes, C] = {}

    def __len__(self) -> int:
        return len(self._used)

    def __iter__(self) -> Iterator[C]:
        return iter(tuple(self._used.values()))

    def find(self, digests: Sequence[bytes]) -> tuple[C, int] | None:
        """The conversation with the longest common prefix, and how long that is; None if there is none.

        Of several the one whose log ends there.
        """
        for length in range(len(digests), 0, -1):
            digest = digests[length - 1]
            found = self._ends.get(digest) or self._prefixes.get(digest)
            if found is not None:
                self._used.move_to_end(id(found))
                return found, length
        return None

    def add(self, one: C) -> None:
        """Know a conversation by the digests that it has."""
        self._used[id(one)] = one
        for digest in one.digests:
            self._prefixes[digest] = one
        if one.digests:
            self._ends[one.digests[-1]] = one
        while len(self._used) > self._size:
            self.drop(next(iter(self._used.values())))

    def extend(self, one: C, digests: Iterable[bytes]) -> None:
        """The log of a conversation grew by messages with these digests."""
        if one.digests and self._ends.get(one.digests[-1]) is one:
            del self._ends[one.digests[-1]]
        for digest in digests:
            one.digests.append(digest)
            if id(one) in self._used:
                self._prefixes[digest] = one
        if one.digests and id(one) in self._used:
            self._ends[one.digests[-1]] = one

    def drop(self, one: C) -> None:
        """Forget a conversation."""
        self._used.pop(id(one), None)
        for digest in one.digests:
            for table in (self._prefixes, self._ends):
                if table.get(digest) is one:
                    del table[digest]
