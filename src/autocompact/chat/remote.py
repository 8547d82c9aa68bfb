"""Remote responder: one streamed request at a time, to the API of a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import Any, Literal

import msgspec
from msgspec import structs

from autocompact.chat.model_choices import Access, model_of
from autocompact.chat.responder import Delta, ModelRequest, Piece, Reply
from autocompact.chat.thinking_tags import BEGIN, thinking_and_words
from autocompact.chat.tools import Tool
from autocompact.core.messages import Dialect, Message, Part, Reasoning, Text, ToolCall
from autocompact.models.http import Patience
from autocompact.wire import Reply as WireReply
from autocompact.wire.deltas import ReasoningDelta, StreamEvent, TextDelta

_DIALECTS: Mapping[str, Dialect] = {"anthropic": "anthropic", "responses": "openai_responses"}
_STOPPED: Mapping[str, Literal["length", "refused"]] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refused",
    "refusal": "refused",
}
_CACHED = {"type": "ephemeral"}
_MEMBERS: Mapping[Dialect, Mapping[str, object]] = {
    "openai_chat": {},
    # nothing stays with the provider: reasoning travels sealed in the request
    "openai_responses": {"include": ["reasoning.encrypted_content"]},
    # up to the last message; system text and tools, which stay when a compaction changes the messages, have marks of their own
    "anthropic": {"cache_control": _CACHED},
}
_CONNECT = 5.0
"""Seconds until a connection stands."""


class RemoteResponder:
    """Implements `autocompact.chat.responder.Responder` with a provider's API.

    Args:
        found: where the model is.
        extra: further members of each request.
        silence: seconds without data after which a request is given up.

    Raises:
        InvalidInput: the base URL or the key cannot be used.
    """

    def __init__(self, found: Access, *, extra: Mapping[str, object], silence: float) -> None:
        self._name = found.choice.model
        self._dialect: Dialect = _DIALECTS.get(found.choice.provider, "openai_chat")
        patience = Patience(
            connect=_CONNECT,
            first_byte=silence,
            between=silence,
            advice=". Try again, or wait longer (models.silentSeconds of the settings)",
        )
        self._model = model_of(found, patience=patience, extra={**_MEMBERS[self._dialect], **extra})

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """See `Responder.answer`."""
        system, rest = system_text(request.system, request.messages)
        messages = [*_system(system, self._dialect), *(self._sent(message) for message in rest)]
        tools = _tools(request.toolbox.tools, self._dialect)
        asking = self._model.stream(messages, max_tokens=request.max_tokens, tools=tools)
        answer = _Answer()
        async with aclosing(asking) as pieces:
            async for piece in pieces:
                if isinstance(piece, WireReply):
                    yield self._reply(piece)
                else:
                    for delta in answer.take(piece):
                        yield delta

    def _sent(self, message: Message) -> Message:
        """A message as this model takes it: its own reasoning, and calls that are valid.

        Reasoning goes back only to the model that it came from.
        """
        if message.role != "assistant":
            return message
        # signatures of thoughts are a model's own: another one, or another API, refuses them
        own = message.dialect == self._dialect and message.model == self._name
        parts = tuple(
            _valid(part) if isinstance(part, ToolCall) else part
            for part in message.parts
            if own or not isinstance(part, Reasoning)
        )
        return structs.replace(message, parts=parts, raw=None)

    def _reply(self, reply: WireReply) -> Reply:
        parts = [part for message in reply.messages for part in message.parts]
        message = Message(
            seq=0,
            role="assistant",
            parts=tuple(kept for part in parts for kept in _kept(part)),
            dialect=self._dialect,
            id=reply.id,
            model=self._name,
            usage=reply.usage,
        )
        return Reply(message=message, stopped=_STOPPED.get(reply.stop_reason, ""))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.aclose()


class _Answer:
    """Deltas of one answer, with thinking in tags told apart."""

    def __init__(self) -> None:
        self._text = ""
        self._tagged: bool | None = None  # not known before the first words
        self._given: dict[Literal["reasoning", "text"], int] = {"reasoning": 0, "text": 0}

    def take(self, event: StreamEvent) -> Iterator[Delta]:
        if isinstance(event, ReasoningDelta):
            yield Delta(kind="reasoning", text=event.text)
        elif isinstance(event, TextDelta):
            yield from self._words(event.text)

    def _words(self, text: str) -> Iterator[Delta]:
        if self._tagged is False:
            yield Delta(kind="text", text=text)
            return
        self._text += text
        begun = self._text.lstrip()
        if self._tagged is None and not BEGIN.startswith(begun[: len(BEGIN)]):
            self._tagged = False
            yield Delta(kind="text", text=self._text)
            return
        for kind, so_far in zip(self._given, thinking_and_words(self._text), strict=True):
            if new := so_far[self._given[kind] :]:
                self._given[kind] += len(new)
                yield Delta(kind=kind, text=new)
        if self._given["text"]:
            self._tagged = False  # the tags are behind it


def system_text(prompt: str, messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The system text of a request, and the messages that follow it.

    The text is the prompt, then the system messages that the context begins with, such as a summary that is placed
    there. They become one text: templates of local models take one system message.

    Args:
        prompt: the system prompt, which is not part of the log; "" if there is none.
        messages: the context.
    """
    leading = list(takewhile(lambda message: message.role == "system", messages))
    texts = (prompt, *(message.text.strip("\n") for message in leading))
    return "\n\n".join(text for text in texts if text), messages[len(leading) :]


