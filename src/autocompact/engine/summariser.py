"""Asks a model for a summary, whatever the size of what is to be summarised.

Where the model is the conversation's own and everything fits, the request is the live context, byte for byte, and
one instruction at its end: the provider's prompt cache serves the prefix. Else the conversation goes as a document
in chunks, in order and with nothing left out: one after the other with the summary so far, or, when there are many,
each by itself (map) and their summaries summarised (reduce).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autocompact.compaction.ladder import SummaryReply, SummaryRequest
from autocompact.core.chunks import chunks, document
from autocompact.core.language import detect
from autocompact.core.messages import Message, text_message
from autocompact.core.redacted import EMPTY
from autocompact.core.redaction import Redacted, redact
from autocompact.core.reply import Problem, check_reply
from autocompact.core.tokens import Counter, message_cost
from autocompact.errors import ModelOverflow
from autocompact.ledger.prompts import Skill, compaction_instruction
from autocompact.memory.documents.others import background
from autocompact.ports import Model, ModelReply

ROLLING = 4
"""Up to so many chunks are summarised one after the other, each with the summary so far; more in parallel."""

PARALLEL = 4
"""Requests at once in a map step."""

DEEPEST = 4
"""Map steps over map steps at most; what is then still too much is summarised one chunk after the other."""

SLACK = 1.1
"""Our count of a request may be this much below the model's own."""

MOST_MEMORY = 12_000
"""Characters of other programs' memory that a request has as background; a character for four tokens of a small window."""


