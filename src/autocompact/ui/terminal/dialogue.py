"""A conversation at the terminal: a line is read, carried out, and what happens meanwhile is shown.

The service runs in a thread of its own (`autocompact.chat.loop_thread.LoopThread`); everything that the person sees or types is in
the main thread, where Ctrl-C arrives. Between the two is a queue of events.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from autocompact.chat import COMMANDS, ChatService, ChatSession, CommandReply, is_command, run_command
from autocompact.chat.commands import Command, command_parts
from autocompact.chat.events import QuestionAsked, TurnEnded
from autocompact.chat.loop_thread import LoopThread
from autocompact.chat.views import Question
from autocompact.core.references import parse_reference
from autocompact.errors import AutocompactError, InvalidInput
from autocompact.runtime.files import replace_file
from autocompact.ui.deletion import traces_text
from autocompact.ui.terminal import words
from autocompact.ui.terminal.keyboard import Keyboard
from autocompact.ui.terminal.screen import Screen
from autocompact.ui.text import visible

T = TypeVar("T")

TICK = 0.12
"""Seconds between two frames of the waiting line."""
SHOWN = 12
"""Messages of the history that are shown when a conversation is opened."""
REMEMBERED = 500
"""Requests of a conversation that the arrow keys go back to,"""
LOOKED_AT = 5_000
"""among this many of its last messages."""

OWN_COMMANDS = (
    Command(name="/edit", arguments="[m12] TEXT", help="Send another text in place of a request."),
    Command(name="/list", arguments="", help="Show the conversations."),
    Command(name="/new", arguments="", help="Begin a new conversation."),
    Command(name="/resume", arguments="[ID]", help="Continue another conversation, or the last one."),
    Command(name="/export", arguments="[FILE]", help="Write this conversation as Markdown, or as FILE.json."),
    Command(
        name="/delete",
        arguments="[ID]",
        help="Delete a conversation, this one by default; you are asked first.",
    ),
    Command(name="/quit", arguments="", help="Leave; the conversation is kept."),
)
_HINT = (
    "Tab completes commands. Alt+Enter, or a backslash before Enter, begins a new line; a pasted text is one message. A "
    "line that begins with a space is not a command. Ctrl-C stops an answer, Ctrl-D leaves."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The person's answer to a question, and whether it stands from now on."""

    allow: bool
    remember: bool = False


class Follower:
    """Runs work in the service's thread, and shows the events meanwhile.

    Args:
        loop: thread that the service runs in.
        session: whose events are shown.
        screen: shows them.
        ask: puts a question to the person; None says no to all.
    """

    def __init__(
        self,
        loop: LoopThread,
        session: ChatSession,
        *,
        screen: Screen,
        ask: Callable[[Question], Answer] | None,
    ) -> None:
        self._loop = loop
        self._session = session
        self._screen = screen
        self._ask = ask
        self._heard: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.interrupted = False
        self.leave = loop.call(partial(session.listen, self._heard.put))

    def follow(self, work: Coroutine[object, object, T]) -> T:
        """The result of ``work``. Ctrl-C stops what runs; a second one while it stops is raised.

        Raises:
            CancelledError: it was stopped.
        """
        self.interrupted = False
        future = self._loop.start(work)
        done = object()
        future.add_done_callback(lambda _: self._heard.put(done))
        event: object = None
        while event is not done:
            try:
                event = self._next()
                self._show(event)
            except KeyboardInterrupt:
                self._interrupt(future)
        self._screen.rest()
        return future.result()

    def _next(self) -> object:
        while True:
            try:
                return self._heard.get(timeout=TICK)
            except queue.Empty:
                self._screen.tick()

    def _show(self, event: object) -> None:
        self._screen.show(event)
        if isinstance(event, QuestionAsked):
            self._answer(event.question)

    def _answer(self, question: Question) -> None:
        self._screen.rest()
        answer = self._ask(question) if self._ask else Answer(allow=False)
        if self._ask is None:
            self._screen.tell(
                f"Not allowed, since nobody can be asked (chat.approval, chat.commands.allow): "
                f"{words.line(question.text, most=200)}"
            )
        try:
            give = partial(self._session.answer, question.id, allow=answer.allow, remember=answer.remember)
            self._loop.call(give)
        except InvalidInput as error:
            self._screen.tell(visible(str(error)))

    def _interrupt(self, future: Future[T]) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        if self._session.running:
            self._loop.start(self._session.cancel())
        else:
            future.cancel()


