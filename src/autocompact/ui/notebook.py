"""A chat for Jupyter notebooks, compacted by what the provider reports: the extra ``notebook``.

    from autocompact.ui.notebook import Chat

    chat = Chat(threshold=50_000)
    chat("Which columns has the table?")     # shows the answer while it comes
    await chat.send("And which of them are dates?")
    chat.compact("the columns")
    chat.show()                              # the same conversation, with a box to type in

or, after ``%load_ext autocompact.ui.notebook``, a cell of plain words that begins with ``%%chat``.

The service runs in a thread of its own, so that it works in a cell with ``await`` and in one without. What a model wrote
is shown as Markdown that can do nothing (`autocompact.chat.markdown`).
"""

from __future__ import annotations

import asyncio
import queue
import weakref
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from autocompact.chat import ChatConfig, ChatSession, opened
from autocompact.chat import events as chat_events
from autocompact.chat.loop_thread import LoopThread
from autocompact.chat.views import HistoryPage, MeterReading
from autocompact.compaction.modes import USAGE_DRIVEN, Mode
from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.messages import Message, Reasoning
from autocompact.engine import CompactionResult
from autocompact.errors import AutocompactError, InvalidInput, ModelError
from autocompact.events import CompactionCompleted, CompactionStarted
from autocompact.runtime.extras import install_command
from autocompact.ui.notebook_html import framed, thinking_html, words_html

T = TypeVar("T")

CAP_TOKENS = 512
"""Longest summary asked of a model in this mode (requirement B2)."""

_NOTICE = "border-left:3px solid #c80;padding:.3em .8em;margin:.5em 0"
_SHOWN = 20
_PAUSE = 0.05
"""Seconds in which what is heard is drawn together."""


