"""What can be done with the compactions of a conversation: look before, undo, go back, compare, branch off."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from autocompact.compactor.work import Work, leased
from autocompact.core.compaction import Compaction
from autocompact.core.entries import Entry
from autocompact.core.ladder import weigh
from autocompact.core.tokens import message_cost
from autocompact.errors import InvalidInput
from autocompact.events import CompactionUndone
from autocompact.ports import Key
from autocompact.stores.fork import copy_conversation

if TYPE_CHECKING:
    from autocompact.compactor.conversation import Conversation


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
        """
        conversation = self._of
        target = conversation.shared.mode.policy.target_tokens(conversation.shared.budget)
        goal = replace(conversation.goal(target, trigger="manual"), focus=focus, first_rung="summarise")
        work = Work(
            log=conversation.transcript.snapshot(),
            active=conversation.active,
            goal=goal,
            summariser=conversation.shared.summariser(None),
            must_fit=False,
        )
        record = await work.run()
        return record and replace(record, parent=conversation.active_id, status="prepared")

    def edited(self, record: Compaction, summary: str) -> Compaction:
        """``record`` with another summary, weighed and checked against its ledger again.

        Raises:
            InvalidInput: the summary is empty.
        """
        if not summary.strip():
            raise InvalidInput("a summary cannot be empty: undo the compaction instead")
        conversation = self._of
        return weigh(
            replace(record, summary=summary.strip()),
            conversation.transcript,
            before=conversation.cost(),
            overhead=conversation.overhead,
        )

    async def apply(self, record: Compaction) -> None:
        """Put a previewed or edited record in force.

        Raises:
            Conflict: the history it covers changed since.
            CompactionRunning: one is being made.
        """
        conversation = self._of
        now = conversation.shared.clock.now()
        record = replace(record, receipt=replace(record.receipt, time=record.receipt.time or now))
        async with leased(
            conversation.shared.store, conversation.key, holder=conversation.shared.holder
        ) as lease:
            await conversation.commit(record, fence=lease.fence)

    async def undo(self) -> Compaction | None:
        """Take the compaction in force back; what was said since stays. Returns the one in force now.

        Raises:
            InvalidInput: nothing is compacted.
            CompactionRunning: one is being made.
        """
        active = self._of.active
        if active is None:
            raise InvalidInput(f"nothing to undo: no compaction is in force in {self._of.key.conversation!r}")
        earlier = await self.get(active.parent) if active.parent else None
        await self._switch(earlier, undone=active)
        return self._of.active

    async def restore(self, compaction_id: str) -> Compaction:
        """Put an earlier (or undone) compaction in force again.

        Raises:
            InvalidInput: there is none of that id, or the history it covers was edited since.
            CompactionRunning: one is being made.
        """
        record = replace(await self.get(compaction_id), status="active")
        await self._switch(record, undone=None)
        active = self._of.active
        if active is None or active.id != compaction_id:
            raise InvalidInput(f"compaction {compaction_id!r} covers messages that were edited since")
        return active

    async def _switch(self, record: Compaction | None, *, undone: Compaction | None) -> None:
        conversation = self._of
        changed = [replace(undone, status="undone")] if undone else []
        async with leased(
            conversation.shared.store, conversation.key, holder=conversation.shared.holder
        ) as lease:
            await conversation.shared.store.commit(
                conversation.key,
                records=[*changed, *([record] if record else [])],
                active=record.id if record else None,
                expected=conversation.active_id or None,
                fence=lease.fence,
            )
            await conversation.put_in_force(record)
        if undone:
            conversation.shared.subscribers.tell(
                CompactionUndone(
                    conversation_id=conversation.key.conversation,
                    compaction_id=undone.id,
                    restored_id=record.id if record else None,
                )
            )

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
        conversation = self._of
        if not 1 <= seq <= len(conversation):
            raise InvalidInput(f"no message {seq}: the conversation has 1..{len(conversation)}")
        (message,) = await conversation.history(from_seq=seq, through_seq=seq)
        await self._remember(pins=tuple(sorted({*conversation.state.pins, seq})), also=message.text)

    async def note(self, text: str) -> None:
        """Keep ``text`` verbatim in every later summary.

        Raises:
            InvalidInput: it is empty, or the pins would take more than a quarter of the window.
        """
        if not text.strip():
            raise InvalidInput("there is nothing to pin in an empty text")
        notes = tuple(dict.fromkeys((*self._of.state.notes, text.strip())))
        await self._remember(notes=notes, also=text)

    async def unpin(self, pinned: int | str) -> None:
        """Let go of a pinned message or text.

        Raises:
            InvalidInput: it is not pinned.
        """
        state = self._of.state
        if pinned not in state.pins and pinned not in state.notes:
            raise InvalidInput(f"{pinned!r} is not pinned; pinned are: {[*state.pins, *state.notes]}")
        await self._remember(
            pins=tuple(seq for seq in state.pins if seq != pinned),
            notes=tuple(note for note in state.notes if note != pinned),
        )

    async def _remember(
        self, *, pins: tuple[int, ...] | None = None, notes: tuple[str, ...] | None = None, also: str = ""
    ) -> None:
        conversation = self._of
        state = msgspec.structs.replace(
            conversation.state,
            pins=conversation.state.pins if pins is None else pins,
            notes=conversation.state.notes if notes is None else notes,
        )
        messages = [(await conversation.history(from_seq=seq, through_seq=seq))[0] for seq in state.pins]
        counter, limit = conversation.shared.counter, conversation.shared.budget.limit // 4
        tokens = sum(message_cost(message, counter).tokens for message in messages)
        tokens += sum(counter.count(note) for note in state.notes)
        if also and tokens > limit:
            raise InvalidInput(f"the pins would take {tokens:,} tokens, at most {limit:,} may be pinned")
        expected = conversation.active_id or None
        await conversation.shared.store.commit(
            conversation.key, active=expected, expected=expected, fence=0, state=state.encode()
        )
        conversation.state = state

    async def fork(self, conversation_id: str, *, through_seq: int | None = None) -> Conversation:
        """A new conversation with the same log up to ``through_seq`` (default: all), and its compaction if that fits.

        Raises:
            InvalidInput: the name is taken.
        """
        source = self._of
        target = Key(conversation=conversation_id, namespace=source.key.namespace)
        await copy_conversation(source.shared.store, source.key, target=target, through_seq=through_seq)
        return await source.shared.open(conversation_id, namespace=source.key.namespace)
