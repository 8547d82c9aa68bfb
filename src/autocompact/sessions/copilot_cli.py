"""GitHub Copilot CLI sessions: JSON lines of events ``{type, data, id, timestamp}``.

User, assistant and system messages and finished tool executions are context; hooks, permissions and starts are not.
The system message can repeat. Events that name a ``parentToolCallId`` belong to a sub-agent and are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Part, Reasoning, Text, ToolCall, ToolResult
from autocompact.sessions.building import Log, as_text, imported, kind_of
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session
from autocompact.sessions.speakers import copilot_speaker


class _Request(msgspec.Struct, rename="camel"):
    tool_call_id: str
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Result(msgspec.Struct):
    content: str | None = None
    message: str | None = None


class _Folder(msgspec.Struct):
    cwd: str | None = None


class _Data(msgspec.Struct, rename="camel"):
    content: str | None = None
    source: str | None = None
    model: str | None = None
    message_id: str | None = None
    reasoning_text: str | None = None
    tool_requests: list[_Request] | None = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None
    success: bool | None = None
    result: _Result | None = None
    error: _Result | None = None
    context: _Folder | None = None
    summary_content: str | None = None
    pre_compaction_tokens: int | None = None
    post_compaction_tokens: int | None = None


class _Line(msgspec.Struct):
    type: str = ""
    id: str | None = None
    timestamp: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"{}")


_CONTEXT = frozenset(
    {
        "session.start",
        "session.compaction_complete",
        "system.message",
        "system.notification",
        "user.message",
        "assistant.message",
        "tool.execution_complete",
    }
)
_FAMILIES = frozenset(
    {"session", "system", "user", "assistant", "tool", "hook", "permission", "abort", "subagent"}
)
_data = msgspec.json.Decoder(_Data).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of Copilot CLI's."""
    kind = kind_of(fields)
    return "data" in fields and ("." in kind or kind == "abort") and kind.partition(".")[0] in _FAMILIES


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    source = Lines(lines, _Line)
    reader = _Reader()
    for number, line in source:
        if line.type not in _CONTEXT:
            continue
        try:
            reader.feed(line, _data(line.data), number=number)
        except msgspec.DecodeError as error:
            source.skip(number, f"unexpected content: {error}")
    return Session(
        format="copilot_cli",
        messages=tuple(reader.log.messages),
        compactions=tuple(reader.compactions),
        sidechains={name: tuple(log.messages) for name, log in reader.sidechains.items()},
        skipped=tuple(source.skipped),
        lines=tuple(reader.log.lines),
        model=reader.log.model,
        cwd=reader.cwd,
    )


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self.compactions: list[Compaction] = []
        self.sidechains: dict[str, Log] = {}
        self.cwd = ""
        self._prompts: dict[str, None] = {}

    def feed(self, line: _Line, data: _Data, *, number: int) -> None:
        log = self.log
        if data.parent_tool_call_id:
            log = self.sidechains.setdefault(data.parent_tool_call_id, Log())
        if line.type == "session.start":
            self.cwd = self.cwd or (data.context.cwd if data.context else "") or ""
        elif line.type == "session.compaction_complete":
            self._compaction(line, data, number=number)
        else:
            self._message(log, line, data=data, number=number)

    def _message(self, log: Log, line: _Line, *, data: _Data, number: int) -> None:
        time, id = line.timestamp or "", line.id or ""
        words = (Text(text=data.content),) if data.content else ()
        match line.type:
            case "system.message":
                if prompt := self._prompt(data.content or ""):
                    begun = any(message.role != "system" for message in log.messages)
                    role = "user" if begun else "system"
                    log.add(role, (Text(text=prompt),), line=number, synthetic=begun, id=id, time=time)
            case "user.message":
                note = copilot_speaker(data.content or "", source=data.source or "") != "person"
                log.add("user", words, line=number, synthetic=note, id=id, time=time)
            case "system.notification":
                log.add("user", words, line=number, synthetic=True, id=id, time=time)
            case "assistant.message":
                id = data.message_id or id
                log.add("assistant", _reply(data), line=number, id=id, time=time, model=data.model or "")
            case _:
                log.add("tool", (_result(data),), line=number, id=id, time=time)

    def _prompt(self, content: str) -> str:
        """What a system message says that was not known: a later one takes the place of the one before it.

        It comes again with each start and each changed setting, 16,000 tokens long, and the model has one of them.
        """
        before = next(reversed(self._prompts), "")
        known = content in self._prompts
        self._prompts.pop(content, None)
        self._prompts[content] = None
        if known:
            return ""
        new, gone = _lines_not_in(before, content), _lines_not_in(content, before)
        if len(new) > content.count("\n") / 2:
            return content
        told = [("New in it:", new), ("No longer in it:", gone)]
        return "\n".join(
            [
                "The system prompt changed.",
                *(line for head, lines in told if lines for line in (head, *lines)),
            ]
        )

    def _compaction(self, line: _Line, data: _Data, *, number: int) -> None:
        if not data.summary_content:
            return
        self.compactions.append(
            imported(
                id=line.id or f"line-{number}",
                summary=data.summary_content,
                through_seq=len(self.log.messages),
                earlier=self.compactions,
                author="copilot_cli",
                tokens_before=data.pre_compaction_tokens or 0,
                tokens_after=data.post_compaction_tokens or 0,
                time=line.timestamp or "",
            )
        )


def _lines_not_in(other: str, text: str) -> list[str]:
    """The lines of ``text`` that stand nowhere in ``other``."""
    there = frozenset(other.splitlines())
    return [line for line in text.splitlines() if line not in there]


def _reply(data: _Data) -> list[Part]:
    parts: list[Part] = []
    if data.reasoning_text:
        parts.append(Reasoning(text=data.reasoning_text))
    if data.content:
        parts.append(Text(text=data.content))
    for request in data.tool_requests or ():
        arguments = as_text(request.arguments)
        parts.append(ToolCall(id=request.tool_call_id, name=request.name, arguments=arguments))
    return parts


def _result(data: _Data) -> ToolResult:
    outcome = data.result or data.error or _Result()
    text = outcome.content or outcome.message or ""
    return ToolResult(call_id=data.tool_call_id or "", text=text, is_error=data.success is False)
