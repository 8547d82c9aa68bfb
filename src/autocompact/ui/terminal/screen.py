"""Shows what happens in a session: the answer as it streams, everything else beside it, and what is waited for."""

from __future__ import annotations

import itertools
import sys
from functools import singledispatchmethod
from typing import TextIO

import click

from autocompact.chat import events
from autocompact.events import BreakerOpened, CompactionCompleted, CompactionStarted
from autocompact.ui.terminal import words
from autocompact.ui.terminal.output import color, columns, is_styled, tell
from autocompact.ui.terminal.painter import Painter
from autocompact.ui.terminal.wrapper import Wrapper, wrapped
from autocompact.ui.text import visible

COMPRESSING = "Compressing context..."
_FRAMES = "|/-\\"


class Screen:
    """The answer goes to stdout as it comes, all else to stderr.

    Args:
        streams: whether the answer is shown as it comes. A program that reads it gets it whole, see `answer`.

    Attributes:
        answer: the words of the last whole answer.
        compaction: what was said of the last compaction.
    """

    def __init__(self, *, streams: bool) -> None:
        self.answer = ""
        self.compaction = ""
        self._streams = streams
        self._painter = Painter() if streams and is_styled(sys.stdout) else None
        self._wrapper = Wrapper(lambda: columns(sys.stdout))
        self._alive = sys.stderr.isatty()
        self._frames = itertools.cycle(_FRAMES)
        self._status = ""
        self._waiting: dict[str, str] = {}
        self._calls: dict[tuple[str, int | None], str] = {}
        self._reasoning = ""
        self._held = ""
        self._at_start = True

    def tell(self, text: str) -> None:
        """A line for the person."""
        self._clear()
        self._break()
        tell(wrapped(text, columns(sys.stderr)))

    def tick(self) -> None:
        """Show that something is waited for. To be called now and then."""
        if not self._alive or not self._at_start or not self._waiting:
            return
        what = list(self._waiting.values())[-1]
        self._clear()
        self._status = f"{next(self._frames)} {what}"
        self._draw(sys.stderr, self._status)

    def wait_for(self, what: str) -> None:
        """From now on `tick` says so, until something else is heard of."""
        self._waiting["model"] = what

    def rest(self) -> None:
        """End what is shown while waiting; the next line begins on the left."""
        self._clear()
        self._break()
        self._waiting.clear()
        self._reasoning = ""

    def _clear(self) -> None:
        if self._status:
            self._draw(sys.stderr, f"\r{' ' * len(self._status)}\r")
            self._status = ""

    def _draw(self, stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()

    def _break(self) -> None:
        """End a line that the answer left open."""
        rest = self._paint(visible(self._held), last=True)
        self._held = ""
        if rest:
            self._write(rest)
        if not self._at_start:
            click.echo()
            self._at_start = True

    def _say(self, text: str) -> None:
        self._clear()
        text = self._held + text
        # a carriage return may be the first half of a line's end
        self._held = "\r" if text.endswith("\r") else ""
        if shown := self._paint(visible(text.removesuffix(self._held))):
            self._write(shown)

    def _paint(self, text: str, *, last: bool = False) -> str:
        if self._painter is not None:
            text = self._painter.feed(text) + (self._painter.end() if last else "")
        return self._wrapper.feed(text) + (self._wrapper.end() if last else "")

    def _write(self, text: str) -> None:
        click.echo(text, nl=False, color=color())
        self._at_start = click.unstyle(text).endswith("\n")

    # What is heard

    @singledispatchmethod
    def show(self, event: object) -> None:
        """Show an event of the session; there is nothing to see of most kinds."""

    @show.register
    def _started(self, _event: events.TurnStarted) -> None:
        self._waiting["model"] = "Waiting for the model"

    @show.register
    def _text(self, event: events.TextDelta) -> None:
        self._waiting.pop("model", None)
        self._fold()
        if self._streams:
            self._say(event.text)

    @show.register
    def _thinking(self, event: events.ReasoningDelta) -> None:
        self._waiting["model"] = "Thinking"
        self._reasoning += event.text

    def _fold(self) -> None:
        if self._reasoning.strip():
            self.tell(words.thought_line(self._reasoning))
        self._reasoning = ""

    @show.register
    def _restarted(self, _event: events.AnswerRestarted) -> None:
        self._reasoning = ""
        self.tell(click.style("[discarded: the model is asked again]", fg="yellow"))

    @show.register
    def _added(self, event: events.MessageAdded) -> None:
        entry = event.entry
        if entry.message.role != "assistant":
            return
        self._fold()
        self._clear()
        self._break()
        self.answer = entry.message.text
        if entry.cut:
            self.tell(words.cut_line(entry.cut))

    @show.register
    def _tool_started(self, event: events.ToolStarted) -> None:
        self._calls[event.call_id, event.index] = event.arguments
        self._waiting[f"{event.call_id} {event.index}"] = f"Using {words.line(event.name, most=40)}"

    @show.register
    def _tool_finished(self, event: events.ToolFinished) -> None:
        self._waiting.pop(f"{event.call_id} {event.index}", None)
        self._waiting["model"] = "Waiting for the model"
        arguments = self._calls.pop((event.call_id, event.index), "")
        self.tell(
            words.tool_line(
                event.name, arguments, seconds=event.seconds, text=event.text, is_error=event.is_error
            )
        )

    @show.register
    def _compacting(self, _event: CompactionStarted) -> None:
        self._waiting["compaction"] = COMPRESSING
        if not self._alive:
            self.tell(COMPRESSING)
        self.tick()

    @show.register
    def _compacted(self, event: CompactionCompleted) -> None:
        self._waiting.pop("compaction", None)
        if event.success and event.receipt is not None:
            self.compaction = words.compacted_line(event.receipt)
            self.tell(self.compaction)
        elif not event.success:
            self.compaction = event.message
            self.tell(click.style(f"Not compacted: {words.line(event.message, most=400)}", fg="yellow"))

    @show.register
    def _stopped(self, event: BreakerOpened) -> None:
        self.tell(
            click.style(f"Automatic compaction is off now: {words.line(event.reason, most=400)}", fg="yellow")
        )

    @show.register
    def _ended(self, event: events.TurnEnded) -> None:
        self._calls.clear()
        if event.outcome == "failed":
            self.tell_failure(event.message)

    def tell_failure(self, message: str) -> None:
        """Say why there is no answer."""
        self.tell(click.style(f"{visible(message)} (/retry asks again)", fg="red"))


class PipeScreen(Screen):
    """The screen of one question: how it failed is the program's own last word, and said once."""

    def tell_failure(self, message: str) -> None:
        """See `Screen.tell_failure`."""
