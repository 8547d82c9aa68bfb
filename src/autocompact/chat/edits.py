"""Messages that were replaced by a later one: read back from the end of the log, only as far as a page needs it.

For the end of the log the messages in memory say it, so opening a conversation reads no more than its context.
"""

from __future__ import annotations

from collections.abc import Iterable

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
        self._replaced = {seq for seq in range(log.first, len(log) + 1) if log.is_replaced(seq)}

    def __contains__(self, seq: object) -> bool:
        return seq in self._replaced

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
