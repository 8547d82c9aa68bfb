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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer when it has ended.

    Attributes:
        message: of role ``assistant``, without a ``seq``; without parts if the model said nothing.
        stopped: "" if the model ended it by itself, "length" if the tokens that it may take did, "refused" if a filter
            of the provider did.
    """

    message: Message
    stopped: Literal["", "length", "refused"] = ""


Piece: TypeAlias = Delta | Reply
"""Deltas, and at the end the reply."""


class Responder(Protocol):
    """Something that answers."""

    def answer(self, asked: Asked) -> AsyncGenerator[Piece]:
        """The answer to a request; the last piece is the `Reply`.

        Raises:
            ModelError: and its kinds, saying what the provider said.
        """
        ...

    async def aclose(self) -> None:
        """Give back what it opened."""
        ...
