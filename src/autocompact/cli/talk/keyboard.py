"""What the person types: a line at a time, with history and completion where Python has readline.

Python's readline and no library for it: this is one line of text, and the standard library's `input` uses readline as
soon as it is imported. The history is that of the conversation, from its own log, so no file of it is left behind.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence

import click

from autocompact.cli.talk.interrupts import interruptible
from autocompact.cli.terminal import color

try:
    import readline
except ImportError:  # pragma: no cover - Windows has none: lines are typed plainly
    readline = None

Completer = Callable[[str], Sequence[str]]
_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")


class Keyboard:
    """Reads lines.

    Args:
        complete: what a line may become.
    """

    def __init__(self, complete: Completer) -> None:
        self._complete = complete
        self._candidates: Sequence[str] = ()
        self._terminal = sys.stdin.isatty() and sys.stdout.isatty()
        if readline is not None and self._terminal:
            readline.set_completer_delims("\n")
            readline.set_completer(self._candidate)
            readline.set_auto_history(False)
            libedit = "libedit" in (readline.__doc__ or "")
            readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")

    def _candidate(self, typed: str, state: int) -> str | None:
        if state == 0:
            self._candidates = self._complete(typed)
        return self._candidates[state] if state < len(self._candidates) else None

    def remember(self, lines: Iterable[str]) -> None:
        """Begin the history with these, the oldest first; what was in it is forgotten."""
        if readline is not None and self._terminal:
            readline.clear_history()
            for each in lines:
                readline.add_history(each)

    def read(self, prompt: str) -> str:
        r"""The next line, in the history from now on. One that ends with a backslash goes on with the next one.

        Raises:
            EOFError: there is none (Ctrl-D).
        """
        read = self.ask(prompt)
        while read.endswith("\\"):
            read = f"{read[:-1]}\n{self.ask('... ')}"
        if readline is not None and self._terminal and read.strip():
            readline.add_history(read)
        return read

    def ask(self, prompt: str) -> str:
        """A line that the history does not keep.

        Raises:
            EOFError: there is none (Ctrl-D).
        """
        if not self._terminal:
            click.echo(prompt, nl=False, err=True, color=color())
            return input()
        with interruptible():
            return input(self._shown(prompt))

    def _shown(self, prompt: str) -> str:
        """The prompt with what takes no room marked, as GNU readline wants it."""
        libedit = readline is None or "libedit" in (readline.__doc__ or "")
        if color() is False or libedit:
            return click.unstyle(prompt)
        return _STYLE.sub("\x01\\1\x02", prompt)
