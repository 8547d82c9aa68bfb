"""One request to a model: what of it goes upstream. Everything here may fail; then the request goes as it came."""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from autocompact.core.budget import fixed_note
from autocompact.core.lookup import WITH_TOOLS, Lookup
from autocompact.core.messages import Usage
from autocompact.core.usage import MARGIN, Load
from autocompact.engine import Compactor, Conversation
from autocompact.engine.compactor import NamedCompactor
from autocompact.engine.situation import SMALLER
from autocompact.errors import Conflict, IncompressibleContext
from autocompact.gateway.compactors import Compactors
from autocompact.gateway.config import Config
from autocompact.gateway.conversations import Conversations, Incoming, Kept, Reported
from autocompact.gateway.failures import note_failure
from autocompact.gateway.memory_tools import (
    LEAST_ROOM,
    Memory,
    index_of,
    may_offer,
    offered_tools,
)
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.native import asks_now, history_is_elsewhere, is_managed
from autocompact.gateway.tracing import TracedStore, Tracer
from autocompact.models.overflow import Overflow
from autocompact.ports import Clock, ConversationStore, Key, Model, Order, Workers
from autocompact.stores.memory import MemoryStore
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.write_behind import WriteBehind
from autocompact.wire import Renderer, Request

Action: TypeAlias = Literal["forwarded", "compacted", "retried", "checked", "failed-open"]

_NO_TOOLS = (None, b"null", b"[]")
_ONE_HOUR = re.compile(rb'"ttl"\s*:\s*"1h"')
"""In a request whose cache marks ask for an hour instead of five minutes."""

_MOST_REFUSED = 64
_GATHER_SECONDS = 0.05
"""For which appends gather into one transaction: the thread that writes takes turns with the one that serves."""

_BEGUN_SECONDS = 0.05
"""That the first request of a conversation waits for its storage in a file, which has one writer."""

log = logging.getLogger("autocompact.gateway")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What goes upstream.

    Attributes:
        body: of the request.
        action: what was done to it.
        kept: the conversation, None if it is not kept.
        incoming: the request that was prepared; None if the conversation is not kept.
        load: what the request weighs, for the usage that its reply reports.
        used: tokens of it, 0 where nobody counted.
        warning: what the user should change, "" if nothing.
        memory: the tools with which the model may search what left its context; None if they are not offered.
    """

    body: bytes
    action: Action = "forwarded"
    kept: Kept | None = None
    incoming: Incoming | None = None
    load: Load | None = None
    used: int = 0
    warning: str = ""
    memory: Memory | None = None

    def headers(self) -> Iterator[tuple[bytes, bytes]]:
        """What the client is told."""
        yield b"x-autocompact-action", self.action.encode()
        if self.kept is not None:
            conversation = self.kept.conversation
            yield b"x-autocompact-conversation", conversation.internals.replica.key.conversation.encode()
            yield b"x-autocompact-compaction", (conversation.internals.replica.active_id or "none").encode()
            yield b"x-autocompact-tokens", str(self.used).encode()
        if self.warning:
            yield b"x-autocompact-warning", self.warning.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A request whose conversation is known, before it is appended.

    Attributes:
        incoming: the request.
        compactor: of its model.
        searches: its model may get the memory tools.
    """

    incoming: Incoming
    compactor: Compactor
    searches: bool


