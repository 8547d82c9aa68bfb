"""How full one conversation's context is: the figure that the meter shows and the trigger goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from autocompact.core.messages import Message, Usage
from autocompact.core.tokens import Cost
from autocompact.core.usage import MARGIN, Calibration, Gauge, Load, Reading
from autocompact.errors import IncompressibleContext

if TYPE_CHECKING:
    from autocompact.compactor.conversation import Conversation


class Meter:
    """The gauge of a conversation, and what its requests carry besides the messages.

    Attributes:
        gauge: what is known of the usage.
        overhead: weight of the tool schemas and of a system prompt outside of the log.
        tools: the tool schemas as raw JSON.
        system: the system prompt outside of the log, "" if it is in the log.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.gauge = Gauge()
        self.overhead = Cost()
        self.tools: bytes | None = None
        self.system = ""
        self._of = conversation
        self._heard = False

    def start(self, calibration: Calibration) -> None:
        """Begin with what was learned, and read again what the replies in the log reported."""
        self.gauge = Gauge(calibration=calibration)
        self._replay()

    def rebase(self) -> None:
        """Another context is in force: nothing that was reported so far counts for it."""
        self.gauge, self._heard = self.gauge.rebased(self._of.active_id), False

    def carry(self, tools: bytes | None, *, system: str) -> None:
        """Set what every request carries. See `Conversation.use_tools`."""
        if (tools, system) == (self.tools, self.system):
            return
        counter = self._of.shared.counter
        text = tools.decode("utf-8", "replace") if tools else ""
        self.tools, self.system = tools, system
        self.overhead = Cost(
            tokens=counter.count(text) + counter.count(system), bytes=len(tools or b"") + len(system.encode())
        )
        if not self._heard:
            self._replay()

    def load(self) -> Load:
        """The next request."""
        return self.load_of(self._of.cost(), context=self._of.active_id)

    def load_of(self, cost: Cost, *, context: str) -> Load:
        """A request of that weight with the compaction of that id in force."""
        return Load(tokens=cost.tokens, context=context, model=self._of.shared.model_name)

    def read(self) -> Reading:
        """How full the context is. O(new)."""
        return self.gauge.read(self.load())

    def used(self) -> Cost:
        """What the next request takes: tokens as the meter reads them, bytes and images by our own count."""
        cost = self._of.cost()
        load = self.load_of(cost, context=self._of.active_id)
        return Cost(tokens=self.gauge.read(load).used, bytes=cost.bytes, images=cost.images)

    def report(self, usage: Usage, *, sent: Load | None = None) -> None:
        """What the provider reported for ``sent``; None is the context as it stands."""
        window = self._of.shared.budget.window
        self.gauge = self.gauge.report(usage, sent=sent or self.load(), window=window)
        self._heard = True

    def hear(self, message: Message, *, sent: Load) -> None:
        """What the provider reported with ``message``, a reply to ``sent`` that is in the log now."""
        if message.usage is None or message.role != "assistant":
            return
        reply = self._of.transcript.cost(message.seq).tokens
        window = self._of.shared.budget.window
        self.gauge = self.gauge.report(message.usage, sent=sent, reply=reply, window=window)
        self._heard = True

    def _replay(self) -> None:
        """Read again what the replies reported since the compaction in force took effect, as after a restart."""
        of, settled, load = self._of, self._of.state.settled, self.load()
        self.gauge = replace(self.gauge.rebased(load.context), unseen=of.state.unseen)
        if (settled.context if settled else "") == load.context:
            since = max(settled.last_seq if settled else 0, of.transcript.first - 1)
            held = tuple(of.transcript.live(since + 1))
            tokens = load.tokens - sum(of.transcript.cost(message.seq).tokens for message in held)
            for message in held:
                if message.usage is not None:
                    self.hear(message, sent=replace(load, tokens=max(0, tokens)))
                tokens += of.transcript.cost(message.seq).tokens
        self._heard = False

    def settled(self, used: Cost) -> Cost | None:
        """What the context weighed after the last compaction or undo, in the tokens that ``used`` is in.

        Growth is measured by our own count, which no report moves, and then calibrated.
        """
        settled = self._of.state.settled
        if settled is None or settled.context != self._of.active_id:
            return None
        grown = self._of.cost().tokens - settled.cost.tokens
        return replace(settled.cost, tokens=used.tokens - round(grown * self._factor))

    def refusal(self, breakdown: Mapping[str, int], *, limit: int, used: int = 0) -> IncompressibleContext:
        """That a context does not fit, with figures that can be compared with those of the meter.

        Args:
            breakdown: tokens by what fills it, by our own count.
            limit: tokens that it may take, by our own count; 1 and less where what we do not see leaves nothing.
            used: tokens of the context by the meter, where that is the figure that does not fit.
        """
        factor, unseen = self._factor, self.gauge.unseen or 0
        parts = {name: round(tokens * factor) for name, tokens in breakdown.items()}
        if unseen:
            parts["what the provider adds by itself"] = unseen
        if (more := used - sum(parts.values())) > 0:
            parts["what the provider reported beyond our count"] = more
        fits = min(self._of.shared.budget.limit, round(limit * factor) + unseen)
        return IncompressibleContext(parts, limit=fits)

    @property
    def _factor(self) -> float:
        return self.gauge.calibration.factor(self._of.shared.model_name) * MARGIN

    def estimate(self, tokens: int) -> int:
        """What so many tokens of our own count are for the meter."""
        return round(tokens * self._factor)

    def counted(self, tokens: int) -> int:
        """So many tokens of the meter in our own count, for a context that nobody reported on yet."""
        return max(1, int((tokens - (self.gauge.unseen or 0)) / self._factor))
