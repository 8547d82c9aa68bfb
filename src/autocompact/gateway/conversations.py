"""The conversations of a gateway: recognised, kept in the store, opened, branched and forgotten.

The log of a kept conversation is the client's list of messages: message ``seq`` is item ``seq`` of the list (a
system prompt outside of the list is not part of it). So the context of a compacted conversation is rendered from the
very bytes that this request brought, cache marks included; the log itself holds no cache marks.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from autocompact.compactor import Compactor, Conversation
from autocompact.compactor.compactor import ConversationStore
from autocompact.core.messages import Message
from autocompact.errors import Conflict
from autocompact.gateway.chain import Known, chain, seed, without_marks
from autocompact.ports import Key
from autocompact.stores.fork import copy_conversation
from autocompact.wire import Request, parse_message

MOST_SIBLINGS = 64
"""Conversations that begin alike which are looked for after a restart; further ones are begun anew then."""

_TRIES = 8


@dataclass(slots=True, kw_only=True, eq=False)
class Kept:
    """A conversation in memory.

    Attributes:
        conversation: the engine's.
        digests: of the prefixes of its log, one per message.
        lock: held while a request extends, compacts or renders it.
        gone: it was deleted, or its log is no longer what the digests say.
    """

    conversation: Conversation
    digests: list[bytes]
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request and the digests of its messages."""

    request: Request
    namespace: str
    digests: Sequence[bytes]

    @classmethod
    def of(cls, request: Request, *, namespace: str) -> Incoming:
        """Hash the messages of ``request``; none of them is parsed."""
        offset = request.messages.listed.start
        system = request.raws[0] if offset else b""
        start = seed(namespace, request.dialect, system=system)
        return cls(request=request, namespace=namespace, digests=list(chain(start, request.raws[offset:])))

    def logged(self, start: int, end: int | None = None) -> list[Message]:
        """The messages after the first ``start`` as the log holds them."""
        offset = self.request.messages.listed.start
        raws = self.request.raws[offset:][start:end]
        return [
            parse_message(without_marks(raw), seq=seq, dialect=self.request.dialect)
            for seq, raw in enumerate(raws, start + 1)
        ]

    def key(self, root: bytes, number: int) -> Key:
        """The name of a conversation that begins as this request does."""
        return Key(conversation=f"{root.hex()[:24]}-{number}", namespace=self.namespace)

    @property
    def roots(self) -> tuple[bytes, ...]:
        """The digests that conversations with this beginning are named by, the longer beginning first."""
        return tuple(self.digests[place] for place in (1, 0) if place < len(self.digests))


