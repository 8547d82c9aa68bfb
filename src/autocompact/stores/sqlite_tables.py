"""The tables of the SQLite file as typed questions and changes, within a transaction of the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autocompact.core.compaction import Compaction
from autocompact.core.messages import Message, Role
from autocompact.ports import ConversationInfo, Key
from autocompact.stores.connection import Connection, Cursor, Value
from autocompact.stores.encoding import decode_message, decode_record, encode_record
from autocompact.stores.leases import latest_expiry
from autocompact.stores.queries import queries
from autocompact.stores.rows import place, row_id, row_range
from autocompact.stores.rules import prompt_seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A conversation's row; ``indexed_seq`` is the last message that the search index has."""

    id: int
    last_seq: int = 0
    title: str = ""
    active: str | None = None
    state: bytes = b""
    indexed_seq: int = 0


class Tables:
    """The named queries on one connection. ``conversation`` is always the id of a row that was found by its key."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._sql = queries("sqlite")

    def _run(self, query: str, **values: Value) -> Cursor:
        return self.connection.execute(self._sql[query], values)

    # Conversations

    def find(self, key: Key) -> Row | None:
        """The row of a conversation, None if there is none."""
        row = self._run("conversation", namespace=key.namespace, name=key.conversation).get
        if row is None:
            return None
        id, last_seq, title, active, state, indexed = row
        return Row(id=id, last_seq=last_seq, title=title, active=active, state=state, indexed_seq=indexed)

    def add(self, key: Key, *, now: str) -> Row:
        """A new row."""
        return Row(
            id=self._run("add_conversation", namespace=key.namespace, name=key.conversation, now=now).get
        )

    def conversations(
        self, namespace: str, *, limit: int | None, after: ConversationInfo | None
    ) -> tuple[ConversationInfo, ...]:
        """The last updated first."""
        page: dict[str, Value] = {
            "limit": -1 if limit is None else limit,
            "updated": after.updated if after else None,
            "name": after.key.conversation if after else None,
        }
        return tuple(
            ConversationInfo(
                key=Key(conversation=row[0], namespace=namespace),
                last_seq=row[1],
                created=row[2],
                updated=row[3],
                title=row[4],
                compressed_context=row[5],
                compressed_at=row[6],
            )
            for row in self._run("conversations", namespace=namespace, **page)
        )

    def namespaces(self) -> tuple[str, ...]:
        """In order."""
        return tuple(name for (name,) in self._run("namespaces"))

    def idle(self, namespace: str, *, before: str, now: int) -> tuple[Key, ...]:
        """Conversations last updated before a stamp that nobody has a lease on, the oldest first."""
        rows = self._run("idle", namespace=namespace, before=before, now=now, latest=latest_expiry(now))
        return tuple(Key(conversation=name, namespace=namespace) for (name,) in rows)

    def is_idle(self, key: Key, *, before: str, now: int) -> bool:
        """Whether the conversation is one of those."""
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
        """How many were deleted in all, if traces of any are left."""
        return self._run("unpurged").get

    def purged(self, deleted: int) -> None:
        """Of the first ``deleted`` ones nothing is left."""
        self._run("purged", deleted=deleted)

    # The log

    def extend(self, row: Row, *, messages: Sequence[Message], bodies: Iterable[bytes]) -> None:
        """Add messages with their encoded bodies; `extended` must follow."""
        self.connection.executemany(
            self._sql["add_message"],
            (
                (row_id(row.id, message.seq), message.role, message.replaces, body)
                for message, body in zip(messages, bodies, strict=True)
            ),
        )

    def extended(self, row: Row, *, now: str) -> None:
        """Keep what is new of a row whose log has grown."""
        self._run(
            "extend_conversation",
            conversation=row.id,
            last_seq=row.last_seq,
            indexed_seq=row.indexed_seq,
            title=row.title,
            now=now,
        )

    def messages(
        self, conversation: int, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """A range of the log."""
        first, last = row_range(conversation, from_seq=from_seq, through_seq=through_seq)
        return tuple(
            decode_message(body, seq=place(id)[1], role=role, replaces=replaces)
            for id, role, replaces, body in self._run("messages", first=first, last=last)
        )

    def earlier(self, conversation: int, record: Compaction) -> tuple[tuple[Message, ...], tuple[int, ...]]:
        """What a context under ``record`` still shows of the messages that it covers, and which are the prompt."""
        first, last = row_range(conversation, through_seq=record.through_seq)
        edits = [(place(id)[1], replaces) for id, replaces in self._run("edits", first=first, last=last)]

        def role_of(seq: int) -> Role:
            return self._run("role", id=row_id(conversation, seq)).get

        prompt = tuple(prompt_seqs(record.through_seq, edits, role_of=role_of))
        shown = tuple(
            message
            for seq in sorted({*prompt, *record.keep})
            for message in self.messages(conversation, from_seq=seq, through_seq=seq)
        )
        return shown, prompt

    # Records

    def record(self, conversation: int, id: str) -> Compaction | None:
        """One record."""
        data = self._run("record", conversation=conversation, id=id).get
        return None if data is None else decode_record(data)

    def prepared(self, conversation: int) -> Compaction | None:
        """The one that waits for the threshold."""
        data = self._run("prepared", conversation=conversation).get
        return None if data is None else decode_record(data)

    def records(self, conversation: int) -> tuple[Compaction, ...]:
        """Oldest first."""
        return tuple(decode_record(data) for (data,) in self._run("compactions", conversation=conversation))

    def put_records(self, conversation: int, records: Iterable[Compaction]) -> None:
        """Add or replace; of prepared ones only the last stays."""
        for record in records:
            if record.status == "prepared":
                self._run("drop_prepared", conversation=conversation, id=record.id)
            self._run(
                "put_record",
                conversation=conversation,
                id=record.id,
                status=record.status,
                record=encode_record(record),
            )

    def put_in_force(self, row: Row, record: Compaction | None, *, now: str) -> None:
        """Move the active compaction, and stamp it if it is another one; the summary is copied for all to read."""
        active = record.id if record else None
        summary = record.summary if record else None
        if active == row.active:
            self._run("put_summary", conversation=row.id, summary=summary)
        else:
            at = now if record else None
            self._run("put_in_force", conversation=row.id, active=active, summary=summary, at=at, now=now)

    def put_state(self, conversation: int, state: bytes) -> None:
        """The engine's state."""
        self._run("put_state", conversation=conversation, state=state)

    # Leases

    def lease(self, key: Key) -> tuple[int, int]:
        """Fence and expiry (milliseconds, 0 for given back) of the newest lease; zeros if none was given."""
        return self._run("lease", namespace=key.namespace, name=key.conversation).get or (0, 0)

    def give_lease(self, key: Key, *, holder: str, expires: int) -> int:
        """A new lease in place of the old one; its fence."""
        self.delete_lease(key)
        return self._run(
            "give_lease", namespace=key.namespace, name=key.conversation, holder=holder, expires=expires
        ).get

    def extend_lease(self, fence: int, *, expires: int) -> bool:
        """Whether it was still there."""
        return self._run("extend_lease", fence=fence, expires=expires).get is not None

    def end_lease(self, fence: int) -> None:
        """Give it back; the row stays for its fence."""
        self._run("end_lease", fence=fence)

    def delete_lease(self, key: Key) -> None:
        """Forget that there was one."""
        self._run("delete_lease", namespace=key.namespace, name=key.conversation)

    # The search index

    def to_index(self) -> list[tuple[int, int, int]]:
        """Conversations of which messages are missing in the index: id, last ``seq`` that is there, last ``seq``."""
        return [(id, done, last) for id, done, last in self._run("to_index")]

    def indexed(self, conversation: int, *, seq: int) -> None:
        """The index has the messages through ``seq``."""
        self._run("indexed", conversation=conversation, seq=seq)
