"""Conversations that the person pinned in the list: one log beside each, so that a pin is deleted with its conversation.

Each entry turns the pin over, so the number of entries tells it: a list of thousands is read without opening any log.
"""

from __future__ import annotations

from autocompact.core.messages import text_message
from autocompact.errors import Conflict
from autocompact.ports import ConversationStore, Key
from autocompact.stores.companions import pins_key

_TRIES = 8


async def pinned(store: ConversationStore, namespace: str) -> frozenset[str]:
    """Ids of the pinned conversations.

    Raises:
        StoreError: the store cannot be read.
    """
    beside = pins_key(Key(conversation="", namespace=namespace)).namespace
    return frozenset(info.key.conversation for info in await store.conversations(beside) if info.last_seq % 2)


async def pin(store: ConversationStore, key: Key, *, on: bool) -> None:
    """Pin a conversation, or unpin it. Does nothing if it is so already.

    Raises:
        StoreError: it could not be stored.
    """
    for attempt in range(1, _TRIES + 1):
        last = len(await store.read(pins_key(key)))
        if bool(last % 2) is on:
            return
        entry = text_message(last + 1, "system", "pinned" if on else "unpinned", synthetic=True)
        try:
            await store.append(pins_key(key), [entry], after=last)
        except Conflict:
            if attempt == _TRIES:
                raise
        else:
            return