class Chat:
    """A conversation in a notebook.

    Args:
        model: who answers, as `autocompact.chat.ModelChoice.name`; None is what the environment offers, else offline.
        threshold: tokens at which the history becomes one summary message; None is 100,000.
        summary_prompt: a prompt of your own as text, or the path of a ``SKILL.md``.
        summary_model: another model for summaries, named likewise; None is ``model``.
        summary_tokens: longest summary asked of it.
        db: the file of the conversations; None is the one in your data folder.
        resume: id of a conversation to go on with; "" begins a new one.
        config: everything else; what is given above goes before it.
        environ: where models and keys are found, in place of the process's environment.

    Attributes:
        session: the conversation, for what this class does not offer. Its methods belong to another thread's event
            loop: use `run`.

    Raises:
        ImportError: the extra ``notebook`` is not installed.
        InvalidInput: there is no such model or conversation, or its key is missing.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        threshold: int | None = None,
        summary_prompt: str | None = None,
        summary_model: str | None = None,
        summary_tokens: int = CAP_TOKENS,
        db: str | Path | None = None,
        resume: str = "",
        config: ChatConfig | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        _needed()
        given = config or ChatConfig()
        held = replace(
            given,
            model=model or given.model,
            summary_model=summary_model or given.summary_model,
            mode=_mode(threshold, prompt=summary_prompt, cap=summary_tokens),
            approval="allow",  # nobody waits at a cell to be asked; the workspace is the caller's choice
        )
        self._loop = LoopThread()
        self._closing = weakref.finalize(self, self._loop.close)
        try:
            service = self._loop.hold(opened(Path(db) if db else None, config=held, environ=environ))
            self.session: ChatSession = self.run(service.open(resume) if resume else service.create())
        except BaseException:
            self.close()
            raise

    @property
    def id(self) -> str:
        """Names the conversation; give it as ``resume``."""
        return self.session.id

    def run(self, work: Coroutine[object, object, T]) -> T:
        """The result of what a method of `session` or its service returns."""
        return self._loop.run(work)

    # Talking

    def __call__(self, text: str) -> None:
        """Say something and show the answer as it comes; interrupting the kernel stops it."""
        self._follow(_turn(self.session, text))

    async def send(self, text: str) -> str:
        """Say something, show the answer as it comes, and return its words."""
        await asyncio.to_thread(self._follow, _turn(self.session, text), self._shown())
        return self.answer

    @property
    def answer(self) -> str:
        """The last answer's words, without the tags of a summary."""
        page = self.run(self.session.history(limit=_SHOWN))
        said = (entry.message for entry in reversed(page.entries))
        return next((message.text for message in said if message.role == "assistant"), "")

    def compact(self, focus: str = "") -> CompactionResult:
        """Compact now, with an eye on ``focus``, and show what came of it."""
        shown = self._shown()
        result = self._follow(self.session.compact(focus), shown)
        if not result.success:
            shown.say(result.message)
        return result

    def should_compact(self) -> bool:
        """True if the reported tokens have reached the threshold; a compaction resets it."""
        return self._loop.call(self.session.conversation.should_compact)

    def compactions(self) -> tuple[Compaction, ...]:
        """Every compaction with its receipt, oldest first."""
        return self.run(self.session.compactions())

    def undo(self) -> None:
        """Undo the active compaction; later messages stay."""
        self.run(self.session.undo())

    def meter(self) -> MeterReading:
        """The size of the context."""
        return self._loop.call(self.session.meter)

    def close(self) -> None:
        """End the chat; the conversation is kept. The end of the kernel does it as well."""
        self._closing()

    def _repr_html_(self) -> str:
        return meter_html(self.meter(), model=self.session.model)

    def panel(self) -> Panel:
        """A box to type in, with buttons that send, cancel and compact, below what was said last."""
        page = self.run(self.session.history(limit=_SHOWN))
        return Panel(self.session, loop=self._loop, page=page)

    def show(self) -> None:
        """Show a `panel` below the cell."""
        _module("IPython.display").display(self.panel().widget)

    # Showing

    def _shown(self) -> Shown:
        return Shown(_Output())

    def _follow(self, work: Coroutine[object, object, T], shown: Shown | None = None) -> T:
        """The result of ``work``, with what is heard meanwhile shown below the cell."""
        shown = shown or self._shown()
        heard: queue.SimpleQueue[object] = queue.SimpleQueue()
        stop = self._loop.call(partial(self.session.listen, heard.put))
        future = self._loop.start(work)
        future.add_done_callback(lambda _: heard.put(None))
        try:
            while (event := heard.get()) is not None:
                self._hear(event, shown)
                if heard.empty():  # what came in the meantime is drawn at once
                    shown.draw()
        except KeyboardInterrupt:
            self.run(self.session.cancel())
            future.cancel()
            shown.end(self._footer("stopped: the partial answer is kept"))
            raise
        finally:
            self._loop.call(stop)
        shown.end(self._footer())
        return future.result()

    def _footer(self, note: str = "") -> str:
        return meter_html(self.meter(), model=self.session.model, note=note)

    def _hear(self, event: object, shown: Shown) -> None:
        if isinstance(event, chat_events.QuestionAsked):
            # nobody waits at a cell to say yes
            self._loop.start(_decline(self.session, event.question.id))
        active = self.session.conversation.records.active
        shown.show(event, summary=active.summary if active else "")


