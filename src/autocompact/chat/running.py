"""Turns as tasks: one at a time per conversation, also across processes, and what a dead one left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from autocompact.chat.drafts import left_behind
from autocompact.chat.events import TurnEnded
from autocompact.chat.notes import Failed, Unqueued
from autocompact.chat.turn import Turn, keep_cut, unanswered
from autocompact.chat.views import Cut
from autocompact.core.messages import Message, text_message
from autocompact.engine.work import leased
from autocompact.errors import AutocompactError, CompactionRunning, InvalidInput
from autocompact.ports import Lease
from autocompact.stores.companions import draft_key, turn_key

if TYPE_CHECKING:
    from autocompact.chat.session import ChatSession

_READ = 50
"""Messages read at once."""

DELETED = "this conversation was deleted, or its program is ending: nothing is added to it"
INTERRUPTED = "the program ended before the answer came"

LEASE_SECONDS = 15.0
"""How long after a crash, at most, nobody else can go on with the conversation."""

log = logging.getLogger("autocompact")


class Running:
    """The turns of one session.

    Attributes:
        turn: the one that runs, None if none does.
        closed: none begins any more.
    """

    def __init__(self, session: ChatSession) -> None:
        self.turn: Turn | None = None
        self.closed = False
        self._of = session
        self._task: asyncio.Task[None] | None = None
        self._ended: TurnEnded | None = None

    async def start(
        self, request: Message | None, *, replaces: int | None = None, waiting: str = ""
    ) -> Message:
        """Append ``request`` (None: go on with what is there) and answer it in the background.

        Args:
            request: what the person says.
            replaces: number of the message in whose place it comes.
            waiting: its id, if it waited for the end of another turn.

        Raises:
            InvalidInput: a turn is running, here or in another program.
        """
        if self.closed:
            raise InvalidInput(DELETED)
        if self.turn is not None:
            raise InvalidInput("a turn is running: wait for its end, or cancel it")
        wanted = request and replace(request, replaces=replaces)
        return await asyncio.shield(self._begin(wanted, waiting=waiting))

    def _begin(self, request: Message | None, *, waiting: str) -> asyncio.Future[Message]:
        self.turn = Turn(self._of)
        self._of.service.sessions.used(self._of)
        begun: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(self.turn, request, waiting=waiting, begun=begun))
        return begun

    async def _run(
        self, turn: Turn, request: Message | None, *, waiting: str, begun: asyncio.Future[Message]
    ) -> None:
        ended: TurnEnded | None = None
        cancelled = TurnEnded(conversation_id=self._of.id, outcome="cancelled")
        try:
            async with AsyncExitStack() as stack:
                async with self._of.recovering:
                    pass  # it holds the lease for a moment
                lease = await stack.enter_async_context(turn_lease(self._of))
                if not await self._of.take_over():
                    raise InvalidInput(DELETED)
                await recover(self._of)
                begun.set_result(await self._asked(request, waiting=waiting))
                ended = cancelled
                self._of.service.tell_running(self._of.id)
                ended = await turn.run(lease)
                await turn.end()
        except (AutocompactError, asyncio.CancelledError) as error:
            self._broke_off(error, begun=begun)
        except Exception as error:
            log.exception("a turn failed", extra={"conversation": self._of.id})
            self._broke_off(error, begun=begun)
        finally:
            self.turn = None
            self._of.service.tell_running(self._of.id)
            if ended is not None:
                self._tell_end(ended)

    async def _asked(self, request: Message | None, *, waiting: str) -> Message:
        """The request, in the log."""
        of = self._of
        if request is None:
            last = len(of.conversation)
            if of.notes.failures.get(last):
                await of.notes.add(Failed(seq=last, message=""))
            return Message(seq=0, role="user", parts=())
        if not waiting:
            return await of.add(request)
        await of.notes.catch_up()
        if all(each.id != waiting for each in of.waiting.requests):
            raise InvalidInput("this message does not wait any more: it was sent, or withdrawn")
        stored = await of.add(request, note=lambda _: Unqueued(id=waiting))
        of.waiting.tell()
        return stored

    def _broke_off(self, error: BaseException, *, begun: asyncio.Future[Message]) -> None:
        cancelled = isinstance(error, asyncio.CancelledError)
        if not begun.done():
            begun.set_exception(InvalidInput("it was cancelled before it began") if cancelled else error)
        elif isinstance(error, AutocompactError):
            log.error("a turn could not be ended", extra={"conversation": self._of.id}, exc_info=error)

    def _tell_end(self, ended: TurnEnded) -> None:
        """Tell it; what waits for the end of a turn that finished, and that nobody wanted to end, is said now."""
        self._ended = ended
        self._of.tell(ended)
        self._of.tell_meter()
        task, waiting = asyncio.current_task(), self._of.waiting.requests
        unwanted = task is not None and task.cancelling()
        if waiting and ended.outcome == "finished" and not unwanted:
            next_one = text_message(0, "user", waiting[0].text)
            self._begin(next_one, waiting=waiting[0].id).add_done_callback(self._tell_unsent)

    def _tell_unsent(self, begun: asyncio.Future[Message]) -> None:
        """What waited could not be said, and goes on waiting."""
        if (error := begun.exception()) is not None:
            self._of.tell(TurnEnded(conversation_id=self._of.id, outcome="failed", message=str(error)))

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
    answers = [] if left.parts else [unanswered(id) for id in await _unanswered(session)]
    failure = "" if left.parts or not await _is_owed(session) else INTERRUPTED
    await keep_cut(session, parts=left.parts, answers=answers, why="interrupted", failure=failure)
    await session.store.delete(draft_key(session.key))
    return True


async def _is_owed(session: ChatSession) -> bool:
    """Whether the last message asks for an answer."""
    last = len(session.conversation)
    found = await session.conversation.history(from_seq=last) if last else ()
    return any(message.is_request or message.role == "tool" or message.calls for message in found)


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
