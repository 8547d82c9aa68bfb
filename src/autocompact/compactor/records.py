"""What can be done with the compactions of a conversation: look before, undo, go back, compare, branch off."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from autocompact.compaction.pins import kept_steps, with_pins
from autocompact.compaction.receipts import weigh
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript
from autocompact.compactor.state import EngineState, Settled
from autocompact.compactor.work import finished
from autocompact.core.redaction import redact
from autocompact.errors import Conflict, InvalidInput
from autocompact.events import CompactionUndone
from autocompact.ledger.entries import Entry
from autocompact.ports import NO_MESSAGES, Key
from autocompact.stores.fork import copy_conversation

if TYPE_CHECKING:
    from autocompact.compactor.conversation import Conversation


log = logging.getLogger("autocompact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two compactions side by side.

    Attributes:
        tokens: of the context under the first and the second.
        only_first: ledger entries that only the first one knows.
        only_second: ledger entries that only the second one knows.
        summaries: unified diff of the two summaries.
    """

    tokens: tuple[int, int]
    only_first: tuple[Entry, ...]
    only_second: tuple[Entry, ...]
    summaries: str


class Records:
    """The compactions of one conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._of = conversation

    async def all(self) -> tuple[Compaction, ...]:
        """Every record, oldest first, undone ones included: nothing is ever removed (audit)."""
        return await self._of.shared.store.compactions(self._of.key)

    async def get(self, compaction_id: str) -> Compaction:
        """One record.

        Raises:
            InvalidInput: there is none of that id.
        """
        records = await self.all()
        for record in records:
            if record.id == compaction_id:
                return record
        known = ", ".join(record.id for record in records) or "none"
        raise InvalidInput(
            f"no compaction {compaction_id!r} in {self._of.key.conversation!r}; there are: {known}"
        )

    async def preview(self, focus: str = "") -> Compaction | None:
        """The compaction that would be made now; nothing is stored, nothing changes. None if there is nothing to gain.

        `edited` changes its summary, `apply` puts it in force.

        Raises:
            ModelError: the model did not answer.
            IncompressibleContext: what must stay does not fit.
            Conflict: messages it was made from were lost meanwhile, and others are in their place.
        """
        execution = self._of.execution
        plan = execution.plan(self._of.asked_for(focus), model_free=False, must_fit=False)
        record = await execution.make(plan)
        return record and replace(record, status="prepared")

    def edited(self, record: Compaction, summary: str) -> Compaction:
        """``record`` with another summary, weighed and checked against its ledger again.

        Raises:
            InvalidInput: the summary is empty.
            Conflict: the history it covers changed since.
        """
        if not summary.strip():
            raise InvalidInput("a summary cannot be empty: undo the compaction instead")
        return self._weighed(replace(record, summary=redact(summary.strip())))

    def _weighed(self, record: Compaction) -> Compaction:
        of = self._of
        if not of.admits(record):
            raise Conflict("the history changed since this compaction was made: make it again")
        return weigh(record, of.transcript, before=of.cost(), overhead=of.meter.overhead)

    async def apply(self, record: Compaction) -> Compaction:
        """Put a previewed or edited record in force; returns it as it is stored.

        Raises:
            InvalidInput: the context would not become smaller.
            Conflict: the history it covers changed since.
            CompactionRunning: one is being made.
        """
        of = self._of

        async def weighed() -> Compaction:
            fresh = self._weighed(record)
            receipt = fresh.receipt
            if receipt.tokens_after >= receipt.tokens_before:
                raise InvalidInput(
                    f"the context would grow from {receipt.tokens_before:,} to {receipt.tokens_after:,} tokens: "
                    "shorten the summary"
                )
            return replace(
                fresh,
                id=of.execution.next_id(),
                receipt=replace(receipt, time=receipt.time or of.shared.clock.now()),
            )

        applied = await of.execution.carry_out(weighed, trigger="manual")
        return applied or record  # what `weighed` makes is never nothing

    async def undo(self) -> Compaction | None:
        """Take the compaction in force back; what was said since stays. Returns the one in force now.

        Raises:
            InvalidInput: nothing is compacted.
            CompactionRunning: one is being made.
            Conflict: another program compacted meanwhile.
        """
        of = self._of
        async with of.execution.leased() as lease:
            active = of.active
            if active is None:
                raise InvalidInput(f"nothing to undo: no compaction is in force in {of.key.conversation!r}")
            earlier = await self.get(active.parent) if active.parent else None
            whole = await self._whole()
            if earlier is not None:
                earlier = with_pins(earlier, of.state.pins, log=whole) if whole.admits(earlier) else None
            await finished(self._switch(earlier, changed=replace(active, status="undone"), fence=lease.fence))
        of.shared.subscribers.tell(
            CompactionUndone(
                conversation_id=of.key.conversation,
                compaction_id=active.id,
                restored_id=earlier.id if earlier else None,
            )
        )
        return of.active

    async def restore(self, compaction_id: str) -> Compaction:
        """Put an earlier (or undone) compaction in force again.

        Raises:
            InvalidInput: there is none of that id, or the history it covers was edited since.
            CompactionRunning: one is being made.
            Conflict: another program compacted meanwhile.
        """
        async with self._of.execution.leased() as lease:
            record = await self.get(compaction_id)
            whole = await self._whole()
            if not whole.admits(record):
                raise InvalidInput(f"compaction {compaction_id!r} covers messages that were edited since")
            record = with_pins(record, self._of.state.pins, log=whole)
            await finished(self._switch(record, changed=None, fence=lease.fence))
        return record

    async def _whole(self) -> Transcript:
        """The log from its first message on."""
        return Transcript(await self._of.history(), counter=self._of.shared.counter)

    async def _switch(self, record: Compaction | None, *, changed: Compaction | None, fence: int) -> None:
        of, store = self._of, self._of.shared.store
        records = [item for item in (changed, record and replace(record, status="active")) if item]
        active = record.id if record else None
        async with of.changing:
            await store.commit(
                of.key, records=records, active=active, expected=of.active_id or None, fence=fence
            )
            await of.take_over(await store.load(of.key))
            settled = Settled(context=of.active_id, last_seq=len(of), cost=of.cost())
            of.state = msgspec.structs.replace(of.state, settled=settled)
            await store.commit(of.key, active=active, expected=active, fence=fence, state=of.state.encode())

    async def compare(self, first_id: str, second_id: str) -> Comparison:
        """What two compactions kept.

        Raises:
            InvalidInput: there is none of one of these ids.
        """
        first, second = await self.get(first_id), await self.get(second_id)
        known = [{(entry.kind, entry.key) for entry in record.ledger.entries} for record in (first, second)]
        diff = difflib.unified_diff(
            first.summary.splitlines(), second.summary.splitlines(), first.id, second.id, lineterm=""
        )
        return Comparison(
            tokens=(first.receipt.tokens_after, second.receipt.tokens_after),
            only_first=tuple(e for e in first.ledger.entries if (e.kind, e.key) not in known[1]),
            only_second=tuple(e for e in second.ledger.entries if (e.kind, e.key) not in known[0]),
            summaries="\n".join(diff),
        )

    async def pin(self, seq: int) -> None:
        """Keep message ``seq`` verbatim through every later compaction.

        Raises:
            InvalidInput: there is no such message, or the pins would take more than a quarter of the window.
        """
        of = self._of
        await of.sync()
        if not 1 <= seq <= len(of):
            raise InvalidInput(f"no message {seq}: the conversation has 1..{len(of)}")
        log = await self._whole()
        if log.is_replaced(seq):
            raise InvalidInput(f"message {seq} was replaced by a later one: pin that")
        await self._remember(lambda state: _changed(state, pins=(*state.pins, seq)), grows=True)
        await self._bring_back(log, seq)

    async def _bring_back(self, log: Transcript, seq: int) -> None:
        """A message that was folded before it was pinned comes back into the context, with its step."""
        of = self._of
        async with of.changing:
            active = of.active
            if active is None or of.shows(seq) or seq > active.through_seq:
                return
            record = with_pins(active, [seq], log=log)
            await of.shared.store.commit(
                of.key, records=[record], active=active.id, expected=active.id, fence=0
            )
            await of.take_over(await of.shared.store.load(of.key))

    async def note(self, text: str) -> None:
        """Keep ``text`` verbatim in every later summary.

        Raises:
            InvalidInput: it is empty, or the pins would take more than a quarter of the window.
        """
        if not text.strip():
            raise InvalidInput("there is nothing to pin in an empty text")
        await self._remember(lambda state: _changed(state, notes=(*state.notes, text.strip())), grows=True)

    async def unpin(self, pinned: int | str) -> None:
        """Let go of a pinned message or text.

        Raises:
            InvalidInput: it is not pinned.
        """
        await self._of.sync()
        state = self._of.state
        if pinned not in state.pins and pinned not in state.notes:
            raise InvalidInput(f"{pinned!r} is not pinned; pinned are: {[*state.pins, *state.notes]}")

        def without(state: EngineState) -> EngineState:
            return _changed(
                state,
                pins=tuple(seq for seq in state.pins if seq != pinned),
                notes=tuple(note for note in state.notes if note != pinned),
            )

        await self._remember(without)

    async def _remember(self, change: Callable[[EngineState], EngineState], *, grows: bool = False) -> None:
        """Store what is pinned.

        Nothing guards the state but the compaction in force, so it is looked at again until it says what it should:
        another program may have written over it.
        """
        of, store = self._of, self._of.shared.store
        await of.sync()
        while (state := change(of.state)) != of.state or not await self._is_stored(state):
            if grows:
                await self._check_budget(state)
            expected = of.active_id or None
            try:
                await store.commit(of.key, active=expected, expected=expected, fence=0, state=state.encode())
            except Conflict:
                log.info("another program was faster", extra={"conversation": of.key.conversation})
            await of.sync()

    async def _is_stored(self, state: EngineState) -> bool:
        stored = EngineState.decode((await self._of.shared.store.load(self._of.key, after=NO_MESSAGES)).state)
        return (stored.pins, stored.notes) == (state.pins, state.notes)

    async def _check_budget(self, state: EngineState) -> None:
        of = self._of
        counter, limit = of.shared.counter, of.shared.budget.limit // 4
        log = await self._whole()
        tokens = kept_steps(log, state.pins).tokens(log)
        tokens += sum(counter.count(note) for note in state.notes)
        if tokens > limit:
            raise InvalidInput(f"the pins would take {tokens:,} tokens, at most {limit:,} may be pinned")

    async def fork(self, conversation_id: str, *, through_seq: int | None = None) -> Conversation:
        """A new conversation with the same log up to ``through_seq`` (default: all), and its compaction if that fits.

        Raises:
            InvalidInput: the name is taken.
        """
        source = self._of
        target = Key(conversation=conversation_id, namespace=source.key.namespace)
        await copy_conversation(source.shared.store, source.key, target=target, through_seq=through_seq)
        fork = await source.shared.open(conversation_id, namespace=source.key.namespace)
        pins = tuple(seq for seq in source.state.pins if seq <= len(fork))
        await fork.records._remember(lambda state: _changed(state, pins=pins, notes=source.state.notes))
        return fork


def _changed(
    state: EngineState, *, pins: tuple[int, ...] | None = None, notes: tuple[str, ...] | None = None
) -> EngineState:
    """The state with other pins, each once."""
    return msgspec.structs.replace(
        state,
        pins=state.pins if pins is None else tuple(sorted(set(pins))),
        notes=state.notes if notes is None else tuple(dict.fromkeys(notes)),
    )
