"""Titles that the person gave: one log beside each conversation, so that a title is deleted with its conversation."""

from __future__ import annotations

from collections.abc import Mapping

from autocompact.chat.labels import Labels
from autocompact.chat.notes import Notes
from autocompact.core.messages import text_message
from autocompact.errors import Conflict
from autocompact.ports import ConversationStore, Key
from autocompact.stores.companions import title_key

_STARTED = "started"


class Titles:
    """The titles of one namespace.

    Args:
        store: holds them.
        namespace: whose conversations.
    """

    def __init__(self, store: ConversationStore, namespace: str) -> None:
        self._store = store
        self._namespace = namespace
        self._labels = Labels(store, namespace, beside=title_key)
        self._is_migrated = False

    @property
    def titles(self) -> Mapping[str, str]:
        """By conversation, as of the last `catch_up`."""
        return self._labels.texts

    def drop(self, id: str) -> None:
        """Forget a conversation that was deleted."""
        self._labels.texts.pop(id, None)

    async def catch_up(self) -> None:
        """Read the titles that any program changed since the last call.

        Raises:
            StoreError: the store cannot be read.
        """
        await self._migrate()
        await self._labels.catch_up()

    async def put(self, id: str, title: str) -> None:
        """Give a conversation a title.

        Raises:
            StoreError: it could not be stored.
        """
        await self._labels.put(id, title)

    async def is_first_start(self) -> bool:
        """True on the first call for a store in which no conversation was ever kept."""
        await self.catch_up()
        key = Key(conversation=_STARTED, namespace=f"{self._namespace}#chat")
        if await self._store.read(key):
            return False
        try:
            await self._store.append(key, [text_message(1, "system", _STARTED, synthetic=True)], after=0)
        except Conflict:
            return False
        return not (self.titles or await self._store.conversations(self._namespace))

    async def _migrate(self) -> None:
        """Convert the single log of titles that older versions kept, then delete it."""
        if self._is_migrated:
            return
        key = Key(conversation="titles", namespace=f"{self._namespace}#chat")
        old = await Notes.load(self._store, key)
        for id, title in old.titles.items():
            if title and not await self._store.read(
                title_key(Key(conversation=id, namespace=self._namespace))
            ):
                await self.put(id, title)
        if old.titles:
            started = Key(conversation=_STARTED, namespace=f"{self._namespace}#chat")
            if not await self._store.read(started):
                note = text_message(1, "system", _STARTED, synthetic=True)
                await self._store.append(started, [note], after=0)
            await self._store.delete(key)
        self._is_migrated = True
