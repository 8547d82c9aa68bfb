"""Turns as tasks: at most one at a time in a conversation, also across processes."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

from msgspec.structs import replace

from autocompact.chat.events import ContextChanged, RunningChanged, TurnEnded
from autocompact.chat.notes import Failed, Unqueued
from autocompact.chat.recovery import recover, recover_dead, turn_lease
from autocompact.chat.session_context import SessionContext
from autocompact.chat.turn import Turn
from autocompact.chat.views import Cut
from autocompact.core.messages import Message, text_message
from autocompact.errors import AutocompactError, InvalidInput

DELETED = "this conversation was deleted, or the program is ending: nothing can be added to it"

log = logging.getLogger("autocompact")


class TurnRunner:
    """Runs the turns of one conversation, and recovers the one that a dead program left.

    Attributes:
        turn: the running turn, None if none runs.
        closed: True refuses new turns; the session sets it.
    """

    def __init__(self) -> None:
        self.turn: Turn | None = None
        self.closed = False
        self._task: asyncio.Task[None] | None = None
        self._ended: TurnEnded | None = None
        self._recovery_due = True
        self._recovering = asyncio.Lock()

    def start(
        self,
        context: SessionContext,
        request: Message | None,
        *,
        replaces: int | None = None,
        pending_id: str = "",
    ) -> asyncio.Future[Message]:
        """Append ``request`` and answer it in the background; the future is the request as stored.

        Args:
            context: of the session.
            request: from the person; None continues with what is in the log.
            replaces: ``seq`` of the request that it replaces.
            pending_id: of the pending request that it is.

        Raises:
            InvalidInput: a turn is running; the future has it if one runs in another program.
        """
        if self.closed:
            raise InvalidInput(DELETED)
        if self.turn is not None:
            raise InvalidInput("a turn is running: wait until it ends, or cancel it")
        return self._begin(context, request and replace(request, replaces=replaces), pending_id=pending_id)

    def _begin(
        self, context: SessionContext, request: Message | None, *, pending_id: str
    ) -> asyncio.Future[Message]:
        self.turn = Turn(context)
        begun: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(
            self._run(self.turn, context, request=request, pending_id=pending_id, begun=begun)
        )

        def never_begun(_task: asyncio.Task[None]) -> None:
            """It was cancelled before its first step, so nothing of `_run` was run."""
            if not begun.done():
                self.turn = None
                begun.set_exception(InvalidInput(self._why_cancelled()))

        self._task.add_done_callback(never_begun)
        return begun

    def _why_cancelled(self) -> str:
        return DELETED if self.closed else "it was cancelled before it began"

    async def _run(
        self,
        turn: Turn,
        context: SessionContext,
        *,
        request: Message | None,
        pending_id: str,
        begun: asyncio.Future[Message],
    ) -> None:
        ended: TurnEnded | None = None
        try:
            async with AsyncExitStack() as stack:
                async with self._recovering:
                    pass  # a recovery holds the lease for a moment
                lease = await stack.enter_async_context(turn_lease(context))
                followed = await context.log.follow()
                if followed.deleted:
                    raise InvalidInput(DELETED)
                # another program was at work here since, and may have died in the middle of a turn
                self._recovery_due = self._recovery_due or followed.changed
                await recover(context)
                begun.set_result(await _appended(context, request, pending_id=pending_id))
                # from here on whoever waits for the turn gets an end, also if a cancellation comes right now
                ended = TurnEnded(conversation_id=context.id, outcome="cancelled")
                context.emit(RunningChanged())
                ended = await turn.run(lease)
                await turn.end()
        except asyncio.CancelledError:
            if not begun.done():
                begun.set_exception(InvalidInput(self._why_cancelled()))
        except AutocompactError as error:
            _fail(error, begun, id=context.id)
        except Exception as error:
            log.exception("a turn failed", extra={"conversation": context.id})
            _fail(error, begun, id=context.id)
        finally:
            self.turn = None
            context.emit(RunningChanged())
            if ended is not None:
                self._end(context, ended)

    def _end(self, context: SessionContext, ended: TurnEnded) -> None:
        """Emit the end; start the next pending request if the turn finished and was not cancelled."""
        self._ended = ended
        context.emit(ended)
        context.emit(ContextChanged())
        task, pending = asyncio.current_task(), context.pending.requests
        # a cancellation may have come after the last step: the turn is finished, and the person wants to stop all the
        # same
        cancelled = task is not None and task.cancelling()
        if pending and ended.outcome == "finished" and not cancelled:
            request = text_message(0, "user", pending[0].text)

            def unsent(begun: asyncio.Future[Message]) -> None:
                """The request could not be sent, and stays pending."""
                if (error := begun.exception()) is not None:
                    context.emit(TurnEnded(conversation_id=context.id, outcome="failed", message=str(error)))

            self._begin(context, request, pending_id=pending[0].id).add_done_callback(unsent)

    async def cancel(self, why: Cut) -> None:
        """End the running turn, and wait until it has ended. Does nothing without one."""
        if self.turn is None or self._task is None:
            return
        self.turn.ends_with(why)
        self._task.cancel()
        await asyncio.wait([self._task])

    async def wait(self) -> TurnEnded | None:
        """Wait for the running turn; returns how it or the last one ended, None if there was none."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        return self._ended

    async def recover(self, context: SessionContext, *, changed: bool = False) -> None:
        """Recover the turn of a dead program, if there may be one.

        Args:
            context: of the session.
            changed: another program appended messages since the last call.
        """
        self._recovery_due = self._recovery_due or changed
        if self._recovery_due:
            async with self._recovering:
                self._recovery_due = not await recover_dead(context)


async def _appended(context: SessionContext, request: Message | None, *, pending_id: str) -> Message:
    """The request as stored in the log."""
    if request is None:
        last = len(context.conversation)
        # the turn goes on, so its failure is no longer what the page shows
        if context.notes.failures.get(last):
            await context.notes.add(Failed(seq=last, message=""))
        return Message(seq=0, role="user", parts=())
    if not pending_id:
        return await context.log.append(request)
    await context.notes.catch_up()
    context.pending.get(pending_id)  # another program may have sent or withdrawn it
    stored = await context.log.append(request, notes=lambda _: (Unqueued(id=pending_id),))
    context.pending.emit_changed()
    return stored


def _fail(error: Exception, begun: asyncio.Future[Message], *, id: str) -> None:
    """Hand the error to whoever waits for the beginning; after that it is only logged."""
    if not begun.done():
        begun.set_exception(error)
    elif isinstance(error, AutocompactError):
        log.error("a turn could not be ended", extra={"conversation": id}, exc_info=error)
