"""The chats that ChatGPT hands out as ``conversations.json``: a list of conversations, each a tree of messages.

ChatGPT keeps every version of an edited message: the branch that was shown last is the session. What its own tools were
asked and answered is recorded without ids: an answer belongs to the last call that is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from autocompact.core.messages import Image, Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, decoded, iso_time, items, not_exported, off_branch, string
from autocompact.sessions.exports import last_used
from autocompact.sessions.session import Session, Skipped


class _Author(msgspec.Struct, frozen=True):
    role: str = ""
    name: str | None = None


class _Thought(msgspec.Struct):
    summary: str | None = None
    content: str | None = None


class _Said(msgspec.Struct, frozen=True):
    content_type: str = ""
    parts: list[msgspec.Raw] | None = None
    text: str | None = None
    result: str | None = None
    thoughts: list[_Thought] | None = None
    user_profile: str | None = None
    user_instructions: str | None = None
    model_set_context: str | None = None


class _Asset(msgspec.Struct):
    text: str | None = None
    asset_pointer: str | None = None


class _Marks(msgspec.Struct, frozen=True):
    model_slug: str | None = None
    attachments: msgspec.Raw = msgspec.Raw(b"")
    is_visually_hidden_from_conversation: bool = False


class _Message(msgspec.Struct):
    id: str = ""
    author: _Author = _Author()
    create_time: float | str | None = None
    content: _Said = _Said()
    recipient: str | None = None
    metadata: _Marks = _Marks()


class _Node(msgspec.Struct):
    parent: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"")


class _Chat(msgspec.Struct):
    mapping: dict[str, _Node]
    current_node: str | None = None
    title: str | None = None
    update_time: float | str | None = None
    create_time: float | str | None = None


_CONTEXT = frozenset({"user_editable_context", "model_editable_context"})
"""Instructions and memories that ChatGPT puts before a conversation."""

_chat = msgspec.json.Decoder(_Chat).decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_message = msgspec.json.Decoder(_Message | None).decode
_asset = msgspec.json.Decoder(_Asset).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a conversation of ChatGPT."""
    return bytes(fields.get("mapping", b"")).startswith(b"{")


def read(lines: Iterable[bytes]) -> Session:
    """Read one conversation of ChatGPT, or the last used of a list of them.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    chat, skipped = last_used(
        lines,
        _chat,
        used=lambda chat: (len(chat.mapping) > 1, _seconds(chat.update_time) or _seconds(chat.create_time)),
        title=lambda chat: chat.title or "",
    )
    left = off_branch({id: node.parent for id, node in chat.mapping.items()}, _leaf(chat))
    shown, abandoned = _Reader(skipped), _Reader([])
    for id in _in_order(chat):
        (abandoned if id in left else shown).feed(chat.mapping[id].message, node=id)
    return Session(
        format="chatgpt",
        messages=tuple(shown.log.messages),
        abandoned=tuple(abandoned.log.messages),
        skipped=tuple(skipped),
        lines=tuple(shown.log.lines),
        model=shown.log.model,
        title=chat.title or "",
    )


def _leaf(chat: _Chat) -> str | None:
    """The node that was shown last; the last one where the export does not say."""
    return chat.current_node if chat.current_node in chat.mapping else next(reversed(chat.mapping), None)


def _in_order(chat: _Chat) -> list[str]:
    """The nodes, each after its parent."""
    children: dict[str | None, list[str]] = {}
    for id, node in chat.mapping.items():
        children.setdefault(node.parent if node.parent in chat.mapping else None, []).append(id)
    order: list[str] = []
    waiting = list(reversed(children.get(None, [])))
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children.get(order[-1], []))
    return order


class _Reader:
    def __init__(self, skipped: list[Skipped]) -> None:
        self.log = Log()
        self._skipped = skipped
        self._open: list[str] = []

    def feed(self, raw: msgspec.Raw, *, node: str) -> None:
        try:
            message = _message(raw) if bytes(raw) else None
            parts = _parts(message.content) if message is not None else []
        except msgspec.DecodeError as error:
            self._skipped.append(Skipped(line=0, reason=f"message {node} has unexpected content: {error}"))
            return
        if message is not None:
            self._add(message, parts)

    def _add(self, message: _Message, parts: list[Part]) -> None:
        time, id, hidden = (
            iso_time(_seconds(message.create_time)),
            message.id,
            message.metadata.is_visually_hidden_from_conversation,
        )
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        role, model = message.author.role, message.metadata.model_slug or ""
        if role == "assistant":
            if message.recipient not in (None, "", "all"):
                self._open.append(id)
                parts = [ToolCall(id=id, name=message.recipient or "", arguments=text)]
            self.log.add("assistant", parts, line=1, id=id, time=time, model=model)
        elif role == "tool" and self._open:
            media = tuple(part for part in parts if isinstance(part, Image))
            result = ToolResult(call_id=self._open.pop(), text=text, media=media)
            self.log.add("tool", [result], line=1, id=id, time=time)
        elif role == "system":
            self.log.add("system", parts, line=1, id=id, time=time)
        else:
            attached = (decoded(_fields, raw) or {} for raw in items(message.metadata.attachments))
            names = (string(fields.get("name", b"")) for fields in attached)
            files = [Text(text=not_exported(name)) for name in names if name]
            self.log.add("user", files, line=1, synthetic=True, time=time)
            note = hidden or role != "user" or message.content.content_type in _CONTEXT
            self.log.add("user", parts, line=1, synthetic=note, id=id, time=time)


def _parts(said: _Said) -> list[Part]:
    parts: list[Part] = [
        Reasoning(text=f"{thought.summary or ''}\n{thought.content or ''}".strip())
        for thought in said.thoughts or ()
    ]
    for raw in said.parts or ():
        if bytes(raw) == b"null":
            continue
        if bytes(raw).startswith(b'"'):
            parts += [Text(text=text)] if (text := string(raw)) else []
        else:
            asset = _asset(raw)
            parts += [Image(url=asset.asset_pointer)] if asset.asset_pointer else []
            parts += [Text(text=asset.text)] if asset.text else []
    texts = (said.text, said.result, said.user_profile, said.user_instructions, said.model_set_context)
    return [*parts, *(Text(text=text) for text in texts if text)]


def _seconds(time: float | str | None) -> float:
    """A Unix time; newer exports write a date, others a number as text. 0 for none."""
    if isinstance(time, str):
        try:
            time = float(time) if "-" not in time else _date(time).timestamp()
        except (ValueError, OverflowError):
            time = None
    return time or 0.0


def _date(text: str) -> datetime:
    """A date in ISO 8601; one without a zone is in UTC."""
    date = datetime.fromisoformat(text)
    return date if date.tzinfo else date.replace(tzinfo=UTC)
