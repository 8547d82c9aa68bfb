"""A new conversation that begins as another one did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import takewhile

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.errors import Conflict, InvalidInput
from autocompact.ports import NO_MESSAGES, Key, Store


async def copy_conversation(store: Store, source: Key, *, target: Key, through_seq: int | None) -> None:
    """Copy the log through ``through_seq`` (None: all of it), and the newest active record that fits.

    The active record comes first; one fits if it covers nothing after ``through_seq``, no message that is copied
    replaces what it covers, and it covers no results that the model has not seen where the copy ends. Where it was made
    the conversation had gone on; here the last request stays verbatim, and results not seen yet are shown whole. The
    copy's undo leads to the whole log.

    Raises:
        InvalidInput: the target exists already, the source does not, or nothing is to be copied.
    """
    there = await store.load(target, after=NO_MESSAGES)
    if there.last_seq or there.state:
        raise _taken(target)
    messages = await store.read(source, through_seq=through_seq)
    if not messages:
        raise InvalidInput(
            f"there is nothing to copy: conversation {source.conversation!r} does not exist, "
            f"or has no message through {through_seq}"
        )
    try:
        await store.append(target, messages, after=0)
    except Conflict as error:
        raise _taken(target) from error
    active = (await store.load(source, after=NO_MESSAGES)).active
    records = [*await store.compactions(source), *([active] if active else [])]
    live = _live(messages)
    unseen = {message.seq for message in _unseen(live)}
    fitting = next((each for each in reversed(records) if _fits(each, messages, unseen=unseen)), None)
    if fitting is not None:
        record = replace(_adapted(fitting, live, unseen=unseen), parent="")
        await store.commit(target, records=[record], active=record.id, expected=None, fence=0)


def _taken(target: Key) -> InvalidInput:
    return InvalidInput(f"conversation {target.conversation!r} exists already: choose another name")


def _fits(record: Compaction, messages: Sequence[Message], *, unseen: Set[int]) -> bool:
    end = record.through_seq
    return (
        record.status == "active"
        and end <= len(messages)
        and all(message.replaces is None or message.replaces > end for message in messages[end:])
        and all(seq > end for seq in unseen)
    )


def _adapted(record: Compaction, live: Sequence[Message], *, unseen: Set[int]) -> Compaction:
    """The record as it serves a log that ends here."""
    request = next((message.seq for message in reversed(live) if message.is_request), None)
    kept = {request} if request is not None and request <= record.through_seq else set[int]()
    return replace(
        record,
        keep=tuple(sorted({*record.keep, *kept})),
        masks=tuple(mask for mask in record.masks if mask.seq not in unseen),
    )


def _unseen(live: Sequence[Message]) -> Iterator[Message]:
    """The messages with results after the last word of the model."""
    waiting = takewhile(lambda message: message.role != "assistant", reversed(live))
    return (message for message in waiting if message.results)


def _live(messages: Iterable[Message]) -> list[Message]:
    """The messages that no later one replaced."""
    live: list[Message] = []
    for message in messages:
        while message.replaces is not None and live and live[-1].seq >= message.replaces:
            live.pop()
        live.append(message)
    return live
