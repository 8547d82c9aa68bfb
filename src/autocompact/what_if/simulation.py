"""Simulates one course under one policy: for each request, the part served by the provider's cache, and the cost.

Between two compactions the context only grows, so the cache serves all of the request before; that is checked at its last
message alone. At a compaction the two contexts are compared. So a simulation costs O(messages), and O(context) for each
compaction.

The replies are the recorded ones, whatever the context was: it shows what would have been sent, not what the model would
have answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context
from autocompact.core.messages import Message
from autocompact.core.redaction import Redacted
from autocompact.core.tokens import message_cost
from autocompact.errors import IncompressibleContext
from autocompact.what_if.billing import Bill, Pricing, PromptCache
from autocompact.what_if.contexts import Contexts, Ready, contexts_of
from autocompact.what_if.course import Course, Request
from autocompact.what_if.losses import Gone, Kept, Loss, loss_of, path_of
from autocompact.what_if.policies import WhatIf

OVER = 10
"""Requests that fail one after the other, after which the session is over: all that follow fail as well, unasked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """Tokens of a request, by what they are.

    Attributes:
        fixed: system prompt and tools.
        summary: what compactions made.
        masked: messages of which something is a stub.
        kept: messages from before the last compaction that stand there as they were said.
        new: messages since.
    """

    fixed: int = 0
    summary: int = 0
    masked: int = 0
    kept: int = 0
    new: int = 0

    @property
    def total(self) -> int:
        """Sum of all layers."""
        return self.fixed + self.summary + self.masked + self.kept + self.new


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A request.

    Attributes:
        request: its number, from 1.
        seq: the last message before the reply.
        layers: what it held; of one that failed, what the last one held that did not.
        read: tokens of it that the provider's cache served.
        dollars: of all requests until then; None without a price.
        failed: it was not sent.
        cold: the provider's cache had dropped the conversation before it.
    """

    request: int
    seq: int
    layers: Layers
    read: int
    dollars: float | None
    failed: bool = False
    cold: bool = False


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The outcome of a session under a policy. Tokens are the provider's.

    Attributes:
        policy: which one.
        pricing: at which prices.
        requests: calls of the model that were sent, those for a summary included.
        failed: requests that would have failed.
        bill: what was paid for.
        peak: tokens of the largest request.
        compactions: how many took effect.
        breaks: of these, those whose context the provider's cache still held.
        seconds: that the user waited for compactions; None where the recording does not tell.
        reads_again: files that were read again after their content had left the context: a search would have found it.
        reads_again_tokens: what that took.
        reads_spared: files that were read again though the context still had them.
        points: each request.
        losses: each compaction.
        files: those of ``reads_again``, with how often.
    """

    policy: WhatIf
    pricing: Pricing
    requests: int = 0
    failed: int = 0
    bill: Bill = field(default_factory=Bill)
    peak: int = 0
    compactions: int = 0
    breaks: int = 0
    seconds: float | None = 0.0
    reads_again: int = 0
    reads_again_tokens: int = 0
    reads_spared: int = 0
    points: list[Point] = field(default_factory=list[Point])
    losses: list[Loss] = field(default_factory=list[Loss])
    files: dict[Redacted, int] = field(default_factory=dict[Redacted, int])

    @property
    def dollars(self) -> float | None:
        """Cost in US dollars; None without a price."""
        price = self.pricing.price
        return None if price is None else self.bill.dollars(price, self.pricing.rates)

    @property
    def needs(self) -> Kept:
        """Sum over all compactions."""
        return sum((loss.needs for loss in self.losses), Kept())

    @property
    def rules(self) -> Kept:
        """Sum over all compactions."""
        return sum((loss.rules for loss in self.losses), Kept())


async def simulate(course: Course, policy: WhatIf, *, pricing: Pricing) -> Outcome:
    """Replay ``course`` under ``policy``, at the prices of ``pricing``."""
    run = _Run(course, Outcome(policy=policy, pricing=pricing))
    contexts = await contexts_of(course, policy)
    try:
        said = 0
        for request in course.requests:
            await run.step(contexts, request, said=course.session.messages[said : request.index])
            said = request.index + 1
    finally:
        await contexts.close()
    return run.outcome


