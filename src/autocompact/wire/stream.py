"""Answers that come as a stream: events as they arrive, and the same `Reply` in the end.

Pure: bytes in, values out. What cannot be read becomes a `Problem`, never an exception, and what came before is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol, cast

import msgspec
from msgspec import Raw

from autocompact.core.messages import Dialect, Usage
from autocompact.errors import InvalidRequest
from autocompact.wire import json
from autocompact.wire.deltas import (
    CallDelta,
    Finish,
    Growing,
    Problem,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    UsageReport,
    as_object,
    grow,
    objects,
    settle,
    text_of,
)
from autocompact.wire.reply import Figures, Reply, assembled, assistant_message, read_figures
from autocompact.wire.sse import Payloads

_NULL = Raw(b"null")
_REPORT = re.compile(rb'"usage"\s*:\s*\{')


class Assembler(Protocol):
    """Puts the answer of one dialect together.

    Attributes:
        figures: the usage reported so far.
    """

    figures: Figures | None

    def take(self, data: bytes) -> Iterable[StreamEvent]:
        """Yield the stream events of this event's data."""
        ...

    def reply(self) -> Reply:
        """The answer as far as it came."""
        ...


class StreamReader:
    """Reads one streamed answer.

    Attributes:
        problems: what went wrong so far.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._payloads = Payloads()
        self._assembler = _ASSEMBLERS[dialect]()
        self.problems: list[Problem] = []

    @property
    def usage(self) -> Usage | None:
        """The tokens reported so far."""
        figures = self._assembler.figures
        return figures.usage() if figures is not None and figures.given() else None

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Return the events that this chunk completes; it may begin and end anywhere."""
        return [event for data in self._payloads.feed(chunk) for event in self.take(data)]

    def close(self) -> list[StreamEvent]:
        """The stream has ended: what its last event said, if no blank line followed it."""
        # some servers close without the blank line that ends an event
        return self.feed(b"\n\n")

    def take(self, data: bytes) -> list[StreamEvent]:
        """Return the stream events of one event's data."""
        events: list[StreamEvent] = []
        try:
            events.extend(self._assembler.take(data))
        except (InvalidRequest, RecursionError) as exc:
            # one bad event does not lose the rest of an answer that was paid for
            events.append(Problem(message=f"an event of the stream cannot be read: {exc}"))
        self.problems += [event for event in events if isinstance(event, Problem)]
        return events

    def reply(self) -> Reply:
        """The answer as far as it came; calls that did not come whole are left out."""
        try:
            return self._assembler.reply()
        except (InvalidRequest, RecursionError) as exc:
            self.problems.append(Problem(message=f"the streamed answer is not a message: {exc}"))
            return Reply(usage=self.usage, complete=False)


class StreamUsage:
    """The usage that a streamed answer reports; of its other events no more is read than where they end."""

    def __init__(self, dialect: Dialect) -> None:
        self._payloads = Payloads()
        self._reader = StreamReader(dialect)

    @property
    def usage(self) -> Usage | None:
        """The tokens reported so far."""
        return self._reader.usage

    def feed(self, chunk: bytes) -> None:
        """The next bytes; they may begin and end anywhere."""
        for data in self._payloads.feed(chunk):
            # a gateway that passes the stream on needs nothing else, and parsing
            # each delta would cost more than sending it
            if _REPORT.search(data):
                self._reader.take(data)

    def close(self) -> None:
        """The stream has ended: see `StreamReader.close`."""
        self.feed(b"\n\n")


class _ChunkChoice(msgspec.Struct, gc=False):
    index: int = 0
    delta: Raw = _NULL
    finish_reason: str | None = None


