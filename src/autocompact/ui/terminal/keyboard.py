"""Reads messages that the person types, of one line or many, with history and completion.

On a terminal `prompt_toolkit` reads the keys: a pasted text is one message, however many lines it has (bracketed paste),
and what is typed can be edited over lines. The history is that of the conversation, from its own log, so no file of it is
left behind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from autocompact.ui.terminal.output import color

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

Completer = Callable[[str], Sequence[str]]

_CONTINUES = "... "


class Keyboard:
    """Reads messages.

    Args:
        complete: what a line may become.
    """

    def __init__(self, complete: Completer) -> None:
        self._complete = complete
        self._lines: list[str] = []
        self._session: PromptSession[str] | None = None
        self._terminal = sys.stdin.isatty() and sys.stdout.isatty()

    def remember(self, lines: Iterable[str]) -> None:
        """Begin the history with these, the oldest first; what was in it is forgotten."""
        self._lines, self._session = list(lines), None

    def read(self, prompt: str) -> str:
        r"""The next message, in the history from now on. A line that ends with a backslash goes on with the next one.

        Raises:
            EOFError: there is none (Ctrl-D).
            KeyboardInterrupt: Ctrl-C where nothing is written.
        """
        if not self._terminal:
            read = self.ask(prompt)
            while read.endswith("\\"):
                read = f"{read[:-1]}\n{self.ask(_CONTINUES)}"
            return read
        if self._session is None:
            self._session = _editor(self._complete, self._lines)
        return self._session.prompt(_styled(prompt))

    def ask(self, prompt: str) -> str:
        """A line that the history does not keep.

        Raises:
            EOFError: there is none (Ctrl-D).
            KeyboardInterrupt: Ctrl-C.
        """
        if not self._terminal:
            click.echo(prompt, nl=False, err=True, color=color())
            return input()
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import DummyHistory

        session: PromptSession[str] = PromptSession(history=DummyHistory(), output=_output())
        return session.prompt(_styled(prompt))


def _output() -> Output:
    """The terminal. It is not asked where its cursor is: many do not answer, and the program would wait for them."""
    from prompt_toolkit.output import ColorDepth, create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    output = create_output(stdout=sys.stdout)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
        if color() is False:
            output.default_color_depth = ColorDepth.DEPTH_1_BIT
    return output


def _editor(complete: Completer, lines: Sequence[str]) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.completion.base import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.shortcuts import CompleteStyle

    class Words(Completer):
        """Completes the whole line."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002 - the interface has it
            """See `prompt_toolkit.completion.Completer`."""
            typed = document.text_before_cursor
            for each in complete(typed) if "\n" not in typed else ():
                yield Completion(each, start_position=-len(typed))

    return PromptSession(
        multiline=True,
        history=InMemoryHistory(lines),
        completer=Words(),
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
        key_bindings=_keys(),
        prompt_continuation=_styled(_CONTINUES),
        enable_open_in_editor=True,
        output=_output(),
    )


def _keys() -> KeyBindings:
    """Enter sends, Alt+Enter begins a line, as does Enter after a backslash; Ctrl-C drops what is written, if anything is."""
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition, completion_is_selected
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter", filter=~completion_is_selected)
    def _send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c", filter=Condition(lambda: bool(get_app().current_buffer.text)))
    def _drop(event: KeyPressEvent) -> None:
        event.current_buffer.reset()

    return keys


def _styled(prompt: str) -> StyleAndTextTuples:
    """The prompt; its last sign has a colour of its own, as a terminal is not sent blanks that have none."""
    from prompt_toolkit.formatted_text import ANSI, to_formatted_text

    shown = to_formatted_text(
        ANSI(prompt.rstrip(" ") if color() is not False else click.unstyle(prompt).rstrip(" "))
    )
    return [*shown, ("fg:ansibrightblack", " ")]
