"""Messages that were replaced by a later one: read back from the end of the log, only as far as a page needs it.

For the end of the log the messages in memory say it, so opening a conversation reads no more than its context.

A message that replaces others takes the place of the first of them. All that ever stood in one place are its versions, and
to see an older one is to see the log as it was before the next one came: as far as it then went (``through``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from autocompact.chat.views import Version, Versions
from autocompact.core.messages import Message
from autocompact.engine import Conversation

_READ = 500
"""Messages read at once."""


class Edits:
    """The replaced messages of one conversation; ``seq in edits`` asks for one.

    Args:
        conversation: the conversation.
    """

    def __init__(self, conversation: Conversation) -> None:
        log = conversation.internals.replica.transcript
        self._conversation = conversation
        self._from, self._through = log.first, len(log)
        self._replaced: set[int] = set()
        self._firsts: dict[int, int] = {}  # by the message that replaced: the first that it replaced
        self._next: dict[int, int] = {}  # by message: the one that took its place
        self._add(log[seq] for seq in range(log.first, len(log) + 1))

    def __contains__(self, seq: object) -> bool:
        return seq in self._replaced

    def is_replaced(self, seq: int, *, through: int) -> bool:
        """True if message ``seq`` was replaced when the log ended with message ``through``; 0 is now."""
        if not through:
            return seq in self._replaced
        return any(first <= seq < by <= through for by, first in self._firsts.items())

    def through(self, seq: int) -> int:
        """Where the log ended when message ``seq`` was last part of the conversation; 0 if it is now.

        What came after it must have been read (`load_back_to`).
        """
        return min((by - 1 for by, first in self._firsts.items() if first <= seq < by), default=0)

    def first_replaced_after(self, through: int) -> int:
        """The first message of the log up to ``through`` that was replaced later; 0 if none was."""
        return min((first for by, first in self._firsts.items() if first <= through < by), default=0)

    def newest(self, seq: int) -> int:
        """The message that stands in the place of ``seq`` now."""
        while seq in self._next:
            seq = self._next[seq]
        return seq

    async def chain(self, message: Message) -> tuple[Message, ...]:
        """All messages that ever stood in the place of ``message``, oldest first; those that can be read, if it is deleted meanwhile."""
        found = [message]
        while (first := found[0].replaces) is not None and (earlier := await self._at(first)):
            found[:0] = earlier
        while (by := self._next.get(found[-1].seq)) is not None and (later := await self._at(by)):
            found += later
        return tuple(found)

    async def _at(self, seq: int) -> tuple[Message, ...]:
        return await self._conversation.history(from_seq=seq, through_seq=seq)

    def may_have_versions(self, message: Message) -> bool:
        """True if another message stood, or stands, in the place of ``message``."""
        return message.replaces is not None or message.seq in self._next

    async def load_back_to(self, from_seq: int) -> None:
        """Read all messages from ``from_seq`` on; then it is known what is replaced from the one before it on."""
        last = len(self._conversation)
        if last > self._through:
            self._add(await self._conversation.history(from_seq=self._through + 1, through_seq=last))
            self._through = last
        while self._from > from_seq:
            await self.read(max(from_seq, self._from - _READ), self._from - 1)

    async def read(self, from_seq: int, through_seq: int) -> tuple[Message, ...]:
        """Messages of the log; what they replace is noted."""
        messages = await self._conversation.history(from_seq=from_seq, through_seq=through_seq)
        if through_seq >= self._from - 1:
            self._add(messages)
            self._from = min(self._from, from_seq)
        return messages

    def _add(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.replaces is not None:
                self._replaced.update(range(message.replaces, message.seq))
                self._firsts[message.seq] = message.replaces
                earlier = self._next.get(message.replaces, message.seq)
                self._next[message.replaces] = min(earlier, message.seq)


def versions_of(
    chain: Sequence[Message], copies: Mapping[int, int], *, shown: int, edits: Edits
) -> tuple[Versions | None, Versions | None]:
    """The versions of a request, and those of the answer to it; None where there is only one.

    The same request sent again is one version of the request with several answers.

    Args:
        chain: all messages of the place, oldest first.
        copies: by message that takes an older version up again: the first message of that version.
        shown: the message of the chain that is shown.
        edits: says where each version ends.
    """
    order: list[Message] = []
    for message in chain:
        older = next((n for n, each in enumerate(order) if each.seq == copies.get(message.seq)), None)
        if older is None:
            order.append(message)
        else:  # it has all that the older one had
            order[older] = message
            shown = message.seq if shown == copies[message.seq] else shown
    groups: list[list[Message]] = []
    for message in order:
        group = next((group for group in groups if group[0].parts == message.parts), None)
        groups.append([message]) if group is None else group.append(message)
    at = next(n for n, group in enumerate(groups) if any(each.seq == shown for each in group))
    # of another request the answer that was there last
    requests = [shown if n == at else max(each.seq for each in group) for n, group in enumerate(groups)]
    return (
        _versions(requests, at=at, edits=edits),
        _versions(seqs := [each.seq for each in groups[at]], at=seqs.index(shown), edits=edits),
    )


def _versions(seqs: Sequence[int], *, at: int, edits: Edits) -> Versions | None:
    if len(seqs) < 2:
        return None
    all = [Version(seq=seq, through=edits.through(seq)) for seq in seqs]
    return Versions(
        number=at + 1,
        count=len(all),
        before=all[at - 1] if at else None,
        after=all[at + 1] if at + 1 < len(all) else None,
    )
