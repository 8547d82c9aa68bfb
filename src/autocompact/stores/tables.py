"""The tables of a database as typed questions and changes, within a transaction of the caller."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar
from weakref import WeakSet

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message, Role
from autocompact.errors import StoreCorrupt
from autocompact.ports import ConversationInfo, Key
from autocompact.stores.checksums import message_checksum, row_checksum
from autocompact.stores.connection import Cursor, Statements, Value
from autocompact.stores.encoding import decode_message, decode_record, encode_record
from autocompact.stores.leases import latest_expiry
from autocompact.stores.queries import queries
from autocompact.stores.rows import place, row_id, row_range
from autocompact.stores.rules import prompt_seqs

T = TypeVar("T", str, str | None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A conversation's row, in the order of its columns.

    Attributes:
        indexed_seq: the last message that the search index has.
        edits: number of messages that replace others; None where an older version wrote the row.
        records: number of compaction records; None likewise.
    """

    id: int
    namespace: str
    name: str
    last_seq: int = 0
    title: str = ""
    created: str
    updated: str
    active: str | None = None
    compressed_context: str | None = None
    compressed_at: str | None = None
    state: bytes = b""
    indexed_seq: int = 0
    edits: int | None = 0
    records: int | None = 0

    @property
    def checksum(self) -> int:
        """Checksum over all columns of the row."""
        return row_checksum(*(getattr(self, name) for name in _COLUMNS))

    @property
    def info(self) -> ConversationInfo:
        """The conversation as lists show it."""
        return ConversationInfo(
            key=Key(conversation=self.name, namespace=self.namespace),
            last_seq=self.last_seq,
            created=self.created,
            updated=self.updated,
            title=self.title,
            compressed_context=self.compressed_context,
            compressed_at=self.compressed_at,
        )


_COLUMNS = tuple(field.name for field in fields(Row))
_NAMES_CHECKED: WeakSet[Statements] = WeakSet()
"""Connections on which the index of the names was compared with the table."""


