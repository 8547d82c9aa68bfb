"""Changes of several files of a memory folder, all or none, also when the process dies in the middle.

What is to change is first written beside the files (``.journal/``: the new contents and the old ones), and then a plan
that names them: from that moment on the change counts. Then each file is replaced, the old contents become the backup,
and the journal is removed. Whoever takes the lock next finds what a dead process left: without a plan it is undone,
with one it is finished.

Somebody may have edited a file meanwhile; what a person wrote is never overwritten. Files that entries go to are
written before those that they come from, so that an entry stands twice at worst, which the next run sees, and is never
lost.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from autocompact.errors import MemoryInUse, StoreUnavailable
from autocompact.runtime.files import PRIVATE_FILE, make_folder, read_file, replace_file

LOCK, JOURNAL, BACKUPS, IGNORE = ".lock", ".journal", "backups", ".gitignore"
PATIENCE = 10.0
"""Seconds to wait for another process that is at the folder."""

Failpoint: TypeAlias = Callable[[str], None]
"""Called with the name of each step when it is done: a test dies there."""
State: TypeAlias = Literal["before", "after", "other"]

_PLAN, _OLD, _NEW = "plan.json", "old", "new"
_IGNORED = f"# What autocompact keeps for itself; the Markdown files are yours to commit.\n/{LOCK}\n/{JOURNAL}/\n/{BACKUPS}/\n/.schedule.*\n"


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a change; the hashes are of its contents, "" where it does not exist."""

    name: str
    before: str
    after: str
    is_source: bool


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    backup: str
    files: list[_File]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of several files.

    Attributes:
        before: the contents it was decided on, by name; a file that is not in it does not exist.
        after: the new contents, by name.
        sources: the files that entries are taken out of.
        backup: name of the backup, "" for none.
    """

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    sources: Collection[str] = ()
    backup: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A change that was carried out; ``backup`` is the folder with the files as they were, None if there were none."""

    backup: Path | None


@contextmanager
def locked(folder: Path, *, patience: float = PATIENCE) -> Generator[None]:
    """Nobody else changes the folder, in this process or another. Makes it where it is missing, and mends it.

    Raises:
        MemoryInUse: somebody else is at it for longer than ``patience`` seconds.
        StoreUnavailable: the folder cannot be made or written.
    """
    from filelock import FileLock, Timeout

    with _told(folder):
        # before the lock, whose file is in it
        make_folder(folder)
        # whoever makes the folder, journal and lock must not end up in somebody's repository
        if not (folder / IGNORE).exists():
            replace_file(folder / IGNORE, _IGNORED.encode())
        lock = FileLock(folder / LOCK, timeout=patience, mode=PRIVATE_FILE)
        try:
            lock.acquire()
        except Timeout:
            raise MemoryInUse(
                f"another run is at {str(folder)!r} for more than {patience:g} s: try again when it has ended"
            ) from None
    try:
        with _told(folder):
            recover(folder)
        yield
    finally:
        lock.release()