def memory_told(files: Mapping[str, str], *, window: int) -> Redacted:
    """The texts of ``files`` as background for a model of that window, without secrets."""
    # a secret that is cut through would not be known as one
    hidden = {name: redact(text) for name, text in files.items()}
    return redact(background(hidden, most=min(MOST_MEMORY, window // 4)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summariser:
    """Asks one model for summaries, in one of several ways.

    Attributes:
        model: who answers.
        skill: the prompt.
        window: tokens the model can take, its answer included.
        counter: measures requests.
        live: ``model`` is the conversation's own, so the live prefix is cached.
        cap_tokens: longest summary asked for; None leaves it to the size the ladder names.
        output_tokens: longest tool output shown in a document.
        tools: the live request's tools, which are part of the cached prefix.
        outside: what the live request has before the context: a system prompt outside of the log.
        decisions: the text of DECISIONS.md, as background.
        memory: what other programs keep in mind of the project, likewise.
    """

    model: Model
    skill: Skill
    window: int
    counter: Counter
    live: bool = True
    cap_tokens: int | None = None
    output_tokens: int = 500
    tools: bytes | None = None
    outside: tuple[Message, ...] = ()
    decisions: Redacted = EMPTY
    memory: Redacted = EMPTY

    async def summarise(self, request: SummaryRequest) -> SummaryReply:
        """The model's summary, checked; with ``problem`` and no text where the answer is of no use.

        Raises:
            ModelError: the model did not answer.
        """
        # the ladder says what is useful, the user what is paid for
        cap = min(request.tokens, self.cap_tokens or request.tokens)
        instruction = self._instruction(
            focus=request.focus, previous=EMPTY, cap=cap, in_force=request.in_force
        )
        # byte for byte the live request, so that the provider's cache serves all but the instruction
        prompt = [*self.outside, *request.messages, text_message(0, "user", instruction, synthetic=True)]
        if self.live and self._fits(prompt, cap):
            try:
                return self._checked(await self._ask(prompt, cap), request, cap=cap)
            except ModelOverflow:
                pass  # our count was too low: the document is split by a wide margin
        try:
            return self._checked(await self._in_chunks(request, cap), request, cap=cap)
        except _Unusable as unusable:
            return SummaryReply(text=EMPTY, model=self.model.name, problem=redact(str(unusable)))

    def _instruction(
        self, *, focus: Redacted, previous: Redacted, cap: int, in_force: Redacted = EMPTY
    ) -> str:
        return compaction_instruction(
            self.skill,
            focus=focus,
            previous=previous,
            decisions=self.decisions,
            memory=self.memory,
            in_force=in_force,
            cap_tokens=cap,
        )

    def _fits(self, prompt: Sequence[Message], cap: int) -> bool:
        tokens = sum(message_cost(message, self.counter).tokens for message in prompt)
        tools = self.counter.count(self.tools.decode("utf-8", "replace")) if self.tools else 0
        return (tokens + tools) * SLACK + cap <= self.window

    async def _ask(self, prompt: Sequence[Message], cap: int) -> ModelReply:
        # tools stand before the messages in the cached prefix: leaving them out would miss it
        tools = self.tools if self.live else None
        return await self.model.complete(prompt, max_tokens=cap, tools=tools)

    def _checked(self, reply: ModelReply, request: SummaryRequest, *, cap: int) -> SummaryReply:
        language = detect(message.text for message in request.messages if message.is_request)
        checked = check_reply(
            redact(reply.text),  # whole, before a problem quotes the beginning of it
            stop_reason=reply.stop_reason,
            replaced_tokens=request.replaced_tokens,
            counter=self.counter,
            language=language,
            asked_tokens=cap,
        )
        if isinstance(checked, Problem):
            return SummaryReply(text=EMPTY, model=self.model.name, problem=redact(checked.message))
        notes = tuple(map(redact, checked.notes))
        return SummaryReply(text=redact(checked.text), model=reply.model or self.model.name, notes=notes)

    async def _in_chunks(self, request: SummaryRequest, cap: int) -> ModelReply:
        # the instructions of the conversation are not to be followed by the
        # summariser, and they never leave the context
        messages = [message for message in request.messages if message.role != "system"]
        paragraphs = document(messages, output_tokens=self.output_tokens, counter=self.counter)
        return await self._condense(paragraphs, request=request, cap=cap)

    async def _condense(
        self, paragraphs: Sequence[Redacted], *, request: SummaryRequest, cap: int, depth: int = 0
    ) -> ModelReply:
        # a request holds two summaries besides its chunk; larger ones would leave the chunk no tokens
        cap = min(cap, self.window // 8)
        instruction = self._instruction(
            focus=request.focus, previous=request.previous, cap=cap, in_force=request.in_force
        )
        # what a request holds beside its chunk: instruction, the summary so far, and the reply
        beside = self.counter.count(instruction) + 2 * cap + 32
        room = int((self.window - beside) / SLACK)
        # a chunk smaller than its summary could never shrink anything: endless recursion
        if room < cap:
            raise ModelOverflow(
                f"the summary model {self.model.name!r} has a window of {self.window:,} tokens: too small for "
                f"summaries of {cap:,}. Name a model with a larger window."
            )
        texts = chunks(paragraphs, room=room, counter=self.counter)
        # rolling keeps the order of events, mapping is faster; many chunks
        # in a row would rewrite the summary too often
        if len(texts) <= ROLLING or depth == DEEPEST:
            return await self._rolling(texts, request=request, cap=cap)
        partial = await self._mapped(texts, focus=request.focus, cap=cap)
        return await self._condense(partial, request=request, cap=cap, depth=depth + 1)

    async def _mapped(self, texts: Sequence[Redacted], *, focus: Redacted, cap: int) -> list[Redacted]:
        """Each chunk summarised by itself, a few at a time; the first failure ends them all."""
        limit = asyncio.Semaphore(PARALLEL)

        async def summarised(number: int, text: Redacted) -> Redacted:
            async with limit:
                reply = await self._chunk(text, previous=EMPTY, focus=focus, cap=cap)
            return self._part(reply, number=number, of=len(texts))

        tasks = [asyncio.create_task(summarised(number, text)) for number, text in enumerate(texts, 1)]
        try:
            return await asyncio.gather(*tasks)
        finally:
            # `gather` leaves the others running when one fails, and each of them is paid for
            for task in tasks:
                task.cancel()

    async def _rolling(self, texts: Sequence[Redacted], *, request: SummaryRequest, cap: int) -> ModelReply:
        """Summarise chunk by chunk, each with the summary so far; the last answer is the result."""
        previous = request.previous
        reply = ModelReply(text="")
        for number, text in enumerate(texts, 1):
            reply = await self._chunk(
                text, previous=previous, focus=request.focus, cap=cap, in_force=request.in_force
            )
            # the last answer is checked as the whole summary by the caller
            if number < len(texts):
                previous = self._part(reply, number=number, of=len(texts))
        return reply

    def _part(self, reply: ModelReply, *, number: int, of: int) -> Redacted:
        """The summary of one part; one of no use would leave that part out silently."""
        checked = check_reply(
            redact(reply.text),
            stop_reason=reply.stop_reason,
            replaced_tokens=self.window,
            counter=self.counter,
        )
        if isinstance(checked, Problem):
            raise _Unusable(f"part {number} of {of}: {checked.message}")
        return redact(checked.text)

    async def _chunk(
        self, text: Redacted, *, previous: Redacted, focus: Redacted, cap: int, in_force: Redacted = EMPTY
    ) -> ModelReply:
        instruction = self._instruction(focus=focus, previous=previous, cap=cap, in_force=in_force)
        prompt = f"<conversation>\n{text}\n</conversation>\n\n{instruction}"
        return await self._ask([text_message(1, "user", prompt, synthetic=True)], cap)


class _Unusable(Exception):
    """A part of the conversation got no summary that can be used."""
