"""The goal of a compaction: limits, sizes, and what must stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from autocompact.compaction.pricing import Pace
from autocompact.compaction.record import Placement, Rung, Trigger
from autocompact.core.messages import Message
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import Cost

SMALLEST_LEDGER = 64
"""Tokens below which a summary says nothing useful: with less room than this the floor is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal of a compaction.

    Attributes:
        limit: tokens that the context may take at most, overhead included (window less output reserve).
        target: tokens that it should take, at most the limit; a step that only fits the limit is taken when none fits
            the target.
        summary_tokens: size of summary plus ledger.
        cap_tokens: of a model's summary; a longer one is shortened by sentences. 0 if nothing but ``summary_tokens``
            limits it.
        request_tokens: of the last request; a longer one is shown by its beginning and end. 0 if it stays whole.
        tail_tokens: recent messages that stay verbatim, and at least the results that the model has not seen yet, which
            may exceed the target; 0 folds everything but a request that nobody answered.
        max_bytes: of the request on the wire; 0 if nothing limits it.
        max_images: in the request; 0 if nothing limits them.
        working_set_tokens: of files that will be needed next, beside the summary (`autocompact.compaction.working_set`).
        overhead: what the request holds besides the messages (tool schemas, a system prompt outside of the log).
        pins: messages (``seq``) that must stay verbatim.
        notes: texts that must stand in the summary verbatim, whatever its budget.
        placement: where the summary goes.
        focus: what the summary should concentrate on.
        first_rung: the step to begin with; a person who asks for a compaction wants at least a summary.
        inline_request: the last request stands inside the summary message instead of after it (the coding
            agent's form: system prompt plus one user message).
        request: the last request where an earlier compaction put it inside its summary message, so that the
            context does not show it any more. It stands inside of this summary as well.
        trigger: why it runs, for the receipt.
        pace: the requests that follow, by which steps are priced; None takes the first step that reaches the target.
    """

    limit: int
    target: int
    summary_tokens: int
    tail_tokens: int
    cap_tokens: int = 0
    request_tokens: int = 0
    max_bytes: int = 0
    max_images: int = 0
    working_set_tokens: int = 0
    overhead: Cost = field(default_factory=Cost)
    pins: frozenset[int] = frozenset()
    notes: tuple[Redacted, ...] = ()
    placement: Placement = "user"
    focus: Redacted = EMPTY
    first_rung: Rung = "mask"
    inline_request: bool = False
    request: Message | None = None
    trigger: Trigger = "threshold"
    pace: Pace | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", min(self.target, self.limit))

    def allows(self, cost: Cost, *, tokens: int) -> bool:
        """True if ``cost`` has at most ``tokens``, and as many bytes and images as the request may have."""
        return (
            cost.tokens <= tokens
            and (not self.max_bytes or cost.bytes <= self.max_bytes)
            and (not self.max_images or cost.images <= self.max_images)
        )

    def steps(self) -> Iterator[tuple[Rung, int, int]]:
        """The rungs with a summary: each with the tokens of its tail and of the summary."""
        yield "summarise", self.tail_tokens, self.summary_tokens
        for share in (2, 4, 8):
            yield "tighten", self.tail_tokens // share, max(SMALLEST_LEDGER, self.summary_tokens // share)
        if self.tail_tokens:
            yield "tighten", 0, max(SMALLEST_LEDGER, self.summary_tokens // 8)
