"""Labels: a text that the person gives to a conversation, in a log beside it of which the last entry counts."""

from __future__ import annotations

from collections.abc import Callable

from autocompact.core.messages import text_message
from autocompact.errors import Conflict
from autocompact.ports import ConversationInfo, ConversationStore, Key
from autocompact.stores.companions import tags_key

_TRIES = 8
_TAGS = "tags: "
MOST_TAGS, LONGEST_TAG = 10, 40


class Labels:
    """The labels of one sort in one namespace.

    Attributes:
        texts: by conversation, as of the last `catch_up`.

    Args:
        store: holds them.
        namespace: whose conversations.
        beside: the key of the log beside a conversation.
    """

    def __init__(self, store: ConversationStore, namespace: str, *, beside: Callable[[Key], Key]) -> None:
        self.texts: dict[str, str] = {}
        self._store = store
        self._namespace = namespace
        self._beside = beside
        self._known: dict[str, ConversationInfo] = {}

    async def catch_up(self) -> None:
        """Read the labels that any program changed since the last call.

        Raises:
            StoreError: the store cannot be read.
        """
        namespace = self._key("").namespace
        infos = {info.key.conversation: info for info in await self._store.conversations(namespace)}
        for id, info in infos.items():
            if self._known.get(id) != info:
                self.texts[id] = await self._text(info)
        # one of them may have been dropped while others were read
        self.texts = {id: self.texts[id] for id in infos if id in self.texts}
        self._known = infos

    def _key(self, id: str) -> Key:
        return self._beside(Key(conversation=id, namespace=self._namespace))

    async def _text(self, info: ConversationInfo) -> str:
        if info.last_seq == 1 and info.title and not info.title.endswith("…"):
            return info.title  # the store's own title is the first message, up to 80 characters
        last = await self._store.read(info.key, from_seq=info.last_seq)
        return last[-1].text if last else ""

    async def put(self, id: str, text: str) -> None:
        """Label a conversation.

        Raises:
            StoreError: it could not be stored.
        """
        key = self._key(id)
        for attempt in range(1, _TRIES + 1):
            last = len(await self._store.read(key))
            try:
                await self._store.append(key, [text_message(last + 1, "user", text)], after=last)
            except Conflict:
                if attempt == _TRIES:
                    raise
            else:
                break
        self.texts[id] = text


class Tags:
    """The tags of the conversations of one namespace.

    Args:
        store: holds them.
        namespace: whose conversations.
    """

    def __init__(self, store: ConversationStore, namespace: str) -> None:
        self._labels = Labels(store, namespace, beside=tags_key)

    async def catch_up(self) -> None:
        """Read what any program changed since the last call.

        Raises:
            StoreError: the store cannot be read.
        """
        await self._labels.catch_up()

    def of(self, id: str) -> tuple[str, ...]:
        """The tags of a conversation, as of the last `catch_up`."""
        # an entry is never empty, since a log holds no empty text
        text = self._labels.texts.get(id, "").removeprefix(_TAGS.strip()).strip()
        return tuple(text.split(", ")) if text else ()

    async def put(self, id: str, tags: tuple[str, ...]) -> None:
        """Give a conversation these tags in place of those it had.

        Raises:
            StoreError: it could not be stored.
        """
        if tags != self.of(id):
            await self._labels.put(id, f"{_TAGS}{', '.join(tags)}".strip())

    def drop(self, id: str) -> None:
        """Forget a conversation that was deleted."""
        self._labels.texts.pop(id, None)


def tags_in(text: str) -> tuple[str, ...]:
    """Tags as a person writes them: separated by commas, a ``#`` before each or not; each of them once."""
    names = (" ".join(each.replace("#", " ").split()).casefold() for each in text.split(","))
    return tuple(dict.fromkeys(filter(None, names)))
