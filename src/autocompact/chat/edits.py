"""Which messages a later one replaced: read back from the end of the log, and only as far as somebody looks.

The messages held in memory tell it for the end of the log, so that opening a conversation reads no more than its
context.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from autocompact.core.messages import Message

if TYPE_CHECKING:
    from autocompact.chat.session import ChatSession

_READ = 500
"""Messages read at once."""


class Edits:
    """What of one conversation is replaced.

    Args:
        session: whose.
    """

    def __init__(self, session: ChatSession) -> None:
        log = session.conversation.transcript
        self._of = session
        self._from, self._through = log.first, len(log)
        self._replaced = {seq for seq in range(log.first, len(log) + 1) if log.is_replaced(seq)}

    def __contains__(self, seq: object) -> bool:
        return seq in self._replaced

    async def reach(self, from_seq: int) -> None:
        """Know of all messages from ``from_seq`` on, and so what is replaced from the one before it on."""
        last = len(self._of.conversation)
        if last > self._through:
            self._learn(await self._of.conversation.history(from_seq=self._through + 1, through_seq=last))
            self._through = last
        while self._from > from_seq:
            await self.read(max(from_seq, self._from - _READ), self._from - 1)

    async def read(self, from_seq: int, through_seq: int) -> tuple[Message, ...]:
        """Messages of the log, and what they say of edits."""
        messages = await self._of.conversation.history(from_seq=from_seq, through_seq=through_seq)
        if through_seq >= self._from - 1:
            self._learn(messages)
            self._from = min(self._from, from_seq)
        return messages

    def _learn(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if message.replaces is not None:
                self._replaced.update(range(message.replaces, message.seq))
