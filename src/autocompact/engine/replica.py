"""This process's copy of one conversation: its log, the context folded from it, and its state, in step with the store.

Here, and nowhere else, is the present `ConversationState` kept and replaced by the next one. The services around it
(execution, preparation, records) read it and call what it offers; each of these writes the store first and takes the new
state over once that succeeded, under one lock. So what is in memory never runs ahead of what is durable.

The log and its fold are the one part that grows in place: a log is append-only, and copying it for each message would
cost its whole length. What is handed out of it (`Context`, `Transcript.snapshot`) does not change any more.

Other programs may work on the same conversation. What they did is taken over when it matters: before a message is
appended after theirs, and under the lease before a compaction is made.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from autocompact.compaction.pins import with_notes, with_pins
from autocompact.compaction.receipts import weigh
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Context, Transcript, View
from autocompact.core.lookup import Lookup
from autocompact.core.messages import Message, Usage
from autocompact.core.redacted import Redactor
from autocompact.core.redaction import redact
from autocompact.core.tokens import Cost, message_cost, size
from autocompact.core.usage import Load
from autocompact.engine.shared import Shared
from autocompact.engine.state import ConversationState, EngineState, Settled
from autocompact.engine.work import CHANGED, finished, number_of, numbered
from autocompact.errors import Conflict, IncompressibleContext, InvalidInput, StoreError, log_data
from autocompact.events import BreakerOpened, CompactionDiscarded, CompactionPrepared
from autocompact.ports import NO_MESSAGES, Key, Snapshot
from autocompact.runtime.off_loop import LARGE, off_loop_if
from autocompact.stores.rules import check_end

TRIES = 8
"""How often something is done anew because another program was faster, before that is reported."""

Check = Callable[[Message], None]

log = logging.getLogger("autocompact")


class Replica:
    """The log and the state of one conversation. Its methods are called from one event loop.

    Attributes:
        key: which conversation.
        shared: store, counter, budget and listeners. The gateway exchanges it from request to request, so it is looked
            at anew each time.
        transcript: the log, as far as a context needs it.
    """

    def __init__(self, shared: Shared, key: Key) -> None:
        self.key = key
        self.shared = shared
        self._state = ConversationState().relearned(shared.counter.name)
        # counts this log for good: with another vocabulary, as for another model, weights would not add up
        self.transcript = Transcript(counter=shared.counter, read=shared.read)
        self._view = View(self.transcript)
        self._lock = asyncio.Lock()  # held while the log or the active compaction changes
        # the loop that used it last: locks and tasks belong to one loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._learned: frozenset[int] = frozenset()  # the messages that `learn_secrets` has read

    def __len__(self) -> int:
        return len(self.transcript)

    def check_usable(self) -> None:
        """Check that the conversation may be worked on, here and now.

        Raises:
            InvalidInput: the compactor is closed, or the conversation is at work in another event loop, whose locks and
                background tasks this one cannot wait for.
        """
        self.shared.check_open()
        loop = asyncio.get_running_loop()
        # a loop that has ended holds nobody up, so a second `asyncio.run` may go on
        if self._loop is not None and self._loop is not loop and self._loop.is_running():
            raise InvalidInput(
                f"conversation {self.key.conversation!r} is used in another event loop, which still runs: open it anew in "
                "this one with compactor.open, or call it from everywhere by autocompact.sync.run"
            )
        self._loop = loop

    # What is there

    @property
    def state(self) -> ConversationState:
        """The present state: everything known besides the log."""
        return self._state

    @property
    def active(self) -> Compaction | None:
        """The active compaction."""
        return self._view.compaction

    @property
    def active_id(self) -> str:
        """Id of the active compaction, "" if there is none."""
        active = self._view.compaction
        return active.id if active else ""

    def context(self, *, closed: bool = False) -> Context:
        """Return the messages that the model is sent now. See `autocompact.compaction.transcript.View.context`."""
        return self._view.context(closed=closed)

    def sent(self) -> tuple[Message, ...]:
        """The context with the system prompt that stands outside of the log."""
        return (*self.shared.outside(self._state.meter.system), *self.context().messages)

    def cost(self) -> Cost:
        """Weight of the next request by our own count, overhead included."""
        return self._view.context().cost + self._state.meter.overhead

    def load(self) -> Load:
        """The next request, as the meter reads it."""
        return Load(tokens=self.cost().tokens, context=self.active_id, model=self.shared.model_name)

    def used(self) -> Cost:
        """Weight of the next request: tokens as metered, bytes and images by our own count. O(new)."""
        return self.used_by(self.cost())

    def used_by(self, cost: Cost) -> Cost:
        """`used` for a caller that has the `cost` at hand."""
        load = Load(tokens=cost.tokens, context=self.active_id, model=self.shared.model_name)
        return self._state.meter.used(cost, load=load)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the system prompt in the log, by our own count."""
        return sum(self.transcript.cost(message.seq).tokens for message in self.transcript.prompt)

    @property
    def fixed(self) -> int:
        """Metered tokens that every request carries, whatever is compacted. See `Meter.fixed`."""
        return self.state.meter.fixed(self.prompt_tokens, model=self.shared.model_name)

    def shows(self, seq: int) -> bool:
        """True if message ``seq`` is part of the context."""
        kept = self.active.needed if self.active else ()
        held = self.transcript.first <= seq <= len(self) or seq in kept
        return held and not self.transcript.is_replaced(seq)

    def admits(self, record: Compaction) -> bool:
        """True if ``record`` was made from what the log and the active compaction still are."""
        return record.parent == self.active_id and self.transcript.admits(record)

    def check_same_log(self, rewrites: int) -> None:
        """Check that the log is still the one that a compaction was begun with, when `rewrites` was this figure.

        The hash of a record (`admits`) reaches what it covers, not the messages behind it that it masks.

        Raises:
            Conflict: messages of it were lost, and others are in their place.
        """
        if rewrites != self.state.rewrites:
            raise Conflict(CHANGED)

    async def history(self, *, from_seq: int = 1, through_seq: int | None = None) -> tuple[Message, ...]:
        """The log itself, whatever was compacted."""
        return await self.shared.store.read(self.key, from_seq=from_seq, through_seq=through_seq)

    async def whole_log(self) -> Transcript:
        """The log from its first message on."""
        return Transcript(await self.history(), counter=self.transcript.counter)

    async def learn_secrets(self) -> None:
        """Know the secrets again that compactions before this process met: where one stands alone nothing else tells it."""
        # a secret is recognised by its surroundings once, and then by its value; after a restart the values are
        # gone, and are read from the messages again
        known = self.transcript.secrets
        new = frozenset(self.state.stored.secrets) - {*known.seen_in} - self._learned
        self._learned |= new
        for seq in sorted(new):
            messages = await self.history(from_seq=seq, through_seq=seq)
            learn = partial(Redactor(known).learn, messages)
            await off_loop_if(sum(map(size, messages)) > LARGE, learn)

    def next_id(self) -> str:
        """The id of a new record; unique while the lease is held."""
        return f"c{self._made() + 1}"

    def _made(self) -> int:
        """The number of the last record."""
        records = (self.active, self.state.prepared)
        return max(self.state.stored.made, *(number_of(each) for each in records if each), 0)

    def refusal(self, breakdown: Mapping[str, int], *, limit: int, used: int = 0) -> IncompressibleContext:
        """The error that a context does not fit. See `Meter.refusal`."""
        most, model = self.shared.budget.limit, self.shared.model_name
        return self.state.meter.refusal(breakdown, limit=limit, most=most, model=model, used=used)

    # What other programs did

    async def reload(self) -> None:
        """Take over what the store holds now."""
        async with self._lock:
            await self._take_over(await self.shared.store.load(self.key))

    async def sync(self) -> None:
        """Take over what another program changed; the context is folded anew only if that concerns it."""
        async with self._lock:
            # state and numbers alone: the messages are loaded only if something changed
            snapshot = await self.shared.store.load(self.key, after=NO_MESSAGES)
            # the log is append-only, so its length tells whether it is ours;
            # the record may have been changed by a pin
            if snapshot.last_seq != len(self) or _shown(snapshot.active) != _shown(self.active):
                await self._take_over(await self.shared.store.load(self.key))
            else:
                self._state = self.state.synced(EngineState.decode(snapshot.state))

    async def _take_over(self, snapshot: Snapshot) -> None:
        """Go on from ``snapshot``. To be called with the lock held."""
        snapshot = await self._admitted(snapshot)
        active, messages = snapshot.active, snapshot.messages
        stored = EngineState.decode(snapshot.state)
        transcript = Transcript(
            messages,
            counter=self.transcript.counter,
            first=messages[0].seq if messages else snapshot.last_seq + 1,
            earlier=snapshot.earlier,
            prompt=snapshot.prompt,
            prefix=active.prefix if active else "",
            lookup=self.transcript.lookup,
            read=self.shared.read,
        )
        # built beside the present one and exchanged at the end: nobody sees half of it
        view = View(transcript, active)
        large = sum(map(size, (*snapshot.earlier, *messages))) > LARGE
        await off_loop_if(large, view.context)  # counts what it shows
        # a log that is shorter or differs was deleted and begun anew by another program
        same = await off_loop_if(large, lambda: transcript.continues(self.transcript))
        lookup = self.transcript.lookup  # another request may have set it while we waited
        if same:
            transcript.secrets = self.transcript.secrets
        else:
            # other messages: what was learned from the old ones does not belong to this conversation
            self._learned = frozenset()
        # any compaction begun before is of another log; the counter makes its commit fail
        self._state = self.state.loaded(stored, rewritten=not same)
        self._fold(transcript, view)
        self.use_lookup(lookup)
        self._find_request()
        self._state = self.state.relearned(transcript.counter.name)
        self._replay()
        # last, since it has to fit the log and the record that were taken over
        if snapshot.prepared is not None and self.admits(snapshot.prepared):
            self._state = self.state.with_prepared(snapshot.prepared, made=stored.made)

    async def _admitted(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot; where an edit reached into what its compaction covers, with the newest one that still holds."""
        store = self.shared.store
        # an edit inside the covered part makes the summary untrue. Each round the newest record that still holds
        # is committed; another program may do the same, so it is looked at again.
        while (active := snapshot.active) is not None and any(
            message.replaces is not None and message.replaces <= active.through_seq
            for message in snapshot.messages
        ):
            whole = await self.whole_log()
            holding = [
                r for r in await store.compactions(self.key) if r.status == "active" and whole.admits(r)
            ]
            try:
                await store.commit(
                    self.key, active=holding[-1].id if holding else None, expected=active.id, fence=0
                )
            except Conflict:
                self._was_slower()
            snapshot = await store.load(self.key)
        return snapshot

    def _was_slower(self) -> None:
        log.info("another program was faster", extra={"conversation": self.key.conversation})

    def _fold(self, transcript: Transcript, view: View) -> None:
        """Fold with another log or record from now on."""
        self.transcript, self._view = transcript, view
        self._state = self.state.rebased(self.active_id)
        self._review()

    def _review(self) -> None:
        """Discard the prepared compaction if it does not fit the log or the active compaction any more."""
        prepared = self.state.prepared
        if prepared is not None and not self.admits(prepared):
            self.discard_prepared(prepared)

    def _find_request(self) -> None:
        """The user's last request, if it is held here; else the state knows it from before."""
        latest_first = reversed(tuple(self.transcript.live()))
        found = next((message.seq for message in latest_first if message.is_request), 0)
        self._state = self.state.with_request(found)

    def _replay(self) -> None:
        """Read again what the replies in the log reported for this context."""
        window = self.shared.budget.window
        self._state = self.state.replayed(self.transcript, load=self.load(), window=window)

    # The log

    async def extend(
        self, messages: tuple[Message, ...], *, after: int | None, check: Check | None
    ) -> tuple[Message, ...]:
        """Add messages at the end of the log, all or none. See `Conversation.extend`.

        Args:
            messages: their ``seq`` is set here.
            after: ``seq`` of the message that they have to follow; None is the last one, whoever wrote it.
            check: raises for a message that cannot be stored; run beside the event loop where there is much to check.
        """
        behind = self.shared.behind
        if not messages:
            return ()
        # replacing reaches into what may be written already, and a first message
        # creates the conversation: both go the direct way
        if behind is None or not after or any(message.replaces is not None for message in messages):
            return await finished(self._extend(messages, after=after, check=check))
        costs = await self._measured(messages, check=check)
        # waits while too much is unwritten, so that a slow disk slows the caller instead of filling memory
        await behind.room(self.key)
        async with self._lock:  # nothing below waits, so nothing can come between the two logs
            check_end(self.key, last_seq=len(self), after=after)
            stored = numbered(messages, after=after)
            behind.take(self.key, stored, after=after, active=self.active_id or None)
            for message, cost in zip(stored, costs, strict=True):
                self._append(message, cost)
        return stored

    async def _extend(
        self, messages: tuple[Message, ...], *, after: int | None, check: Check | None
    ) -> tuple[Message, ...]:
        async with self._lock:
            costs = await self._measured(messages, check=check)
            stored = await self._store(messages, after)
            for message, cost in zip(stored, costs, strict=True):
                # it reaches into the folded part, of which this process has no
                # messages: only the store can tell what holds now
                if message.replaces is not None and message.replaces < self.transcript.first:
                    await self._take_over(await self.shared.store.load(self.key))
                    break
                self._append(message, cost)
        return stored

    async def _measured(self, messages: Sequence[Message], *, check: Check | None) -> list[Cost]:
        """Weight of each message, which is ``check``ed before; large ones are measured off the loop."""
        counter = self.transcript.counter

        def measured() -> list[Cost]:
            if check is not None:
                for message in messages:
                    check(message)
            return [message_cost(message, counter) for message in messages]

        return await off_loop_if(sum(map(size, messages)) > LARGE, measured)

    async def _store(self, messages: tuple[Message, ...], after: int | None) -> tuple[Message, ...]:
        """Store ``messages`` after message ``after``, or the last one, whoever wrote that."""
        # who names the message to follow wants to be refused; who does not
        # wants to be appended after whatever came
        tries = TRIES if after is None else 1
        while True:
            last = len(self)
            check_end(self.key, last_seq=last, after=last if after is None else after)
            stored = numbered(messages, after=last)
            try:
                await self.shared.store.append(self.key, stored, after=last)
            except Conflict:
                # another process appended: take its messages over and number ours behind them
                tries -= 1
                if not tries:
                    raise
                snapshot = await self.shared.store.load(self.key)
                # a log only grows, until it is deleted: what went must not come back
                if snapshot.last_seq < last:
                    raise Conflict(
                        f"conversation {self.key.conversation!r} was deleted by another program: open it anew"
                    ) from None
                await self._take_over(snapshot)
            else:
                return stored

    def _append(self, message: Message, cost: Cost) -> None:
        """Hold a message that is in the store."""
        # the request that it answers is the context before it
        sent = None if message.usage is None else self.load()
        self.transcript.append(message, cost=cost)
        window = self.shared.budget.window
        self._state = self.state.appended(message, tokens=cost.tokens, sent=sent, window=window)
        if message.replaces is not None:
            self._find_request()
            self._review()

    # Usage

    def use_tools(self, tools: bytes | None, *, system: str = "") -> None:
        """Set what every request carries besides the messages: tool schemas as raw JSON, a system prompt."""
        before = self.state.meter
        self._state = self.state.with_overhead(tools, system=system, counter=self.transcript.counter)
        # what was reported so far was reported with this overhead, if nothing but the log itself told it
        if self.state.meter is not before and not before.observed:
            self._replay()

    def use_lookup(self, lookup: Lookup) -> None:
        """Word summary and masks for a model that opens what left the context in this way."""
        if lookup != self.transcript.lookup:
            self.transcript.lookup = lookup
            if self.active is not None:
                self._view.activate(self.active)

    def use_hour_cache(self, held: bool | None) -> None:
        """Set how long the requests ask the provider to cache what they mark."""
        self._state = self.state.with_hour_cache(held)

    def observe_usage(self, usage: Usage, *, sent: Load | None) -> None:
        """Take over what the provider reported for ``sent``; None is the context as it is now."""
        window = self.shared.budget.window
        self._state = self.state.observe_usage(usage, sent=sent or self.load(), window=window)

    def observe_used(self, used: int) -> None:
        """Remember the most tokens that the context took."""
        self._state = self.state.peaked(used)

    def hand_out(self) -> Context:
        """The context for a request, which from now on the provider's cache holds."""
        self._state = self.state.handed_out(self.shared.clock.monotonic())
        return self.context()

    # Compactions. Each is called under the lease whose `fence` it is given.

    async def activate(self, record: Compaction, *, fence: int, rewrites: int) -> Compaction:
        """Activate ``record`` in the store and here; returns it as it is stored.

        Args:
            record: made under this lease.
            fence: of the lease.
            rewrites: of the state when the record was begun.

        Raises:
            Conflict: the history it covers, or the active compaction, changed meanwhile.
        """
        await self.sync()  # for pins that somebody else set meanwhile
        async with self._lock:
            self.check_same_log(rewrites)
            if not self.admits(record):
                raise Conflict(CHANGED)
            record = replace(self._with_pinned(record), status="active")
            # covered messages are released from memory; the store has them
            transcript = self.transcript.after(record)
            view = View(transcript, record)
            cost = view.context().cost + self.state.meter.overhead
            before = self.state.breaker
            state = self.state.activated(
                record,
                Settled(context=record.id, last_seq=len(self), cost=cost),
                model=self.shared.model_name,
                fixed=self.fixed,
                made=max(self._made(), number_of(record)),
            ).with_secrets(self.transcript.secrets.seen_in)
            # durable first; only then does memory follow
            await self._commit(state.stored, records=[record], active=record.id, fence=fence)
            self._state = state
            # no await between the two lines: no turn can see the new state with the old fold
            self._fold(transcript, view)
        if state.breaker.is_open and not before.is_open:
            self._emit_breaker()
        return record

    def _with_pinned(self, record: Compaction) -> Compaction:
        """``record``, which may be older than a pin, with all that is pinned now: it must hold from the first context on."""
        pinned = with_pins(record, self.state.pins, log=self.transcript)
        pinned = with_notes(pinned, map(redact, self.state.notes))
        if pinned == record:
            return record
        # the receipt says what this context weighs
        return weigh(pinned, self.transcript, before=self.cost(), overhead=self.state.meter.overhead)

    async def _commit(
        self, stored: EngineState | None, *, records: Sequence[Compaction] = (), active: str, fence: int
    ) -> None:
        """Write into the store what is about to be true here: only if nobody activated another compaction."""
        await self.shared.store.commit(
            self.key,
            records=records,
            active=active or None,
            # compare-and-swap: invariant 6 holds across processes even if a lease was lost
            expected=self.active_id or None,
            fence=fence,
            state=None if stored is None else stored.encode(),
        )

    async def keep_prepared(self, record: Compaction, *, fence: int, rewrites: int) -> None:
        """Store a compaction that waits for the threshold; it is discarded if the history changed meanwhile."""
        async with self._lock:
            # made for a log that is not this one any more: discard without an error, since nobody waits for it
            if rewrites != self.state.rewrites or not self.admits(record):
                self.discard_prepared(record)
                return
            prepared = replace(record, status="prepared")
            state = self.state.with_prepared(prepared, made=number_of(record))
            state = state.with_secrets(self.transcript.secrets.seen_in)
            await self._commit(state.stored, records=[prepared], active=self.active_id, fence=fence)
            self._state = state
        name = self.key.conversation
        self.shared.subscribers.emit(CompactionPrepared(conversation_id=name, compaction_id=record.id))

    async def find_prepared(self) -> None:
        """Take over the compaction that another program prepared for this context, if there is one."""
        async with self._lock:
            snapshot = await self.shared.store.load(self.key, after=NO_MESSAGES)
            stored = EngineState.decode(snapshot.state)
            if snapshot.prepared is not None and self.admits(snapshot.prepared):
                self._state = self.state.with_prepared(snapshot.prepared, made=stored.made)

    def discard_prepared(self, record: Compaction) -> None:
        """Forget the compaction that waits; ``record`` is the one that listeners are told of."""
        self._state = self.state.without_prepared()
        name = self.key.conversation
        self.shared.subscribers.emit(CompactionDiscarded(conversation_id=name, compaction_id=record.id))

    async def count_failure(self, reason: str, *, used: int, fence: int) -> None:
        """Remember that an automatic compaction failed at ``used`` tokens; several in a row open the breaker."""
        before = self.state.breaker
        # unlike everything else it counts here even if it cannot be stored: else a full disk would make it a loop
        self._state = self.state.failed(reason, used=used, fixed=self.fixed)
        try:
            await self._commit(self.state.stored, active=self.active_id, fence=fence)
        except StoreError as error:
            log.warning("a failure could not be stored", extra=log_data(error))
        if self.state.breaker.is_open and not before.is_open:
            self._emit_breaker()

    def _emit_breaker(self) -> None:
        reason = self.state.breaker.reason
        self.shared.subscribers.emit(BreakerOpened(conversation_id=self.key.conversation, reason=reason))

    async def switch(
        self, record: Compaction | None, *, changed: Compaction | None = None, fence: int
    ) -> None:
        """Activate an earlier record, or None for the whole log, and store ``changed``, the one that it takes over from."""
        records = [each for each in (changed, record and replace(record, status="active")) if each]
        active = record.id if record else ""
        async with self._lock:
            # two commits: what the new context weighs is known only once it is loaded. A crash between them loses
            # a weight, from which growth is measured, and no message.
            await self._commit(None, records=records, active=active, fence=fence)
            await self._take_over(await self.shared.store.load(self.key))
            settled = Settled(context=self.active_id, last_seq=len(self), cost=self.cost())
            self._state = self.state.restored(settled)
            await self.shared.store.commit(
                self.key,
                active=active or None,
                expected=active or None,
                fence=fence,
                state=self.state.stored.encode(),
            )

    async def bring_back(self, seq: int, *, whole: Transcript) -> None:
        """Show a message again that was folded or masked before it was pinned, with its step."""
        async with self._lock:
            active = self.active
            if active is None:
                return
            is_stub = any(mask.seq == seq for mask in active.masks)
            if not is_stub and self.shows(seq):
                return
            record = with_pins(active, [seq], log=whole)
            await self._commit(None, records=[record], active=active.id, fence=0)
            await self._take_over(await self.shared.store.load(self.key))

    async def store_pins(self, stored: EngineState) -> None:
        """Store what is pinned, unless another program was faster, and take over what the store holds then."""
        try:
            await self._commit(stored, active=self.active_id, fence=0)
        except Conflict:
            self._was_slower()
        # the caller compares what the store holds now with what it wanted
        await self.sync()


def _shown(record: Compaction | None) -> tuple[object, ...]:
    """The fields of a record that decide which context it gives."""
    if record is None:
        return ()
    masked = [(mask.seq, mask.part) for mask in record.masks]
    return (record.id, record.through_seq, record.keep, record.standing, record.summary, masked)
