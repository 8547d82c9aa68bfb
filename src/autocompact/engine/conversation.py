"""One conversation in use: a thin shell over its log and state, and the services that compact it.

The per-turn path touches only what is new: `append` stores and measures the message, `usage` and `decide` read
running sums, `ready` hands out the context. What takes longer happens in `autocompact.engine.execution`.

    replica      log, state and lock; the only one that writes them
    situation    decides, from the state of one moment
    execution    makes a compaction and activates it
    preparation  has one made in the background
    records      undo, restore, compare, pin
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from autocompact.compaction.goal import Goal
from autocompact.compaction.record import Compaction, Trigger
from autocompact.compaction.transcript import Context, Transcript
from autocompact.core.budget import Compact, Continue, Decision, Prepare, Pressure, Refuse
from autocompact.core.lookup import Lookup
from autocompact.core.messages import Dialect, Message, Role, Text, Usage
from autocompact.core.tokens import Cost, breakdown
from autocompact.core.usage import Load, Reading
from autocompact.core.validity import check_message
from autocompact.engine.accepted import check_name
from autocompact.engine.background import Background
from autocompact.engine.execution import Execution
from autocompact.engine.following import LARGE_JSON, Following
from autocompact.engine.meter import Meter
from autocompact.engine.preparation import Preparation
from autocompact.engine.records import Records
from autocompact.engine.replica import TRIES, Replica
from autocompact.engine.shared import Shared
from autocompact.engine.situation import NO_COST, Situation
from autocompact.engine.state import ConversationState
from autocompact.engine.work import CompactionResult
from autocompact.errors import (
    AutocompactError,
    Conflict,
    IncompressibleContext,
    ModelOverflow,
    log_data,
)
from autocompact.off_loop import off_loop, off_loop_if
from autocompact.ports import Key, ModelReply
from autocompact.stores.fork import copy_conversation
from autocompact.wire import check_raw, from_mapping, parse_message, plain_messages
from autocompact.wire.items import Items, reported_usage, system_text, tools_json
from autocompact.wire.json import check as check_json

SMALLER = 0.75
"""Share of a request that was refused as too large, or of the limit, that the next one may take."""

_NO_PINS = frozenset[int]()

log = logging.getLogger("autocompact")


class Conversation:
    """One conversation. Make it with `Compactor.open`; call its methods from one event loop.

    Attributes:
        key: which one.
        records: the compactions of this conversation: preview, undo, restore, compare, pin.
        background: where compactions are prepared.
        preparation: prepares them.
    """

    def __init__(self, shared: Shared, key: Key) -> None:
        self.key = key
        self.background = Background()
        self._replica = Replica(shared, key)
        self._execution = Execution(self._replica, background=self.background)
        self.preparation = Preparation(self._replica, execution=self._execution, background=self.background)
        self.records = Records(self._replica, execution=self._execution, manual_goal=self.manual_goal)
        self._following = Following(self._replica)

    @classmethod
    async def load(cls, shared: Shared, key: Key) -> Self:
        """The conversation as the store holds it."""
        conversation = cls(shared, key)
        await conversation.reload()
        return conversation

    async def fork(self, conversation_id: str, *, through_seq: int | None = None) -> Self:
        """A new conversation with the same log up to ``through_seq`` (default: all), and its compaction if that fits.

        Raises:
            InvalidInput: the name is taken, or is no name.
        """
        self.shared.check_open()
        check_name(conversation_id, of="a conversation")
        target = replace(self.key, conversation=conversation_id)
        await copy_conversation(self.shared.store, self.key, target=target, through_seq=through_seq)
        fork = await self.load(self.shared, target)
        pins = tuple(seq for seq in self.state.pins if seq <= len(fork))
        await fork.records.keep(pins, notes=self.state.notes)
        return fork

    @property
    def shared(self) -> Shared:
        """Store, models, mode and clock, which it shares with others; may be exchanged for another one's."""
        return self._replica.shared

    @shared.setter
    def shared(self, shared: Shared) -> None:
        self._replica.shared = shared

    @property
    def state(self) -> ConversationState:
        """What is known beside the log, as a frozen value."""
        return self._replica.state

    @property
    def meter(self) -> Meter:
        """How full the context is, and what the requests carry besides the messages."""
        return self._replica.state.meter

    @property
    def transcript(self) -> Transcript:
        """The log, as far as a context needs it. It may be read, and grows as messages are appended."""
        return self._replica.transcript

    async def reload(self) -> None:
        """Take over what the store holds now."""
        await self._replica.reload()

    async def sync(self) -> None:
        """Take over what another program changed; the context is folded anew only if that concerns it."""
        await self._replica.sync()

    # The log

    async def append(self, message: Message) -> Message:
        """Add a message at the end of the log; its ``seq`` is set here. Durable when this returns.

        If another process appended meanwhile, its messages come first.

        Raises:
            InvalidInput: it cannot be stored and used (`autocompact.core.validity`), or replaces a message that is not
                before it; the log is as it was.
            StoreError: it could not be stored; the log is as it was.
        """
        (stored,) = await self.extend((message,))
        return stored

    async def extend(self, messages: Iterable[Message], *, after: int | None = None) -> tuple[Message, ...]:
        """Add messages at the end of the log, all or none, in one transaction; otherwise as `append`.

        Args:
            messages: none is nothing to do.
            after: ``seq`` of the message that they have to follow directly; None is the last one, whoever wrote it.

        Raises:
            Conflict: the log does not end at ``after``.
        """
        self.shared.check_open()
        messages = tuple(messages)
        for message in messages:
            check_message(message)
        return await self._replica.extend(messages, after=after, check=check_raw)

    async def extend_raw(
        self, raws: Sequence[bytes], *, dialect: Dialect, after: int | None = None
    ) -> tuple[Message, ...]:
        """Add messages that came as the JSON of a provider's API; otherwise as `extend`.

        Raises:
            InvalidRequest: one of them is not what the API describes; the log is as it was.
        """
        self.shared.check_open()

        def parsed() -> tuple[Message, ...]:
            for raw in raws:
                check_json(raw, path="message")
            return tuple(parse_message(raw, seq=seq, dialect=dialect) for seq, raw in enumerate(raws, first))

        first = (len(self) if after is None else after) + 1
        messages = await off_loop_if(sum(map(len, raws)) > LARGE_JSON, parsed)
        return await self._replica.extend(messages, after=after, check=None)

    async def add(
        self, message: Mapping[str, object], *, dialect: Dialect = "openai_chat", usage: Usage | None = None
    ) -> Message:
        """Add a message as a provider's API has it, e.g. ``{"role": "user", "content": "Hello."}``; nothing of it is lost.

        Raises:
            InvalidInput: it is no message of ``dialect``, or cannot be written as JSON; nothing was stored.
        """
        return await self.append(replace(from_mapping(message, dialect=dialect), usage=usage))

    async def follow(
        self,
        messages: Sequence[object],
        *,
        dialect: Dialect = "openai_chat",
        system: object = None,
        tools: Sequence[object] | bytes | None = None,
    ) -> list[Any]:
        """Make the log equal to a list that the caller keeps, and return what to send in its place.

        For a framework or client that holds the messages itself and brings all of them before each model call. What is
        new is appended; what was edited, cut off or replaced since the last call is replaced in the log. Then a compaction
        is made if it is due (`ready`).

        Args:
            messages: the whole list, in the order of the API: mappings, objects of a provider's SDK, or the JSON of
                each as bytes.
            dialect: the API that they are for.
            system: the system prompt where it stands outside of the list: a text, or a list of the API's blocks. It
                counts and is never changed: a summary that would go into it stands in a message of the user.
            tools: the tool schemas of the request; they count.

        Returns:
            The context as a list of the same kind. Items that stand in it unchanged are the very objects that came.

        Raises:
            InvalidInput: the list, or one of its new items, is not what the API describes; nothing was stored.
            IncompressibleContext: the context does not fit and cannot be made to; see `ready`.
            StoreError: what is new could not be stored.
        """
        self.shared.check_open()
        items, following = Items(messages, dialect=dialect), self._following
        schemas, prompt = tools_json(tools), system_text(system, dialect=dialect)
        async with following.lock:
            following.use(dialect)
            followed = await following.take_over(items)
            self.use_tools(schemas, system=prompt)
            context = await self.ready()
            following.sent, following.usage = self.next_load(), None
            return items.shown(
                context.messages, standing=context.standing, place=followed.place, renderer=following.renderer
            )

    async def heard(self, reply: object = None, *, usage: Usage | None = None) -> None:
        """Take over what the provider reported for the list that `follow` returned; the meter goes by it from now on.

        It is stored with the reply, once the list that `follow` is given next brings that.

        Args:
            reply: the API's whole response (a mapping, an object of its SDK, or JSON), which says its usage; None where
                ``usage`` is given.
            usage: what was reported, where the response is not at hand, as after a stream.

        Raises:
            InvalidInput: neither is given, or the reply is no response.
        """
        following = self._following
        reported = usage if usage is not None else reported_usage(reply)
        if reported is None:
            return
        following.usage = reported
        self.report(reported, sent=following.sent)

    async def say(self, text: str, *, role: Role = "user", usage: Usage | None = None) -> Message:
        """Add a message of plain words."""
        return await self.append(Message(seq=0, role=role, parts=(Text(text=text),), usage=usage))

    def __len__(self) -> int:
        """Number of messages, the replaced ones included."""
        return len(self._replica)

    async def history(self, *, from_seq: int = 1, through_seq: int | None = None) -> tuple[Message, ...]:
        """The log itself, whatever was compacted."""
        return await self._replica.history(from_seq=from_seq, through_seq=through_seq)

    # The context and its weight

    @property
    def active(self) -> Compaction | None:
        """The active compaction."""
        return self._replica.active

    @property
    def active_id(self) -> str:
        """Its id, "" if there is none."""
        return self._replica.active_id

    @property
    def prepared(self) -> Compaction | None:
        """The compaction that was prepared and waits for the threshold."""
        return self._replica.state.prepared

    def context(self, *, closed: bool = False) -> Context:
        """What the model is sent now. See `autocompact.compaction.transcript.View.context`."""
        return self._replica.context(closed=closed)

    def messages(self, *, dialect: Dialect = "openai_chat") -> list[dict[str, object]]:
        """The context as the message list of a provider's API; `autocompact.wire.export_messages` gives its bytes.

        What Python's JSON cannot hold comes as what is nearest: half a surrogate pair as U+FFFD, a number beyond a double
        as the largest one.
        """
        return plain_messages(self.context().messages, dialect=dialect)

    def cost(self) -> Cost:
        """What the next request weighs by our own count, overhead included."""
        return self._replica.cost()

    def next_load(self) -> Load:
        """The next request as the meter reads it; give it back with the usage that is reported for it (`report`)."""
        return self._replica.load()

    def use_tools(self, tools: bytes | None, *, system: str = "") -> None:
        """Say what every request carries besides the messages: tool schemas as raw JSON, a system prompt."""
        self._replica.use_tools(tools, system=system)

    @property
    def lookup(self) -> Lookup:
        """How the model opens what left the context."""
        return self.transcript.lookup

    def use_lookup(self, lookup: Lookup) -> None:
        """Word summary and masks for a model that opens what left the context in this way."""
        self._replica.use_lookup(lookup)

    @property
    def caches_for_an_hour(self) -> bool | None:
        """True if the requests ask the provider to hold what they mark for an hour; None while nobody looked."""
        return self.state.hour_cache

    @caches_for_an_hour.setter
    def caches_for_an_hour(self, held: bool | None) -> None:
        self._replica.use_hour_cache(held)

    def usage(self) -> Reading:
        """How full the context is: the figure of the meter and of the trigger. O(new)."""
        return self.meter.read(self.next_load())

    def report(self, usage: Usage, *, sent: Load | None = None) -> None:
        """Take over what the provider reported, where no message brings it.

        Args:
            usage: its figures.
            sent: the request, as `next_load` gave it then; None is the context as it is now.
        """
        self._replica.observe_usage(usage, sent=sent)

    async def recount(self) -> int:
        """The exact tokens of the context, as the model's provider counts them; the meter goes by it from now on.

        Raises:
            ModelError: the provider did not answer, or there is no model.
        """
        return await self._execution.recount()

    def sent(self) -> tuple[Message, ...]:
        """The context with the system prompt that stands outside of the log."""
        return (*self.shared.outside(self.meter.system), *self.context().messages)

    @property
    def fixed(self) -> int:
        """Metered tokens that every request carries, whatever is compacted: tool schemas, system prompt."""
        return self._replica.fixed

    @property
    def is_cold(self) -> bool:
        """True if the provider's cache has dropped the context; not asked where the policy makes no difference."""
        return self._situation().is_cold

    def shows(self, seq: int) -> bool:
        """True if message ``seq`` is part of the context."""
        return self._replica.shows(seq)

    def breakdown(self) -> dict[str, int]:
        """Tokens by what fills the context, for the meter and for errors."""
        messages, overhead = self.context().messages, self.meter.overhead
        return breakdown(messages, tools=overhead.tokens, counter=self.shared.counter)

    # Decisions

    def _situation(self) -> Situation:
        """What decisions are made from, as it is now."""
        replica = self._replica
        state, shared = replica.state, replica.shared
        sent_at, cost = state.sent_at, replica.cost()
        return Situation(
            state=state,
            mode=shared.mode,
            budget=shared.budget,
            rates=shared.rates,
            model=shared.model_name,
            context=replica.active_id,
            cost=cost,
            used=replica.used_by(cost),
            prompt_tokens=replica.prompt_tokens,
            busy=self.preparation.busy,
            waits=state.prepared is None and shared.has_summary_model,
            idle_seconds=None if sent_at is None else shared.clock.monotonic() - sent_at,
            pins=frozenset(filter(replica.shows, state.pins)) if state.pins else _NO_PINS,
        )

    def should_compact(self) -> bool:
        """True if the threshold is reached; a compaction resets it."""
        return isinstance(self.decide(), Compact)

    def decide(self, *, more: Cost = NO_COST) -> Decision:
        """What to do before the next model call.

        Args:
            more: what would come to the context, for asking beforehand; its tokens as the meter counts.
        """
        return self._situation().decide(more=more)

    def goal(self, target: int, *, trigger: Trigger, summarise: bool = False) -> Goal:
        """What a compaction of this conversation has to reach. See `Situation.goal`."""
        return self._situation().goal(target, trigger=trigger, summarise=summarise)

    def manual_goal(self, focus: str = "") -> Goal:
        """What a compaction has to reach that the user asks for."""
        return self._situation().manual_goal(focus)

    # Compaction

    async def ready(self) -> Context:
        """The context for the next model call, compacted first where that is due. Call it before each one.

        From the threshold on it waits for a compaction that is being prepared; one that is prepared without a model is
        waited for by the next call. A compaction that fails leaves the context as it was, unless the request would not
        fit: then the steps of the ladder that need no model act.

        Raises:
            IncompressibleContext: what must stay does not fit, nothing can be gained, or the policy forbids to
                compact. A context that does not fit is never handed out.
            StoreError: the request would not fit, and the compaction could not be stored.
        """
        self.shared.check_open()
        await self.background.join()
        situation = self._situation()
        self._replica.observe_used(situation.used.tokens)
        match decision := situation.decide():
            case Continue():
                pass
            case Prepare():
                self.preparation.start(situation.background_goal(decision))
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
        tries = TRIES
        while isinstance(decision := await self._due(), Compact) and tries:
            tries -= 1
            must_fit = decision.trigger == "overflow"
            try:
                await self._compact_for(decision)
            except Conflict:
                if must_fit and not tries:
                    raise
            except AutocompactError as error:
                log.warning("an automatic compaction failed", extra=log_data(error))
                if must_fit:
                    raise
                return
            else:
                break
        decision = self.decide()
        if decision.pressure.overflows:
            raise await self._refusal(decision.pressure)

    async def _due(self) -> Decision:
        """What to do once no preparation runs: from the threshold on, its compaction is the one that is due."""
        await self.background.wait_idle()
        return self.decide()

    async def _compact_for(self, decision: Compact) -> None:
        if await self.preparation.activate():
            return
        must_fit, pressure = decision.trigger == "overflow", decision.pressure
        try:
            record = await self._execution.run(
                lambda: self.goal(
                    decision.target, trigger=decision.trigger, summarise=pressure.kind != "tokens"
                ),
                model_free=decision.model_free,
                must_fit=must_fit,
            )
            if record is None and must_fit:  # by our own count it fits, by the meter it does not
                await self.shrink()
        except IncompressibleContext as error:
            if pressure.kind == "tokens":
                raise
            raise await self._refusal(pressure) from error

    async def _refusal(self, pressure: Pressure) -> IncompressibleContext:
        """That the context does not fit, with figures in the unit that is short."""
        overhead = getattr(self.meter.overhead, pressure.kind)
        counter, kind = self.shared.counter, pressure.kind
        messages = tuple(self.context().messages)
        parts = await off_loop(lambda: breakdown(messages, tools=overhead, counter=counter, unit=kind))
        if kind != "tokens":
            return IncompressibleContext(parts, limit=pressure.limit, unit=kind)
        limit = self.meter.to_estimate(pressure.limit, model=self.shared.model_name)
        return self._replica.refusal(parts, limit=limit, used=pressure.used)

    async def attempt(self, call: Callable[[Context], Awaitable[ModelReply]]) -> ModelReply:
        """Make room, call the model, and if it says that the request is too large, compact without it and retry once.

        Raises:
            ModelError: what ``call`` raised, the second time, or for another reason, or where nothing can be gained.
        """
        try:
            return await call(await self.ready())
        except ModelOverflow as overflow:
            await self.background.wait_idle()
            try:
                shrunk = await self.shrink()
            except IncompressibleContext as error:
                raise overflow from error
            if not shrunk:
                raise
        return await call(self.context())

    async def shrink(self, share: float = SMALLER) -> bool:
        """Compact without a model, as after a request that was refused as too large; False if nothing can be gained.

        Args:
            share: of the context as it is, or of the limit, that the context may take afterwards.

        Raises:
            IncompressibleContext: what must stay does not fit.
            AutocompactError: it failed, and nothing has changed.
        """
        record = await self._execution.run(
            lambda: self._situation().smaller_goal(share), model_free=True, must_fit=True
        )
        return record is not None

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compact now, because somebody asks for it.

        One that is asked for while another one runs fails; it is not queued. An empty conversation is left alone.
        """
        try:
            self.shared.check_open()
            record = await self._execution.run(
                lambda: self.manual_goal(focus), model_free=False, must_fit=False
            )
        except AutocompactError as error:
            return CompactionResult(success=False, message=str(error), summary=self._summary, error=error)
        if record is None:
            return CompactionResult(
                success=False, message=self._execution.no_op_reason, summary=self._summary
            )
        said = f"{record.receipt.tokens_before:,} tokens became {record.receipt.tokens_after:,}"
        return CompactionResult(success=True, message=said, summary=record.summary, record=record)

    @property
    def _summary(self) -> str:
        return self.active.summary if self.active else ""
