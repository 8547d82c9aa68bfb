"""Builds Claude Code session lines for the tests."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from itertools import count

from autocompact.sessions import Session, claude_code

Line = dict[str, object]
LAST = "(the last line)"


def jsonl(lines: Iterable[Line | bytes]) -> bytes:
    return b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(id: str, name: str = "Bash", **arguments: object) -> Line:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id: str, content: object = "done", **fields: object) -> Line:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


class Claude:
    """Lines chained by parentUuid as the program writes them; uuids are u1, u2, ..."""

    def __init__(self) -> None:
        self.lines: list[Line | bytes] = []
        self.last: str | None = None
        self._numbers = count(1)

    def add(self, type: str, *, parent: str | None = LAST, uuid: str = "", **fields: object) -> str:
        uuid = uuid or f"u{next(self._numbers)}"
        self.lines.append(
            {
                "parentUuid": self.last if parent == LAST else parent,
                "isSidechain": False,
                "sessionId": "s-1",
                "version": "2.1.30",
                "cwd": "/srv/pump",
                "type": type,
                "uuid": uuid,
                "timestamp": f"2026-03-01T10:{len(self.lines) // 60:02}:{len(self.lines) % 60:02}.000Z",
                **fields,
            }
        )
        self.last = uuid
        return uuid

    def user(self, content: object, *, parent: str | None = LAST, **fields: object) -> str:
        return self.add(
            "user", parent=parent, uuid="", message={"role": "user", "content": content}, **fields
        )

    def reply(self, *blocks: Line, id: str, usage: Line | None = None, parent: str | None = LAST) -> str:
        # one figure for every reply would be no usage of a conversation that grows
        usage = usage or {"input_tokens": 0, "output_tokens": 0}
        message = {"id": id, "role": "assistant", "model": "claude-x", "content": blocks, "usage": usage}
        return self.add("assistant", parent=parent, message=message)

    def compact(self, summary: str, *, trigger: str = "auto", **metadata: object) -> str:
        before = self.last
        boundary = self.add(
            "system",
            parent=None,
            subtype="compact_boundary",
            logicalParentUuid=before,
            compactMetadata={"trigger": trigger, "preTokens": 155000, **metadata},
        )
        self.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        return boundary

    def queue(self, operation: str, **fields: object) -> None:
        self.lines.append({"type": "queue-operation", "operation": operation, "sessionId": "s-1", **fields})

    def bytes(self) -> bytes:
        return jsonl(self.lines)

    def read(self) -> Session:
        return claude_code.read(io.BytesIO(self.bytes()))


def spoken(session: Session) -> list[tuple[str, str]]:
    """Role and words of each message; calls and results by their ids."""
    return [
        (
            message.role,
            message.text
            or ",".join(
                [call.id for call in message.calls] or [result.call_id for result in message.results]
            ),
        )
        for message in session.messages
    ]