class Tables:
    """The named queries of a dialect on one connection. ``conversation`` is always the id of a row that was found by its key.

    What is read is checked: a row whose checksum is another, a message, an edit or a record that is missing.

    Raises (all methods that read): `StoreCorrupt`, naming the conversation and what of it is damaged.
    """

    def __init__(self, connection: Statements, *, dialect: str = "sqlite") -> None:
        self.connection = connection
        self._sql = queries(dialect)

    def _run(self, query: str, **values: Value) -> Cursor:
        return self.connection.execute(self._sql[query], values)

    def _damaged(self, conversation: int, what: str) -> StoreCorrupt:
        name = self._run("name_of", conversation=conversation).get
        return StoreCorrupt(f"conversation {name!r}: {what} (`autocompact doctor` looks at the whole file)")

    # Conversations

    def find(self, key: Key, *, check: bool = True) -> Row | None:
        """The row of a conversation, None if there is none.

        Args:
            key: which one.
            check: refuse a damaged row; False to delete it.
        """
        row = self._run("conversation", namespace=key.namespace, name=key.conversation).get
        if row is None:
            # a damaged index also answers "there is none", and the caller would
            # then begin a second conversation of that name
            if check:
                self._check_names()
            return None
        return self._checked(row) if check else row_of(row)

    def _checked(self, columns: tuple[Any, ...]) -> Row:
        row = row_of(columns)
        # rows of older versions have no checksum until they are written again
        if columns[-1] is not None and columns[-1] != row.checksum:
            raise StoreCorrupt(
                f"the entry of conversation {row.name!r} is damaged: its checksum is another "
                "(`autocompact doctor` looks at the whole file)"
            )
        return row

    def _check_names(self) -> None:
        """Compare the index of the names with the table, once for each connection: before "there is none" is believed.

        A server's own checks of its indexes are its administrator's.
        """
        if "indexed_names" not in self._sql or self.connection in _NAMES_CHECKED:
            return
        there = [row_checksum(*row) for row in self._run("names")]
        listed: list[int] = []
        before = ("", "")
        for id, namespace, name in self._run("indexed_names"):
            # out of order means that a search in the index may miss a name that is in it
            listed.append(row_checksum(id, namespace, name) if before <= (namespace, name) else -1)
            before = (namespace, name)
        if sorted(there) != sorted(listed):
            raise StoreCorrupt(
                "the index of the conversations' names is damaged: a conversation may not be found "
                "(`autocompact doctor` looks at the whole file)"
            )
        _NAMES_CHECKED.add(self.connection)

    def add(self, key: Key, *, now: str) -> Row:
        """A new row; `extended` or `seal` must follow."""
        id = self._run("add_conversation", namespace=key.namespace, name=key.conversation, now=now).get
        return Row(id=id, namespace=key.namespace, name=key.conversation, created=now, updated=now)

    def seal(self, conversation: int) -> None:
        """Give the row the checksum of what it says now: only after it was checked, in the same transaction."""
        columns = self._run("unsealed", conversation=conversation).get
        self._run("seal", conversation=conversation, checksum=row_checksum(*columns))

    def put_row(self, conversation: int, row: Row) -> None:
        """Make the row say what another one says, but for its id and how many records it has; `seal` must follow."""
        self._run(
            "put_row",
            conversation=conversation,
            last_seq=row.last_seq,
            title=without_nul(row.title),
            updated=row.updated,
            active=row.active,
            compressed_context=without_nul(row.compressed_context),
            compressed_at=row.compressed_at,
            state=row.state,
            indexed_seq=row.indexed_seq,
            edits=row.edits,
        )

    def conversations(
        self, namespace: str, *, limit: int | None, after: ConversationInfo | None
    ) -> tuple[ConversationInfo, ...]:
        """The last updated first."""
        self._check_names()
        # a page goes on from the last entry, not from a number: entries move to the top while somebody reads
        page: dict[str, Value] = {
            "limit": -1 if limit is None else limit,
            "updated": after.updated if after else None,
            "name": after.key.conversation if after else None,
        }
        return tuple(
            self._checked(row).info for row in self._run("conversations", namespace=namespace, **page)
        )

    def named(self, namespace: str, names: Sequence[str]) -> tuple[ConversationInfo, ...]:
        """Those that are called so, the last updated first."""
        self._check_names()
        rows = self._run("named_conversations", namespace=namespace, names=json.dumps([*names]))
        return tuple(self._checked(row).info for row in rows)

    def namespaces(self) -> tuple[str, ...]:
        """In order."""
        return tuple(name for (name,) in self._run("namespaces"))

    def idle(self, namespace: str, *, before: str, now: int) -> tuple[Key, ...]:
        """Conversations last updated before a stamp that nobody has a lease on, the oldest first."""
        rows = self._run("idle", namespace=namespace, before=before, now=now, latest=latest_expiry(now))
        return tuple(Key(conversation=name, namespace=namespace) for (name,) in rows)

    def is_idle(self, key: Key, *, before: str, now: int) -> bool:
        """True if the conversation is one of those."""
        row = self._run(
            "is_idle",
            namespace=key.namespace,
            name=key.conversation,
            before=before,
            now=now,
            latest=latest_expiry(now),
        )
        return row.get is not None

    def delete(self, conversation: int) -> None:
        """The row with its log and records."""
        first, last = row_range(conversation)
        self._run("delete_messages", first=first, last=last)
        self._run("delete_conversation", conversation=conversation)

    # Traces of what was deleted

    def deleted(self) -> None:
        """A conversation was deleted: the file is to be cleared of its traces."""
        self._run("deleted")

    def unpurged(self) -> int | None:
        """Number of deletions so far if traces of any are left, else None."""
        return self._run("unpurged").get

    def purged(self, deleted: int) -> None:
        """Notes that no trace of the first ``deleted`` deletions is left."""
        self._run("purged", deleted=deleted)

    # The log

    def extend(self, row: Row, *, messages: Sequence[Message], bodies: Iterable[bytes]) -> None:
        """Add messages with their encoded bodies; `extended` must follow."""
        self.connection.executemany(
            self._sql["add_message"],
            (
                _message_row(row_id(row.id, message.seq), message, body=body)
                for message, body in zip(messages, bodies, strict=True)
            ),
        )

    def extended(self, row: Row) -> None:
        """Keep what is new of a row whose log has grown."""
        self._run(
            "extend_conversation",
            conversation=row.id,
            last_seq=row.last_seq,
            indexed_seq=row.indexed_seq,
            title=row.title,
            now=row.updated,
            edits=row.edits,
            checksum=row.checksum,
        )

    def messages(self, conversation: int, *, from_seq: int = 1, through_seq: int) -> tuple[Message, ...]:
        """A range of the log, all of which must be there."""
        first, last = row_range(conversation, from_seq=from_seq, through_seq=through_seq)
        found: list[Message] = []
        for row in self._run("messages", first=first, last=last):
            self._check_message(row, expected=first + len(found))
            id, role, replaces, body, _ = row
            seq = place(id)[1]
            try:
                found.append(decode_message(body, seq=seq, role=role, replaces=replaces))
            except StoreCorrupt as error:
                raise self._damaged(conversation, str(error)) from error
        # the loop ends quietly where the last messages are missing
        if first + len(found) <= last:
            raise self._damaged(conversation, f"message {place(first + len(found))[1]} is missing")
        return tuple(found)

    def _check_message(self, row: tuple[Any, ...], *, expected: int) -> None:
        id, role, replaces, body, checksum = row
        conversation, seq = place(expected)
        # ids are without gaps, so a gap is a message that was lost
        if id != expected:
            raise self._damaged(conversation, f"message {seq} is missing")
        if checksum is not None and checksum != message_checksum(id, body, role=role, replaces=replaces):
            raise self._damaged(conversation, f"message {seq} is damaged, its checksum is another")

    def _message(self, id: int) -> tuple[Any, ...]:
        """The checked row of one message."""
        row = self._run("message", id=id).get
        if row is None:
            raise self._damaged(place(id)[0], f"message {place(id)[1]} is missing")
        self._check_message(row, expected=id)
        return row

    def edits(self, row: Row) -> list[tuple[int, int]]:
        """``(seq, replaces)`` of every message that replaces others."""
        first, last = row_range(row.id, through_seq=row.last_seq)
        found = [self._message(id) for (id,) in self._run("edits", first=first, last=last)]
        # counted in the row too: an index that lost an entry would show replaced messages again
        if row.edits not in (None, len(found)) or any(replaces is None for _, _, replaces, _, _ in found):
            raise self._damaged(row.id, f"{row.edits} messages replace others, the index has {len(found)}")
        return [(place(id)[1], replaces) for id, _, replaces, _, _ in found]

    def earlier(self, row: Row, record: Compaction) -> tuple[tuple[Message, ...], tuple[int, ...]]:
        """Load the covered messages that a context under ``record`` still shows, and tells which of them are the prompt."""
        edits = [edit for edit in self.edits(row) if edit[0] <= record.through_seq]

        def role_of(seq: int) -> Role:
            return self._message(row_id(row.id, seq))[1]

        prompt = tuple(prompt_seqs(record.through_seq, edits, role_of=role_of))
        shown = tuple(
            message
            for seq in sorted({*prompt, *record.needed})
            for message in self.messages(row.id, from_seq=seq, through_seq=seq)
        )
        return shown, prompt

    # Records

    def record(self, conversation: int, id: str) -> Compaction | None:
        """Load one record; None if there is none."""
        row = self._run("record", conversation=conversation, id=id).get
        return None if row is None else self._record(row)

    def active(self, row: Row) -> Compaction | None:
        """The record of the active compaction."""
        if row.active is None:
            return None
        record = self.record(row.id, row.active)
        if record is None or record.through_seq > row.last_seq:
            problem = "is missing" if record is None else "covers messages that are not there"
            raise self._damaged(row.id, f"compaction {row.active!r}, which is active, {problem}")
        return record

    def prepared(self, conversation: int) -> Compaction | None:
        """The one that waits for the threshold."""
        row = self._run("prepared", conversation=conversation).get
        return None if row is None else self._record(row)

    def records(self, row: Row) -> tuple[Compaction, ...]:
        """Oldest first."""
        found = tuple(self._record(record) for record in self._run("compactions", conversation=row.id))
        # the same for records: one that is missing looks like a compaction that never was
        if row.records not in (None, len(found)):
            raise self._damaged(row.id, f"it has {row.records} compactions, {len(found)} are found")
        return found

    def _record(self, row: tuple[Any, ...]) -> Compaction:
        *columns, checksum = row
        _, conversation, id, _, data = columns
        if checksum is not None and checksum != row_checksum(*columns):
            raise self._damaged(conversation, f"compaction {id!r} is damaged, its checksum is another")
        try:
            return decode_record(data)
        except StoreCorrupt as error:
            raise self._damaged(conversation, f"compaction {id!r}: {error}") from error

    def put_records(self, conversation: int, records: Iterable[Compaction]) -> None:
        """Add or replace; of prepared ones only the last stays. `seal` must follow."""
        for record in records:
            if record.status == "prepared":
                self._run("drop_prepared", conversation=conversation, id=record.id)
            columns = (conversation, record.id, record.status, encode_record(record))
            named = dict(zip(("conversation", "id", "status", "record"), columns, strict=True))
            # the number is given by the database, so the checksum over it can only follow
            number = self._run("put_record", **named).get
            self._run("seal_record", number=number, checksum=row_checksum(number, *columns))
        self._run("count_records", conversation=conversation)

    def activate(self, row: Row, record: Compaction | None, *, now: str) -> None:
        """Move the active compaction, and stamp it if it is another one; the summary is copied for all to read.

        `seal` must follow.
        """
        active = record.id if record else None
        summary = without_nul(record.summary) if record else None
        # the same compaction with other pins: not a new one, so its stamp stays
        if active == row.active:
            self._run("put_summary", conversation=row.id, summary=summary)
        else:
            at = now if record else None
            self._run("activate", conversation=row.id, active=active, summary=summary, at=at, now=now)

    def put_state(self, conversation: int, state: bytes) -> None:
        """The engine's state; `seal` must follow."""
        self._run("put_state", conversation=conversation, state=state)

    # Leases

    def lease(self, key: Key) -> tuple[int, int]:
        """Fence and expiry (milliseconds, 0 for given back) of the newest lease; zeros if none was given."""
        return self._run("lease", namespace=key.namespace, name=key.conversation).get or (0, 0)

    def give_lease(self, key: Key, *, holder: str, expires: int) -> int:
        """A new lease in place of the old one; its fence."""
        self.delete_lease(key)
        # a new row each time: its id is the fence, which only grows
        return self._run(
            "give_lease", namespace=key.namespace, name=key.conversation, holder=holder, expires=expires
        ).get

    def extend_lease(self, fence: int, *, expires: int) -> bool:
        """True if it was still there."""
        return self._run("extend_lease", fence=fence, expires=expires).get is not None

    def end_lease(self, fence: int) -> None:
        """Give it back; the row stays for its fence."""
        self._run("end_lease", fence=fence)

    def delete_lease(self, key: Key) -> None:
        """Forget that there was one."""
        self._run("delete_lease", namespace=key.namespace, name=key.conversation)

    # The search index

    def to_index(self) -> list[Key]:
        """Conversations of which messages are missing in the index."""
        return [Key(conversation=name, namespace=namespace) for namespace, name in self._run("to_index")]

    def indexed(self, conversation: int, *, seq: int) -> None:
        """The index has the messages through ``seq``."""
        self._checked(self._run("conversation_by_id", conversation=conversation).get)
        self._run("indexed", conversation=conversation, seq=seq)
        self.seal(conversation)


def row_of(columns: tuple[Any, ...]) -> Row:
    """The row of its columns, a checksum behind them left out."""
    return Row(**dict(zip(_COLUMNS, columns, strict=False)))


def without_nul(text: T) -> T:
    """PostgreSQL's texts have no character 0."""
    return text.replace("\0", "\ufffd") if isinstance(text, str) else text


def _message_row(id: int, message: Message, *, body: bytes) -> tuple[Value, ...]:
    role, replaces = message.role, message.replaces
    return id, role, replaces, body, message_checksum(id, body, role=role, replaces=replaces)