def _system(text: str, dialect: Dialect) -> Iterator[Message]:
    if not text:
        return
    raw = None
    if dialect == "anthropic":
        raw = msgspec.json.encode([{"type": "text", "text": text, "cache_control": _CACHED}])
    yield Message(seq=0, role="system", parts=(Text(text=text),), raw=raw, dialect=dialect)


def _tools(tools: Iterable[Tool], dialect: Dialect) -> bytes | None:
    """The tools in the JSON of the API; None without any."""
    listed = [_definition(tool, dialect) for tool in tools]
    if not listed:
        return None
    if dialect == "anthropic":
        # a mark holds for all that stands before it, so the last tool marks the whole list
        listed[-1]["cache_control"] = _CACHED
    return msgspec.json.encode(listed)


def _definition(tool: Tool, dialect: Dialect) -> dict[str, Any]:
    described: dict[str, Any] = {"name": tool.name, "description": tool.description}
    match dialect:
        case "anthropic":
            return described | {"input_schema": tool.parameters}
        case "openai_responses":
            # strict is what this API takes for granted, and demands that every parameter is required
            return described | {"type": "function", "parameters": tool.parameters, "strict": False}
        case _:
            return {"type": "function", "function": described | {"parameters": tool.parameters}}


def _valid(call: ToolCall) -> ToolCall:
    """The call with arguments that are a JSON object; others, as of a call that was cut off, no API takes back."""
    given = call.arguments or "{}"
    try:
        msgspec.json.decode(given, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        given = msgspec.json.encode({"invalid": call.arguments}).decode()
    return structs.replace(call, arguments=given, raw=None)


def _kept(part: Part) -> Iterator[Part]:
    """What the log keeps of a part of an answer; what providers run themselves is not asked for."""
    match part:
        case Text():
            thinking, words = (
                thinking_and_words(part.text) if part.text.lstrip().startswith(BEGIN) else ("", part.text)
            )
            yield from [Reasoning(text=thinking)] * bool(thinking)
            yield from [Text(text=words)] * bool(words)
        case ToolCall():
            yield structs.replace(part, raw=None)
        case Reasoning():
            yield part if _is_vouched(part) else structs.replace(part, raw=None)
        case _:
            return


def _is_vouched(part: Reasoning) -> bool:
    """True if a block of reasoning can go back to its API: Anthropic's only with its signature."""
    raw = part.raw or b""
    return b'"thinking"' not in raw or b'"signature"' in raw
