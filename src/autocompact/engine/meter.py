"""Usage of one conversation's context: the figure that the meter shows and the trigger goes by. Pure values.

Two counts meet here. Our own estimate is made for every message once; the *metered* figure is the provider's last report
and a calibrated estimate of what is new since (`autocompact.core.usage`). Limits and thresholds are metered; the ladder
works in our estimate. `Meter.to_metered` and `Meter.to_estimate` are the only places where one becomes the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from autocompact.compaction.metering import replayed
from autocompact.compaction.transcript import Transcript
from autocompact.core.messages import Message, Usage
from autocompact.core.tokens import Cost, Counter
from autocompact.core.usage import MARGIN, Calibration, Gauge, Load, Reading
from autocompact.errors import IncompressibleContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The usage of one conversation, and what its requests carry besides the messages.

    Attributes:
        gauge: what is known of the usage.
        overhead: weight of the tool schemas and of a system prompt outside of the log.
        tools: the tool schemas as raw JSON.
        system: the system prompt outside of the log, "" if it is in the log.
        observed: usage was reported since the active compaction took effect or the log was loaded.
    """

    gauge: Gauge = field(default_factory=Gauge)
    overhead: Cost = field(default_factory=Cost)
    tools: bytes | None = None
    system: str = ""
    observed: bool = False

    # Transitions

    def relearned(self, calibration: Calibration) -> Meter:
        """A meter with this overhead that knows nothing but a calibration."""
        return replace(self, gauge=Gauge(calibration=calibration), observed=False)

    def rebased(self, context: str) -> Meter:
        """With another active compaction: nothing that was reported so far counts for its context."""
        return replace(self, gauge=self.gauge.rebased(context), observed=False)

    def with_overhead(self, tools: bytes | None, *, system: str, counter: Counter) -> Meter:
        """With what every request carries besides the messages; this very meter if nothing changed."""
        # asked on every turn; counting schemas of some ten kilobytes each time would cost more than the decision
        if (tools, system) == (self.tools, self.system):
            return self
        text = tools.decode("utf-8", "replace") if tools else ""
        overhead = Cost(
            tokens=counter.count(text) + counter.count(system), bytes=len(tools or b"") + len(system.encode())
        )
        return replace(self, tools=tools, system=system, overhead=overhead)

    def observe_usage(self, usage: Usage, *, sent: Load, window: int, reply: int | None = None) -> Meter:
        """With what the provider reported for ``sent``.

        Args:
            usage: its figures.
            sent: the request.
            window: tokens of the model's window.
            reply: tokens of the reply's message by our own count; None while it is not part of the log.
        """
        gauge = self.gauge.report(usage, sent=sent, reply=reply, window=window)
        return replace(self, gauge=gauge, observed=True)

    def observe_reply(self, message: Message, *, sent: Load, window: int, tokens: int) -> Meter:
        """With what the provider reported with ``message``, which has ``tokens`` and answers ``sent``."""
        # only replies report usage; the figures of other roles are copies
        if message.usage is None or message.role != "assistant":
            return self
        return self.observe_usage(message.usage, sent=sent, window=window, reply=tokens)

    def replayed(
        self, log: Transcript, *, since: int | None, load: Load, unseen: int | None, window: int
    ) -> Meter:
        """With what the replies in ``log`` reported read again, as after a restart.

        Args:
            log: the messages.
            since: ``seq`` of the last message before the active compaction took effect; None if that is not known, so
                that no report can be told to belong to this context.
            load: the next request; what each earlier one weighed is worked out from it.
            unseen: tokens that every request carries unseen by us, as far as known.
            window: tokens of the model's window.
        """
        gauge = replace(self.gauge.rebased(load.context), unseen=unseen)
        # without it the reports may belong to another context: then the
        # estimate alone counts, until the next report
        if since is not None:
            gauge = replayed(gauge, log, since=since, load=load, window=window)
        # read from the log again, so it is not news that confirms the present overhead
        return replace(self, gauge=gauge, observed=False)

    # Figures

    def read(self, load: Load) -> Reading:
        """Return the usage of the context with ``load``."""
        return self.gauge.read(load)

    def used(self, cost: Cost, *, load: Load) -> Cost:
        """Weight of ``load``, the request of that ``cost``: tokens as metered, bytes and images by our own count."""
        return Cost(tokens=self.gauge.read(load).used, bytes=cost.bytes, images=cost.images)

    def to_metered(self, tokens: int, *, model: str) -> int:
        """Convert our estimate to metered tokens."""
        return round(tokens * self.factor(model))

    def to_estimate(self, tokens: int, *, model: str) -> int:
        """Convert metered tokens to our estimate, for a context that nobody reported on yet; at least 1."""
        # the unseen tokens are the provider's own and take part of the limit whatever we send
        return max(1, int((tokens - (self.gauge.unseen or 0)) / self.factor(model)))

    def fixed(self, prompt_tokens: int, *, model: str) -> int:
        """Metered tokens that every request carries, whatever is compacted: tool schemas, system prompt.

        The one definition for threshold, target, breaker and price.

        Args:
            prompt_tokens: of the system prompt in the log, by our own count.
            model: whose tokens.
        """
        return self.to_metered(prompt_tokens + self.overhead.tokens, model=model)

    def factor(self, model: str) -> float:
        """Metered tokens for one of our estimate."""
        return self.gauge.calibration.factor(model) * MARGIN

    def refusal(
        self, breakdown: Mapping[str, int], *, limit: int, most: int, model: str, used: int = 0
    ) -> IncompressibleContext:
        """The error that a context does not fit, with metered figures.

        Args:
            breakdown: tokens by what fills it, by our own count.
            limit: tokens that it may take, by our own count; 1 and less where what we do not see leaves nothing.
            most: metered tokens that any request may take.
            model: whose tokens.
            used: metered tokens of the context, where that is the figure that does not fit.
        """
        factor, unseen = self.factor(model), self.gauge.unseen or 0
        parts = {name: round(tokens * factor) for name, tokens in breakdown.items()}
        if unseen:
            parts["what the provider adds by itself"] = unseen
        if (more := used - sum(parts.values())) > 0:
            parts["what the provider reported beyond our count"] = more
        return IncompressibleContext(parts, limit=min(most, round(limit * factor) + unseen))
