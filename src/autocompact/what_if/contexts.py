"""Development of the context of a course under a policy: the contents of each request.

`EngineContexts` runs the live engine as the gateway does, offline. `FoldedContexts` folds the log with records that a
`Records` brings: none at all, those of the recording, masks, or the recording's summaries put right.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, assert_never

from msgspec import json
from msgspec.structs import replace

from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import SummaryReply, answer, plan
from autocompact.compaction.masking import mask_old_results, merged_masks
from autocompact.compaction.modes import Mode
from autocompact.compaction.receipts import unchecked
from autocompact.compaction.record import Compaction, Mask, Receipt
from autocompact.compaction.transcript import Context, Transcript, View
from autocompact.core.budget import Budget, Policy
from autocompact.core.messages import Message, Usage
from autocompact.core.redacted import EMPTY, Redactor
from autocompact.core.stamps import instant_of
from autocompact.core.windows import budget_for
from autocompact.engine import Compactor
from autocompact.engine.conversation import Conversation
from autocompact.errors import IncompressibleContext
from autocompact.ledger.entries import Ledger
from autocompact.ports import SystemClock
from autocompact.settings import gateway_mode_of
from autocompact.stores.memory import MemoryStore
from autocompact.what_if.course import Course, Request
from autocompact.what_if.policies import WhatIf

LONGEST_WAIT = 900.0
"""Seconds: a compaction that the recording shows to take longer waited for its user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A context before its request.

    Attributes:
        context: what would be sent.
        seconds: that the user waited for a compaction; None where nobody knows.
        summary: tokens of the summary that a model wrote for it; 0 if none did.
    """

    context: Context
    seconds: float | None = 0.0
    summary: int = 0


class Contexts(Protocol):
    """The contexts of one course under one policy."""

    async def ready(self, request: Request, *, said: Sequence[Message]) -> Ready:
        """The context of ``request``, after ``said`` was added.

        Raises:
            IncompressibleContext: the request would have failed.
        """
        ...

    async def answered(self, reply: Message, *, prompt: int, output: int) -> None:
        """Add the reply, with what the provider would report; ``prompt`` is 0 where the request was not sent."""
        ...

    async def close(self) -> None:
        """Release what it holds."""
        ...


async def contexts_of(course: Course, policy: WhatIf) -> Contexts:
    """The contexts of ``course`` under ``policy``."""
    budget = budget_for(course.model, window=policy.window or course.window)
    mode = gateway_mode_of(policy.settings)
    match policy.kind:
        case "none":
            return FoldedContexts(course, Nothing(), budget=budget)
        case "recorded":
            return FoldedContexts(course, Recorded(course), budget=budget)
        case "masks":
            return FoldedContexts(course, Masks(course, mode.policy, budget=budget), budget=budget)
        case "summaries":
            return FoldedContexts(course, Repaired(course, mode, budget=budget), budget=budget)
        case "engine":
            compactor = _Named(course, mode, budget=budget)
            return EngineContexts(course, compactor, conversation=await compactor.open("session"))
        case _:
            assert_never(policy.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A record that takes effect before a request; otherwise as `Ready`."""

    record: Compaction
    seconds: float | None = 0.0
    summary: int = 0


class Records(Protocol):
    """Brings the compactions of a folded course."""

    def due(self, log: Transcript, view: View, *, request: Request) -> Made | None:
        """The compaction that takes effect before ``request``; None if none does."""
        ...


