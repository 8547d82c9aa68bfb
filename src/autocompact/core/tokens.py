"""What a message weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from autocompact.core.messages import Message


class Counter(Protocol):
    """Counts the tokens of a text. ``name`` goes into the receipt (``"o200k_base"``, ``"estimate"``)."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something weighs: tokens for the model, bytes on the wire (JSON), number of images."""

    tokens: int = 0
    bytes: int = 0
    images: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            tokens=self.tokens + other.tokens,
            bytes=self.bytes + other.bytes,
            images=self.images + other.images,
        )

    def __sub__(self, other: Cost) -> Cost:
        return Cost(
            tokens=self.tokens - other.tokens,
            bytes=self.bytes - other.bytes,
            images=self.images - other.images,
        )


def message_cost(message: Message, counter: Counter) -> Cost:
    """What ``message`` weighs."""
    raise NotImplementedError
