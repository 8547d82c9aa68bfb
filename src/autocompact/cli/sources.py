"""Where a session comes from and where a result goes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from autocompact.errors import InvalidInput, UnreadableSession
from autocompact.files import replace_file

if TYPE_CHECKING:
    from autocompact.sessions import Session

T = TypeVar("T")

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A session file: ``name`` for people, ``path`` to read it from (a copy of stdin or of a pipe)."""

    name: str
    path: Path

    def read(self) -> Session:
        """The session.

        Raises:
            UnreadableSession: it is none; the message calls it by its name.
        """
        from autocompact.sessions import read_session

        return self.read_with(read_session)

    def read_with(self, reader: Callable[[Path], T]) -> T:
        """What ``reader`` makes of the file.

        Raises:
            UnreadableSession: as the reader says, but with the name for people.
        """
        try:
            return reader(self.path)
        except UnreadableSession as error:
            raise UnreadableSession(str(error).replace(repr(str(self.path)), repr(self.name))) from error


@contextmanager
def opened(session: str) -> Generator[Source]:
    """The session of the command line: a file, ``-`` for stdin, or a pipe."""
    path = Path(session)
    if session != STDIN and not path.is_fifo():
        yield Source(name=session, path=path)
        return
    if session == STDIN and sys.stdin.isatty():
        raise InvalidInput("SESSION is -, but nothing is piped in: name a file, or pipe one in")
    with tempfile.TemporaryDirectory(prefix="autocompact-") as folder:
        copy = Path(folder) / "session"
        with copy.open("wb") as file:
            if session == STDIN:
                shutil.copyfileobj(sys.stdin.buffer, file)
            else:
                with path.open("rb") as pipe:
                    shutil.copyfileobj(pipe, file)
        yield Source(name="standard input" if session == STDIN else session, path=copy)


def read_text(path: Path) -> str:
    """The text of a file given with ``--summary``.

    Raises:
        InvalidInput: it cannot be read, or is no text in UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"--summary {str(path)!r} is no text in UTF-8: save it as such") from error
    except OSError as error:
        raise InvalidInput(f"--summary {str(path)!r} cannot be read: {error.strerror or error}") from error
    if "\0" in text:
        raise InvalidInput(f"--summary {str(path)!r} is a binary file: give a text")
    if not text.strip():
        raise InvalidInput(f"--summary {str(path)!r} is empty: write a summary into it, or leave it out")
    return text


def check_out(out: Path | None, *, session: Path) -> None:
    """See to it that ``out`` can be written, before any work is done.

    Raises:
        InvalidInput: it cannot.
    """
    if out is None:
        return
    if out.is_dir():
        raise InvalidInput(f"--out {str(out)!r} is a folder: name a file in it")
    if not out.absolute().parent.is_dir():
        raise InvalidInput(f"--out {str(out)!r}: there is no folder {str(out.parent)!r}; make it first")
    if out.exists() and session.exists() and out.samefile(session):
        raise InvalidInput(
            f"--out {str(out)!r} is the session itself, which is never overwritten: name another file"
        )


def deliver(content: Iterable[bytes], out: Path | None) -> None:
    """Write ``content`` to ``out``, whole or not at all, or to stdout.

    Raises:
        InvalidInput: ``out`` cannot be written.
        OSError: stdout cannot be written.
    """
    if out is None:
        sys.stdout.buffer.writelines(content)
        sys.stdout.buffer.flush()
        return
    try:
        replace_file(out, content)
    except OSError as error:
        raise InvalidInput(f"--out {str(out)!r} cannot be written: {error.strerror or error}") from error