class Turns:
    """Prepares requests, and remembers what their conversations are.

    Args:
        config: when and how to compact.
        store: where conversations are kept.
        summaries: the model that makes summaries; None makes them offline.
        metrics: counts what happens.
        clock: by which a provider's cache expires.
        workers: prepare compactions in place of this process; None if nobody does.
        tracer: makes spans of what the store does; None makes none.

    Attributes:
        index: of the store; None where it keeps none.
        refused: what servers refused the memory tools with: whose, a model, and the client's own tools.
    """

    def __init__(
        self,
        config: Config,
        *,
        store: ConversationStore,
        summaries: Model | None,
        metrics: Metrics,
        clock: Clock | None = None,
        workers: Workers | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        # beneath what writes behind: a span is to show what the disk takes, not the queue
        kept = store if tracer is None else TracedStore(store, tracer)
        # Who is told to fail closed is refused what could not be stored, so that waits for the disk.
        self._store = (
            kept
            if config.fail_closed
            else WriteBehind(kept, failed=self._not_stored, gather_seconds=_GATHER_SECONDS)
        )
        self.conversations = Conversations(
            self._store,
            size=config.limits.conversations,
            begun_seconds=_BEGUN_SECONDS if isinstance(store, SqliteStore) else None,
        )
        self._config = config
        self._summaries = summaries
        self._metrics = metrics
        self._workers = None if workers is None else _Settled(workers, self._store)
        self.compactors = Compactors(
            config, store=self._store, summaries=summaries, clock=clock, workers=self._workers
        )
        # of the store itself: what traces it, or writes behind it, is no store with an index
        self.index = index_of(store)
        self.refused: set[tuple[str, str, bytes | None]] = set()

    async def recognise(self, request: Request, *, namespace: str, client: str = "") -> Recognised | None:
        """Which conversation ``request`` belongs to; None for one that is left alone.

        Args:
            request: of a client.
            namespace: the client's.
            client: the program, by its ``User-Agent``.

        Raises:
            AutocompactError: the memory of them cannot be used.
        """
        compactor = self.compactors.of(request, namespace=namespace)
        if (
            # the cheapest question first: most requests are small, and nothing more of them is looked at
            self._surely_fits(request, compactor, namespace=namespace)
            or is_managed(request)
            or not request.messages.listed
        ):
            return None
        incoming = await self.conversations.incoming(request, namespace=namespace)
        if incoming.is_native:
            return None
        searches = self._searches(request, namespace=namespace, client=client)
        return Recognised(incoming=incoming, compactor=compactor, searches=searches)

    async def prepare(self, recognised: Recognised) -> Turn:
        """What of a request goes upstream, compacted where that is due.

        Where not even the smallest context fits, the one there is goes all the same, with a warning that says what fills the
        window: our count of it may be too high, which only the answer tells.

        Raises:
            AutocompactError: it could not be compacted, or not be kept.
        """
        incoming = recognised.incoming
        async with self._held(incoming, compactor=recognised.compactor, searches=recognised.searches) as kept:
            try:
                with self._counted(kept.conversation):
                    await kept.conversation.ready()
            except IncompressibleContext as error:
                if self._config.fail_closed:
                    raise
                self._metrics.failed(type(error).__name__)
                turn = self._turn(kept, incoming, action="compacted")
                action: Action = "failed-open" if turn.action == "forwarded" else turn.action
                return replace(turn, action=action, warning=_warning(kept, otherwise=str(error)))
            return self._turn(kept, incoming, action="compacted")

    def learn(self, turn: Turn, usage: Usage | None) -> None:
        """Keep what the next request of the conversation needs: these bytes, and the usage that the reply reports."""
        if turn.kept is None or turn.incoming is None:
            return
        reported = None
        if usage is not None and turn.load is not None:
            turn.kept.conversation.report(usage, sent=turn.load)
            reported = Reported(usage=usage, context=turn.load.context)
        self.conversations.learn(turn.kept, turn.incoming, reported=reported)

    def _surely_fits(self, request: Request, compactor: Compactor, *, namespace: str) -> bool:
        """Whether the request is too small to be kept: no text has more tokens than bytes."""
        threshold = compactor.mode.policy.threshold(compactor.budget)
        is_small = len(request.raw) < threshold * self._config.keep_from
        return is_small and not self.compactors.was_refused(namespace, model=request.model)

    async def without_memory(self, request: Request, *, namespace: str) -> Turn:
        """What of a request goes upstream after the server refused the memory tools: the same without a word of them.

        Raises:
            AutocompactError: the memory of the conversations cannot be used.
        """
        compactor = self.compactors.of(request, namespace=namespace)
        incoming = await self.conversations.incoming(request, namespace=namespace)
        async with self._held(incoming, compactor=compactor, searches=False) as kept:
            return self._turn(kept, incoming, action="compacted")

    def remember_refused(self, request: Request, *, namespace: str) -> None:
        """Offer the memory tools no more to a model together with these tools of the client, perhaps too many already.

        Only within ``namespace``: another one may have an account or a server that takes them.
        """
        if len(self.refused) >= _MOST_REFUSED:
            self.refused.clear()
        self.refused.add((namespace, request.model, request.tools))

    async def shrunk(
        self, request: Request, *, namespace: str, overflow: Overflow, sent: bytes, client: str = ""
    ) -> Turn | None:
        """A smaller request after the provider said that ``sent`` was too large; None if nothing can be gained."""
        if is_managed(request) or not request.messages.listed:
            return None
        self.compactors.learn(namespace, model=request.model, overflow=overflow)
        compactor = self.compactors.of(request, namespace=namespace)
        incoming = await self.conversations.incoming(request, namespace=namespace)
        if incoming.is_native:
            return None
        searches = self._searches(request, namespace=namespace, client=client)
        async with self._held(incoming, compactor=compactor, searches=searches) as kept:
            conversation = kept.conversation
            # what is being prepared may be activated by then, and the request be small enough without a further step
            await conversation.internals.background.wait_idle()
            as_it_is = self._turn(kept, incoming, action="retried")
            if len(as_it_is.body) <= _share(overflow) * len(sent):
                return as_it_is  # what was sent was not the context
            try:
                with self._counted(conversation):
                    await conversation.internals.fitting.shrink(_share(overflow))
            except IncompressibleContext:
                return None
            turn = self._turn(kept, incoming, action="retried")
            return turn if len(turn.body) < len(sent) else None

    async def alone(
        self, request: Request, *, namespace: str, overflow: Overflow | None = None, sent: bytes = b""
    ) -> Turn:
        """What of a request goes upstream while the store cannot be used: compacted for itself, offline, kept nowhere.

        Args:
            request: of a client.
            namespace: the client's.
            overflow: what the provider said to ``sent``, if that was refused as too large: then it is smaller than that.
            sent: what was sent.

        Raises:
            AutocompactError: it could not be compacted.
        """
        compactor = self.compactors.of(request, namespace=namespace)
        # the conversation lives for this request alone: nobody would come for what is prepared in the background
        mode = replace(compactor.mode, background=False)
        apart = NamedCompactor(
            MemoryStore(),
            name=request.model,
            budget=compactor.budget,
            mode=mode,
            windows=self._config.windows,
        )
        incoming = await self.conversations.incoming(request, namespace=namespace)
        # any name will do: the store is this request's own
        conversation = await apart.open(incoming.key(incoming.roots[0], 0).conversation)
        await incoming.append_to(conversation, after=0)
        system = request.messages[0].text if request.messages.has_system else ""
        conversation.internals.replica.use_tools(request.tools, system=system)
        conversation.internals.replica.use_lookup(Lookup(tools=False))
        with self._counted(conversation):
            await conversation.ready()
            body = _alone(request, conversation)
            if overflow is not None and len(body) > (most := _share(overflow) * len(sent)):
                await conversation.internals.fitting.shrink(most / len(body))
                body = _alone(request, conversation)
        action: Action = "compacted" if overflow is None else "retried"
        return Turn(body=body, action="forwarded" if body is request.raw else action)

    @asynccontextmanager
    async def _held(
        self, incoming: Incoming, *, compactor: Compactor, searches: bool
    ) -> AsyncGenerator[Kept]:
        async with self.conversations.held(incoming, compactor=compactor) as kept:
            request, conversation = incoming.request, kept.conversation
            system = request.messages[0].text if request.messages.has_system else ""
            replica = conversation.internals.replica
            replica.use_lookup(WITH_TOOLS if searches else self.archived(conversation, request))
            replica.use_tools(_tools(request, offered=_offered(conversation)), system=system)
            if replica.state.hour_cache is None:  # a client does not change its mind
                replica.use_hour_cache(_ONE_HOUR.search(request.raw) is not None)
            yield kept

    def _searches(self, request: Request, *, namespace: str, client: str) -> bool:
        """Whether the model gets the memory tools once the conversation is compacted."""
        return (
            self.index is not None
            and not (self.refused and (namespace, request.model, request.tools) in self.refused)
            and self._config.offers_memory(model=request.model, client=client)
            and may_offer(request)
        )

    def archived(self, conversation: Conversation, request: Request) -> Lookup:
        """How a model without the memory tools opens what left the context: an agent on this machine by a command."""
        command = ""
        if request.tools not in _NO_TOOLS and self._config.is_local and (file := self._config.database):
            key = conversation.internals.replica.key
            command = shlex.join(
                (
                    *("autocompact", "show", f"{key.conversation}:m123"),
                    *("--db", file, "--namespace", key.namespace),
                )
            )
        return Lookup(tools=False, command=command)

    def _memory_room(self, conversation: Conversation, request: Request) -> int | None:
        """Tokens that the window has room for in this turn, with whose context they are counted; None without tools."""
        if not _offered(conversation):
            return None
        system = conversation.internals.replica.state.meter.system
        conversation.internals.replica.use_tools(offered_tools(request.tools, request.dialect), system=system)
        # weighed with the tools in the request; divided, since what the results weigh will be an estimate of ours too
        room = int((conversation.internals.replica.shared.budget.limit - conversation.usage().used) / MARGIN)
        if room >= LEAST_ROOM:
            return room
        conversation.internals.replica.use_tools(request.tools, system=system)
        conversation.internals.replica.use_lookup(self.archived(conversation, request))
        return None

    def _counted(self, conversation: Conversation) -> _Counting:
        return _Counting(conversation, self._metrics)

    def _turn(self, kept: Kept, incoming: Incoming, *, action: Action) -> Turn:
        conversation, request = kept.conversation, incoming.request
        room = self._memory_room(conversation, request)
        body = request.raw
        if conversation.records.active is not None:
            tools = conversation.internals.replica.state.meter.tools if _offered(conversation) else None
            body = rendered(request, conversation, renderer=kept.renderer, tools=tools)
        memory = None
        if self.index is not None and room is not None:
            memory = Memory(
                conversation,
                self.index,
                body=body,
                tools=request.tools,
                dialect=request.dialect,
                room=room,
            )
        return Turn(
            body=body,
            action=action if body is not request.raw else "forwarded",
            kept=kept,
            incoming=incoming,
            load=conversation.internals.replica.load(),
            used=conversation.usage().used,
            warning=_warning(kept),
            memory=memory,
        )

    def _not_stored(self, key: Key, error: Exception) -> None:
        """Messages could not be stored: the next request, which brings them again, begins with what is."""
        if isinstance(error, Conflict):
            log.info("another program was faster", extra={"conversation": key.conversation})
        else:
            note_failure(error, "messages could not be stored", metrics=self._metrics)
        self.conversations.forget(key)

    async def aclose(self) -> None:
        """End what runs in the background, then close the store and the model."""
        running = tuple(self.compactors.tasks)
        # they write to the store and ask the model, so both are closed after them
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        # the last one first, and each whatever became of the others: what waits is written when the store is closed
        async with AsyncExitStack() as closing:
            for each in (self._summaries, self._store, self._workers):
                if each is not None:
                    closing.push_async_callback(each.aclose)


class _Settled:
    """Workers that are asked once what a conversation has is stored, so that they see it. Implements `Workers`."""

    def __init__(self, workers: Workers, store: ConversationStore) -> None:
        self._workers = workers
        self._store = store

    async def prepare(self, key: Key, order: Order) -> bool:
        """See `Workers.prepare`."""
        if isinstance(self._store, WriteBehind):
            await self._store.settled(key)
        return await self._workers.prepare(key, order)

    async def there(self) -> bool:
        """See `Workers.there`."""
        return await self._workers.there()

    async def aclose(self) -> None:
        """See `Workers.aclose`."""
        await self._workers.aclose()


class _Counting:
    """Counts the compaction that takes effect within a block."""

    def __init__(self, conversation: Conversation, metrics: Metrics) -> None:
        self._conversation = conversation
        self._metrics = metrics
        self._before = conversation.internals.replica.active_id

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        active = self._conversation.records.active
        if active is not None and active.id != self._before:
            receipt = active.receipt
            self._metrics.compacted(receipt.trigger, saved=receipt.tokens_before - receipt.tokens_after)


def _offered(conversation: Conversation) -> bool:
    """Whether the requests of the conversation bring the memory tools now."""
    return conversation.records.active is not None and conversation.internals.replica.transcript.lookup.tools


def _tools(request: Request, *, offered: bool) -> bytes | None:
    """The tools that go upstream."""
    return offered_tools(request.tools, request.dialect) if offered else request.tools


def _warning(kept: Kept, *, otherwise: str = "") -> str:
    """What every request of the conversation carries, where that alone reaches the threshold; logged the first time.

    Args:
        kept: the conversation.
        otherwise: what else the user should know.
    """
    shared, fixed = kept.conversation.internals.replica.shared, kept.conversation.internals.replica.fixed
    warning = fixed_note(shared.budget, policy=shared.mode.policy, fixed=fixed) or otherwise
    if warning and not kept.warned:
        kept.warned = True
        log.warning(
            "a conversation cannot be kept within its limits",
            extra={"conversation": kept.conversation.internals.replica.key.conversation, "reason": warning},
        )
    return warning


def rendered(
    request: Request, conversation: Conversation, *, renderer: Renderer, tools: bytes | None
) -> bytes:
    """The request with the context of its conversation; what stayed as it was has the bytes of this request.

    Args:
        request: which begins with all that is logged.
        conversation: under a compaction.
        renderer: of its dialect.
        tools: that it brings in place of its own; None leaves these.
    """
    offset = request.messages.listed.start
    context = conversation.context()
    first = len(context.messages) - context.standing
    messages = list(request.messages[:offset])
    for message in context.messages[:first]:
        # the client's own bytes, its cache marks included: the log has none, and other bytes would break the prompt
        # cache. A `seq` of 0 and below is a message that the compaction put there
        if message.seq > 0 and not message.changed:
            messages.append(request.messages[message.seq - 1 + offset])
        else:
            messages.append(message)
    new = request.messages[offset + len(conversation) :]  # nothing but where the tokens are only counted
    messages += (*context.messages[first:], *new)
    return renderer.render(request, messages, standing=context.standing + len(new), tools=tools)


def _alone(request: Request, conversation: Conversation) -> bytes:
    """The request with the context of a conversation that holds its messages and nothing else."""
    if conversation.records.active is None:
        return request.raw
    return rendered(request, conversation, renderer=Renderer(request.dialect), tools=None)


async def as_sent(
    request: Request, *, conversations: Conversations, namespace: str, with_tools: bool = True
) -> bytes:
    """The body of a request about a conversation, with the context of that, as its next request would bring it.

    Such a request is for the count of its tokens, or for the provider's compaction of it. It is about what really goes
    upstream: a client that compacts by itself (`/compact` of Codex) would else send the whole history at once, which the
    window may have no room for any more. Nothing is kept of it, and nothing is compacted for it. A conversation that nobody
    asked about since the gateway was started is not known by its beginning yet: such a request goes upstream as it came.

    Args:
        request: about the conversation.
        conversations: of the gateway.
        namespace: the client's.
        with_tools: the memory tools come along where the conversation has them.

    Raises:
        InvalidRequest: a message is not what the API describes.
    """
    left_alone = history_is_elsewhere(request) or (is_managed(request) and not asks_now(request))
    if left_alone or not request.messages.listed:
        return request.raw
    incoming = await conversations.incoming(request, namespace=namespace)
    kept = conversations.going_on(incoming)
    if kept is None or incoming.is_native:
        return request.raw
    async with kept.lock:
        conversation, logged = kept.conversation, len(kept.digests)
        # while we waited for the lock, another request may have gone on with it
        if conversation.records.active is None or incoming.digests[logged - 1 : logged] != kept.digests[-1:]:
            return request.raw
        tools = (
            offered_tools(request.tools, request.dialect)
            if with_tools and conversation.internals.replica.transcript.lookup.tools
            else None
        )
        return rendered(request, conversation, renderer=Renderer(request.dialect), tools=tools)


def _share(overflow: Overflow) -> float:
    """Three quarters of what was too large at most, less where the provider's figures say so."""
    if overflow.limit and overflow.requested:
        return min(SMALLER, 0.9 * overflow.limit / overflow.requested)
    return SMALLER
