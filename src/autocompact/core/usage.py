"""The one figure for how full the context is: meter and trigger both read it here.

    used = what the provider last reported + calibrated estimate of what is new since

The provider's figure is exact for its own tokenizer, but late by one request, and sometimes wrong; the estimate is
there at once, but made with another tokenizer. So the `Gauge` keeps the last report it believes as an anchor, and
estimates only what came after it, in O(1): the caller knows what the whole context is estimated at (the view keeps
that sum), and the difference to what the anchor covered is what is new.

Where there is no anchor (at the start, after a compaction or an undo, after a change of model) the whole context is
estimated. Estimates are multiplied by a factor learned per model, and by a safety margin of 5 %.

A report is not believed (`Gauge.rejected` says why) if it is

- zero or negative,
- above the window,
- less than a quarter of what was sent (a provider that leaves out what it read from its cache),
- or higher than what is new since the anchor explains (one that sums up over all requests of a session).

A jump is believed after all once the next report grows from it as the conversation does: then something is sent
that nobody counted, such as tools that were added. A sum over all requests never does that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from msgspec import Struct

from autocompact.core.factors import OURS, first_factor
from autocompact.core.messages import Usage

MARGIN = 1.05
"""On every estimate (requirement A8)."""

LOWEST_FACTOR, HIGHEST_FACTOR = 0.5, 2.0
"""Bounds of the calibration: no two tokenizers in use differ by more on real text."""

LEARNING_TOKENS = 10_000
"""Growth of the context that is worth as much as everything learned before: rate = growth / (growth + this)."""

_LEAST_SHARE = 0.25
_MOST_GROWTH = 2.5
_SLACK_TOKENS = 1_000
_SLACK_SHARE = 0.05
_UNSEEN_SLACK = 4_000
_REPLY_SLACK = 64

Reason: TypeAlias = Literal["", "empty", "above the window", "too low", "unexplained jump"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The context of one request.

    Attributes:
        tokens: its plain estimate, with everything that is sent: system prompt, tool schemas, summary, messages.
        context: names what it was folded with (the compaction in force); loads of one name only differ in length.
        model: the model it goes to.
    """

    tokens: int
    context: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Usage of the context, as meter and trigger see it.

    Attributes:
        reported: tokens that the provider reported; 0 where the whole is estimated.
        estimated: calibrated tokens that are new since, margin included; negative where something left the context.
    """

    reported: int
    estimated: int

    @property
    def used(self) -> int:
        """Tokens of the context."""
        return max(0, self.reported + self.estimated)


class Anchor(Struct, frozen=True, kw_only=True):
    """A report that is believed.

    Attributes:
        sent: the request it answers.
        prompt: tokens it reported for the request.
        tokens: tokens it reported for all that ``covered`` stands for.
        covered: estimate of the request and, where it is known, the reply.
    """

    sent: Load
    prompt: int
    tokens: int
    covered: int


class Rejected(Struct, frozen=True, kw_only=True):
    """A report that is not believed, and why."""

    sent: Load
    usage: Usage
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Per model: how many tokens its provider reports for one estimated token.

    Attributes:
        factors: what was learned.
        counter: the vocabulary that the estimates are counted with (`autocompact.core.tokens.Counter.name`).
    """

    factors: Mapping[str, float] = field(default_factory=dict[str, float])
    counter: str = OURS

    def counted_by(self, counter: str) -> Calibration:
        """The calibration for estimates of ``counter``: what was learned of another vocabulary's tokens says nothing of its."""
        return self if counter == self.counter else Calibration(counter=counter)

    def factor(self, model: str) -> float:
        """The learned factor of ``model``; before that the initial one of its family (`autocompact.core.factors`)."""
        learned = self.factors.get(model)
        return first_factor(model, counter=self.counter) if learned is None else learned

    def learned(self, model: str, *, reported: float, estimated: int) -> Calibration:
        """With one more observation, weighted by its size (`LEARNING_TOKENS`) and bounded."""
        # one odd report (a cached figure, another tokenizer) moves the
        # factor a little, and never out of its bounds
        ratio = min(HIGHEST_FACTOR, max(LOWEST_FACTOR, reported / estimated))
        rate = estimated / (estimated + LEARNING_TOKENS)
        factor = self.factor(model)
        return replace(self, factors={**self.factors, model: factor + rate * (ratio - factor)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """Everything known about the usage of one conversation; plain fields, so that a store can keep it.

    Attributes:
        calibration: what was learned per model; a new conversation can start with that of another.
        context: the name of the context in force (`Load.context`).
        anchor: the last report that is believed, None where there is none for this context.
        unseen: tokens that every request carries though no load contains them (tools or a system prompt that the
            caller does not see): the least that any report could not explain; None before the first.
        rejected: the last report, where it is not believed.
    """

    calibration: Calibration = field(default_factory=Calibration)
    context: str = ""
    anchor: Anchor | None = None
    unseen: int | None = None
    rejected: Rejected | None = None

    def read(self, load: Load) -> Reading:
        """Usage of the context with ``load``; monotonic: never less for a longer load of the same context."""
        factor = self.calibration.factor(load.model)
        anchor = self._anchor(load)
        if anchor is None:
            # nothing reported for this context: all is estimate, with the
            # margin and what the provider adds by itself
            return Reading(
                reported=0, estimated=math.ceil(load.tokens * factor * MARGIN) + (self.unseen or 0)
            )
        # only what came since is estimated, so the error does not grow with the history
        new = (load.tokens - anchor.covered) * factor
        # margin on growth only: where something left the context, adding it would count it too high
        return Reading(reported=anchor.tokens, estimated=math.ceil(new * MARGIN if new > 0 else new))

    def rebased(self, context: str) -> Gauge:
        """With another context in force (a compaction, an undo, an edit): its load is estimated as a whole."""
        return replace(self, context=context, anchor=None, rejected=None)

    def report(self, usage: Usage, *, sent: Load, reply: int | None = None, window: int = 0) -> Gauge:
        """With what the provider reported.

        A report for a context that is no longer in force, or for an earlier request than the anchor, comes too
        late and changes nothing.

        Args:
            usage: its figures; ``prompt`` includes what the cache was read for or written with.
            sent: the request it belongs to, as it was read before sending.
            reply: plain estimate of the reply's message; None if that is not (yet) part of the log.
            window: of the model, in tokens; 0 if unknown.
        """
        # reports may come after a compaction or out of order, as after a stream that was read late
        if sent.context != self.context or self._is_late(sent):
            return self
        reason = self._doubt(usage, sent, window=window)
        # a second report that fits the first one is no mistake: the client added tools that nobody told us of
        if reason and not (reason == "unexplained jump" and self._confirms(usage, sent)):
            return replace(self, rejected=Rejected(sent=sent, usage=usage, reason=reason))
        calibration = self.calibration if reason else self._calibrated(usage, sent)
        counted = self._counts_reply(usage, sent, reply=reply)
        # what the estimate does not explain is carried by every request, as tools are
        beyond = max(0, usage.prompt - round(sent.tokens * calibration.factor(sent.model)))
        return replace(
            self,
            calibration=calibration,
            anchor=Anchor(
                sent=sent,
                prompt=usage.prompt,
                tokens=usage.prompt + (usage.completion if counted else 0),
                covered=sent.tokens + (reply or 0 if counted else 0),
            ),
            # the least of all reports: a single high one may be our own count that was too low
            unseen=beyond if self.unseen is None or reason else min(self.unseen, beyond),
            rejected=None,
        )

    def _counts_reply(self, usage: Usage, sent: Load, *, reply: int | None) -> bool:
        """True if the reported tokens of the reply hold the message that the log has of it.

        They are too few for it where a reply was put together from several requests: then it is estimated like any message.
        More count as they are reported, though hidden reasoning may be among them that the next request does not carry.
        """
        if reply is None:
            return False
        expected = reply * self.calibration.factor(sent.model)
        return usage.completion >= expected / _MOST_GROWTH - _REPLY_SLACK

    def _anchor(self, load: Load) -> Anchor | None:
        """The anchor, if it says something about ``load``."""
        anchor = self.anchor
        if anchor is None or (anchor.sent.context, anchor.sent.model) != (load.context, load.model):
            return None
        return anchor

    def _is_late(self, sent: Load) -> bool:
        anchor = self._anchor(sent)
        return anchor is not None and sent.tokens < anchor.sent.tokens

    def _doubt(self, usage: Usage, sent: Load, *, window: int) -> Reason:
        """The reason to reject a report of usage; "" if it is plausible."""
        if usage.prompt <= 0 or usage.completion < 0:
            return "empty"
        # such a request would have been refused, so the figure cannot be its own
        if 0 < window < usage.prompt + usage.completion:
            return "above the window"
        expected = sent.tokens * self.calibration.factor(sent.model)
        # some servers report the uncached part only
        if usage.prompt < _LEAST_SHARE * expected - _SLACK_TOKENS:
            return "too low"
        return "unexplained jump" if usage.prompt > self._most(sent) else ""

    def _most(self, sent: Load) -> float:
        """The highest believable figure for ``sent``; for the first report there is none."""
        most = math.inf
        if self.unseen is not None:
            most = self.unseen + sent.tokens * _MOST_GROWTH + _UNSEEN_SLACK
        anchor = self._anchor(sent)
        if anchor is not None:
            grown = (sent.tokens - anchor.sent.tokens) * _MOST_GROWTH
            most = min(most, anchor.prompt * (1 + _SLACK_SHARE) + grown + _SLACK_TOKENS)
        return most

    def _confirms(self, usage: Usage, sent: Load) -> bool:
        """True if the report grows from the one rejected before as the conversation does."""
        before = self.rejected
        if before is None or before.sent.model != sent.model:
            return False
        grown = (sent.tokens - before.sent.tokens) * self.calibration.factor(sent.model)
        surplus = usage.prompt - before.usage.prompt - grown
        # half of the growth for another tokenizer, and two per cent for what clients change at the end
        return abs(surplus) <= 0.5 * grown + 0.02 * before.usage.prompt

    def _calibrated(self, usage: Usage, sent: Load) -> Calibration:
        """Calibrate by the report: by its growth, which no unseen tokens blur; else only downwards."""
        anchor = self._anchor(sent)
        if anchor is not None:
            grown, estimated = usage.prompt - anchor.prompt, sent.tokens - anchor.sent.tokens
        else:
            grown, estimated = usage.prompt, sent.tokens
            # the surplus may be unseen tools as well as a low factor: of a first report only "less" teaches
            if grown >= estimated * self.calibration.factor(sent.model):
                return self.calibration
        if grown <= 0 or estimated <= 0:
            return self.calibration
        return self.calibration.learned(sent.model, reported=grown, estimated=estimated)
