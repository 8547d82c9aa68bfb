"""Messages of the Vercel AI SDK as JSON: UI messages with ``parts``, and model messages with calls in their content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.core.messages import Document, Image, Part, Reasoning, Role, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, as_text, decoded, items, string
from autocompact.sessions.session import Session, Skipped

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_NOT_SAID = frozenset({"tool-result", "tool-approval-request", "tool-approval-response"})
_DENIED = "the user did not approve this call"


class _Output(msgspec.Struct, frozen=True):
    type: str = ""
    value: msgspec.Raw = msgspec.Raw(b"")
    reason: str | None = None


class _Shown(msgspec.Struct, rename="camel"):
    """A piece of a result that is more than a text: ``type`` says which, under a name of its own in each version."""

    type: str = ""
    text: msgspec.Raw = msgspec.Raw(b"")
    data: msgspec.Raw = msgspec.Raw(b"")
    url: msgspec.Raw = msgspec.Raw(b"")
    media_type: msgspec.Raw = msgspec.Raw(b"")
    filename: msgspec.Raw = msgspec.Raw(b"")


class _Approval(msgspec.Struct):
    approved: bool | None = None
    reason: str | None = None


class _Invocation(msgspec.Struct, rename="camel"):
    tool_call_id: str = ""
    tool_name: str = ""
    state: str = ""
    args: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct, rename="camel"):
    type: str = ""
    text: str | None = None
    reasoning: str | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    state: str = ""
    input: msgspec.Raw = msgspec.Raw(b"")
    raw_input: msgspec.Raw = msgspec.Raw(b"")
    args: msgspec.Raw = msgspec.Raw(b"")
    output: msgspec.Raw = msgspec.Raw(b"")
    result: msgspec.Raw = msgspec.Raw(b"")
    error_text: str | None = None
    approval: _Approval | None = None
    tool_invocation: _Invocation | None = None
    media_type: str = ""
    mime_type: str = ""
    url: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"")
    image: msgspec.Raw = msgspec.Raw(b"")
    filename: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: str
    id: str | None = None
    created_at: msgspec.Raw = msgspec.Raw(b"")
    content: str | list[_Part] | None = None
    parts: list[_Part] | None = None
    tool_invocations: list[_Invocation] | None = None


class _Typed(msgspec.Struct):
    type: str = ""


class _Shape(msgspec.Struct, rename="camel"):
    role: str
    content: str | list[_Typed] | None = None
    parts: list[_Typed] | None = None
    tool_invocations: list[msgspec.Raw] | None = None


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_message = msgspec.json.Decoder(_Message).decode
_shape = msgspec.json.Decoder(_Shape).decode
_shown = msgspec.json.Decoder(_Shown).decode
_output = msgspec.json.Decoder(_Output).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a UI message, or holds a list in which there is any message of the SDK."""
    if "messages" in fields:
        try:
            return is_list(fields["messages"])
        except msgspec.DecodeError:
            return False
    return _is_message(fields, alone=True)


def is_list(document: msgspec.Raw | bytes) -> bool:
    """True if a JSON array holds a message of a shape that only this SDK has."""
    return any(_is_message(raw, alone=False) for raw in _items(document))


def _is_message(raw: msgspec.Raw | Mapping[str, msgspec.Raw], *, alone: bool) -> bool:
    try:
        shape = _shape(msgspec.json.encode(raw) if isinstance(raw, Mapping) else raw)
    except msgspec.DecodeError:
        return False
    if shape.role not in _ROLES:
        return False
    if shape.parts is not None or shape.tool_invocations is not None:
        return all(part.type for part in shape.parts or ())
    # a text is not looked at letter by letter: one can be as long as a file
    blocks = shape.content if isinstance(shape.content, list) else ()
    return not alone and any(part.type in ("tool-call", "tool-result") for part in blocks)


