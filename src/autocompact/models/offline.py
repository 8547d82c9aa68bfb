"""A model that is none: it answers a request for a summary with the extractive one."""

from __future__ import annotations

from collections.abc import Sequence

from autocompact.core.messages import Message
from autocompact.core.tokens import Counter, Estimator, message_cost
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import offline_summary
from autocompact.ports import ModelReply
from autocompact.runtime.off_loop import LARGE, off_loop_if

DEFAULT_TOKENS = 2_000
"""Size of a summary where nobody says."""


class OfflineModel:
    """Implements `autocompact.ports.Model` without a network: the same answer to the same request.

    It does not read instructions: whatever it is asked, it summarises the conversation before the question. Usage is
    not reported, since nothing was used.

    Args:
        counter: measures the summary.
        window: tokens that it takes; None is without limit.
    """

    def __init__(self, *, counter: Counter | None = None, window: int | None = None) -> None:
        self.name = "offline"
        self.window = window
        self._counter = counter or Estimator()

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        """A summary of the messages, in ``<summary>`` tags, the instruction at their end left out."""
        del tools
        told = list(messages)
        if len(told) > 1 and told[-1].synthetic:
            told.pop()
        budget, counter = max_tokens or DEFAULT_TOKENS, self._counter
        large = sum(len(message.text) + sum(len(r.text) for r in message.results) for message in told) > LARGE
        text = await off_loop_if(
            large, lambda: offline_summary(extract(told), budget=budget, counter=counter)
        )
        return ModelReply(text=f"<summary>\n{text}\n</summary>", stop_reason="stop", model=self.name)

    async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
        """Tokens of the request, by the counter."""
        tokens = sum(message_cost(message, self._counter).tokens for message in messages)
        return tokens + (self._counter.count(tools.decode(errors="replace")) if tools else 0)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
