"""OpenHands event logs: JSON lines with a ``kind``; an action and its observation name the same ``tool_call_id``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, string
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session


class _Text(msgspec.Struct):
    text: str | None = None


class _Call(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Said(msgspec.Struct):
    role: str = "user"
    content: list[_Text] | None = None


class _Observation(msgspec.Struct):
    content: list[_Text] | None = None
    is_error: bool | None = None


class _Line(msgspec.Struct):
    kind: str = ""
    id: str | None = None
    timestamp: str | None = None
    thought: list[_Text] | None = None
    reasoning_content: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_call: _Call | None = None
    llm_response_id: str | None = None
    observation: _Observation | None = None
    error: str | None = None
    rejection_reason: str | None = None
    llm_message: _Said | None = None
    system_prompt: _Text | None = None


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is an OpenHands event."""
    kind = string(fields.get("kind", b""))
    return kind.endswith("Event") and "source" in fields and "timestamp" in fields


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    source = Lines(lines, _Line)
    log = Log()
    calls: list[tuple[int, _Line]] = []
    for number, line in source:
        if calls and (line.kind != "ActionEvent" or line.llm_response_id != calls[0][1].llm_response_id):
            _flush(log, calls)
        if line.kind == "ActionEvent":
            calls.append((number, line))
        else:
            _add(log, line, number=number)
    _flush(log, calls)
    return Session(
        format="openhands",
        messages=tuple(log.messages),
        skipped=tuple(source.skipped),
        lines=tuple(log.lines),
    )


def _flush(log: Log, calls: list[tuple[int, _Line]]) -> None:
    """Actions of one reply of the model are one message."""
    if not calls:
        return
    number, first = calls[0]
    parts: list[Part] = []
    for _, line in calls:
        if line.reasoning_content:
            parts.append(Reasoning(text=line.reasoning_content))
        parts += _texts(line.thought)
    for _, line in calls:
        call = line.tool_call or _Call()
        name, arguments = call.name or line.tool_name or "", call.arguments or "{}"
        parts.append(ToolCall(id=line.tool_call_id or "", name=name, arguments=arguments))
    log.add("assistant", parts, line=number, id=first.id or "", time=first.timestamp or "")
    calls.clear()


def _add(log: Log, line: _Line, *, number: int) -> None:
    id, time = line.id or "", line.timestamp or ""
    if line.system_prompt is not None:
        log.add("system", _texts([line.system_prompt]), line=number, id=id, time=time)
    elif line.llm_message is not None:
        role = "assistant" if line.llm_message.role == "assistant" else "user"
        log.add(role, _texts(line.llm_message.content), line=number, id=id, time=time)
    elif line.tool_call_id:
        log.add("tool", (_result(line),), line=number, id=id, time=time)


def _result(line: _Line) -> ToolResult:
    seen = line.observation or _Observation()
    problem = line.error or line.rejection_reason or ""
    text = "\n".join(part.text for part in _texts(seen.content)) or problem
    return ToolResult(
        call_id=line.tool_call_id or "", text=text, is_error=bool(seen.is_error or line.observation is None)
    )


def _texts(parts: Iterable[_Text] | None) -> list[Text]:
    return [Text(text=part.text) for part in parts or () if part.text]
