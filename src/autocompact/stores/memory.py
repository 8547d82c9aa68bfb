"""A store that forgets everything with the process: for tests, and for programs that keep their history elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.ports import Clock, ConversationInfo, Key, Lease, Snapshot, SystemClock
from autocompact.stores.indexing import MemoryIndexer
from autocompact.stores.leases import expiry, is_held
from autocompact.stores.rules import (
    check_commit,
    check_end,
    check_numbers,
    not_there,
    prompt_seqs,
    title_of,
    unknown_record,
)
from autocompact.stores.stamps import milliseconds


@dataclass(slots=True, kw_only=True)
class _Log:
    created: str
    updated: str
    title: str = ""
    messages: list[Message] = field(default_factory=list[Message])
    edits: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    records: dict[str, Compaction] = field(default_factory=dict[str, Compaction])
    active: str | None = None
    compressed_context: str | None = None
    compressed_at: str | None = None
    state: bytes = b""


class MemoryStore:
    """Implements `Store`, `Leases` and `Retention`. No method ever waits, so each is atomic.

    Args:
        clock: stamps, and when a lease expires.
        indexer: keeps a search index up to date.

    Attributes:
        indexer: the same.
    """

    def __init__(self, *, clock: Clock | None = None, indexer: MemoryIndexer | None = None) -> None:
        self._clock = clock or SystemClock()
        self.indexer = indexer
        self._logs: dict[Key, _Log] = {}
        self._leases: dict[Key, tuple[Lease, int]] = {}
        self._fence = 0

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        """See `Store.append`."""
        check_numbers(messages, after=after)
        log = self._logs.get(key)
        if log is not None and resent and (there := log.messages[after : after + len(messages)]):
            messages, after = not_there(key, messages, there=there), after + len(there)
            if not messages:
                return log.active
        check_end(key, last_seq=len(log.messages) if log else 0, after=after)
        if not messages:
            return log.active if log else None
        log = log or self._begin(key)
        log.messages.extend(messages)
        log.edits.extend((m.seq, m.replaces) for m in messages if m.replaces is not None)
        log.title = log.title or title_of(messages)
        log.updated = self._clock.now()
        if self.indexer is not None:
            self.indexer.index(key, messages)
        return log.active

    def _begin(self, key: Key) -> _Log:
        now = self._clock.now()
        return self._logs.setdefault(key, _Log(created=now, updated=now))

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        """See `Store.load`."""
        log = self._logs.get(key)
        if log is None:
            return Snapshot(key=key)
        active = log.records[log.active] if log.active is not None else None
        through = active.through_seq if active else 0
        edits = [(seq, replaces) for seq, replaces in log.edits if seq <= through]
        prompt = tuple(prompt_seqs(through, edits, role_of=lambda seq: log.messages[seq - 1].role))
        earlier = sorted({*prompt, *(active.needed if active else ())})
        return Snapshot(
            key=key,
            active=active,
            prepared=next((r for r in log.records.values() if r.status == "prepared"), None),
            earlier=tuple(log.messages[seq - 1] for seq in earlier),
            prompt=prompt,
            messages=tuple(log.messages[max(through, after) :]),
            last_seq=len(log.messages),
            state=log.state,
        )

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """See `Store.read`."""
        log = self._logs.get(key)
        return tuple(log.messages[max(from_seq, 1) - 1 : through_seq]) if log else ()

    async def commit(
        self,
        key: Key,
        *,
        records: Sequence[Compaction] = (),
        active: str | None,
        expected: str | None,
        fence: int,
        state: bytes | None = None,
    ) -> None:
        """See `Store.commit`."""
        log = self._logs.get(key)
        newest = self._leases[key][0].fence if key in self._leases else 0
        check_commit(key, active=log.active if log else None, expected=expected, newest=newest, fence=fence)
        kept = _with_records(log.records if log else {}, records)
        if active is not None and active not in kept:
            raise unknown_record(key, active)
        log = log or self._begin(key)
        log.records = kept
        log.state = log.state if state is None else state
        log.compressed_context = kept[active].summary if active is not None else None
        if active != log.active:
            log.active, log.updated = active, self._clock.now()
            log.compressed_at = log.updated if active is not None else None

    async def compactions(self, key: Key) -> tuple[Compaction, ...]:
        """See `Store.compactions`."""
        log = self._logs.get(key)
        return tuple(log.records.values()) if log else ()

    async def conversations(
        self,
        namespace: str,
        *,
        limit: int | None = None,
        after: ConversationInfo | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[ConversationInfo, ...]:
        """See `Store.conversations`."""
        found = [
            ConversationInfo(
                key=key,
                last_seq=len(log.messages),
                created=log.created,
                updated=log.updated,
                title=log.title,
                compressed_context=log.compressed_context,
                compressed_at=log.compressed_at,
            )
            for key, log in self._logs.items()
            if key.namespace == namespace and (names is None or key.conversation in names)
        ]
        found.sort(key=_place, reverse=True)
        return tuple(info for info in found if after is None or _place(info) < _place(after))[:limit]

    async def delete(self, key: Key) -> bool:
        """See `Store.delete`."""
        self._leases.pop(key, None)
        if self._logs.pop(key, None) is None:
            return False
        if self.indexer is not None:
            self.indexer.delete(key)
        return True

    async def namespaces(self) -> tuple[str, ...]:
        """See `Retention.namespaces`."""
        return tuple(sorted({key.namespace for key in self._logs}))

    async def idle(self, namespace: str, *, before: str) -> tuple[Key, ...]:
        """See `Retention.idle`."""
        found = [
            key for key in self._logs if key.namespace == namespace and self._is_idle(key, before=before)
        ]
        return tuple(sorted(found, key=lambda key: (self._logs[key].updated, key.conversation)))

    async def expire(self, key: Key, *, before: str) -> bool:
        """See `Retention.expire`."""
        return key in self._logs and self._is_idle(key, before=before) and await self.delete(key)

    def _is_idle(self, key: Key, *, before: str) -> bool:
        held = self._leases.get(key)
        is_leased = held is not None and is_held(held[1], now=milliseconds(self._clock))
        return self._logs[key].updated < before and not is_leased

    async def purge(self) -> None:
        """See `Retention.purge`: no files, nothing to do."""

    async def aclose(self) -> None:
        """See `Store.aclose`."""

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        """See `Leases.acquire`."""
        now = milliseconds(self._clock)
        held = self._leases.get(key)
        if held is not None and is_held(held[1], now=now):
            return None
        # one count for all conversations: a lease that went with a deleted one never gets its number again
        self._fence += 1
        lease = Lease(key=key, holder=holder, fence=self._fence)
        self._leases[key] = (lease, expiry(now, seconds=seconds))
        return lease

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        """See `Leases.renew`."""
        held = self._leases.get(lease.key)
        if held is None or held[0] != lease or held[1] == 0:
            return False
        self._leases[lease.key] = (lease, expiry(milliseconds(self._clock), seconds=seconds))
        return True

    async def release(self, lease: Lease) -> None:
        """See `Leases.release`."""
        held = self._leases.get(lease.key)
        if held is not None and held[0] == lease:
            # kept, for its fence: who held one before it must not commit now either
            self._leases[lease.key] = (lease, 0)


def _place(info: ConversationInfo) -> tuple[str, str]:
    """Sort key of a conversation in the list."""
    return info.updated, info.key.conversation


def _with_records(known: dict[str, Compaction], new: Sequence[Compaction]) -> dict[str, Compaction]:
    kept = dict(known)
    for record in new:
        if record.status == "prepared":
            kept = {id: other for id, other in kept.items() if other.status != "prepared" or id == record.id}
        kept[record.id] = record
    return kept
