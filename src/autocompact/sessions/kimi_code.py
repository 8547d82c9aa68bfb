"""Kimi Code sessions: the event log ``wire.jsonl`` of an agent, one record a line, never rewritten.

A reply is put together from the events of a step. A compaction keeps the newest words of the person word for word, and the
first ones where those would not fit, and holds its summary in plain text. What an undo or a cleared context leaves behind
is still in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, imported, iso_time, kind_of
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session


class _Content(msgspec.Struct):
    type: str = ""
    text: str | None = None
    think: str | None = None


class _Result(msgspec.Struct, rename="camel"):
    output: str | list[_Content] = ""
    is_error: bool | None = None


class _Usage(msgspec.Struct, rename="camel"):
    input_other: int = 0
    output: int = 0
    input_cache_read: int = 0
    input_cache_creation: int = 0


class _Event(msgspec.Struct, rename="camel"):
    type: str = ""
    part: _Content | None = None
    tool_call_id: str = ""
    name: str = ""
    args: msgspec.Raw = msgspec.Raw(b"{}")
    result: _Result | None = None
    finish_reason: str = ""
    usage: _Usage | None = None
    message_id: str = ""


class _Origin(msgspec.Struct):
    kind: str = ""
    trigger: str | None = None


class _Call(msgspec.Struct):
    id: str
    name: str
    arguments: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[_Content] = ""
    tool_calls: list[_Call] = msgspec.field(default_factory=list[_Call])
    tool_call_id: str | None = None
    is_error: bool | None = None
    id: str = ""
    origin: _Origin | None = None


class _Disclosed(msgspec.Struct):
    cwd: str = ""


class _Record(msgspec.Struct, rename="camel"):
    type: str = ""
    time: float | None = None
    event: _Event | None = None
    message: msgspec.Raw = msgspec.Raw(b"")
    model: str | None = None
    system_prompt: str | None = None
    environment_disclosure: _Disclosed | None = None
    summary: str | None = None
    context_summary: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept_user_message_count: int | None = None
    kept_head_user_message_count: int | None = None
    count: int | None = None


_message = msgspec.json.Decoder(_Message).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of Kimi Code's."""
    kind = kind_of(fields)
    if kind == "metadata":
        return "protocol_version" in fields
    return "agentId" in fields and kind.startswith("context.")


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    source = Lines(lines, _Record)
    reader = _Reader(source)
    for number, record in source:
        reader.feed(number, record)
    reader.close_step()
    return Session(
        format="kimi_code",
        messages=tuple(reader.log.messages),
        compactions=tuple(reader.compactions),
        abandoned=tuple(reader.abandoned),
        skipped=tuple(source.skipped),
        lines=tuple(reader.log.lines),
        model=reader.log.model,
        cwd=reader.cwd,
    )


