"""The conversations of one namespace of a store file."""

from __future__ import annotations

import difflib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context
from autocompact.core.messages import Message
from autocompact.core.redacted import Redactor
from autocompact.core.redaction import KnownSecrets
from autocompact.core.references import parse_reference, reference
from autocompact.core.tokens import Counter
from autocompact.core.windows import window_for
from autocompact.engine import Compactor, Conversation
from autocompact.engine.deletion import Traces, delete_conversation, find_traces
from autocompact.errors import InvalidInput, StoreUnavailable
from autocompact.history.archive import Archive, whole_archive
from autocompact.history.incoming import Incoming, read_incoming
from autocompact.history.paths import database_path
from autocompact.history.recall import RESULTS, Found, Recall
from autocompact.ports import NO_MESSAGES, ConversationInfo, ConversationStore, Index, Key, Model
from autocompact.runtime.files import make_folder
from autocompact.runtime.off_loop import off_loop
from autocompact.stores.companions import hidden_names
from autocompact.stores.memory import MemoryStore
from autocompact.stores.memory_index import MemoryIndex
from autocompact.stores.naming import StorePlace, is_there
from autocompact.stores.opening import open_store
from autocompact.wire import check_raw

_NAMES = 5

Mark: TypeAlias = Literal["summarised", "masked", "replaced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """The outcome of an import.

    Attributes:
        name: of the conversation.
        messages: those it has now.
        compactions: records it has now.
        new_messages: of these, the ones that this import brought.
        new_compactions: likewise.
    """

    name: str
    messages: int
    compactions: int
    new_messages: int
    new_compactions: int

    @property
    def is_known(self) -> bool:
        """True if everything was there already."""
        return not self.new_messages and not self.new_compactions


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Some messages of a conversation.

    Attributes:
        info: which one.
        messages: as they came in.
        marks: which messages the model does not see as they stand here, by ``seq``.
        calls: names of the tools that were called, by the call's id.
    """

    info: ConversationInfo
    messages: tuple[Message, ...]
    marks: Mapping[int, Mark]
    calls: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """An undo: the record taken back, the one that is active now (None: the whole log), tokens of the context around it."""

    name: str
    record: Compaction
    restored: Compaction | None
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactedKept:
    """A conversation that was compacted: its whole name, the compaction, and the usage of the context by the meter."""

    name: str
    record: Compaction
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A compaction that was activated again, and the tokens of the context before and after."""

    name: str
    record: Compaction
    tokens_before: int
    tokens_after: int


class Library:
    """The conversations of one namespace of a store, as a person works with them. Make it with `opened`.

    Every ``name`` is that of a conversation, or the beginning of exactly one; None is the one that was last updated.

    Args:
        store: where they are.
        index: finds messages in it.
        namespace: which ones.
        place: the store's name for people, its file.

    Attributes:
        secrets: those that the whole of a session file gives away; empty for a store, whose conversations may be long.
    """

    def __init__(self, store: ConversationStore, index: Index, *, namespace: str, place: str) -> None:
        self._store = store
        self._index = index
        self._namespace = namespace
        self._place = place
        self.secrets = KnownSecrets()

    async def conversations(self) -> tuple[ConversationInfo, ...]:
        """All conversations, the last updated first."""
        return await self._store.conversations(self._namespace)

    async def find(self, name: str | None) -> ConversationInfo:
        """The conversation called ``name``; the last updated one for None.

        Raises:
            InvalidInput: there is none, or several begin like this; the message lists what comes near.
        """
        if name is None:
            return await self._newest()
        known = {info.key.conversation: info for info in await self.conversations()}
        begun = [each for each in known if name and each.startswith(name)]
        if name in known or len(begun) == 1:
            return known.get(name) or known[begun[0]]
        if begun:
            raise InvalidInput(
                f"{name!r} begins several names: {_listed(begun)}. Give more of the one you mean."
            )
        near = difflib.get_close_matches(name, known, n=_NAMES, cutoff=0.5)
        hint = f" Near it: {_listed(near)}." if near else ""
        raise InvalidInput(
            f"there is no conversation {name!r} in {self._place!r} (namespace {self._namespace!r}).{hint} "
            f"`autocompact list` shows all {len(known):,}."
        )

    async def _newest(self) -> ConversationInfo:
        found = await self._store.conversations(self._namespace, limit=1)
        if not found:
            raise InvalidInput(
                f"there is no conversation in {self._place!r} (namespace {self._namespace!r}): "
                "`autocompact import SESSION` keeps one"
            )
        return found[0]

    async def place(self, name: str | None) -> tuple[ConversationInfo, int | None]:
        """The conversation, and the message where ``name`` is a reference such as ``notes:m12``, as searches give it.

        Raises:
            InvalidInput: see `find`.
        """
        if name is None:
            return await self._newest(), None
        before, _, last = name.rpartition(":")
        known = {info.key.conversation for info in await self.conversations()}
        # a conversation may be called like a reference
        if name in known or not before:
            return await self.find(name), None
        try:
            seq = parse_reference(last)
        except InvalidInput:
            return await self.find(name), None
        return await self.find(before), seq

    async def excerpt(
        self, name: str | None, *, from_seq: int | None = None, through_seq: int | None = None
    ) -> Excerpt:
        """Messages as they came in, whatever was compacted; by default all, or the one that ``name`` refers to.

        Raises:
            InvalidInput: see `find`; or there are no such messages.
        """
        info, seq = await self.place(name)
        first = from_seq or seq or 1
        last = through_seq or (seq if from_seq is None else None) or info.last_seq
        if not 1 <= first <= last <= info.last_seq:
            asked = reference(first) if first == last else f"{reference(first)} to {reference(last)}"
            raise InvalidInput(
                f"{info.key.conversation!r} has no messages {asked}: choose from m1 to {reference(info.last_seq)}"
            )
        # all of it: a call may stand far before the result that is shown, and an edit far behind
        log = await self._store.read(info.key)
        active = (await self._store.load(info.key, after=NO_MESSAGES)).active
        calls = {call.id: call.name for message in log for call in message.calls}
        return Excerpt(info=info, messages=log[first - 1 : last], marks=_marks(log, active), calls=calls)

    async def context(self, name: str | None, *, counter: Counter) -> tuple[ConversationInfo, Context]:
        """The conversation as the model sees it.

        Raises:
            InvalidInput: see `find`.
        """
        info = await self.find(name)
        conversation = await self._conversation(info.key, counter=counter)
        return info, conversation.context(closed=True)

    async def archive(self, name: str | None) -> Archive:
        """Read a conversation as an archive, from which nothing is missing.

        Raises:
            InvalidInput: see `find`.
        """
        return await whole_archive(self._store, (await self.find(name)).key)

    async def take_in(self, incoming: Incoming, *, name: str) -> TakenIn:
        """Store a conversation; one that is there already gets what is new, and nothing twice.

        Raises:
            InvalidInput: another conversation has that name, or a message cannot be used; nothing was stored.
            Conflict: somebody else works on the conversation.
        """
        if not name.strip():
            raise InvalidInput("a conversation needs a name: give one with --name")
        key = Key(conversation=name, namespace=self._namespace)
        # compared message by message: the same session imported again adds what is new
        held = await self._store.read(key)
        _check_same(held, incoming.messages, name=name)
        new = incoming.messages[len(held) :]
        for message in new:
            # all before the first is stored: an import is whole or nothing
            check_raw(message)
        await self._store.append(key, new, after=len(held))
        known = await self._store.compactions(key)
        records = await self._take_records(key, incoming, known=known)
        return TakenIn(
            name=name,
            messages=len(held) + len(new),
            compactions=len(known) + records,
            new_messages=len(new),
            new_compactions=records,
        )

    async def _take_records(self, key: Key, incoming: Incoming, *, known: Sequence[Compaction]) -> int:
        ids = {record.id for record in known}
        new = [record for record in incoming.compactions if record.id not in ids]
        snapshot = await self._store.load(key, after=NO_MESSAGES)
        state = incoming.state if incoming.state and not snapshot.state else None
        if not new and state is None:
            return 0
        active_now = snapshot.active.id if snapshot.active else None
        covered = snapshot.active.through_seq if snapshot.active else 0
        # a file from before our own compaction must not take it back
        comes = [record for record in new if record.id == incoming.active and record.through_seq >= covered]
        active = comes[0].id if comes else active_now
        await self._store.commit(key, records=new, active=active, expected=active_now, fence=0, state=state)
        return len(new)

    async def search(
        self, query: str, *, name: str | None = None, k: int = RESULTS, reveal: bool = False
    ) -> tuple[Found, ...]:
        """The likeliest messages, in one conversation or in all; references name the conversation.

        Args:
            query: words, names, a path, a question.
            name: the conversation, None for all.
            k: results at most.
            reveal: show secrets, which are replaced otherwise.

        Raises:
            InvalidInput: an empty query; see `find`.
        """
        wanted = (await self.find(name)).key.conversation if name is not None else ""
        key = Key(conversation=wanted, namespace=self._namespace)
        hidden = await hidden_names(self._store, self._namespace)
        recall = Recall(
            self._store, self._index, key=key, across=True, hidden=hidden, reveal=reveal, known=self.secrets
        )
        if not wanted:  # from no conversation of this namespace: each result is named in full
            return await recall.search(query, k, scope="all")
        found = await recall.search(query, k, scope="conversation")
        return tuple(replace(one, reference=f"{wanted}:{one.reference}") for one in found)

    async def compactions(
        self, name: str | None
    ) -> tuple[ConversationInfo, tuple[Compaction, ...], str | None]:
        """The conversation, every record of it, oldest first, and the id of the active one.

        Raises:
            InvalidInput: see `find`.
        """
        info = await self.find(name)
        active = (await self._store.load(info.key, after=NO_MESSAGES)).active
        return info, await self._store.compactions(info.key), active.id if active else None

    async def compact(
        self,
        name: str,
        *,
        counter: Counter,
        window: int | None = None,
        model: Model | None = None,
        focus: str = "",
    ) -> CompactedKept:
        """Compact a conversation now; `undo` takes it back.

        Args:
            name: see `find`.
            counter: counts tokens.
            window: tokens of its model's window; None goes by the model that wrote its last reply.
            model: makes the summary; None makes it offline.
            focus: what the summary should concentrate on.

        Raises:
            InvalidInput: there is nothing to compact; see `find`.
            CompactionRunning: one is being made.
            AutocompactError: it failed, and nothing has changed.
        """
        key = (await self.find(name)).key
        # its window is that of the model that it was held with
        wrote = next((each.model for each in reversed(await self._store.read(key)) if each.model), "")
        compactor = Compactor(
            self._store, counter=counter, window=window or window_for(wrote), summary_model=model
        )
        conversation = await compactor.open(key.conversation, namespace=key.namespace)
        before = conversation.usage().used
        done = await conversation.compact(focus)
        if done.error is not None:
            raise done.error
        if done.record is None:
            raise InvalidInput(f"{key.conversation!r} was not compacted: {done.message}")
        return CompactedKept(
            name=key.conversation,
            record=done.record,
            tokens_before=before,
            tokens_after=conversation.usage().used,
        )

    async def undo(self, name: str | None, *, counter: Counter) -> Undone:
        """Take the active compaction back; nothing that was said is lost.

        Raises:
            InvalidInput: nothing is compacted; see `find`.
            CompactionRunning: one is being made.
        """
        info = await self.find(name)
        conversation = await self._conversation(info.key, counter=counter)
        record, before = conversation.records.active, conversation.usage().used
        if record is None:
            raise InvalidInput(f"nothing to undo: no compaction is active in {info.key.conversation!r}")
        restored = await conversation.records.undo()
        after = conversation.usage().used
        return Undone(
            name=info.key.conversation,
            record=record,
            restored=restored,
            tokens_before=before,
            tokens_after=after,
        )

    async def restore(self, name: str | None, compaction_id: str = "", *, counter: Counter) -> Restored:
        """Activate a compaction again; without an id the one that the last undo took back.

        Raises:
            InvalidInput: there is none, it is active, or the history it covers was edited since; see `find`.
            CompactionRunning: one is being made.
        """
        info = await self.find(name)
        conversation = await self._conversation(info.key, counter=counter)
        wanted = compaction_id or await self._undone(conversation)
        if wanted == conversation.internals.replica.active_id:
            raise InvalidInput(f"compaction {wanted!r} is active already")
        before = conversation.usage().used
        record = await conversation.records.restore(wanted)
        return Restored(
            name=info.key.conversation,
            record=record,
            tokens_before=before,
            tokens_after=conversation.usage().used,
        )

    async def note(
        self, name: str | None, text: str, *, remove: bool = False, counter: Counter
    ) -> Sequence[str]:
        """Keep ``text`` verbatim in every later summary, or no longer; all texts that are kept so.

        Args:
            name: of the conversation.
            text: what to keep; "" changes nothing.
            remove: no longer keep it.
            counter: measures it.

        Raises:
            InvalidInput: it is not kept, or all together would take more than a quarter of the window; see `find`.
        """
        info = await self.find(name)
        conversation = await self._conversation(info.key, counter=counter)
        if text.strip() and remove:
            await conversation.records.unpin(text.strip())
        elif text.strip():
            await conversation.records.note(text)
        return conversation.records.notes

    async def _undone(self, conversation: Conversation) -> str:
        """The newest compaction that was made upon the active one, and taken back."""
        for record in reversed(await conversation.records.all()):
            # one made upon another compaction would bring that back as well
            if record.status == "undone" and record.parent == conversation.internals.replica.active_id:
                return record.id
        active = conversation.internals.replica.active_id
        raise InvalidInput(
            f"nothing to restore: no compaction of {conversation.internals.replica.key.conversation!r} was undone"
            f"{' since the active one was made' if active else ''}. "
            "`autocompact compactions NAME` lists them all."
        )

    async def traces(self, name: str, *, folders: Sequence[Path] = ()) -> Traces:
        """Find what `delete` would remove.

        Args:
            name: the whole name. A conversation that is gone may still have entries in a memory folder.
            folders: memory folders to look into, besides those that it was archived in.

        Raises:
            InvalidInput: see `find`; only a whole name will do. Or an archive names it in lines that are no entry.
            StoreError: an archive cannot be used.
        """
        key = Key(conversation=name, namespace=self._namespace)
        found = await find_traces(self._store, key, folders=folders)
        # gone from the store, but maybe not from a memory folder: then it can still be deleted by its whole name
        if not found.exists:
            info = await self.find(name)
            if info.key.conversation != name:
                raise InvalidInput(f"give the whole name to delete it: {info.key.conversation!r}")
        return found

    async def delete(self, name: str, *, folders: Sequence[Path] = ()) -> Traces:
        """Remove a conversation with all that was kept of it, archives included, and what was removed.

        Raises:
            InvalidInput: as `traces`; nothing was deleted.
            MemoryInUse: another process is at the memory folder for long.
            StoreError: the store or an archive cannot be used; delete it again.
        """
        found = await self.traces(name, folders=folders)
        await delete_conversation(self._store, found.key, folders=folders)
        return found

    async def purge(self) -> None:
        """Clear the file of what deleted conversations left in unused places of it.

        Raises:
            StoreUnavailable: another program reads or writes without a pause; traces may be left.
        """
        await self._store.purge()

    async def _conversation(self, key: Key, *, counter: Counter) -> Conversation:
        compactor = Compactor(self._store, counter=counter)
        return await compactor.open(key.conversation, namespace=key.namespace)


@asynccontextmanager
async def opened(
    place: StorePlace | None = None, *, namespace: str = "default", make: bool = False
) -> AsyncGenerator[Library]:
    """The library of a store.

    Args:
        place: the file, or the database on a server; None is `database_path`.
        namespace: which conversations.
        make: make the file if there is none (and its folder, where ``place`` is None).

    Raises:
        InvalidInput: there is no file.
        StoreError: it cannot be used.
    """
    wanted = place or database_path()
    try:
        if place is None and make:
            make_folder(database_path().parent)
        there = is_there(wanted)
    except OSError as error:
        raise StoreUnavailable(f"{str(wanted)!r} cannot be reached: {error.strerror or error}") from error
    if not there and not make:
        raise InvalidInput(
            f"there is no conversation store {str(wanted)!r}: `autocompact import SESSION` makes one, "
            "--db names another"
        )
    async with open_store(wanted) as store:
        yield Library(store, store.index, namespace=namespace, place=str(wanted))


async def session_library(path: Path, *, namespace: str = "default") -> Library:
    """A library in memory of one recorded session, a conversation called as its path.

    Raises:
        UnreadableSession: the file is no session.
        InvalidInput: it has a message that cannot be used.
    """
    incoming = await off_loop(lambda: read_incoming(path))
    index = MemoryIndex()
    library = Library(MemoryStore(indexer=index), index, namespace=namespace, place=str(path))
    await library.take_in(incoming, name=str(path))
    await off_loop(lambda: Redactor(library.secrets).learn(incoming.messages))
    return library


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(map(repr, names[:_NAMES])) + more


def _check_same(held: Sequence[Message], coming: Sequence[Message], *, name: str) -> None:
    """Check that one of the two continues the other."""
    # the longer one goes on where the other ends: what is new on either side is no difference
    for old, new in zip(held, coming, strict=False):
        if old != new:
            raise InvalidInput(
                f"{name!r} is another conversation: they differ from message {reference(new.seq)} on. "
                "Choose another name with --name."
            )


def _marks(log: Sequence[Message], active: Compaction | None) -> dict[int, Mark]:
    """Mark what became of each message; those that the model sees unchanged have no mark."""
    marks: dict[int, Mark] = {}
    if active is not None:
        kept = {*active.keep, *active.standing_whole, *(message.seq for message in _prompt(log))}
        marks |= {seq: "summarised" for seq in range(1, active.through_seq + 1) if seq not in kept}
        marks |= {mask.seq: "masked" for mask in active.masks if mask.seq not in marks}
    # last: what an edit replaced is told as that, whether it was folded or not
    for message in log:
        if message.replaces is not None:
            marks |= dict.fromkeys(range(message.replaces, message.seq), "replaced")
    return marks


def _prompt(log: Sequence[Message]) -> Sequence[Message]:
    """The system messages that the log begins with."""
    end = next((index for index, message in enumerate(log) if message.role != "system"), len(log))
    return log[:end]
