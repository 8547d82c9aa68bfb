"""One turn of the agent: the model is called until its answer calls no tool. Every step is stored before the next.

Before each model call, also between tool calls, the conversation compacts if that is due (`Conversation.attempt`),
and once more, without a model, if the provider rejects the request as too large.

The loop is our own and not one of a framework, which owns its history as a list in memory: here the log is the history,
and each request is folded from it.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from msgspec import structs

from autocompact.chat import events
from autocompact.chat.notes import CutShort, Note, Took
from autocompact.chat.responder import ModelRequest, Reply
from autocompact.chat.session_context import SessionContext
from autocompact.chat.session_log import result_message
from autocompact.chat.tools import Asked
from autocompact.chat.turn_journal import TurnJournal
from autocompact.chat.views import Cut, Question, RunningCall, RunningTurn
from autocompact.compaction.transcript import Context
from autocompact.core.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.engine.work import finished
from autocompact.errors import AutocompactError, InvalidInput, ModelError
from autocompact.ports import Lease, ModelReply

_WHY = {
    "": ": try again, or choose another model",
    "length": ": it used up the tokens of an answer before the first word; raise them (models.reserve)",
    "refused": ": the provider's filter refused it; ask in other words, or choose another model",
}
UNANSWERED = "Error: the turn ended before this tool did."

log = logging.getLogger("autocompact")


class Turn:
    """A turn that runs or ran; `TurnRunner` starts it.

    Args:
        context: of its session, for the whole turn: no other model can be chosen meanwhile.
    """

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._journal = TurnJournal(context.store, context.key, clock=context.clock)
        self._text = ""
        self._reasoning = ""
        # seconds: when the thinking of this answer began, and how long it took; None for not yet
        self._began: float | None = None
        self._thought: float | None = None
        self._calls: list[RunningCall] = []
        self._questions: dict[str, tuple[Question, asyncio.Future[bool]]] = {}
        self._why: Cut = "cancelled"
        # half an answer that only the journal has: then it must not be dropped
        self._unstored = False

    def view(self) -> RunningTurn:
        """The parts of the turn that are not in the log yet."""
        return RunningTurn(
            text=self._text,
            reasoning=self._reasoning,
            calls=tuple(self._calls),
            questions=tuple(question for question, _ in self._questions.values()),
        )

    def ends_with(self, why: Cut) -> None:
        """Set the reason that a cancellation is noted with."""
        self._why = why

    async def run(self, lease: Lease) -> events.TurnEnded:
        """Work until the model calls no more tools. Never raises: failures and cancellations are noted and returned."""
        id = self._context.id
        try:
            # before the first event: what is shown can be found again after a crash
            await self._journal.begin(lease)
            self._context.emit(events.TurnStarted(conversation_id=id))
            await self._work()
            ended = events.TurnEnded(conversation_id=id, outcome="finished")
        # a stop by the person, or the end of the program: noted, and not
        # raised, since the turn is over either way
        except asyncio.CancelledError:
            await self._keep_half(self._why)
            ended = events.TurnEnded(conversation_id=id, outcome="cancelled")
        except AutocompactError as error:
            ended = await self._failed(str(error))
        except Exception as error:
            # the edge of the turn: the page must be told, whatever it was
            log.exception("a turn failed", extra={"conversation": id})
            ended = await self._failed(f"unexpected {type(error).__name__}: the log has the details")
        return ended

    async def end(self) -> None:
        """Drop the journal, if everything in it is in the log."""
        if not self._unstored:
            await self._journal.end()

    async def _failed(self, message: str) -> events.TurnEnded:
        await self._keep_half("failed", failure=message)
        return events.TurnEnded(conversation_id=self._context.id, outcome="failed", message=message)

    async def _keep_half(self, why: Cut, *, failure: str = "") -> None:
        """Append half an answer to the log; if that fails, the journal still has it."""
        try:
            # a second cancellation must not cut this off too
            await finished(self._cut_short(why, failure=failure))
        except AutocompactError:
            self._unstored = True
            log.exception("half an answer could not be stored", extra={"conversation": self._context.id})

    async def _work(self) -> None:
        steps = self._context.steps
        for _ in range(steps):
            message = await self._answer()
            # the person's turn
            if not message.calls:
                return
            await self._use(message.calls)
        raise InvalidInput(
            f"stopped after {steps} model calls in one turn: say how to go on, or raise the number of steps"
        )

    # The model

    async def _answer(self) -> Message:
        """Ask the model; returns its answer as stored."""
        # the engine may call twice: once more after a request that was refused as too large
        replies: list[tuple[Reply, str]] = []
        conversation = self._context.conversation

        async def call(sent: Context) -> ModelReply:
            active_id = conversation.internals.replica.active_id
            # remembered before the request, since a background compaction
            # may take effect while the answer streams
            reply = await self._stream(sent)
            replies.append((reply, active_id))
            return ModelReply(text=reply.message.text)

        await self._context.prefix.load(conversation)
        await conversation.attempt(call)
        reply, active_id = replies[-1]
        if conversation.internals.replica.active_id != active_id:
            # a compaction was activated meanwhile: the reported usage is that of another context
            reply = replace(reply, message=structs.replace(reply.message, usage=None))
        return await finished(self._keep(reply))

    async def _stream(self, sent: Context) -> Reply:
        self._discard()
        # a second attempt begins the answer anew, and the page has shown the first
        context = self._context
        self._journal.answer(after=len(context.conversation))
        request = ModelRequest(
            system=context.prefix.system,
            messages=sent.messages,
            toolbox=context.prefix.toolbox,
            recall=context.recall,
            max_tokens=context.conversation.internals.replica.shared.budget.reserve,
        )
        reply: Reply | None = None
        async for piece in context.responder.answer(request):
            if isinstance(piece, Reply):
                reply = piece
            else:
                await self._grow(piece.kind, piece.text)
        if reply is None or not reply.message.parts:
            raise ModelError(f"{context.model.name} gave no answer{_WHY[reply.stopped if reply else '']}")
        return reply

    async def _grow(self, kind: Literal["text", "reasoning"], text: str) -> None:
        """Take in a delta: stored before it is shown, so that nothing shown is lost if the program is killed."""
        self._journal.add(kind, text)
        try:
            # now and then, not for each delta: a flush is a transaction
            if self._journal.is_due:
                await finished(self._journal.flush())
        finally:
            # shown also if the journal cannot be written: the log has the answer in the end
            self._show(kind, text)

    def _show(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if kind == "text":
            self._end_thinking()
            self._text += text
            self._context.emit(events.TextDelta(conversation_id=self._context.id, text=text))
        else:
            if self._began is None:
                self._began = self._context.clock.monotonic()
            self._reasoning += text
            self._context.emit(events.ReasoningDelta(conversation_id=self._context.id, text=text))

    def _end_thinking(self) -> None:
        if self._began is not None and self._thought is None:
            self._thought = self._context.clock.monotonic() - self._began

    def _discard(self) -> None:
        self._began = self._thought = None
        if self._text or self._reasoning:
            self._text = self._reasoning = ""
            self._context.emit(events.AnswerRestarted(conversation_id=self._context.id))

    async def _keep(self, reply: Reply) -> Message:
        self._calls = []
        # kept, with a note: half an answer is better than none, and the person sees why it ends
        half = reply.stopped == "length"
        self._end_thinking()
        thought = self._thought

        def notes(seq: int) -> list[Note]:
            cut: list[Note] = [CutShort(seq=seq, why="length")] if half else []
            return cut if thought is None else [*cut, Took(seq=seq, seconds=thought)]

        stored = await self._context.log.append(reply.message, notes=notes)
        self._text = self._reasoning = ""
        self._calls = [
            RunningCall(id=call.id, name=call.name, arguments=call.arguments, index=index)
            for index, call in enumerate(stored.calls)
        ]
        return stored

    # Tools

    async def _use(self, calls: Sequence[ToolCall]) -> None:
        """Run all calls concurrently."""
        kept = [asyncio.Event() for _ in calls]
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in enumerate(calls):
                    # Where an id repeats, results are paired with calls by order, so they are stored in that order.
                    before = [kept[at] for at in range(index) if calls[at].id == call.id]
                    group.create_task(self._use_one(call, index, before=before, kept=kept[index]))
        except ExceptionGroup as failures:
            # the callers know single errors
            raise failures.exceptions[0] from failures

    async def _use_one(
        self, call: ToolCall, index: int, *, before: Sequence[asyncio.Event], kept: asyncio.Event
    ) -> None:
        context, clock = self._context, self._context.clock
        context.emit(
            events.ToolStarted(
                conversation_id=context.id,
                call_id=call.id,
                name=call.name,
                arguments=call.arguments,
                index=index,
            )
        )
        started = clock.monotonic()
        answered = await context.prefix.toolbox.call(call, asking=self.ask)
        seconds = clock.monotonic() - started
        result = ToolResult(call_id=call.id, text=answered.text, is_error=answered.is_error)
        # kept before waiting: a turn that is cut short meanwhile still stores this result
        self._calls[index] = replace(self._calls[index], result=result.text, is_error=result.is_error)
        for earlier in before:
            await earlier.wait()
        # a result that was worked for is stored, also if the turn is stopped now
        await finished(self._keep_result(result, index, seconds=seconds))
        kept.set()

    async def _keep_result(self, result: ToolResult, index: int, *, seconds: float) -> None:
        context, call = self._context, self._calls[index]
        self._calls[index] = replace(call, result=result.text, is_error=result.is_error, seconds=seconds)
        context.emit(
            events.ToolFinished(
                conversation_id=context.id,
                call_id=result.call_id,
                name=call.name,
                text=result.text,
                is_error=result.is_error,
                seconds=seconds,
                index=index,
            )
        )
        await context.log.append(result_message(result), notes=lambda seq: (Took(seq=seq, seconds=seconds),))

    # Questions

    async def ask(self, asked: Asked) -> bool:
        """The person's answer to what a tool would do: a standing one, or that to a question."""
        approvals = self._context.prefix.approvals
        if asked.subject and (standing := approvals.decided(asked.subject)) is not None:
            return standing
        question = Question(
            id=uuid.uuid4().hex,
            tool=asked.tool,
            text=asked.text,
            diff=asked.diff,
            subject=asked.subject,
            folder=approvals.folder,
            note=asked.note,
        )
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = (question, future)
        self._context.emit(events.QuestionAsked(conversation_id=self._context.id, question=question))
        allowed = False
        try:
            allowed = await future
        finally:
            del self._questions[question.id]
            self._context.emit(
                events.QuestionAnswered(
                    conversation_id=self._context.id, question_id=question.id, allowed=allowed
                )
            )
        return allowed

    def answer(self, question_id: str, *, allow: bool, remember: bool = False) -> None:
        """Answer a question, and with ``remember`` all others of its subject, now and later.

        Raises:
            InvalidInput: it is not open any more.
        """
        found = self._questions.get(question_id)
        # two windows of the same page may answer the same question
        if found is None or found[1].done():
            raise InvalidInput("this question is closed: it was answered, or its turn ended")
        found[1].set_result(allow)
        subject = found[0].subject
        if not remember or not subject:
            return
        self._context.prefix.approvals.remember(subject, allow=allow)
        # "always" answers what is asked already, too: several calls of one reply ask at once
        for question, future in self._questions.values():
            if question.subject == subject and not future.done():
                future.set_result(allow)

    # The end

    async def _cut_short(self, why: Cut, *, failure: str) -> None:
        parts: list[Part] = []
        thought: float | None = None
        if self._reasoning.strip():
            parts.append(Reasoning(text=self._reasoning))
            self._end_thinking()
            thought = self._thought
        if self._text.strip():
            parts.append(Text(text=self._text))
        answers = [
            ToolResult(call_id=call.id, text=call.result, is_error=call.is_error)
            if call.result
            else unanswered(call.id)
            for call in self._calls
            # those that have seconds are in the log already
            if call.seconds is None
        ]
        self._text = self._reasoning = ""
        context = self._context
        await context.log.append_partial(
            parts, answers=answers, why=why, model=context.model.model, failure=failure, thought=thought
        )


def unanswered(id: str) -> ToolResult:
    """Result for a call whose tool never ended."""
    return ToolResult(call_id=id, text=UNANSWERED, is_error=True)
