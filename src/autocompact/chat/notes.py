"""What a chat keeps beside the log: title, model, tasks, what waits to be said, how turns failed, how long tools took.

It lies in the same store, as an append-only log of its own in a namespace that no conversation uses, so that every
store can keep it, several programs can write it, and a search never finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeAlias

import msgspec

from autocompact.chat.views import Cut, PendingRequest, Task, TaskState
from autocompact.core.messages import Message, text_message
from autocompact.errors import Conflict, StoreCorrupt
from autocompact.ports import Key, Store

_TRIES = 8


class _Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="note"):
    pass


class Titled(_Note, frozen=True, tag="title"):
    """The person named a conversation. Older versions kept these in one log; see `autocompact.chat.titles`."""

    conversation: str
    title: str


class Chosen(_Note, frozen=True, tag="model"):
    """The conversation talks to another model from now on."""

    model: str


class CutShort(_Note, frozen=True, tag="cut"):
    """Message ``seq`` is half an answer."""

    seq: int
    why: Cut


class Failed(_Note, frozen=True, tag="failed"):
    """A turn ended after message ``seq`` without an answer, and this is why; "" once it is asked again."""

    seq: int
    message: str


class Queued(_Note, frozen=True, tag="queued"):
    """A request waits for the end of the running turn."""

    id: str
    text: str


class Unqueued(_Note, frozen=True, tag="unqueued"):
    """It waits no more: it was sent, or withdrawn."""

    id: str


class Took(_Note, frozen=True, tag="took"):
    """The tool took so long whose result message ``seq`` holds."""

    seq: int
    seconds: float


class TaskItem(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a list."""

    text: str
    state: TaskState = "open"


class Tasked(_Note, frozen=True, tag="tasks"):
    """The task list is this one."""

    tasks: tuple[TaskItem, ...]


Note: TypeAlias = Titled | Chosen | CutShort | Failed | Queued | Unqueued | Took | Tasked


class Notes:
    """The notes on one conversation, folded."""

    def __init__(self, store: Store, key: Key) -> None:
        self._store = store
        self._key = key
        self._last = 0
        self.titles: dict[str, str] = {}
        self.model = ""
        self.cuts: dict[int, Cut] = {}
        self.failures: dict[int, str] = {}
        self.pending: tuple[PendingRequest, ...] = ()
        self.seconds: dict[int, float] = {}
        self.tasks: tuple[Task, ...] = ()

    @classmethod
    async def load(cls, store: Store, key: Key) -> Self:
        """The notes as the store holds them.

        Raises:
            StoreCorrupt: they cannot be read.
        """
        notes = cls(store, key)
        await notes.catch_up()
        return notes

    async def catch_up(self) -> None:
        """Take over what other programs noted meanwhile."""
        for message in await self._store.read(self._key, from_seq=self._last + 1):
            self._fold(_decoded(message, self._key))
            self._last = message.seq

    async def add(self, *notes: Note) -> None:
        """Note something, all or nothing; durable when this returns.

        Raises:
            StoreError: it could not be stored.
        """
        tries = _TRIES
        while True:
            messages = _encoded(notes, first=self._last + 1)
            try:
                await self._store.append(self._key, messages, after=self._last)
            except Conflict:
                tries -= 1
                if not tries:
                    raise
                await self.catch_up()
            else:
                break
        self._last += len(notes)
        for note in notes:
            self._fold(note)

    def _fold(self, note: Note) -> None:  # noqa: C901 - one case for each note
        match note:
            case Titled():
                self.titles[note.conversation] = note.title
            case Chosen():
                self.model = note.model
            case CutShort():
                self.cuts[note.seq] = note.why
            case Failed():
                self.failures[note.seq] = note.message
            case Queued():
                self.pending = (*self.pending, PendingRequest(id=note.id, text=note.text))
            case Unqueued():
                self.pending = tuple(each for each in self.pending if each.id != note.id)
            case Took():
                self.seconds[note.seq] = note.seconds
            case Tasked():
                self.tasks = tuple(Task(text=item.text, state=item.state) for item in note.tasks)


def _encoded(notes: Sequence[Note], *, first: int) -> list[Message]:
    return [
        text_message(seq, "system", msgspec.json.encode(note).decode(), synthetic=True)
        for seq, note in enumerate(notes, first)
    ]


def _decoded(message: Message, key: Key) -> Note:
    try:
        return msgspec.json.decode(message.text, type=Note)
    except msgspec.DecodeError as error:
        raise StoreCorrupt(f"note {message.seq} on {key.conversation!r} cannot be read: {error}") from error
