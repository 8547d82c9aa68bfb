"""A browser tab: the conversation that it shows, and its events.

Events of the session are put into a queue and taken out by one task, so they are shown in their order, and what takes
time (reading pages of the history) never holds up the agent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Literal, assert_never

from nicegui import Client, ui
from nicegui.events import GenericEventArguments

from autocompact import events as engine
from autocompact.chat import ChatService, ChatSession, events, is_command, run_command
from autocompact.chat.attachments import Uploads
from autocompact.chat.events import ChatEvent
from autocompact.chat.setup import Setup
from autocompact.chat.views import ConversationLine, Divider, MeterReading, Version
from autocompact.compaction.record import Compaction
from autocompact.core.references import parse_reference
from autocompact.errors import AutocompactError, InvalidInput
from autocompact.ui.web.addresses import page_address
from autocompact.ui.web.announcer import Announcer
from autocompact.ui.web.charts import charts_html
from autocompact.ui.web.composer import Composer, Said
from autocompact.ui.web.connect import Connect, StartCard
from autocompact.ui.web.dialogs import Dialogs, shortcuts_html
from autocompact.ui.web.divider import DividerPart
from autocompact.ui.web.head import Head
from autocompact.ui.web.live import Live
from autocompact.ui.web.notices import Notices
from autocompact.ui.web.preview import Preview
from autocompact.ui.web.render import output_html
from autocompact.ui.web.rules import Rules
from autocompact.ui.web.search import Search
from autocompact.ui.web.settings import SettingsForm
from autocompact.ui.web.sidebar import Act, Sidebar
from autocompact.ui.web.thread import ACTION, Thread

_SKIP = '<a class="skip" href="#field">Skip to the message field</a>'

_LONGEST_PROBLEM = 300

LOOK_SECONDS = 60.0
"""Seconds after which it is looked again whether a compaction would be cheap."""

DRAW_SECONDS = 0.06
"""Least time between two drawings of a growing answer."""

log = logging.getLogger("autocompact")


class Tab:
    """The content of one tab.

    Args:
        service: the conversations.
        client: the browser's.
        setup: connects models and changes settings; None offers neither.
        uploads: files that were attached and not sent yet.
    """

    def __init__(
        self, service: ChatService, client: Client, *, setup: Setup | None = None, uploads: Uploads
    ) -> None:
        self._uploads = uploads
        self.setup = setup
        self.service = service
        self.client = client
        self._session: ChatSession | None = None
        self._queue: asyncio.Queue[ChatEvent] = asyncio.Queue()
        self._stops: list[Callable[[], None]] = []
        self._work: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()
        self._leaving = False
        self._closed = False
        self._begun: set[asyncio.Task[None]] = set()
        self._problems: set[str] = set()
        self._shown: tuple[str, frozenset[int]] = ("", frozenset())
        self.dialogs = Dialogs()
        self.search = Search(
            session=lambda: self.session,
            conversations=service.conversations,
            jump=self._jump,
            show=self._show_found,
        )
        self.preview = Preview(session=lambda: self.session, apply=self._apply_previewed, jump=self._jump)
        self._build()
        ui.timer(LOOK_SECONDS, self._look_again)
        self.client.on_delete(self.close)  # pyright: ignore[reportUnknownMemberType] - it takes functions of any kind

    def _build(self) -> None:
        """Make the elements of the page."""
        with ui.element("div").classes("page"):
            ui.html(_SKIP, sanitize=False)
            self.sidebar = Sidebar(new=self._new, act=self._act_on)
            with ui.element("div").classes("main"):
                self.head = Head(
                    search=self.search.open,
                    charts=self._charts,
                    models=self._models,
                    compact=self.preview.open,
                    replaced=self._toggle_replaced,
                    rules=self._rules,
                    shortcuts=self._shortcuts,
                    settings=None if self.setup is None else self._settings,
                )
                with (
                    ui.element("div").classes("scroller").props("id=scroller"),
                    ui.element("div").classes("thread") as thread,
                ):
                    self.thread = Thread(show_divider=self._divider)
                    self.live = Live(answer=self._answer, retry=self._retry)
                    self.notices = Notices()
                    self.start = StartCard(self.setup, connected=self._connected)
                self.announcer = Announcer()
                thread.on("click", self._clicked, js_handler=ACTION)
                self.composer = Composer(
                    send=self._send,
                    stop=self._stop,
                    withdraw=self._withdraw,
                    send_pending=self._send_pending,
                    newest=self._newest,
                    compact=self.preview.open,
                )

    @property
    def session(self) -> ChatSession:
        """The conversation that is open."""
        if self._session is None:
            raise LookupError("no conversation is open")
        return self._session

    # Opening and closing

    async def open(self, session: ChatSession, *, around: int | None = None) -> None:
        """Show a conversation; one after the other, so that what is shown is the one that was wanted last."""
        async with self._opening:
            if not self._closed:
                await self._open(session, around=around)

    async def _open(self, session: ChatSession, *, around: int | None) -> None:
        self._unlisten()
        self._session = session
        self._queue = asyncio.Queue()
        self._stops = [session.listen(self._queue.put_nowait), self.service.listen(self._queue.put_nowait)]
        view = session.view()
        await self.thread.open(session, around=around)
        self.thread.running(view.turn)
        self.live.fail("")
        self.composer.earlier(on=self.thread.through > 0)
        self.live.show(view.turn, last_seq=self.thread.last_seq)
        self._shown = self._visible_state()
        self.notices.clear()
        self.composer.running(on=view.turn is not None)
        self.composer.compressing(on=view.compacting, focus=False)
        self.composer.tasks.show(view.tasks)
        self._show_pending()
        self.head.show(view)
        self._advise(view.meter)
        if view.turn is None:
            self.live.fail(await self._failure())
            self._say_problems()
        await self._list()
        await self.start.show()
        if not self._closed:
            self._work = asyncio.create_task(self._follow(self._queue))

    async def _failure(self) -> str:
        """The reason why the last message has no answer; "" if it has one or needs none."""
        last = len(self.session.conversation)
        found = await self.session.conversation.history(from_seq=last) if last else ()
        for message in found:
            if why := self.session.entry(message).failure:
                return why
            if message.is_request or message.role == "tool":
                return "This message has no answer yet."
        return ""

    def _show_pending(self) -> None:
        session = self.session
        self.composer.pending.show(session.pending, running=session.running)

    def _unlisten(self) -> None:
        for stop in self._stops:
            stop()
        self._stops = []
        if self._work is not None:
            self._work.cancel()
            self._work = None

    def close(self) -> None:
        """End following the session: the tab was closed."""
        self._closed = True
        self._unlisten()

    async def _list(self) -> None:
        self.sidebar.show(await self.service.conversations(), current=self.session.id)

    async def show(self, id: str, *, around: int | None = None) -> None:
        """Go to another conversation, to its end or to one of its messages."""
        session = await self.service.open(id)
        await self.open(session, around=around)
        self.client.run_javascript(f"autocompactPage.visit('{page_address(session.id)}')")

    async def _show_found(self, id: str) -> None:
        await self._attempt(self.show(id))

    # Events

    async def _follow(self, queue: asyncio.Queue[ChatEvent]) -> None:
        while True:
            event = await queue.get()
            try:
                await self._apply(event)
                while not queue.empty():
                    await self._apply(queue.get_nowait())
                if self.live.changed:
                    await self._draw_live()
            except AutocompactError as error:
                self.say(str(error))
            except Exception:
                log.exception("the page could not show an event", extra={"event": type(event).__name__})

    async def _draw_live(self) -> None:
        time = asyncio.get_running_loop().time
        began = time()
        self.live.draw(last_seq=self.thread.last_seq, running=self.session.running)
        # the longer an answer is, the longer it takes to draw: that never takes more than a fifth of the time
        await asyncio.sleep(max(DRAW_SECONDS, 4 * (time() - began)))

    async def _apply(self, event: ChatEvent) -> None:  # noqa: C901 - one case for each event
        self.announcer.announce(event)
        match event:
            case events.TextDelta():
                self.live.grow(text=event.text)
            case events.ReasoningDelta():
                self.live.grow(reasoning=event.text)
            case events.AnswerRestarted():
                self.live.restart()
            case events.MessageAdded():
                if event.entry.message.role == "assistant":
                    self.live.restart()
                await self.thread.add(event.entry)
            case events.MessagesReplaced():
                await self.thread.refresh()
            case events.ToolFinished():
                await self.thread.finished(event)
            case events.TurnStarted() | events.TurnEnded():
                await self._turn(event)
            case events.QuestionAsked():
                self.live.ask(event.question)
            case events.QuestionAnswered():
                self.live.settle(event.question_id)
            case events.MeterChanged():
                await self._meter(event)
            case events.ConversationChanged():
                await self._conversation_changed(event)
            case events.TasksChanged():
                self.composer.tasks.show(event.tasks)
            case events.PendingChanged():
                self._show_pending()
            case events.ToolStarted():
                pass
            case _:
                await self._engine(event)

    async def _turn(self, event: events.TurnStarted | events.TurnEnded) -> None:
        started = isinstance(event, events.TurnStarted)
        if started and self.thread.through:
            await self._newest()
        if not started:
            await self.thread.ended()
            self._say_problems()
        self.composer.running(on=started)
        self._show_pending()
        self.live.restart()
        self.live.draw(last_seq=self.thread.last_seq, running=started)
        if isinstance(event, events.TurnEnded) and event.outcome == "failed":
            self.notices.withdraw(event.message)
            self.live.fail(event.message)

    async def _meter(self, event: events.MeterChanged) -> None:
        self.head.meter.show(event.meter)
        self._advise(event.meter)
        if self._visible_state() != self._shown:
            self._shown = self._visible_state()
            await self.thread.refresh()

    def _say_problems(self) -> None:
        """Say once, in a line each, which MCP servers were left out."""
        for name, why in self.service.server_problems.items():
            line = f"The MCP server `{name}` was left out: {' '.join(why.split())[:_LONGEST_PROBLEM]}"
            if line not in self._problems:
                self._problems.add(line)
                self.say(line)

    def _advise(self, reading: MeterReading) -> None:
        self.composer.advice.show("" if self.session.running else reading.cheap, conversation=self.session.id)

    def _look_again(self) -> None:
        """Whether a compaction is cheap depends on the time that has passed."""
        if self._session is not None and not self._session.running:
            self._advise(self._session.meter())

    def _visible_state(self) -> tuple[str, frozenset[int]]:
        """The active compaction and the pins: they decide how messages are shown."""
        conversation = self.session.conversation
        return conversation.internals.replica.active_id, frozenset(conversation.records.pins)

    async def _engine(self, event: engine.Event) -> None:
        match event:
            case engine.CompactionStarted():
                self.composer.compressing(on=True)
            case engine.CompactionCompleted():
                self.composer.compressing(on=False)
                self._completed(event)
                await self.thread.refresh()
            case engine.CompactionUndone():
                await self.thread.refresh()
            case engine.BreakerOpened():
                self.say(f"Automatic compaction stopped: {event.reason}")
            case engine.CompactionPrepared() | engine.CompactionDiscarded():
                pass
            case _:
                assert_never(event)

    def _completed(self, event: engine.CompactionCompleted) -> None:
        """Show why a compaction failed; a successful one has a divider."""
        if not event.success:
            self.say(f"The context was not compacted: {event.message}", about=event.message)

    async def _conversation_changed(self, event: events.ConversationChanged) -> None:
        if event.deleted and event.conversation_id == self.session.id:
            self._leave()
            return
        await self._list()
        self.head.show(self.session.view())
        await self.start.show()

    def say(self, text: str, *, kind: Literal["reply", "error"] = "error", about: str = "") -> None:
        """Show a notice that is no part of the conversation; Markdown."""
        self.notices.say(text, kind=kind, about=about, last_seq=self.thread.last_seq)

    async def _attempt(self, work: Awaitable[object]) -> bool:
        """Await ``work``; an error is shown, and False returned."""
        try:
            await work
        except AutocompactError as error:
            self.say(str(error))
            return False
        return True

    # Actions of the person

    async def _send(self, said: Said) -> bool:
        self.live.fail("")
        self.notices.clear()
        goes_on = not said.replaces and (said.attached or not is_command(said.text))
        if goes_on and not await self._attempt(self.session.resume(self.thread.through)):
            return False
        if not self.thread.at_end:
            await self._newest()
        if not said.attached and not said.replaces and is_command(said.text):
            self._begin(self._command(said.text))
            return True
        return await self._attempt(self._request(said))

    async def _request(self, said: Said) -> None:
        attachments = self._uploads.get(said.attached)
        if said.replaces:
            await self.session.edit(said.replaces, said.text, attachments=attachments)
        else:
            await self.session.send_later(said.text, attachments=attachments)
        self._uploads.drop(said.attached)

    async def _withdraw(self, id: str) -> None:
        try:
            self.composer.give_back(await self.session.withdraw(id))
        except AutocompactError as error:
            self.say(str(error))

    async def _send_pending(self) -> None:
        await self._attempt(self.session.send_pending())

    async def _command(self, line: str) -> None:
        reply = await run_command(line, session=self.session, service=self.service)
        if reply.text:
            self.say(reply.text, kind="error" if reply.kind == "error" else "reply")

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        """Do something beside what is being done."""
        task = asyncio.create_task(work)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    async def _stop(self) -> None:
        await self.session.cancel()

    async def _retry(self) -> None:
        self.live.fail("")
        await self._attempt(self.session.retry())

    def _answer(self, question_id: str, *, allow: bool, remember: bool) -> None:
        try:
            self.session.answer(question_id, allow=allow, remember=remember)
        except InvalidInput as error:
            self.say(str(error))

    async def _clicked(self, event: GenericEventArguments) -> None:
        action, seq = str(event.args["action"]), int(event.args["seq"] or 0)
        match action:
            case "jump":
                await self._jump(f"m{seq}")
            case "pin":
                await self._attempt(self.session.pin(seq))
            case "unpin":
                await self._attempt(self.session.unpin(seq))
            case "retry":
                await self._retry()
            case "edit":
                (message,) = await self.session.conversation.history(from_seq=seq, through_seq=seq)
                self.composer.put(message.text, replaces=seq)
            case "whole":
                await self._whole(seq)
            case "version":
                await self._version(Version(seq=seq, through=int(event.args["through"] or 0)))
            case _:
                log.warning("a page asked for what there is not", extra={"action": action})

    async def _version(self, version: Version) -> None:
        """Show a version of the conversation; the messages of a running turn belong to the present one."""
        if self.session.running:
            self.say("Other versions can be shown once the answer has ended.")
            return
        self.live.fail("")
        await self.thread.show_version(version)
        self.composer.earlier(on=self.thread.through > 0)

    async def _newest(self) -> None:
        await self.thread.open(self.session)
        self.composer.earlier(on=False)

    async def _whole(self, seq: int) -> None:
        (message,) = await self.session.conversation.history(from_seq=seq, through_seq=seq)
        texts = [(result.text, "Result") for result in message.results] or [(message.text, "Message")]
        shown = "".join(output_html(text, seq=0, label=label, most=None) for text, label in texts)
        self.dialogs.text(f"Full text of m{seq}", shown)

    async def _jump(self, reference: str) -> None:
        """Go to what a reference names: a message here, a message of another conversation, or a memory file."""
        await self._attempt(self._go_to(reference))

    async def _go_to(self, reference: str) -> None:
        conversation, _, name = reference.rpartition(":")
        try:
            seq = parse_reference(name)
            if conversation and conversation != self.session.id:
                await self.show(conversation, around=seq)
        except InvalidInput:
            expansion = await self.session.expand(reference)
            self.dialogs.text(reference, output_html(expansion.text, seq=0, label="Original", most=None))
            return
        if await self.thread.reach(seq):
            self.composer.earlier(on=self.thread.through > 0)
            self.client.run_javascript(f"autocompactPage.reveal('m{seq}')")
        else:
            self.say(f"There is no message {name} to show.")

    async def _apply_previewed(self, record: Compaction) -> None:
        await self._attempt(self.session.apply(record))
        self.composer.resume(after_dialog=True)

    async def _toggle_replaced(self) -> bool:
        self.thread.show_replaced = not self.thread.show_replaced
        await self._newest()
        return self.thread.show_replaced

    async def _charts(self) -> None:
        session = self.session
        html = charts_html(
            usage=await session.usage_over_time(),
            records=await session.compactions(),
            reading=session.meter(),
            last_seq=len(session.conversation),
        )
        self.dialogs.text("Usage and receipts", html)

    async def _rules(self) -> None:
        with self.dialogs.shown("Rules of this conversation", wide=True):
            rules = Rules(self.session, jump=self._leave_for)
        await rules.show()

    async def _leave_for(self, reference: str) -> None:
        self.dialogs.close()
        await self._jump(reference)

    def _shortcuts(self) -> None:
        self.dialogs.text("Keyboard shortcuts", shortcuts_html())

    async def _models(self) -> None:
        choices = await self.service.models(probe=True)
        connect = None if self.setup is None else self._connect
        self.dialogs.models(choices, current=self.session.model, choose=self._choose, connect=connect)

    async def _choose(self, name: str) -> None:
        await self._attempt(self.session.choose_model(name))

    async def _connect(self) -> None:
        if self.setup is not None:
            with self.dialogs.shown("Connect a model"):
                connect = Connect(self.setup, connected=self._connected)
            await connect.begin()

    def _settings(self) -> None:
        if self.setup is not None:
            with self.dialogs.shown("Settings", wide=True):
                form = SettingsForm(self.setup, saved=self.start.show)
            form.show()

    async def _connected(self, name: str, where: str) -> None:
        """A model was connected: this conversation goes on with it, too."""
        self.dialogs.close()
        await self._choose(name)
        if where:
            self.say(where, kind="reply")
        await self.start.show()
        self.composer.resume(after_dialog=True)

    # Conversations

    async def _new(self) -> None:
        lines = await self.service.conversations()
        empty = next((line.id for line in lines if not line.messages), "")
        await self.show(empty or (await self.service.create()).id)
        self.composer.focus()

    async def _act_on(self, act: Act, line: ConversationLine) -> None:
        match act:
            case "open":
                await self._attempt(self.show(line.id))
            case "pin":
                await self._attempt(self.service.pin(line.id, on=not line.pinned))
            case "rename":
                self.dialogs.rename(line, lambda title: self._rename(line.id, title))
            case "tag":
                self.dialogs.tags(line, lambda text: self._tag(line.id, text))
            case "export":
                self.dialogs.export(line)
            case "delete":
                await self._attempt(self._ask_delete(line))

    async def _rename(self, id: str, title: str) -> None:
        await self._attempt(self.service.rename(id, title=title))

    async def _tag(self, id: str, text: str) -> None:
        await self._attempt(self.service.tag(id, text))

    async def _ask_delete(self, line: ConversationLine) -> None:
        traces = await self.service.traces(line.id)
        self.dialogs.confirm_delete(line, traces, delete=lambda: self._delete(line.id))

    async def _delete(self, id: str) -> None:
        await self._attempt(self.service.delete(id))

    def _leave(self) -> None:
        """The conversation is gone: show the one that was used last."""
        if not self._leaving:
            self._leaving = True
            # in a task of its own: the one that follows the conversation that is gone ends with it
            self._begin(self._first())

    async def _first(self) -> None:
        try:
            await self.show((await first_conversation(self.service)).id)
        finally:
            self._leaving = False

    # Dividers

    def _divider(self, divider: Divider) -> DividerPart:
        return DividerPart(divider, session=self.session, act=self._compaction)

    async def _compaction(self, name: str, record: Compaction) -> None:
        match name:
            case "undo":
                await self._attempt(self.session.undo())
            case "restore":
                await self._attempt(self.session.restore(record.id))
            case _:
                others = [each for each in await self.session.compactions() if each.id != record.id]
                await self._attempt(self.dialogs.compare(record, others, compare=self.session.compare))


async def first_conversation(service: ChatService) -> ChatSession:
    """The conversation that was used last, a new one if there is none."""
    lines = await service.conversations()
    return await service.open(lines[0].id) if lines else await service.create()
