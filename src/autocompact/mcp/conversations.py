"""The conversations that a call can name: recorded sessions of agents, and those of our own store."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from msgspec import structs

from autocompact import history
from autocompact.agents.transcripts import CURRENT, Transcripts
from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message, Part, ToolCall, ToolResult
from autocompact.core.redacted import Redactor
from autocompact.core.redaction import KnownSecrets
from autocompact.core.tokens import Estimator
from autocompact.errors import InvalidInput
from autocompact.history.recall import Recall
from autocompact.history.recorded.moment import moment
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import extract
from autocompact.ports import Key
from autocompact.runtime.off_loop import off_loop
from autocompact.sessions import Session
from autocompact.sessions.following import Followed
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.naming import StorePlace, is_there

_MOST_PARALLEL = 20
"""Messages back in which the call of a result is looked for."""

_MOST_KEPT = 4
"""Conversations whose messages and index stay in memory."""


def without_echoes(messages: Sequence[Message], *, before: Sequence[Message] = ()) -> list[Message]:
    """``messages`` as a search looks at them: what was asked of this server, and its answers, say nothing that is not there already.

    A search would else find itself, and its own results, before what was looked for.

    Args:
        messages: of a conversation, in order.
        before: those before them.
    """
    recent = [*before[-_MOST_PARALLEL:], *messages]
    asked = {call.id for message in recent for call in message.calls if _is_ours(call.name)}
    return [
        structs.replace(message, parts=tuple(_silent(part, asked) for part in message.parts))
        if asked and not asked.isdisjoint(_ids(message))
        else message
        for message in messages
    ]


def _is_ours(tool: str) -> bool:
    # agents put the name of the server before that of the tool, each in its own way
    return "autocompact" in tool


def _ids(message: Message) -> Iterator[str]:
    yield from (call.id for call in message.calls)
    yield from (result.call_id for result in message.results)


def _silent(part: Part, asked: Collection[str]) -> Part:
    if isinstance(part, ToolCall) and part.id in asked:
        return structs.replace(part, arguments="{}")
    return structs.replace(part, text="") if isinstance(part, ToolResult) and part.call_id in asked else part


class Opened:
    """A conversation as it was when it was read.

    Args:
        name: as calls may name it.
        agent: who recorded it, "autocompact" for one of our own.
        path: its file; None for one of our own.
        session: its messages and compactions.
        store: holds the messages.
        index: finds them.
    """

    def __init__(
        self,
        *,
        name: str,
        agent: str,
        path: Path | None,
        session: Session,
        store: MemoryStore,
        index: MemoryIndex,
    ) -> None:
        self.name = name
        self.agent = agent
        self.path = path
        self.session = session
        self.store = store
        self.index = index

    @cached_property
    def active(self) -> Compaction | None:
        """The compaction whose summary the model sees."""
        return moment(self.session, through=None, counter=Estimator()).active

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of all messages; slow for a long session."""
        return extract(self.session.messages)

    @cached_property
    def secrets(self) -> KnownSecrets:
        """The secrets that any message gives away; slow for a long session."""
        redactor = Redactor()
        redactor.learn(self.session.messages)
        return redactor.known

    async def recall(self) -> Recall:
        """Search and expansion in this conversation."""
        known = await off_loop(lambda: self.secrets)
        return Recall(
            self.store,
            self.index,
            key=Key(conversation=self.name),
            compaction=lambda: self.active,
            known=known,
        )


class Conversations:
    """Opens conversations, and keeps the last few in memory.

    Args:
        transcripts: the sessions of agents on this computer.
        database: where our own conversations are; a file need not exist.
        files: whether a call may name any file; else only what lies in the agents' folders.
    """

    def __init__(self, transcripts: Transcripts, *, database: StorePlace, files: bool) -> None:
        self.transcripts = transcripts
        self.database = database
        self._files = files
        self._followed: OrderedDict[Path, Followed] = OrderedDict()
        self._kept: OrderedDict[str, Opened] = OrderedDict()
        self._lock = asyncio.Lock()

    async def open(self, name: str) -> Opened:
        """The conversation called ``name``, as it is now.

        Args:
            name: the id of a recorded session or its beginning, a path, the name of a conversation of our own;
                "" and "current" are the session of the project that changed last.

        Raises:
            InvalidInput: there is none, or several begin like this.
            UnreadableSession: the file is no session.
            StoreError: our own store cannot be used.
        """
        name = name.strip()
        async with self._lock:
            found = await off_loop(lambda: self._recorded(name))
            if found is not None:
                path, name, agent = found
                session = await off_loop(self._follow(path).read)
                return await self._indexed(name, session, agent=agent or session.format, path=path)
            known, session = await self._own(name)
            return await self._indexed(known, session, agent="autocompact", path=None)

    def library(self) -> AbstractAsyncContextManager[history.Library]:
        """Our own conversations."""
        # through the package, which loads the stores only here: a client waits two seconds for the server's start
        return history.opened(self.database)

    def _recorded(self, name: str) -> tuple[Path, str, str] | None:
        """File, name and agent of the recorded session of that name; None if there is none."""
        asked = name in ("", CURRENT)
        found = self.transcripts.current() if asked else self.transcripts.find(name)
        if found is not None:
            return found.path, found.name, found.agent
        path = Path(name).expanduser().absolute()
        return (path, str(path), "") if self._files and path.is_file() else None

    def _follow(self, path: Path) -> Followed:
        followed = self._followed.setdefault(path, Followed(path))
        self._followed.move_to_end(path)
        while len(self._followed) > _MOST_KEPT:
            self._followed.popitem(last=False)
        return followed

    async def _own(self, name: str) -> tuple[str, Session]:
        """Name and messages of a conversation of our own."""
        if not is_there(self.database):
            raise self._unknown(name)
        async with self.library() as library:
            try:
                archive = await library.archive(name)
            except InvalidInput as error:
                raise InvalidInput(f"{self._unknown(name)} {error}") from error
        compactions = tuple(
            replace(record, status="active" if record.id == archive.active else "undone")
            for record in archive.compactions
        )
        session = Session(format="openai", messages=archive.messages, compactions=compactions)
        kept = self._kept.get(archive.name)
        return archive.name, kept.session if kept is not None and kept.session == session else session

    def _unknown(self, name: str) -> InvalidInput:
        near = ", ".join(map(repr, self.transcripts.near(name)))
        hint = f" There are: {near}." if near else ""
        files = "" if self._files else " A file outside of the agents' folders cannot be named here."
        return InvalidInput(f"there is no recorded session {name!r}.{hint}{files}")

    async def _indexed(self, name: str, session: Session, *, agent: str, path: Path | None) -> Opened:
        """The conversation, with what is new in the index; one whose messages changed is indexed anew."""
        # taken out first: a call that is cut off below leaves a store and an index that do not agree
        kept = self._kept.pop(name, None)
        if kept is not None and kept.session is session:
            self._kept[name] = kept
            return kept
        held = kept.session.messages if kept is not None else ()
        store, index = (kept.store, kept.index) if kept is not None else (MemoryStore(), MemoryIndex())
        if session.messages[: len(held)] != held:
            held, store, index = (), MemoryStore(), MemoryIndex()
        key, new = Key(conversation=name), session.messages[len(held) :]
        await store.append(key, new, after=len(held))
        await off_loop(lambda: index.index(key, without_echoes(new, before=held)))
        found = Opened(name=name, agent=agent, path=path, session=session, store=store, index=index)
        self._kept[name] = found
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found
