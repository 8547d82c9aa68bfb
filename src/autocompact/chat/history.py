"""Pages of the history, and usage over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from autocompact.chat.edits import Edits, versions_of
from autocompact.chat.session_log import SessionLog
from autocompact.chat.views import Divider, Entry, HistoryPage, UsagePoint
from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message

_LEAST_READ, _MOST_READ = 20, 200
"""Messages read at once: the page, and a few more to where it may begin; what is replaced may lie between them."""


async def history_page(
    log: SessionLog, edits: Edits, *, before_seq: int | None, limit: int, replaced: bool, through: int
) -> HistoryPage:
    """A page of the log, see `ChatSession.history`."""
    conversation = log.conversation
    last = len(conversation)
    end = last if before_seq is None else min(before_seq - 1, last)
    end = min(end, through or end)
    await edits.load_back_to(end + 1)
    entries: list[Entry] = []
    start = end + 1
    while start > 1 and not _enough(entries, limit):
        wanted = min(max(limit - len(entries), 0) + _LEAST_READ, _MOST_READ)
        for message in reversed(await edits.read(max(1, start - wanted), start - 1)):
            if _enough(entries, limit):
                break
            start = message.seq
            if replaced or not edits.is_replaced(message.seq, through=through):
                entry = log.entry(message)
                gone = message.seq in edits
                entries.append(replace(entry, visibility="replaced") if gone else entry)
    entries.reverse()
    dividers = _dividers(
        await conversation.records.all(),
        log=log,
        first=start,
        last=end,
    )
    return HistoryPage(
        entries=tuple(await _with_versions(entries, log=log, edits=edits)),
        dividers=tuple(dividers),
        earlier=start if start > 1 else None,
        last_seq=last,
    )


async def _with_versions(entries: Sequence[Entry], *, log: SessionLog, edits: Edits) -> list[Entry]:
    """The entries, with the versions of requests and answers."""
    result = list(entries)
    for at, entry in enumerate(entries):
        if not edits.may_have_versions(entry.message):
            continue
        chain = await edits.chain(entry.message)
        of_request, of_answer = versions_of(chain, log.copies, shown=entry.seq, edits=edits)
        result[at] = replace(entry, versions=of_request)
        answer = _answer_to(entries, at)
        if of_answer and (answer != at or not of_request):
            result[answer] = replace(entries[answer], versions=of_answer)
    return result


def _answer_to(entries: Sequence[Entry], at: int) -> int:
    """The place of the answer that a turn ended with; that of its request if it has none."""
    for n in range(at + 1, len(entries)):
        message = entries[n].message
        if message.is_request:
            break
        if message.role == "assistant" and not message.calls:
            return n
    return at


def _enough(entries: Sequence[Entry], limit: int) -> bool:
    """True if the page is full and does not begin with the result of a call that it does not show."""
    return len(entries) >= max(1, limit) and entries[-1].message.role != "tool"


def _dividers(records: Sequence[Compaction], *, log: SessionLog, first: int, last: int) -> Iterable[Divider]:
    active = log.conversation.internals.replica.active_id
    known = {record.id: record for record in records}
    for record in records:
        if record.status == "prepared":
            continue
        before = known.get(record.parent)
        begin = before.through_seq + 1 if before else 1
        divider = Divider(
            record=record,
            active=record.id == active,
            left=(begin, record.through_seq) if record.through_seq >= begin else None,
            metered=log.metered(record.id),
        )
        if first <= divider.after_seq <= last:
            yield divider


def usage_points(messages: Iterable[Message]) -> tuple[UsagePoint, ...]:
    """The usage that the provider reported for each answer."""
    return tuple(
        UsagePoint(
            seq=message.seq,
            time=message.time,
            prompt=message.usage.prompt,
            completion=message.usage.completion,
            model=message.model,
        )
        for message in messages
        if message.usage is not None
    )
