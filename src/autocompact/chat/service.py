"""The conversations of one person (or tenant) and what answers in them. One instance per process."""

from __future__ import annotations

import asyncio
import logging
import os
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from autocompact.chat import events, example
from autocompact.chat.config import ChatConfig
from autocompact.chat.engine import Engine
from autocompact.chat.finding import OFFLINE, ModelChoice, choice_of, offered, probed
from autocompact.chat.held import HeldSessions
from autocompact.chat.notes import Notes
from autocompact.chat.prompt import MemoryFiles, system_prompt
from autocompact.chat.running import recover_dead
from autocompact.chat.session import UNTITLED, ChatSession
from autocompact.chat.titles import Titles
from autocompact.chat.tools import Tool
from autocompact.chat.tools.command import command_tool
from autocompact.chat.tools.files import file_tools
from autocompact.chat.tools.mcp import McpServers
from autocompact.chat.tools.memory import memory_tools, remember_tool
from autocompact.chat.tools.search import search_tool
from autocompact.chat.tools.skills import find_skills, skill_tool
from autocompact.chat.tools.workspace import Workspace
from autocompact.chat.views import ConversationLine
from autocompact.core.redaction import redact
from autocompact.engine.deletion import Traces, delete_conversation, find_traces
from autocompact.errors import AutocompactError, InvalidInput, StoreError, log_data
from autocompact.events import Event
from autocompact.files import make_folder
from autocompact.library.archive import Archive
from autocompact.library.outgoing import ExportFormat, render
from autocompact.library.place import database_path
from autocompact.memory.erasing import Subject
from autocompact.memory_files.erasing import erase_entries
from autocompact.ports import NO_MESSAGES, Clock, ConversationInfo, ConversationStore, Index, Key, SystemClock
from autocompact.recall import RESULTS, Found, Recall
from autocompact.stores.companions import companions, hidden_names, notes_key
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_index import SqliteIndex

LONGEST_TITLE = 200

log = logging.getLogger("autocompact")


