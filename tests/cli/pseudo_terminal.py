"""Runs the program in a real terminal, as far as it can tell: a pseudo-terminal whose keys a test presses."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.warm import command

PATIENCE = 60.0
"""Seconds in which something must happen, on however slow a machine."""

CTRL_C, CTRL_D, DISCARD, TAB, UP = "\x03", "\x04", "\x15", "\t", "\x1b[A"
_PROMPT, _ASKING = "% > ", "\x1b[?2004h"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")

# A session without a terminal gets the one that it opens first: only then does Ctrl-C reach it.
_START = "import os, sys; os.close(os.open(os.ttyname(0), os.O_RDWR)); os.execv(sys.argv[1], sys.argv[1:])"


class PseudoTerminal:
    """``with PseudoTerminal("chat", …) as terminal:`` presses keys and reads what the screen was sent.

    Attributes:
        raw: everything that was sent, as it came.
    """

    def __init__(self, *arguments: str, cwd: Path, env: dict[str, str]) -> None:
        self.raw = b""
        self._seen = 0
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 250, 0, 0))
        started = [sys.executable, "-c", _START, *command(), *arguments]
        self._process = subprocess.Popen(
            started, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=env, start_new_session=True
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def text(self) -> str:
        """What was sent, without what only steers the screen."""
        return "".join(self._pieces)

    @property
    def _pieces(self) -> list[str]:
        """The text, parted where the program began to ask for a line."""
        pieces = self.raw.decode(errors="replace").split(_ASKING)
        return [re.sub(r"\r+\n", "\n", _ESCAPES.sub("", piece)) for piece in pieces]

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def enter(self, line: str) -> None:
        self.press(f"{line}\r")

    def until(self, text: str) -> str:
        """Wait for ``text`` after what was waited for before; what came up to its end."""
        while (at := self.text.find(text, self._seen)) < 0:
            assert self._read(), f"{text!r} never came after:\n{self.text[self._seen :]}"
        begin, self._seen = self._seen, at + len(text)
        return self.text[begin : self._seen]

    def prompt(self) -> str:
        """Wait until the program asks for a line. What was typed is shown once more, prompt and all, when it is sent."""
        shown = self.until(_PROMPT)
        while self._is_repeated():
            shown += self.until(_PROMPT)
        return shown

    def _is_repeated(self) -> bool:
        """Whether the prompt that was seen last is not the first one of its line."""
        end = 0
        for piece in self._pieces:
            begin, end = end, end + len(piece)
            if begin < self._seen <= end:
                return _PROMPT in piece[: self._seen - begin - len(_PROMPT)]
        return False

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def _read(self) -> bool:
        """Wait for more; False at the end."""
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        try:
            more = os.read(self._master, 65_536) if ready else b""
        except OSError:  # Linux says so when the last program has closed the terminal
            more = b""
        self.raw += more
        return bool(more)
