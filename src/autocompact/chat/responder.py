"""Responder: the seam between a turn and the model that answers in it, over the network or offline."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from autocompact.chat.tools import Toolbox
from autocompact.core.messages import Message
from autocompact.history.recall import Recall


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request to the model.

    Attributes:
        system: the system prompt.
        messages: the context, valid.
        toolbox: the tools.
        recall: searches the conversation and the memory files.
        max_tokens: limit of the answer.
    """

    system: str
    messages: Sequence[Message]
    toolbox: Toolbox
    recall: Recall
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of the streamed answer."""

    kind: Literal["text", "reasoning"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The complete answer.

    Attributes:
        message: of role ``assistant``, without a ``seq``; without parts if the answer was empty.
        stopped: why it ended: "" normally, "length" at the token limit of an answer, "refused" by a content filter of
            the provider.
    """

    message: Message
    stopped: Literal["", "length", "refused"] = ""


Piece: TypeAlias = Delta | Reply
"""Deltas, then the reply."""


class Responder(Protocol):
    """Answers requests of turns."""

    def answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Stream the answer to ``request``; the last piece is the `Reply`.

        Raises:
            ModelError: or a subclass; the message has what the provider said.
        """
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...
