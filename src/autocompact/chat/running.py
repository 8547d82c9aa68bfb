"""Turns as tasks: one at a time per conversation, also across processes, and what a dead one left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from autocompact.chat.drafts import draft_key, left_behind, turn_key
from autocompact.chat.events import TurnEnded
from autocompact.chat.turn import Turn, keep_cut
from autocompact.chat.views import Cut
from autocompact.compactor.work import leased
from autocompact.core.messages import Message
from autocompact.errors import AutocompactError, CompactionRunning, InvalidInput
from autocompact.ports import Lease

if TYPE_CHECKING:
    from autocompact.chat.session import ChatSession

_READ = 50
"""Messages read at once."""

LEASE_SECONDS = 15.0
"""How long after a crash, at most, nobody else can go on with the conversation."""

log = logging.getLogger("autocompact")


class Running:
    """The turns of one session.

    Attributes:
        turn: the one that runs, None if none does.
    """

    def __init__(self, session: ChatSession) -> None:
        self.turn: Turn | None = None
        self._of = session
        self._task: asyncio.Task[None] | None = None
        self._ended: TurnEnded | None = None

    async def start(self, request: Message | None, *, replaces: int | None = None) -> Message:
        """Append ``request`` (None: go on with what is there) and answer it in the background.

        Raises:
            InvalidInput: a turn is running, here or in another program.
        """
        if self.turn is not None:
            raise InvalidInput("a turn is running: wait for its end, or cancel it")
        self.turn = Turn(self._of)
        begun: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        wanted = request and replace(request, replaces=replaces)
        self._task = asyncio.create_task(self._run(self.turn, wanted, begun=begun))
        return await asyncio.shield(begun)

    async def _run(self, turn: Turn, request: Message | None, *, begun: asyncio.Future[Message]) -> None:
        ended: TurnEnded | None = None
        try:
            async with AsyncExitStack() as stack:
                async with self._of.recovering:
                    pass  # it holds the lease for a moment
                lease = await stack.enter_async_context(turn_lease(self._of))
                await self._of.take_over()
                await recover(self._of)
                added = await self._of.add(request) if request is not None else None
                begun.set_result(added or Message(seq=0, role="user", parts=()))
                ended = await turn.run(lease)
                await turn.end()
        except AutocompactError as error:
            if not begun.done():
                begun.set_exception(error)
            else:
                log.exception("a turn could not be ended", extra={"conversation": self._of.id})
        except Exception as error:
            log.exception("a turn failed", extra={"conversation": self._of.id})
            if not begun.done():
                begun.set_exception(error)
        except asyncio.CancelledError:
            if not begun.done():
                begun.set_exception(InvalidInput("it was cancelled before it began"))
        finally:
            self.turn = None
            if ended is not None:
                self._ended = ended
                self._of.tell(ended)
                self._of.tell_meter()

    async def cancel(self, why: Cut) -> None:
        """End the running turn, and wait for that."""
        if self.turn is None or self._task is None:
            return
        self.turn.ends_with(why)
        self._task.cancel()
        await asyncio.wait([self._task])

    async def wait(self) -> TurnEnded | None:
        """How the running turn ends, or the last one did."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        return self._ended


@asynccontextmanager
async def turn_lease(session: ChatSession) -> AsyncGenerator[Lease]:
    """The right to answer in this conversation.

    Raises:
        InvalidInput: another program has it.
    """
    key, holder = turn_key(session.key), session.service.holder
    try:
        async with leased(session.store, key, holder=holder, seconds=LEASE_SECONDS) as lease:
            yield lease
    except CompactionRunning as error:
        raise InvalidInput(
            "another program answers in this conversation now: try again when it has ended"
        ) from error


async def recover(session: ChatSession) -> bool:
    """Take over what a turn left behind whose program ended in the midst. To be called under the lease.

    Returns:
        Whether there was something.
    """
    left = await left_behind(session.store, session.key, last_seq=len(session.conversation))
    if left is None:
        return False
    unanswered = [] if left.parts else await _unanswered(session)
    await keep_cut(session, parts=left.parts, open_calls=unanswered, why="interrupted")
    await session.store.delete(draft_key(session.key))
    return True


async def _unanswered(session: ChatSession) -> list[str]:
    """Calls of the last answer that have no result."""
    answered: set[str] = set()
    end = len(session.conversation)
    while end:
        first = max(1, end - _READ + 1)
        for message in reversed(await session.conversation.history(from_seq=first, through_seq=end)):
            if message.role != "tool":
                return [call.id for call in message.calls if call.id not in answered]
            answered |= {result.call_id for result in message.results}
        end = first - 1
    return []


async def recover_dead(session: ChatSession) -> None:
    """What a dead program left is taken over; what another one works on is left alone.

    A program that surely is dead is not waited for; of any other its lease must have run out.
    """
    async with session.recovering:
        session.is_another_at_work = not await _recovered(session)


async def _recovered(session: ChatSession) -> bool:
    """Whether nothing is left behind, or no more."""
    left = await left_behind(session.store, session.key, last_seq=len(session.conversation))
    if left is None:
        return True
    if left.dead and left.lease is not None:
        await session.store.release(left.lease)
    try:
        async with turn_lease(session):
            await session.take_over()
            await recover(session)
    except InvalidInput:
        log.info("another program answers in this conversation", extra={"conversation": session.id})
        return False
    return True