class _Reader:
    def __init__(self, source: Lines[_Record]) -> None:
        self.log = Log()
        self.compactions: list[Compaction] = []
        self.abandoned: list[Message] = []
        self.cwd = ""
        self._source = source
        self._model = ""
        # the step that is open: where it began, the model's words and calls, their results, what was said meanwhile
        self._began: tuple[int, str] = (0, "")
        self._parts: list[Part] = []
        self._results: list[tuple[int, str, ToolResult]] = []
        self._meanwhile: list[tuple[int, str, _Message]] = []

    def feed(self, number: int, record: _Record) -> None:
        time = iso_time(record.time and record.time / 1_000)
        match record.type:
            case "profile.bind":
                self._bound(number, record, time=time)
            case "llm.request":
                self._model = record.model or self._model
            case "context.append_message":
                self._said(number, record.message, time=time)
            case "context.append_loop_event" if record.event is not None:
                self._happened(number, record.event, time=time)
            case "context.apply_compaction":
                self._compacted(number, record, time=time)
            case "context.undo":
                self._undone(record.count or 0)
            case "context.clear":
                self._cleared()
            case _:
                pass

    def close_step(self) -> None:
        """Add the reply of the step that is open, the results of its calls, and what was said meanwhile."""
        self._reply(None, id="")

    def _bound(self, number: int, record: _Record, *, time: str) -> None:
        self.cwd = self.cwd or (record.environment_disclosure or _Disclosed()).cwd
        if record.system_prompt and not self.log.messages:
            self.log.add("system", (Text(text=record.system_prompt),), line=number, time=time)

    def _cleared(self) -> None:
        self.close_step()
        self.abandoned += self.log.cut(1)
        self.compactions.clear()

    def _said(self, number: int, raw: msgspec.Raw, *, time: str) -> None:
        try:
            message = _message(raw)
        except msgspec.DecodeError as error:
            self._source.skip(number, f"unexpected content: {error}")
            return
        if self._parts:
            self._meanwhile.append((number, time, message))
        else:
            self._add(number, message, time=time)

    def _add(self, number: int, message: _Message, *, time: str) -> None:
        synthetic = message.role == "user" and not _is_by_person(message.origin)
        parts: list[Part] = [*self._read(number, message.content)]
        if message.role == "tool":
            parts = [_result(message.tool_call_id or "", parts, failed=message.is_error)]
        parts += (
            ToolCall(id=call.id, name=call.name, arguments=call.arguments or "{}")
            for call in message.tool_calls
        )
        self.log.add(message.role, parts, line=number, synthetic=synthetic, id=message.id, time=time)

    def _read(self, number: int, content: str | list[_Content]) -> Iterator[Part]:
        if isinstance(content, str):
            content = [_Content(type="text", text=content)]
        for part in content:
            if part.text:
                yield Text(text=part.text)
            elif part.think:
                yield Reasoning(text=part.think)
            elif part.type not in ("text", "think"):
                self._source.skip(number, f"a part of kind {part.type!r} is not read")

    def _happened(self, number: int, event: _Event, *, time: str) -> None:
        match event.type:
            case "step.begin":
                self.close_step()
                self._began = (number, time)
            case "content.part" if event.part is not None:
                self._parts += self._read(number, [event.part])
            case "tool.call":
                arguments = bytes(event.args).decode()
                self._parts.append(ToolCall(id=event.tool_call_id, name=event.name, arguments=arguments))
            case "tool.result" if event.result is not None:
                parts = self._read(number, event.result.output)
                result = _result(event.tool_call_id, parts, failed=event.result.is_error)
                self._results.append((number, time, result))
            case "step.end" if event.finish_reason not in ("interrupted", "error"):
                self._reply(_usage(event.usage), id=event.message_id)
            case _:
                pass

    def _reply(self, usage: Usage | None, *, id: str) -> None:
        line, time = self._began
        self.log.add("assistant", self._parts, line=line, id=id, time=time, model=self._model, usage=usage)
        for number, at, result in self._results:
            self.log.add("tool", (result,), line=number, time=at)
        meanwhile = self._meanwhile
        self._parts, self._results, self._meanwhile = [], [], []
        for number, at, message in meanwhile:
            self._add(number, message, time=at)

    def _compacted(self, number: int, record: _Record, *, time: str) -> None:
        self.close_step()
        summary = record.summary or record.context_summary or ""
        users = [message.seq for message in self.log.messages if message.is_request]
        head = record.kept_head_user_message_count or 0
        tail = max(0, (record.kept_user_message_count or 0) - head)
        self.compactions.append(
            imported(
                id=f"line-{number}",
                summary=summary,
                through_seq=len(self.log.messages),
                earlier=self.compactions,
                author="kimi_code",
                keep=(*users[:head], *(users[-tail:] if tail else ())),
                tokens_before=record.tokens_before or 0,
                tokens_after=record.tokens_after or 0,
                time=time,
            )
        )

    def _undone(self, count: int) -> None:
        """Take back the last ``count`` requests with what came of them; a compaction is never gone back over."""
        self.close_step()
        covered = self.compactions[-1].through_seq if self.compactions else 0
        requests = [
            message.seq for message in self.log.messages if message.is_request and message.seq > covered
        ]
        if count > 0 and requests:
            self.abandoned += self.log.cut(requests[max(0, len(requests) - count)])


def _result(call: str, parts: Iterable[Part], *, failed: bool | None) -> ToolResult:
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    return ToolResult(call_id=call, text=text, is_error=failed or False)


def _is_by_person(origin: _Origin | None) -> bool:
    return origin is None or origin.kind in ("", "user") or origin.trigger == "user-slash"


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    prompt = usage.input_other + usage.input_cache_read + usage.input_cache_creation
    return Usage(prompt=prompt, completion=usage.output) if prompt else None