def _module(name: str) -> Any:
    """A module of the extra; it has no types.

    Raises:
        ImportError: the extra is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"a chat in a notebook needs further packages: {install_command('notebook')}"
        ) from error


def _needed() -> None:
    for name in ("IPython.display", "ipywidgets"):
        _module(name)


def load_ipython_extension(shell: Any) -> None:
    """Make ``%%chat`` known: ``%load_ext autocompact.ui.notebook`` calls it."""
    shell.register_magic_function(partial(_chat_cell, shell=shell), magic_kind="cell", magic_name="chat")


def _chat_cell(line: str, cell: str, *, shell: Any) -> None:
    """``%%chat [NAME]``: say the cell to the `Chat` of that name, which is begun where there is none ("chat").

    Raises:
        UsageError: IPython's, which it shows in one line: the name is no name or that of something else, or there was no answer.
    """
    try:
        _say(line, cell, shell=shell)
    except AutocompactError as error:
        raise _module("IPython.core.error").UsageError(str(error)) from error


def _say(line: str, cell: str, *, shell: Any) -> None:
    name = line.strip() or "chat"
    if not name.isidentifier():
        raise InvalidInput(
            f"%%chat takes the name of a chat, not {name!r}: what to say stands in the lines below"
        )
    chat = shell.user_ns.get(name)
    if chat is None:
        shell.user_ns[name] = chat = Chat()
    if not isinstance(chat, Chat):
        raise InvalidInput(f"{name!r} is no Chat but a {type(chat).__name__}: give %%chat another name")
    chat(cell.strip())


def _mode(threshold: int | None, *, prompt: str | None, cap: int) -> Mode:
    policy = USAGE_DRIVEN.policy if threshold is None else replace(USAGE_DRIVEN.policy, tokens=threshold)
    return replace(USAGE_DRIVEN, policy=policy, skill=prompt or USAGE_DRIVEN.skill, cap_tokens=cap)


async def _turn(session: ChatSession, text: str) -> None:
    """Say ``text`` and wait for the answer.

    Raises:
        ModelError: there was none.
    """
    await session.send(text)
    ended = await session.wait()
    if ended is not None and ended.outcome == "failed":
        raise ModelError(ended.message)


# HTML


def meter_html(meter: MeterReading, *, model: str, note: str = "") -> str:
    """The size of the context, as a line."""
    threshold = f", compaction at {meter.threshold:,}" if meter.threshold else ""
    told = f"{escape(model)}: {meter.used:,} of {meter.window:,} tokens{threshold}"
    bar = f'<progress max="{meter.threshold or meter.window}" value="{meter.used}"></progress>'
    return f"<div><small>{bar} {told}{f' ({escape(note)})' if note else ''}</small></div>"


def notice_html(receipt: Receipt, *, summary: str) -> str:
    """The notice that the history was compacted, with the summary folded."""
    figures = f"{receipt.tokens_before:,} tokens became {receipt.tokens_after:,}"
    fold = f"<details><summary>Summary</summary><div>{words_html(summary)}</div></details>"
    return (
        f'<div style="{_NOTICE}" role="note"><b>Compacted:</b> {figures}, {receipt.seconds:.1f} s{fold}</div>'
    )


class _Output:
    """HTML below a cell that can be replaced."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, html: str) -> None:
        shell = _module("IPython.display")
        html = framed(html)
        if self._handle is None:
            self._handle = shell.display(shell.HTML(html), display_id=True)
        else:
            self._handle.update(shell.HTML(html))


