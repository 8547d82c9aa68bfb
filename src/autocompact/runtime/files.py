"""Files that the program makes: for their owner alone, and replaced whole, so that no reader ever sees half of one.

What a conversation holds concerns nobody else on the machine: new files get the mode 0600, new folders 0700, whatever
the umask of the process. A file that is there keeps its mode, except for what `close_to_others` is called with.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
"""Modes of what the program makes."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write ``content`` to ``path`` so that it is there whole or not at all, also after a power cut.

    A link stays a link, to the new content. The mode of an existing file stays, a new one is its owner's alone. What is
    no file (a device, a pipe) is written to, never replaced.

    Args:
        path: the file.
        content: all of it, or its pieces in order; an error while they are made leaves ``path`` as it was.

    Raises:
        OSError: the folder is missing or cannot be written; ``path`` is as it was.
    """
    pieces = (content,) if isinstance(content, bytes) else content
    try:
        _replace(path.resolve(), pieces)
    except OSError as error:
        # The caller knows nothing of the temporary file; an error while writing names none at all.
        error.filename, error.filename2 = str(path), None
        raise


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as device:
            device.writelines(pieces)
        return
    temporary = target.with_name(f".autocompact-{secrets.token_hex(6)}")
    made = os.open(temporary, _NEW_FILE, PRIVATE_FILE)
    try:
        with os.fdopen(made, "wb") as file:
            file.writelines(pieces)
            file.flush()
            # before it takes the other's place: a power cut could else leave the new name on an empty file
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except BaseException:
        # after it was closed: Windows removes no file that is open
        temporary.unlink(missing_ok=True)
        raise


def read_file(path: Path) -> bytes:
    """The content of a file that may have come with a repository, where a link can lead to ``/dev/zero``.

    Raises:
        OSError: it cannot be read, or is a device or a pipe, which may never end.
    """
    # a folder is left to `read_bytes`, which says so
    if stat.S_IFMT(path.stat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        raise OSError(errno.EINVAL, "it is a device or a pipe, which may never end", str(path))
    return path.read_bytes()


def make_folder(path: Path) -> None:
    """Make the folder, and those above it that are missing, for their owner alone; one that is there stays as it is.

    Raises:
        OSError: it cannot be made.
    """
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """Make an empty file for its owner alone where there is none.

    Raises:
        OSError: it cannot be made.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, _NEW_FILE, PRIVATE_FILE))


def make_file_with(path: Path, content: bytes) -> None:
    """Make a file for its owner alone where there is none; whoever finds it finds all of ``content`` in it.

    Raises:
        FileExistsError: there is one of that name.
        OSError: it cannot be made.
    """
    temporary = path.with_name(f".autocompact-{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(temporary, _NEW_FILE, PRIVATE_FILE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        give_name(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def give_name(temporary: Path, path: Path) -> None:
    """Let a file be called ``path``, unless one is; ``temporary`` may stay as a second name of it.

    Raises:
        FileExistsError: there is one of that name.
        OSError: it cannot be done.
    """
    try:
        # not a rename, which takes the place of a file that another program made meanwhile
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without links, FAT say
        # a gap is left for a program that makes the file right now; an empty file to keep the name would be read
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        temporary.rename(path)


def close_to_others(path: Path) -> None:
    """Take the rights of group and others away from a file of ours, if it is there and belongs to this account."""
    with suppress(OSError):
        mode = path.stat().st_mode & 0o777
        if mode & ~PRIVATE_FOLDER:
            path.chmod(mode & PRIVATE_FOLDER)
