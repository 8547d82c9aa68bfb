"""A compaction made ahead: prepared in the background, kept durably, put in force at the threshold without waiting."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from autocompact.compactor.work import leased
from autocompact.core.compaction import Compaction
from autocompact.core.ladder import Goal, weigh
from autocompact.errors import AutocompactError
from autocompact.events import CompactionCompleted, CompactionDiscarded, CompactionPrepared, CompactionStarted

if TYPE_CHECKING:
    from autocompact.compactor.conversation import Conversation

log = logging.getLogger("autocompact")


class Ahead:
    """The prepared compaction of one conversation.

    Attributes:
        prepared: the record that waits, None if there is none.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.prepared: Compaction | None = None
        self._of = conversation
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether one is being made now."""
        return self._task is not None

    @property
    def busy(self) -> bool:
        """Whether one is being made or waits."""
        return self.running or self.prepared is not None

    def start(self, goal: Goal) -> None:
        """Make one in the background, unless one is being made."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(goal))

    async def settled(self) -> None:
        """Wait until none is being made."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self, goal: Goal) -> None:
        conversation = self._of
        try:
            async with leased(
                conversation.shared.store, conversation.key, holder=conversation.shared.holder
            ) as lease:
                try:
                    record = await conversation.make(goal, model_free=False, must_fit=False)
                    if record is not None:
                        await self._keep(record, fence=lease.fence)
                except AutocompactError as error:
                    await conversation.failed(error, fence=lease.fence, automatic=True)
        except AutocompactError as error:
            log.warning("a compaction could not be prepared", extra={"reason": type(error).__name__})
        finally:
            self._task = None

    async def _keep(self, record: Compaction, *, fence: int) -> None:
        conversation = self._of
        async with conversation.changing:
            if not conversation.admits(record):
                self._discard(record)
                return
            prepared = replace(record, status="prepared")
            expected = conversation.active_id or None
            await conversation.shared.store.commit(
                conversation.key, records=[prepared], active=expected, expected=expected, fence=fence
            )
            self.prepared = prepared
        name = conversation.key.conversation
        conversation.shared.subscribers.tell(
            CompactionPrepared(conversation_id=name, compaction_id=record.id)
        )

    async def swap_in(self) -> bool:
        """Put the prepared compaction in force; False if there is none, or none that still helps."""
        record, conversation = self.prepared, self._of
        if record is None:
            return False
        self.prepared = None
        if not conversation.admits(record):
            self._discard(record)
            return False
        record = weigh(
            record, conversation.transcript, before=conversation.cost(), overhead=conversation.overhead
        )
        receipt, limit = record.receipt, conversation.shared.budget.limit
        if receipt.tokens_after > limit or receipt.tokens_after >= receipt.tokens_before:
            self._discard(record)
            return False
        name, tell = conversation.key.conversation, conversation.shared.subscribers.tell
        async with leased(
            conversation.shared.store, conversation.key, holder=conversation.shared.holder
        ) as lease:
            tell(CompactionStarted(conversation_id=name, trigger="prepared"))
            record = await conversation.commit(record, fence=lease.fence)
        tell(CompactionCompleted(conversation_id=name, success=True, receipt=record.receipt))
        return True

    def _discard(self, record: Compaction) -> None:
        name = self._of.key.conversation
        self._of.shared.subscribers.tell(CompactionDiscarded(conversation_id=name, compaction_id=record.id))
