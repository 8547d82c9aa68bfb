"""Sessions of Continue (``~/.continue/sessions``): one document; files that the person named stand beside a message.

A summary stands beside the last message that it covers: Continue sends it and what comes after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Image, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, imported, string
from autocompact.sessions.session import Session, Skipped


class _Url(msgspec.Struct):
    url: str = ""


class _Piece(msgspec.Struct, rename="camel"):
    type: str = ""
    text: str | None = None
    image_url: _Url | None = None


class _Function(msgspec.Struct, frozen=True):
    name: str = ""
    arguments: str = "{}"


class _Call(msgspec.Struct, frozen=True):
    id: str = ""
    function: _Function = _Function()


class _Usage(msgspec.Struct, rename="camel"):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: str | list[_Piece] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str = ""
    usage: _Usage | None = None


class _Context(msgspec.Struct):
    name: str = ""
    content: str = ""


class _State(msgspec.Struct, rename="camel"):
    tool_call_id: str = ""
    status: str = ""
    tool_call: _Call = _Call()
    output: list[_Context] | None = None


class _Thought(msgspec.Struct):
    text: str = ""


class _Item(msgspec.Struct, rename="camel"):
    message: _Message
    context_items: list[_Context] | None = None
    tool_call_states: list[_State] | None = None
    tool_call_state: _State | None = None
    reasoning: _Thought | None = None
    conversation_summary: str | None = None


class _Document(msgspec.Struct, rename="camel"):
    session_id: str
    history: list[msgspec.Raw]
    title: str = ""
    workspace_directory: str = ""
    chat_model_title: str | None = None


_document = msgspec.json.Decoder(_Document).decode
_item = msgspec.json.Decoder(_Item).decode
_items = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a document with these fields is a session of Continue."""
    if not string(fields.get("sessionId", b"")):
        return False
    try:
        return any("message" in item for item in _items(fields.get("history", b""))[:1])
    except msgspec.DecodeError:
        return False


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from the lines of its one document.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = _document(b"".join(lines))
    log, skipped, answered = Log(), list[Skipped](), set[str]()
    compactions: list[Compaction] = []
    for index, raw in enumerate(document.history):
        try:
            item = _item(raw)
            _add(log, item, answered=answered)
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"item {index} has unexpected content: {error}"))
            continue
        if item.conversation_summary and log.messages:
            compactions.append(
                imported(
                    id=f"item-{index}",
                    summary=item.conversation_summary,
                    through_seq=len(log.messages),
                    earlier=compactions,
                    author="Continue",
                )
            )
    return Session(
        format="continue",
        messages=tuple(log.messages),
        compactions=tuple(compactions),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=document.chat_model_title or "",
        cwd=document.workspace_directory.removeprefix("file://"),
        title=document.title,
    )


def _add(log: Log, item: _Item, *, answered: set[str]) -> None:
    """``answered`` are the calls whose result a message of its own or the reply's state already gave."""
    message = item.message
    thought = item.reasoning.text if item.reasoning else ""
    parts = [*([Reasoning(text=thought)] if thought else []), *_parts(message)]
    match message.role:
        case "tool":
            if message.tool_call_id not in answered:
                answered.add(message.tool_call_id)
                text = "\n".join(part.text for part in parts if isinstance(part, Text))
                log.add("tool", [ToolResult(call_id=message.tool_call_id, text=text)], line=1)
        case "thinking":
            log.add("assistant", [Reasoning(text=p.text) for p in parts if isinstance(p, Text)], line=1)
        case "assistant":
            states = item.tool_call_states or [*filter(None, (item.tool_call_state,))]
            calls = message.tool_calls or [state.tool_call for state in states]
            parts += [ToolCall(id=c.id, name=c.function.name, arguments=c.function.arguments) for c in calls]
            log.add("assistant", parts, line=1, usage=_usage(message.usage))
            for state in states:
                if state.output or state.status in ("canceled", "errored"):
                    answered.add(state.tool_call_id)
                    log.add("tool", [_result(state)], line=1)
        case "system":
            log.add("system", parts, line=1)
        case _:
            files = [Text(text=f"{each.name}:\n{each.content}") for each in item.context_items or ()]
            log.add("user", files, line=1, synthetic=True)
            log.add("user", parts, line=1)


def _result(state: _State) -> ToolResult:
    text = "\n".join(each.content for each in state.output or ())
    return ToolResult(call_id=state.tool_call_id, text=text, is_error=state.status in ("canceled", "errored"))


def _parts(message: _Message) -> list[Part]:
    if isinstance(message.content, str):
        return [Text(text=message.content)] if message.content else []
    parts: list[Part] = []
    for piece in message.content or ():
        if piece.image_url is not None:
            parts.append(Image(url=piece.image_url.url))
        elif piece.text:
            parts.append(Text(text=piece.text))
    return parts


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None or not usage.prompt_tokens:
        return None
    return Usage(prompt=usage.prompt_tokens, completion=usage.completion_tokens)
