"""One conversation in use: what a page, a terminal or a notebook does with it, and what it hears of it.

There is one session per conversation and process, however many tabs show it. All methods are to be called from one
event loop. To follow it without a gap: `ChatSession.listen`, then `ChatSession.view`, with no ``await`` between them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from autocompact.chat import commands, events
from autocompact.chat.edits import Edits
from autocompact.chat.history import history_page, usage_points
from autocompact.chat.metering import read_meter
from autocompact.chat.notes import Chosen, Note, Notes, Tasked, TaskItem
from autocompact.chat.running import Running, recover_dead
from autocompact.chat.tools import Toolbox
from autocompact.chat.views import (
    Entry,
    HistoryPage,
    MeterReading,
    SessionView,
    Task,
    UsagePoint,
    WaitingRequest,
)
from autocompact.chat.waiting import Waiting
from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message, text_message
from autocompact.engine import CompactionResult
from autocompact.engine.records import Comparison
from autocompact.errors import InvalidInput
from autocompact.events import CompactionCompleted, CompactionStarted, Event
from autocompact.recall import RESULTS, Expansion, Found, Recall, Scope
from autocompact.stores.rules import title_of

if TYPE_CHECKING:
    from autocompact.chat.engine import Engine
    from autocompact.chat.responder import Responder
    from autocompact.chat.service import ChatService
    from autocompact.engine import Conversation

Listener: TypeAlias = Callable[[events.ChatEvent], None]

PAGE = 50
"""Messages of a page of the history."""

UNTITLED = "New conversation"

log = logging.getLogger("autocompact")


class ChatSession:
    """A conversation in use. Get it from `ChatService.open` or `ChatService.create`.

    Attributes:
        id: of the conversation.
        service: where it comes from.
        conversation: the engine's conversation, for what this class does not offer.
        title: of it.
        edits: which messages an edit replaced.
        waiting: what was said while a turn ran, and is sent when that has ended.
        is_another_at_work: another program may answer here, or have left half an answer.
        recovering: held while what another program left is taken over.
    """

    def __init__(
        self,
        service: ChatService,
        conversation: Conversation,
        *,
        engine: Engine,
        notes: Notes,
        title: str,
        hidden: frozenset[str] = frozenset(),
    ) -> None:
        self.id = conversation.key.conversation
        self.service = service
        self.conversation = conversation
        self.engine = engine
        self.notes = notes
        self.key, self.store, self.clock, self.config = (
            conversation.key,
            service.store,
            service.clock,
            service.config,
        )
        self.recall = Recall(
            service.store,
            service.index,
            key=self.key,
            documents=service.memory_documents,
            across=True,
            hidden=hidden,
            compaction=lambda: self.conversation.active,
        )
        self.toolbox = Toolbox(service.own_tools(self))
        self._served = False
        self.system = ""
        self.title, self.titled = title or UNTITLED, bool(title)
        self.edits = Edits(self)
        self.waiting = Waiting(self)
        self.is_another_at_work = False
        self.recovering = asyncio.Lock()
        self._told = len(conversation)
        self._adding = asyncio.Lock()
        self._compacting = False
        self._listeners: list[Listener] = []
        self._running = Running(self)
        self._carry()

    # Looking

    @property
    def model(self) -> str:
        """The model that answers, as `ModelChoice.name`."""
        return self.engine.choice.name

    @property
    def responder(self) -> Responder:
        """What answers."""
        return self.engine.responder

    @property
    def running(self) -> bool:
        """Whether a turn is running."""
        return self._running.turn is not None

    @property
    def in_use(self) -> bool:
        """Whether something goes on in it, or somebody listens: such a session stays in memory."""
        return self.running or bool(self._listeners) or self.conversation.background.running

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The agent's task list."""
        return self.notes.tasks

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every event from now on; returns the function that ends that.

        It is called in the event loop, in the order of the events, and must not wait. One that fails is logged and
        harms nobody.
        """
        self._listeners.append(listener)
        self.service.sessions.used(self)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)
                self.service.sessions.used(self)

        return stop

    def tell(self, event: events.ChatEvent) -> None:
        """Call every listener; what is shown of compactions follows."""
        match event:
            case CompactionStarted():
                self._compacting = True
            case CompactionCompleted():
                self._compacting = False
            case _:
                pass
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener failed", extra={"event": type(event).__name__})

    def hear(self, event: Event) -> None:
        """Pass on what the engine tells of this conversation."""
        self.tell(event)
        self.tell_meter()

    def tell_meter(self) -> None:
        """Tell how full the context is now."""
        if self._listeners:
            self.tell(events.MeterChanged(conversation_id=self.id, meter=self.meter()))

    def view(self) -> SessionView:
        """What there is to show now, besides the history."""
        return SessionView(
            id=self.id,
            title=self.title,
            model=self.model,
            last_seq=len(self.conversation),
            turn=self._running.turn.view() if self._running.turn else None,
            compacting=self._compacting,
            meter=self.meter(),
            tasks=self.tasks,
            waiting=self.waiting.requests,
        )

    def meter(self) -> MeterReading:
        """How full the context is, and with what. The figure by which compactions start."""
        return read_meter(self.conversation, system=self.system)

    async def history(
        self, *, before_seq: int | None = None, limit: int = PAGE, replaced: bool = False
    ) -> HistoryPage:
        """A page of the whole log, whatever was compacted.

        Args:
            before_seq: the messages before this one; None for the last ones.
            limit: messages at most; answered calls are not parted from their results, so there may be a few more.
            replaced: show messages too that an edit replaced.
        """
        return await history_page(self, before_seq=before_seq, limit=limit, replaced=replaced)

    def entry(self, message: Message) -> Entry:
        """A message with what the notes and the compaction in force say about it."""
        conversation, active = self.conversation, self.conversation.active
        seq = message.seq
        masked = active is not None and any(mask.seq == seq for mask in active.masks)
        shown = conversation.shows(seq)
        return Entry(
            message=message,
            standing=("masked" if masked else "sent") if shown else "summarised",
            cut=self.notes.cuts.get(seq, ""),
            seconds=self.notes.seconds.get(seq),
            pinned=seq in conversation.state.pins,
            failure=self.notes.failures.get(seq, ""),
        )

    async def usage_over_time(self) -> tuple[UsagePoint, ...]:
        """What the provider reported for each answer, oldest first."""
        return usage_points(await self.conversation.history())

    # Talking

    async def send(self, text: str) -> Message:
        """Say something; the agent answers in the background. Returns the message as it stands in the log.

        Raises:
            InvalidInput: it is empty, or a turn is running: `waiting` takes what is to be said after it.
            StoreError: it could not be stored.
        """
        if not text.strip():
            raise InvalidInput("there is nothing to send in an empty message")
        return await self._running.start(text_message(0, "user", text))

    async def send_waiting(self, request: WaitingRequest) -> Message:
        """Say what waited; otherwise as `send`."""
        return await self._running.start(text_message(0, "user", request.text), waiting=request.id)

    async def edit(self, seq: int, text: str) -> Message:
        """Say something else in place of the request ``seq``: what came from there on is kept, but not sent any more.

        Raises:
            InvalidInput: it is no request of the person, was replaced already, is empty, or a turn is running.
        """
        if not text.strip():
            raise InvalidInput("there is nothing to send in an empty message")
        await self._check_request(seq)
        return await self._running.start(text_message(0, "user", text), replaces=seq)

    async def retry(self) -> None:
        """Answer the last request once more: a failed or cancelled turn goes on, an answer is replaced by another one.

        Raises:
            InvalidInput: nothing was asked yet, or a turn is running.
        """
        history = await self.conversation.history(from_seq=max(1, len(self.conversation)))
        last = history[-1] if history else None
        if last is not None and (last.role == "tool" or last.is_request):
            await self._running.start(None)
            return
        request = self.conversation.state.request
        if not request:
            raise InvalidInput("there is nothing to answer yet: say something first")
        (asked,) = await self.conversation.history(from_seq=request, through_seq=request)
        again = replace(asked, seq=0, usage=None, time="")
        await self._running.start(again, replaces=request)

    async def _check_request(self, seq: int) -> None:
        found = await self.conversation.history(from_seq=seq, through_seq=seq) if seq >= 1 else ()
        if not found or not found[0].is_request:
            raise InvalidInput(f"message {seq} is no request of yours: only those can be edited")
        await self.edits.reach(seq + 1)
        if seq in self.edits:
            raise InvalidInput(f"message {seq} was replaced by a later one: edit that")

    async def cancel(self) -> None:
        """Stop the running turn; returns when it has ended. Half an answer stays, marked. Nothing happens without one."""
        await self._running.cancel("cancelled")

    async def wait(self) -> events.TurnEnded | None:
        """How the running turn ends, or the last one did; None if there was none."""
        return await self._running.wait()

    def answer(self, question_id: str, *, allow: bool) -> None:
        """Answer a `Question` of the agent.

        Raises:
            InvalidInput: it is settled already.
        """
        if self._running.turn is None:
            raise InvalidInput("that question is settled already")
        self._running.turn.answer(question_id, allow=allow)

    async def command(self, line: str) -> commands.CommandReply:
        """Carry out a slash command (`autocompact.chat.COMMANDS`); what is wrong with it is the answer."""
        return await commands.run_command(self, line)

    # Compacting

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compact now. A second one while one runs is refused."""
        await self.prepare_request()
        result = await self.conversation.compact(focus)
        self.tell_meter()
        return result

    async def preview(self, focus: str = "") -> Compaction | None:
        """The compaction that would be made now; nothing changes. None if there is nothing to gain."""
        await self.prepare_request()
        return await self.conversation.records.preview(focus)

    async def apply(self, record: Compaction, *, summary: str | None = None) -> Compaction:
        """Put a previewed compaction in force, with another summary where one is given."""
        records = self.conversation.records
        edited = record if summary is None else records.edited(record, summary)
        return await records.apply(edited)

    async def undo(self) -> Compaction | None:
        """Take the compaction in force back; the one in force now. What was said since stays.

        Raises:
            InvalidInput: nothing is compacted.
        """
        return await self.conversation.records.undo()

    async def restore(self, compaction_id: str) -> Compaction:
        """Put an earlier or undone compaction in force again."""
        record = await self.conversation.records.restore(compaction_id)
        self.tell_meter()
        return record

    async def compactions(self) -> tuple[Compaction, ...]:
        """Every compaction with its receipt, oldest first, undone ones included."""
        return await self.conversation.records.all()

    async def compare(self, first_id: str, second_id: str) -> Comparison:
        """What two compactions kept."""
        return await self.conversation.records.compare(first_id, second_id)

    async def pin(self, pinned: int | str) -> None:
        """Keep a message (by ``seq``) or a text through every compaction.

        Raises:
            InvalidInput: there is no such message, or too much is pinned.
        """
        records = self.conversation.records
        await (records.pin(pinned) if isinstance(pinned, int) else records.note(pinned))
        self.tell_meter()

    async def unpin(self, pinned: int | str) -> None:
        """Let go of it.

        Raises:
            InvalidInput: it is not pinned.
        """
        await self.conversation.records.unpin(pinned)
        self.tell_meter()

    # Recall

    async def search(
        self, query: str, *, k: int = RESULTS, scope: Scope = "conversation"
    ) -> tuple[Found, ...]:
        """The likeliest places of this conversation (or of all) and the memory files."""
        return await self.recall.search(query, k, scope=scope)

    async def expand(self, reference: str, *, around: int = 0, offset: int = 0) -> Expansion:
        """The original behind a reference such as ``m12``."""
        return await self.recall.expand(reference, around=around, offset=offset)

    # What the turn, the tools and the service use

    async def choose_model(self, name: str) -> None:
        """Talk to another model from the next turn on.

        Raises:
            InvalidInput: there is no such model, its key is missing, or a turn is running.
        """
        self._check_idle()
        engine = self.service.engine(name)
        await self.conversation.background.wait_idle()
        conversation = await engine.open(self.id)
        self._check_idle()  # one may have begun meanwhile, and goes on with what it began with
        self.conversation, self.engine = conversation, engine
        await self.notes.add(Chosen(model=engine.choice.name))
        self._carry()
        self.tell(
            events.ConversationChanged(conversation_id=self.id, title=self.title, model=engine.choice.name)
        )
        self.tell_meter()

    def _check_idle(self) -> None:
        if self.running:
            raise InvalidInput(
                "a turn is running: wait for its end, or cancel it, before you change the model"
            )

    async def catch_up(self) -> None:
        """Notice what other programs did: new messages, and an answer that they left half. Costs O(new)."""
        if self.running:
            return  # it appends after whatever there is
        if not await self.take_over():
            await self.service.forget_deleted(self)
        elif self.is_another_at_work:
            await recover_dead(self)

    async def take_over(self) -> bool:
        """Take over what other programs added to the log, and tell it; False if one of them deleted the conversation."""
        last = len(self.conversation)
        async with self._adding:
            found = await self.conversation.history(from_seq=max(1, last))
            if found and found[-1].seq > last:
                await self.conversation.sync()
                self.is_another_at_work = True
            await self._tell_through(len(self.conversation))
        return not last or bool(found)  # a log only grows, until it is deleted

    async def prepare_request(self) -> None:
        """Say what the next request carries besides the messages: system prompt and tools.

        Raises:
            InvalidInput: the configuration of the MCP servers cannot be used.
        """
        if not self._served:
            served = await self.service.served_tools()
            self.toolbox, self._served = Toolbox((*self.toolbox.tools, *served)), True
        self._carry()

    def _carry(self) -> None:
        self.system = self.service.system_prompt()
        self.conversation.use_tools(self.toolbox.schemas(), system=self.system)

    async def add(self, message: Message, *, note: Callable[[int], Note] | None = None) -> Message:
        """Append to the log, and tell it."""
        stamped = message if message.time else replace(message, time=self.clock.now())
        async with self._adding:
            stored = await self.conversation.append(stamped)
            if note is not None:
                await self.notes.add(note(stored.seq))
            await self._tell_through(stored.seq - 1)
            self._tell_added(stored)
        self.tell_meter()
        return stored

    async def _tell_through(self, seq: int) -> None:
        """Tell what other programs added, up to message ``seq``."""
        if seq <= self._told:
            return
        added = await self.conversation.history(from_seq=self._told + 1, through_seq=seq)
        await self.notes.catch_up()
        for message in added:
            self._tell_added(message)
        self.tell_meter()

    def _tell_added(self, message: Message) -> None:
        self._told = message.seq
        if message.replaces is not None:
            self.tell(
                events.MessagesReplaced(
                    conversation_id=self.id, from_seq=message.replaces, through_seq=message.seq - 1
                )
            )
        self.tell(events.MessageAdded(conversation_id=self.id, entry=self.entry(message)))
        if message.is_request and not self.titled:
            self.titled = True
            self.service.tell_changed(self.id, title=title_of([message]))

    async def set_tasks(self, tasks: tuple[Task, ...]) -> None:
        """Replace the agent's task list."""
        await self.notes.add(
            Tasked(tasks=tuple(TaskItem(text=task.text, state=task.state) for task in tasks))
        )
        self.tell(events.TasksChanged(conversation_id=self.id, tasks=tasks))

    async def aclose(self) -> None:
        """End a running turn; what it said so far is marked as interrupted. None begins any more."""
        self._running.closed = True
        await self._running.cancel("interrupted")
        await self.conversation.background.wait_idle()

    def reopen(self) -> None:
        """Turns may begin again: what it was closed for did not happen."""
        self._running.closed = False