class FoldedContexts:
    """Implements `Contexts` by folding the log with records."""

    def __init__(self, course: Course, records: Records, *, budget: Budget) -> None:
        self._course, self._records, self._budget = course, records, budget
        self._log = Transcript(counter=course.counter, read=course.read)
        self._view = View(self._log)

    async def ready(self, request: Request, *, said: Sequence[Message]) -> Ready:
        """See `Contexts.ready`. What fits the window is sent, as the recording program would have done."""
        self._log.extend(said)
        made = self._records.due(self._log, self._view, request=request)
        if made is not None:
            self._view.activate(made.record)
        context = self._view.context()
        used = self._course.usage.fixed + self._course.tokens(context.cost.tokens)
        if used > self._budget.window:
            raise IncompressibleContext({"context": used}, limit=self._budget.window)
        if made is None:
            return Ready(context=context)
        return Ready(context=context, seconds=made.seconds, summary=made.summary)

    async def answered(self, reply: Message, *, prompt: int, output: int) -> None:
        """See `Contexts.answered`."""
        del prompt, output  # our own count goes on
        self._log.append(reply)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Nothing:
    """Implements `Records`: there is none."""

    def due(self, log: Transcript, view: View, *, request: Request) -> Made | None:
        """Never make a compaction."""
        del log, view, request


class Recorded:
    """Implements `Records` with those of the recording program, when it made them."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._waiting = [each for each in course.session.compactions if each.status != "undone"]
        self._waiting.reverse()

    def due(self, log: Transcript, view: View, *, request: Request) -> Made | None:
        """The newest that was made by then."""
        del view
        found, seconds = None, 0.0
        while self._waiting and self._was_made(self._waiting[-1], log=log, request=request):
            found = self._waiting.pop()
            waited = self._seconds(found)
            seconds = None if seconds is None or waited is None else seconds + waited
        if found is None:
            return None
        text = self._course.counter.count(found.summary) if found.receipt.rung != "mask" else 0
        return Made(record=found, seconds=seconds, summary=self._course.tokens(text))

    def _was_made(self, record: Compaction, *, log: Transcript, request: Request) -> bool:
        """True if it was there before the reply came."""
        if max((record.through_seq, *(mask.seq for mask in record.masks))) > len(log):
            return False
        made = instant_of(record.receipt.time)
        replied = instant_of(self._course.session.messages[request.index].time)
        return made is None or replied is None or made <= replied

    def _seconds(self, record: Compaction) -> float | None:
        """From the last message that it covers until it was there; masks come at once."""
        if record.receipt.rung == "mask":
            return 0.0
        made = instant_of(record.receipt.time)
        before = [instant_of(message.time) for message in self._course.session.messages[: record.through_seq]]
        said = max((each for each in before[-2:] if each is not None), default=None)
        waited = (made - said).total_seconds() if made and said else -1.0
        return waited if 0 <= waited <= LONGEST_WAIT else None


class Masks:
    """Implements `Records` with stubs for old tool outputs, whenever the threshold is reached, and nothing else."""

    def __init__(self, course: Course, policy: Policy, *, budget: Budget) -> None:
        self._course, self._policy = course, policy
        self._threshold = policy.threshold(budget, fixed=course.usage.fixed)
        self._tail = course.own(policy.tail(budget))
        self._redactor = Redactor(read=course.read)
        self._masks: tuple[Mask, ...] = ()
        self._next = 0
        self._from = 1

    def due(self, log: Transcript, view: View, *, request: Request) -> Made | None:
        """Return all masks, old and new."""
        del request
        used = self._course.usage.fixed + self._course.tokens(view.context().cost.tokens)
        if used < max(self._threshold, self._next):
            return None
        begun = time.process_time()
        # what masks cannot do now they can do no better a few messages later
        self._next = used + round(self._policy.min_growth * self._threshold)
        messages = tuple(log.live(self._from))
        tokens = [log.cost(message.seq).tokens for message in messages]
        found = mask_old_results(
            messages, tokens, counter=self._course.counter, protect_tokens=self._tail, redactor=self._redactor
        )
        self._from = _tail_start(messages, tokens, tail=self._tail)
        if not found:
            return None
        self._masks = merged_masks(self._masks, found)
        return Made(record=_masking(self._masks), seconds=time.process_time() - begun)


def _tail_start(messages: Sequence[Message], tokens: Sequence[int], *, tail: int) -> int:
    """The ``seq`` from which on the messages take ``tail`` tokens: what is before has been looked at."""
    for message, weight in zip(reversed(messages), reversed(tokens), strict=True):
        tail -= weight
        if tail < 0:
            return message.seq
    return messages[0].seq if messages else 1


def _masking(masks: tuple[Mask, ...]) -> Compaction:
    receipt = Receipt(tokens_before=0, tokens_after=0, bytes_before=0, bytes_after=0, rung="mask")
    return Compaction(
        id="masks", from_seq=1, through_seq=0, summary=EMPTY, ledger=Ledger(), masks=masks, receipt=receipt
    )


class Repaired:
    """Implements `Records` at the moments of the recording, with its summaries put right by the ladder."""

    def __init__(self, course: Course, mode: Mode, *, budget: Budget) -> None:
        self._course, self._recorded = course, Recorded(course)
        policy, fixed = mode.policy, course.usage.fixed
        self._goal = Goal(
            limit=max(1, course.own(budget.limit - fixed)),
            target=max(1, course.own(policy.target_tokens(budget, fixed=fixed))),
            summary_tokens=mode.summary_tokens,
            tail_tokens=course.own(policy.tail(budget)),
            first_rung="summarise",
        )

    def due(self, log: Transcript, view: View, *, request: Request) -> Made | None:
        """The recording's, with what it lacked."""
        made = self._recorded.due(log, view, request=request)
        if made is None or not made.summary:
            return None
        begun = time.process_time()
        planned = plan(log, self._goal, active=view.compaction, context=view.context(), check=unchecked)
        reply = SummaryReply(text=made.record.summary, model=made.record.receipt.model)
        record = answer(planned, reply, check=unchecked)
        if record is None:
            return None
        seconds = None if made.seconds is None else made.seconds + time.process_time() - begun
        return Made(record=record, seconds=seconds, summary=made.summary)


