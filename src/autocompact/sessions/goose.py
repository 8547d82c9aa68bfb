"""goose sessions: JSON lines of the older versions, and the document that ``goose session export`` writes.

Since goose keeps its sessions in a database, a compaction hides the older messages from the model and adds a summary
that the person does not see: metadata of a message says for whom it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Image, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, as_text, imported, iso_time, string
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session, Skipped


class _Value(msgspec.Struct, rename="camel"):
    """What a tool call asks, or what came back."""

    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    content: list[_Piece] | None = None
    is_error: bool | None = None


class _Outcome(msgspec.Struct):
    status: str = ""
    value: msgspec.Raw = msgspec.Raw(b"{}")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Piece(msgspec.Struct, rename="camel"):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    data: str | None = None
    mime_type: str | None = None
    tool_call: _Outcome | None = None
    tool_result: _Outcome | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    user_visible: bool = True
    agent_visible: bool = True


class _Message(msgspec.Struct):
    role: str
    content: list[_Piece]
    id: str | None = None
    created: float | None = None
    metadata: _Metadata | None = None


class _Head(msgspec.Struct):
    working_dir: str = ""
    description: str | None = None
    name: str | None = None
    conversation: list[msgspec.Raw] | None = None


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_head = msgspec.json.Decoder(_Head).decode
_message = msgspec.json.Decoder(_Message).decode
_value = msgspec.json.Decoder(_Value).decode
_pieces = msgspec.json.Decoder(list[_Piece]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """Whether an object with these fields is a message of goose, or begins a session of it."""
    if "messages" in fields or "tool_calls" in fields:
        return False
    if "working_dir" in fields:
        return not fields.keys().isdisjoint(("conversation", "message_count", "description"))
    is_message = string(fields.get("role", b"")) in ("user", "assistant") and "created" in fields
    return is_message and bytes(fields.get("content", b"")).startswith(b"[")


def read(lines: Iterable[bytes]) -> Session:
    """Read JSON lines, or the lines of one exported document."""
    reader, head = _Reader(), _Head()
    source = Lines(lines, msgspec.Raw)
    skipped: list[Skipped] = source.skipped
    for number, raw in source:
        try:
            if "working_dir" not in _fields(raw):
                reader.feed(_message(raw), line=number)
                continue
            head = _head(raw)
        except msgspec.DecodeError as error:
            source.skip(number, f"unexpected content: {error}")
            continue
        for index, each in enumerate(head.conversation or ()):
            try:
                reader.feed(_message(each), line=number)
            except msgspec.DecodeError as error:
                source.skip(0, f"message {index} has unexpected content: {error}")
    return Session(
        format="goose",
        messages=tuple(reader.log.messages),
        compactions=tuple(reader.compactions),
        skipped=tuple(skipped),
        lines=tuple(reader.log.lines),
        cwd=head.working_dir,
        title=head.name or head.description or "",
    )


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self.compactions: list[Compaction] = []
        self._hidden = 0  # the last message that the model does not see any more

    def feed(self, message: _Message, *, line: int) -> None:
        meta = message.metadata or _Metadata()
        time, id = iso_time(message.created), message.id or ""
        covered = self.compactions[-1].through_seq if self.compactions else 0
        if not meta.user_visible and self._hidden > covered:
            summary = "\n".join(piece.text for piece in message.content if piece.text)
            self.compactions.append(
                imported(
                    id=id or f"line-{line}",
                    summary=summary,
                    through_seq=self._hidden,
                    earlier=self.compactions,
                    author="goose",
                    time=time,
                )
            )
            return
        for piece in message.content:
            if piece.type == "toolResponse":
                self.log.add("tool", (_result(piece),), line=line, time=time)
        role = "assistant" if message.role == "assistant" else "user"
        said = [made for piece in message.content for made in _part(piece)]
        self.log.add(role, said, line=line, synthetic=not meta.user_visible, id=id, time=time)
        if not meta.agent_visible:
            self._hidden = len(self.log.messages)


def _part(piece: _Piece) -> Iterable[Part]:
    match piece.type:
        case "text" if piece.text:
            yield Text(text=piece.text)
        case "thinking" if piece.thinking:
            yield Reasoning(text=piece.thinking)
        case "image" if piece.data:
            yield Image(media_type=piece.mime_type or "", data=piece.data)
        case "toolRequest":
            call = _value((piece.tool_call or _Outcome()).value)
            yield ToolCall(id=piece.id or "", name=call.name, arguments=as_text(call.arguments))
        case _:
            pass


def _result(piece: _Piece) -> ToolResult:
    outcome = piece.tool_result or _Outcome()
    raw = bytes(outcome.value)
    value = _Value(content=_pieces(raw)) if raw.startswith(b"[") else _value(raw)
    parts = [made for each in value.content or () for made in _part(each)]
    text = "\n".join(part.text for part in parts if isinstance(part, Text)) or as_text(outcome.error)
    return ToolResult(
        call_id=piece.id or "",
        text=text,
        is_error=bool(value.is_error) or outcome.status == "error",
        media=tuple(part for part in parts if isinstance(part, Image)),
    )
