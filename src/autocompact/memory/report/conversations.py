"""Records of a month from the stores of conversations."""

from __future__ import annotations

from collections import Counter as Counted
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.core.stamps import instant_of
from autocompact.core.tokens import Counter, Estimator, message_cost, size
from autocompact.memory.report.records import Call, CompactionRecord, Month, Records
from autocompact.ports import ConversationInfo, ConversationStore
from autocompact.runtime.off_loop import LARGE, off_loop_if
from autocompact.stores.companions import hidden_names, is_companion
from autocompact.stores.naming import StorePlace


async def records_of_place(place: StorePlace, month: Month) -> Records:
    """Collect the records of the store at a place.

    Raises:
        StoreError: it cannot be used.
    """
    from autocompact.stores.opening import open_store

    async with open_store(place) as store:
        return await records_of_store(store, month)


async def records_of_store(
    store: ConversationStore, month: Month, *, counter: Counter | None = None
) -> Records:
    """Collect the records of ``month`` from all namespaces of a store.

    Args:
        store: where conversations are kept.
        month: which.
        counter: counts the tokens of requests that the provider reported no figures for.
    """
    sessions: list[str] = []
    compactions: list[CompactionRecord] = []
    calls: list[Call] = []
    undated = 0
    touched = [info async for info in _touched(store, month)]
    for info, name in zip(touched, _names(touched), strict=True):
        messages, made = await store.read(info.key), await store.compactions(info.key)
        new = [_record(each, name=name) for each in made if month.has(each.receipt.time)]
        span = month.has(info.created) and month.has(info.updated)
        said = [message for message in messages if month.has(message.time) or (span and not message.time)]
        if said or new:
            sessions.append(name)
        compactions += new
        undated += (
            0 if span else sum(message.role == "assistant" and not message.time for message in messages)
        )
        day = date.fromisoformat(info.updated[:10])
        seqs = {message.seq for message in said}
        calls_of = partial(_calls, messages, made, seqs=seqs, day=day, counter=counter or Estimator())
        # counts all messages, of a long conversation for a second
        found = await off_loop_if(sum(map(size, messages)) > LARGE, lambda work=calls_of: tuple(work()))
        calls += (replace(call, conversation=name) for call in found)
    return Records(
        month=month,
        sessions=tuple(sessions),
        compactions=tuple(sorted(compactions, key=lambda record: record.time)),
        calls=tuple(sorted(calls, key=lambda call: call.day)),
        undated_calls=undated,
    )


async def _touched(store: ConversationStore, month: Month) -> AsyncIterator[ConversationInfo]:
    """The conversations that may have something of the month."""
    for namespace in await store.namespaces():
        if is_companion(namespace):
            continue
        hidden = await hidden_names(store, namespace)
        for info in await store.conversations(namespace):
            if info.key.conversation in hidden:
                continue
            # An import is created later than its messages were said.
            if info.updated[:7] >= str(month):
                yield info


def _names(infos: Sequence[ConversationInfo]) -> Iterator[str]:
    """A name for each that no other has: tenants may call theirs alike."""
    alike = Counted(info.key.conversation for info in infos)
    for key in (info.key for info in infos):
        yield key.conversation if alike[key.conversation] == 1 else f"{key.namespace}/{key.conversation}"


def _record(record: Compaction, *, name: str) -> CompactionRecord:
    receipt = record.receipt
    return CompactionRecord(
        conversation=name,
        id=record.id,
        time=receipt.time,
        tokens_before=receipt.tokens_before,
        tokens_after=receipt.tokens_after,
        stated=receipt.stated,
        referenced=receipt.referenced,
        missing=receipt.missing,
        seconds=receipt.seconds,
        model=receipt.model,
        cost=receipt.cost,
    )


def _calls(
    messages: Sequence[Message],
    made: Sequence[Compaction],
    *,
    seqs: set[int],
    day: date,
    counter: Counter,
) -> Iterator[Call]:
    """The replies among the messages ``seqs``; ``day`` is that of those without a time.

    A request holds everything before the reply, less what the active compactions had taken out until then.
    """
    active = [_Taken.of(record) for record in made if record.status == "active"]
    total = 0
    for message in messages:
        cost = message_cost(message, counter).tokens
        if message.role == "assistant" and message.seq in seqs:
            saved = sum(taken.tokens for taken in active if taken.is_before(message))
            usage = message.usage
            yield Call(
                day=said.date() if (said := instant_of(message.time[:10])) else day,
                model=message.model,
                tokens=usage.prompt if usage else max(0, total - saved),
                reply=usage.completion if usage else cost,
                saved=saved,
                reported=usage is not None,
            )
        total += cost


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What a compaction took out: so many ``tokens`` of the messages through ``last``, at ``time``."""

    tokens: int
    last: int
    time: str

    @classmethod
    def of(cls, record: Compaction) -> _Taken:
        receipt = record.receipt
        return cls(
            tokens=max(0, receipt.tokens_before - receipt.tokens_after),
            last=max(record.through_seq, max((mask.seq for mask in record.masks), default=0)),
            time=receipt.time,
        )

    def is_before(self, message: Message) -> bool:
        """True if the reply came after it: it ends before the reply, and was made before it."""
        is_later = bool(message.time and self.time and self.time > message.time)
        return self.last < message.seq and not is_later