class _Clock(SystemClock):
    """The clock of the recording, for what the engine asks of the provider's cache."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        """Seconds of the recording."""
        return self.seconds


class _Named(Compactor):
    """A compactor of a model that is known by name alone."""

    def __init__(self, course: Course, mode: Mode, *, budget: Budget) -> None:
        self.recorded = _Clock()
        super().__init__(MemoryStore(), mode=mode, counter=course.counter, clock=self.recorded)
        self.budget = budget
        self.read, self.check = course.read, unchecked
        self._name = course.model

    @property
    def model_name(self) -> str:
        """The recording's model."""
        return self._name


class EngineContexts:
    """Implements `Contexts` with the live engine, offline."""

    def __init__(self, course: Course, compactor: _Named, *, conversation: Conversation) -> None:
        self._compactor, self._conversation = compactor, conversation
        self._begun: datetime | None = None
        self._replica = conversation.internals.replica
        self._replica.use_hour_cache(course.session.hour_cache)
        # whatever every request carries besides the messages: so many tokens by our own count
        self._replica.use_tools(json.encode([" word" * course.own(course.usage.fixed)]), system="")

    async def ready(self, request: Request, *, said: Sequence[Message]) -> Ready:
        """See `Contexts.ready`. What is prepared is there in time: a model's reply takes longer."""
        await self._extend(said)
        self._begun = self._begun or request.at
        self._compactor.recorded.seconds = (request.at - self._begun).total_seconds()
        before, begun = self._replica.active_id, time.process_time()
        context = await self._conversation.ready()
        waited = time.process_time() - begun if self._replica.active_id != before else 0.0
        return Ready(context=context, seconds=waited)

    async def answered(self, reply: Message, *, prompt: int, output: int) -> None:
        """See `Contexts.answered`."""
        usage = Usage(prompt=prompt, completion=output) if prompt else None
        await self._conversation.append(replace(reply, usage=usage))
        await self._conversation.internals.background.wait_idle()

    async def close(self) -> None:
        """Close the engine."""
        await self._compactor.aclose()

    async def _extend(self, said: Iterable[Message]) -> None:
        """Append a message without the usage that the recording's provider reported, which is of another context."""
        await self._conversation.extend([replace(m, usage=None) if m.usage else m for m in said])
