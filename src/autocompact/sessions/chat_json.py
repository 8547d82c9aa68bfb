"""Chat messages as JSON: OpenAI or Anthropic messages in a list, in an object, or one by one on lines.

Objects that hold the list are requests (``messages``), request logs (with the reply under ``response``), SWE-agent
trajectories (``history``) and tau-bench ones (``traj``). Each message keeps its bytes: `autocompact.wire` parses it.
Where a file holds several conversations, the first one is the session, and the others are kept apart as sidechains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autocompact.core.messages import Dialect, Message, ToolResult
from autocompact.errors import InvalidRequest
from autocompact.sessions.building import decoded, string
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Format, Session, Skipped
from autocompact.wire.request import parse_message

_LISTS = ("messages", "history", "traj", "trajectory")
_ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"}
)
_OWN_SUMMARY = "a summary by Claude Science, of messages that are all there"
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class _Typed(msgspec.Struct):
    type: str | None = None


class _Shape(msgspec.Struct):
    """The fields that tell the dialect of a message, and the marks of SWE-agent and Claude Science on it."""

    role: str
    content: str | list[_Typed] | None = None
    tool_calls: list[msgspec.Raw] | None = None
    tool_call_id: str | None = None
    tool_call_ids: list[str] | None = None
    message_type: str | None = None
    agent: str | None = None
    is_demo: bool | None = None
    notice: msgspec.Raw = msgspec.field(name="_harness_notice", default=msgspec.Raw(b""))
    rolling_summary: msgspec.Raw = msgspec.field(name="_rolling_summary", default=msgspec.Raw(b""))

    @property
    def is_notice(self) -> bool:
        return bytes(self.notice) == b"true"

    @property
    def is_summary(self) -> bool:
        """True if Claude Science marked it so: with ``true``, or an object that has the text."""
        held = decoded(_fields, self.rolling_summary) or {}
        return bytes(self.rolling_summary) == b"true" or bool(string(held.get("text", b"")))


class _Choice(msgspec.Struct):
    message: msgspec.Raw = msgspec.Raw(b"")


class _Response(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None


class _Conversation(Struct, kw_only=True):
    """Messages with the line each begins at, and the program that wrote them where its own fields tell it."""

    messages: list[tuple[int, bytes]]
    system: bytes = b""
    model: str = ""
    program: Format | None = None


_Fields = Mapping[str, msgspec.Raw]
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_shape = msgspec.json.Decoder(_Shape).decode
_response = msgspec.json.Decoder(_Response).decode


def matches(fields: _Fields) -> bool:
    """True if an object with these fields is a message, or holds a list of them."""
    if string(fields.get("role", b"")) in _ROLES:
        return not fields.keys().isdisjoint(("content", "tool_calls", "function_call"))
    return any(_is_messages(fields[name]) for name in _LISTS if name in fields)


def is_list(document: bytes) -> bool:
    """True if a JSON array is a list of messages, or of objects that hold one."""
    items = _items(document)
    return bool(items) and bytes(items[0]).startswith(b"{") and matches(_fields(items[0]))


def read(lines: Iterable[bytes]) -> Session:
    """Read JSON lines: a message each, or an object with a list of messages each."""
    source = Lines(lines, msgspec.Raw)
    messages: list[tuple[int, bytes]] = []
    conversations: list[_Conversation] = []
    for number, line in source:
        try:
            fields = _fields(line)
        except msgspec.DecodeError as error:
            source.skip(number, f"not a message: {error}")
            continue
        if "role" in fields:
            messages.append((number, bytes(line)))
        elif (conversation := _wrapped(fields, line=number)) is not None:
            conversations.append(conversation)
        else:
            source.skip(number, "neither a message nor a list of messages")
    if messages:
        conversations.insert(0, _Conversation(messages=messages))
    return _session(conversations, skipped=source.skipped)


def read_list(lines: Iterable[bytes]) -> Session:
    """Read one JSON array: of messages, or of objects with a list of messages each."""
    items = [bytes(item) for item in _items(b"".join(lines))]
    if "role" in _fields(items[0]):
        return _session([_Conversation(messages=[(1, item) for item in items])], skipped=[])
    found = (_wrapped(_fields(item), line=1) for item in items)
    return _session([conversation for conversation in found if conversation is not None], skipped=[])


def read_object(lines: Iterable[bytes]) -> Session:
    """Read one JSON object with a list of messages."""
    conversation = _wrapped(_fields(b"".join(lines)), line=1)
    return _session([conversation] if conversation is not None else [], skipped=[])


def _is_messages(raw: msgspec.Raw) -> bool:
    try:
        items = _items(raw)
        return bool(items) and _shape(items[0]).role in _ROLES
    except msgspec.DecodeError:
        return False


def _wrapped(fields: _Fields, *, line: int) -> _Conversation | None:
    name = next((name for name in _LISTS if name in fields and _is_messages(fields[name])), None)
    if name is None:
        return None
    messages = [(line, bytes(item)) for item in _items(fields[name])]
    model = string(fields.get("model", b""))
    try:
        response = _response(fields["response"]) if "response" in fields else _Response()
    except msgspec.DecodeError:
        response = _Response()
    for choice in (response.choices or [])[:1]:
        if bytes(choice.message):
            messages.append((line, bytes(choice.message)))
    system = bytes(fields.get("system", b""))
    return _Conversation(
        messages=messages, system=system, model=model or response.model or "", program=_program(fields, name)
    )


def _program(fields: _Fields, name: str) -> Format | None:
    """The agent that keeps such objects, by its own fields; ``name`` is that of the list."""
    if name in ("history", "trajectory") or string(fields.get("trajectory_format", b"")).startswith(
        "mini-swe"
    ):
        return "swe_agent"
    if name == "traj":
        return "tau_bench"
    # the log of a request to a model, as OpenHands' SDK writes it
    return "openhands" if {"kwargs", "context_window", "latency_sec"} <= fields.keys() else None


def _session(conversations: list[_Conversation], *, skipped: list[Skipped]) -> Session:
    if not conversations:
        return Session(format="openai", messages=(), skipped=tuple(skipped))
    first, *others = conversations
    messages, lines, problems = _messages(first)
    if others:
        reason = (
            f"holds {len(conversations)} conversations: the first is the session, the others are sidechains"
        )
        problems.append(Skipped(line=0, reason=reason))
    return Session(
        format=first.program or ("anthropic" if _dialect(first) == "anthropic" else "openai"),
        messages=tuple(messages),
        sidechains={
            f"conversation {number}": tuple(_messages(other)[0])
            for number, other in enumerate(others, start=2)
        },
        skipped=(*skipped, *problems),
        lines=tuple(lines),
        model=first.model,
    )


def _dialect(conversation: _Conversation) -> Dialect:
    """Anthropic where the system prompt stands apart or a block is of a type that only Anthropic has."""
    if conversation.system:
        return "anthropic"
    for _, raw in conversation.messages:
        try:
            shape = _shape(raw)
        except msgspec.DecodeError:
            continue
        if shape.tool_calls or shape.role in ("system", "developer", "tool", "function"):
            return "openai_chat"
        if isinstance(shape.content, list) and any(part.type in _ANTHROPIC_BLOCKS for part in shape.content):
            return "anthropic"
    return "openai_chat"


def _messages(conversation: _Conversation) -> tuple[list[Message], list[int], list[Skipped]]:
    dialect = _dialect(conversation)
    messages: list[Message] = []
    lines: list[int] = []
    problems: list[Skipped] = []
    if conversation.system:
        messages.append(parse_message(conversation.system, seq=1, dialect=dialect, role="system"))
        lines.append(1)
    acted = False
    for line, raw in conversation.messages:
        try:
            if _shape(raw).is_summary:
                problems.append(Skipped(line=line, reason=_OWN_SUMMARY))
                continue
            messages.append(_message(raw, seq=len(messages) + 1, dialect=dialect, acted=acted))
            lines.append(line)
            acted = acted or messages[-1].role == "assistant"
        except (InvalidRequest, msgspec.DecodeError) as error:
            problems.append(Skipped(line=line, reason=f"not a message: {error}"))
    return messages, lines, problems


def _message(raw: bytes, *, seq: int, dialect: Dialect, acted: bool) -> Message:
    """Parse a message; ``acted`` says that the agent did something before it."""
    shape = _shape(raw)
    if shape.role not in _ROLES:
        raise InvalidRequest(f"role {shape.role!r} is none of {', '.join(sorted(_ROLES))}")
    if shape.role == "tool" and shape.tool_call_id is None and shape.tool_call_ids:
        # SWE-agent names the answered call in a field of its own.
        raw = b'{"tool_call_id":' + msgspec.json.encode(shape.tool_call_ids[0]) + b"," + raw.lstrip()[1:]
    message = parse_message(raw, seq=seq, dialect=dialect)
    only_results = bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts)
    if message.role == "user" and only_results:
        message = replace(message, role="tool")
    # SWE-agent shows the model a command's output, and worked examples, in the user's place; it calls the task so, too.
    observed = acted and (shape.message_type == "observation" or (shape.agent and shape.message_type is None))
    program = observed or shape.is_demo or shape.is_notice
    return replace(message, synthetic=True) if program and message.role == "user" else message
