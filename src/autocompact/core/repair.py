"""Repair: from whatever was recorded to a history that every API accepts."""

from __future__ import annotations

from autocompact.core.messages import Message


class Repairer:
    """Takes messages one by one and keeps a valid history of them in ``messages``.

    O(1) amortised per message. ``messages`` is replaced, not changed, when something settled must be revised, so a
    list handed out earlier keeps saying what it said (appending to it is allowed).
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def push(self, message: Message) -> int:
        """Add one; returns the index of the first message of ``messages`` that is new or different."""
        raise NotImplementedError

    def pending(self) -> tuple[Message, ...]:
        """Results ("Tool no response") for the calls at the end that nobody answered yet."""
        raise NotImplementedError

    def closing(self) -> tuple[Message, ...]:
        """`pending`, and "Understood." from the model if the history would otherwise end on a tool result."""
        raise NotImplementedError