class Shown:
    """An answer as it grows, with its tools and compactions.

    Args:
        write: shows HTML in place of what it showed before.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._done: list[str] = []
        self._text = ""
        self._thinking = ""
        self._status = ""
        self._last = ""

    def show(self, event: object, *, summary: str) -> None:
        """Take in an event for `draw`; there is nothing to see of most kinds. ``summary`` is the active one."""
        match event:
            case CompactionCompleted(success=True, receipt=Receipt() as receipt):
                self._keep(notice_html(receipt, summary=summary))
            case chat_events.TextDelta(text=text):
                self._text += text
                self._status = ""
            case chat_events.ReasoningDelta(text=text):
                self._thinking += text
            case chat_events.AnswerRestarted():
                self._text = self._thinking = ""
            case chat_events.MessageAdded(entry=entry) if entry.message.role == "assistant":
                self._keep(answer_html(entry.message))
            case chat_events.ToolFinished():
                self._keep(_tool_html(event))
            case CompactionStarted():
                self._status = "Compressing context..."
            case _:
                self._keep(_remark_html(event))

    def say(self, text: str) -> None:
        """A line of our own."""
        self._keep(_line_html(text))
        self.draw()

    def _keep(self, html: str) -> None:
        if html:
            self._done.append(html)
            self._text = self._thinking = self._status = ""

    def end(self, footer: str) -> None:
        """Show the last state, with ``footer``."""
        self._keep(footer)
        self.draw()

    def draw(self) -> None:
        """Show how things stand, if that changed."""
        status = f"<div role='status'><i>{escape(self._status)}</i></div>" if self._status else ""
        thinking = thinking_html(self._thinking, running=not self._text)
        html = "".join([*self._done, thinking, words_html(self._text), status])
        if html != self._last:
            self._write(html)
        self._last = html


def _line_html(text: str) -> str:
    return f"<div><i>{escape(text)}</i></div>"


def _remark_html(event: object) -> str:
    """A remark on an event, "" for most."""
    match event:
        case CompactionCompleted(success=False, message=message):
            return _line_html(f"Not compacted: {message}")
        case chat_events.TurnEnded(outcome="cancelled"):
            return _line_html("cancelled: the partial answer is kept")
        case _:
            return ""


def _tool_html(event: chat_events.ToolFinished) -> str:
    name = f"{escape(event.name)} ({'failed, ' if event.is_error else ''}{event.seconds:.1f} s)"
    return f"<details><summary>{name}</summary><pre>{escape(event.text)}</pre></details>"


def history_html(page: HistoryPage) -> str:
    """The earlier messages."""
    pieces: list[str] = []
    for entry in page.entries:
        if entry.message.role == "user":
            pieces.append(_said_html(entry.message.text))
        elif entry.message.role == "assistant":
            pieces.append(answer_html(entry.message))
        if entry.failure:
            pieces.append(_line_html(entry.failure))
        for record in (divider.record for divider in page.dividers_after(entry.seq)):
            pieces.append(notice_html(record.receipt, summary=record.summary))
    return "".join(pieces)


def answer_html(message: Message) -> str:
    """An answer, with what the model thought before it."""
    thought = "\n\n".join(part.text for part in message.parts if isinstance(part, Reasoning))
    return thinking_html(thought) + words_html(message.text)


def _said_html(text: str) -> str:
    return f"<p><b>{escape(text)}</b></p>"


# Widgets


class Panel:
    """A box to type in below the conversation. Buttons are pressed in the kernel's thread, events come from the chat's.

    Args:
        session: the conversation.
        loop: where it runs.
        page: what was said before.

    Attributes:
        widget: everything.
        log: the answers, each with the words that it answers.
        box: what is typed.
        send: the button that sends.
        cancel: the button that stops the answer.
        compact: the button that compacts; what stands in the box is the focus.
    """

    def __init__(self, session: ChatSession, *, loop: LoopThread, page: HistoryPage) -> None:
        ipywidgets = _module("ipywidgets")
        self._session, self._loop = session, loop
        self._drawing: asyncio.TimerHandle | None = None
        self.log = ipywidgets.VBox([ipywidgets.HTML(framed(history_html(page)))])
        self.box = ipywidgets.Textarea(placeholder="Say something", rows=3)
        self.send = ipywidgets.Button(description="Send", button_style="primary")
        self.cancel = ipywidgets.Button(description="Cancel", disabled=True)
        self.compact = ipywidgets.Button(description="Compact")
        self.send.on_click(self._on_send)
        self.cancel.on_click(self._on_cancel)
        self.compact.on_click(self._on_compact)
        buttons = ipywidgets.HBox([self.send, self.cancel, self.compact])
        self.widget = ipywidgets.VBox([self.log, self.box, buttons])

    def _on_cancel(self, _button: object) -> None:
        self._loop.start(self._session.cancel())

    def _on_send(self, _button: object) -> None:
        text, self.box.value = self.box.value, ""
        if text.strip():
            self._start(_turn(self._session, text), said=_said_html(text))

    def _on_compact(self, _button: object) -> None:
        focus, self.box.value = self.box.value, ""
        self._start(_compacted(self._session, focus), said=_said_html(f"/compact {focus}".rstrip()))

    def _start(self, work: Coroutine[object, object, None], *, said: str) -> None:
        place = _module("ipywidgets").HTML(framed(said))
        self.log.children = (*self.log.children, place)
        self._busy(True)
        shown = Shown(lambda html: setattr(place, "value", framed(said + html)))
        self._loop.start(self._watched(work, shown))

    async def _watched(self, work: Coroutine[object, object, None], shown: Shown) -> None:
        """Carry ``work`` out, with what is heard meanwhile shown."""
        stop = self._session.listen(partial(self._hear, shown=shown))
        try:
            await work
        except AutocompactError as error:
            shown.say(str(error))
        finally:
            stop()
            shown.end(meter_html(self._session.meter(), model=self._session.model))
            self._busy(False)

    def _hear(self, event: object, *, shown: Shown) -> None:
        if isinstance(event, chat_events.QuestionAsked):
            asyncio.get_running_loop().create_task(_decline(self._session, event.question.id))
        active = self._session.conversation.records.active
        shown.show(event, summary=active.summary if active else "")
        if self._drawing is None:
            self._drawing = asyncio.get_running_loop().call_later(_PAUSE, self._draw, shown)

    def _draw(self, shown: Shown) -> None:
        self._drawing = None
        shown.draw()

    def _busy(self, busy: bool) -> None:
        self.send.disabled = self.compact.disabled = busy
        self.cancel.disabled = not busy


async def _compacted(session: ChatSession, focus: str) -> None:
    """Compact.

    Raises:
        InvalidInput: nothing came of it; the message says why.
    """
    result = await session.compact(focus)
    if not result.success:
        raise InvalidInput(result.message)


async def _decline(session: ChatSession, question_id: str) -> None:
    with suppress(InvalidInput):
        session.answer(question_id, allow=False)
