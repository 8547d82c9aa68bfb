"""The ``contents`` of Google's API: turns of the roles user and model, made of parts.

They stand in requests, in what Gemini CLI's ``/chat save`` writes, and in Qwen Code's lines. Calls often have no id:
each then gets one of its name and number, and an answer belongs to the oldest call of its name that is still open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from autocompact.core.messages import Document, Image, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, decoded, items, string
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
    parts: msgspec.Raw = msgspec.Raw(b"")


class _Outcome(msgspec.Struct):
    output: msgspec.Raw = msgspec.Raw(b"")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Code(msgspec.Struct):
    language: str = ""
    code: str = ""


class _Ran(msgspec.Struct):
    outcome: str = ""
    output: str = ""


class ContentPart(msgspec.Struct, rename="camel"):
    """A part of a turn."""

    text: str | None = None
    thought: bool | None = None
    function_call: _Call | None = None
    function_response: _Answer | None = None
    executable_code: _Code | None = None
    code_execution_result: _Ran | None = None
    inline_data: _Data | None = None
    file_data: _Data | None = None


class Content(msgspec.Struct):
    """A turn: its role and parts."""

    parts: list[ContentPart]
    role: str | None = None


class _Request(msgspec.Struct, rename="camel"):
    contents: list[msgspec.Raw]
    system_instruction: msgspec.Raw = msgspec.Raw(b"")
    model: str = ""


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_part = msgspec.json.Decoder(ContentPart).decode
_content = msgspec.json.Decoder(Content).decode
_request = msgspec.json.Decoder(_Request).decode
_outcome = msgspec.json.Decoder(_Outcome).decode
_objects = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_parts = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


_CODE = "code_execution"
"""The name of the calls of code that the provider runs itself."""


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
        if content.role != "model":
            said = [made for part in content.parts for made in self._said(part)]
            log.add("user", said, line=line, synthetic=synthetic, id=id, time=time)
            return
        for said, ran in self._runs(content.parts):
            log.add("assistant", said, line=line, id=id, time=time, model=model, usage=usage)
            usage = None  # reported for the reply as a whole
            if ran is not None:
                log.add("tool", (ran,), line=line, id=id, time=time)

    def _runs(self, parts: Iterable[ContentPart]) -> Iterable[tuple[list[Part], ToolResult | None]]:
        """Split a reply at each result of code that the provider ran: the parts up to it, with that result; then the rest."""
        said: list[Part] = []
        for part in parts:
            if part.code_execution_result is None:
                said += self._said(part)
                continue
            ran = part.code_execution_result
            failed = not ran.outcome.endswith("_OK")
            open_call = next(iter(self._open.get(_CODE, [])), _CODE)
            self._open[_CODE] = self._open.get(_CODE, [])[1:]
            yield said, ToolResult(call_id=open_call, text=ran.output or ran.outcome, is_error=failed)
            said = []
        yield said, None

    def _said(self, part: ContentPart) -> Iterable[Part]:
        if part.function_call is not None:
            yield self._call(part.function_call)
        elif part.executable_code is not None:
            ran = part.executable_code
            asked = msgspec.json.encode({"language": ran.language, "code": ran.code})
            yield self._call(_Call(name=_CODE, args=msgspec.Raw(asked)))
        elif part.text:
            yield Reasoning(text=part.text) if part.thought else Text(text=part.text)
        yield from _media(part)

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
        parts = (decoded(_part, raw) or ContentPart() for raw in items(answer.parts))
        media = tuple(shown for part in parts for shown in _media(part))
        return ToolResult(call_id=id, text=text, is_error=bool(as_text(outcome.error)), media=media)


def _media(part: ContentPart) -> Iterable[Image | Document]:
    for data in (part.inline_data, part.file_data):
        if data is not None:
            kind = Image if data.mime_type.startswith("image/") else Document
            yield kind(media_type=data.mime_type, data=data.data, url=data.file_uri)


_SNAKE = re.compile(
    rb'"(function_call|function_response|inline_data|file_data|mime_type|file_uri|executable_code|code_execution_result)"(?=\s*:)'
)


def _camel(raw: bytes) -> bytes:
    """JSON with the members named as the API names them; the Python SDK writes ``function_call``.

    A quote right before the colon ends a name: inside of a string it would stand escaped.
    """
    return _SNAKE.sub(lambda found: b'"' + _upper(found[1]) + b'"', raw)


def _upper(name: bytes) -> bytes:
    first, *rest = name.split(b"_")
    return first + b"".join(word.capitalize() for word in rest)


def _turn(raw: bytes) -> Content:
    """A turn; its parts may be one part alone, or its text."""
    fields = _fields(raw)
    parts = bytes(fields.get("parts", b""))
    if parts.startswith(b'"'):
        parts = b'{"text":' + parts + b"}"
    if parts.startswith(b"{"):
        fields["parts"] = msgspec.Raw(b"[" + parts + b"]")
    return _content(_camel(msgspec.json.encode(fields)))


def is_content(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object with these fields is a turn: its parts have no ``type``, as those of other APIs do."""
    if string(fields.get("role", b"")) not in ("user", "model", ""):
        return False
    raw = bytes(fields.get("parts", b""))
    try:
        parts = _parts(b"[" + raw + b"]" if raw.startswith(b"{") else raw)
    except msgspec.DecodeError:
        return False
    return bool(parts) and not any("type" in part for part in parts)


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a request with ``contents``, what Gemini CLI saved, or a turn of such a list."""
    try:
        turns = _objects(fields.get("contents", b""))
    except msgspec.DecodeError:
        return is_content(fields) or _is_saved(fields)
    return any("parts" in turn for turn in turns[:1])


def _is_saved(fields: Mapping[str, msgspec.Raw]) -> bool:
    try:
        return any(map(is_content, _objects(fields.get("history", b""))[:1]))
    except msgspec.DecodeError:
        return False


def read(lines: Iterable[bytes]) -> Session:
    """Read a request, what Gemini CLI saved, or a list of turns.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = b"".join(lines)
    if document.lstrip().startswith(b"["):
        request = _Request(contents=_items(document))
    else:
        fields = _fields(document)
        if _is_saved(fields):
            fields["contents"] = fields["history"]
        if "system_instruction" in fields:
            fields["systemInstruction"] = fields["system_instruction"]
        request = _request(msgspec.json.encode(fields))
    log, turns, skipped = Log(), Turns(), list[Skipped]()
    if bytes(request.system_instruction):
        text = string(request.system_instruction)
        parts = [ContentPart(text=text)] if text else _turn(request.system_instruction).parts
        log.add("system", [Text(text=part.text) for part in parts if part.text], line=1)
    for index, raw in enumerate(request.contents):
        try:
            turns.add(log, _turn(raw), line=1)
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"turn {index} has unexpected content: {error}"))
    return Session(
        format="gemini",
        messages=tuple(log.messages),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=request.model,
    )
