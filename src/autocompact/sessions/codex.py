"""Codex sessions ("rollouts"): JSON lines of ``{timestamp, type, payload}``.

Only ``response_item`` lines are read: ``event_msg`` lines repeat the same content for the screen. The items of one
reply (reasoning, words, calls) become one message. A ``compacted`` line names the messages that stayed; its summary
is encrypted in current versions, so the record says just that, and the originals are in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from autocompact.compaction.record import Compaction, Standing
from autocompact.core.messages import (
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from autocompact.core.spoken import standing_words
from autocompact.sessions.building import Log, as_text, imported, kind_of, undone_beyond
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session
from autocompact.sessions.speakers import codex_speaker

ENCRYPTED = (
    "Codex compacted the conversation here. Its summary is encrypted and cannot be read; "
    "the original messages are in the log."
)

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_MODEL_ITEMS = frozenset(
    {
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_search_call",
        "web_search_call",
    }
)
_FAILED = re.compile(r"\A(?:(?!Output:).*\n){0,4}?(?:Process exited with code|Exit code:) (?!0\b)-?\d+")


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    image_url: str | None = None


class _Payload(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    name: str | None = None
    namespace: str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")
    action: msgspec.Raw = msgspec.Raw(b"")
    output: msgspec.Raw = msgspec.Raw(b"")
    tools: msgspec.Raw = msgspec.Raw(b"")


class _Tokens(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Info(msgspec.Struct):
    last_token_usage: _Tokens | None = None
    model_context_window: int | None = None


class _Event(msgspec.Struct):
    type: str | None = None
    info: _Info | None = None
    num_turns: int | None = None
    model_context_window: int | None = None


class _Context(msgspec.Struct):
    cwd: str | None = None
    model: str | None = None


class _Compacted(msgspec.Struct):
    message: str | None = None
    replacement_history: list[_Payload] | None = None


class _Line(msgspec.Struct):
    type: str = ""
    timestamp: str | None = None
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class _Metadata(msgspec.Struct):
    exit_code: int | None = None


class _Output(msgspec.Struct):
    output: str
    metadata: _Metadata | None = None


_payload = msgspec.json.Decoder(_Payload).decode
_event = msgspec.json.Decoder(_Event).decode
_context = msgspec.json.Decoder(_Context).decode
_compacted = msgspec.json.Decoder(_Compacted).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_output = msgspec.json.Decoder(_Output).decode


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of Codex's."""
    return "payload" in fields and kind_of(fields) in _TYPES


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    reader = Reader()
    reader.read(lines)
    return reader.session()


class Reader:
    """Reads a session piece by piece, as its file grows."""

    def __init__(self) -> None:
        self.source = Lines[_Line]((), _Line)
        self.log = Log()
        self.window = 0
        self.compactions: list[Compaction] = []
        self.abandoned: list[Message] = []
        self.model = ""
        self.cwd = ""
        self._reply: list[Part] = []
        self._reply_at: tuple[int, str] = (0, "")

    def read(self, lines: Iterable[bytes]) -> None:
        """Read the next lines of the file; the last one is whole, or the last of the file."""
        self.source = Lines(lines, _Line, first=self.source.last + 1, skipped=self.source.skipped)
        for number, line in self.source:
            try:
                self._feed(number, line)
            except msgspec.DecodeError as error:
                self.source.skip(number, f"unexpected content: {error}")

    def session(self) -> Session:
        """The session as far as it was read; a reply of which more may come is its last message."""
        log = Log(messages=list(self.log.messages), lines=list(self.log.lines))
        self._end_reply(log)
        return Session(
            format="codex",
            messages=tuple(log.messages),
            compactions=tuple(self.compactions),
            abandoned=tuple(self.abandoned),
            skipped=tuple(self.source.skipped),
            lines=tuple(log.lines),
            model=self.model,
            cwd=self.cwd,
            window=self.window,
        )

    def _feed(self, number: int, line: _Line) -> None:
        match line.type:
            case "response_item":
                self._item(number, line)
            case "compacted":
                self._flush()
                self._compaction(number, line)
            case "event_msg":
                self._event(_event(line.payload))
            case "session_meta" | "turn_context":
                context = _context(line.payload)
                self.cwd = self.cwd or context.cwd or ""
                self.model = context.model or self.model
            case _:
                pass

    def _item(self, number: int, line: _Line) -> None:
        item, time = _payload(line.payload), line.timestamp or ""
        if item.type in _MODEL_ITEMS or (item.type == "message" and item.role == "assistant"):
            # the message stands where its reply began, however many lines of it follow
            if not self._reply:
                self._reply_at = (number, time)
            self._reply += _reply_parts(item, bytes(line.payload))
            return
        self._flush()
        if item.type == "message":
            self._message(item, number=number, time=time)
        elif item.type in ("function_call_output", "custom_tool_call_output", "tool_search_output"):
            self.log.add("tool", (_result(item),), line=number, time=time)

    def _flush(self) -> None:
        """The items of a reply are one message."""
        self._end_reply(self.log)
        self._reply = []

    def _end_reply(self, log: Log) -> None:
        number, time = self._reply_at
        log.add("assistant", self._reply, line=number, time=time, model=self.model)

    def _message(self, item: _Payload, *, number: int, time: str) -> None:
        parts = _content(item.content or [])
        if item.role == "user":
            self.log.add_user(parts, is_note=_is_note, line=number, time=time)
        elif all(message.role == "system" for message in self.log.messages):
            self.log.add("system", parts, line=number, time=time)
        else:
            self.log.add("user", parts, line=number, time=time, synthetic=True)

    def _event(self, event: _Event) -> None:
        info = event.info or _Info()
        self.window = event.model_context_window or info.model_context_window or self.window
        if event.type == "token_count" and info.last_token_usage is not None:
            self._usage(info.last_token_usage)
        elif event.type == "thread_rolled_back":
            self._flush()
            # counted in requests, as Codex does: a turn has any number of messages
            requests = [message.seq for message in self.log.messages if message.is_request]
            turns = event.num_turns or 0
            if 0 < turns <= len(requests):
                self.abandoned += self.log.cut(requests[-turns])
                self.compactions = undone_beyond(self.compactions, len(self.log.messages))

    def _usage(self, tokens: _Tokens) -> None:
        self._flush()
        messages = self.log.messages
        # the event comes behind the reply that it is about, and after its calls maybe the results
        for index in range(len(messages) - 1, -1, -1):
            if messages[index].role == "assistant":
                usage = Usage(prompt=tokens.input_tokens, completion=tokens.output_tokens)
                messages[index] = replace(messages[index], usage=usage if usage.prompt else None)
                return

    def _compaction(self, number: int, line: _Line) -> None:
        entry = _compacted(line.payload)
        kept = {
            (item.role, _plain(_content(item.content or [])))
            for item in entry.replacement_history or ()
            if item.type == "message"
        }
        # of messages that say the same the last one stays, which is the one nearest to the compaction
        stayed = {
            (message.role, message.text): message
            for message in self.log.messages
            if message.role == "user" and (message.role, message.text) in kept
        }
        instructions = [found for message in stayed.values() if (found := _instructions(message)) is not None]
        standing = {one.seq for one in instructions}
        self.compactions.append(
            imported(
                id=f"line-{number}",
                summary=entry.message or ENCRYPTED,
                through_seq=len(self.log.messages),
                earlier=self.compactions,
                author="codex",
                keep=(message.seq for message in stayed.values() if message.seq not in standing),
                standing=instructions,
                time=line.timestamp or "",
            )
        )


