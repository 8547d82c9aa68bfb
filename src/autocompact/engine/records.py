"""Operations on the compactions of a conversation: preview, undo, restore, compare, pin."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace

from autocompact.compaction.goal import Goal
from autocompact.compaction.pins import kept_steps, with_notes, with_pins
from autocompact.compaction.receipts import checked, weigh
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript
from autocompact.core.redaction import redact
from autocompact.core.surrogates import without_half_surrogates
from autocompact.engine.execution import Execution
from autocompact.engine.replica import Replica
from autocompact.engine.state import EngineState
from autocompact.engine.work import finished
from autocompact.errors import Conflict, InvalidInput
from autocompact.events import CompactionUndone
from autocompact.ledger.entries import Entry
from autocompact.ports import NO_MESSAGES


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
    """The compactions of one conversation.

    Args:
        replica: the conversation's log and state.
        execution: makes compactions and activates them.
        manual_goal: what a compaction that the user asks for has to reach, with a focus.
    """

    def __init__(self, replica: Replica, *, execution: Execution, manual_goal: Callable[[str], Goal]) -> None:
        self._replica = replica
        self._execution = execution
        self._manual_goal = manual_goal

    @property
    def active(self) -> Compaction | None:
        """The active compaction."""
        return self._replica.active

    @property
    def prepared(self) -> Compaction | None:
        """The compaction that was prepared and waits for the threshold."""
        return self._replica.state.prepared

    @property
    def pins(self) -> tuple[int, ...]:
        """The pinned messages, by ``seq``."""
        return self._replica.state.pins

    @property
    def notes(self) -> tuple[str, ...]:
        """The pinned texts."""
        return self._replica.state.notes

    async def all(self) -> tuple[Compaction, ...]:
        """Every record, oldest first, undone ones included: nothing is ever removed (audit)."""
        return await self._replica.shared.store.compactions(self._replica.key)

    async def get(self, compaction_id: str) -> Compaction:
        """Return the record of a compaction.

        Raises:
            InvalidInput: there is none of that id.
        """
        records = await self.all()
        for record in records:
            if record.id == compaction_id:
                return record
        known = ", ".join(record.id for record in records) or "none"
        raise InvalidInput(
            f"no compaction {compaction_id!r} in {self._replica.key.conversation!r}; there are: {known}"
        )

    async def preview(self, focus: str = "") -> Compaction | None:
        """The compaction that would be made now; nothing is stored, nothing changes. None if there is nothing to gain.

        `edited` changes its summary, `apply` activates it.

        Raises:
            ModelError: the model did not answer.
            IncompressibleContext: what must stay does not fit.
            Conflict: messages it was made from were lost meanwhile, and others are in their place.
        """
        plan = self._execution.plan(self._manual_goal(focus), model_free=False, must_fit=False)
        record = await self._execution.make(plan)
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
        replica = self._replica
        if not replica.admits(record):
            raise Conflict("the history changed since this compaction was made: make it again")
        overhead = replica.state.meter.overhead
        weighed = weigh(record, replica.transcript, before=replica.cost(), overhead=overhead)
        return checked(weighed, replica.transcript)

    async def apply(self, record: Compaction) -> Compaction:
        """Activate a previewed or edited record; returns it as it is stored.

        Raises:
            InvalidInput: the context would not become smaller.
            Conflict: the history it covers changed since.
            CompactionRunning: one is being made.
        """
        replica = self._replica

        async def weighed() -> Compaction:
            # the conversation may have gone on since the preview
            fresh = self._weighed(record)
            receipt = fresh.receipt
            # invariant 4 holds for edits by a person too: a context never grows by a compaction
            if receipt.tokens_after >= receipt.tokens_before:
                raise InvalidInput(
                    f"the context would grow from {receipt.tokens_before:,} to {receipt.tokens_after:,} tokens: "
                    "shorten the summary"
                )
            return replace(
                fresh,
                id=replica.next_id(),
                receipt=replace(receipt, time=receipt.time or replica.shared.clock.now()),
            )

        applied = await self._execution.carry_out(weighed, trigger="manual")
        return applied or record  # `weighed` never returns None

    async def undo(self) -> Compaction | None:
        """Take the active compaction back; what was said since stays. Returns the one that is active now.

        Raises:
            InvalidInput: nothing is compacted.
            CompactionRunning: one is being made.
            Conflict: another program compacted meanwhile.
        """
        replica, name = self._replica, self._replica.key.conversation
        async with self._execution.leased() as lease:
            active = replica.active
            if active is None:
                raise InvalidInput(f"nothing to undo: no compaction is active in {name!r}")
            # what was active before, not what is the older by date: a restore may have come between
            earlier = await self.get(active.parent) if active.parent else None
            whole = await replica.whole_log()
            if earlier is not None:
                # pins that are newer than the record hold under it too; a record whose messages were edited since
                # cannot come back, so the whole log does
                earlier = self._with_pinned(earlier, whole) if whole.admits(earlier) else None
            # kept for the audit and for `restore`: nothing is deleted
            undone = replace(active, status="undone")
            await finished(replica.switch(earlier, changed=undone, fence=lease.fence))
        replica.shared.subscribers.emit(
            CompactionUndone(
                conversation_id=name,
                compaction_id=active.id,
                restored_id=earlier.id if earlier else None,
            )
        )
        return replica.active

    async def restore(self, compaction_id: str) -> Compaction:
        """Activate an earlier (or undone) compaction again.

        Raises:
            InvalidInput: there is none of that id, or the history it covers was edited since.
            CompactionRunning: one is being made.
            Conflict: another program compacted meanwhile.
        """
        async with self._execution.leased() as lease:
            record = await self.get(compaction_id)
            whole = await self._replica.whole_log()
            if not whole.admits(record):
                raise InvalidInput(f"compaction {compaction_id!r} covers messages that were edited since")
            record = self._with_pinned(record, whole)
            await finished(self._replica.switch(record, fence=lease.fence))
        return record

    def _with_pinned(self, record: Compaction, whole: Transcript) -> Compaction:
        """``record`` of the log ``whole`` with what is pinned now: messages and texts."""
        state = self._replica.state
        return with_notes(with_pins(record, state.pins, log=whole), map(redact, state.notes))

    async def compare(self, first_id: str, second_id: str) -> Comparison:
        """Compare what two compactions kept.

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
        replica = self._replica
        # stored as it is, and what is no number could not be read again
        if type(seq) is not int:
            raise InvalidInput(f"a message is pinned by its seq, a whole number, not by {seq!r}")
        await replica.sync()
        if not 1 <= seq <= len(replica):
            raise InvalidInput(f"no message {seq}: the conversation has 1..{len(replica)}")
        whole = await replica.whole_log()
        if whole.is_replaced(seq):
            raise InvalidInput(f"message {seq} was replaced by a later one: pin that")
        # stored first: if the process dies now, the next compaction keeps it all the same
        await self._store(lambda stored: stored.pinned(seq), grows=True)
        await replica.bring_back(seq, whole=whole)

    async def note(self, text: str) -> None:
        """Keep ``text`` verbatim in every later summary.

        Raises:
            InvalidInput: it is empty or no text, or the pins would take more than a quarter of the window.
        """
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
            raise InvalidInput(f"a text is pinned, not {type(text).__name__}: pin a message with `pin`")
        text = without_half_surrogates(text).strip()  # a half could not be stored
        if not text:
            raise InvalidInput("there is nothing to pin in an empty text")
        await self._store(lambda stored: stored.noted(text), grows=True)

    async def unpin(self, pinned: int | str) -> None:
        """Release a pinned message or text.

        Raises:
            InvalidInput: it is not pinned.
        """
        await self._replica.sync()
        state = self._replica.state
        if pinned not in state.pins and pinned not in state.notes:
            raise InvalidInput(f"{pinned!r} is not pinned; pinned are: {[*state.pins, *state.notes]}")
        await self._store(lambda stored: stored.unpinned(pinned))

    async def keep(self, pins: tuple[int, ...], *, notes: tuple[str, ...]) -> None:
        """Pin these messages and texts in place of what is pinned now."""
        await self._store(lambda stored: stored.with_pins(pins, notes=notes))

    async def _store(self, change: Callable[[EngineState], EngineState], *, grows: bool = False) -> None:
        """Store what is pinned.

        Nothing guards the state but the active compaction, so it is looked at again until it says what it should:
        another program may have written over it.
        """
        replica = self._replica
        await replica.sync()
        while (stored := change(replica.state.stored)) != replica.state.stored or not await self._is_stored(
            stored
        ):
            if grows:
                await self._check_budget(stored)
            await replica.store_pins(stored)

    async def _is_stored(self, wanted: EngineState) -> bool:
        store, key = self._replica.shared.store, self._replica.key
        stored = EngineState.decode((await store.load(key, after=NO_MESSAGES)).state)
        return (stored.pins, stored.notes) == (wanted.pins, wanted.notes)

    async def _check_budget(self, wanted: EngineState) -> None:
        # pins are never folded, so without a bound they alone could fill the window
        counter, limit = self._replica.shared.counter, self._replica.shared.budget.limit // 4
        whole = await self._replica.whole_log()
        tokens = kept_steps(whole, wanted.pins).tokens(whole)
        tokens += sum(counter.count(note) for note in wanted.notes)
        if tokens > limit:
            raise InvalidInput(f"the pins would take {tokens:,} tokens, at most {limit:,} may be pinned")
