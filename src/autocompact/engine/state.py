"""The state of one conversation beside its log: frozen values, and the transitions between them. No store, no clock.

`ConversationState` is all of it; `EngineState` is the part that is stored, so that it survives a restart. A transition
returns the next state and changes nothing; `autocompact.engine.replica` is the one place that keeps the present one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript
from autocompact.core.budget import Breaker
from autocompact.core.messages import Message, Usage
from autocompact.core.redaction.known import MOST_VALUES
from autocompact.core.surrogates import without_half_surrogates
from autocompact.core.tokens import Cost, Counter
from autocompact.core.usage import Calibration, Load
from autocompact.engine.meter import Meter
from autocompact.errors import StoreCorrupt


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The context as it was when the active compaction took effect: growth is measured from here.

    Attributes:
        context: id of that compaction, "" if an undo brought the whole log back.
        last_seq: end of the log then; what was reported for earlier messages was reported for another context.
        cost: what the context weighed by our own count, overhead included.
    """

    context: str
    last_seq: int
    cost: Cost


class EngineState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Plain values, stored as JSON with the conversation.

    Attributes:
        breaker: failures of automatic compactions.
        calibration: what was learned about each model's tokenizer, as of the last compaction.
        unseen: tokens that every request carries unseen by us, as the gauge knew them at the last compaction.
        pins: messages (``seq``) that stay verbatim.
        notes: texts that stay verbatim in every summary.
        peak: the most tokens the context took since the last compaction.
        settled: the context when the active compaction took effect; None if there never was one.
        request: ``seq`` of the user's last request, which may be folded; 0 if there is none.
        made: number of the last record.
        secrets: messages (``seq``) in which compactions met secrets that may stand alone elsewhere.
    """

    breaker: Breaker = Breaker()
    calibration: Calibration = Calibration()
    unseen: int | None = None
    pins: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    peak: int = 0
    settled: Settled | None = None
    request: int = 0
    made: int = 0
    secrets: tuple[int, ...] = ()

    def encode(self) -> bytes:
        """Encode the state as JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> EngineState:
        """From JSON; a state that was never written is the initial one.

        Raises:
            StoreCorrupt: it is not what `encode` wrote.
        """
        # a conversation from before the engine kept a state, or one never compacted
        if not data:
            return cls()
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise StoreCorrupt(f"the engine's state of a conversation cannot be read: {error}") from error

    def pinned(self, seq: int) -> EngineState:
        """With message ``seq`` pinned."""
        return self.with_pins((*self.pins, seq), notes=self.notes)

    def noted(self, text: str) -> EngineState:
        """With ``text`` pinned."""
        return self.with_pins(self.pins, notes=(*self.notes, text))

    def unpinned(self, pinned: int | str) -> EngineState:
        """Without a pinned message or text."""
        return self.with_pins(
            tuple(seq for seq in self.pins if seq != pinned),
            notes=tuple(note for note in self.notes if note != pinned),
        )

    def with_secrets(self, secrets: Iterable[int]) -> EngineState:
        """With messages in which a compaction met secrets, too; of many the last ones."""
        # bounded: the state is written with every compaction
        return replace(self, secrets=tuple(sorted({*self.secrets, *secrets})[-MOST_VALUES:]))

    def with_pins(self, pins: tuple[int, ...], *, notes: tuple[str, ...]) -> EngineState:
        """With these pins in place of what was pinned, each once."""
        return replace(self, pins=tuple(sorted(set(pins))), notes=tuple(dict.fromkeys(notes)))


