"""pi sessions: JSON lines of ``session``, ``message`` and ``compaction`` entries.

Newer files form a tree by ``id`` and ``parentId``: the branch of the last entry is the active one. A compaction
holds its summary in plain text and says where the entries that stayed begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Image, Part, Reasoning, Role, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, imported, kind_of, off_branch, string
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session


class _Block(msgspec.Struct, rename="camel"):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    data: str | None = None
    mime_type: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class _Message(msgspec.Struct, rename="camel"):
    role: str
    content: str | list[_Block] | None = None
    model: str | None = None
    usage: _Usage | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    command: str | None = None
    summary: str | None = None
    output: str | None = None
    exit_code: int | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    name: str | None = None
    message: _Message | None = None
    content: msgspec.Raw = msgspec.Raw(b'""')
    summary: str | None = None
    first_kept_entry_index: int | None = None
    first_kept_entry_id: str | None = None
    tokens_before: int | None = None


_ENTRIES = frozenset(
    {"compaction", "model_change", "thinking_level_change", "branch_summary", "custom_message"}
)


# Roles that pi shows the model in the user's place, and that nobody typed.
_NOTES = frozenset(
    "custom hookMessage branchSummary compactionSummary fileMention pythonExecution developer system".split()
)


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of pi's."""
    kind = kind_of(fields)
    if kind == "message":
        return "message" in fields and "timestamp" in fields
    if kind == "session":
        return "cwd" in fields and "timestamp" in fields
    return kind in _ENTRIES and "timestamp" in fields


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    source = Lines(lines, _Line)
    entries = list(source)
    left = _left([line for _, line in entries if line.type != "session"])
    main, abandoned = _Reader(), _Reader()
    for number, line in entries:
        (abandoned if line.id in left else main).feed(number, line)
    return Session(
        format="pi",
        messages=tuple(main.log.messages),
        compactions=tuple(main.compactions),
        abandoned=tuple(abandoned.log.messages),
        skipped=tuple(source.skipped),
        lines=tuple(main.log.lines),
        model=main.log.model,
        cwd=main.cwd,
        title=main.title,
    )


def _left(entries: list[_Line]) -> frozenset[str]:
    """The ids that are not on the way from the last entry to the root; nothing where entries have no ids."""
    parents = {line.id: line.parent_id for line in entries if line.id}
    return off_branch(parents, next((line.id for line in reversed(entries) if line.id), None))


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self.compactions: list[Compaction] = []
        self.cwd = ""
        self.title = ""
        self._number_of: dict[str, int] = {}

    def feed(self, number: int, line: _Line) -> None:
        if line.id:
            self._number_of[line.id] = number
        match line.type:
            case "session":
                self.cwd = self.cwd or line.cwd or ""
            case "session_info":
                self.title = line.name or self.title
            case "message" if line.message is not None:
                self._message(line.message, number=number, line=line)
            case "compaction":
                self._compaction(number, line)
            case "branch_summary" | "custom_message":
                self._note(line.summary or string(line.content), number=number, line=line)
            case _:
                pass

    def _note(self, text: str, *, number: int, line: _Line) -> None:
        if text:
            parts = (Text(text=text),)
            self.log.add(
                "user", parts, line=number, synthetic=True, id=line.id or "", time=line.timestamp or ""
            )

    def _message(self, message: _Message, *, number: int, line: _Line) -> None:
        if message.role == "bashExecution":
            self._note(_ran(message), number=number, line=line)
            return
        if message.role in _NOTES:
            text = message.summary or "\n".join(p.text for p in _parts(message) if isinstance(p, Text))
            self._note(text, number=number, line=line)
            return
        role: Role = "assistant" if message.role == "assistant" else "user"
        parts = _parts(message)
        if message.role == "toolResult":
            role, parts = "tool", [_result(message, parts)]
        self.log.add(
            role,
            parts,
            line=number,
            id=line.id or "",
            time=line.timestamp or "",
            model=message.model or "",
            usage=_usage(message.usage),
        )

    def _compaction(self, number: int, line: _Line) -> None:
        first = number
        if line.first_kept_entry_id is not None:
            first = self._number_of.get(line.first_kept_entry_id, number)
        elif line.first_kept_entry_index is not None:
            first = line.first_kept_entry_index + 1
        through = sum(at < first for at in self.log.lines)
        self.compactions.append(
            imported(
                id=line.id or f"line-{number}",
                summary=line.summary or "",
                through_seq=through,
                earlier=self.compactions,
                author="pi",
                tokens_before=line.tokens_before or 0,
                time=line.timestamp or "",
            )
        )


def _ran(message: _Message) -> str:
    code = f"\nExit code: {message.exit_code}" if message.exit_code else ""
    return f"Ran by the user: {message.command or ''}\n{message.output or ''}{code}"


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    prompt = usage.input + usage.cache_read + usage.cache_write
    return Usage(prompt=prompt, completion=usage.output) if prompt else None


def _parts(message: _Message) -> list[Part]:
    if isinstance(message.content, str):
        return [Text(text=message.content)] if message.content else []
    parts: list[Part] = []
    for block in message.content or ():
        match block.type:
            case "thinking":
                parts.append(Reasoning(text=block.thinking or ""))
            case "toolCall":
                arguments = as_text(block.arguments)
                parts.append(ToolCall(id=block.id or "", name=block.name or "", arguments=arguments))
            case "image":
                parts.append(Image(media_type=block.mime_type or "", data=block.data or ""))
            case _ if block.text:
                parts.append(Text(text=block.text))
            case _:
                pass
    return parts


def _result(message: _Message, parts: list[Part]) -> ToolResult:
    return ToolResult(
        call_id=message.tool_call_id or "",
        text="\n".join(part.text for part in parts if isinstance(part, Text)),
        is_error=bool(message.is_error),
        media=tuple(part for part in parts if isinstance(part, Image)),
    )
