"""Deletes the conversations that nobody used for long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Protocol

from autocompact.errors import StoreError, StoreUnavailable
from autocompact.ports import ConversationStore, Key


class Expire(Protocol):
    """See `Retention.expire`."""

    def __call__(self, key: Key, /, *, before: str) -> Awaitable[bool]:
        """Delete a conversation if it is still idle."""
        ...


async def expire_idle(
    store: ConversationStore, *, days: Callable[[str], int], now: str, expire: Expire | None = None
) -> int:
    """Delete what has expired; the number of conversations.

    Args:
        store: of them.
        days: after how many days without an update the conversations of a namespace expire; 0 is never.
        now: ISO 8601 stamp, as the store's stamps have it.
        expire: deletes one; None is the store itself.

    Raises:
        StoreUnavailable: the store cannot be used now.
        StoreError: a conversation could not be deleted; all others were.
    """
    delete, deleted = expire or store.expire, 0
    problem: StoreError | None = None
    for namespace in await store.namespaces():
        if not (most := days(namespace)):
            continue
        before = days_before(now, most)
        for key in await store.idle(namespace, before=before):
            try:
                deleted += await delete(key, before=before)
            except StoreUnavailable:
                raise
            except StoreError as error:
                # one that is damaged would be met again by each sweep, and those behind it never expire
                problem = problem or error
    if problem is not None:
        raise problem
    return deleted


def days_before(now: str, days: int) -> str:
    """The stamp of so many days before ``now``; "", which is before every stamp, where the calendar does not reach back so far."""
    try:
        return (datetime.fromisoformat(now) - timedelta(days=days)).isoformat(timespec="milliseconds")
    except OverflowError:
        return ""
