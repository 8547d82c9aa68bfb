"""The ``contents`` of Google's API: turns of the roles user and model, made of parts. Requests, and Qwen Code's lines.

Calls often have no id: each then gets one of its name and number, and an answer belongs to the oldest call of its
name that is still open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from autocompact.core.messages import Document, Image, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, string
from autocompact.sessions.session import Session, Skipped


class _Data(msgspec.Struct, rename="camel"):
    mime_type: str = ""
    data: str = ""
    file_uri: str = ""


class _Call(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")


class _Answer(msgspec.Struct):
    name: str = ""
    id: str | None = None
    response: msgspec.Raw = msgspec.Raw(b"")


class _Outcome(msgspec.Struct):
    output: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class ContentPart(msgspec.Struct, rename="camel"):
    """One part of a turn."""

    text: str | None = None
    thought: bool | None = None
    function_call: _Call | None = None
    function_response: _Answer | None = None
    inline_data: _Data | None = None
    file_data: _Data | None = None


class Content(msgspec.Struct):
    """One turn."""

    parts: list[ContentPart]
    role: str | None = None


class _Request(msgspec.Struct, rename="camel"):
    contents: list[msgspec.Raw]
    system_instruction: msgspec.Raw = msgspec.Raw(b"")
    model: str = ""


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_content = msgspec.json.Decoder(Content).decode
_request = msgspec.json.Decoder(_Request).decode
_outcome = msgspec.json.Decoder(_Outcome).decode
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_parts = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


@dataclass(slots=True)
class Turns:
    """Turns parsed in order: knows which calls are open."""

    _open: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    _calls: int = 0

    def add(
        self,
        log: Log,
        content: Content,
        *,
        line: int,
        synthetic: bool = False,
        usage: Usage | None = None,
        **known: str | None,
    ) -> None:
        """Append a turn to ``log``: answers first, as messages of their own, then what was said.

        Args:
            log: takes the messages.
            content: the turn.
            line: where it begins.
            synthetic: a program wrote it in the user's place.
            usage: what the provider reported for a reply.
            **known: ``id``, ``time`` and ``model`` of the turn.
        """
        id, time, model = (known.get(name) or "" for name in ("id", "time", "model"))
        for part in content.parts:
            if part.function_response is not None:
                log.add("tool", (self._answer(part.function_response),), line=line, id=id, time=time)
        said = [made for part in content.parts for made in self._said(part)]
        if content.role == "model":
            log.add("assistant", said, line=line, id=id, time=time, model=model, usage=usage)
        else:
            log.add("user", said, line=line, synthetic=synthetic, id=id, time=time)

    def _said(self, part: ContentPart) -> Iterable[Part]:
        if part.function_call is not None:
            yield self._call(part.function_call)
        elif part.text:
            yield Reasoning(text=part.text) if part.thought else Text(text=part.text)
        for data in (part.inline_data, part.file_data):
            if data is not None:
                kind = Image if data.mime_type.startswith("image/") else Document
                yield kind(media_type=data.mime_type, data=data.data, url=data.file_uri)

    def _call(self, call: _Call) -> ToolCall:
        self._calls += 1
        id = call.id or f"{call.name}-{self._calls}"
        self._open.setdefault(call.name, []).append(id)
        return ToolCall(id=id, name=call.name, arguments=as_text(call.args))

    def _answer(self, answer: _Answer) -> ToolResult:
        waiting = self._open.get(answer.name, [])
        id = answer.id or next(iter(waiting), answer.name)
        if id in waiting:
            waiting.remove(id)
        try:
            outcome = _outcome(answer.response)
        except msgspec.DecodeError:
            outcome = _Outcome()
        text = as_text(outcome.output) or as_text(outcome.error) or as_text(answer.response)
        return ToolResult(call_id=id, text=text, is_error=bool(as_text(outcome.error)))


_SNAKE = re.compile(rb'"(function|inline|file|mime)_(call|response|data|type|uri)"(?=\s*:)')


def _camel(raw: bytes) -> bytes:
    """JSON with the members named as the API names them; the Python SDK writes ``function_call``.

    A quote right before the colon ends a name: inside of a string it would stand escaped.
    """
    return _SNAKE.sub(lambda found: b'"' + found[1] + found[2].capitalize() + b'"', raw)


def is_content(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether an object with these fields is a turn: its parts have no ``type``, as those of other APIs do."""
    if string(fields.get("role", b"")) not in ("user", "model", ""):
        return False
    try:
        parts = _parts(fields.get("parts", b""))
    except msgspec.DecodeError:
        return False
    return bool(parts) and not any("type" in part for part in parts)


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether an object is a request with ``contents``, or a turn of such a list."""
    try:
        turns = _objects(fields.get("contents", b""))
    except msgspec.DecodeError:
        return is_content(fields)
    return any("parts" in turn for turn in turns[:1])


def read(lines: Iterable[bytes]) -> Session:
    """Read a request, or a list of turns.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = b"".join(lines)
    if document.lstrip().startswith(b"["):
        request = _Request(contents=_items(document))
    else:
        fields = _fields(document)
        if "system_instruction" in fields:
            fields["systemInstruction"] = fields["system_instruction"]
        request = _request(msgspec.json.encode(fields))
    log, turns, skipped = Log(), Turns(), list[Skipped]()
    if bytes(request.system_instruction):
        text = string(request.system_instruction)
        parts = [ContentPart(text=text)] if text else _content(request.system_instruction).parts
        log.add("system", [Text(text=part.text) for part in parts if part.text], line=1)
    for index, raw in enumerate(request.contents):
        try:
            turns.add(log, _content(_camel(raw)), line=1)
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"turn {index} has unexpected content: {error}"))
    return Session(
        format="gemini",
        messages=tuple(log.messages),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=request.model,
    )