class Conversations:
    """All of them, over one store.

    Args:
        store: where they are kept.
        size: how many are held in memory.
    """

    def __init__(self, store: ConversationStore, *, size: int) -> None:
        self.store = store
        self.known: Known[Kept] = Known(size)
        self._opening = asyncio.Lock()

    @asynccontextmanager
    async def held(self, incoming: Incoming, *, compactor: Compactor) -> AsyncGenerator[Kept]:
        """The conversation that the request goes on with, its log brought up to date, for this block alone.

        Raises:
            InvalidRequest: a new message is not what the API describes.
            StoreError: it could not be stored.
        """
        for _ in range(_TRIES):
            kept = await self._found(incoming, compactor=compactor)
            async with kept.lock:
                if not kept.gone and _leads_to(kept.digests, incoming.digests):
                    await self._extend(kept, incoming, compactor=compactor)
                    yield kept
                    return
        raise Conflict("this conversation is changed by other requests all the time: try again")

    async def _found(self, incoming: Incoming, *, compactor: Compactor) -> Kept:
        found = self._exact(incoming)
        if found is not None:
            return found
        async with self._opening:
            return self._exact(incoming) or await self._opened(incoming, compactor=compactor)

    def _exact(self, incoming: Incoming) -> Kept | None:
        found = self.known.find(incoming.digests)
        return found[0] if found is not None and found[1] == len(found[0].digests) else None

    async def _opened(self, incoming: Incoming, *, compactor: Compactor) -> Kept:
        """One from the store, a branch of another one, or a new one."""
        found = self.known.find(incoming.digests)
        source, shared = (found[0].conversation.key, found[1]) if found else (None, 0)
        digests: Sequence[bytes] = ()
        for key, stored in await self._stored(incoming) if shared <= 1 else ():
            common = _common(stored, incoming.digests)
            if (common, common == len(stored)) > (shared, bool(digests) and len(digests) == shared):
                source, shared, digests = key, common, stored
        if source is None or not digests or len(digests) != shared:
            source = await self._begun(incoming, source=source if shared else None, shared=shared)
            digests = incoming.digests
        conversation = await compactor.open(source.conversation, namespace=source.namespace)
        kept = Kept(conversation=conversation, digests=list(digests))
        self.known.add(kept)
        return kept

    async def _stored(self, incoming: Incoming) -> list[tuple[Key, list[bytes]]]:
        """What the store holds that begins as the request does, with the digests of its log."""
        offset = incoming.request.messages.listed.start
        system = incoming.request.raws[0] if offset else b""
        start = seed(incoming.namespace, incoming.request.dialect, system=system)
        found: list[tuple[Key, list[bytes]]] = []
        for root in incoming.roots:
            for number in range(MOST_SIBLINGS):
                key = incoming.key(root, number)
                log = await self.store.read(key)
                if not log:
                    break
                found.append((key, list(chain(start, _raws(log)))))
        return found

    async def _begun(self, incoming: Incoming, *, source: Key | None, shared: int) -> Key:
        """A new conversation in the store with all messages of the request."""
        key = await self._free(incoming)
        if source is not None:
            await copy_conversation(self.store, source, target=key, through_seq=shared)
        await self.store.append(key, incoming.logged(shared), after=shared)
        return key

    async def _free(self, incoming: Incoming) -> Key:
        root = incoming.roots[0]
        for number in range(MOST_SIBLINGS):
            key = incoming.key(root, number)
            if not (await self.store.load(key)).last_seq:
                return key
        return Key(conversation=f"{root.hex()[:24]}-{uuid.uuid4().hex[:12]}", namespace=incoming.namespace)

    async def _extend(self, kept: Kept, incoming: Incoming, *, compactor: Compactor) -> None:
        """Append what the log does not have yet."""
        conversation, length = kept.conversation, len(kept.digests)
        conversation.shared = compactor
        for message in incoming.logged(length):
            stored = await conversation.append(message)
            if stored.seq != message.seq:
                self._forget(kept)
                raise Conflict("another program writes to this conversation: it will be read anew")
            self.known.extend(kept, [incoming.digests[message.seq - 1]])

    def _forget(self, kept: Kept) -> None:
        kept.gone = True
        self.known.drop(kept)

    def in_memory(self, key: Key) -> Kept | None:
        """The conversation of that name, if it is held in memory."""
        return next((kept for kept in self.known if kept.conversation.key == key), None)

    async def delete(self, key: Key) -> bool:
        """Remove a conversation: log, summaries, index, and what memory holds; whether there was one."""
        kept = self.in_memory(key)
        if kept is None:
            return await self.store.delete(key)
        async with kept.lock:
            await kept.conversation.ahead.settled()
            self._forget(kept)
            return await self.store.delete(key)

    async def delete_all(self, namespace: str) -> int:
        """Remove every conversation of a namespace; how many there were."""
        infos = await self.store.conversations(namespace)
        return sum([await self.delete(info.key) for info in infos])

    async def expire(self, key: Key, *, before: str) -> bool:
        """Remove a conversation if nobody uses it and it was last updated before a stamp; whether that was so."""
        kept = self.in_memory(key)
        if kept is None:
            return await self.store.expire(key, before=before)
        if kept.lock.locked() or kept.conversation.ahead.running:
            return False
        async with kept.lock:
            expired = await self.store.expire(key, before=before)
            if expired:
                self._forget(kept)
            return expired


def _raws(log: Iterable[Message]) -> Iterable[bytes]:
    return (message.raw or b"" for message in log)


def _leads_to(log: Sequence[bytes], request: Sequence[bytes]) -> bool:
    """Whether the request goes on from the end of the log."""
    return 0 < len(log) <= len(request) and request[len(log) - 1] == log[-1]


def _common(log: Sequence[bytes], request: Sequence[bytes]) -> int:
    """Messages that both begin with."""
    length = min(len(log), len(request))
    while length and log[length - 1] != request[length - 1]:
        length -= 1
    return length
