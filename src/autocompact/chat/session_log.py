"""The log of a conversation as its session sees it: every message is announced once, in order, whoever appended it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from autocompact.chat.events import ContextChanged, Emit, MessageAdded, MessagesReplaced
from autocompact.chat.notes import CutShort, Failed, Note, Notes, Resumed, Took
from autocompact.chat.views import Cut, Entry
from autocompact.core.messages import Message, Part, ToolResult
from autocompact.engine import Conversation
from autocompact.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Changes of other programs to the log.

    Attributes:
        changed: they appended messages.
        deleted: one of them deleted the conversation.
    """

    changed: bool
    deleted: bool


class SessionLog:
    """Appends to the log of one conversation, and follows what other programs append.

    Attributes:
        conversation: where messages are appended; the session replaces it when another model is chosen.

    Args:
        conversation: as above.
        notes: what is kept beside the log.
        clock: stamps messages.
        emit: takes `MessageAdded`, `MessagesReplaced` and `ContextChanged`.
    """

    def __init__(self, conversation: Conversation, *, notes: Notes, clock: Clock, emit: Emit) -> None:
        self.conversation = conversation
        self._notes = notes
        self._clock = clock
        self._emit = emit
        self._announced = len(conversation)
        self._adding = asyncio.Lock()

    @property
    def _id(self) -> str:
        return self.conversation.internals.replica.key.conversation

    def entry(self, message: Message) -> Entry:
        """The message with what the notes and the active compaction say about it."""
        conversation, active, seq = self.conversation, self.conversation.records.active, message.seq
        masked = active is not None and any(mask.seq == seq for mask in active.masks)
        return Entry(
            message=message,
            visibility=("masked" if masked else "sent")
            if conversation.internals.replica.shows(seq)
            else "summarised",
            cut=self._notes.cuts.get(seq, ""),
            seconds=self._notes.seconds.get(seq),
            pinned=seq in conversation.records.pins,
            failure=self._notes.failures.get(seq, ""),
        )

    @property
    def copies(self) -> Mapping[int, int]:
        """By message that takes an earlier version up again: the message that the version began with."""
        return self._notes.copies

    def metered(self, compaction: str) -> tuple[int, int] | None:
        """What the meter showed before and after a compaction, in tokens; None if that is not known."""
        return self._notes.metered.get(compaction)

    async def append(
        self, message: Message, *, notes: Callable[[int], Sequence[Note]] | None = None
    ) -> Message:
        """Append a message, and announce it; returns it as stored.

        Args:
            message: without a ``time`` it is stamped.
            notes: makes, from its ``seq``, what is to be noted with it.
        """
        stamped = message if message.time else replace(message, time=self._clock.now())
        # One at a time: announcements must come in the order of the log.
        async with self._adding:
            stored = await self.conversation.append(stamped)
            if notes is not None and (noted := notes(stored.seq)):
                await self._notes.add(*noted)
            await self._announce_through(stored.seq - 1)
            self._announce(stored)
        self._emit(ContextChanged())
        return stored

    async def resume(self, version: Sequence[Message], *, replaces: int) -> None:
        """Append the messages of an earlier version once more, all or none, and announce them.

        Args:
            version: its messages.
            replaces: the message in whose place they come.

        Raises:
            Conflict: another program appended meanwhile.
        """
        copies = [replace(message, seq=0, id="", usage=None, replaces=None) for message in version]
        copies[0] = replace(copies[0], replaces=replaces)
        async with self._adding:
            stored = await self.conversation.extend(copies, after=len(self.conversation))
            notes: list[Note] = [Resumed(seq=stored[0].seq, of=version[0].seq)]
            for copy, message in zip(stored, version, strict=True):
                notes += self._notes.of_copy(copy.seq, of=message.seq)
            await self._notes.add(*notes)
            for message in stored:
                self._announce(message)
        self._emit(ContextChanged())

    async def append_partial(
        self,
        parts: Sequence[Part],
        *,
        answers: Sequence[ToolResult],
        why: Cut,
        model: str,
        failure: str = "",
        thought: float | None = None,
    ) -> None:
        """Append half an answer, and results for calls that never ended; note why the turn failed.

        Args:
            parts: of the half answer; none appends none.
            answers: results of calls of the answer before it.
            why: the turn was cut short.
            model: that answered, as the provider calls it.
            failure: message for the person; "" if the turn did not fail.
            thought: seconds of the thinking that the half answer begins with; None if that is not known.
        """

        def notes(seq: int) -> list[Note]:
            return [CutShort(seq=seq, why=why)]

        def notes_of_half(seq: int) -> list[Note]:
            return notes(seq) if thought is None else [*notes(seq), Took(seq=seq, seconds=thought)]

        for answer in answers:
            await self.append(result_message(answer), notes=notes)
        if parts:
            half = Message(seq=0, role="assistant", parts=tuple(parts), model=model)
            await self.append(half, notes=notes_of_half)
        if failure:
            await self._notes.add(Failed(seq=len(self.conversation), message=failure))

    async def follow(self) -> Followed:
        """Load and announce what other programs appended. Costs O(new)."""
        last, changed = len(self.conversation), False
        async with self._adding:
            found = await self.conversation.history(from_seq=max(1, last))
            if found and found[-1].seq > last:
                await self.conversation.internals.replica.sync()
                changed = True
            await self._announce_through(len(self.conversation))
        # a log only grows, until it is deleted
        return Followed(changed=changed, deleted=bool(last) and not found)

    async def _announce_through(self, seq: int) -> None:
        """Announce what other programs appended, up to message ``seq``."""
        if seq <= self._announced:
            return
        added = await self.conversation.history(from_seq=self._announced + 1, through_seq=seq)
        await self._notes.catch_up()
        for message in added:
            self._announce(message)
        self._emit(ContextChanged())

    def _announce(self, message: Message) -> None:
        self._announced = message.seq
        if message.replaces is not None:
            replaced = MessagesReplaced(
                conversation_id=self._id, from_seq=message.replaces, through_seq=message.seq - 1
            )
            self._emit(replaced)
        self._emit(MessageAdded(conversation_id=self._id, entry=self.entry(message)))


def result_message(result: ToolResult) -> Message:
    """A tool's result as a message of its own."""
    return Message(seq=0, role="tool", parts=(result,))
