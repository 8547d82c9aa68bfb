"""Moving conversations from one store to another, as they are: a file to a server, or back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from autocompact.errors import StoreCorrupt
from autocompact.ports import Key
from autocompact.stores.table_store import TableStore


@dataclass(slots=True, kw_only=True)
class Moved:
    """Counts of what was moved.

    Attributes:
        conversations: that are in the target now and were not.
        messages: of them.
        there: conversations that the target had already, and the same.
        different: those that it has otherwise; they are left as they are.
    """

    conversations: int
    messages: int
    there: int
    different: list[Key]


async def move(source: TableStore[Any], target: TableStore[Any]) -> Moved:
    """Copy every conversation with its compactions and what is kept beside it; each is read back and compared.

    One that is interrupted goes on when it is run again: a conversation is there whole or not at all. Leases stay
    behind: nobody should work on the source meanwhile. Nothing is taken out of it.

    Args:
        source: where they are.
        target: where they are to be.

    Raises:
        StoreCorrupt: a conversation is damaged, or does not read back as it was written.
        StoreError: a store cannot be used.
    """
    done = Moved(conversations=0, messages=0, there=0, different=[])
    async for key in _keys(source):
        whole = await source.whole(key)
        if whole is None:  # deleted since it was listed
            continue
        is_new = await target.put_whole(whole)
        found = await target.whole(key)
        is_same = found is not None and whole.is_same(found)
        if is_new and not is_same:
            raise StoreCorrupt(f"conversation {key.conversation!r} does not read back as it was written")
        if is_new:
            done.conversations += 1
            done.messages += len(whole.messages)
        elif is_same:
            done.there += 1
        else:
            done.different.append(key)
    return done


async def _keys(store: TableStore[Any]) -> AsyncIterator[Key]:
    for namespace in await store.namespaces():
        for info in await store.conversations(namespace):
            yield info.key