async def turn(session: ChatSession, text: str) -> TurnEnded | None:
    """Say ``text`` and wait for the answer."""
    await session.send(text)
    return await session.wait()


class Dialogue:
    """The person at the terminal, and one conversation after the other.

    Args:
        loop: thread that the service runs in.
        service: it.
        session: the conversation to begin with.
        screen: shows what happens.
    """

    def __init__(
        self, loop: LoopThread, service: ChatService, *, session: ChatSession, screen: Screen
    ) -> None:
        self._loop = loop
        self._service = service
        self._screen = screen
        self._keyboard = Keyboard(self._completions)
        self._models = [choice.name for choice in loop.run(service.models())]
        self._own: dict[str, Callable[[str], None]] = {
            "/help": self._help,
            "/edit": self._edit,
            "/list": self._list,
            "/new": self._new,
            "/resume": self._resume,
            "/export": self._export,
            "/delete": self._delete,
        }
        self._warned = False
        self._attach(session)

    def _attach(self, session: ChatSession) -> None:
        self.session = session
        self._follower = Follower(self._loop, session, screen=self._screen, ask=self._allow)
        requests = self._loop.run(_requests(session))
        self._keyboard.remember(requests[-REMEMBERED:])

    def _change(self, session: ChatSession) -> None:
        self._loop.call(self._follower.leave)
        self._attach(session)
        self.show_history()

    def show_history(self) -> None:
        """The last messages of the conversation, with the compactions between them."""
        page = self._loop.run(self.session.history(limit=SHOWN))
        for each in words.history_lines(page):
            self._screen.tell(each)

    def run(self) -> None:
        """Talk until the person leaves."""
        while (read := self._read()) is not None:
            if read.strip():
                self._obey(read)

    def _read(self) -> str | None:
        """The next line, None to leave: Ctrl-D, /quit, or the second Ctrl-C."""
        try:
            read = self._keyboard.read(self._prompt())
        except EOFError:
            click.echo(err=True)
            return None
        except KeyboardInterrupt:
            click.echo(err=True)
            if self._warned:
                return None
            self._warned = True
            self._screen.tell("(Ctrl-C again, or Ctrl-D, leaves)")
            return ""
        self._warned = False
        return None if read.strip() in ("/quit", "/exit") else read

    def _prompt(self) -> str:
        return words.prompt(self.session.model, self._loop.call(self.session.meter))

    def _obey(self, read: str) -> None:
        name, rest = command_parts(read)
        try:
            if name in self._own:
                self._own[name](rest)
            elif is_command(read):
                self._command(read)
            else:
                self._follower.follow(turn(self.session, read.strip()))
        except AutocompactError as error:
            self._screen.tell(click.style(visible(str(error)), fg="red"))
        except CancelledError:
            self._screen.tell("Stopped.")
        self._warned = self._follower.interrupted

    def _command(self, read: str) -> None:
        self._screen.compaction = ""
        reply = self._follower.follow(run_command(read, session=self.session, service=self._service))
        if reply.kind == "turn":
            self._follower.follow(self.session.wait())
        elif reply.text not in self._screen.compaction:
            self._reply(reply)

    def _reply(self, reply: CommandReply) -> None:
        text = words.plain(reply.text)
        self._screen.tell(click.style(text, fg="red") if reply.kind == "error" else text)

    def _allow(self, question: Question) -> Answer:
        self._screen.tell(f"{words.line(question.tool, most=40)}: {visible(question.text)}")
        if question.diff:
            self._screen.tell(words.coloured_diff(question.diff))
        if question.note:
            self._screen.tell(question.note)
        if not question.subject:
            return Answer(allow=self._agreed("Allow it? [y/N] "))
        asked = self._said("Allow it? [y]es, [a]lways here, [N]o, ne[v]er here ")
        return Answer(
            allow=asked in ("y", "yes", "a", "always"), remember=asked in ("a", "always", "v", "never")
        )

    # What only the terminal has

    def _help(self, _rest: str) -> None:
        rows = [(f"{each.name} {each.arguments}".strip(), each.help) for each in (*COMMANDS, *OWN_COMMANDS)]
        widest = max(len(name) for name, _ in rows)
        self._screen.tell("\n".join([*(f"{name:<{widest}}  {text}" for name, text in rows), "", _HINT]))

    def _edit(self, rest: str) -> None:
        first, text = command_parts(rest)
        try:
            seq = parse_reference(first)
        except InvalidInput:
            seq, text = self.session.conversation.internals.replica.state.request or 0, rest
        self._follower.follow(_edited(self.session, seq=seq, text=text))

    def _list(self, _rest: str) -> None:
        lines = self._loop.run(self._service.conversations())
        for each in words.conversation_lines(lines, current=self.session.id):
            self._screen.tell(each)

    def _new(self, _rest: str) -> None:
        self._change(self._loop.run(self._service.create()))

    def _resume(self, rest: str) -> None:
        self._change(self._loop.run(resumed(self._service, rest, but=self.session.id)))

    def _export(self, rest: str) -> None:
        path = Path(rest or f"{self.session.id}.md").expanduser()
        if path.exists():
            raise InvalidInput(f"{path} exists: name another file")
        form = "json" if path.suffix == ".json" else "markdown"
        content = self._loop.run(self._service.export(self.session.id, format=form))
        try:
            replace_file(path, content)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
        self._screen.tell(f"written to {path}")

    def _delete(self, rest: str) -> None:
        lines = self._loop.run(self._service.conversations())
        found = [each.id for each in lines if each.id == (rest or self.session.id)]
        if not found:
            raise InvalidInput(f"there is no conversation {rest!r}: /list shows them; give the whole id")
        self._screen.tell(traces_text(self._loop.run(self._service.traces(found[0]))))
        if not self._agreed("Delete it? This cannot be undone. [y/N] "):
            return
        if found[0] == self.session.id:
            gone, session = self.session, self._loop.run(self._service.create())
            self._change(session)
            self._loop.run(self._service.delete(gone.id))
        else:
            self._loop.run(self._service.delete(found[0]))
        self._screen.tell("Deleted. A new conversation begins." if not rest else "Deleted.")

    def _agreed(self, asked: str) -> bool:
        return self._said(asked) in ("y", "yes")

    def _said(self, asked: str) -> str:
        try:
            return self._keyboard.ask(asked).strip().lower()
        except (EOFError, KeyboardInterrupt):
            return ""

    def _completions(self, typed: str) -> list[str]:
        """Completions of the line: commands, models, conversations."""
        name, space, rest = typed.partition(" ")
        if not space:
            return [each.name for each in (*COMMANDS, *OWN_COMMANDS) if typed and each.name.startswith(typed)]
        names: list[str] = []
        if name == "/model":
            names = self._models
        elif name in ("/resume", "/delete"):
            names = [each.id for each in self._loop.run(self._service.conversations())]
        return [f"{name} {each}" for each in names if each.startswith(rest)]


async def resumed(service: ChatService, name: str, *, but: str = "") -> ChatSession:
    """The conversation whose id is, or begins with, ``name``; with "" the last one used that is not ``but``.

    Raises:
        InvalidInput: there is none, or several begin like this.
    """
    lines = [each for each in await service.conversations() if each.messages]
    found = [each.id for each in lines if each.id.startswith(name) and (name or each.id != but)]
    if name in found or (found and not name):
        found = [name or found[0]]
    if len(found) == 1:
        return await service.open(found[0])
    if found:
        raise InvalidInput(f"{len(found)} conversations begin with {name!r}: {', '.join(found[:5])}")
    none = "there is no conversation yet" if not lines else "there is no other conversation"
    raise InvalidInput(
        f"no conversation begins with {name!r}: `autocompact list` shows them" if name else none
    )


async def _requests(session: ChatSession) -> list[str]:
    first = max(1, len(session.conversation) - LOOKED_AT + 1)
    log = await session.conversation.history(from_seq=first)
    return [message.text for message in log if message.is_request]


async def _edited(session: ChatSession, *, seq: int, text: str) -> TurnEnded | None:
    await session.edit(seq, text)
    return await session.wait()
