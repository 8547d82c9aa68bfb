"""Closes and archives one session: its entry, the tasks it finished, the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autocompact.compaction.record import Compaction
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted
from autocompact.errors import MemoryInUse
from autocompact.ledger.rendering import told_alone
from autocompact.memory.documents.archive_entries import entries_in
from autocompact.memory.documents.context_archive import ARCHIVE_HEADING, CONTEXT_ARCHIVE, ArchiveEntry
from autocompact.memory.documents.index import plan_index
from autocompact.memory.documents.pages import DECISIONS, NAMES, Pages
from autocompact.memory.documents.session import plan_noting
from autocompact.memory.files.changes import Change, Failpoint, locked, read_files, write
from autocompact.memory.files.others import background_files, topics_in
from autocompact.memory.observing import TRIES, today
from autocompact.memory.sessions.closing import SessionPolicy, close_kept, close_recorded, is_archived
from autocompact.memory.sessions.finding import Kept, Places, find_session
from autocompact.memory.upkeep import FileChange
from autocompact.ports import Clock, SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRun:
    """The outcome of archiving a session.

    Attributes:
        name: of the session.
        path: its file; None for a conversation of ours.
        record: its compaction; None if there was nothing to do.
        changes: the files of the folder that changed, or would.
        tasks: that were noted in DONE.md.
        backup: folder with the changed files as they were, None if there were none before.
    """

    name: str
    path: Path | None = None
    record: Compaction | None = None
    changes: tuple[FileChange, ...] = ()
    tasks: tuple[str, ...] = ()
    backup: Path | None = None

    @property
    def summary(self) -> Redacted:
        """The summary to be read by itself, without the context that it begins; "" if nothing was done."""
        return told_alone(self.record.summary, self.record.ledger.entries) if self.record else EMPTY


async def compact_session_now(
    folder: Path,
    wanted: str | None = None,
    *,
    places: Places | None = None,
    policy: SessionPolicy | None = None,
    clock: Clock | None = None,
    dry_run: bool = False,
    failpoint: Failpoint = lambda _: None,
) -> SessionRun:
    """Compact a session, archive it in the memory folder and note the tasks that it finished.

    A recorded session is only read. A conversation of ours is compacted in its store, as ``/compact`` does it. One
    that has not gone on since its last entry is left alone, and no task of a session is noted twice.

    Args:
        folder: the memory folder; made where it is missing.
        wanted: a file, or the name of a conversation of ours; by default the newest session.
        places: where sessions are.
        policy: how they are closed.
        clock: what time it is.
        dry_run: only say what would happen; the model is asked all the same.
        failpoint: for tests, see `autocompact.memory.files.changes`.

    Raises:
        InvalidInput: there is no such session, or a file of the folder is no text.
        UnreadableSession: the file is no session.
        ModelError: the model did not answer.
        IncompressibleContext: what must stay does not fit.
        MemoryInUse: another process is at the folder for more than ten seconds.
        StoreError: the folder or the store cannot be used.
    """
    at, how, clock = places or Places(), policy or SessionPolicy(), clock or SystemClock()
    found = await find_session(wanted, at)
    files = read_files(folder, NAMES)
    if isinstance(found, Kept):
        return await _kept(found, folder, places=at, policy=how, clock=clock, dry_run=dry_run)
    pages = Pages(files)
    run = SessionRun(name=found.name, path=found.path)
    if _is_whole(pages, name=found.name, messages=len(found.session.messages)):
        return run
    memory = background_files(folder) if how.model else {}
    decisions = "\n".join(pages[DECISIONS].texts)
    entry = await close_recorded(found, policy=how, decisions=decisions, memory=memory, clock=clock)
    if entry is None:
        return run
    run = replace(run, record=entry.record)
    if dry_run:
        return _planned(run, files, folder=folder, entry=entry, clock=clock)
    return _written(run, folder, entry=entry, clock=clock, failpoint=failpoint)


async def _kept(
    found: Kept, folder: Path, *, places: Places, policy: SessionPolicy, clock: Clock, dry_run: bool
) -> SessionRun:
    """A conversation of ours: the engine writes its entry, what is left are the tasks."""
    if places.database is None:
        raise RuntimeError(
            "a conversation was found without a store"
        )  # pragma: no cover - find_session keeps this
    before = read_files(folder, NAMES)
    closed = await close_kept(
        found.name, database=places.database, folder=folder, policy=policy, clock=clock, dry_run=dry_run
    )
    if closed is None:
        return SessionRun(name=found.name)
    record, tasks = closed
    run = SessionRun(name=found.name, record=record)
    if dry_run:
        entry = ArchiveEntry(
            conversation=found.name,
            record=record,
            peak_tokens=record.receipt.tokens_before,
            transcript=f"`autocompact show {found.name}`",
            tasks=tasks,
            metrics=policy.metrics,
        )
        return _planned(run, before, folder=folder, entry=entry, clock=clock)
    done = _written(run, folder, entry=None, clock=clock, failpoint=lambda _: None)
    after = read_files(folder, NAMES)
    return replace(done, changes=_changes(before, after))


def _planned(
    run: SessionRun, files: Mapping[str, bytes], *, folder: Path, entry: ArchiveEntry | None, clock: Clock
) -> SessionRun:
    after, tasks = _after(files, entry=entry, clock=clock, topics=topics_in(folder))
    return replace(run, changes=_changes(files, after), tasks=tasks)


def _written(
    run: SessionRun, folder: Path, *, entry: ArchiveEntry | None, clock: Clock, failpoint: Failpoint
) -> SessionRun:
    """Write all files of the change together, or none."""
    with locked(folder):
        for _ in range(TRIES):
            files = read_files(folder, NAMES)
            planned = _planned(run, files, folder=folder, entry=entry, clock=clock)
            after = {change.name: change.after for change in planned.changes}
            stamp = clock.now()[:19].replace(":", "-")
            change = Change(before=files, after=after, sources=(CONTEXT_ARCHIVE,), backup=stamp)
            if not after:
                return planned
            if written := write(folder, change, failpoint=failpoint):
                return replace(planned, backup=written.backup)
    raise MemoryInUse(f"somebody keeps changing the files of {str(folder)!r}: try again later")


def _after(
    files: Mapping[str, bytes], *, entry: ArchiveEntry | None, clock: Clock, topics: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The folder with the entry and its tasks, and the tasks that were noted."""
    pages = Pages(files)
    if entry is not None and not _is_there(pages, entry):
        pages = pages.changed({CONTEXT_ARCHIVE: _appended(files.get(CONTEXT_ARCHIVE, b""), entry)})
    changed, tasks = plan_noting(pages, today=today(clock))
    pages = pages.changed(changed)
    return {**pages.files, **plan_index(pages, topics)}, tasks


def _is_there(pages: Pages, entry: ArchiveEntry) -> bool:
    """True if another run archived as much of the session meanwhile, or one that died did and was finished."""
    return _is_whole(pages, name=entry.conversation, messages=entry.log_messages)


def _is_whole(pages: Pages, *, name: str, messages: int | None) -> bool:
    return is_archived(entries_in(pages[CONTEXT_ARCHIVE].texts), name=name, messages=messages)


def _appended(archive: bytes, entry: ArchiveEntry) -> bytes:
    if not archive:
        archive = ARCHIVE_HEADING.encode()
    end = b"" if archive.endswith((b"\n", b"\r")) else b"\n"
    return archive + end + entry.render().encode("utf-8", "replace")


def _changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[FileChange, ...]:
    return tuple(
        FileChange(name=name, before=before.get(name), after=after[name])
        for name in NAMES
        if name in after and after[name] != before.get(name)
    )
