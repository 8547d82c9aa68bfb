"""langmem: `summarize_messages`, without a running summary (nothing to summarise yet) and with one.

With one, it summarises at 100,000 tokens as autocompact does in its case with compactions. Summaries are made
within the call; the fake model answers at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langmem.short_term import RunningSummary, summarize_messages

from langchain_core.language_models.fake_chat_models import FakeListChatModel

from benchmarks.peers.bench import Case, Count, Said, Stateless, main
from benchmarks.peers.langchain import counting, message

THRESHOLD = 100_000


def cold(said: Sequence[Said], count: Count) -> Stateless:
    model, counter = FakeListChatModel(responses=["A summary."]), counting(count)
    return Stateless(
        [message(one) for one in said],
        lambda messages: summarize_messages(
            messages, running_summary=None, model=model, max_tokens=10**9, token_counter=counter
        ),
    )


class Running(Stateless):
    def __init__(self, said: Sequence[Said], count: Count) -> None:
        super().__init__([message(one) for one in said], self.summarise)
        self.model, self.counter = FakeListChatModel(responses=["A summary."]), counting(count)
        self.summary: RunningSummary | None = None

    def add(self, index: int) -> None:
        """Now and then a turn, so that there is a summary of what was said."""
        super().add(index)
        if index % 500 == 0:
            self.summarise(self.taken)

    def summarise(self, messages: list[Any]) -> None:
        result = summarize_messages(
            messages,
            running_summary=self.summary,
            model=self.model,
            max_tokens=THRESHOLD,
            token_counter=self.counter,
        )
        self.summary = result.running_summary or self.summary


CASES = (
    Case(operation="summarize_messages, no summary yet", make=cold),
    Case(operation="summarize_messages, running summary", make=Running),
)

if __name__ == "__main__":
    main("langmem", CASES)