class ConversationState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known of a conversation besides its log; frozen.

    A msgspec struct for its speed alone: it is replaced several times a turn, and a dataclass takes several times as long.

    Attributes:
        stored: what the store keeps of it.
        meter: how full the context is.
        prepared: the compaction that was made in the background and waits for the threshold; None if there is none.
        rewrites: times the store was found to hold other messages than we did: a compaction that was begun before is of
            another log and must not be activated.
        sent_at: seconds of the monotonic clock when the context was last handed out; None before.
        hour_cache: the requests ask the provider to cache what they mark for an hour instead of five minutes; None
            while nobody looked.
    """

    stored: EngineState = EngineState()
    meter: Meter = Meter()
    prepared: Compaction | None = None
    rewrites: int = 0
    sent_at: float | None = None
    hour_cache: bool | None = None

    # What the stored part says, by its name

    @property
    def breaker(self) -> Breaker:
        """Failures of automatic compactions."""
        return self.stored.breaker

    @property
    def pins(self) -> tuple[int, ...]:
        """Messages (``seq``) that stay verbatim."""
        return self.stored.pins

    @property
    def notes(self) -> tuple[str, ...]:
        """Texts that stay verbatim in every summary."""
        return self.stored.notes

    @property
    def peak(self) -> int:
        """The most tokens the context took since the last compaction."""
        return self.stored.peak

    @property
    def request(self) -> int:
        """``seq`` of the user's last request; 0 if there is none."""
        return self.stored.request

    # The log and the usage

    def loaded(self, stored: EngineState, *, rewritten: bool) -> ConversationState:
        """After the log was read from the store; what was prepared for another one is dropped.

        Args:
            stored: what the store keeps.
            rewritten: the log is not the one that we had.
        """
        return replace(self, stored=stored, prepared=None, rewrites=self.rewrites + rewritten)

    def synced(self, stored: EngineState) -> ConversationState:
        """After the store was found to hold our log: another program may have pinned, or counted a failure."""
        # these two are told by messages and meter, which this process has seen and the store need not have;
        # failures in a row end with another compaction only, so where the store has fewer, ours could not be stored
        kept = replace(
            stored,
            peak=max(stored.peak, self.stored.peak),
            request=self.stored.request,
            breaker=max(stored.breaker, self.breaker, key=attrgetter("failures")),
        )
        return replace(self, stored=kept)

    def appended(self, message: Message, *, tokens: int, sent: Load | None, window: int) -> ConversationState:
        """After a message that replaces none was appended.

        Args:
            message: as it stands in the log.
            tokens: of it, by our own count.
            sent: the request that it answers, where it reports usage.
            window: tokens of the model's window.
        """
        meter = self.meter
        if sent is not None:
            meter = meter.observe_reply(message, sent=sent, window=window, tokens=tokens)
        stored = self.stored
        if message.is_request:
            stored = replace(stored, request=message.seq)
        return (
            self
            if meter is self.meter and stored is self.stored
            else replace(self, meter=meter, stored=stored)
        )

    def with_request(self, seq: int) -> ConversationState:
        """With the user's last request, as found in the log; 0, where the log does not hold it, changes nothing."""
        return replace(self, stored=replace(self.stored, request=seq)) if seq else self

    def observe_usage(self, usage: Usage, *, sent: Load, window: int) -> ConversationState:
        """After the provider reported the usage of ``sent``."""
        return replace(self, meter=self.meter.observe_usage(usage, sent=sent, window=window))

    def with_overhead(self, tools: bytes | None, *, system: str, counter: Counter) -> ConversationState:
        """With what every request carries besides the messages."""
        return replace(self, meter=self.meter.with_overhead(tools, system=system, counter=counter))

    def peaked(self, used: int) -> ConversationState:
        """After the context was found to take ``used`` metered tokens."""
        # the usual case on a growing context is a new peak, on others nothing is allocated
        if used <= self.stored.peak:
            return self
        return replace(self, stored=replace(self.stored, peak=used))

    def handed_out(self, at: float) -> ConversationState:
        """After the context was handed out for a request, so that the provider's cache holds it from then on."""
        return replace(self, sent_at=at)

    def with_hour_cache(self, held: bool | None) -> ConversationState:
        """With how long the requests ask the provider to cache what they mark."""
        return replace(self, hour_cache=held)

    # Compactions

    def settled(self, context: str) -> Settled | None:
        """The context when the compaction ``context`` took effect; None if that is not known."""
        settled = self.stored.settled
        return settled if settled is not None and settled.context == context else None

    def rebased(self, context: str) -> ConversationState:
        """With another active compaction, or another log under it: no earlier report counts."""
        return replace(self, meter=self.meter.rebased(context))

    def activated(
        self, record: Compaction, settled: Settled, *, model: str, fixed: int, made: int
    ) -> ConversationState:
        """After ``record`` was activated.

        A compaction that freed next to nothing counts as a failure, unless the user asked for it.

        Args:
            record: with its receipt.
            settled: the context that it gives.
            model: whose tokens the meter counts.
            fixed: metered tokens that every request carries whatever was said.
            made: number of the last record.
        """
        receipt = record.receipt
        breaker = self.breaker.succeeded(before=receipt.tokens_before, after=receipt.tokens_after)
        # a person may compact a small context for good reason: that says nothing about the automatic ones
        if breaker.failures and receipt.trigger == "manual":
            breaker = self.breaker
        elif breaker.failures:
            load = Load(tokens=settled.cost.tokens, context=record.id, model=model)
            after = self.meter.gauge.rebased(record.id).read(load).used
            # the breaker holds until the context has grown from here, not from the size before
            breaker = dataclasses.replace(breaker, tokens=after, fixed=min(fixed, after))
        stored = replace(
            self.stored,
            breaker=breaker,
            calibration=self.meter.gauge.calibration,
            unseen=self.meter.gauge.unseen,
            # counts anew from this compaction on
            peak=0,
            settled=settled,
            made=made,
        )
        return replace(self, stored=stored, prepared=None).rebased(record.id)

    def restored(self, settled: Settled) -> ConversationState:
        """After an undo or a restore, by which the context became ``settled``."""
        return replace(self, stored=replace(self.stored, settled=settled))

    def with_prepared(self, record: Compaction, *, made: int) -> ConversationState:
        """With a compaction that waits for the threshold; its number is the last one made."""
        return replace(self, prepared=record, stored=replace(self.stored, made=made))

    def with_secrets(self, secrets: Iterable[int]) -> ConversationState:
        """With messages (``seq``) in which a compaction met secrets, too."""
        return replace(self, stored=self.stored.with_secrets(secrets))

    def without_prepared(self) -> ConversationState:
        """With no compaction that waits."""
        return replace(self, prepared=None)

    def failed(self, reason: str, *, used: int, fixed: int) -> ConversationState:
        """After an automatic compaction failed at ``used`` metered tokens; several in a row open the breaker."""
        # a provider's error can hold a half, which could not be stored
        breaker = self.breaker.failed(without_half_surrogates(reason), tokens=used, fixed=fixed)
        return replace(self, stored=replace(self.stored, breaker=breaker))

    def relearned(self, counter: str) -> ConversationState:
        """With a meter that knows nothing but the calibration that is stored, as far as it is one of ``counter``'s tokens."""
        return replace(self, meter=self.meter.relearned(self.stored.calibration.counted_by(counter)))

    def replayed(self, log: Transcript, *, load: Load, window: int) -> ConversationState:
        """With the usage that the replies in ``log`` reported for the context of ``load``, the next request."""
        settled = self.stored.settled
        since = settled.last_seq if settled else 0
        if (settled.context if settled else "") != load.context:
            since = None  # it took effect in another program, and where in the log is not known
        meter = self.meter.replayed(log, since=since, load=load, unseen=self.stored.unseen, window=window)
        return replace(self, meter=meter)
