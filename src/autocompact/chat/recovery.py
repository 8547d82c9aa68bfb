"""Recovery of a turn whose program ended before the turn did: its half answer goes into the log.

The turn journal tells that a turn is unfinished, the lease that no other program is at work on it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from autocompact.chat.session_context import SessionContext
from autocompact.chat.turn import unanswered
from autocompact.chat.turn_journal import find_unfinished
from autocompact.engine.work import leased
from autocompact.errors import CompactionRunning, InvalidInput
from autocompact.ports import Lease
from autocompact.stores.companions import draft_key, turn_key

INTERRUPTED = "the program ended before the answer came"

LEASE_SECONDS = 15.0
"""Longest time after a crash in which no other program can continue the conversation."""

_READ = 50
"""Messages read at once."""

log = logging.getLogger("autocompact")


@asynccontextmanager
async def turn_lease(context: SessionContext) -> AsyncGenerator[Lease]:
    """Hold the right to answer in this conversation.

    Raises:
        InvalidInput: another program has it.
    """
    key = turn_key(context.key)
    try:
        async with leased(context.store, key, holder=context.holder, seconds=LEASE_SECONDS) as lease:
            yield lease
    except CompactionRunning as error:
        raise InvalidInput(
            "another program is answering in this conversation: try again when it has finished"
        ) from error


async def recover(context: SessionContext) -> None:
    """Append what an unfinished turn left, and drop its journal. Call it while holding the `turn_lease`."""
    last = len(context.conversation)
    unfinished = await find_unfinished(context.store, context.key, last_seq=last)
    if unfinished is None:
        return
    parts = unfinished.parts
    # half an answer stands behind the results: then no call before it is unanswered
    answers = [] if parts else [unanswered(id) for id in await _unanswered(context)]
    failure = "" if parts or not await _is_owed(context) else INTERRUPTED
    await context.log.append_partial(
        parts, answers=answers, why="interrupted", model=context.model.model, failure=failure
    )
    await context.store.delete(draft_key(context.key))


async def recover_dead(context: SessionContext) -> bool:
    """Recover an unfinished turn unless another program still works on it; returns False in that case.

    The lease of a process that is known to be dead is released at once; any other must expire first.
    """
    last = len(context.conversation)
    unfinished = await find_unfinished(context.store, context.key, last_seq=last)
    if unfinished is None:
        return True
    # else whoever reopens the program after a crash would wait out its lease
    if unfinished.dead and unfinished.lease is not None:
        await context.store.release(unfinished.lease)
    try:
        async with turn_lease(context):
            await context.log.follow()
            await recover(context)
    except InvalidInput:
        log.info("another program answers in this conversation", extra={"conversation": context.id})
        return False
    return True


async def _is_owed(context: SessionContext) -> bool:
    """True if the last message asks for an answer."""
    last = len(context.conversation)
    found = await context.conversation.history(from_seq=last) if last else ()
    return any(message.is_request or message.role == "tool" or message.calls for message in found)


async def _unanswered(context: SessionContext) -> list[str]:
    """Ids of the calls of the last answer that have no result."""
    answered: set[str] = set()
    end = len(context.conversation)
    while end:
        first = max(1, end - _READ + 1)
        for message in reversed(await context.conversation.history(from_seq=first, through_seq=end)):
            if message.role != "tool":
                return [call.id for call in message.calls if call.id not in answered]
            answered |= {result.call_id for result in message.results}
        end = first - 1
    return []
