"""Tokens of a recorded context as its provider counts them: its last report, and what came since.

A log holds less than a request: no system prompt, no tool schemas, not everything that was attached. So the provider's
figure is the one for the whole, and our count of the messages is scaled to it. It is the gauge of a live conversation
(`autocompact.core.usage`), which reads the reports of the recording again: one that is not plausible is not believed.
"""

from __future__ import annotations

from msgspec import Struct

from autocompact.compaction.metering import replayed
from autocompact.compaction.transcript import view
from autocompact.core.messages import Message
from autocompact.core.usage import Calibration, Gauge, Load
from autocompact.history.recorded.moment import Moment
from autocompact.sessions import Session


class ContextUsage(Struct, frozen=True, kw_only=True):
    """Usage of one recorded context, in tokens of its provider.

    Attributes:
        reported: by the provider, for the last request of this context and its reply; 0 if nothing was reported, or
            nothing that can be believed: then our own count is the figure.
        since: estimate of what came after that reply.
        log: our own count of the messages of the context.
        outside: tokens that every request carries and the log does not hold: system prompt, tool schemas, attachments.
        factor: tokens of the provider for one of our count.
    """

    reported: int = 0
    since: int = 0
    log: int
    outside: int = 0
    factor: float = 1.0

    @property
    def used(self) -> int:
        """Tokens that the next request needs."""
        return self.metered(self.log)

    def scaled(self, tokens: int) -> int:
        """Convert our count to tokens of the provider."""
        return round(tokens * self.factor)

    def metered(self, tokens: int) -> int:
        """Tokens of a request with a context of that many tokens by our own count."""
        return self.scaled(tokens) + self.outside

    def to_estimate(self, tokens: int) -> int:
        """Our own count of messages that take that many tokens of the provider; never more than these."""
        return max(1, int(tokens / max(1.0, self.factor)))


def usage_of(then: Moment, session: Session, *, log_tokens: int) -> ContextUsage:
    """Usage of the context at a moment of a session.

    Args:
        then: the moment.
        session: whose.
        log_tokens: our own count of that context.
    """
    active = then.active
    counted = view(then.log, active).cost.tokens
    load = Load(tokens=counted, context=active.id if active else "", model=session.model)
    # the table's window is not passed: a report above it is of a session with a larger one than the table knows
    gauge = replayed(
        Gauge(context=load.context, calibration=Calibration(counter=then.log.counter.name)),
        then.log,
        since=_before(then),
        load=load,
        window=session.window,
    )
    reading = gauge.read(load)
    if not reading.reported:
        return ContextUsage(log=log_tokens)
    used, factor = reading.used, gauge.calibration.factor(session.model)
    # a log that holds more than was sent (outputs that the program itself cut) is scaled down to what was
    factor = min(factor, used / log_tokens)
    return ContextUsage(
        reported=reading.reported,
        since=max(0, reading.estimated),
        log=log_tokens,
        outside=max(0, used - round(log_tokens * factor)),
        factor=factor,
    )


def _before(then: Moment) -> int:
    """``seq`` of the last message that was there when the recording program compacted; 0 if it did not."""
    active = then.active
    if active is None:
        return 0
    made = active.receipt.time
    stayed = (message.seq for message in then.log.live(active.through_seq + 1) if _is_until(message, made))
    return max(stayed, default=active.through_seq)


def _is_until(message: Message, time: str) -> bool:
    return "" < message.time <= time
