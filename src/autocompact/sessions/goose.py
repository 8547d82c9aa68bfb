"""goose sessions: JSON lines of the older versions, and the document that ``goose session export`` writes.

Since goose keeps its sessions in a database, a compaction hides the older messages from the model and adds a summary
that the person does not see: metadata of a message says for whom it is. It also appends the last request once more,
which is the original that stays. Source: ``context_mgmt`` of goose 1.x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Image, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, as_text, decoded, imported, iso_time, string
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session, Skipped


class _Value(msgspec.Struct, rename="camel"):
    """Value of a tool call or of its result."""

    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    content: list[_Piece] | None = None
    structured_content: msgspec.Raw = msgspec.Raw(b"")
    is_error: bool | None = None


class _Outcome(msgspec.Struct):
    status: str = ""
    value: msgspec.Raw = msgspec.Raw(b"{}")
    error: msgspec.Raw = msgspec.Raw(b"")


class _Resource(msgspec.Struct):
    uri: str = ""
    text: str | None = None


class _Action(msgspec.Struct):
    """What goose asks of the person beside the conversation, or is answered."""

    message: msgspec.Raw = msgspec.Raw(b"")
    user_data: msgspec.Raw = msgspec.Raw(b"")


class _Annotations(msgspec.Struct):
    audience: list[str] | None = None


class _Piece(msgspec.Struct, rename="camel"):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"")
    uri: msgspec.Raw = msgspec.Raw(b"")
    name: msgspec.Raw = msgspec.Raw(b"")
    mime_type: str | None = None
    resource: _Resource | None = None
    annotations: _Annotations | None = None
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
_action = msgspec.json.Decoder(_Action).decode
_value = msgspec.json.Decoder(_Value).decode
_pieces = msgspec.json.Decoder(list[_Piece]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object with these fields is a message of goose, or begins a session of it."""
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
    reader.settle()
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
        self._visible = False  # whether the model still sees a message since the last compaction
        self._summary: tuple[_Message, int] | None = (
            None  # what was a summary once, if goose goes on behind it
        )

    def feed(self, message: _Message, *, line: int) -> None:
        meta = message.metadata or _Metadata()
        earlier, self._summary = self._summary, None
        if earlier is not None:
            if _goes_on(message):
                self._compacted(*earlier)
            else:
                self._add(*earlier)
        if meta.user_visible or _goes_on(message) or not self._is_summary(meta):
            if not self._is_kept(message):
                self._add(message, line)
        elif meta.agent_visible:
            self._compacted(message, line)
        else:
            self._summary = message, line

    def settle(self) -> None:
        """Take what was read last for what it is."""
        if self._summary is not None:
            self._add(*self._summary)

    def _is_summary(self, meta: _Metadata) -> bool:
        """True if a message that the person does not see may stand for all before: goose hides nothing less."""
        covered = self.compactions[-1].through_seq if self.compactions else 0
        return self._hidden > covered and not (meta.agent_visible and self._visible)

    def _compacted(self, message: _Message, line: int) -> None:
        self.compactions.append(
            imported(
                id=message.id or f"line-{line}",
                summary="\n".join(piece.text for piece in message.content if piece.text),
                through_seq=self._hidden,
                earlier=self.compactions,
                author="goose",
                time=iso_time(message.created),
            )
        )
        self._visible = False

    def _is_kept(self, message: _Message) -> bool:
        """True if this is the last request before a compaction once more; the compaction keeps the original then."""
        last = self.compactions[-1] if self.compactions else None
        if last is None or last.keep or message.role != "user" or self._visible:
            return False
        requests = (
            each for each in reversed(self.log.messages) if each.is_request and each.seq <= last.through_seq
        )
        request = next(requests, None)
        if request is None or request.text != "\n".join(piece.text or "" for piece in message.content):
            return False
        self.compactions[-1] = replace(last, keep=(request.seq,))
        return True

    def _add(self, message: _Message, line: int) -> None:
        meta = message.metadata or _Metadata()
        time, id = iso_time(message.created), message.id or ""
        for piece in message.content:
            if piece.type == "toolResponse":
                self.log.add("tool", (_result(piece),), line=line, time=time)
        role = "assistant" if message.role == "assistant" else "user"
        said = [made for piece in message.content for made in _part(piece)]
        note = role == "user" and not meta.user_visible and meta.agent_visible
        self.log.add(role, said, line=line, synthetic=note or _goes_on(message), id=id, time=time)
        if not meta.agent_visible:
            self._hidden = len(self.log.messages)
        elif meta.user_visible:
            self._visible = True


def _goes_on(message: _Message) -> bool:
    """True if this is what goose tells the model behind a summary."""
    meta = message.metadata or _Metadata()
    return not meta.user_visible and any(
        (piece.text or "").startswith("Your context was compacted") for piece in message.content
    )


def _part(piece: _Piece) -> Iterable[Part]:
    match piece.type:
        case "text" if piece.text:
            yield Text(text=piece.text)
        case "thinking" if piece.thinking:
            yield Reasoning(text=piece.thinking)
        case "image" if data := string(piece.data):
            yield Image(media_type=piece.mime_type or "", data=data)
        case "resource_link" if uri := string(piece.uri):
            yield Text(text=f"{string(piece.name)} {uri}".strip())
        case "actionRequired" if said := _asked(decoded(_action, piece.data) or _Action()):
            yield Text(text=said)
        case "resource" if piece.resource is not None:
            yield Text(text=piece.resource.text or piece.resource.uri)
        case "toolRequest" | "frontendToolRequest":
            yield _call(piece)
        case _:
            pass


def _asked(action: _Action) -> str:
    """The question of a form, or what the person filled in; "" for the approval of a call."""
    return as_text(action.user_data) or string(action.message)


def _call(piece: _Piece) -> ToolCall:
    """A call; one that goose could not read has the reason in the place of its name and arguments.

    One whose shape is not known has all of it there.
    """
    outcome = piece.tool_call or _Outcome()
    if outcome.status == "error":
        reason = msgspec.json.encode({"error": as_text(outcome.error)}).decode()
        return ToolCall(id=piece.id or "", name="unreadable_call", arguments=reason)
    call = decoded(_value, outcome.value)
    if call is None:
        unknown = msgspec.json.encode({"value": outcome.value}).decode()
        return ToolCall(id=piece.id or "", name="unreadable_call", arguments=unknown)
    return ToolCall(id=piece.id or "", name=call.name, arguments=as_text(call.arguments))


def _result(piece: _Piece) -> ToolResult:
    outcome = piece.tool_result or _Outcome()
    raw = bytes(outcome.value)
    value = _Value(content=_pieces(raw)) if raw.startswith(b"[") else _value(raw)
    parts = [made for each in value.content or () if _is_for_model(each) for made in _part(each)]
    text = "\n".join(part.text for part in parts if isinstance(part, Text)) or as_text(outcome.error)
    media = tuple(part for part in parts if isinstance(part, Image))
    if not text and not media:
        text = as_text(value.structured_content)
    failed = bool(value.is_error) or outcome.status == "error"
    return ToolResult(call_id=piece.id or "", text=text, is_error=failed, media=media)


def _is_for_model(piece: _Piece) -> bool:
    """Tools answer the person and the model apart; what names no audience is for both."""
    audience = piece.annotations.audience if piece.annotations else None
    return not audience or "assistant" in audience