def read(lines: Iterable[bytes]) -> Session:
    """Read a list of messages, an object that holds one, or a message alone.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = b"".join(lines)
    if document.lstrip().startswith(b"["):
        raws = _items(document)
    else:
        fields = _fields(document)
        raws = _items(fields["messages"]) if "messages" in fields else [msgspec.Raw(document)]
    log, skipped = Log(), list[Skipped]()
    for index, raw in enumerate(raws):
        try:
            _add(log, _message(raw))
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    return Session(
        format="vercel_ai", messages=tuple(log.messages), skipped=tuple(skipped), lines=tuple(log.lines)
    )


def _add(log: Log, message: _Message) -> None:
    role = _ROLES.get(message.role)
    if role is None:
        raise msgspec.ValidationError(f"role {message.role!r} is none of {', '.join(_ROLES)}")
    time, id = string(message.created_at), message.id or ""
    pieces = message.parts
    if pieces is None:
        text = message.content
        pieces = [_Part(type="text", text=text)] if isinstance(text, str) else text or []
        pieces += [_Part(tool_invocation=each) for each in message.tool_invocations or ()]
    for step in _steps(pieces):
        said = [part for piece in step for part in _said(piece)]
        log.add("user" if role == "tool" else role, said, line=1, id=id, time=time)
        for result in (result for piece in step for result in _results(piece)):
            log.add("tool", [result], line=1, time=time)


def _steps(pieces: Iterable[_Part]) -> list[list[_Part]]:
    """The parts of one UI message by the steps that they were: calls of a step are answered before the next one."""
    steps: list[list[_Part]] = [[]]
    for piece in pieces:
        if piece.type == "step-start":
            steps.append([])
        else:
            steps[-1].append(piece)
    return steps


def _said(piece: _Part) -> Iterable[Part]:
    name = piece.tool_name or piece.type.removeprefix("tool-")
    if piece.tool_invocation is not None:
        call = piece.tool_invocation
        yield ToolCall(id=call.tool_call_id, name=call.tool_name, arguments=as_text(call.args))
    elif piece.type == "reasoning" and (thought := piece.text or piece.reasoning):
        yield Reasoning(text=thought)
    elif piece.type in _NOT_SAID:
        return
    elif piece.tool_call_id:
        arguments = as_text(piece.input) or as_text(piece.raw_input) or as_text(piece.args) or "{}"
        yield ToolCall(id=piece.tool_call_id, name=name, arguments=arguments)
    elif piece.type in ("file", "image"):
        where = piece.url or string(piece.data) or string(piece.image)
        kind, is_link = piece.media_type or piece.mime_type, where.startswith(("http:", "https:"))
        data = "" if is_link else where.partition(";base64,")[2] or where
        url = where if is_link else ""
        if piece.type == "image" or kind.startswith("image/"):
            yield Image(media_type=kind, data=data, url=url)
        else:
            yield Document(media_type=kind, name=piece.filename or "", data=data, url=url)
    elif piece.text:
        yield Text(text=piece.text)


def _results(piece: _Part) -> Iterable[ToolResult]:
    call = piece.tool_invocation
    if call is not None and call.state == "result":
        yield ToolResult(call_id=call.tool_call_id, text=as_text(call.result))
    elif piece.type == "tool-result":
        try:
            output = _output(piece.output)
        except msgspec.DecodeError:
            output = _Output()
        yield _result(piece, output)
    elif piece.state == "output-error":
        yield ToolResult(call_id=piece.tool_call_id, text=piece.error_text or "", is_error=True)
    elif piece.state == "output-denied" or (piece.approval and piece.approval.approved is False):
        yield ToolResult(
            call_id=piece.tool_call_id,
            text=_denial(piece.approval.reason if piece.approval else None),
            is_error=True,
        )
    elif piece.state == "output-available":
        yield ToolResult(call_id=piece.tool_call_id, text=as_text(piece.output))


def _result(piece: _Part, output: _Output) -> ToolResult:
    id = piece.tool_call_id
    if output.type == "execution-denied":
        return ToolResult(call_id=id, text=_denial(output.reason), is_error=True)
    if output.type == "content" and bytes(output.value).startswith(b"["):
        parts = [part for each in items(output.value) for part in _piece(each)]
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        media = tuple(part for part in parts if not isinstance(part, Text))
        return ToolResult(call_id=id, text=text, media=media)
    text = as_text(output.value) or as_text(piece.output) or as_text(piece.result)
    return ToolResult(call_id=id, text=text, is_error=output.type.startswith("error"))


def _piece(raw: msgspec.Raw) -> Iterable[Text | Image | Document]:
    """A piece of a result; one of a kind that is not known, such as a file by its id alone, as its JSON."""
    shown = decoded(_shown, raw) or _Shown(text=raw)
    text, data, url = string(shown.text), string(shown.data), string(shown.url)
    if text:
        yield Text(text=text)
    if data or url:
        kind = string(shown.media_type)
        if shown.type.startswith("image") or kind.startswith("image/"):
            yield Image(media_type=kind, data=data, url=url)
        else:
            yield Document(media_type=kind, name=string(shown.filename), data=data, url=url)
    if not (text or data or url or _is_bare(raw)):
        yield Text(text=as_text(raw))


def _is_bare(raw: msgspec.Raw) -> bool:
    """True if a piece tells nothing but its type, or has a text that is empty."""
    fields = decoded(_fields, raw)
    if fields is None:
        return bytes(raw) == b"null"
    return all(name == "type" or bytes(value) in (b'""', b"null") for name, value in fields.items())


def _denial(reason: str | None) -> str:
    return f"{_DENIED}: {reason}" if reason else _DENIED
