"""Notes: what a chat keeps beside the log (model, tasks, pending requests, failures of turns, run times of tools).

They are an append-only log of their own in the same store, in a namespace that no conversation uses: every store can
keep them, several programs can write them, and a search never finds them.
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
    """Another model was chosen for the conversation."""

    model: str


class CutShort(_Note, frozen=True, tag="cut"):
    """Message ``seq`` is an incomplete answer."""

    seq: int
    why: Cut


class Failed(_Note, frozen=True, tag="failed"):
    """A turn ended after message ``seq`` without an answer; ``message`` says why, "" after a retry."""

    seq: int
    message: str


class Queued(_Note, frozen=True, tag="queued"):
    """A request became pending."""

    id: str
    text: str


class Unqueued(_Note, frozen=True, tag="unqueued"):
    """A pending request was sent or withdrawn."""

    id: str


class Took(_Note, frozen=True, tag="took"):
    """Run time of the tool whose result is message ``seq``, or of the thinking that answer ``seq`` began with."""

    seq: int
    seconds: float


class Resumed(_Note, frozen=True, tag="resumed"):
    """From message ``seq`` on an earlier version of the conversation was taken up again: it began with message ``of``."""

    seq: int
    of: int


class Metered(_Note, frozen=True, tag="metered"):
    """What the meter showed before a compaction was activated, and after it: tokens."""

    compaction: str
    before: int
    after: int


class TaskItem(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a list."""

    text: str
    state: TaskState = "open"


class Tasked(_Note, frozen=True, tag="tasks"):
    """The task list was replaced."""

    tasks: tuple[TaskItem, ...]


Note: TypeAlias = Titled | Chosen | CutShort | Failed | Queued | Unqueued | Took | Resumed | Metered | Tasked


class Notes:
    """The notes on one conversation, folded; the attributes are the current state."""

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
        self.metered: dict[str, tuple[int, int]] = {}
        self.copies: dict[int, int] = {}
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
        """Fold in the notes that other programs added."""
        for message in await self._store.read(self._key, from_seq=self._last + 1):
            self._fold(_decoded(message, self._key))
            self._last = message.seq

    def of_copy(self, seq: int, *, of: int) -> list[Note]:
        """Notes that say of message ``seq`` what is noted of ``of``: how long it took, and why it is incomplete."""
        notes: list[Note] = []
        if of in self.seconds:
            notes.append(Took(seq=seq, seconds=self.seconds[of]))
        if of in self.cuts:
            notes.append(CutShort(seq=seq, why=self.cuts[of]))
        return notes

    async def add(self, *notes: Note) -> None:
        """Append notes, all or none; durable when this returns.

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
            case Resumed():
                self.copies[note.seq] = note.of
            case Metered():
                self.metered[note.compaction] = (note.before, note.after)
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
