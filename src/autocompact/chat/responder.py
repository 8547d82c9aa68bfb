"""The seam between a turn and what answers in it: a model over the network, or the offline one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from autocompact.chat.tools import Toolbox
from autocompact.core.messages import Message
from autocompact.recall import Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request to the model.

    Attributes:
        system: the system prompt.
        messages: the context, valid.
        toolbox: what may be called.
        recall: searches what was said and the memory files.
        max_tokens: of the answer.
    """

    system: str
    messages: Sequence[Message]
    toolbox: Toolbox
    recall: Recall
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """More of the answer, as it comes."""

    kind: Literal["text", "reasoning"]
    text: str


Piece: TypeAlias = Delta | Message
"""Deltas, and at the end the whole answer as a message of role ``assistant``, without a ``seq``."""


class Responder(Protocol):
    """Something that answers."""

    def answer(self, asked: Asked) -> AsyncGenerator[Piece]:
        """The answer to a request; the last piece is the `Message`.

        Raises:
            ModelError: and its kinds, saying what the provider said.
        """
        ...

    async def aclose(self) -> None:
        """Give back what it opened."""
        ...
