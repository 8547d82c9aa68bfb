"""The chats that Claude.ai hands out as ``conversations.json``: a list of conversations, each a list of messages.

A reply holds its calls with their results, newer exports without ids: a result belongs to the oldest open call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct, field

from autocompact.core.messages import Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, as_text, decoded, items, not_exported, off_branch
from autocompact.sessions.exports import last_used
from autocompact.sessions.session import Session, Skipped


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"{}")
    content: msgspec.Raw = msgspec.Raw(b"")
    is_error: bool | None = None
    tool_use_id: str | None = None


class _Attachment(msgspec.Struct):
    file_name: str | None = None
    extracted_content: str | None = None


class _Message(msgspec.Struct):
    sender: str
    uuid: str = ""
    text: str | None = None
    content: list[_Block] | None = None
    created_at: str | None = None
    attachments: list[_Attachment] | None = None
    files: msgspec.Raw = msgspec.Raw(b"")
    parent_message_uuid: str | None = None


class _Chat(msgspec.Struct):
    chat_messages: list[msgspec.Raw]
    name: str | None = None
    model: str | None = None
    updated_at: str | None = None
    current_leaf_message_uuid: str | None = None


_chat = msgspec.json.Decoder(_Chat).decode
_message = msgspec.json.Decoder(_Message).decode
_attachment = msgspec.json.Decoder(_Attachment).decode
_blocks = msgspec.json.Decoder(list[_Block]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if an object is a conversation of Claude.ai."""
    return bytes(fields.get("chat_messages", b"")).startswith(b"[")


def read(lines: Iterable[bytes]) -> Session:
    """Read one conversation of Claude.ai, or the last used of a list of them.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    chat, skipped = last_used(
        lines,
        _chat,
        used=lambda chat: (bool(chat.chat_messages), chat.updated_at or ""),
        title=lambda chat: chat.name or "",
    )
    messages: list[_Message] = []
    for index, raw in enumerate(chat.chat_messages):
        try:
            messages.append(_message(raw))
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    leaf, known = chat.current_leaf_message_uuid, {message.uuid for message in messages}
    parents = {message.uuid: message.parent_message_uuid for message in messages if message.uuid}
    left = off_branch(parents, leaf) if leaf in known else frozenset[str]()
    shown, abandoned = _Reader(), _Reader()
    for message in messages:
        (abandoned if message.uuid in left else shown).feed(message)
    return Session(
        format="claude_ai",
        messages=tuple(shown.log.messages),
        abandoned=tuple(abandoned.log.messages),
        skipped=tuple(skipped),
        lines=tuple(shown.log.lines),
        model=chat.model or "",
        title=chat.name or "",
    )


class _Reader(Struct):
    log: Log = field(default_factory=Log)
    _calls: int = 0

    def feed(self, message: _Message) -> None:
        if message.sender == "human":
            self._request(message)
        else:
            self._reply(message)

    def _request(self, message: _Message) -> None:
        time = message.created_at or ""
        files = [
            Text(text=f"{each.file_name or 'attachment'}:\n{each.extracted_content}")
            for each in message.attachments or ()
            if each.extracted_content
        ]
        told = {each.file_name for each in message.attachments or () if each.extracted_content}
        named = (decoded(_attachment, raw) or _Attachment() for raw in items(message.files))
        names = [each.file_name for each in named if each.file_name not in told]
        files += [Text(text=not_exported(name)) for name in names if name]
        words = [Text(text=block.text) for block in message.content or () if block.text]
        parts = words or ([Text(text=message.text)] if message.text else [])
        self.log.add("user", files, line=1, synthetic=True, time=time)
        self.log.add("user", parts, line=1, id=message.uuid, time=time)

    def _reply(self, message: _Message) -> None:
        """Each result ends a message."""
        time, id = message.created_at or "", message.uuid
        said: list[Part] = []
        waiting: list[str] = []
        for block in message.content or [_Block(text=message.text)]:
            if block.type == "tool_use":
                self._calls += 1
                waiting.append(block.id or f"call-{self._calls}")
                said.append(ToolCall(id=waiting[-1], name=block.name or "", arguments=as_text(block.input)))
            elif block.type == "tool_result" and waiting:
                self.log.add("assistant", said, line=1, id=id, time=time)
                said = []
                text, failed = _result_text(block.content), bool(block.is_error)
                call = block.tool_use_id if block.tool_use_id in waiting else waiting[0]
                waiting.remove(call)
                result = ToolResult(call_id=call, text=text, is_error=failed)
                self.log.add("tool", [result], line=1, time=time)
            elif block.thinking:
                said.append(Reasoning(text=block.thinking))
            elif block.text:
                said.append(Text(text=block.text))
        self.log.add("assistant", said, line=1, id=id, time=time)


def _result_text(content: msgspec.Raw) -> str:
    try:
        texts = [block.text for block in _blocks(content) if block.text]
    except msgspec.DecodeError:
        return as_text(content)
    # a file that was made is told by its path alone, in a block without a text
    return "\n".join(texts) or (as_text(content) if bytes(content) != b"[]" else "")
