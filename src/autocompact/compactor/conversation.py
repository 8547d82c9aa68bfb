"""One conversation in use: its log, the context folded from it, and the compactions that keep it within the window.

The per-turn path touches only what is new: `append` stores and measures the message, `usage` and `decide` read
running sums, `ready` hands out the context. What takes longer happens in `autocompact.compactor.execution`.

Other programs may work on the same conversation. What they did is taken over when it matters: before a message is
appended after theirs, and under the lease before a compaction is made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec

from autocompact.compaction.ladder import Goal
from autocompact.compaction.pricing import Pace, Step, growth_that_pays
from autocompact.compaction.record import Compaction, Trigger
from autocompact.compaction.transcript import Context, Transcript, View
from autocompact.compactor.ahead import Ahead
from autocompact.compactor.execution import Execution
from autocompact.compactor.following import Followed, Following, change
from autocompact.compactor.guarded import GuardedModel
from autocompact.compactor.meter import Meter
from autocompact.compactor.records import Records
from autocompact.compactor.state import EngineState
from autocompact.compactor.work import CHANGED, CompactionResult, finished, numbered
from autocompact.core.budget import Compact, Continue, Decision, Prepare, Pressure, Refuse, State, decide
from autocompact.core.lookup import Lookup
from autocompact.core.messages import Dialect, Message, Role, Text, Usage
from autocompact.core.prices import CacheRates
from autocompact.core.redaction import redact
from autocompact.core.tokens import Cost, breakdown, message_cost, size
from autocompact.core.usage import Reading
from autocompact.core.validity import check_message
from autocompact.errors import (
    AutocompactError,
    Conflict,
    IncompressibleContext,
    ModelError,
    ModelOverflow,
    log_data,
)
from autocompact.off_loop import LARGE, off_loop, off_loop_if
from autocompact.ports import NO_MESSAGES, Key, ModelReply, Snapshot
from autocompact.stores.rules import check_end
from autocompact.wire import check_raw, from_mapping, parse_message, plain_messages
from autocompact.wire.items import Items, reported_usage, system_text, tools_json
from autocompact.wire.json import check as check_json

if TYPE_CHECKING:
    from autocompact.compactor.compactor import Compactor

TRIES = 8
"""How often something is done anew because another program was faster, before that is reported."""

_NOTHING = Cost()

_LARGE_JSON = 100_000
"""Bytes of messages that are parsed on the loop at most, which takes 1 ms."""

log = logging.getLogger("autocompact")


class Conversation:
    """One conversation. Make it with `Compactor.open`; call its methods from one event loop.

    Attributes:
        key: which one.
        shared: what it shares with the others.
        state: what is kept beside the log.
        meter: how full the context is.
        records: the compactions of this conversation: preview, undo, restore, compare.
        execution: carries compactions out.
        ahead: the compaction that is prepared in the background.
        changing: held while the log or the compaction in force changes.
        rewritten: times the store was found to hold other messages than this object, so that a compaction that is
            being made from these must not be activated.
        caches_for_an_hour: the requests ask the provider to hold what they mark for an hour instead of five minutes;
            None while nobody looked.
    """

    def __init__(self, compactor: Compactor, key: Key) -> None:
        self.key = key
        self.shared = compactor
        self.state = EngineState()
        self.meter = Meter(self)
        self.transcript = Transcript(counter=compactor.counter)
        self.records = Records(self)
        self.execution = Execution(self)
        self.ahead = Ahead(self)
        self.changing = asyncio.Lock()
        self.rewritten = 0
        self.caches_for_an_hour: bool | None = None
        self._view = View(self.transcript)
        self._following = Following()
        self._sent_at: float | None = None

    @classmethod
    async def load(cls, compactor: Compactor, key: Key) -> Self:
        """The conversation as the store holds it."""
        conversation = cls(compactor, key)
        await conversation.reload()
        return conversation

    # What other programs did

    async def reload(self) -> None:
        """Take over what the store holds now."""
        async with self.changing:
            await self.take_over(await self.shared.store.load(self.key))

    async def sync(self) -> None:
        """Take over what another program changed; the context is folded anew only if that concerns it."""
        async with self.changing:
            snapshot = await self.shared.store.load(self.key, after=NO_MESSAGES)
            if snapshot.last_seq != len(self) or _shown(snapshot.active) != _shown(self.active):
                await self.take_over(await self.shared.store.load(self.key))
            else:
                stored = EngineState.decode(snapshot.state)
                self.state = msgspec.structs.replace(
                    stored, peak=max(stored.peak, self.state.peak), request=self.state.request
                )

    async def take_over(self, snapshot: Snapshot) -> None:
        """Go on from ``snapshot``. To be called while `changing` is held."""
        snapshot = await self._admitted(snapshot)
        active, messages = snapshot.active, snapshot.messages
        self.state = EngineState.decode(snapshot.state)
        transcript = Transcript(
            messages,
            counter=self.shared.counter,
            first=messages[0].seq if messages else snapshot.last_seq + 1,
            earlier=snapshot.earlier,
            prompt=snapshot.prompt,
            prefix=active.prefix if active else "",
            lookup=self.lookup,
        )
        view = View(transcript, active)
        large = sum(map(size, (*snapshot.earlier, *messages))) > LARGE
        await off_loop_if(large, view.context)  # counts what it shows
        self.rewritten += not await off_loop_if(large, lambda: transcript.continues(self.transcript))
        self.ahead.prepared = None
        lookup = self.lookup  # another request may have set it meanwhile
        self.put_in_force(transcript, view)
        self.use_lookup(lookup)
        self._find_request()
        self.meter.start(self.state.calibration)
        if snapshot.prepared is not None and self.admits(snapshot.prepared):
            self.ahead.prepared = snapshot.prepared

    async def _admitted(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot; where an edit reached into what its compaction covers, with the newest one that still holds."""
        store = self.shared.store
        while (active := snapshot.active) is not None and any(
            message.replaces is not None and message.replaces <= active.through_seq
            for message in snapshot.messages
        ):
            whole = Transcript(await store.read(self.key), counter=self.shared.counter)
            holding = [
                r for r in await store.compactions(self.key) if r.status == "active" and whole.admits(r)
            ]
            try:
                await store.commit(
                    self.key, active=holding[-1].id if holding else None, expected=active.id, fence=0
                )
            except Conflict:
                log.info("another program was faster", extra={"conversation": self.key.conversation})
            snapshot = await store.load(self.key)
        return snapshot

    def put_in_force(self, transcript: Transcript, view: View) -> None:
        """Fold with another log or record from now on."""
        self.transcript, self._view = transcript, view
        self.meter.rebase()
        self.ahead.review()

    def _find_request(self) -> None:
        """The user's last request, if it is held here; else the state knows it from before."""
        latest_first = reversed(tuple(self.transcript.live()))
        if request := next((message.seq for message in latest_first if message.is_request), 0):
            self.state = msgspec.structs.replace(self.state, request=request)

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
        return await self._extended(messages, after=after, check=check_raw)

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
        messages = await off_loop_if(sum(map(len, raws)) > _LARGE_JSON, parsed)
        return await self._extended(messages, after=after, check=None)

    async def _extended(
        self, messages: tuple[Message, ...], *, after: int | None, check: Callable[[Message], None] | None
    ) -> tuple[Message, ...]:
        behind = self.shared.behind
        if not messages:
            return ()
        if behind is None or not after or any(message.replaces is not None for message in messages):
            return await finished(self._extend(messages, after=after, check=check))
        costs = await self._measured(messages, check=check)
        await behind.room(self.key)
        async with self.changing:  # nothing below waits, so nothing can come between the two logs
            check_end(self.key, last_seq=len(self), after=after)
            stored = numbered(messages, after=after)
            behind.take(self.key, stored, after=after, active=self.active_id or None)
            for message, cost in zip(stored, costs, strict=True):
                self._take(message, cost)
        return stored

    async def _extend(
        self, messages: tuple[Message, ...], *, after: int | None, check: Callable[[Message], None] | None
    ) -> tuple[Message, ...]:
        async with self.changing:
            costs = await self._measured(messages, check=check)
            stored = await self._store(messages, after)
            for message, cost in zip(stored, costs, strict=True):
                if message.replaces is not None and message.replaces < self.transcript.first:
                    await self.take_over(await self.shared.store.load(self.key))
                    break
                self._take(message, cost)
        return stored

    async def _measured(
        self, messages: Sequence[Message], *, check: Callable[[Message], None] | None
    ) -> list[Cost]:
        """What each message weighs, ``check``ed before; large ones are looked at off the loop."""
        counter = self.shared.counter

        def measured() -> list[Cost]:
            if check is not None:
                for message in messages:
                    check(message)
            return [message_cost(message, counter) for message in messages]

        return await off_loop_if(sum(map(size, messages)) > LARGE, measured)

    def _take(self, message: Message, cost: Cost) -> None:
        """Hold a message that is in the store."""
        sent = None if message.usage is None else self.meter.load()
        self.transcript.append(message, cost=cost)
        if sent is not None:
            self.meter.hear(message, sent=sent)
        if message.replaces is not None:
            self._find_request()
            self.ahead.review()
        elif message.is_request:
            self.state = msgspec.structs.replace(self.state, request=message.seq)

    async def _store(self, messages: tuple[Message, ...], after: int | None) -> tuple[Message, ...]:
        """Add ``messages`` after message ``after``, or the last one, whoever wrote that."""
        tries = TRIES if after is None else 1
        while True:
            last = len(self)
            check_end(self.key, last_seq=last, after=last if after is None else after)
            stored = numbered(messages, after=last)
            try:
                await self.shared.store.append(self.key, stored, after=last)
            except Conflict:
                tries -= 1
                if not tries:
                    raise
                snapshot = await self.shared.store.load(self.key)
                if (
                    snapshot.last_seq < last
                ):  # a log only grows, until it is deleted: what went must not come back
                    raise Conflict(
                        f"conversation {self.key.conversation!r} was deleted by another program: open it anew"
                    ) from None
                await self.take_over(snapshot)
            else:
                return stored

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
            followed = await self._equalled(items)
            self.use_tools(schemas, system=prompt)
            context = await self.ready()
            following.sent, following.usage = self.meter.load(), None
            return items.shown(
                context.messages, standing=context.standing, place=followed.place, renderer=following.renderer
            )

    async def _equalled(self, items: Items) -> Followed:
        """The log once it is equal to ``items``.

        Raises:
            Conflict: others write to it all the time.
        """
        following, tries = self._following, TRIES
        while True:
            followed = following.followed
            if followed is None or (followed.end, following.rewritten) != (len(self), self.rewritten):
                followed = Followed.of(await self.history(), dialect=items.dialect)
            todo = change(followed, items.raws)
            large = sum(map(len, items.raws[todo.start :])) > _LARGE_JSON
            new = await off_loop_if(large, partial(following.added, items, todo))
            try:
                await self.extend(new, after=followed.end)
            except Conflict:
                tries -= 1
                if not tries:
                    raise
                await self.sync()
                following.followed = None
            else:
                following.followed, following.rewritten = todo.followed(followed, items.raws), self.rewritten
                return following.followed

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
        self.meter.report(reported, sent=following.sent)

    async def say(self, text: str, *, role: Role = "user", usage: Usage | None = None) -> Message:
        """Add a message of plain words."""
        return await self.append(Message(seq=0, role=role, parts=(Text(text=text),), usage=usage))

    def __len__(self) -> int:
        """Number of messages, the replaced ones included."""
        return len(self.transcript)

    async def history(self, *, from_seq: int = 1, through_seq: int | None = None) -> tuple[Message, ...]:
        """The log itself, whatever was compacted."""
        return await self.shared.store.read(self.key, from_seq=from_seq, through_seq=through_seq)

    # The context and its weight

    @property
    def active(self) -> Compaction | None:
        """The compaction in force."""
        return self._view.compaction

    @property
    def active_id(self) -> str:
        """Its id, "" if there is none."""
        return self.active.id if self.active else ""

    def admits(self, record: Compaction) -> bool:
        """Whether ``record`` was made from what the log and the compaction in force still are."""
        return record.parent == self.active_id and self.transcript.admits(record)

    def check_same_log(self, rewritten: int) -> None:
        """Check that the log is still the one that a compaction was begun with, when `rewritten` was this figure.

        The hash of a record (`admits`) reaches what it covers, not the messages behind it that it masks.

        Raises:
            Conflict: messages of it were lost, and others are in their place.
        """
        if rewritten != self.rewritten:
            raise Conflict(CHANGED)

    def context(self, *, closed: bool = False) -> Context:
        """What the model is sent now. See `autocompact.compaction.transcript.View.context`."""
        return self._view.context(closed=closed)

    def messages(self, *, dialect: Dialect = "openai_chat") -> list[dict[str, object]]:
        """The context as the message list of a provider's API; `autocompact.wire.export_messages` gives its bytes.

        What Python's JSON cannot hold comes as what is nearest: half a surrogate pair as U+FFFD, a number beyond a double
        as the largest one.
        """
        return plain_messages(self.context().messages, dialect=dialect)

    def cost(self) -> Cost:
        """What the next request weighs by our own count, overhead included."""
        return self.context().cost + self.meter.overhead

    def use_tools(self, tools: bytes | None, *, system: str = "") -> None:
        """Say what every request carries besides the messages: tool schemas as raw JSON, a system prompt."""
        self.meter.carry(tools, system=system)

    @property
    def lookup(self) -> Lookup:
        """How the model opens what left the context."""
        return self.transcript.lookup

    def use_lookup(self, lookup: Lookup) -> None:
        """Word summary and masks for a model that opens what left the context in this way."""
        if lookup != self.lookup:
            self.transcript.lookup = lookup
            if self.active is not None:
                self._view.activate(self.active)

    def usage(self) -> Reading:
        """How full the context is: the figure of the meter and of the trigger. O(new)."""
        return self.meter.read()

    def report(self, usage: Usage) -> None:
        """What the provider reported for the context as it stands, where no message brings it."""
        self.meter.report(usage)

    async def recount(self) -> int:
        """The exact tokens of the context, as the model's provider counts them; the meter goes by it from now on.

        Raises:
            ModelError: the provider did not answer, or there is no model.
        """
        if self.shared.model is None:
            raise ModelError("no model counts this conversation: give the compactor one")
        load = self.meter.load()
        tokens = await GuardedModel(self.shared.model).count(self.sent(), tools=self.meter.tools)
        self.meter.report(Usage(prompt=tokens), sent=load)
        return tokens

    def sent(self) -> tuple[Message, ...]:
        """The context with the system prompt that stands outside of the log."""
        return (*self.shared.outside(self.meter.system), *self.context().messages)

    @property
    def fixed(self) -> int:
        """Tokens of the meter that every request carries, whatever is compacted: tool schemas, system prompt.

        The one definition for threshold, target, breaker and price.
        """
        return self.meter.estimate(self._prompt + self.meter.overhead.tokens)

    @property
    def _prompt(self) -> int:
        """Tokens of the system prompt in the log, by our own count."""
        return sum(self.transcript.cost(message.seq).tokens for message in self.transcript.prompt)

    @property
    def _cache(self) -> CacheRates | None:
        """What the provider's cache costs; None if that is not known: then nothing is priced."""
        rates = self.shared.rates
        if rates is not None and rates.marked and self.caches_for_an_hour:
            return rates.for_an_hour
        return rates

    @property
    def is_cold(self) -> bool:
        """True if the provider's cache has dropped the context; not asked where the policy makes no difference."""
        cache = self._cache
        if cache is None or self._sent_at is None or self.shared.mode.policy.cold >= 1:
            return False
        return self.shared.clock.monotonic() - self._sent_at > cache.seconds

    @property
    def _compacts_at_once(self) -> bool:
        """True if a compaction would not wait for a model."""
        return self.ahead.prepared is not None or not self.shared.has_summary_model

    @property
    def _pays_from(self) -> int:
        """Growth since the last compaction, in tokens of the meter, from which the next one pays."""
        settled, cache = self.state.settled, self._cache
        if cache is None or settled is None or settled.context != self.active_id or self.active is None:
            return 0
        after = Step(after=self.meter.estimate(settled.cost.tokens), kept=self.fixed)
        return growth_that_pays(after, cache)

    def should_compact(self) -> bool:
        """Whether the threshold is reached; a compaction resets it."""
        return isinstance(self.decide(), Compact)

    def decide(self, *, more: Cost = _NOTHING) -> Decision:
        """What to do before the next model call.

        Args:
            more: what would come to the context, for asking beforehand; its tokens as the meter counts.
        """
        return self._decide(self.meter.used(), more=more)

    def _decide(self, used: Cost, *, more: Cost = _NOTHING) -> Decision:
        """`decide` for a context that the meter read as ``used``."""
        state = State(
            after=self.meter.settled(used),
            prepared=self.ahead.busy or not self.shared.mode.background,
            breaker=self.state.breaker,
            fixed=self.fixed,
            cold=self.is_cold and self._compacts_at_once,
            pays_from=self._pays_from,
        )
        return decide(used + more, self.shared.budget, policy=self.shared.mode.policy, state=state)

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
        await self.ahead.join()
        used = self.meter.used()
        if used.tokens > self.state.peak:
            self.state = msgspec.structs.replace(self.state, peak=used.tokens)
        match decision := self._decide(used):
            case Continue():
                pass
            case Prepare():
                self.ahead.start(self._goal_ahead(decision))
            case Compact():
                await self._make_room()
            case Refuse():
                raise await self._refusal(decision.pressure)
        return self._handed_out()

    def _handed_out(self) -> Context:
        """The context, which from now on the provider's cache holds."""
        self._sent_at = self.shared.clock.monotonic()
        return self.context()

    def _goal_ahead(self, decision: Prepare) -> Goal:
        """What a compaction has to reach that takes effect at the threshold.

        What is said until then stays verbatim as well: where that is priced, the tail is smaller by as much.
        """
        goal = self.goal(decision.target, trigger="prepared")
        if goal.pace is None:
            return goal
        coming = self.meter.counted(decision.pressure.threshold) - self.meter.counted(decision.pressure.used)
        return replace(goal, tail_tokens=max(goal.tail_tokens // 4, goal.tail_tokens - coming))

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
        await self.ahead.settled()
        return self.decide()

    async def _compact_for(self, decision: Compact) -> None:
        if await self.ahead.swap_in():
            return
        must_fit, pressure = decision.trigger == "overflow", decision.pressure
        try:
            record = await self.execution.run(
                lambda: self.goal(
                    decision.target, trigger=decision.trigger, summarise=pressure.kind != "tokens"
                ),
                model_free=decision.model_free,
                must_fit=must_fit,
            )
            if record is None and must_fit:  # by our own count it fits, by the meter it does not
                await self.execution.run(self._smaller, model_free=True, must_fit=True)
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
        return self.meter.refusal(parts, limit=self.meter.counted(pressure.limit), used=pressure.used)

    async def attempt(self, call: Callable[[Context], Awaitable[ModelReply]]) -> ModelReply:
        """Make room, call the model, and if it says that the request is too large, compact without it and retry once.

        Raises:
            ModelError: what ``call`` raised, the second time, or for another reason, or where nothing can be gained.
        """
        try:
            return await call(await self.ready())
        except ModelOverflow as overflow:
            await self.ahead.settled()
            try:
                record = await self.execution.run(self._smaller, model_free=True, must_fit=True)
            except IncompressibleContext as error:
                raise overflow from error
            if record is None:
                raise
        return await call(self.context())

    def _smaller(self) -> Goal:
        """A context of three quarters at most: how wrong our count is, nobody knows."""
        limit = min(self.shared.budget.limit, self.cost().tokens) * 3 // 4
        return replace(self.goal(0, trigger="overflow"), limit=limit, target=limit * 2 // 3)

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compact now, because somebody asks for it.

        A second one while one runs is refused, not queued; an empty conversation is left alone.
        """
        try:
            self.shared.check_open()
            record = await self.execution.run(lambda: self.asked_for(focus), model_free=False, must_fit=False)
        except AutocompactError as error:
            return CompactionResult(success=False, message=str(error), summary=self._summary, error=error)
        if record is None:
            return CompactionResult(success=False, message=self.execution.nothing, summary=self._summary)
        said = f"{record.receipt.tokens_before:,} tokens became {record.receipt.tokens_after:,}"
        return CompactionResult(success=True, message=said, summary=record.summary, record=record)

    @property
    def _summary(self) -> str:
        return self.active.summary if self.active else ""

    def asked_for(self, focus: str = "") -> Goal:
        """What a compaction by hand has to reach."""
        target = self.shared.mode.policy.target_tokens(self.shared.budget, fixed=self.fixed)
        return replace(self.goal(target, trigger="manual", summarise=True), focus=redact(focus))

    def goal(self, target: int, *, trigger: Trigger, summarise: bool = False) -> Goal:
        """What a compaction of this conversation has to reach, in our own count.

        Args:
            target: tokens of the meter to aim at. The share that the policy leaves is taken of what can be folded: a
                large system prompt and many tools do not make the rest smaller.
            trigger: why.
            summarise: showing tool outputs as stubs is not enough.
        """
        mode, budget = self.shared.mode, self.shared.budget
        fixed = self._prompt + self.meter.overhead.tokens
        target = self.meter.counted(target) + int((1 - mode.policy.target) * fixed)
        limit = self.meter.counted(budget.limit)
        return Goal(
            limit=limit,
            target=target,
            summary_tokens=min(mode.summary_tokens, max(256, target // 2)),
            # of a small conversation, compacted by hand, a quarter stays
            tail_tokens=min(mode.policy.tail(budget), (self.context().cost.tokens - self._prompt) // 4),
            cap_tokens=mode.cap_tokens,
            max_bytes=budget.max_bytes,
            max_images=budget.max_images,
            overhead=self.meter.overhead,
            pins=frozenset(seq for seq in self.state.pins if self.shows(seq)),
            notes=tuple(map(redact, self.state.notes)),
            placement=mode.placement,
            first_rung="mask"
            if mode.mask_first and mode.policy.tail_tokens and not summarise
            else "summarise",
            inline_request=mode.inline_request,
            trigger=trigger,
            pace=self._pace,
        )

    @property
    def _pace(self) -> Pace | None:
        """The requests that follow a compaction, in our own count; None where nothing is priced."""
        if (cache := self._cache) is None:
            return None
        threshold = self.shared.mode.policy.threshold(self.shared.budget, fixed=self.fixed)
        return Pace(rates=cache, threshold=self.meter.counted(threshold), cold=self.is_cold)

    def shows(self, seq: int) -> bool:
        """Whether message ``seq`` is part of the context."""
        kept = self.active.needed if self.active else ()
        held = self.transcript.first <= seq <= len(self) or seq in kept
        return held and not self.transcript.is_replaced(seq)

    def breakdown(self) -> dict[str, int]:
        """Tokens by what fills the context, for the meter and for errors."""
        messages, overhead = self.context().messages, self.meter.overhead
        return breakdown(messages, tools=overhead.tokens, counter=self.shared.counter)


def _shown(record: Compaction | None) -> tuple[object, ...]:
    """What decides which context a record gives."""
    return (record.id, record.through_seq, record.keep, record.standing, record.summary) if record else ()