class _Run:
    """A simulation on its way: the last request, and what it came to so far."""

    def __init__(self, course: Course, outcome: Outcome) -> None:
        self.outcome = outcome
        self._course = course
        self._cache = PromptCache(outcome.pricing.rates)
        self._messages: Sequence[Message] = ()
        self._record: Compaction | None = None
        self._gone = Gone(None)
        self._layers = Layers()
        self._total = 0
        self._number = 0
        self._in_a_row = 0
        self._seen = 0

    async def step(self, contexts: Contexts, request: Request, *, said: Sequence[Message]) -> None:
        """A request and its reply."""
        course, self._number = self._course, self._number + 1
        # an agent would have given up: replaying on would count the same failure for the rest of the session
        if self._in_a_row >= OVER:
            self._fail(request)
            return
        reply = course.session.messages[request.index]
        try:
            ready = await contexts.ready(request, said=said)
        except IncompressibleContext:
            self._fail(request)
            # the log goes on as recorded, though this request was not sent
            await contexts.answered(reply, prompt=0, output=0)
            return
        self._in_a_row = 0
        prompt = self._send(ready, request)
        await contexts.answered(reply, prompt=prompt, output=request.output)
        self._look_at_reads(request)

    def _fail(self, request: Request) -> None:
        self._in_a_row += 1
        self.outcome.failed += 1
        self._point(request, read=0, failed=True)

    def _send(self, ready: Ready, request: Request) -> int:
        """Enter a request that fits; returns its tokens."""
        context, course, outcome = ready.context, self._course, self.outcome
        prompt = course.usage.fixed + course.tokens(context.cost.tokens)
        cold = self._cache.is_cold(request.at)
        # by identity: each compaction is a new record
        if context.compaction is not self._record:
            self._compacted(ready, request, prompt=prompt)
        else:
            begun = self._layers if self._layers.total else _begun(context, course=course)
            self._layers = _grown(begun, prompt)
        same = self._same(context)
        read = min(prompt, self._cache.serve(same, at=request.at))
        outcome.bill.pay(prompt, read=read, output=request.output, held=self._cache.holds(prompt))
        outcome.requests += 1
        outcome.peak = max(outcome.peak, prompt)
        self._messages, self._record, self._total = context.messages, context.compaction, prompt
        self._point(request, read=read, cold=cold)
        return prompt

    def _same(self, context: Context) -> int:
        """Tokens at the beginning of the context that the last request had."""
        before, now, course = self._messages, context.messages, self._course
        length = len(before)
        if (
            context.compaction is self._record
            and length <= len(now)
            # between compactions contexts only grow, so the last message stands for all before it
            and (not length or now[length - 1] is before[-1])
        ):
            return self._total
        rates = self.outcome.pricing.rates
        own = 0
        for old, new in zip(before, now, strict=False):
            # a mark ends the system prompt, then only the last message had one
            if not (old is new or old == new) or (
                rates is not None and rates.marked and new.role != "system"
            ):
                break
            own += message_cost(new, course.counter).tokens
        return course.usage.fixed + course.tokens(own)

    def _compacted(self, ready: Ready, request: Request, *, prompt: int) -> None:
        """Enter a compaction: what it took, and the model's summary where one was asked for."""
        context, course, outcome = ready.context, self._course, self.outcome
        # since the last request, whose reply ends what was looked at
        added = course.session.messages[max(0, self._seen - 1) : request.index]
        grown = sum(message_cost(message, course.counter).tokens for message in added)
        before = self._total + course.tokens(grown)
        gone, last = Gone(context.compaction, prompt=course.prompt), request.index
        left = max(0, gone.count(last) - self._gone.count(last))
        outcome.compactions += 1
        # a cold cache would have been written anew anyway
        outcome.breaks += not self._cache.is_cold(request.at)
        if ready.seconds is None or outcome.seconds is None:
            outcome.seconds = None
        else:
            outcome.seconds += ready.seconds
        if ready.summary:
            # the summary's own request repeats the context before, so the cache serves it
            read = min(before, self._cache.serve(self._total, at=request.at))
            outcome.bill.pay(before, read=read, output=ready.summary, held=self._cache.holds(before))
            outcome.requests += 1
            outcome.peak = max(outcome.peak, before)
        self._gone = gone
        self._layers = _layers(context, course=course, prompt=prompt)
        outcome.losses.append(
            loss_of(
                course,
                context,
                request=self._number,
                seq=last,
                before=before,
                after=prompt,
                summary=ready.summary,
                left=left,
            )
        )

    def _look_at_reads(self, request: Request) -> None:
        """Files that this reply, and what followed the last one, read again."""
        outcome, last = self.outcome, request.index + 1
        for read in self._course.read_again_between(self._seen + 1, last):
            if read.earlier in self._gone:
                outcome.reads_again += 1
                outcome.reads_again_tokens += read.tokens
                path = path_of(read, course=self._course)
                outcome.files[path] = outcome.files.get(path, 0) + 1
            else:
                outcome.reads_spared += 1
        self._seen = last

    def _point(self, request: Request, *, read: int, failed: bool = False, cold: bool = False) -> None:
        self.outcome.points.append(
            Point(
                request=self._number,
                seq=request.index,
                layers=self._layers,
                read=read,
                dollars=self.outcome.dollars,
                failed=failed,
                cold=cold,
            )
        )


def _begun(context: Context, *, course: Course) -> Layers:
    """Layers of the first request, of which only the system prompt and the tools are known by kind."""
    prompt = sum(
        message_cost(message, course.counter).tokens
        for message in context.messages
        if message.role == "system"
    )
    return Layers(fixed=course.usage.fixed + course.tokens(prompt))


def _grown(layers: Layers, prompt: int) -> Layers:
    """Layers of a request that grew since the last compaction: the growth is new."""
    old = layers.fixed + layers.summary + layers.masked + layers.kept
    return Layers(
        fixed=layers.fixed,
        summary=layers.summary,
        masked=layers.masked,
        kept=layers.kept,
        new=max(0, prompt - old),
    )


def _layers(context: Context, *, course: Course, prompt: int) -> Layers:
    """Layers of a context right after a compaction."""
    sums: dict[str, int] = {}
    for message in context.messages:
        kind = "kept"
        if message.role == "system":
            kind = "fixed"
        elif not message.seq and message.synthetic:
            kind = "summary"
        elif message.changed:
            kind = "masked"
        sums[kind] = sums.get(kind, 0) + message_cost(message, course.counter).tokens
    tokens = {kind: course.tokens(own) for kind, own in sums.items()}
    fixed = course.usage.fixed + tokens.pop("fixed", 0)
    # what is left, so that the layers add up to the figure that is paid
    kept = prompt - fixed - tokens.get("summary", 0) - tokens.get("masked", 0)
    return Layers(
        fixed=fixed, summary=tokens.get("summary", 0), masked=tokens.get("masked", 0), kept=max(0, kept)
    )