class ChatService:
    """Conversations with an agent: the list of them, and a `ChatSession` for each that is in use.

    Args:
        store: keeps the conversations; it stays open when the service is closed.
        index: finds messages in it.
        config: how conversations are held.
        environ: where models and keys are found; None is the process's environment, read when it is needed.
        clock: what time it is.
    """

    def __init__(
        self,
        store: ConversationStore,
        index: Index,
        *,
        config: ChatConfig | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.store = store
        self.index = index
        self.config = config or ChatConfig()
        self.clock = clock or SystemClock()
        self.holder = uuid.uuid4().hex
        self.memory = MemoryFiles(self.config.memory_folder)
        self._environ = environ
        self._servers = McpServers(self.config.mcp_file)
        self._engines: dict[str, Engine] = {}
        self.sessions = HeldSessions(idle=self.config.idle_sessions)
        self._unsaid: dict[str, None] = {}
        self._opening: dict[str, asyncio.Task[ChatSession]] = {}
        self._titles = Titles(store, self.config.namespace)
        self._listeners: list[Callable[[events.ConversationChanged], None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._clearing: asyncio.Task[None] | None = None

    # Conversations

    async def conversations(self) -> tuple[ConversationLine, ...]:
        """All of them, the last used first; new ones without a message at the beginning."""
        await self._titles.catch_up()
        stored = await self._stored()
        lines = [
            ConversationLine(
                id=info.key.conversation,
                title=self._titles.titles.get(info.key.conversation) or info.title or UNTITLED,
                messages=info.last_seq,
                created=info.created,
                updated=info.updated,
                compacted=info.compressed_at is not None,
                running=self._is_running(info.key.conversation),
            )
            for info in stored
        ]
        return (*self._new_ones(), *lines)

    async def _stored(self) -> tuple[ConversationInfo, ...]:
        stored = await self.store.conversations(self.config.namespace)
        for info in stored:
            self._unsaid.pop(info.key.conversation, None)
        return tuple(stored)

    def _new_ones(self) -> Iterator[ConversationLine]:
        now = self.clock.now()
        for id in reversed(self._unsaid):
            title = self._titles.titles.get(id) or UNTITLED
            yield ConversationLine(id=id, title=title, messages=0, created=now, updated=now)

    def _is_running(self, id: str) -> bool:
        session = self.sessions.get(id)
        return session is not None and session.running

    async def create(self, title: str = "") -> ChatSession:
        """A new conversation. It is stored with its first message."""
        day = self.clock.now()[:10]
        session = await self._opened(f"{day}-{uuid.uuid4().hex[:8]}")
        self._unsaid[session.id] = None
        if title.strip():
            await self.rename(session.id, title=title)
        return session

    async def open(self, id: str) -> ChatSession:
        """The session of a conversation, the same one for everybody who has it at the same time.

        Those that nobody uses, the last used ones aside, are let go, and read from the store when they are opened next.

        Raises:
            InvalidInput: there is none of that id.
        """
        first_words = ""
        session = self.sessions.get(id)
        if session is not None:
            await session.catch_up()
        if self.sessions.get(id) is None and id not in self._opening:
            first_words = await self._check(id)
        return await self._opened(id, first_words=first_words)

    async def _check(self, id: str) -> str:
        """The first words of a conversation that there is."""
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
            task = self._opening[id] = asyncio.create_task(self._load(id, first_words=first_words))
            task.add_done_callback(lambda _: self._opening.pop(id, None))
        return await asyncio.shield(task)

    async def _load(self, id: str, *, first_words: str) -> ChatSession:
        key = self._key(id)
        await self._titles.catch_up()
        notes = await Notes.load(self.store, notes_key(key))
        engine = self._engine_or_offline(notes.model)
        session = ChatSession(
            self,
            await engine.open(id),
            engine=engine,
            notes=notes,
            hidden=await hidden_names(self.store, key.namespace),
            title=self._titles.titles.get(id) or first_words,
        )
        await recover_dead(session)
        self.sessions.add(session)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return session

    async def _watch(self) -> None:
        """Notice what other programs do in the conversations that are held here."""
        while True:
            await asyncio.sleep(self.config.watch_seconds)
            self.sessions.let_go()
            await self._look()

    async def _look(self) -> None:
        for session in self.sessions.held:
            try:
                await session.catch_up()
            except Exception:  # the others go on being watched
                log.exception("a conversation could not be watched", extra={"conversation": session.id})

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
        self.tell_changed(id, title=title)

    async def traces(self, id: str) -> Traces:
        """What `delete` would remove, and what it leaves: for the question before it.

        Raises:
            InvalidInput: there is none of that id, or an archive names it in lines that are no entry.
            StoreError: an archive cannot be used.
        """
        await self._check(id)
        return await find_traces(self.store, self._key(id), folders=self._memory_folders())

    async def delete(self, id: str) -> None:
        """Remove a conversation everywhere, archives included; a running turn is ended.

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
        if self._clearing is None or self._clearing.done():
            self._clearing = asyncio.create_task(self._clear())

    def _key(self, id: str) -> Key:
        return Key(conversation=id, namespace=self.config.namespace)

    def _memory_folders(self) -> tuple[Path, ...]:
        return () if self.config.memory_folder is None else (self.config.memory_folder,)

    def _forget(self, id: str) -> None:
        """Drop what memory holds of a conversation that is gone, and tell it."""
        session = self.sessions.get(id)
        self.sessions.remove(id)
        self._unsaid.pop(id, None)
        self._titles.titles.pop(id, None)
        self._tell(events.ConversationChanged(conversation_id=id, deleted=True), session)

    async def forget_deleted(self, session: ChatSession) -> None:
        """Another program deleted the conversation of ``session``: nothing of it stays here either."""
        await session.aclose()
        for companion in companions(session.key):
            await self.store.delete(companion)
        self._forget(session.id)

    async def _clear(self) -> None:
        """Clear the store's files of what deleted conversations left in unused places."""
        try:
            await self.store.purge()
        except StoreError as error:  # the next deletion, or the next end of a service, tries again
            log.warning("traces of a deleted conversation may be left in the file", extra=log_data(error))

    async def export(self, id: str, *, format: ExportFormat = "markdown") -> bytes:
        """The whole conversation; compactions change nothing of it.

        Args:
            id: of the conversation.
            format: "markdown" for people, "json" an archive from which nothing is missing (`autocompact import` reads
                it), "jsonl", "openai" and "anthropic" messages.

        Raises:
            InvalidInput: there is none of that id.
        """
        await self._check(id)
        key = self._key(id)
        snapshot = await self.store.load(key, after=NO_MESSAGES)
        archive = Archive(
            name=id,
            messages=await self.store.read(key),
            compactions=await self.store.compactions(key),
            active=snapshot.active.id if snapshot.active else None,
            state=snapshot.state,
        )
        return b"".join(render(archive, format))

    async def search(self, query: str, *, k: int = RESULTS) -> tuple[Found, ...]:
        """The likeliest places in all conversations and the memory files; references name the conversation.

        Raises:
            InvalidInput: an empty query.
        """
        key = Key(conversation="", namespace=self.config.namespace)
        recall = Recall(
            self.store,
            self.index,
            key=key,
            documents=self.memory_documents,
            across=True,
            hidden=await hidden_names(self.store, key.namespace),
        )
        return await recall.search(query, k, scope="all")

    async def seed_example(self) -> ChatSession | None:
        """On the first start, a conversation to look at, with tool calls and a compaction; None if it is not the first.

        What older versions archived of it is taken out of the memory folder.
        """
        await self._clean_archive()
        if not await self._titles.is_first_start():
            return None
        conversation = await self.engine(OFFLINE).open_example()
        for message in example.BEFORE:
            await conversation.append(replace(message, time=self.clock.now()))
        await conversation.compact(example.FOCUS)
        for message in example.AFTER:
            await conversation.append(replace(message, time=self.clock.now()))
        await self._titles.put(example.ID, example.TITLE)
        return await self.open(example.ID)

    async def _clean_archive(self) -> None:
        subject = Subject(conversation=example.ID, is_example=True)
        for folder in self._memory_folders():
            try:
                await asyncio.to_thread(erase_entries, folder, subject)
            except AutocompactError as error:  # a search leaves them out all the same
                log.warning("the example could not be taken out of the archive", extra=log_data(error))

    # Models

    async def models(self, *, probe: bool = False) -> tuple[ModelChoice, ...]:
        """What can be talked to, the likeliest first, the offline model last.

        Args:
            probe: ask this machine too whether an Ollama or a llama.cpp runs on it.
        """
        wanted = (choice_of(self.config.model),) if self.config.model else ()
        *from_environment, offline = offered(self._environ)
        local = await probed(self._environ) if probe else ()
        choices = (*wanted, *from_environment, *local, offline)
        return tuple({choice.name: choice for choice in choices}.values())

    def engine(self, name: str) -> Engine:
        """The engine of the model called ``name``.

        Raises:
            InvalidInput: there is no such model, its key is missing, or the extra ``chat`` is.
        """
        choice = choice_of(name)
        if choice.name not in self._engines:
            try:
                self._engines[choice.name] = Engine(
                    choice,
                    store=self.store,
                    config=self.config,
                    environ=self._environ,
                    clock=self.clock,
                    hear=self._hear,
                )
            except ImportError as error:
                raise InvalidInput(str(error)) from error
        return self._engines[choice.name]

    def _engine_or_offline(self, name: str) -> Engine:
        """A conversation whose model is not there any more can be opened all the same."""
        wanted = name or self.config.model or offered(self._environ)[0].name
        try:
            return self.engine(wanted)
        except InvalidInput as error:
            if not name:
                raise
            log.warning(
                "a conversation's model is not available", extra={"model": name, "reason": str(error)}
            )
            return self.engine(OFFLINE)

    # What sessions use

    def memory_documents(self) -> Sequence[tuple[str, str]]:
        """The memory files as they are now."""
        return self.memory.documents()

    def own_tools(self, session: ChatSession) -> list[Tool]:
        """What the agent may use in ``session``, but for what MCP servers offer."""
        config = self.config
        tools = memory_tools(session)
        memory = (
            session.conversation.shared.memory_folder
        )  # None for the example, which writes nothing outside itself
        if memory is not None:
            tools.append(remember_tool(memory, self.clock))
        if config.skill_folders:
            tools.append(skill_tool(config.skill_folders))
        if config.workspace is not None:
            workspace = Workspace(config.workspace, memory=config.memory_folder)
            tools += (*file_tools(workspace), search_tool(workspace))
            if config.commands.enabled and os.name == "posix":
                tools.append(command_tool(config.workspace, config.commands))
        return tools

    async def served_tools(self) -> tuple[Tool, ...]:
        """What the MCP servers offer; they are started when this is asked for first.

        Raises:
            InvalidInput: their configuration cannot be used.
        """
        try:
            return await self._servers.tools()
        except ImportError as error:
            raise InvalidInput(str(error)) from error

    @property
    def server_problems(self) -> Mapping[str, str]:
        """Why MCP servers were left out, by name."""
        return self._servers.problems

    def system_prompt(self) -> str:
        """The system prompt as it is now: the same bytes unless a file changed that it shows."""
        config = self.config
        skills = find_skills(config.skill_folders).values()
        return system_prompt(
            self.memory,
            instructions=config.instructions,
            workspace=config.workspace,
            skills=[(each.skill.name, each.skill.description) for each in skills],
        )

    # Listening

    def listen(self, listener: Callable[[events.ConversationChanged], None]) -> Callable[[], None]:
        """Call ``listener`` whenever the list of conversations is to be read again; returns what ends that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def tell_changed(self, id: str, *, title: str | None = None) -> None:
        """Title, model or messages of a conversation changed."""
        session = self.sessions.get(id)
        if session is not None and title is not None:
            session.title, session.titled = title, True
        shown = title if title is not None else session.title if session else ""
        model = session.model if session else ""
        self._tell(events.ConversationChanged(conversation_id=id, title=shown, model=model), session)

    def tell_running(self, id: str) -> None:
        """A turn began or ended in a conversation: the list shows which of them are running."""
        self._tell(events.ConversationChanged(conversation_id=id), None)

    def _tell(self, event: events.ConversationChanged, session: ChatSession | None) -> None:
        if session is not None:
            session.tell(event)
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed", extra={"event": type(event).__name__})

    def _hear(self, event: Event) -> None:
        session = self.sessions.get(event.conversation_id)
        if session is not None:
            session.hear(event)

    # The end

    async def aclose(self) -> None:
        """End running turns (their half answers stay, marked as interrupted) and give back what models opened."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        if self._clearing is not None:
            await asyncio.wait([self._clearing])
        for session in self.sessions.known:
            await session.aclose()
        self.sessions.clear()
        for engine in self._engines.values():
            await engine.aclose()
        self._engines.clear()
        await self._servers.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


@asynccontextmanager
async def opened(
    path: Path | None = None,
    *,
    config: ChatConfig | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[ChatService]:
    """The service over a store file, made if there is none; both are closed at the end.

    Args:
        path: the file; None is `autocompact.library.place.database_path`.
        config: how conversations are held.
        environ: in place of the process's environment.
        clock: what time it is.

    Raises:
        StoreError: the file cannot be used.
    """
    file = path or database_path()
    if path is None:
        make_folder(file.parent)
    async with (
        SqliteStore(file, clock=clock) as store,
        ChatService(store, SqliteIndex(store), config=config, environ=environ, clock=clock) as service,
    ):
        yield service
