"""Titles that the person gave: one log beside each conversation, so that a title is deleted with its conversation."""

from __future__ import annotations

from autocompact.chat.notes import Notes
from autocompact.core.messages import text_message
from autocompact.errors import Conflict
from autocompact.ports import ConversationInfo, ConversationStore, Key
from autocompact.stores.companions import title_key

_TRIES = 8
_STARTED = "started"


class Titles:
    """The titles of one namespace.

    Attributes:
        titles: by conversation, as of the last `catch_up`.

    Args:
        store: holds them.
        namespace: whose conversations.
    """

    def __init__(self, store: ConversationStore, namespace: str) -> None:
        self.titles: dict[str, str] = {}
        self._store = store
        self._namespace = namespace
        self._known: dict[str, ConversationInfo] = {}
        self._is_migrated = False

    async def catch_up(self) -> None:
        """Read the titles that any program changed since the last call.

        Raises:
            StoreError: the store cannot be read.
        """
        await self._migrate()
        namespace = title_key(Key(conversation="", namespace=self._namespace)).namespace
        infos = {info.key.conversation: info for info in await self._store.conversations(namespace)}
        for id, info in infos.items():
            if self._known.get(id) != info:
                self.titles[id] = await self._title(info)
        self.titles = {id: self.titles[id] for id in infos}
        self._known = infos

    async def _title(self, info: ConversationInfo) -> str:
        if info.last_seq == 1 and info.title and not info.title.endswith("…"):
            return info.title  # the store's own title is the first message, up to 80 characters
        last = await self._store.read(info.key, from_seq=info.last_seq)
        return last[-1].text if last else ""

    async def put(self, id: str, title: str) -> None:
        """Give a conversation a title.

        Raises:
            StoreError: it could not be stored.
        """
        key = title_key(Key(conversation=id, namespace=self._namespace))
        for attempt in range(1, _TRIES + 1):
            last = len(await self._store.read(key))
            try:
                await self._store.append(key, [text_message(last + 1, "user", title)], after=last)
            except Conflict:
                if attempt == _TRIES:
                    raise
            else:
                break
        self.titles[id] = title

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
