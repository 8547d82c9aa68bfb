"""Qwen Code sessions: JSON lines that form a tree, each with a turn in the shape of Google's ``contents``.

Only lines whose ``provenance`` is the person are requests (older versions have none). A compaction is a line that holds
the whole context after it: the summary first, the model's answer to it, then the turns that stayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Usage
from autocompact.sessions.building import Log, imported, kind_of, off_branch
from autocompact.sessions.gemini_contents import Content, Turns
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session

_SUMMARY_TURNS = 2
"""Turns of a compacted context that are not of the conversation: the summary, and the model's word that it has it."""


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class _Info(msgspec.Struct, rename="camel"):
    original_token_count: int | None = None
    new_token_count: int | None = None


class _Payload(msgspec.Struct, rename="camel"):
    info: _Info | None = None
    compressed_history: list[Content] | None = None
    custom_title: str | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    subtype: str | None = None
    timestamp: str | None = None
    provenance: str | None = None
    cwd: str | None = None
    model: str | None = None
    message: Content | None = None
    usage_metadata: _Usage | None = None
    context_window_size: int | None = None
    system_payload: msgspec.Raw = msgspec.Raw(b"")


class _Shape(msgspec.Struct):
    parts: msgspec.Raw = msgspec.Raw(b"")


_shape = msgspec.json.Decoder(_Shape).decode
_payload = msgspec.json.Decoder(_Payload).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of Qwen Code's; Claude Code's have ``content`` where it has ``parts``."""
    if not {"uuid", "parentUuid", "sessionId"} <= fields.keys():
        return False
    if kind_of(fields) == "system":
        return "systemPayload" in fields
    try:
        return bytes(_shape(fields.get("message", b"")).parts).startswith(b"[")
    except msgspec.DecodeError:
        return False


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    source = Lines(lines, _Line)
    entries = list(source)
    last = next((line.uuid for _, line in reversed(entries) if line.uuid), None)
    left = off_branch({line.uuid: line.parent_uuid for _, line in entries if line.uuid}, last)
    main, abandoned = _Reader(), _Reader()
    for number, line in entries:
        (abandoned if line.uuid in left else main).feed(number, line)
    return Session(
        format="qwen_code",
        messages=tuple(main.log.messages),
        compactions=tuple(main.compactions),
        abandoned=tuple(abandoned.log.messages),
        skipped=tuple(source.skipped),
        lines=tuple(main.log.lines),
        model=main.log.model,
        cwd=main.cwd,
        title=main.title,
        window=main.window,
    )


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self.compactions: list[Compaction] = []
        self.cwd = ""
        self.window = 0
        self.title = ""
        self._turns = Turns()
        self._before: list[int] = []  # how many messages there were before each turn

    def feed(self, number: int, line: _Line) -> None:
        self.cwd = self.cwd or line.cwd or ""
        self.window = line.context_window_size or self.window
        if line.type == "system":
            self._system(number, line)
        elif line.message is not None:
            self._before.append(len(self.log.messages))
            self._turns.add(
                self.log,
                line.message,
                line=number,
                synthetic=line.provenance not in (None, "real_user"),
                usage=_usage(line.usage_metadata),
                id=line.uuid,
                time=line.timestamp,
                model=line.model,
            )

    def _system(self, number: int, line: _Line) -> None:
        if line.subtype not in ("chat_compression", "custom_title"):
            return
        try:
            payload = _payload(line.system_payload)
        except msgspec.DecodeError:
            return
        self.title = payload.custom_title or self.title
        history = payload.compressed_history
        if not history:
            return
        info, kept = payload.info or _Info(), len(history) - _SUMMARY_TURNS
        through = self._before[-kept] if 0 < kept <= len(self._before) else len(self.log.messages)
        self.compactions.append(
            imported(
                id=line.uuid or f"line-{number}",
                summary="\n".join(part.text for part in history[0].parts if part.text),
                through_seq=through,
                earlier=self.compactions,
                author="qwen_code",
                tokens_before=info.original_token_count or 0,
                tokens_after=info.new_token_count or 0,
                time=line.timestamp or "",
            )
        )


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None or not usage.prompt_token_count:
        return None
    completion = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return Usage(prompt=usage.prompt_token_count, completion=completion)
