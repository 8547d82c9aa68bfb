"""The conversations of a gateway: recognised, kept in the store, opened, branched and forgotten.

The log of a kept conversation is the client's list of messages: message ``seq`` is item ``seq`` of the list (a
system prompt outside of the list is not part of it). So the context of a compacted conversation is rendered from the
very bytes that this request brought, cache marks included; the log itself holds no cache marks.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakValueDictionary

from autocompact.core.messages import Message, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.engine.following import extend_raw
from autocompact.errors import Conflict, StoreUnavailable
from autocompact.gateway.chain import Known, chain, common, seed
from autocompact.gateway.native import holds_compaction
from autocompact.ports import ConversationStore, Key
from autocompact.runtime.off_loop import LARGE_BODY, off_loop_if
from autocompact.stores.fork import copy_conversation
from autocompact.stores.write_behind import WriteBehind
from autocompact.wire import EarlierRequest, Renderer, Request
from autocompact.wire.canonical import without_marks

MOST_SIBLINGS = 64
"""Conversations that begin alike which are looked for after a restart; further ones are begun anew then."""

_TRIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a provider reported for a request: its usage, and the id of the compaction that was active ("" for none)."""

    usage: Usage
    context: str


@dataclass(slots=True, kw_only=True, eq=False)
class Kept:
    """A conversation in memory.

    Attributes:
        conversation: the engine's.
        digests: of the prefixes of its log, one per message.
        renderer: renders its requests.
        raws: its messages as the last request brought them, as far as they are remembered.
        last_request: what the next request is compared with; None where it is not remembered.
        reported: of the request that ended with the log's last message; None where nothing was.
        lock: held while a request extends, compacts or renders it.
        warned: the log holds the warning that its requests carry too much.
        gone: it was deleted, or its log is no longer what the digests say.
    """

    conversation: Conversation
    digests: list[bytes]
    renderer: Renderer
    raws: list[bytes] = field(default_factory=list[bytes])
    last_request: EarlierRequest | None = None
    reported: Reported | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    warned: bool = False
    gone: bool = False

    @property
    def usage(self) -> Usage | None:
        """The usage to store with the reply to the last request; None where a compaction came between the two."""
        same = self.reported and self.reported.context == self.conversation.internals.replica.active_id
        return self.reported.usage if self.reported and same else None

    def forget_bytes(self) -> None:
        """Let go of the last request: the next one is parsed and hashed as a whole."""
        self.raws.clear()
        self.last_request = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A request whose conversation is looked for.

    Attributes:
        request: of a client.
        namespace: the client's.
        seed: what the chain of its digests begins with.
        raws: the messages of its list.
        digests: of the prefixes of that list.
        remembered: so many of them came as these very bytes before.
    """

    request: Request
    namespace: str
    seed: bytes
    raws: Sequence[bytes]
    digests: Sequence[bytes]
    remembered: int

    @property
    def is_native(self) -> bool:
        """Whether the provider compacted this history."""
        return b'"compaction' in self.request.raw and any(map(holds_compaction, self.raws))

    async def append_to(self, conversation: Conversation, *, after: int, usage: Usage | None = None) -> None:
        """Append the messages after the first ``after`` to a log, without cache marks.

        Args:
            conversation: whose log.
            after: its length.
            usage: what was reported for the request that ended there.
        """
        raws = tuple(map(without_marks, self.raws[after:]))
        replica = conversation.internals.replica
        await extend_raw(replica, raws, dialect=self.request.dialect, after=after, usage=usage)

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
        begun_seconds: how long the first request of one waits at most until it is stored; None for no such bound.
    """

    def __init__(self, store: ConversationStore, *, size: int, begun_seconds: float | None = None) -> None:
        self.store = store
        self._begun_seconds = begun_seconds
        self.known: Known[Kept] = Known(size)
        self._opening: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._beginning: dict[Key, bool] = {}

    def earlier(self, namespace: str) -> Iterator[EarlierRequest]:
        """The last requests of a namespace's conversations, the latest first: the next one goes on from one of them."""
        for kept in self.known.newest():
            if (
                kept.last_request is not None
                and kept.conversation.internals.replica.key.namespace == namespace
            ):
                yield kept.last_request

    async def incoming(self, request: Request, *, namespace: str) -> Incoming:
        """Hash the messages of ``request`` as far as they are new, a large one off the loop; none of them is parsed."""
        return await off_loop_if(
            len(request.raw) > LARGE_BODY, partial(self._incoming, request, namespace=namespace)
        )

    def _incoming(self, request: Request, *, namespace: str) -> Incoming:
        offset = request.messages.listed.start
        system = request.raws[0] if offset else b""
        start, raws = seed(namespace, request.dialect, system=system), request.raws[offset:]
        digests, remembered = self.known.digests(start, raws)
        return Incoming(
            request=request,
            namespace=namespace,
            seed=start,
            raws=raws,
            digests=digests,
            remembered=remembered,
        )

    @asynccontextmanager
    async def held(self, incoming: Incoming, *, compactor: Compactor) -> AsyncGenerator[Kept]:
        """The conversation that the request goes on with, its log brought up to date, for this block alone.

        Raises:
            InvalidRequest: a new message is not what the API describes.
            StoreError: it could not be stored.
        """
        for _ in range(_TRIES):
            kept = await self._found(incoming, compactor=compactor)
            if kept is None:
                continue
            async with kept.lock:
                if await self._up_to_date(kept, incoming, compactor=compactor):
                    yield kept
                    return
        raise Conflict("this conversation is changed by other requests all the time: try again")

    def going_on(self, incoming: Incoming) -> Kept | None:
        """The conversation in memory whose whole log the request begins with; None if there is none."""
        found = self.known.find(incoming.digests)
        return found[0] if found is not None and found[1] == len(found[0].digests) else None

    async def _found(self, incoming: Incoming, *, compactor: Compactor) -> Kept | None:
        found = self.going_on(incoming)
        if found is not None:
            return found
        root = incoming.roots[0]
        # two first requests at once would begin the conversation twice; the lock lives as long as somebody waits for
        # it
        opening = self._opening.get(root)
        if opening is None:
            opening = self._opening[root] = asyncio.Lock()
        async with opening:
            return self.going_on(incoming) or await self._opened(incoming, compactor=compactor)

    async def _opened(self, incoming: Incoming, *, compactor: Compactor) -> Kept | None:
        """One from the store, a branch of another one, or a new one; None if another program just began one like it."""
        found = self.known.find(incoming.digests)
        source, shared = (found[0].conversation.internals.replica.key, found[1]) if found else (None, 0)
        digests: Sequence[bytes] = ()
        # a first message in common is little, since many conversations begin alike: the store may hold one that
        # shares more
        siblings = await self._stored(incoming) if shared <= 1 else None
        for key, stored in siblings or ():
            length = common(stored, incoming.digests)
            # of equally long beginnings the log that ends there wins: it is continued, any other is copied to begin a
            # branch
            if (length, length == len(stored)) > (shared, bool(digests) and len(digests) == shared):
                source, shared, digests = key, length, stored
        if source is not None and digests and len(digests) == shared:
            conversation = await compactor.open(source.conversation, namespace=source.namespace)
            # what another program appended since they were made
            if len(conversation) > len(digests):
                new = await self.store.read(source, from_seq=len(digests) + 1, through_seq=len(conversation))
                digests = [*digests, *chain(digests[-1], _raws(new))]
        else:
            looked_at = None if siblings is None else {key for key, _ in siblings}
            target = await self._free(incoming, looked_at=looked_at)
            if target is None:
                return None
            conversation = await self._begun(incoming, source, key=target, shared=shared, compactor=compactor)
            digests = incoming.digests
        renderer = Renderer(incoming.request.dialect)
        kept = Kept(conversation=conversation, digests=list(digests), renderer=renderer)
        self.known.add(kept)
        return kept

    async def _stored(self, incoming: Incoming) -> list[tuple[Key, list[bytes]]]:
        """What the store holds that begins as the request does, with the digests of its log."""
        logs = [(key, await self.store.read(key)) for key in await self._siblings(incoming, *incoming.roots)]
        return [(key, list(chain(incoming.seed, _raws(log)))) for key, log in logs if log]

    async def _siblings(self, incoming: Incoming, *roots: bytes) -> list[Key]:
        """Those stored conversations whose names begin with one of the roots, asked for at once: a server is far away."""
        keys = [incoming.key(root, number) for root in roots for number in range(MOST_SIBLINGS)]
        names = [key.conversation for key in keys]
        infos = await self.store.conversations(incoming.namespace, names=names)
        stored = {info.key for info in infos if info.last_seq}
        return [key for key in keys if key in stored]

    async def _begun(
        self, incoming: Incoming, source: Key | None, *, key: Key, shared: int, compactor: Compactor
    ) -> Conversation:
        """Conversation ``key`` with all messages of the request, the first ``shared`` ones those of ``source``."""
        if source is not None and shared:
            await copy_conversation(self.store, source, target=key, through_seq=shared)
        conversation = await compactor.open(key.conversation, namespace=key.namespace)
        self._beginning[key] = True
        try:
            await incoming.append_to(conversation, after=shared)
            await self._wait_until_stored(key)
            if not self._beginning[key]:
                raise StoreUnavailable("a new conversation could not be stored: see the log for the reason")
        finally:
            del self._beginning[key]
        return conversation

    async def _wait_until_stored(self, key: Key) -> None:
        """Wait until a new conversation is stored: its next request may come to another gateway.

        That one would begin it once more under another name. The only writer of a file may be seconds away, at a huge
        message of somebody else: those who share a file are left to that rare case, and the others do not wait.
        """
        if isinstance(self.store, WriteBehind):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._begun_seconds):
                    await self.store.settled(key)

    async def _free(self, incoming: Incoming, *, looked_at: Set[Key] | None) -> Key | None:
        """The first name that no conversation has; None if one was begun since the others were ``looked_at``.

        That one may be the request's own, which another program was sent at the same time.
        """
        root = incoming.roots[0]
        taken = await self._siblings(incoming, root)
        for number in range(MOST_SIBLINGS):
            key = incoming.key(root, number)
            if key not in taken:
                return key
            if looked_at is not None and key not in looked_at:
                return None
        return Key(conversation=f"{root.hex()[:24]}-{uuid.uuid4().hex[:12]}", namespace=incoming.namespace)

    async def _up_to_date(self, kept: Kept, incoming: Incoming, *, compactor: Compactor) -> bool:
        """Append what the log does not have yet; False if the request does not go on from its end after all."""
        length = len(kept.digests)
        if kept.gone or not _leads_to(kept.digests, incoming.digests):
            return False
        # another program wrote to it after its digests were made, or what was to be stored could not be
        if len(kept.conversation) != length:
            self._forget(kept)
            return False
        kept.conversation.internals.replica.shared = compactor
        try:
            await incoming.append_to(kept.conversation, after=length, usage=kept.usage)
        except Conflict:  # another program writes to it: it is read anew
            self._forget(kept)
            return False
        if len(incoming.digests) > length:
            self.known.extend(kept, incoming.digests[length:])
            kept.reported = None
        return True

    def learn(self, kept: Kept, incoming: Incoming, *, reported: Reported | None = None) -> None:
        """Remember the request: the next one is compared with its bytes, and only what is new of it is parsed.

        Args:
            kept: its conversation.
            incoming: the request.
            reported: for it; stored with the reply, which the next request brings, so that the gateway knows after a
                restart how this provider counts.
        """
        if not kept.gone:
            self.known.remember(kept, incoming.raws)
            kept.last_request = EarlierRequest(incoming.request)
            # else another request went on meanwhile, and the usage would be stored with a later reply than its own
            if len(incoming.digests) == len(kept.digests):
                kept.reported = reported

    def _forget(self, kept: Kept) -> None:
        kept.gone = True
        self.known.drop(kept)

    def forget(self, key: Key) -> None:
        """Let go of what memory holds of a conversation: the next request reads it anew."""
        kept = self.in_memory(key)
        if kept is not None:
            self._forget(kept)
        elif key in self._beginning:
            self._beginning[key] = False

    def in_memory(self, key: Key) -> Kept | None:
        """The conversation of that name, if it is held in memory."""
        return next((kept for kept in self.known if kept.conversation.internals.replica.key == key), None)

    async def delete(self, key: Key) -> bool:
        """Remove a conversation: log, summaries, index, and what memory holds; whether there was one."""
        kept = self.in_memory(key)
        if kept is None:
            return await self.store.delete(key)
        async with kept.lock:
            # a preparation that still runs would write its record after the deletion
            await kept.conversation.internals.background.wait_idle()
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
        if kept.lock.locked() or kept.conversation.internals.background.running:
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