def _is_note(text: str) -> bool:
    return codex_speaker(text) != "person"


def _instructions(message: Message) -> Standing | None:
    """Instructions that Codex resends in a message of their own (AGENTS.md, the environment); None if this is none."""
    blocks = [
        index
        for index, part in enumerate(message.parts)
        if message.synthetic and isinstance(part, Text) and standing_words(part.text)[1]
    ]
    return Standing(seq=message.seq, parts=tuple(blocks)) if blocks else None


def _plain(parts: Iterable[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _content(parts: Iterable[_Part]) -> list[Part]:
    content: list[Part] = []
    for part in parts:
        if part.image_url is not None:
            content.append(_image(part.image_url))
        elif part.text:
            content.append(Text(text=part.text))
    return content


def _image(url: str) -> Image:
    if not url.startswith("data:"):
        return Image(url=url)
    head, _, data = url.removeprefix("data:").partition(",")
    return Image(media_type=head.partition(";")[0], data=data)


def _reply_parts(item: _Payload, raw: bytes) -> list[Part]:
    match item.type:
        case "message":
            return _content(item.content or [])
        case "reasoning":
            texts = (part.text or "" for part in [*(item.summary or []), *(item.content or [])])
            return [Reasoning(text="\n".join(texts), raw=raw)]
        case "web_search_call":
            return [Opaque(kind="web_search_call", raw=raw)]
        case "function_call":
            name = f"{item.namespace or ''}{item.name or ''}"
            return [ToolCall(id=item.call_id or "", name=name, arguments=as_text(item.arguments))]
        case "custom_tool_call":
            return [ToolCall(id=item.call_id or "", name=item.name or "", arguments=as_text(item.input))]
        case "local_shell_call":
            return [ToolCall(id=item.call_id or "", name="local_shell", arguments=as_text(item.action))]
        case _:
            return [ToolCall(id=item.call_id or "", name="tool_search", arguments=as_text(item.arguments))]


def _result(item: _Payload) -> ToolResult:
    call_id = item.call_id or ""
    if item.type == "tool_search_output":
        return ToolResult(call_id=call_id, text=as_text(item.tools))
    raw = bytes(item.output)
    if raw.startswith(b"["):
        parts = _content(_parts(raw))
        media = tuple(part for part in parts if isinstance(part, Image))
        return ToolResult(call_id=call_id, text=_plain(parts), media=media)
    text = as_text(raw)
    try:
        wrapped = _output(text) if text.startswith("{") else None
    except msgspec.DecodeError:
        wrapped = None
    if wrapped is None:
        return ToolResult(call_id=call_id, text=text, is_error=_FAILED.match(text) is not None)
    # older versions wrap the output into JSON, newer ones write the code into the text
    code = (wrapped.metadata.exit_code if wrapped.metadata else 0) or 0
    text = f"Exit code: {code}\n{wrapped.output}" if code else wrapped.output
    return ToolResult(call_id=call_id, text=text, is_error=code != 0)
