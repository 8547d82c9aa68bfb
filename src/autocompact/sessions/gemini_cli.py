"""Gemini CLI sessions: JSON lines, in older releases one JSON document, a call and its result in one object.

A line is the session's head, a message, or a change: ``$set`` gives all messages anew, as after a compression, and
``$rewindTo`` takes back a message and what follows it. A message that comes again has the same id, and what it says now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, string
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session, Skipped
from autocompact.sessions.speakers import gemini_speaker


class _Thought(msgspec.Struct):
    subject: str = ""
    description: str = ""


class _Tokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    thoughts: int = 0


class _Response(msgspec.Struct):
    output: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Function(msgspec.Struct):
    response: msgspec.Raw = msgspec.Raw(b"")


class _ResultPart(msgspec.Struct, rename="camel"):
    function_response: _Function | None = None
    text: str | None = None


class _Call(msgspec.Struct):
    id: str
    name: str = ""
    args: msgspec.Raw = msgspec.Raw(b"{}")
    result: list[_ResultPart] | None = None
    status: str | None = None


class _Words(msgspec.Struct):
    text: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    type: str
    id: str | None = None
    timestamp: str | None = None
    content: msgspec.Raw = msgspec.Raw(b'""')
    model: str | None = None
    thoughts: list[_Thought] | None = None
    tool_calls: list[_Call] | None = None
    tokens: _Tokens | None = None


class _Document(msgspec.Struct, rename="camel"):
    session_id: str
    messages: list[msgspec.Raw]


class _Change(msgspec.Struct):
    messages: list[msgspec.Raw] | None = None


class _Line(msgspec.Struct, rename={"set": "$set", "rewind": "$rewindTo"}):
    id: str | None = None
    type: str | None = None
    messages: list[msgspec.Raw] | None = None
    set: _Change | None = None
    rewind: str | None = None


class _Named(msgspec.Struct):
    id: str = ""


_line = msgspec.json.Decoder(_Line).decode
_named = msgspec.json.Decoder(_Named).decode
_document = msgspec.json.Decoder(_Document).decode
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_message = msgspec.json.Decoder(_Message).decode
_response = msgspec.json.Decoder(_Response).decode
_words = msgspec.json.Decoder(list[_Words]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a document with these fields is one of Gemini CLI's: its messages have a type where Cline's have a role."""
    if "sessionId" not in fields:
        return False
    try:
        messages = _objects(fields.get("messages", b""))
    except msgspec.DecodeError:
        return bytes(fields.get("messages", b"")).startswith(b"[")
    return not any("role" in message or "data" in message for message in messages)


def matches_line(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether a line with these fields is the head of a session in JSON lines."""
    return fields.keys() >= {"sessionId", "projectHash", "startTime"} and "messages" not in fields


def read_lines(lines: Iterable[bytes]) -> Session:
    """Read a session from JSON lines; a compression of Gemini CLI's own leaves what was said before in the log."""
    source = Lines(lines, msgspec.Raw)
    said: dict[str, tuple[int, msgspec.Raw]] = {}
    for number, raw in source:
        try:
            _take(said, raw, number=number)
        except msgspec.DecodeError as error:
            source.skip(number, f"unexpected content: {error}")
    log = Log()
    for number, raw in said.values():
        try:
            _add(log, _message(raw), line=number)
        except msgspec.DecodeError as error:
            source.skip(number, f"unexpected content: {error}")
    return Session(
        format="gemini_cli",
        messages=tuple(log.messages),
        skipped=tuple(source.skipped),
        lines=tuple(log.lines),
        model=log.model,
    )


def _take(said: dict[str, tuple[int, msgspec.Raw]], raw: msgspec.Raw, *, number: int) -> None:
    """Carry out what a line says on the messages so far, which are by their ids, each with its line."""
    line = _line(raw)
    if line.rewind is not None:
        ids = list(said)
        for id in ids[ids.index(line.rewind) if line.rewind in said else 0 :]:
            del said[id]
    given = line.set.messages if line.set is not None else line.messages
    if line.id and line.type:
        given = [raw]
    for each in given or ():
        id = _named(each).id
        # it keeps its place, and the line where it was said first
        said[id] = (said[id][0] if id in said else number, each)


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from the lines of its one document.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    log = Log()
    skipped: list[Skipped] = []
    for index, raw in enumerate(_document(b"".join(lines)).messages):
        try:
            _add(log, _message(raw), line=1)
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    return Session(
        format="gemini_cli",
        messages=tuple(log.messages),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=log.model,
    )


def _add(log: Log, message: _Message, *, line: int) -> None:
    """Info, warning and error entries are for the screen, not context."""
    time, id = message.timestamp or "", message.id or ""
    text = _text(message.content)
    if message.type == "user" and text:
        note = gemini_speaker(text) != "person"
        log.add("user", (Text(text=text),), line=line, synthetic=note, id=id, time=time)
    elif message.type == "gemini":
        calls = message.tool_calls or []
        model, usage = message.model or "", _usage(message.tokens)
        log.add("assistant", _reply(message, text), line=line, id=id, time=time, model=model, usage=usage)
        for call in calls:
            if call.result is not None:
                log.add("tool", (_result(call, call.result),), line=line, time=time)


def _told(thought: _Thought) -> str:
    """A thought as Gemini's API words it: what it is about as a heading."""
    said = thought.description.strip()
    return f"**{thought.subject}**\n\n{said}".strip() if thought.subject else said


def _reply(message: _Message, text: str) -> list[Part]:
    parts: list[Part] = [Reasoning(text=_told(thought)) for thought in message.thoughts or ()]
    if text:
        parts.append(Text(text=text))
    for call in message.tool_calls or ():
        parts.append(ToolCall(id=call.id, name=call.name, arguments=as_text(call.args)))
    return parts


def _usage(tokens: _Tokens | None) -> Usage | None:
    if tokens is None or not tokens.input:
        return None
    return Usage(prompt=tokens.input, completion=tokens.output + tokens.thoughts)


def _text(content: msgspec.Raw) -> str:
    if not bytes(content).startswith(b"["):
        return string(content)
    return "\n".join(part.text for part in _words(content) if part.text)


def _result(call: _Call, parts: list[_ResultPart]) -> ToolResult:
    texts = [_output(part.function_response.response) for part in parts if part.function_response is not None]
    texts += [part.text for part in parts if part.text]
    failed = call.status in ("error", "cancelled")
    return ToolResult(call_id=call.id, text="\n".join(texts), is_error=failed)


def _output(response: msgspec.Raw) -> str:
    try:
        found = _response(response)
    except msgspec.DecodeError:
        return as_text(response)
    return as_text(found.output) or as_text(found.error) or as_text(response)