@contextmanager
def _told(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        name = Path(str(error.filename)).name if error.filename else folder.name
        file = f"{name}: " if name != folder.name else ""
        raise StoreUnavailable(
            f"the memory folder {str(folder)!r}: {file}{error.strerror or error}"
        ) from error


def read_files(folder: Path, names: Collection[str]) -> dict[str, bytes]:
    """The contents of those of ``names`` that exist.

    Raises:
        StoreUnavailable: one of them cannot be read.
    """
    found: dict[str, bytes] = {}
    with _told(folder):
        for name in names:
            with suppress(FileNotFoundError):
                # asking first whether it exists would leave a gap in which it goes
                found[name] = read_file(folder / name)
    return found


def write(folder: Path, change: Change, *, failpoint: Failpoint = lambda _: None) -> Written | None:
    """Carry out ``change``, under the lock; None, and nothing done, if a file is no longer as it was decided on.

    Raises:
        StoreUnavailable: it cannot be written; the next who takes the lock undoes or finishes it.
    """
    with _told(folder):
        files = [
            _File(
                name=name,
                before=_hash(change.before.get(name)),
                after=_hash(content),
                is_source=name in change.sources,
            )
            for name, content in change.after.items()
        ]
        # Where entries come from is written last, see above.
        files.sort(key=lambda file: file.is_source)
        # an editor has saved meanwhile: the plan is of another text, so it is made anew
        if any(_state(folder, file) != "before" for file in files):
            return None
        for file in files:
            # before anything is staged: refused whole or done whole
            _check_writable(folder / file.name)
        plan = _Plan(backup=change.backup and _free(folder / BACKUPS, change.backup), files=files)
        with _cleared_away(folder, plan):
            _stage(folder / JOURNAL, plan, change=change, failpoint=failpoint)
            if _settle(folder, plan, failpoint=failpoint) == "undone":
                return None
    kept = folder / BACKUPS / plan.backup if plan.backup else None
    return Written(backup=kept if kept and kept.is_dir() else None)


def _check_writable(path: Path) -> None:
    """Refuse what its owner made read-only, also where the system would let us (as root, or by replacing the file).

    Raises:
        StoreUnavailable: it is read-only.
    """
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise StoreUnavailable(
            f"{str(path)!r} is read-only, so nothing was changed: make it writable (chmod u+w), then run again"
        )


@contextmanager
def _cleared_away(folder: Path, plan: _Plan) -> Generator[None]:
    """Undo at once what could not be written whole, if that can be done: the disk may be full."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            # without a plan nothing was replaced yet
            if not (folder / JOURNAL / _PLAN).exists():
                shutil.rmtree(folder / JOURNAL)
            elif any(_state(folder, file) != "after" for file in plan.files):
                _undo(folder, plan)
        raise


def recover(folder: Path) -> Literal["finished", "undone"] | None:
    """Finish or undo, under the lock, what a dead process left; None if it left nothing."""
    journal = folder / JOURNAL
    if not journal.is_dir():
        return None
    try:
        plan = msgspec.json.decode((journal / _PLAN).read_bytes(), type=_Plan)
    except FileNotFoundError:
        # died while staging: no file was touched
        shutil.rmtree(journal)
        return "undone"
    return _settle(folder, plan, failpoint=lambda _: None)


def _stage(journal: Path, plan: _Plan, *, change: Change, failpoint: Failpoint) -> None:
    for part, contents in ((_OLD, change.before), (_NEW, change.after)):
        for file in plan.files:
            if file.name in contents:
                path = journal / part / file.name
                make_folder(path.parent)
                replace_file(path, contents[file.name])
                failpoint(f"staged {part} {file.name}")
        _sync(journal / part)
    _sync(journal)
    # the plan last, after everything it names is durable: from here on the change counts
    replace_file(journal / _PLAN, msgspec.json.encode(plan))
    _sync(journal)
    _sync(journal.parent)
    failpoint("planned")


def _settle(folder: Path, plan: _Plan, *, failpoint: Failpoint) -> Literal["finished", "undone"]:
    """Replace what is not replaced yet; take it back if somebody edited a file before entries came into it."""
    journal = folder / JOURNAL
    for file in plan.files:
        state = _state(folder, file)
        # edited by a person in the middle of a crash. While no source has lost its entries, taking everything
        # back loses nothing; afterwards going on does.
        if state == "other" and all(
            _state(folder, each) == "before" for each in plan.files if each.is_source
        ):
            _undo(folder, plan)
            return "undone"
        if state == "before":
            path = folder / file.name
            make_folder(path.parent)
            replace_file(path, (journal / _NEW / file.name).read_bytes())
            failpoint(f"replaced {file.name}")
    _sync(folder)
    if plan.backup and (journal / _OLD).is_dir():
        make_folder(folder / BACKUPS)
        # renamed, not copied: the backup is whole or not there
        (journal / _OLD).rename(folder / BACKUPS / plan.backup)
        _sync(folder / BACKUPS)
        failpoint("backed up")
    _clear(journal, failpoint=failpoint)
    return "finished"


def _undo(folder: Path, plan: _Plan) -> None:
    for file in plan.files:
        if _state(folder, file) == "after":
            if file.before:
                replace_file(folder / file.name, (folder / JOURNAL / _OLD / file.name).read_bytes())
            else:
                (folder / file.name).unlink()
    _sync(folder)
    _clear(folder / JOURNAL, failpoint=lambda _: None)


def _clear(journal: Path, *, failpoint: Failpoint) -> None:
    """Remove the journal, the plan first: without it nobody takes up what is done."""
    (journal / _PLAN).unlink()
    _sync(journal)
    failpoint("unplanned")
    shutil.rmtree(journal)
    failpoint("cleared")


def _state(folder: Path, file: _File) -> State:
    try:
        now = _hash((folder / file.name).read_bytes())
    except FileNotFoundError:
        now = ""
    return "after" if now == file.after else "before" if now == file.before else "other"


def _hash(content: bytes | None) -> str:
    return "" if content is None else sha256(content).hexdigest()


def _free(folder: Path, name: str) -> str:
    """``name``, or with a number behind it where there is one already."""
    names: Sequence[str] = os.listdir(folder) if folder.is_dir() else ()
    number = 1
    free = name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free


def _sync(folder: Path) -> None:
    """Make the names in ``folder`` durable; Windows knows no such thing for folders."""
    if os.name == "nt" or not folder.is_dir():
        return
    # a renamed file is durable only once its folder is
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