class _Chunk(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    choices: list[_ChunkChoice] | None = None
    usage: Raw = _NULL
    error: Raw = _NULL


_CHUNK = msgspec.json.Decoder(_Chunk)


class ChatAssembler:
    """Chunks of Chat Completions. Of several choices only the first is read."""

    def __init__(self) -> None:
        self.figures: Figures | None = None
        self._message: Growing = {}
        self._id = self._model = self._stop_reason = ""
        self._complete = False

    def take(self, data: bytes) -> Iterator[StreamEvent]:
        """Yield the stream events of this chunk."""
        if data.strip() == b"[DONE]":
            self._complete = True
            return
        chunk = json.decode(data, _CHUNK, path="")
        if bytes(chunk.error) != b"null":
            yield Problem(message=_error_text(chunk.error))
        self._id, self._model = chunk.id or self._id, chunk.model or self._model
        for choice in chunk.choices or ():
            # several choices are several answers; the conversation goes on with the first
            if choice.index == 0:
                yield from self._choice(choice)
        figures = read_figures(chunk.usage)
        if figures is not None and figures.given():
            self.figures = self.figures.updated(figures) if self.figures else figures
            yield UsageReport(usage=self.figures.usage())

    def _choice(self, choice: _ChunkChoice) -> Iterator[StreamEvent]:
        if json.is_object(choice.delta):
            delta = as_object(bytes(choice.delta))
            grow(self._message, delta)
            yield from _chat_events(delta)
        if choice.finish_reason:
            self._complete, self._stop_reason = True, choice.finish_reason
            yield Finish(stop_reason=choice.finish_reason)

    def reply(self) -> Reply:
        """The answer as far as it came."""
        message = cast(Growing, settle(self._message))
        if "tool_calls" in message:
            # a call that was cut off has half its arguments, which no API takes back
            calls = [call for call in objects(message["tool_calls"]) if self._complete or _is_whole(call)]
            message["tool_calls"] = [{key: call[key] for key in call if key != "index"} for call in calls]
            if not calls:
                del message["tool_calls"]
        raws = [json.encode({"role": "assistant"} | message)] if message else []
        return assembled(
            raws,
            dialect="openai_chat",
            figures=self.figures,
            stop_reason=self._stop_reason,
            model=self._model,
            id=self._id,
            complete=self._complete,
        )


def _chat_events(delta: Growing) -> Iterator[StreamEvent]:
    if text := text_of(delta.get("content")):
        yield TextDelta(text=text)
    if text := text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")):
        yield ReasoningDelta(text=text)
    for place, call in enumerate(objects(delta.get("tool_calls"))):
        yield _call_delta(call, place)


def _call_delta(call: Growing, place: int) -> CallDelta:
    index = call.get("index")
    told = call.get("function") or call.get("custom")
    function = cast(Growing, told) if isinstance(told, dict) else Growing()
    return CallDelta(
        # compatible servers leave the index out
        index=index if isinstance(index, int) else place,
        id=text_of(call.get("id")),
        name=text_of(function.get("name")),
        arguments=text_of(function.get("arguments")) or text_of(function.get("input")),
    )


def _is_whole(call: Growing) -> bool:
    function = call.get("function")
    arguments = text_of(cast(Growing, function).get("arguments")) if isinstance(function, dict) else ""
    return json.is_valid(arguments.encode(errors="replace"))


class _Start(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: Raw = _NULL


class _MessageDelta(msgspec.Struct, gc=False):
    stop_reason: str | None = None


class _AnthropicEvent(msgspec.Struct, gc=False):
    type: str
    index: int = 0
    message: _Start | None = None
    content_block: Raw = _NULL
    delta: Raw = _NULL
    usage: Raw = _NULL
    error: Raw = _NULL


_ANTHROPIC_EVENT = msgspec.json.Decoder(_AnthropicEvent)
_MESSAGE_DELTA = msgspec.json.Decoder(_MessageDelta)


class AnthropicAssembler:
    """Events of Anthropic Messages: each block begins, grows and ends on its own."""

    def __init__(self) -> None:
        self.figures: Figures | None = None
        self._blocks: dict[int, Growing] = {}
        self._ended: set[int] = set()
        self._id = self._model = self._stop_reason = ""
        self._complete = False

    def take(self, data: bytes) -> Iterator[StreamEvent]:
        """Yield the stream events of this event's data."""
        event = json.decode(data, _ANTHROPIC_EVENT, path="")
        match event.type:
            case "message_start" if event.message is not None:
                self._id, self._model = event.message.id or "", event.message.model or ""
                yield from self._count(read_figures(event.message.usage))
            case "content_block_start":
                yield from self._begin(event)
            case "content_block_delta":
                yield from self._grow(event.index, as_object(bytes(event.delta)))
            case "content_block_stop":
                self._ended.add(event.index)
            case "message_delta":
                self._stop_reason = json.decode(event.delta, _MESSAGE_DELTA, path="delta").stop_reason or ""
                yield from self._count(read_figures(event.usage))
            case "message_stop":
                self._complete = True
                yield Finish(stop_reason=self._stop_reason)
            case "error":
                yield Problem(message=_error_text(event.error))
            case _:
                pass

    def _count(self, figures: Figures | None) -> Iterator[StreamEvent]:
        if figures is not None:
            # the start reports the prompt, the end the completion
            self.figures = self.figures.updated(figures) if self.figures else figures
            yield UsageReport(usage=self.figures.usage())

    def _begin(self, event: _AnthropicEvent) -> Iterator[StreamEvent]:
        begun = as_object(bytes(event.content_block))
        block = self._blocks[event.index] = Growing()
        grow(block, begun)
        if begun.get("type") == "tool_use":
            yield CallDelta(index=event.index, id=text_of(begun.get("id")), name=text_of(begun.get("name")))

    def _grow(self, index: int, delta: Growing) -> Iterator[StreamEvent]:
        # servers that skip the event which begins a block
        block = self._blocks.setdefault(index, {})
        delta.pop("type", None)
        # one at a time in the stream, a list in the message
        if "citation" in delta:
            delta["citations"] = [delta.pop("citation")]
        grow(block, delta)
        if text := text_of(delta.get("text")):
            yield TextDelta(text=text)
        if text := text_of(delta.get("thinking")):
            yield ReasoningDelta(text=text)
        text = text_of(delta.get("partial_json"))
        if text and block.get("type") == "tool_use":
            yield CallDelta(index=index, arguments=text)

    def reply(self) -> Reply:
        """The answer as far as it came."""
        blocks = [self._block(index) for index in sorted(self._blocks)]
        content = json.array(block for block in blocks if block)
        return assembled(
            [assistant_message(content)] if self._blocks or self._complete else [],
            dialect="anthropic",
            figures=self.figures,
            stop_reason=self._stop_reason,
            model=self._model,
            id=self._id,
            complete=self._complete,
        )

    def _block(self, index: int) -> bytes:
        """The JSON of a block; empty if it did not come whole, or says nothing. Half a text is a text."""
        block = cast(Growing, settle(self._blocks[index]))
        if block.get("type") == "text":
            return json.encode(block) if block.get("text") else b""
        # half a call or half a thought cannot be sent back; half a text can
        if index not in self._ended:
            return b""
        given = text_of(block.pop("partial_json", None)).encode(errors="replace")
        if given:
            if not json.is_valid(given):
                return b""
            block["input"] = json.fragment(given)
        return json.encode(block)


class _Failure(msgspec.Struct, gc=False):
    message: str | None = None


class _Reason(msgspec.Struct, gc=False):
    reason: str | None = None


class _Response(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    status: str | None = None
    usage: Raw = _NULL
    output: list[Raw] | None = None
    error: Raw = _NULL
    incomplete_details: _Reason | None = None


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    call_id: str | None = None
    name: str | None = None


class _ResponsesEvent(msgspec.Struct, gc=False):
    type: str
    output_index: int = 0
    delta: Raw = _NULL
    item: Raw = _NULL
    response: _Response | None = None


_RESPONSES_EVENT = msgspec.json.Decoder(_ResponsesEvent)
_ITEM = msgspec.json.Decoder(_Item)


class ResponsesAssembler:
    """Events of the Responses API: each item comes whole when it is done."""

    def __init__(self) -> None:
        self.figures: Figures | None = None
        self._items: dict[int, bytes] = {}
        self._texts: dict[int, list[str]] = {}
        self._id = self._model = self._stop_reason = ""
        self._complete = False

    def take(self, data: bytes) -> Iterator[StreamEvent]:
        """Yield the stream events of this event's data."""
        event = json.decode(data, _RESPONSES_EVENT, path="")
        match event.type:
            case "response.output_item.added":
                item = json.decode(event.item, _ITEM, path="item")
                if item.call_id is not None:
                    yield CallDelta(index=event.output_index, id=item.call_id, name=item.name or "")
            case "response.output_item.done":
                self._items[event.output_index] = bytes(event.item)
            case "error":
                yield Problem(message=_error_text(Raw(data)))
            case _ if event.response is not None:
                yield from self._response(event.type, event.response)
            case _:
                yield from self._delta(event)

    def _delta(self, event: _ResponsesEvent) -> Iterator[StreamEvent]:
        text = json.string(event.delta)
        match event.type:
            case "response.output_text.delta":
                self._texts.setdefault(event.output_index, []).append(text)
                yield TextDelta(text=text)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield ReasoningDelta(text=text)
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                yield CallDelta(index=event.output_index, arguments=text)
            case _:
                pass

    def _response(self, kind: str, response: _Response) -> Iterator[StreamEvent]:
        self._id, self._model = response.id or self._id, response.model or self._model
        figures = read_figures(response.usage)
        if figures is not None:
            self.figures = figures
            yield UsageReport(usage=figures.usage())
        if bytes(response.error) != b"null":
            yield Problem(message=_error_text(response.error))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            # the last event has all items whole, in the order that counts
            if response.output:
                self._items = {index: bytes(item) for index, item in enumerate(response.output)}
            details = response.incomplete_details
            self._stop_reason = (details.reason if details else response.status) or ""
            self._complete = kind != "response.failed"
            yield Finish(stop_reason=self._stop_reason)

    def reply(self) -> Reply:
        """The answer as far as it came; half a text is a text."""
        items = dict(self._items)
        # broken off: the items that never came whole are rebuilt from their deltas
        for index, texts in self._texts.items() if not self._complete else ():
            block = {"type": "output_text", "text": "".join(texts)}
            items.setdefault(index, json.encode({"type": "message", "role": "assistant", "content": [block]}))
        return assembled(
            [items[index] for index in sorted(items)],
            dialect="openai_responses",
            figures=self.figures,
            stop_reason=self._stop_reason,
            model=self._model,
            id=self._id,
            complete=self._complete,
        )


def _error_text(raw: Raw) -> str:
    """The message of an error object, else its JSON."""
    try:
        told = _FAILURE.decode(raw).message
    except msgspec.DecodeError:
        told = None
    return told or bytes(raw).decode(errors="replace")


_FAILURE = msgspec.json.Decoder(_Failure)

_ASSEMBLERS: Mapping[Dialect, Callable[[], Assembler]] = MappingProxyType(
    {
        "openai_chat": ChatAssembler,
        "openai_responses": ResponsesAssembler,
        "anthropic": AnthropicAssembler,
    }
)
