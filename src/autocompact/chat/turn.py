"""One turn of the agent: the model is called until its answer calls no tool. Every step is in the log before the next.

Before each model call, also between tool calls, the conversation makes room (`Conversation.attempt`): it compacts
where that is due, and once more, without a model, if the provider says that the request was too large.

The loop is our own and not the one of pydantic-ai's agent, whose history is a list in memory that it owns: here the
log is the history, and each request is folded from it anew. pydantic-ai speaks to the providers and to MCP servers.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from autocompact.chat import events
from autocompact.chat.drafts import Draft
from autocompact.chat.notes import CutShort, Failed, Note, Took
from autocompact.chat.responder import Asked, Reply
from autocompact.chat.views import Cut, Question, RunningCall, RunningTurn
from autocompact.compaction.transcript import Context
from autocompact.core.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.engine.work import finished
from autocompact.errors import AutocompactError, InvalidInput, ModelError
from autocompact.ports import Lease, ModelReply

if TYPE_CHECKING:
    from autocompact.chat.session import ChatSession

_WHY = {
    "": ": try again, or choose another model",
    "length": ": it used up the tokens of an answer before the first word; raise them (models.reserve)",
    "refused": ": the provider's filter refused it; ask in other words, or choose another model",
}
UNANSWERED = "Error: the turn ended before this tool did."

log = logging.getLogger("autocompact")


class Turn:
    """A turn that runs, or ran. It is started by the session."""

    def __init__(self, session: ChatSession) -> None:
        self._of = session
        self._draft = Draft(session.store, session.key, clock=session.clock)
        self._text = ""
        self._reasoning = ""
        self._calls: list[RunningCall] = []
        self._questions: dict[str, tuple[Question, asyncio.Future[bool]]] = {}
        self._why: Cut = "cancelled"
        self._owed = False

    def view(self) -> RunningTurn:
        """What is not in the log yet."""
        return RunningTurn(
            text=self._text,
            reasoning=self._reasoning,
            calls=tuple(self._calls),
            questions=tuple(question for question, _ in self._questions.values()),
        )

    def ends_with(self, why: Cut) -> None:
        """What a cancellation that comes now is due to."""
        self._why = why

    async def run(self, lease: Lease) -> events.TurnEnded:
        """Work until the model calls no more tools. Does not raise, but for a cancellation, which it has noted."""
        id = self._of.id
        try:
            await self._draft.begin(lease)
            self._of.tell(events.TurnStarted(conversation_id=id))
            await self._work()
            ended = events.TurnEnded(conversation_id=id, outcome="finished")
        except asyncio.CancelledError:
            await self._keep_half(self._why)
            ended = events.TurnEnded(conversation_id=id, outcome="cancelled")
        except AutocompactError as error:
            ended = await self._failed(str(error))
        except Exception as error:
            log.exception("a turn failed", extra={"conversation": id})
            ended = await self._failed(f"unexpected {type(error).__name__}: the log has the details")
        return ended

    async def end(self) -> None:
        """Drop the draft, if what it held is in the log."""
        if not self._owed:
            await self._draft.end()

    async def _failed(self, message: str) -> events.TurnEnded:
        await self._keep_half("failed", failure=message)
        return events.TurnEnded(conversation_id=self._of.id, outcome="failed", message=message)

    async def _keep_half(self, why: Cut, *, failure: str = "") -> None:
        """Half an answer goes into the log; if that fails, it still stands in the draft."""
        try:
            await finished(self._cut_short(why, failure=failure))
        except AutocompactError:
            self._owed = True
            log.exception("half an answer could not be stored", extra={"conversation": self._of.id})

    async def _work(self) -> None:
        steps = self._of.config.steps
        for _ in range(steps):
            message = await self._answer()
            if not message.calls:
                return
            await self._use(message.calls)
        raise InvalidInput(
            f"stopped after {steps} model calls in one turn: say how to go on, or raise the number of steps"
        )

    # The model

    async def _answer(self) -> Message:
        """Ask the model; its answer, as it stands in the log."""
        replies: list[tuple[Reply, str]] = []
        conversation = self._of.conversation

        async def call(context: Context) -> ModelReply:
            in_force = conversation.active_id
            reply = await self._stream(context)
            replies.append((reply, in_force))
            return ModelReply(text=reply.message.text)

        await self._of.prepare_request()
        await conversation.attempt(call)
        reply, in_force = replies[-1]
        if conversation.active_id != in_force:
            # it was reported for another context than the one that is sent from now on
            reply = replace(reply, message=replace(reply.message, usage=None))
        return await finished(self._keep(reply))

    async def _stream(self, context: Context) -> Reply:
        self._void()
        of = self._of
        self._draft.answer(after=len(of.conversation))
        asked = Asked(
            system=of.system,
            messages=context.messages,
            toolbox=of.toolbox,
            recall=of.recall,
            max_tokens=of.conversation.shared.budget.reserve,
        )
        reply: Reply | None = None
        async for piece in of.responder.answer(asked):
            if isinstance(piece, Reply):
                reply = piece
            else:
                await self._grow(piece.kind, piece.text)
        if reply is None or not reply.message.parts:
            raise ModelError(f"{of.model} gave no answer{_WHY[reply.stopped if reply else '']}")
        return reply

    async def _grow(self, kind: Literal["text", "reasoning"], text: str) -> None:
        """More of the answer: stored before it is shown, so that a killed program has shown nothing that is lost."""
        self._draft.add(kind, text)
        try:
            if self._draft.is_due:
                await finished(self._draft.flush())
        finally:
            self._show(kind, text)

    def _show(self, kind: Literal["text", "reasoning"], text: str) -> None:
        if kind == "text":
            self._text += text
            self._of.tell(events.TextDelta(conversation_id=self._of.id, text=text))
        else:
            self._reasoning += text
            self._of.tell(events.ReasoningDelta(conversation_id=self._of.id, text=text))

    def _void(self) -> None:
        if self._text or self._reasoning:
            self._text = self._reasoning = ""
            self._of.tell(events.AnswerRestarted(conversation_id=self._of.id))

    async def _keep(self, reply: Reply) -> Message:
        self._calls = []
        half = reply.stopped == "length"
        stored = await self._of.add(
            reply.message, note=(lambda seq: CutShort(seq=seq, why="length")) if half else None
        )
        self._text = self._reasoning = ""
        self._calls = [
            RunningCall(id=call.id, name=call.name, arguments=call.arguments, index=index)
            for index, call in enumerate(stored.calls)
        ]
        return stored

    # Tools

    async def _use(self, calls: Sequence[ToolCall]) -> None:
        """Carry the calls out, all at the same time."""
        kept = [asyncio.Event() for _ in calls]
        try:
            async with asyncio.TaskGroup() as group:
                for index, call in enumerate(calls):
                    # Results are paired with calls by their order where an id repeats, so they are kept in that order.
                    before = [kept[at] for at in range(index) if calls[at].id == call.id]
                    group.create_task(self._use_one(call, index, before=before, kept=kept[index]))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from failures

    async def _use_one(
        self, call: ToolCall, index: int, *, before: Sequence[asyncio.Event], kept: asyncio.Event
    ) -> None:
        of, clock = self._of, self._of.clock
        of.tell(
            events.ToolStarted(
                conversation_id=of.id,
                call_id=call.id,
                name=call.name,
                arguments=call.arguments,
                index=index,
            )
        )
        started = clock.monotonic()
        answered = await of.toolbox.call(call, asking=self.ask)
        seconds = clock.monotonic() - started
        result = ToolResult(call_id=call.id, text=answered.text, is_error=answered.is_error)
        # A turn that is cut short while this waits keeps what the tool said all the same.
        self._calls[index] = replace(self._calls[index], result=result.text, is_error=result.is_error)
        for earlier in before:
            await earlier.wait()
        await finished(self._keep_result(result, index, seconds=seconds))
        kept.set()

    async def _keep_result(self, result: ToolResult, index: int, *, seconds: float) -> None:
        of, call = self._of, self._calls[index]
        self._calls[index] = replace(call, result=result.text, is_error=result.is_error, seconds=seconds)
        of.tell(
            events.ToolFinished(
                conversation_id=of.id,
                call_id=result.call_id,
                name=call.name,
                text=result.text,
                is_error=result.is_error,
                seconds=seconds,
                index=index,
            )
        )
        await of.add(_result_message(result), note=lambda seq: Took(seq=seq, seconds=seconds))

    # Questions

    async def ask(self, tool: str, text: str) -> bool:
        """Ask the person whether ``tool`` may do ``text``."""
        question = Question(id=uuid.uuid4().hex, tool=tool, text=text)
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[question.id] = (question, future)
        self._of.tell(events.QuestionAsked(conversation_id=self._of.id, question=question))
        allowed = False
        try:
            allowed = await future
        finally:
            del self._questions[question.id]
            self._of.tell(
                events.QuestionAnswered(conversation_id=self._of.id, question_id=question.id, allowed=allowed)
            )
        return allowed

    def answer(self, question_id: str, *, allow: bool) -> None:
        """Settle a question.

        Raises:
            InvalidInput: nobody asks that any more.
        """
        found = self._questions.get(question_id)
        if found is None or found[1].done():
            raise InvalidInput("that question is settled already")
        found[1].set_result(allow)

    # The end

    async def _cut_short(self, why: Cut, *, failure: str) -> None:
        parts: list[Part] = []
        if self._reasoning.strip():
            parts.append(Reasoning(text=self._reasoning))
        if self._text.strip():
            parts.append(Text(text=self._text))
        answers = [
            ToolResult(call_id=call.id, text=call.result, is_error=call.is_error)
            if call.result
            else unanswered(call.id)
            for call in self._calls
            if call.seconds is None
        ]
        self._text = self._reasoning = ""
        await keep_cut(self._of, parts=parts, answers=answers, why=why, failure=failure)


def unanswered(id: str) -> ToolResult:
    """The answer to a call whose tool never ended."""
    return ToolResult(call_id=id, text=UNANSWERED, is_error=True)


async def keep_cut(
    session: ChatSession, *, parts: Sequence[Part], answers: Sequence[ToolResult], why: Cut, failure: str = ""
) -> None:
    """Put half an answer, and answers to calls that never ended, into the log; and beside it, why the turn failed."""

    def note(seq: int) -> Note:
        return CutShort(seq=seq, why=why)

    for answer in answers:
        await session.add(_result_message(answer), note=note)
    if parts:
        model = session.engine.choice.model  # as the provider calls it, and whole answers have it
        await session.add(Message(seq=0, role="assistant", parts=tuple(parts), model=model), note=note)
    if failure:
        await session.notes.add(Failed(seq=len(session.conversation), message=failure))


def _result_message(result: ToolResult) -> Message:
    return Message(seq=0, role="tool", parts=(result,))
