"""A conversation in use: the operations of a page, a terminal or a notebook, and the events that they listen to.

There is one session per conversation and process, however many tabs show it. Call all methods from one event loop. To
follow a session without a gap, call `ChatSession.listen`, then `ChatSession.view`, with no ``await`` between them.

The session owns the state: title, listeners, the running turn, and the `SessionContext` that its parts are handed. The
parts emit events; `ChatSession` applies them to its state and passes them on to the listeners.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Self, TypeAlias

from msgspec.structs import replace

from autocompact.chat import events
from autocompact.chat.attachments import Attachment
from autocompact.chat.edits import Edits
from autocompact.chat.engine import Engine
from autocompact.chat.history import history_page, usage_points
from autocompact.chat.metering import read_meter
from autocompact.chat.naming import suggested_title
from autocompact.chat.notes import Chosen, Metered, Notes
from autocompact.chat.pending_requests import PendingRequests
from autocompact.chat.request_prefix import RequestPrefix
from autocompact.chat.responder import Responder
from autocompact.chat.rules import rules_of
from autocompact.chat.session_context import ServiceContext, SessionContext
from autocompact.chat.session_log import SessionLog
from autocompact.chat.task_list import TaskList
from autocompact.chat.tools import Toolbox
from autocompact.chat.tools.memory import memory_tools
from autocompact.chat.turn_runner import TurnRunner
from autocompact.chat.views import (
    ConversationRule,
    Entry,
    HistoryPage,
    MeterReading,
    PendingRequest,
    SessionView,
    Task,
    UsagePoint,
    Version,
)
from autocompact.compaction.record import Compaction
from autocompact.core.messages import Document, Image, Message, Text, text_message
from autocompact.engine import CompactionResult, Conversation
from autocompact.engine.records import Comparison
from autocompact.errors import AutocompactError, InvalidInput, log_data
from autocompact.events import CompactionCompleted, CompactionStarted, Event
from autocompact.history.recall import RESULTS, Expansion, Found, Recall, Scope
from autocompact.ports import Key
from autocompact.runtime.off_loop import off_loop
from autocompact.stores.companions import hidden_names, notes_key
from autocompact.stores.rules import title_of

Listener: TypeAlias = Callable[[events.ChatEvent], None]

PAGE = 50
"""Messages of a page of the history."""

UNTITLED = "New conversation"

log = logging.getLogger("autocompact")


class ChatSession:
    """A conversation in use. Get it from `ChatService.open` or `ChatService.create`.

    Attributes:
        id: of the conversation.
        key: likewise, with its namespace.
        title: of the conversation; `ChatService.rename` sets it.
        notes: what is kept beside the log.
        recall: searches what was said and the memory files.

    Args:
        shared: what all sessions of the service share.
        conversation: the conversation, opened by ``engine``.
        engine: of the model that answers.
        notes: as above.
        title: "" takes the first words of the first request.
        named: it is not only its first words, so the model is asked for none.
        hidden: conversations that a search leaves out.
        on_used: called when somebody uses the session.
        on_change: takes the events that concern the list of conversations.
        on_named: stores the title that the model gave.
    """

    def __init__(
        self,
        shared: ServiceContext,
        conversation: Conversation,
        *,
        engine: Engine,
        notes: Notes,
        title: str,
        named: bool,
        hidden: frozenset[str],
        on_used: Callable[[ChatSession], None],
        on_change: Callable[[events.ConversationChanged], None],
        on_named: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self.key = conversation.internals.replica.key
        self.id = conversation.internals.replica.key.conversation
        self.title, self._has_title = title or UNTITLED, bool(title)
        self.notes = notes
        self.recall = Recall(
            shared.store,
            shared.index,
            key=self.key,
            documents=lambda: self._shared.toolkit.documents(),
            across=True,
            hidden=hidden,
            compaction=lambda: self.conversation.records.active,
            known=conversation.internals.replica.transcript.secrets,
        )
        self._shared = shared
        self._next: ServiceContext | None = None
        self._on_used, self._on_change, self._on_named = on_used, on_change, on_named
        self._named = named
        self._shown = self._before = 0  # tokens: of the last reading, and of that before a compaction
        self._background = _Background()
        self._listeners: list[Listener] = []
        self._compacting = False
        self._runner = TurnRunner()
        self._log = SessionLog(conversation, notes=notes, clock=shared.clock, emit=self._apply)
        self._pending = PendingRequests(self.id, notes=notes, emit=self._apply)
        self._tasks = TaskList(self.id, notes=notes, emit=self._apply)
        self._prefix = self._made_prefix(conversation)
        self._use(conversation, engine)
        self._prefix.refresh(conversation)

    @classmethod
    async def load(
        cls,
        shared: ServiceContext,
        key: Key,
        *,
        title: str,
        named: bool,
        on_used: Callable[[ChatSession], None],
        on_change: Callable[[events.ConversationChanged], None],
        on_named: Callable[[str, str], Awaitable[None]],
    ) -> Self:
        """The session of a stored or new conversation; an unfinished turn of a dead program is recovered.

        Raises:
            InvalidInput: the default model cannot be used.
            StoreError: the conversation cannot be read.
        """
        notes = await Notes.load(shared.store, notes_key(key))
        # a model that cannot be used any more (its key is gone) must not keep the conversation from being read
        engine = shared.engines.get_or_offline(notes.model)
        session = cls(
            shared,
            await engine.open(key.conversation),
            engine=engine,
            notes=notes,
            title=title,
            named=named,
            hidden=await hidden_names(shared.store, key.namespace),
            on_used=on_used,
            on_change=on_change,
            on_named=on_named,
        )
        # before anybody sees the session: the half answer of a dead program becomes part of the log
        await session._runner.recover(session._context)
        return session

    def _made_prefix(self, conversation: Conversation) -> RequestPrefix:
        toolkit = self._shared.toolkit
        # the example writes nothing outside itself: its engine has no memory folder
        own_tools = toolkit.tools(memory_folder=conversation.internals.replica.shared.memory_folder)
        return RequestPrefix(toolkit, (*memory_tools(self.recall, self._tasks), *own_tools))

    def _use(self, conversation: Conversation, engine: Engine) -> None:
        """Hand this conversation and model to the parts from now on."""
        self._log.conversation = conversation
        self._edits = Edits(conversation)
        self._context = SessionContext(
            key=self.key,
            conversation=conversation,
            model=engine.choice,
            responder=engine.responder,
            steps=self._shared.config.steps,
            store=self._shared.store,
            clock=self._shared.clock,
            holder=self._shared.holder,
            log=self._log,
            notes=self.notes,
            pending=self._pending,
            prefix=self._prefix,
            recall=self.recall,
            emit=self._apply,
        )

    # Configuration

    @property
    def shared(self) -> ServiceContext:
        """What the sessions of the service share, as this one uses it."""
        return self._shared

    async def reconfigure(self, shared: ServiceContext) -> None:
        """Go on with another configuration: at once, or with the next turn if one is running.

        Raises:
            InvalidInput: its default model cannot be used.
        """
        self._next = shared
        await self._adopt()

    async def _adopt(self) -> None:
        """Use the configuration that waits, if there is one and nothing runs."""
        if self._next is None or self.running or self._compacting:
            return
        shared = self._next
        engine = shared.engines.get_or_offline(self.notes.model)
        # a preparation belongs to the engine that began it
        await self.conversation.internals.background.wait_idle()
        conversation = await engine.open(self.id)
        # something began meanwhile, or another call was faster; where opening fails, the next turn tries again
        if self.running or self._compacting or self._next is not shared:
            return
        self._shared, self._next = shared, None
        self._prefix = self._made_prefix(conversation)
        self._use(conversation, engine)
        self._prefix.refresh(conversation)
        self._notify(
            events.ConversationChanged(conversation_id=self.id, title=self.title, model=engine.choice.name)
        )
        self._apply(events.ContextChanged())

    # State

    @property
    def conversation(self) -> Conversation:
        """The engine's conversation, for what this class does not offer. Another model comes with another one."""
        return self._context.conversation

    @property
    def model(self) -> str:
        """The model that answers, as `ModelChoice.name`."""
        return self._context.model.name

    @property
    def responder(self) -> Responder:
        """Sends the requests of turns to the model."""
        return self._context.responder

    @property
    def system(self) -> str:
        """System prompt of the next request."""
        return self._prefix.system

    @property
    def toolbox(self) -> Toolbox:
        """Tools of the next request."""
        return self._prefix.toolbox

    @property
    def running(self) -> bool:
        """True while a turn runs."""
        return self._runner.turn is not None

    @property
    def in_use(self) -> bool:
        """True while a turn runs, a compaction is prepared or somebody listens: the session stays in memory."""
        return self.running or bool(self._listeners) or self.conversation.internals.background.running

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The agent's task list."""
        return self._tasks.tasks

    @property
    def pending(self) -> tuple[PendingRequest, ...]:
        """Requests that wait for the end of the running turn, the next one first."""
        return self._pending.requests

    def view(self) -> SessionView:
        """Everything to show now, except the history."""
        return SessionView(
            id=self.id,
            title=self.title,
            model=self.model,
            last_seq=len(self.conversation),
            turn=self._runner.turn.view() if self._runner.turn else None,
            compacting=self._compacting,
            meter=self.meter(),
            tasks=self.tasks,
            pending=self.pending,
        )

    def meter(self) -> MeterReading:
        """The size of the context and of its parts. Compactions start by the same figure."""
        reading = read_meter(self.conversation, system=self.system)
        self._shown = reading.used
        return reading

    # Events

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every event from now on; returns the function that ends that.

        It is called in the event loop, in the order of the events, and must not block. An exception of it is logged,
        and reaches nobody else.
        """
        self._listeners.append(listener)
        # a session with a listener is not evicted
        self._on_used(self)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)
                self._on_used(self)

        return stop

    def relay(self, event: Event) -> None:
        """Pass on an event of the engine about this conversation."""
        self._apply(event)
        self._apply(events.ContextChanged())

    def set_title(self, title: str) -> None:
        """Set the title that is shown; `ChatService.rename` stores one."""
        self._named = True
        self._show_title(title)

    def _show_title(self, title: str) -> None:
        self.title, self._has_title = title, True
        changed = events.ConversationChanged(conversation_id=self.id, title=title, model=self.model)
        self._notify(changed)
        self._on_change(changed)

    def emit_deleted(self) -> None:
        """Tell the listeners that the conversation was deleted."""
        self._notify(events.ConversationChanged(conversation_id=self.id, deleted=True))

    def _apply(self, event: events.SessionEvent) -> None:
        """Apply an event of a part to the state, and pass it on."""
        match event:
            case events.ContextChanged():
                if self._listeners:
                    # nobody looks, so nothing is measured
                    self._notify(events.MeterChanged(conversation_id=self.id, meter=self.meter()))
                return
            case events.RunningChanged():
                self._on_change(events.ConversationChanged(conversation_id=self.id))
                return
            case CompactionStarted():
                self._compacting = True
                # what the person saw last: measured anew, it may differ from the figure on the screen
                self._before = self._shown or self.meter().used
            case CompactionCompleted():
                self._compacting = False
                self._measure()
            case _:
                pass
        self._notify(event)
        self._entitle(event)

    def _measure(self) -> None:
        """Keep what the meter showed before and after a compaction: the receipt counts by itself, all compactions alike."""
        active = self.conversation.records.active
        if active is None or active.id in self.notes.metered:
            return  # it failed
        before, after = self._before, self.meter().used
        self.notes.metered[active.id] = (before, after)  # shown at once
        note = Metered(compaction=active.id, before=before, after=after)
        self._background.start(self.notes.add(note))

    def _entitle(self, event: events.SessionEvent) -> None:
        """Take a title from the first request, and ask the model for one after the first answer."""
        if isinstance(event, events.MessageAdded) and not self._has_title:
            message = event.entry.message
            if message.is_request:
                self._show_title(title_of([message]))
        if isinstance(event, events.TurnEnded) and event.outcome == "finished":
            self._name()

    def _name(self) -> None:
        """Ask the model for a title, once, unless the conversation has one."""
        if self._named or not self._shared.config.titles or self._context.model.is_offline:
            return
        self._named = True
        self._background.start(self._suggest_title())

    async def _suggest_title(self) -> None:
        before = self.title
        title = await suggested_title(self._context)
        if title and self.title == before:  # else the person gave one meanwhile
            await self._on_named(self.id, title)

    def _notify(self, event: events.ChatEvent) -> None:
        # a copy: a listener may end itself while it is called
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed", extra={"event": type(event).__name__})

    # History

    def entry(self, message: Message) -> Entry:
        """A message with what the notes and the active compaction say about it."""
        return self._log.entry(message)

    async def history(
        self,
        *,
        before_seq: int | None = None,
        limit: int = PAGE,
        replaced: bool = False,
        through: int = 0,
    ) -> HistoryPage:
        """A page of the whole log, regardless of compactions.

        Args:
            before_seq: the messages before this one; None for the last ones.
            limit: messages at most; calls are not separated from their results, so there may be a few more.
            replaced: include messages that an edit replaced.
            through: show the conversation as it was when its log had this many messages (`Version.through`); 0 for now.
        """
        return await history_page(
            self._log, self._edits, before_seq=before_seq, limit=limit, replaced=replaced, through=through
        )

    async def version_with(self, seq: int) -> Version:
        """The version of the conversation that has message ``seq``: the present one, unless it was replaced."""
        await self._edits.load_back_to(seq + 1)
        return Version(seq=seq, through=self._edits.through(seq))

    async def usage_over_time(self) -> tuple[UsagePoint, ...]:
        """The usage that the provider reported for each answer, oldest first."""
        return usage_points(await self.conversation.history())

    async def search(
        self, query: str, *, k: int = RESULTS, scope: Scope = "conversation"
    ) -> tuple[Found, ...]:
        """The best search results in this conversation (or in all) and the memory files."""
        return await self.recall.search(query, k, scope=scope)

    async def expand(self, reference: str, *, around: int = 0, offset: int = 0) -> Expansion:
        """The original text behind a reference such as ``m12``."""
        return await self.recall.expand(reference, around=around, offset=offset)

    # Turns

    async def send(self, text: str, *, attachments: Sequence[Attachment] = ()) -> Message:
        """Send a request; the agent answers in the background. Returns the request as stored.

        Args:
            text: of the request; "" if files are attached.
            attachments: images and documents, see `autocompact.chat.attachments`.

        Raises:
            InvalidInput: it is empty, or a turn is running: use `send_later` then.
            StoreError: it could not be stored.
        """
        return await self._start(_request(text, attachments))

    async def send_later(self, text: str, *, attachments: Sequence[Attachment] = ()) -> PendingRequest | None:
        """Send a request as soon as no turn runs; returns None if it was sent at once.

        Args:
            text: of the request; "" if files are attached.
            attachments: as for `send`; a request with them cannot wait.

        Raises:
            InvalidInput: it is empty, it has attachments and a turn is running, or another program answers here.
            StoreError: it could not be stored.
        """
        request = _request(text, attachments)
        # order of the requests: what came first is answered first
        if not self.running and not self.pending:
            await self._start(request)
            return None
        if attachments:
            raise InvalidInput("files can be sent once the answer has ended: wait for it, or stop it")
        pending = await self._pending.add(text)
        if not self.running:  # the turn ended while it was stored
            await self.send_pending()
        return pending

    async def send_pending(self) -> None:
        """Send the next pending request now. Does nothing without one.

        Raises:
            InvalidInput: a turn is running, here or in another program.
            StoreError: it could not be stored.
        """
        if self.pending:
            request = self.pending[0]
            await self._start(text_message(0, "user", request.text), pending_id=request.id)

    async def withdraw(self, pending_id: str) -> str:
        """Remove a pending request; returns its text.

        Raises:
            InvalidInput: it is not pending any more.
            StoreError: that could not be stored.
        """
        return await self._pending.withdraw(pending_id)

    async def edit(self, seq: int, text: str, *, attachments: Sequence[Attachment] = ()) -> Message:
        """Send ``text`` in place of the request ``seq``: messages from there on are kept, but no longer sent.

        What was attached to the request stays attached.

        Args:
            seq: of the request.
            text: in its place.
            attachments: further ones.

        Raises:
            InvalidInput: ``seq`` is no request of the person or was replaced already, the text is empty, or a turn is
                running.
        """
        asked = await self._checked_request(seq)
        # the text is what was edited; pictures and files of the request are not typed anew
        kept = [part for part in asked.parts if isinstance(part, Image | Document)]
        return await self._start(_request(text, (*kept, *attachments)), replaces=seq)

    async def retry(self) -> None:
        """Answer the last request again: a failed or cancelled turn is continued, an answer is replaced.

        Raises:
            InvalidInput: there is no request yet, or a turn is running.
        """
        history = await self.conversation.history(from_seq=max(1, len(self.conversation)))
        last = history[-1] if history else None
        # nothing was answered: the turn goes on, and nothing is replaced
        if last is not None and (last.role == "tool" or last.is_request):
            await self._start(None)
            return
        request = self.conversation.internals.replica.state.request
        if not request:
            raise InvalidInput("there is nothing to answer yet: send a message first")
        (asked,) = await self.conversation.history(from_seq=request, through_seq=request)
        # the same words once more; replacing them takes the old answer out of the context
        again = replace(asked, seq=0, usage=None, time="")
        await self._start(again, replaces=request)

    async def resume(self, through: int) -> None:
        """Go on from an earlier version: its messages are appended once more, in place of what replaced them.

        Args:
            through: number of messages that the log had with it (`Version.through`); 0 does nothing.

        Raises:
            InvalidInput: a turn is running.
            Conflict: another program appended meanwhile.
            StoreError: it could not be stored.
        """
        if not through:
            return
        self._check_idle("go on from an earlier version")
        await self._edits.load_back_to(through + 1)
        first = self._edits.first_replaced_after(through)
        if not first:
            return
        messages = await self.conversation.history(from_seq=first, through_seq=through)
        await self._edits.load_back_to(first)
        version = [each for each in messages if not self._edits.is_replaced(each.seq, through=through)]
        await self._log.resume(version, replaces=self._edits.newest(first))

    async def _start(
        self, request: Message | None, *, replaces: int | None = None, pending_id: str = ""
    ) -> Message:
        await self._adopt()
        begun = self._runner.start(self._context, request, replaces=replaces, pending_id=pending_id)
        self._on_used(self)  # after the start: an idle session may be evicted
        # whoever is cancelled while waiting does not take the turn with it
        return await asyncio.shield(begun)

    async def _checked_request(self, seq: int) -> Message:
        found = await self.conversation.history(from_seq=seq, through_seq=seq) if seq >= 1 else ()
        if not found or not found[0].is_request:
            raise InvalidInput(f"message {seq} is not one of your requests: only those can be edited")
        await self._edits.load_back_to(seq + 1)
        if seq in self._edits:
            raise InvalidInput(f"message {seq} was replaced by a later one: edit that")
        return found[0]

    async def cancel(self) -> None:
        """Stop the running turn, and wait until it has ended; half an answer is kept. Does nothing without a turn."""
        await self._runner.cancel("cancelled")

    async def wait(self) -> events.TurnEnded | None:
        """Wait for the running turn; returns how it or the last one ended, None if there was none."""
        return await self._runner.wait()

    def answer(self, question_id: str, *, allow: bool, remember: bool = False) -> None:
        """Answer a `Question` of the agent; ``remember`` lets the answer stand in this workspace, where one is offered.

        Raises:
            InvalidInput: it is not open any more.
        """
        if self._runner.turn is None:
            raise InvalidInput("this question is closed: it was answered, or its turn ended")
        self._runner.turn.answer(question_id, allow=allow, remember=remember)

    async def choose_model(self, name: str) -> None:
        """Answer with another model from the next turn on.

        Raises:
            InvalidInput: there is no such model, its key is missing, or a turn is running.
        """
        self._check_idle("change the model")
        engine = self._shared.engines.get(name)
        await self.conversation.internals.background.wait_idle()
        # a preparation belongs to the engine that began it
        conversation = await engine.open(self.id)
        self._check_idle(
            "change the model"
        )  # a turn may have begun meanwhile; it keeps the model it began with
        self._use(conversation, engine)
        # after it is in use: a note that cannot be stored does not keep the model from answering
        await self.notes.add(Chosen(model=engine.choice.name))
        self._prefix.refresh(conversation)
        self._notify(
            events.ConversationChanged(conversation_id=self.id, title=self.title, model=engine.choice.name)
        )
        self._apply(events.ContextChanged())

    def _check_idle(self, aim: str) -> None:
        if self.running:
            raise InvalidInput(f"a turn is running: wait until it ends, or cancel it, before you {aim}")

    # Compactions

    async def prepare_request(self) -> None:
        """Bring system prompt and tools up to date, as before each request.

        Raises:
            InvalidInput: the configuration of the MCP servers cannot be used.
        """
        await self._prefix.load(self.conversation)

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compact now.

        Raises:
            CompactionRunning: one is already running.
        """
        await self.prepare_request()
        result = await self.conversation.compact(focus)
        self._apply(events.ContextChanged())
        return result

    async def preview(self, focus: str = "") -> Compaction | None:
        """The compaction that `compact` would make; nothing changes. None if it would not shrink the context."""
        await self.prepare_request()
        return await self.conversation.records.preview(focus)

    async def rules(self) -> tuple[ConversationRule, ...]:
        """The rules of the conversation: written by the person, pinned, and found in their words. Reads the whole log."""
        log = await self.conversation.history()
        await self._edits.load_back_to(1)
        said = [each for each in log if each.is_request and each.seq not in self._edits]
        records = self.conversation.records
        pinned, notes = [log[seq - 1] for seq in records.pins], records.notes
        return await off_loop(lambda: rules_of(said, pinned=pinned, notes=notes))

    async def apply(self, record: Compaction, *, summary: str | None = None) -> Compaction:
        """Activate a previewed compaction, with another summary if one is given."""
        records = self.conversation.records
        edited = record if summary is None else records.edited(record, summary)
        return await records.apply(edited)

    async def undo(self) -> Compaction | None:
        """Undo the active compaction; returns the one that is active then. Later messages stay.

        Raises:
            InvalidInput: nothing is compacted.
        """
        return await self.conversation.records.undo()

    async def restore(self, compaction_id: str) -> Compaction:
        """Activate an earlier or undone compaction again."""
        record = await self.conversation.records.restore(compaction_id)
        self._apply(events.ContextChanged())
        return record

    async def compactions(self) -> tuple[Compaction, ...]:
        """All compactions with their receipts, oldest first, undone ones included."""
        return await self.conversation.records.all()

    async def compare(self, first_id: str, second_id: str) -> Comparison:
        """The differences between two compactions."""
        return await self.conversation.records.compare(first_id, second_id)

    async def pin(self, pinned: int | str) -> None:
        """Keep a message (by ``seq``) or a text through every compaction.

        Raises:
            InvalidInput: there is no such message, or too much is pinned.
        """
        records = self.conversation.records
        await (records.pin(pinned) if isinstance(pinned, int) else records.note(pinned))
        self._prefix.refresh(self.conversation)
        self._apply(events.ContextChanged())

    async def unpin(self, pinned: int | str) -> None:
        """Remove a pin.

        Raises:
            InvalidInput: it is not pinned.
        """
        await self.conversation.records.unpin(pinned)
        self._prefix.refresh(self.conversation)
        self._apply(events.ContextChanged())

    # Life

    async def catch_up(self) -> bool:
        """Follow other programs: their messages, and the turn of one that died. Costs O(new).

        Returns:
            False if one of them deleted the conversation.
        """
        if self.running:
            return True  # the turn appends after whatever there is
        followed = await self._log.follow()
        if not followed.deleted:
            await self._runner.recover(self._context, changed=followed.changed)
        return not followed.deleted

    async def aclose(self) -> None:
        """End a running turn, whose half answer is marked as interrupted, and refuse new ones."""
        self._runner.closed = True
        self._background.cancel()
        # first: no new turn may begin while this one ends
        await self._runner.cancel("interrupted")
        await self.conversation.internals.background.wait_idle()

    def reopen(self) -> None:
        """Allow turns again after `aclose`: the conversation could not be deleted."""
        self._runner.closed = False


class _Background:
    """Small work that nobody waits for; what it cannot do is logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(self._done(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _done(self, work: Coroutine[object, object, None]) -> None:
        try:
            await work
        except AutocompactError as error:
            log.info("something beside a conversation was not done", extra=log_data(error))

    def cancel(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()


def _request(text: str, attachments: Sequence[Attachment] = ()) -> Message:
    if not text.strip() and not attachments:
        raise InvalidInput("an empty message cannot be sent: write something")
    words = (Text(text=text),) if text.strip() else ()
    return Message(seq=0, role="user", parts=(*attachments, *words))
