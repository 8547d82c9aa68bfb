"""One conversation in use: its log, the context folded from it, and the compactions that keep it within the window.

The per-turn path touches only what is new: `append` stores and measures the message, `usage` and `decide` read
running sums, `ready` hands out the context. What takes longer happens in `autocompact.compactor.work`; here its
result is committed with a compare-and-swap, put in force and told. If anything fails before the commit, nothing
has changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import msgspec

from autocompact.compactor.ahead import Ahead
from autocompact.compactor.records import Records
from autocompact.compactor.state import EngineState
from autocompact.compactor.work import CompactionResult, Work, leased
from autocompact.core.budget import Compact, Continue, Decision, Prepare, Refuse, State, decide
from autocompact.core.compaction import Compaction, Trigger
from autocompact.core.ladder import Goal
from autocompact.core.memory import ArchiveEntry
from autocompact.core.messages import Dialect, Message, Role, Text, Usage
from autocompact.core.tokens import Cost, breakdown
from autocompact.core.transcript import Context, Transcript, View
from autocompact.core.usage import Gauge, Load, Reading
from autocompact.errors import (
    AutocompactError,
    CompactionRunning,
    Conflict,
    IncompressibleContext,
    ModelError,
    ModelOverflow,
)
from autocompact.events import (
    BreakerOpened,
    CompactionCompleted,
    CompactionStarted,
)
from autocompact.memory_files import append_to_archive
from autocompact.ports import Key, ModelReply
from autocompact.wire import export_messages, parse_message

if TYPE_CHECKING:
    from autocompact.compactor.compactor import Compactor

log = logging.getLogger("autocompact")


class Conversation:
    """One conversation. Make it with `Compactor.open`; call its methods from one event loop.

    Attributes:
        key: which one.
        state: what is kept beside the log.
        gauge: what is known of the usage.
        overhead: what every request carries besides the messages: tool schemas, a system prompt outside of the log.
        records: the compactions of this conversation: preview, undo, restore, compare.
        ahead: the compaction that is prepared in the background.
        changing: held while the log or the compaction in force changes.
    """

    def __init__(self, compactor: Compactor, key: Key) -> None:
        self.key = key
        self.overhead = Cost()
        self.state = EngineState()
        self.gauge = Gauge()
        self.records = Records(self)
        self.shared = compactor
        self._tools: bytes | None = None
        self._fold(Transcript(counter=compactor.counter), None)
        self.ahead = Ahead(self)
        self.changing = asyncio.Lock()

    @classmethod
    async def load(cls, compactor: Compactor, key: Key) -> Self:
        """The conversation as the store holds it."""
        conversation = cls(compactor, key)
        await conversation.reload()
        return conversation

    async def reload(self) -> None:
        """Take over what the store holds now, e.g. after another process changed it."""
        snapshot = await self.shared.store.load(self.key)
        self.state = EngineState.decode(snapshot.state)
        self.gauge = Gauge(calibration=self.state.calibration)
        self.ahead.prepared = snapshot.prepared
        transcript = Transcript(
            snapshot.messages,
            counter=self.shared.counter,
            first=snapshot.messages[0].seq if snapshot.messages else snapshot.last_seq + 1,
            earlier=snapshot.earlier,
            prefix=snapshot.active.prefix if snapshot.active else "",
        )
        self._fold(transcript, snapshot.active)

    def _fold(self, transcript: Transcript, active: Compaction | None) -> None:
        self.transcript = transcript
        self._view = View(transcript, active)
        self.gauge = self.gauge.rebased(self.active_id)
        self._after = self._view.context().cost + self.overhead if active else None

    async def put_in_force(self, record: Compaction | None) -> None:
        """Fold with another record from now on, with what the store holds of the log that it needs."""
        after = record.through_seq if record else 0
        if after >= self.transcript.first - 1:
            rest = self.transcript.after(record) if record else self.transcript
        else:
            messages = await self.shared.store.read(self.key, from_seq=1)
            whole = Transcript(messages, counter=self.shared.counter)
            rest = whole.after(record) if record else whole
        self._fold(rest, record)

    # The log

    async def append(self, message: Message) -> Message:
        """Add a message at the end of the log; its ``seq`` is set here. Durable when this returns.

        If another process appended meanwhile, its messages come first.
        """
        async with self.changing:
            try:
                stored = await self._store(message)
            except Conflict:
                await self.reload()
                stored = await self._store(message)
            await self._take(stored)
        return stored

    async def _store(self, message: Message) -> Message:
        last = len(self.transcript)
        stored = replace(message, seq=last + 1)
        await self.shared.store.append(self.key, [stored], after=last)
        return stored

    async def _take(self, message: Message) -> None:
        sent = self._load()
        if message.replaces is not None and message.replaces < self.transcript.first:
            await self._edit_covered()
            return
        self.transcript.append(message)
        if message.usage is not None and message.role == "assistant":
            reply = self.transcript.cost(message.seq).tokens
            self.gauge = self.gauge.report(
                message.usage, sent=sent, reply=reply, window=self.shared.budget.window
            )

    async def _edit_covered(self) -> None:
        """An edit reached into what a compaction covers: the newest record that the log still admits takes over."""
        whole = Transcript(await self.shared.store.read(self.key), counter=self.shared.counter)
        admitted = [r for r in await self.records.all() if r.status == "active" and whole.admits(r)]
        record = admitted[-1] if admitted else None
        await self.shared.store.commit(
            self.key, active=record.id if record else None, expected=self.active_id or None, fence=0
        )
        self._fold(whole.after(record) if record else whole, record)

    async def add(
        self, message: Mapping[str, object], *, dialect: Dialect = "openai_chat", usage: Usage | None = None
    ) -> Message:
        """Add a message as a provider's API has it, e.g. ``{"role": "user", "content": "Hello."}``; nothing of it is lost.

        Raises:
            InvalidRequest: it is no message of ``dialect``.
        """
        parsed = parse_message(msgspec.json.encode(message), seq=1, dialect=dialect)
        return await self.append(replace(parsed, usage=usage))

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

    def context(self, *, closed: bool = False) -> Context:
        """What the model is sent now. See `autocompact.core.transcript.View.context`."""
        return self._view.context(closed=closed)

    def messages(self, *, dialect: Dialect = "openai_chat") -> list[dict[str, object]]:
        """The context as the message list of a provider's API. For Anthropic, the system prompt is `system`."""
        return [
            msgspec.json.decode(raw)
            for raw in export_messages(self.context().messages, dialect=dialect).messages
        ]

    def cost(self) -> Cost:
        """What the next request weighs by our own count, overhead included."""
        return self.context().cost + self.overhead

    def use_tools(self, tools: bytes | None, *, system: str = "") -> None:
        """Say what every request carries besides the messages: tool schemas as raw JSON, a system prompt."""
        counter = self.shared.counter
        text = tools.decode("utf-8", "replace") if tools else ""
        self._tools = tools
        self.overhead = Cost(
            tokens=counter.count(text) + counter.count(system), bytes=len(tools or b"") + len(system.encode())
        )

    def _load(self) -> Load:
        return Load(tokens=self.cost().tokens, context=self.active_id, model=self.shared.model_name)

    def usage(self) -> Reading:
        """How full the context is: the figure of the meter and of the trigger. O(new)."""
        return self.gauge.read(self._load())

    def report(self, usage: Usage) -> None:
        """What the provider reported for the context as it stands, where no message brings it."""
        self.gauge = self.gauge.report(usage, sent=self._load(), window=self.shared.budget.window)

    def should_compact(self) -> bool:
        """Whether the threshold is reached; a compaction resets it."""
        return isinstance(self.decide(), Compact)

    def decide(self) -> Decision:
        """What to do before the next model call."""
        state = State(
            after=self._after,
            prepared=self.ahead.busy or not self.shared.mode.background,
            breaker=self.state.breaker,
        )
        used = replace(self.cost(), tokens=self.usage().used)
        return decide(used, self.shared.budget, policy=self.shared.mode.policy, state=state)

    # Compaction

    async def ready(self) -> Context:
        """The context for the next model call, compacted first where that is due. Call it before each one.

        A compaction that fails leaves the context as it was, unless the request would not fit: then the steps of
        the ladder that need no model act.

        Raises:
            IncompressibleContext: what must stay does not fit, or the policy forbids to compact.
        """
        decision = self.decide()
        self.state = msgspec.structs.replace(self.state, peak=max(self.state.peak, self.usage().used))
        match decision:
            case Continue():
                pass
            case Prepare():
                self.ahead.start(self.goal(decision.target, trigger="prepared"))
            case Compact():
                await self._make_room(decision)
            case Refuse():
                raise IncompressibleContext(self.breakdown(), limit=self.shared.budget.limit)
        return self.context()

    async def _make_room(self, decision: Compact) -> None:
        must_fit = decision.trigger == "overflow"
        if self.ahead.running and not must_fit:
            return  # it is being made; until the limit nobody has to wait for it
        await self.ahead.settled()
        if await self.ahead.swap_in():
            return
        goal = self.goal(decision.target, trigger=decision.trigger)
        try:
            await self._compact(goal, model_free=decision.model_free, must_fit=must_fit)
        except (ModelError, CompactionRunning, Conflict) as error:
            log.warning("an automatic compaction failed", extra={"reason": type(error).__name__})
            if must_fit:
                raise

    async def attempt(self, call: Callable[[Context], Awaitable[ModelReply]]) -> ModelReply:
        """Make room, call the model, and if it says that the request is too large, compact without it and retry once.

        Raises:
            ModelError: what ``call`` raised, the second time or for another reason.
            IncompressibleContext: what must stay does not fit.
        """
        try:
            return await call(await self.ready())
        except ModelOverflow:
            smaller = min(self.shared.budget.limit, self.cost().tokens) * 3 // 4
            goal = replace(self.goal(smaller // 2, trigger="overflow"), limit=smaller)
            await self._compact(goal, model_free=True, must_fit=True)
            return await call(self.context())

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compact now, because somebody asks for it.

        A second one while one runs is refused, not queued; an empty conversation is left alone.
        """
        target = self.shared.mode.policy.target_tokens(self.shared.budget)
        goal = replace(self.goal(target, trigger="manual"), focus=focus, first_rung="summarise")
        try:
            record = await self._compact(goal, model_free=False, must_fit=False)
        except AutocompactError as error:
            return CompactionResult(success=False, message=str(error), summary=self._summary)
        if record is None:
            return CompactionResult(
                success=False, message="there is nothing to compact", summary=self._summary
            )
        receipt = record.receipt
        return CompactionResult(
            success=True,
            message=f"{receipt.tokens_before:,} tokens became {receipt.tokens_after:,}",
            summary=record.summary,
            record=record,
        )

    @property
    def _summary(self) -> str:
        return self.active.summary if self.active else ""

    def goal(self, target: int, *, trigger: Trigger) -> Goal:
        """What a compaction of this conversation has to reach."""
        shared = self.shared
        tail = min(shared.mode.policy.tail(shared.budget), self.cost().tokens // 4)
        return Goal(
            limit=shared.budget.limit,
            target=target,
            summary_tokens=min(shared.mode.summary_tokens, max(256, target // 2)),
            tail_tokens=tail,
            overhead=self.overhead,
            pins=frozenset(self.state.pins),
            notes=self.state.notes,
            placement=shared.mode.placement,
            first_rung="summarise" if shared.mode.policy.tail_tokens == 0 else "mask",
            inline_request=shared.mode.inline_request,
            trigger=trigger,
        )

    async def _compact(self, goal: Goal, *, model_free: bool, must_fit: bool) -> Compaction | None:
        """Make a record and put it in force; listeners hear how it began and ended."""
        name = self.key.conversation
        if not self.context().messages:
            return None
        async with leased(self.shared.store, self.key, holder=self.shared.holder) as lease:
            self.shared.subscribers.tell(CompactionStarted(conversation_id=name, trigger=goal.trigger))
            try:
                made = await self.make(goal, model_free=model_free, must_fit=must_fit)
                record = made and await self.commit(made, fence=lease.fence)
            except BaseException as error:
                await self.failed(error, fence=lease.fence, automatic=goal.trigger != "manual")
                raise
        message = "" if record else "there is nothing to compact"
        receipt = record.receipt if record else None
        self.shared.subscribers.tell(
            CompactionCompleted(
                conversation_id=name, success=record is not None, message=message, receipt=receipt
            )
        )
        return record

    def admits(self, record: Compaction) -> bool:
        """Whether ``record`` was made from what the log and the compaction in force still are."""
        return record.parent == self.active_id and self.transcript.admits(record)

    async def make(self, goal: Goal, *, model_free: bool, must_fit: bool) -> Compaction | None:
        """A record for ``goal``, with its times; nothing changes."""
        clock = self.shared.clock
        started = clock.monotonic()
        work = Work(
            log=self.transcript.snapshot(),
            active=self.active,
            goal=goal,
            summariser=None if model_free else self.shared.summariser(self._tools),
            must_fit=must_fit,
        )
        record = await work.run()
        if record is None:
            return None
        receipt = replace(record.receipt, seconds=clock.monotonic() - started, time=clock.now())
        return replace(record, parent=self.active_id, receipt=receipt)

    async def commit(self, record: Compaction, *, fence: int) -> Compaction:
        """Put ``record`` in force, in the store and here.

        Raises:
            Conflict: the history it covers, or the compaction in force, changed meanwhile.
        """
        async with self.changing:
            if not self.admits(record):
                raise Conflict("the history changed while it was compacted; the result was thrown away")
            record = replace(record, status="active")
            receipt = record.receipt
            breaker = self.state.breaker.succeeded(before=receipt.tokens_before, after=receipt.tokens_after)
            state = msgspec.structs.replace(
                self.state, breaker=breaker, calibration=self.gauge.calibration, peak=0
            )
            peak = max(self.state.peak, receipt.tokens_before)
            await self.shared.store.commit(
                self.key,
                records=[record],
                active=record.id,
                expected=self.active_id or None,
                fence=fence,
                state=state.encode(),
            )
            self.state, self.ahead.prepared = state, None
            await self.put_in_force(record)
        await self._archive(record, peak=peak)
        return record

    async def _archive(self, record: Compaction, *, peak: int) -> None:
        folder = self.shared.memory_folder
        if folder is None:
            return
        name = self.key.conversation
        command = f"`autocompact show {name} --from {record.from_seq} --through {record.through_seq}`"
        entry = ArchiveEntry(conversation=name, record=record, peak_tokens=peak, transcript=command)
        try:
            await asyncio.to_thread(append_to_archive, folder, entry)
        except OSError as error:
            log.warning("CONTEXT_ARCHIVE.md could not be written", extra={"reason": error.strerror})

    async def failed(self, error: BaseException, *, fence: int, automatic: bool) -> None:
        """Tell that a compaction failed, and count it where nobody asked for it."""
        name, message = self.key.conversation, str(error) or type(error).__name__
        self.shared.subscribers.tell(
            CompactionCompleted(conversation_id=name, success=False, message=message)
        )
        if not automatic or not isinstance(error, AutocompactError) or isinstance(error, Conflict):
            return
        breaker = self.state.breaker.failed(message, tokens=self.usage().used)
        self.state = msgspec.structs.replace(self.state, breaker=breaker)
        expected = self.active_id or None
        await self.shared.store.commit(
            self.key, active=expected, expected=expected, fence=fence, state=self.state.encode()
        )
        if breaker.is_open:
            self.shared.subscribers.tell(BreakerOpened(conversation_id=name, reason=message))

    def breakdown(self) -> dict[str, int]:
        """Tokens by what fills the context, for the meter and for errors."""
        return breakdown(self.context().messages, tools=self.overhead.tokens, counter=self.shared.counter)
