"""Looks at a whole store file for what is wrong with it, and says what to do next. It never changes the file.

Each check is one function that yields findings; a check that cannot be carried out because the file is damaged is a
finding itself, so that the others still say what they see.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast
from zlib import crc32

from autocompact.compaction.record import Compaction
from autocompact.core.plurals import plural
from autocompact.core.search import KINDS, passages
from autocompact.errors import StoreError, StoreTooNew, StoreUnavailable
from autocompact.stores.checksums import message_checksum, row_checksum
from autocompact.stores.connection import Connection, Cursor
from autocompact.stores.encoding import decode_message, decode_record
from autocompact.stores.naming import StorePlace
from autocompact.stores.queries import migrations, schema
from autocompact.stores.rows import place, row_range
from autocompact.stores.sqlite_file import check_file, errors, open_writer, transaction

CHECKSUMS_SINCE = 5
"""Schema version from which rows have checksums."""

LEAST_FREE = 64 * 1024 * 1024
"""Bytes that must be free on the disk: a compaction of a long conversation and its write-ahead log fit easily."""

LARGE_LOG = 256 * 1024 * 1024
"""Bytes of a write-ahead log that somebody keeps from being folded into the file."""

LONGEST_LEASE = 24 * 60 * 60 * 1000
"""Milliseconds ahead that no lease expires; the ones we ask for last minutes."""

WORDS_COMPARED = 5_000
"""Messages up to which every word of the search index is compared with them: seconds."""

_PASSAGE = "id, seq, part, start, length, kind, terms"

Level: TypeAlias = Literal["problem", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault that the examination found.

    Attributes:
        level: a problem needs somebody; a note is to be known.
        check: what was looked at.
        where: the conversation, table or file.
        what: what was seen there.
        next: what to do about it.
    """

    level: Level = "problem"
    check: str
    where: str
    what: str
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """What was examined, and the findings.

    Attributes:
        place: the file, or the database.
        counts: rows by what they are, and bytes of a file and its write-ahead log.
        findings: in the order of the checks.
    """

    place: StorePlace
    counts: dict[str, int]
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that need somebody."""
        return tuple(finding for finding in self.findings if finding.level == "problem")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patient:
    path: Path
    connection: Connection
    version: int
    deep: bool
    counts: dict[str, int]
    named: dict[int, str] = field(default_factory=dict[int, str])

    def rows(self, sql: str, *values: int | str) -> Cursor:
        return self.connection.execute(sql, values)

    def number(self, sql: str) -> int:
        return self.connection.execute(sql).get or 0

    def name(self, conversation: int) -> str:
        if conversation not in self.named:
            found = self.rows("SELECT name FROM conversations WHERE id = ?", conversation).get
            self.named[conversation] = f"conversation {found!r}" if found else f"conversation {conversation}"
        return self.named[conversation]


_Check: TypeAlias = Callable[[_Patient], Iterator[Finding]]

_TABLES = "SELECT count(*) FROM sqlite_schema"

UPDATE = "nothing is wrong with it: update autocompact, and look again"
_RESTORE = "restore the file from a backup, or copy what can still be read into a new one: `autocompact doctor --rescue NEW.db`"
_REINDEX = (
    "nothing that was said is lost: `autocompact doctor --rescue NEW.db` makes a new file, with a new index"
)


def examine(path: Path, *, deep: bool = False) -> Examination:
    """Look at a whole store file.

    Args:
        path: the file.
        deep: compare every word of the search index with the messages also where there are more than `WORDS_COMPARED`.

    Raises:
        StoreUnavailable: there is no such file, or it cannot be opened.
        StoreCorrupt: it is no database, or one of another program.
        StoreTooNew: a newer program wrote it.
    """
    if not path.exists():
        raise StoreUnavailable(f"there is no file {str(path)!r}: check the path, or name one with --db")
    with errors(path):
        check_file(path)
    counts = {"bytes": path.stat().st_size, "write_ahead_bytes": _size(_beside(path, "-wal"))}
    findings = list(_files(path))
    try:
        with _opened(path) as connection:
            version = connection.execute("PRAGMA user_version").get
            patient = _Patient(path=path, connection=connection, version=version, deep=deep, counts=counts)
            for name, check in (_CHECKS if patient.number(_TABLES) else _OF_NOTHING).items():
                findings += _carried_out(name, check, patient=patient)
    except StoreError as error:
        findings.append(
            Finding(check="file", where=str(path), what=f"it cannot be opened: {error}", next=_RESTORE)
        )
    return Examination(place=path, counts=counts, findings=tuple(findings))


@contextmanager
def _opened(path: Path) -> Generator[Connection]:
    import apsw

    with errors(path):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        with closing(cast("Connection", connection)) as opened:
            opened.set_busy_timeout(5000)
            opened.execute("PRAGMA query_only = ON")
            opened.execute("BEGIN")  # one state of the file for all checks, whoever writes meanwhile
            opened.execute("SELECT count(*) FROM sqlite_schema")
            yield opened
            opened.execute("ROLLBACK")


def _carried_out(name: str, check: _Check, *, patient: _Patient) -> Iterator[Finding]:
    try:
        with errors(patient.path):
            yield from check(patient)
    except (StoreError, TypeError, ValueError, OverflowError) as error:
        yield Finding(check=name, where=str(patient.path), what=f"it cannot be read: {error}", next=_RESTORE)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _files(path: Path) -> Iterator[Finding]:
    """Modes, leftovers, and room on the disk."""
    for file in (path, *(_beside(path, suffix) for suffix in ("-wal", "-shm", "-journal"))):
        if os.name == "posix" and file.exists() and file.stat().st_mode & 0o077:
            mode = f"{file.stat().st_mode & 0o777:04o}"
            what = f"other users of this machine may read it (mode {mode})"
            yield Finding(check="modes", where=str(file), what=what, next=f"chmod 600 {file}")
    if _size(_beside(path, "-wal")) > LARGE_LOG:
        what = (
            f"its write-ahead log has {_size(_beside(path, '-wal')):,} bytes: a program reads without a pause"
        )
        yield Finding(
            level="note", check="log", where=str(path), what=what, next="end the programs that use it, once"
        )
    if _size(_beside(path, "-journal")):
        what = "a program ended in the middle of a change; the next one to open the file takes it back"
        yield Finding(
            level="note", check="log", where=str(path), what=what, next="open it: `autocompact list`"
        )
    free = shutil.disk_usage(path.parent).free
    if free < LEAST_FREE:
        yield Finding(
            check="disk", where=str(path.parent), what=f"{free:,} bytes are free", next="free some space"
        )


def _nothing(patient: _Patient) -> Iterator[Finding]:
    """A file that SQLite made, or that somebody touched or cut to nothing: without a table there is nothing to look at."""
    yield Finding(
        level="note",
        check="empty",
        where=str(patient.path),
        what="there is nothing in it, not even a table",
        next="nothing, if it is new: whoever first keeps a conversation in it makes the tables; else restore the file from a "
        "backup",
    )


def _version(patient: _Patient) -> Iterator[Finding]:
    newest = len(migrations("sqlite"))
    if patient.version < newest:
        yield Finding(
            level="note",
            check="version",
            where=str(patient.path),
            what=f"it has schema version {patient.version}, this autocompact writes {newest}",
            next="nothing: it is brought up to date when it is next written to",
        )
        return
    there = {(kind, name) for kind, name in patient.rows("SELECT type, name FROM sqlite_schema")}
    for kind, name in re.findall(
        r"^CREATE (?:UNIQUE )?(?:VIRTUAL )?(TABLE|INDEX) (\w+)", schema("sqlite"), re.MULTILINE
    ):
        if (kind.lower(), name) not in there:
            yield Finding(check="version", where=name, what=f"the {kind.lower()} is missing", next=_RESTORE)


def _integrity(patient: _Patient) -> Iterator[Finding]:
    for (line,) in patient.rows("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield Finding(check="integrity", where=str(patient.path), what=line, next=_RESTORE)
    for table, row, parent, _ in patient.rows("PRAGMA foreign_key_check"):
        what = f"row {row} belongs to no row of {parent}"
        yield Finding(check="integrity", where=table, what=what, next=_RESTORE)


def _conversations(patient: _Patient) -> Iterator[Finding]:
    """Entries against their checksums, their logs and their summaries."""
    sealed = patient.version >= CHECKSUMS_SINCE
    columns = (
        "id, namespace, name, last_seq, title, created, updated, active, compressed_context, compressed_at, state, "
        "indexed_seq"
    ) + (", edits, records, checksum" if sealed else "")
    unsealed = 0
    rows = list(patient.rows(f"SELECT {columns} FROM conversations NOT INDEXED ORDER BY id"))
    patient.counts["conversations"] = len(rows)
    for row in rows:
        where = f"conversation {row[2]!r}"
        patient.named[row[0]] = where
        if not sealed or row[-1] is None:
            unsealed += 1
        elif row[-1] != row_checksum(*row[:-1]):
            yield Finding(check="conversations", where=where, what="its checksum is another", next=_RESTORE)
        yield from _log(patient, id=row[0], last_seq=row[3], indexed=row[11])
    if unsealed:
        yield _old(
            "conversations",
            plural(unsealed, "entry", many="entries"),
            next="each gets one when it is next used",
        )


def _log(patient: _Patient, *, id: int, last_seq: int, indexed: int) -> Iterator[Finding]:
    first, last = row_range(id)
    where = patient.name(id)
    count, least, most = patient.rows(
        "SELECT count(*), coalesce(min(id), ?), coalesce(max(id), ?) FROM messages WHERE id BETWEEN ? AND ?",
        *(first - 1, first - 1, first, last),
    ).get
    ends = place(most)[1]
    if (count and least != first) or count != ends or ends != last_seq:
        what = (
            f"its log should end at message {last_seq}; it has {plural(count, 'message')}, the last is {ends}"
        )
        yield Finding(check="conversations", where=where, what=what, next=_RESTORE)
    if indexed > last_seq:
        what = f"the search index says message {indexed}, the log ends at {last_seq}"
        yield Finding(check="search", where=where, what=what, next=_REINDEX)
    elif indexed < last_seq:
        what = f"not in the search index yet: {plural(last_seq - indexed, 'message')}"
        yield Finding(
            level="note",
            check="search",
            where=where,
            what=what,
            next="nothing: they are added when it is next opened",
        )


def _messages(patient: _Patient) -> Iterator[Finding]:
    """Every message against its checksum; those that have none must at least be readable."""
    sealed = patient.version >= CHECKSUMS_SINCE
    unsealed = count = 0
    columns = "id, role, replaces, body" + (", checksum" if sealed else ", NULL")
    for id, role, replaces, body, checksum in patient.rows(f"SELECT {columns} FROM messages ORDER BY id"):
        count += 1
        conversation, seq = place(id)
        if checksum is None:
            unsealed += 1
            problem = _reads(lambda: decode_message(body, seq=seq, role=role, replaces=replaces))  # noqa: B023 - called at once
        else:
            same = checksum == message_checksum(id, body, role=role, replaces=replaces)
            problem = "" if same else "its checksum is another"
        if problem:
            where = f"{patient.name(conversation)}, message {seq}"
            yield Finding(check="messages", where=where, what=problem, next=_RESTORE)
    patient.counts["messages"] = count
    orphans = patient.number(
        "SELECT count(*) FROM messages WHERE id >> 24 NOT IN (SELECT id FROM conversations)"
    )
    if orphans:
        yield Finding(
            check="messages",
            where="messages",
            what=f"of no conversation: {plural(orphans, 'message')}",
            next=_RESTORE,
        )
    if unsealed:
        yield _old("messages", plural(unsealed, "message"), next="`autocompact doctor --seal` gives them one")


def _old(check: str, what: str, *, next: str) -> Finding:
    return Finding(
        level="note",
        check=check,
        where=check,
        what=f"without a checksum, of an older version: {what}",
        next=next,
    )


def _reads(read: Callable[[], object]) -> str:
    try:
        read()
    except StoreError as error:
        return str(error)
    return ""


def _compactions(patient: _Patient) -> Iterator[Finding]:
    """Records against their checksums, their logs, and what the conversations say of them."""
    sealed = patient.version >= CHECKSUMS_SINCE
    records: dict[tuple[int, str], Compaction] = {}
    newer: set[int] = set()
    yield from _records(patient, records, newer=newer)
    for conversation, last_seq, active, summary, *expected in patient.rows(
        "SELECT id, last_seq, active, compressed_context"
        + (", records" if sealed else "")
        + " FROM conversations"
    ):
        # what cannot be read yet is not missing
        if conversation in newer:
            continue
        own = {id: record for (owner, id), record in records.items() if owner == conversation}
        problems = list(_dangling(own, last_seq=last_seq, active=active, summary=summary))
        if expected and expected[0] not in (None, len(own)):
            problems.append(f"it should have {plural(expected[0], 'compaction')}, it has {len(own)}")
        for what in problems:
            yield Finding(check="compactions", where=patient.name(conversation), what=what, next=_RESTORE)


def _records(
    patient: _Patient, records: dict[tuple[int, str], Compaction], *, newer: set[int]
) -> Iterator[Finding]:
    """Records against their checksums.

    Args:
        patient: the file.
        records: get those that can be read, by the number of their conversation and their id.
        newer: gets the numbers of conversations with a record of a newer program.
    """
    columns = "number, conversation, id, status, record" + (
        ", checksum" if patient.version >= CHECKSUMS_SINCE else ", NULL"
    )
    count = 0
    for *row, checksum in patient.rows(f"SELECT {columns} FROM compactions NOT INDEXED ORDER BY number"):
        count += 1
        _, conversation, id, _, data = row
        where = f"{patient.name(conversation)}, compaction {id!r}"
        if checksum is not None and checksum != row_checksum(*row):
            yield Finding(check="compactions", where=where, what="its checksum is another", next=_RESTORE)
            continue
        try:
            records[conversation, id] = decode_record(data)
        except StoreTooNew as error:
            newer.add(conversation)
            yield Finding(check="compactions", where=where, what=str(error), next=UPDATE)
        except StoreError as error:
            yield Finding(check="compactions", where=where, what=str(error), next=_RESTORE)
    patient.counts["compactions"] = count


def _dangling(
    records: dict[str, Compaction], *, last_seq: int, active: str | None, summary: str | None
) -> Iterator[str]:
    for id, record in records.items():
        if record.through_seq > last_seq:
            yield f"compaction {id!r} covers message {record.through_seq}, the log ends at {last_seq}"
        if any(seq > last_seq for seq in (*record.needed, *(mask.seq for mask in record.masks))):
            yield f"compaction {id!r} keeps or masks a message that is not there"
        if record.parent and record.parent not in records:
            yield f"compaction {id!r} was made upon {record.parent!r}, which is not there"
    if active is not None and active not in records:
        yield f"compaction {active!r} is active, but not there"
    elif active is not None and records[active].summary != summary:
        yield f"its summary is not that of compaction {active!r}, which is active"


def _search(patient: _Patient) -> Iterator[Finding]:
    """The search index against the log, by numbers: what is found is always read from the log itself."""
    passages = patient.number("SELECT count(*) FROM passages")
    patient.counts["passages"] = passages
    indexed = patient.number("SELECT count(*) FROM passage_terms_docsize")
    spaces = patient.number("SELECT sum(passages) FROM search_namespaces")
    beyond = patient.number(
        "SELECT count(*) FROM passages AS p LEFT JOIN conversations AS c ON c.id = p.id >> 24 "
        "WHERE c.id IS NULL OR p.seq NOT BETWEEN 1 AND c.indexed_seq"
    )
    lost = patient.number(
        "SELECT count(*) FROM passages WHERE id NOT IN (SELECT id FROM passage_terms_docsize)"
    )
    gaps = patient.number(
        "SELECT count(*) FROM (SELECT 1 FROM passages GROUP BY id >> 24 HAVING max(id & 16777215) <> count(*))"
    )
    for wrong, what in (
        (passages != indexed, f"passages: {passages:,}, indexed: {indexed:,}"),
        (passages != spaces, f"passages: {passages:,}, the namespaces count {spaces:,}"),
        (beyond, f"passages of messages that are not there: {beyond:,}"),
        (lost, f"passages that cannot be found: {lost:,}"),
        (gaps, f"conversations of which passages are missing: {gaps:,}"),
    ):
        if wrong:
            yield Finding(check="search", where="search index", what=what, next=_REINDEX)


def _terms(patient: _Patient) -> Iterator[Finding]:
    """The words that the index holds, counted over, against what its passages say: it reads every segment."""
    import apsw

    connection = patient.connection
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE temp.doctor_terms USING fts5vocab (main, passage_terms, row)"
        )
        held = patient.number("SELECT sum(cnt) FROM temp.doctor_terms")
        said = patient.number("SELECT sum(terms) FROM passages")
    except apsw.Error as error:
        yield Finding(check="search", where="search index", what=str(error), next=_REINDEX)
        return
    finally:
        connection.execute("PRAGMA query_only = ON")
    if held != said:
        what = f"words in the index: {held:,}, in the passages: {said:,}"
        yield Finding(check="search", where="search index", what=what, next=_REINDEX)


def _words(patient: _Patient) -> Iterator[Finding]:
    """Every word of the index, with its place, against the messages: sums of checksums, so that order does not matter."""
    if not patient.deep and patient.counts.get("messages", 0) > WORDS_COMPARED:
        yield Finding(
            level="note",
            check="words",
            where="search index",
            what=f"its words were not compared with {plural(patient.counts['messages'], 'message')}",
            next="`autocompact doctor --deep` does, and takes minutes",
        )
        return
    patient.connection.execute("PRAGMA query_only = OFF")
    patient.connection.execute(
        "CREATE VIRTUAL TABLE temp.doctor_places USING fts5vocab (main, passage_terms, instance)"
    )
    held = sum(
        crc32(f"{term} {passage} {place}".encode())
        for term, passage, place in patient.rows("SELECT term, doc, offset FROM temp.doctor_places")
    )
    listed = sum(row_checksum(*row) for row in patient.rows(f"SELECT {_PASSAGE} FROM passages"))
    said = told = 0
    for row, terms, space in _derived(patient):
        told += row_checksum(*row)
        said += sum(crc32(f"{space}_{term} {row[0]} {place}".encode()) for place, term in enumerate(terms))
    if (held, listed) != (said, told):
        what = "its words or their places are not those of the messages, or an older version made it: searches may miss something"
        yield Finding(check="words", where="search index", what=what, next=_REINDEX)


def _derived(patient: _Patient) -> Iterator[tuple[tuple[int, ...], list[str], int]]:
    """Yield what the index should hold, derived from the messages: row and terms of each passage, number of its namespace."""
    spaces: dict[str, int] = dict(patient.rows("SELECT name, id FROM search_namespaces"))
    for id, namespace, indexed in list(
        patient.rows("SELECT id, namespace, indexed_seq FROM conversations NOT INDEXED")
    ):
        number, last = row_range(id)[0] - 1, row_range(id, through_seq=indexed)[1]
        for row, role, replaces, body in patient.rows(
            "SELECT id, role, replaces, body FROM messages WHERE id <= ? AND id > ? ORDER BY id", last, number
        ):
            message = decode_message(body, seq=place(row)[1], role=role, replaces=replaces)
            for passage, terms in passages(message):
                number += 1
                where = (passage.seq, passage.part, passage.start, passage.end - passage.start)
                yield (
                    (number, *where, KINDS.index(passage.kind), passage.length),
                    terms,
                    spaces.get(namespace, 0),
                )


def _leases(patient: _Patient) -> Iterator[Finding]:
    now = time.time_ns() // 1_000_000
    patient.counts["leases_held"] = patient.rows("SELECT count(*) FROM leases WHERE expires > ?", now).get
    for name, ahead in patient.rows(
        "SELECT name, expires - ? FROM leases WHERE expires > ?", now, now + LONGEST_LEASE
    ):
        what = f"somebody may compact it for another {ahead // 3_600_000:,} hours: the clock was wrong"
        yield Finding(
            check="leases",
            where=f"conversation {name!r}",
            what=what,
            next="end the programs that use it; check the clock",
        )


_CHECKS: dict[str, _Check] = {
    "version": _version,
    "integrity": _integrity,
    "conversations": _conversations,
    "messages": _messages,
    "compactions": _compactions,
    "search": _search,
    "terms": _terms,
    "words": _words,
    "leases": _leases,
}
_OF_NOTHING: dict[str, _Check] = {"empty": _nothing}


def seal(path: Path, *, batch: int = 500) -> int:
    """Give the messages of older versions a checksum; how many got one. The file is brought up to date before.

    Raises:
        StoreError: the file cannot be written; messages of earlier batches have theirs.
    """
    sealed = 0
    with errors(path), closing(open_writer(path, busy_seconds=5.0)) as connection:
        after = 0
        while True:
            with transaction(connection, "IMMEDIATE"):
                rows: list[tuple[int, str, int | None, bytes]] = list(
                    connection.execute(
                        "SELECT id, role, replaces, body FROM messages WHERE id > ? AND checksum IS NULL "
                        "ORDER BY id LIMIT ?",
                        (after, batch),
                    )
                )
                connection.executemany(
                    "UPDATE messages SET checksum = ? WHERE id = ?",
                    (
                        (message_checksum(id, body, role=role, replaces=replaces), id)
                        for id, role, replaces, body in rows
                    ),
                )
            if not rows:
                return sealed
            sealed, after = sealed + len(rows), rows[-1][0]
