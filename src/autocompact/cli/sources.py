"""Input and output of commands: the source of a session, and the destination of a result."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

from msgspec import Struct

from autocompact.cli.guard import drop_output, refusal
from autocompact.errors import InvalidInput, UnreadableSession
from autocompact.runtime.files import make_folder, replace_file
from autocompact.sessions import Session
from autocompact.stores.naming import StorePlace
from autocompact.ui.terminal.output import tell
from autocompact.ui.text import visible

T = TypeVar("T")

STDIN = "-"


class Source(Struct, frozen=True, kw_only=True):
    """A session file.

    Attributes:
        name: for people.
        path: to read it from.
        is_copy: it is a copy of stdin or of a pipe, which goes after the command.
    """

    name: str
    path: Path
    is_copy: bool = False

    def read(self) -> Session:
        """The session.

        Raises:
            UnreadableSession: it is none; the message calls it by its name.
        """
        from autocompact.sessions import read_session

        return self.read_with(read_session)

    def read_with(self, reader: Callable[[Path], T]) -> T:
        """Read the file with ``reader``.

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
    if path.is_char_device() and session != STDIN:
        raise InvalidInput(f"{session!r} is a device, which may never end: name a file, or - and pipe one in")
    if session != STDIN and not path.is_fifo():
        yield Source(name=session, path=path)
        return
    if session == STDIN and not is_piped():
        raise InvalidInput("SESSION is -, but nothing is piped in: name a file, or pipe one in")
    # only here: a file is read without them
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="autocompact-") as folder:
        copy = Path(folder) / "session"
        name = "standard input" if session == STDIN else session
        try:
            with copy.open("wb") as file, _stream(session) as stream:
                shutil.copyfileobj(stream, file)
        except OSError as error:
            raise UnreadableSession(
                f"{name!r} cannot be copied to {folder!r}: {refusal(error)}, or set TMPDIR, or name a file"
            ) from error
        yield Source(name=name, path=copy, is_copy=True)


def _stream(session: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if session == STDIN else Path(session).open("rb")


def is_piped() -> bool:
    """True if stdin is there and is no terminal."""
    return _stdin() is not None and not can_ask()


def is_closed() -> bool:
    """True if there is no stdin."""
    return _stdin() is None


def can_ask() -> bool:
    """True if stdin is a terminal, at which somebody can answer."""
    stream = _stdin()
    return stream is not None and stream.isatty()


def fills_screen() -> bool:
    """True if stdout is a terminal, on which a long text would push everything else away."""
    stream: TextIO | None = sys.stdout  # None where it was closed (>&-)
    return stream is not None and stream.isatty()


def _stdin() -> TextIO | None:
    return sys.stdin  # None where it was closed (<&-)


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
        raise InvalidInput(f"--summary {str(path)!r} cannot be read: {refusal(error)}") from error
    if "\0" in text:
        raise InvalidInput(f"--summary {str(path)!r} is a binary file: give a text")
    if not text.strip():
        raise InvalidInput(f"--summary {str(path)!r} is empty: write a summary into it, or leave it out")
    return text


def check_out(out: Path | None, *, session: StorePlace, option: str = "--out") -> None:
    """See to it that ``out`` can be written, before any work is done.

    Raises:
        InvalidInput: it cannot.
    """
    if out is None:
        return
    if out.is_dir():
        raise InvalidInput(f"{option} {str(out)!r} is a folder: name a file in it")
    there = next(folder for folder in out.absolute().parents if folder.exists())
    if not there.is_dir():
        raise InvalidInput(f"{option} {str(out)!r}: {str(there)!r} is no folder: choose another one")
    if isinstance(session, Path) and out.exists() and session.exists() and out.samefile(session):
        raise InvalidInput(
            f"{option} {str(out)!r} is the session itself, which is never overwritten: name another file"
        )


def deliver(content: Iterable[bytes], out: Path | None, *, option: str = "--out") -> None:
    """Write ``content`` to ``out``, whole or not at all, or to stdout. Folders on the way to ``out`` are made, and named.

    Raises:
        InvalidInput: ``out`` or stdout cannot be written.
        BrokenPipeError: nobody reads stdout any more.
    """
    if out is None:
        _to_stdout(content)
        return
    folder = out.absolute().parent
    is_new = not folder.exists()
    try:
        make_folder(folder)
        if is_new:  # it may be a slip of the pen
            tell(f"The folder {str(out.parent)!r} was not there and has been made.")
        replace_file(out, content)
    except OSError as error:
        raise InvalidInput(f"{option} {str(out)!r} cannot be written: {refusal(error)}") from error


def _to_stdout(content: Iterable[bytes]) -> None:
    if sys.stdout is None:  # closed (>&-)
        raise InvalidInput(
            "the output cannot be written, stdout is closed: name a file with --out, or open it"
        )
    # an error while they are made is none of stdout; a program reads the bytes, a terminal would obey them
    pieces = _for_a_terminal(content) if sys.stdout.isatty() else iter(content)
    for piece in pieces:
        _written(piece)
    _written(b"")


def _for_a_terminal(content: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in content:
        yield visible(decoder.decode(piece)).encode("utf-8", "replace")
    yield visible(decoder.decode(b"", True)).encode("utf-8", "replace")


def _written(piece: bytes) -> None:
    try:
        sys.stdout.buffer.write(piece)
        if not piece:
            sys.stdout.buffer.flush()
    except BrokenPipeError:  # whoever reads it has seen enough (| head): click ends without a word
        raise
    except OSError as error:
        drop_output()
        raise InvalidInput(f"the output cannot be written: {refusal(error)}, or write elsewhere") from error
