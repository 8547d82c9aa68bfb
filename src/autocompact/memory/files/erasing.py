"""Erasing a conversation from a memory folder: from CONTEXT_ARCHIVE.md and DONE.md, and their copies in ``backups/``.

Each file is replaced whole, so that a run that dies can be repeated. No copy of what was erased is kept.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autocompact.errors import InvalidInput, MemoryInUse, StoreUnavailable
from autocompact.memory.documents.context_archive import CONTEXT_ARCHIVE
from autocompact.memory.documents.erasing import Erased, Subject, erased, erased_tasks
from autocompact.memory.documents.pages import DONE
from autocompact.memory.files.changes import BACKUPS, locked
from autocompact.runtime.files import replace_file

_TRIES = 8
_NOTHING_DONE = "Nothing was deleted."


@dataclass(frozen=True, slots=True, kw_only=True)
class Archives:
    """The files of a memory folder that have entries of a conversation.

    Attributes:
        folder: the memory folder.
        entries: in CONTEXT_ARCHIVE.md.
        tasks: that upkeep noted of it in DONE.md.
        in_backups: in the copies of both that upkeep made.
    """

    folder: Path
    entries: int = 0
    tasks: int = 0
    in_backups: int = 0

    def __bool__(self) -> bool:
        """True if there is anything of it."""
        return bool(self.entries or self.tasks or self.in_backups)


def find_entries(folder: Path, subject: Subject) -> Archives:
    """Find what `erase_entries` would remove; change nothing.

    Raises:
        InvalidInput: a file is no text, or names the conversation in lines that are no entry.
        StoreUnavailable: a file cannot be read or written.
    """
    entries = tasks = in_backups = 0
    for path in _files(folder):
        found = _erased(path, subject)
        if found.entries:
            _check_writable(path)
        if path.parent != folder:
            in_backups += found.entries
        elif path.name == DONE:
            tasks += found.entries
        else:
            entries += found.entries
    return Archives(folder=folder, entries=entries, tasks=tasks, in_backups=in_backups)


def erase_entries(folder: Path, subject: Subject) -> Archives:
    """Take the entries of a conversation out of the folder; may be repeated.

    Raises:
        InvalidInput: a file is no text, or names the conversation in lines that are no entry.
        StoreUnavailable: a file cannot be read or written.
        MemoryInUse: another process is at the folder for more than ten seconds.
    """
    found = find_entries(folder, subject)
    if not found:
        return found
    with locked(folder):
        for path in _files(folder):
            _erase(path, subject)
    return found


def _files(folder: Path) -> Iterator[Path]:
    """The archive and the tasks, and their copies in the backups."""
    for name in (CONTEXT_ARCHIVE, DONE):
        for path in (folder / name, *sorted((folder / BACKUPS).glob(f"*/{name}"))):
            if path.is_file():
                yield path


def _without(content: bytes, subject: Subject, *, path: Path) -> Erased:
    return erased_tasks(content, subject) if path.name == DONE else erased(content, subject, name=str(path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreUnavailable(
            f"{str(path)!r} cannot be read ({error.strerror or error}): make it readable, then delete again. {_NOTHING_DONE}"
        ) from error


def _erased(path: Path, subject: Subject) -> Erased:
    try:
        found = _without(_read(path), subject, path=path)
    except InvalidInput as error:
        raise InvalidInput(f"{error}, then delete again. {_NOTHING_DONE}") from error
    if found.unread:
        lines = ", ".join(map(str, found.unread))
        raise InvalidInput(
            f"{str(path)!r} names the conversation {subject.conversation!r} in line {lines}, outside of any entry that "
            f"autocompact wrote: remove those lines, then delete again. {_NOTHING_DONE}"
        )
    return found


def _check_writable(path: Path) -> None:
    """Refuse what its owner made read-only, also where the system would let us (as root, or by replacing the file)."""
    for each in (path, path.parent):
        if not each.stat().st_mode & stat.S_IWUSR:
            raise StoreUnavailable(
                f"{str(each)!r} is read-only and has entries of this conversation: make it writable (chmod u+w), then "
                f"delete again. {_NOTHING_DONE}"
            )


def _erase(path: Path, subject: Subject) -> None:
    for _ in range(_TRIES):
        before = _read(path)
        found = _without(before, subject, path=path)
        if not found.entries:
            return
        if path.read_bytes() != before:
            continue  # somebody added to it meanwhile
        try:
            replace_file(path, found.content)
        except OSError as error:
            raise StoreUnavailable(
                f"{str(path)!r} cannot be written ({error.strerror or error}): make it writable, then delete again"
            ) from error
        return
    raise MemoryInUse(f"somebody keeps changing {str(path)!r}: delete again when that has ended")
