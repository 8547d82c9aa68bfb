"""A new store file with everything that can be read of a damaged one.

A row is taken where its checksum says that it is as it was written, wherever in the file it stands; one of an older
version, which has none, where it can be read. Numbers of messages stay, so that references keep their meaning: in the place
of one that cannot be read stands a note that says so. A compaction that cannot be read is left out, and the one before it,
or the whole log, takes its place. The search index is made anew. What was lost is told in full.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
import shutil
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.access import AccessKey
from autocompact.core.messages import Message, text_message
from autocompact.core.plurals import plural
from autocompact.core.validity import ROLES
from autocompact.errors import StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from autocompact.ports import SystemClock
from autocompact.stores.access import AccessKeys
from autocompact.stores.backup import OF_THE_PLACE, check_target, copy_pages, take_its_name
from autocompact.stores.carving import Cell, Pages
from autocompact.stores.checksums import message_checksum, row_checksum
from autocompact.stores.connection import Connection, Value
from autocompact.stores.doctor import Examination, examine
from autocompact.stores.encoding import decode_message, decode_record
from autocompact.stores.queries import migrations, queries
from autocompact.stores.rows import LAST_SEQ, place
from autocompact.stores.rules import title_of
from autocompact.stores.sqlite import SqliteStore
from autocompact.stores.sqlite_file import errors
from autocompact.stores.table_store import Whole
from autocompact.stores.tables import Row, row_of

LOST = (
    "[Message {seq} could not be read: the file of this conversation was damaged. What it said is lost, and "
    "is not to be guessed.]"
)
"""What stands in the place of a message."""

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)")
_NEWER_VERSIONS = 100
"""Versions above ours that are taken for those of a newer program; a number above is damage."""
_OLDER_ROW = (None, None, None, b"", 0, None, None, None)
"""What a row of conversations has from its column ``active`` on where an older version wrote it."""
_COLUMNS = 15
_MESSAGE, _RECORD = 5, 6
"""Columns of the newest version; older ones had no checksum."""
_OF_VERSION_1 = 7
_LIKELY_LOST = 1000
"""Messages at the end of a log that may be missing together where nothing vouches for its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Something that could not be copied.

    Attributes:
        where: the conversation, or the file.
        what: is lost, and what stands in its place.
    """

    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    """What a rescue came to.

    Attributes:
        examination: of the new file.
        losses: conversation by conversation; none where everything could be read.
    """

    examination: Examination
    losses: tuple[Loss, ...]


async def rescue(source: Path, target: Path) -> Rescued:
    """Copy what can be read of a store file into a new one. The file itself is not changed.

    The new file is for its owner alone. It is there whole and checked, or not at all.

    Args:
        source: the damaged file; one that is whole is copied whole.
        target: the new file, which must not be there yet.

    Raises:
        InvalidInput: the target is there.
        StoreUnavailable: there is no such file or folder, or it cannot be read or written.
        StoreCorrupt: no conversation can be read in it.
        StoreTooNew: a newer program wrote it.
    """
    check_target(source, target, overwrite=False)
    mark = target.with_name(f".autocompact-{secrets.token_hex(6)}")
    copy, made = mark.with_name(f"{mark.name}-pages"), mark.with_name(f"{mark.name}-new")
    try:
        losses = list(_copied(source, copy))
        with _pages(copy) as pages:
            _check_version(pages, source)
            found = _Found(pages, names=_names(copy))
            if not found.conversations:
                raise StoreCorrupt(f"no conversation can be read in {str(source)!r}: there is no new file")
            await _write(made, found, losses=losses)
        examination = _checked(made, source)
        take_its_name(made, target, overwrite=False)
    except OSError as error:
        raise StoreUnavailable(
            f"the file {str(target)!r} cannot be written: {error.strerror or error}"
        ) from error
    finally:
        for file in (copy, made):
            for suffix in ("", "-journal", "-wal", "-shm"):
                file.with_name(file.name + suffix).unlink(missing_ok=True)
    return Rescued(examination=replace(examination, place=target), losses=tuple(losses))


def _copied(source: Path, copy: Path) -> Iterator[Loss]:
    """Copy the pages as they are at one moment; those of the file alone where SQLite cannot tell which these are."""
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with errors(source):
            copy_pages(source, copy)
    except StoreUnavailable:  # locked, or the disk is full: not damage
        raise
    except StoreError:
        with source.open("rb") as whole, copy.open("wb") as written:
            shutil.copyfileobj(whole, written)
        log = source.with_name(f"{source.name}-wal")
        if log.exists() and log.stat().st_size:
            yield Loss(where=str(log), what="the write-ahead log cannot be read: what was said last is lost")


@contextmanager
def _pages(copy: Path) -> Generator[Pages]:
    if not copy.stat().st_size:
        yield Pages(b"")
        return
    with (
        copy.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        closing(Pages(mapped)) as pages,
    ):
        yield pages


def _check_version(pages: Pages, source: Path) -> None:
    known = len(migrations("sqlite"))
    if known < pages.version <= known + _NEWER_VERSIONS:
        raise StoreTooNew(
            f"{str(source)!r} has schema version {pages.version}, this autocompact knows {known}: update autocompact"
        )


def _names(copy: Path) -> dict[int, tuple[str, str]]:
    """Namespace and name of each conversation as the index of the names has them; nothing where it is damaged."""
    found: dict[int, tuple[str, str]] = {}
    with suppress(StoreError), errors(copy), closing(_opened(copy)) as connection:
        for id, namespace, name in connection.execute(queries("sqlite")["indexed_names"]):
            if isinstance(id, int) and isinstance(namespace, str) and isinstance(name, str):
                found[id] = namespace, name
    return found


def _opened(path: Path) -> Connection:
    import apsw

    return cast("Connection", apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE))


@dataclass(slots=True, kw_only=True)
class _Log:
    """What was found of one conversation.

    Attributes:
        row: its entry, None if it was not found.
        is_sound: the entry is as it was written.
        cells: bytes of the file at which its messages begin, by ``seq``.
        records: number and compaction.
        spoilt: compactions that were found and cannot be read.
    """

    row: Row | None = None
    is_sound: bool = False
    cells: dict[int, int] = field(default_factory=dict[int, int])
    records: dict[int, Compaction] = field(default_factory=dict[int, Compaction])
    spoilt: int = 0


class _Found:
    """Everything that was found in the pages.

    Attributes:
        pages: of the file.
        conversations: by their number.
        keys: access keys of a gateway.
        names: namespace and name of a conversation as the index has them.
    """

    def __init__(self, pages: Pages, *, names: Mapping[int, tuple[str, str]]) -> None:
        self.pages = pages
        self.names = names
        self.keys: dict[str, AccessKey] = {}
        self._logs: defaultdict[int, _Log] = defaultdict(_Log)
        for cell in pages.cells():
            self._sort(cell)
        self.conversations: dict[int, _Log] = {
            id: log for id, log in sorted(self._logs.items()) if log.row is not None or log.cells
        }

    def _sort(self, cell: Cell) -> None:
        match cell.columns:
            case (None, str(), int() | None, bytes(), *_) if len(cell.columns) in (_MESSAGE - 1, _MESSAGE):
                self._message(cell)
            case (None, int(), str(), str(), bytes(), *_) if len(cell.columns) in (_RECORD - 1, _RECORD):
                self._record(cell)
            case (None, str(), str(), int(), str(), str(), str(), *_) if len(cell.columns) <= _COLUMNS:
                self._conversation(cell)
            case (str(id), str(digest), str(), bytes(record)):
                with suppress(msgspec.DecodeError):
                    key = msgspec.json.decode(record, type=AccessKey)
                    if (key.id, key.digest) == (id, digest):
                        self.keys[id] = key
            case _:
                pass

    def _message(self, cell: Cell) -> None:
        conversation, seq = place(cell.rowid)
        _, role, replaces, body, checksum = (*cell.columns, None)[:_MESSAGE]
        sealed = cast("Any", message_checksum)(cell.rowid, body, role=role, replaces=replaces)
        if conversation > 0 and seq and (cell.is_leaf if checksum is None else checksum == sealed):
            self._logs[conversation].cells[seq] = cell.at

    def _record(self, cell: Cell) -> None:
        _, conversation, id, status, data, checksum = (*cell.columns, None)[:_RECORD]
        sound = cell.is_leaf if checksum is None else checksum == row_checksum(cell.rowid, *cell.columns[1:5])
        log = self._logs[cast("int", conversation)]
        try:
            record = decode_record(cast("bytes", data)) if sound else None
        except StoreError:
            record = None
        if record is not None and (record.id, record.status) == (id, status):
            log.records[cell.rowid] = record
        elif cell.is_leaf:
            log.spoilt += 1

    def _conversation(self, cell: Cell) -> None:
        values = (cell.rowid, *cell.columns[1:])
        values += _OLDER_ROW[len(values) - _OF_VERSION_1 :] if len(values) < _COLUMNS else ()
        sound = _is_sound(values) and (
            cell.is_leaf if values[-1] is None else values[-1] == row_checksum(*values[:-1])
        )
        log = self._logs[cell.rowid]
        # a damaged entry still tells a name; one that is sound is never given up for it
        if sound or (log.row is None and cell.is_leaf):
            log.row, log.is_sound = row_of(values), sound

    def message(self, id: int, seq: int) -> Message | None:
        """Message ``seq`` of conversation ``id``; None if it cannot be read."""
        at = self.conversations[id].cells.get(seq)
        if at is None:
            return None
        _, role, replaces, body, *_ = cast("tuple[Any, ...]", self.pages.cell(at).columns)
        try:
            message = decode_message(body, seq=seq, role=role, replaces=replaces)
        except StoreError:
            return None
        is_usable = message.role in ROLES and (replaces is None or 0 < replaces < seq)
        return message if is_usable else None


def _is_sound(values: Sequence[Value]) -> bool:
    """True if the columns of an entry have the types that the table asks for."""
    kinds = (int, str, str, int, str, str, str, str | None, str | None, str | None, bytes, int)
    kinds += (int | None, int | None, int | None)
    return all(map(isinstance, values, kinds)) and 0 <= cast("int", values[3]) <= LAST_SEQ


async def _write(made: Path, found: _Found, *, losses: list[Loss]) -> None:
    os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    taken: set[tuple[str, str]] = set()
    async with SqliteStore(made) as store:
        # those whose entry is damaged come last: a name that was made up gives way
        for id in sorted(found.conversations, key=lambda id: not found.conversations[id].is_sound):
            rebuilt = _Rebuilt(found, id, taken=taken)
            whole = rebuilt.whole()
            taken.add((whole.row.namespace, whole.row.name))
            losses += rebuilt.losses
            if not await store.put_whole(whole):
                raise StoreCorrupt(f"two conversations are called {whole.row.name!r}: there is no new file")
        keys = AccessKeys(store)
        await keys.put(found.keys.values())
    for id, (_, name) in found.names.items():
        if id not in found.conversations:
            losses.append(Loss(where=f"conversation {name!r}", what="nothing of it can be read"))
    if found.keys:
        losses.append(
            Loss(where="access keys", what="they are there; what they had used is counted from zero again")
        )
    with errors(made), closing(_opened(made)) as connection:
        connection.execute("PRAGMA journal_mode = delete")


def _checked(made: Path, source: Path) -> Examination:
    found = examine(made)
    if wrong := [finding for finding in found.problems if finding.check not in OF_THE_PLACE]:
        raise StoreCorrupt(
            f"what can be read of {str(source)!r} makes no sound store, there is no new file: "
            f"{wrong[0].where}: {wrong[0].what}"
        )
    return found


class _Rebuilt:
    """One conversation, put together from what was found.

    Attributes:
        losses: what could not be found of it; full once `whole` was called.
    """

    def __init__(self, found: _Found, id: int, *, taken: Iterable[tuple[str, str]]) -> None:
        self.losses: list[Loss] = []
        self._found = found
        self._log = found.conversations[id]
        self._id = id
        self._now = SystemClock().now()
        self._lost_messages = frozenset[int]()
        self._row = self._entry(taken)

    def _lost(self, what: str) -> None:
        self.losses.append(Loss(where=f"conversation {self._row.name!r}", what=what))

    def _entry(self, taken: Iterable[tuple[str, str]]) -> Row:
        row, end = self._log.row, max(self._log.cells, default=0)
        if row is not None and self._log.is_sound:
            # without a checksum (the row of an older version has no number of edits), its number may be anything
            is_likely = row.edits is not None or row.last_seq - end < _LIKELY_LOST
            return row if is_likely else replace(row, last_seq=end)
        own = (row.namespace, row.name) if row is not None else ("default", f"rescued-{self._id}")
        namespace, name = self._found.names.get(self._id, own)
        while (namespace, name) in taken:
            name += "-again"
        stamps = [getattr(row, each, None) for each in ("created", "updated")]
        created, updated = (
            each if isinstance(each, str) and _STAMP.fullmatch(each) else self._now for each in stamps
        )
        return Row(
            id=self._id,
            namespace=namespace,
            name=name,
            last_seq=end,
            created=created,
            updated=updated,
            active=row.active if row is not None and isinstance(row.active, str) else None,
        )

    def whole(self) -> Whole:
        """All of it, as a store takes it."""
        messages = tuple(self._messages())
        records = self._records()
        active = self._active(records)
        edits = sum(message.replaces is not None for message in messages)
        row = self._row
        if not self._log.is_sound:
            self._lost(
                "its entry is damaged: what was said after its last message here, its pins and what was learned "
                "of its size, if there was any, are lost"
            )
        elif row.edits is not None and edits < row.edits:
            self._lost(f"edits that cannot be read: {row.edits - edits}; what they replaced is shown again")
        chosen = next((record for record in records if record.id == active), None)
        row = replace(
            row,
            title=row.title or title_of(messages),
            active=active,
            compressed_context=chosen.summary if chosen else None,
            compressed_at=self._compressed_at(chosen),
            edits=edits,
            records=len(records),
        )
        return Whole(row=row, messages=messages, records=records)

    def _compressed_at(self, chosen: Compaction | None) -> str | None:
        row = self._log.row
        if chosen is None:
            return None
        if self._log.is_sound and row is not None and row.active == chosen.id:
            return row.compressed_at
        return chosen.receipt.time or self._now

    def _messages(self) -> Iterator[Message]:
        lost: list[int] = []
        for seq in range(1, self._row.last_seq + 1):
            message = self._found.message(self._id, seq)
            if message is None:
                lost.append(seq)
                message = text_message(seq, "user", LOST.format(seq=seq), synthetic=True)
            yield message
        self._lost_messages = frozenset(lost)
        if lost:
            self._lost(
                f"{plural(len(lost), 'message')} cannot be read, a note stands in the place of each: {_ranges(lost)}"
            )

    def _records(self) -> tuple[Compaction, ...]:
        """The compactions that can be read and fit the log, each upon one that is there."""
        kept: list[Compaction] = []
        for _, record in sorted(self._log.records.items()):
            reached = max(record.through_seq, *record.needed, *(mask.seq for mask in record.masks), 0)
            ids = [each.id for each in kept]
            if reached > self._row.last_seq or record.id in ids:
                continue
            if record.parent and record.parent not in ids:
                if record.status == "prepared":  # it would be made again in any case
                    continue
                record = replace(record, parent=ids[-1] if ids else "")
            kept.append(self._without_lost(record))
        expected = self._row.records if self._log.is_sound else None
        missing = max((expected or 0) - len(kept), self._log.spoilt)
        if missing:
            self._lost(f"compactions that cannot be read: {missing}")
        return tuple(kept)

    def _without_lost(self, record: Compaction) -> Compaction:
        """The record without what it says of parts of messages that are lost."""
        lost = self._lost_messages
        if not any(seq <= record.through_seq for seq in lost) and not any(
            m.seq in lost for m in record.masks
        ):
            return record
        return replace(
            record,
            masks=tuple(mask for mask in record.masks if mask.seq not in lost),
            standing=tuple(one for one in record.standing if one.seq not in lost),
            prefix="",  # of the log as it was
        )

    def _active(self, records: Sequence[Compaction]) -> str | None:
        """The id of the compaction that is active; the newest before it that can be read, if it cannot."""
        wanted = self._row.active
        ids = Counter(record.id for record in records)
        if wanted in ids or (wanted is None and self._log.row is not None):
            return wanted
        usable = [record.id for record in records if record.status == "active"]
        instead = usable[-1] if usable else None
        said = f"compaction {instead!r} is active" if instead else "the whole log is the context"
        if wanted is not None:
            self._lost(f"compaction {wanted!r}, which was active, cannot be read: {said} instead")
        return instead


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers with those in a row as one: ``3, 7-9``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
