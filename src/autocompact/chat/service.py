"""The service: the conversations of one person (or tenant). One instance per process."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Self

from msgspec import structs

from autocompact.chat import events, example
from autocompact.chat.config import ChatConfig
from autocompact.chat.engine import Engines
from autocompact.chat.labels import LONGEST_TAG, MOST_TAGS, Tags, tags_in
from autocompact.chat.model_choices import OFFLINE, ModelChoice
from autocompact.chat.pins import pin, pinned
from autocompact.chat.request_prefix import Toolkit
from autocompact.chat.session import UNTITLED, ChatSession
from autocompact.chat.session_cache import SessionCache
from autocompact.chat.session_context import ServiceContext
from autocompact.chat.titles import Titles
from autocompact.chat.views import ConversationLine
from autocompact.core.redaction import redact
from autocompact.engine.deletion import Traces, delete_conversation, find_traces
from autocompact.errors import AutocompactError, InvalidInput, StoreError, log_data
from autocompact.events import Event
from autocompact.history.archive import whole_archive
from autocompact.history.outgoing import ExportFormat, render
from autocompact.history.paths import database_path
from autocompact.history.recall import RESULTS, Found, Recall
from autocompact.memory.documents.erasing import Subject
from autocompact.memory.files.erasing import erase_entries
from autocompact.ports import Clock, ConversationInfo, ConversationStore, Index, Key, SystemClock
from autocompact.runtime.files import make_folder
from autocompact.stores.companions import companions, hidden_names
from autocompact.stores.naming import StorePlace
from autocompact.stores.opening import open_store

LONGEST_TITLE = 200
NO_KEYS: Mapping[str, str] = MappingProxyType({})

log = logging.getLogger("autocompact")


class ChatService:
    """Conversations with an agent: the list of them, and a `ChatSession` for each that is in use.

    Args:
        store: keeps the conversations; it stays open when the service is closed.
        index: finds messages in it.
        config: how conversations are held.
        environ: where models and keys are found; None is the process's environment, read when it is needed.
        keys: what the person entered, by base URL; variables go before them.
        clock: the time.

    Attributes:
        store: keeps the conversations.
        sessions: the sessions in memory.
    """

    def __init__(
        self,
        store: ConversationStore,
        index: Index,
        *,
        config: ChatConfig | None = None,
        environ: Mapping[str, str] | None = None,
        keys: Mapping[str, str] = NO_KEYS,
        clock: Clock | None = None,
    ) -> None:
        config, clock = config or ChatConfig(), clock or SystemClock()
        self.store = store
        self._index, self._environ = index, environ
        self.sessions = SessionCache(idle=config.idle_sessions)
        self._config = config
        self._clock = clock
        self._holder = uuid.uuid4().hex
        self._shared = self._context(config, keys)
        self._replaced: list[ServiceContext] = []
        self._unsaid: dict[str, None] = {}
        self._opening: dict[str, asyncio.Task[ChatSession]] = {}
        self._titles = Titles(store, config.namespace)
        self._tags = Tags(store, config.namespace)
        self._listeners: list[Callable[[events.ConversationChanged], None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._clearing: asyncio.Task[None] | None = None

    def _context(self, config: ChatConfig, keys: Mapping[str, str]) -> ServiceContext:
        engines = Engines(
            self.store,
            config=config,
            environ=self._environ,
            keys=keys,
            clock=self._clock,
            emit=self._route,
        )
        return ServiceContext(
            store=self.store,
            index=self._index,
            config=config,
            clock=self._clock,
            holder=self._holder,
            engines=engines,
            toolkit=Toolkit(config, self._clock),
        )

    @property
    def config(self) -> ChatConfig:
        """How conversations are held now."""
        return self._config

    async def reconfigure(self, config: ChatConfig, *, keys: Mapping[str, str] = NO_KEYS) -> None:
        """Hold conversations in another way from now on; a running turn ends as it began.

        Args:
            config: likewise; its namespace and number of idle sessions stay as they were.
            keys: what the person entered, by base URL; variables go before them.

        Raises:
            InvalidInput: the model or the summary model cannot be used: everything is as it was.
        """
        config = replace(config, namespace=self._config.namespace)
        shared = self._context(config, keys)
        try:
            shared.engines.get_or_offline("")
        except InvalidInput:
            await shared.engines.aclose()
            raise
        # closed only when no session uses it any more: a running turn ends with the model that it began with
        self._replaced.append(self._shared)
        self._shared, self._config = shared, config
        # those that are not kept as well: whoever still has one may use it again, and then it is kept as it is
        for session in self.sessions.known:
            await session.reconfigure(shared)
        await self._close_replaced()

    async def _close_replaced(self) -> None:
        """Close the engines and servers of earlier configurations that no session uses any more."""
        used = [session.shared for session in self.sessions.known]
        for each in [each for each in self._replaced if each not in used]:
            self._replaced.remove(each)
            await each.aclose()

    # Conversations

    async def conversations(self) -> tuple[ConversationLine, ...]:
        """All conversations: new ones without a message first, then the pinned ones, then the last used first."""
        await self._titles.catch_up()
        await self._tags.catch_up()
        stored = await self._stored()
        kept = await pinned(self.store, self._config.namespace)
        lines = [
            ConversationLine(
                id=info.key.conversation,
                title=self._titles.titles.get(info.key.conversation) or info.title or UNTITLED,
                messages=info.last_seq,
                created=info.created,
                updated=info.updated,
                compacted=info.compressed_at is not None,
                running=self._is_running(info.key.conversation),
                pinned=info.key.conversation in kept,
                tags=self._tags.of(info.key.conversation),
            )
            for info in sorted(stored, key=lambda info: info.key.conversation not in kept)
        ]
        return (*self._new_ones(), *lines)

    async def _stored(self) -> tuple[ConversationInfo, ...]:
        stored = await self.store.conversations(self._config.namespace)
        for info in stored:
            self._unsaid.pop(info.key.conversation, None)
        return tuple(stored)

    def _new_ones(self) -> Iterator[ConversationLine]:
        now = self._clock.now()
        for id in reversed(self._unsaid):
            title = self._titles.titles.get(id) or UNTITLED
            yield ConversationLine(id=id, title=title, messages=0, created=now, updated=now)

    def _is_running(self, id: str) -> bool:
        session = self.sessions.get(id)
        return session is not None and session.running

    async def create(self, title: str = "") -> ChatSession:
        """Create a conversation. It is stored with its first message."""
        day = self._clock.now()[:10]
        session = await self._opened(f"{day}-{uuid.uuid4().hex[:8]}")
        self._unsaid[session.id] = None
        if title.strip():
            await self.rename(session.id, title=title)
        return session

    async def open(self, id: str) -> ChatSession:
        """The session of a conversation; everybody who has it open gets the same one.

        Idle sessions beyond `ChatConfig.idle_sessions` are evicted, and loaded from the store when they are opened next.

        Raises:
            InvalidInput: there is none of that id.
        """
        first_words = ""
        session = self.sessions.get(id)
        if session is not None:
            await self._catch_up(session)
        # catching up may have forgotten it: another program deleted it
        if self.sessions.get(id) is None and id not in self._opening:
            first_words = await self._check(id)
        return await self._opened(id, first_words=first_words)

    async def _check(self, id: str) -> str:
        """The first words of a conversation.

        Raises:
            InvalidInput: it does not exist.
        """
        known = {info.key.conversation: info.title for info in await self._stored()}
        if id not in known and id not in self._unsaid and self.sessions.get(id) is None:
            raise InvalidInput(f"there is no conversation {id!r}: it was deleted, or never was")
        return known.get(id, "")

    async def _opened(self, id: str, *, first_words: str = "") -> ChatSession:
        session = self.sessions.get(id)
        if session is not None:
            self.sessions.used(session)
            return session
        task = self._opening.get(id)
        if task is None:
            # two tabs that open at once get one session, not two that each hold a log
            task = self._opening[id] = asyncio.create_task(self._load(id, first_words=first_words))
            task.add_done_callback(lambda _: self._opening.pop(id, None))
        # a tab that is closed while it waits does not take the loading away from the others
        return await asyncio.shield(task)

    async def _load(self, id: str, *, first_words: str) -> ChatSession:
        await self._titles.catch_up()
        session = await ChatSession.load(
            self._shared,
            self._key(id),
            title=self._titles.titles.get(id) or first_words,
            named=id in self._titles.titles,
            on_used=self.sessions.used,
            on_change=self._notify,
            on_named=self._named,
        )
        self.sessions.add(session)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return session

    async def _watch(self) -> None:
        """Follow other programs in the conversations that are in memory."""
        while True:
            await asyncio.sleep(self._config.watch_seconds)
            self.sessions.evict()
            await self._look()

    async def _look(self) -> None:
        for session in self.sessions.kept:
            try:
                await self._catch_up(session)
            except Exception:  # the others go on being watched
                log.exception("a conversation could not be watched", extra={"conversation": session.id})

    async def _catch_up(self, session: ChatSession) -> None:
        """Follow other programs in one conversation; one that they deleted is forgotten here too."""
        if await session.catch_up():
            return
        await session.aclose()
        for companion in companions(session.key):
            await self.store.delete(companion)
        self._forget(session.id)

    async def rename(self, id: str, *, title: str) -> None:
        """Give a conversation a title.

        Raises:
            InvalidInput: it is empty or longer than 200 characters, or there is no such conversation.
        """
        title = " ".join(redact(title).split())
        if not 0 < len(title) <= LONGEST_TITLE:
            raise InvalidInput(f"a title has 1 to {LONGEST_TITLE} characters, this one has {len(title)}")
        await self._check(id)
        await self._titles.put(id, title)
        if (session := self.sessions.get(id)) is not None:
            session.set_title(title)
        else:
            self._notify(events.ConversationChanged(conversation_id=id, title=title))

    async def _named(self, id: str, title: str) -> None:
        """Take the title that the model gave, unless the person gave one in another program."""
        await self._titles.catch_up()
        if id not in self._titles.titles:
            await self.rename(id, title=title)

    async def tag(self, id: str, text: str) -> None:
        """Give a conversation tags in place of those it had.

        Args:
            id: of the conversation.
            text: the tags, separated by commas; "" removes all.

        Raises:
            InvalidInput: they are too many or too long, there is no such conversation, or nothing was said in it yet.
            StoreError: it could not be stored.
        """
        tags = tags_in(redact(text))
        if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
            raise InvalidInput(
                f"a conversation has at most {MOST_TAGS} tags of {LONGEST_TAG} characters each, separated by commas"
            )
        await self._check(id)
        if id in self._unsaid:
            raise InvalidInput(
                "nothing was said in this conversation yet: it can be tagged after its first message"
            )
        await self._tags.put(id, tags)
        self._notify(events.ConversationChanged(conversation_id=id))

    async def pin(self, id: str, *, on: bool = True) -> None:
        """Keep a conversation at the beginning of the list, or no longer.

        Raises:
            InvalidInput: there is no such conversation, or nothing was said in it yet.
            StoreError: it could not be stored.
        """
        await self._check(id)
        if id in self._unsaid:
            raise InvalidInput(
                "nothing was said in this conversation yet: it can be pinned after its first message"
            )
        await pin(self.store, self._key(id), on=on)
        self._notify(events.ConversationChanged(conversation_id=id))

    async def traces(self, id: str) -> Traces:
        """List what `delete` would remove and what it would leave, for the confirmation before it.

        Raises:
            InvalidInput: there is none of that id, or an archive names it in lines that are no entry.
            StoreError: an archive cannot be used.
        """
        await self._check(id)
        return await find_traces(self.store, self._key(id), folders=self._memory_folders())

    async def delete(self, id: str) -> None:
        """Delete a conversation everywhere, archives included; a running turn is ended.

        Raises:
            InvalidInput: there is none of that id, or an archive names it in lines that are no entry; it is as it was.
            MemoryInUse: another process is at the memory folder for long.
            StoreError: the store or an archive cannot be used; it can be deleted again.
        """
        await self._check(id)
        session = self.sessions.get(id)
        await self.traces(id)  # what cannot be deleted goes on as it is
        if session is not None:
            await session.aclose()
        try:
            await delete_conversation(self.store, self._key(id), folders=self._memory_folders())
        except BaseException:
            if session is not None:
                session.reopen()
            raise
        self._forget(id)
        # clearing writes the whole file anew: once for several deletions in a row
        if self._clearing is None or self._clearing.done():
            self._clearing = asyncio.create_task(self._clear())

    def _key(self, id: str) -> Key:
        return Key(conversation=id, namespace=self._config.namespace)

    def _memory_folders(self) -> tuple[Path, ...]:
        return () if self._config.memory_folder is None else (self._config.memory_folder,)

    def _forget(self, id: str) -> None:
        """Drop what memory holds of a deleted conversation, and emit its deletion."""
        session = self.sessions.get(id)
        self.sessions.remove(id)
        self._unsaid.pop(id, None)
        self._titles.drop(id)
        self._tags.drop(id)
        if session is not None:
            session.emit_deleted()
        self._notify(events.ConversationChanged(conversation_id=id, deleted=True))

    async def _clear(self) -> None:
        """Clear remains of deleted conversations from unused pages of the store's files."""
        try:
            await self.store.purge()
        except StoreError as error:  # the next deletion, or the next end of a service, tries again
            log.warning("traces of a deleted conversation may be left in the file", extra=log_data(error))

    async def export(self, id: str, *, format: ExportFormat = "markdown") -> bytes:
        """Export the whole conversation, regardless of compactions.

        Args:
            id: of the conversation.
            format: "markdown" for people, "json" a complete archive (`autocompact import` reads
                it), "jsonl", "openai" and "anthropic" messages.

        Raises:
            InvalidInput: there is none of that id.
        """
        await self._check(id)
        return b"".join(render(await whole_archive(self.store, self._key(id)), format))

    async def search(self, query: str, *, k: int = RESULTS) -> tuple[Found, ...]:
        """Search all conversations and the memory files; references in the results name the conversation.

        Raises:
            InvalidInput: an empty query.
        """
        key = Key(conversation="", namespace=self._config.namespace)
        recall = Recall(
            self.store,
            self._shared.index,
            key=key,
            documents=self._shared.toolkit.documents,
            across=True,
            hidden=await hidden_names(self.store, key.namespace),
        )
        return await recall.search(query, k, scope="all")

    async def seed_example(self) -> ChatSession | None:
        """On the first start, create an example conversation with tool calls and a compaction; None on later starts.

        Entries about it that older versions archived are removed from the memory folder.
        """
        # before the check for a first start: older versions archived their example
        await self._clean_archive()
        if not await self._titles.is_first_start():
            return None
        conversation = await self._shared.engines.get(OFFLINE).open_example()
        for message in example.BEFORE:
            await conversation.append(structs.replace(message, time=self._clock.now()))
        await conversation.compact(example.FOCUS)
        for message in example.AFTER:
            await conversation.append(structs.replace(message, time=self._clock.now()))
        await self._titles.put(example.ID, example.TITLE)
        return await self.open(example.ID)

    async def _clean_archive(self) -> None:
        subject = Subject(conversation=example.ID, is_example=True)
        for folder in self._memory_folders():
            try:
                await asyncio.to_thread(erase_entries, folder, subject)
            except AutocompactError as error:  # a search leaves them out all the same
                log.warning("the example could not be taken out of the archive", extra=log_data(error))

    # Models and tools

    async def models(self, *, probe: bool = False) -> tuple[ModelChoice, ...]:
        """The models that can be chosen, the most likely first, the offline model last.

        Args:
            probe: also ask this machine for the models of its servers.
        """
        return await self._shared.engines.choices(probe=probe)

    @property
    def server_problems(self) -> Mapping[str, str]:
        """Reasons why MCP servers were left out, by name."""
        return self._shared.toolkit.server_problems

    # Listening

    def listen(self, listener: Callable[[events.ConversationChanged], None]) -> Callable[[], None]:
        """Call ``listener`` whenever the list of conversations changes; returns the function that ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def _notify(self, event: events.ConversationChanged) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed", extra={"event": type(event).__name__})

    def _route(self, event: Event) -> None:
        """Pass an event of an engine on to the session of its conversation."""
        session = self.sessions.get(event.conversation_id)
        if session is not None:
            session.relay(event)

    # The end

    async def aclose(self) -> None:
        """End running turns (their half answers are kept, marked as interrupted); close engines and MCP servers."""
        # first: a conversation that is still being opened would be watched after the end, over a store that is closed
        opening = tuple(self._opening.values())
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        if self._clearing is not None:
            # stopped half-way it would leave traces of what the person deleted
            await asyncio.wait([self._clearing])
        for session in self.sessions.known:
            await session.aclose()
        self.sessions.clear()
        for each in (*self._replaced, self._shared):
            await each.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def opened(
    place: StorePlace | None = None,
    *,
    config: ChatConfig | None = None,
    environ: Mapping[str, str] | None = None,
    keys: Mapping[str, str] = NO_KEYS,
    clock: Clock | None = None,
) -> AsyncGenerator[ChatService]:
    """The service over a store file, made if there is none; both are closed at the end.

    Args:
        place: the file, or the database on a server; None is `autocompact.history.paths.database_path`.
        config: how conversations are held.
        environ: in place of the process's environment.
        keys: what the person entered, by base URL; variables go before them.
        clock: what time it is.

    Raises:
        StoreError: the file cannot be used.
    """
    if place is None:
        make_folder(database_path().parent)
    async with (
        open_store(place or database_path(), clock=clock) as store,
        ChatService(store, store.index, config=config, environ=environ, keys=keys, clock=clock) as service,
    ):
        yield service
