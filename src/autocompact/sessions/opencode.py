"""OpenCode sessions, as ``opencode export`` writes them: one document, a call and its result in one part.

A compaction is a user message with a part ``compaction`` (which may say where the tail that stays begins), and the
model's summary in the next message. Results that OpenCode pruned are there in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Document, Image, Part, Reasoning, Text, ToolCall, ToolResult, Usage
from autocompact.sessions.building import Log, as_text, imported, iso_time
from autocompact.sessions.session import Session, Skipped

_RUNNING = ("pending", "running")


class _Time(msgspec.Struct, frozen=True):
    created: float | None = None


class _Cache(msgspec.Struct, frozen=True):
    read: int = 0
    write: int = 0


class _Tokens(msgspec.Struct):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = _Cache()


class _Info(msgspec.Struct, rename={"model": "modelID"}):
    role: str
    id: str = ""
    time: _Time = _Time()
    model: str = ""
    tokens: _Tokens | None = None
    summary: msgspec.Raw = msgspec.Raw(b"")


class _State(msgspec.Struct, frozen=True):
    status: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    output: str = ""
    error: msgspec.Raw = msgspec.Raw(b"")


class _Part(msgspec.Struct, rename={"call_id": "callID"}):
    type: str
    text: str = ""
    synthetic: bool = False
    ignored: bool = False
    tool: str = ""
    call_id: str = ""
    state: _State = _State()
    mime: str = ""
    url: str = ""
    filename: str | None = None
    prompt: str = ""
    tail_start_id: str | None = None


class _Message(msgspec.Struct):
    info: _Info
    parts: list[_Part]


class _Session(msgspec.Struct, frozen=True):
    directory: str = ""
    title: str = ""


class _Document(msgspec.Struct):
    messages: list[msgspec.Raw]
    info: _Session = _Session()


_document = msgspec.json.Decoder(_Document).decode
_message = msgspec.json.Decoder(_Message).decode
_items = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a document with these fields is an export of OpenCode."""
    try:
        messages = _items(fields.get("messages", b""))
    except msgspec.DecodeError:
        return False
    return "info" in fields and any(message.keys() >= {"info", "parts"} for message in messages[:1])


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from the lines of its one document.

    Raises:
        msgspec.DecodeError: the document as a whole has another shape.
    """
    document = _document(b"".join(lines))
    reader = _Reader()
    skipped: list[Skipped] = []
    for index, raw in enumerate(document.messages):
        try:
            reader.feed(_message(raw))
        except msgspec.DecodeError as error:
            skipped.append(Skipped(line=0, reason=f"message {index} has unexpected content: {error}"))
    log = reader.log
    return Session(
        format="opencode",
        messages=tuple(log.messages),
        compactions=tuple(reader.compactions),
        skipped=tuple(skipped),
        lines=tuple(log.lines),
        model=log.model,
        cwd=document.info.directory,
        title=document.info.title,
    )


class _Reader:
    def __init__(self) -> None:
        self.log = Log()
        self.compactions: list[Compaction] = []
        self._compacting: _Part | None = None
        self._through = 0  # the message before the compaction that is under way

    def feed(self, message: _Message) -> None:
        info, log = message.info, self.log
        time = iso_time((info.time.created or 0) / 1000)
        if info.role == "user":
            self._compacting = next((part for part in message.parts if part.type == "compaction"), None)
            if self._compacting is not None:
                self._through = len(log.messages)
                return
            # the program puts contents of files and reminders into the person's message
            notes = [part for part in message.parts if part.synthetic or part.ignored]
            log.add("user", _said(notes), line=1, synthetic=True, id=info.id, time=time)
            log.add("user", _said(p for p in message.parts if p not in notes), line=1, id=info.id, time=time)
        elif bytes(info.summary) == b"true":
            self._compacted(message, time=time)
        else:
            parts = _said(message.parts)
            log.add(
                *("assistant", parts),
                line=1,
                id=info.id,
                time=time,
                model=info.model,
                usage=_usage(info.tokens),
            )
            for part in message.parts:
                if part.type == "tool" and part.state.status not in _RUNNING:
                    log.add("tool", (_result(part),), line=1, time=time)

    def _compacted(self, message: _Message, *, time: str) -> None:
        tail = self._compacting.tail_start_id if self._compacting is not None else None
        begins = next((each.seq for each in self.log.messages if tail and each.id == tail), self._through + 1)
        text = "\n".join(part.text for part in message.parts if part.type == "text")
        if not text:
            return
        self.compactions.append(
            imported(
                id=message.info.id,
                summary=text,
                through_seq=begins - 1,
                earlier=self.compactions,
                author="opencode",
                time=time,
            )
        )


def _said(parts: Iterable[_Part]) -> list[Part]:
    return [made for part in parts for made in _part(part)]


def _part(part: _Part) -> Iterable[Part]:
    match part.type:
        case "text" if part.text:
            yield Text(text=part.text)
        case "reasoning" if part.text:
            yield Reasoning(text=part.text)
        case "tool":
            yield ToolCall(id=part.call_id, name=part.tool, arguments=as_text(part.state.input))
        case "file":
            data = part.url.partition(";base64,")[2] if part.url.startswith("data:") else ""
            url = "" if data else part.url
            if part.mime.startswith("image/"):
                yield Image(media_type=part.mime, data=data, url=url)
            else:
                yield Document(media_type=part.mime, name=part.filename or "", data=data, url=url)
        case "subtask" if part.prompt:
            yield Text(text=part.prompt)
        case _:
            pass


def _result(part: _Part) -> ToolResult:
    error = as_text(part.state.error)
    return ToolResult(
        call_id=part.call_id, text=part.state.output or error, is_error=part.state.status == "error"
    )


def _usage(tokens: _Tokens | None) -> Usage | None:
    if tokens is None:
        return None
    prompt = tokens.input + tokens.cache.read + tokens.cache.write
    return Usage(prompt=prompt, completion=tokens.output + tokens.reasoning) if prompt else None
