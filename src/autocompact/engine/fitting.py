"""Makes the next request fit: does what is decided, compacts as often as it takes, or refuses with figures."""

from __future__ import annotations

import logging

from autocompact.compaction.transcript import Context
from autocompact.core.budget import Compact, Continue, Decision, Prepare, Pressure, Refuse
from autocompact.core.tokens import breakdown
from autocompact.engine.background import Background
from autocompact.engine.decisions import Decisions
from autocompact.engine.execution import Execution
from autocompact.engine.preparation import Preparation
from autocompact.engine.replica import TRIES, Replica
from autocompact.engine.situation import SMALLER
from autocompact.errors import AutocompactError, Conflict, IncompressibleContext, log_data
from autocompact.runtime.off_loop import off_loop

log = logging.getLogger("autocompact")


class Fitting:
    """Keeps the requests of one conversation within the window.

    Args:
        replica: the conversation's log and state.
        decisions: what to do next.
        execution: makes compactions and activates them.
        preparation: prepares them.
        background: where they are prepared.
    """

    def __init__(
        self,
        replica: Replica,
        *,
        decisions: Decisions,
        execution: Execution,
        preparation: Preparation,
        background: Background,
    ) -> None:
        self._replica = replica
        self._decisions = decisions
        self._execution = execution
        self._preparation = preparation
        self._background = background

    async def ready(self) -> Context:
        """The context for the next model call, compacted first where that is due. See `Conversation.ready`."""
        self._replica.check_usable()
        # a preparation without a model takes milliseconds; waiting makes the result independent of the scheduler
        await self._background.join()
        situation = self._decisions.situation()
        # the peak belongs into the archive entry of the next compaction
        self._replica.observe_used(situation.used.tokens)
        match decision := situation.decide():
            case Continue():
                pass
            # in the background: the request of this turn still fits and does not wait
            case Prepare():
                self._preparation.start(situation.background_goal(decision))
            case Compact():
                await self._make_room()
            case Refuse():
                raise await self._refusal(decision.pressure)
        return self._replica.hand_out()

    async def _make_room(self) -> None:
        """Compact until nothing is due; where the request would not fit, until it fits.

        Raises:
            IncompressibleContext: the request does not fit, whatever is done.
        """
        # each conflict means that another program changed the conversation, so after it the decision is made anew
        tries = TRIES
        while isinstance(decision := await self._due(), Compact) and tries:
            tries -= 1
            # at the threshold a failed compaction may be left for the next
            # turn; a request over the limit may not be sent
            must_fit = decision.trigger == "overflow"
            try:
                await self._compact_for(decision)
            except Conflict:
                # lost every race although nothing else helps: then the caller has to know
                if must_fit and not tries:
                    raise
            except AutocompactError as error:
                # no content and no message text: the error's own fields only
                log.warning("an automatic compaction failed", extra=log_data(error))
                if must_fit:
                    raise
                return
            else:
                break
        # a compaction is accepted when it is smaller, which need not be small enough
        decision = self._decisions.decide()
        if decision.pressure.overflows:
            raise await self._refusal(decision.pressure)

    async def _due(self) -> Decision:
        """Decide the next step while no preparation runs; from the threshold on, its compaction is the one that is due."""
        await self._background.wait_idle()
        return self._decisions.decide()

    async def _compact_for(self, decision: Compact) -> None:
        # ready-made: activating it costs no model call
        if await self._preparation.activate():
            return
        must_fit, pressure = decision.trigger == "overflow", decision.pressure
        try:
            record = await self._execution.run(
                # made under the lease, from the context as it is then
                lambda: self._decisions.goal(
                    decision.target, trigger=decision.trigger, summarise=pressure.kind != "tokens"
                ),
                model_free=decision.model_free,
                must_fit=must_fit,
            )
            if record is None and must_fit:  # by our own count it fits, by the meter it does not
                await self.shrink()
        except IncompressibleContext as error:
            # the ladder counts tokens alone; for bytes and images the figures come from the pressure
            if pressure.kind == "tokens":
                raise
            raise await self._refusal(pressure) from error

    async def shrink(self, share: float = SMALLER) -> bool:
        """Compact without a model, as after a request that was refused as too large; False if nothing can be gained.

        Args:
            share: of the context as it is that the context may take afterwards. See `Situation.smaller_goal`.

        Raises:
            IncompressibleContext: what must stay does not fit.
            AutocompactError: it failed, and nothing has changed.
        """
        record = await self._execution.run(
            lambda: self._decisions.smaller_goal(share), model_free=True, must_fit=True
        )
        return record is not None

    async def _refusal(self, pressure: Pressure) -> IncompressibleContext:
        """Build the error that the context does not fit, with figures in the unit that is short."""
        replica = self._replica
        meter, counter, kind = replica.state.meter, replica.transcript.counter, pressure.kind
        overhead = getattr(meter.overhead, kind)
        messages = tuple(replica.context().messages)
        parts = await off_loop(lambda: breakdown(messages, tools=overhead, counter=counter, unit=kind))
        if kind != "tokens":
            return IncompressibleContext(parts, limit=pressure.limit, unit=kind)
        limit = meter.to_estimate(pressure.limit, model=replica.shared.model_name)
        # in metered tokens, as the meter shows them to the person
        return replica.refusal(parts, limit=limit, used=pressure.used)
