"""Claude Code sessions: JSONL, append-only, a graph of lines.

What makes them hard, and what is done here:

- One reply of the model is several lines, one block each, with one ``message.id`` and the same usage: merged.
- Only user and assistant lines are context. Text typed while the model worked is only in ``queue-operation`` lines
  (older programs) or ``attachment`` lines (newer): it becomes a user message where it was handed to the model, unless a
  later user line repeats it.
- Lines name their parent. File order is the order of the content, but where the user went back and asked something
  else (two requests with one parent), the branch that does not lead to the last line was left: `claude_tree`.
- A compaction is a boundary line and a user line with the summary. The originals stay in the file and in the log;
  the two lines become one `Compaction`. A micro-compaction only cleared tool outputs: a record of the same coverage
  with more masks.
- Sub-agents written inline (``isSidechain``) are kept apart; a sub-agent's own file is read as its session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec
from msgspec import Struct

from autocompact.compaction.record import Mask
from autocompact.core.messages import Image, Part, Text, ToolResult, Usage
from autocompact.ledger.summary import HEADING
from autocompact.sessions.building import kind_of
from autocompact.sessions.claude_blocks import parse_content
from autocompact.sessions.claude_log import Boundary, Event, Micro, Record, assemble
from autocompact.sessions.claude_queue import Queue
from autocompact.sessions.claude_tree import Tree
from autocompact.sessions.jsonl import Lines
from autocompact.sessions.session import Session, Skipped
from autocompact.sessions.speakers import Speaker, claude_speaker, typed

_TYPES = frozenset(
    {"user", "assistant", "system", "progress", "file-history-snapshot", "summary", "queue-operation"}
    | {
        "attachment",
        "last-prompt",
        "custom-title",
        "ai-title",
        "agent-name",
        "pr-link",
        "mode",
        "permission-mode",
    }
)


class _Creation(msgspec.Struct):
    ephemeral_1h_input_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    cache_creation: _Creation | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class _Api(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw(b'""')
    usage: _Usage | None = None


class _Segment(msgspec.Struct, rename="camel"):
    head_uuid: str | None = None
    tail_uuid: str | None = None


class _Preserved(msgspec.Struct, rename="camel"):
    uuids: list[str] | None = None
    all_uuids: list[str] | None = None


class _Shown(msgspec.Struct, rename="camel"):
    """Our own record, which autocompact adds when it writes a boundary, so that it comes back whole."""

    through_seq: int
    keep: list[int]
    masks: list[Mask]


class _Compact(msgspec.Struct, rename="camel"):
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    compacted_tool_ids: list[str] | None = None
    preserved_segment: _Segment | None = None
    preserved_messages: _Preserved | None = None
    autocompact: _Shown | None = None


class _Origin(msgspec.Struct):
    kind: str | None = None


class _Attachment(msgspec.Struct, rename="camel"):
    type: str | None = None
    prompt: msgspec.Raw = msgspec.Raw(b"")
    command_mode: str | None = None
    origin: msgspec.Raw = msgspec.Raw(b"")
    is_meta: bool | None = None


class Line(msgspec.Struct, rename="camel"):
    """The fields of a line that are needed; the rest is skipped while decoding."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    agent_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    origin: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = msgspec.Raw(b"")
    operation: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"")
    custom_title: str | None = None
    compact_metadata: _Compact | None = None
    microcompact_metadata: _Compact | None = None
    attachment: _Attachment | None = None


_FRAMED = re.compile(
    re.escape(HEADING) + r"\n.*?\n<conversation_record>\n(.*)\n</conversation_record>\Z", re.DOTALL
)
_api = msgspec.json.Decoder(_Api).decode
_origin = msgspec.json.Decoder(_Origin).decode


class Loaded(Struct, frozen=True, kw_only=True):
    """A session with what a writer needs besides: the ``uuid``s of the lines of each message."""

    session: Session
    uuids: tuple[tuple[str, ...], ...]


def matches(fields: Mapping[str, msgspec.Raw]) -> bool:
    """True if a line with these fields is one of Claude Code's."""
    return kind_of(fields) in _TYPES and not fields.keys().isdisjoint(
        ("sessionId", "parentUuid", "leafUuid", "isSnapshotUpdate")
    )


def read(lines: Iterable[bytes]) -> Session:
    """Read a session from its lines."""
    return load(lines).session


def load(lines: Iterable[bytes]) -> Loaded:
    """Read a session, with the ``uuid``s of its lines."""
    reader = Reader()
    reader.read(lines)
    return reader.loaded()


class Reader:
    """Reads a session piece by piece, as its file grows."""

    def __init__(self) -> None:
        self.source = Lines[Line]((), Line)
        self.tree = Tree()
        self.queue = Queue()
        self.events: list[Event] = []
        self.sidechains: dict[str, list[Record]] = {}
        self.chain_of: dict[str, str] = {}
        self.agent: str | None = None
        self.boundaries: list[Boundary] = []
        self.cwd = ""
        self.title = ""
        self.hour_cache = False

    def read(self, lines: Iterable[bytes]) -> None:
        """Read the next lines of the file; the last one is whole, or the last of the file."""
        self.source = Lines(lines, Line, first=self.source.last + 1, skipped=self.source.skipped)
        for number, line in self.source:
            self._feed(number, line)

    def session(self) -> Session:
        """The session as far as it was read."""
        return self.loaded().session

    def _feed(self, number: int, line: Line) -> None:
        # a line that was copied, as by a program that resumes a session in its own file, counts once
        if line.uuid and self.tree.knows(line.uuid):
            return
        self.cwd = self.cwd or line.cwd or ""
        match line.type:
            case "user" | "assistant":
                self._message(number, line)
            case "queue-operation":
                self._queue(number, line)
            case "attachment":
                self._attachment(number, line)
            case "system":
                self._system(number, line)
            case _:
                self.title = line.custom_title or self.title
        if line.uuid:
            self.tree.link(line.uuid, line.parent_uuid or line.logical_parent_uuid)

    def _queue(self, number: int, line: Line) -> None:
        self.queue.feed(
            line.operation or "", number=number, text=_queued_text(line.content), time=line.timestamp or ""
        )

    def _message(self, number: int, line: Line) -> None:
        if self.agent is None:  # the file of a sub-agent begins with its task, and is all its own
            self.agent = (line.agent_id or "") if line.is_sidechain else ""
        try:
            api = _api(line.message)
            parts = parse_content(api.content)
        except msgspec.DecodeError as error:
            self.source.skip(number, f"a {line.type} line without a message that can be read: {error}")
            return
        if line.is_compact_summary:
            self._summary(line, number=number, parts=parts)
        elif line.type == "assistant":
            self._assistant(line, api, number=number, parts=parts)
        else:
            speaker_of = partial(claude_speaker, origin=_origin_kind(line.origin))
            self._user(line, number=number, runs=_runs(parts, speaker_of, meta=bool(line.is_meta)))

    def _assistant(self, line: Line, api: _Api, *, number: int, parts: tuple[Part, ...]) -> None:
        # the program's own words in the place of a reply ("API Error", "Request interrupted"): the model never said
        # them
        if api.model == "<synthetic>":
            return
        uuid = line.uuid or ""
        self.hour_cache = self.hour_cache or (not self._is_beside(line) and _is_for_an_hour(api.usage))
        record = Record(
            number=number,
            uuid=uuid,
            role="assistant",
            parts=parts,
            key=api.id or uuid or str(number),
            time=line.timestamp or "",
            model=api.model or "",
            usage=_usage(api.usage),
        )
        self._add(line, record, request=False)

    def _user(self, line: Line, *, number: int, runs: list[tuple[tuple[Part, ...], bool]]) -> None:
        for index, (run, synthetic) in enumerate(runs):
            results = sum(isinstance(part, ToolResult) for part in run)
            record = Record(
                number=number,
                uuid=line.uuid or "",
                role="tool" if results == len(run) else "user",
                parts=run,
                synthetic=synthetic,
                time=line.timestamp or "",
            )
            request = not synthetic and not results
            self._add(line, record, request=request and index == len(runs) - 1)
            if request and not self._is_beside(line):
                # then the same text in the queue is not a second message
                self.queue.said(number, typed(_words(run)))

    def _is_beside(self, line: Line) -> bool:
        """True if a sub-agent wrote it whose file this is not."""
        return bool(line.is_sidechain) and not (self.agent and line.agent_id == self.agent)

    def _add(self, line: Line, record: Record, *, request: bool) -> None:
        if self._is_beside(line):
            chain = line.agent_id or self.chain_of.get(line.parent_uuid or "") or record.uuid
            self.chain_of[record.uuid] = chain
            self.sidechains.setdefault(chain, []).append(record)
            return
        self.events.append(record)
        if record.uuid:
            self.tree.context(record.uuid, line.parent_uuid, anchor=not record.synthetic, request=request)

    def _attachment(self, number: int, line: Line) -> None:
        attachment = line.attachment
        if attachment is None or attachment.type != "queued_command":
            return
        try:
            parts = parse_content(attachment.prompt)
        except msgspec.DecodeError as error:
            self.source.skip(number, f"a queued prompt that cannot be read: {error}")
        else:
            speaker_of = partial(
                claude_speaker,
                queued=True,
                origin=_origin_kind(attachment.origin),
                mode=attachment.command_mode or "",
            )
            meta = bool(line.is_meta or attachment.is_meta)
            self._user(line, number=number, runs=_runs(parts, speaker_of, meta=meta))

    def _system(self, number: int, line: Line) -> None:
        uuid, time = line.uuid or f"line-{number}", line.timestamp or ""
        if line.subtype == "compact_boundary":
            boundary = _boundary(line.compact_metadata or _Compact(), number=number, uuid=uuid, time=time)
            self.boundaries.append(boundary)
            self.events.append(boundary)
        elif line.subtype == "microcompact_boundary":
            meta = line.microcompact_metadata or _Compact()
            self.events.append(
                Micro(
                    number=number,
                    uuid=uuid,
                    tokens=meta.pre_tokens or 0,
                    time=time,
                    call_ids=frozenset(meta.compacted_tool_ids or ()),
                )
            )

    def _summary(self, line: Line, *, number: int, parts: tuple[Part, ...]) -> None:
        """The summary belongs to its parent, else to the latest boundary that has none; else it is one itself."""
        named = [boundary for boundary in self.boundaries if boundary.uuid == line.parent_uuid]
        own = named or self.boundaries[-1:]
        # a summary without a boundary of its own: the line is both
        if not own or own[-1].summary:
            own = [Boundary(number=number, uuid=line.uuid or f"line-{number}", time=line.timestamp or "")]
            self.boundaries += own
            self.events += own
        own[-1].summary = _unframed(_words(parts))
        if line.uuid:
            self.tree.context(line.uuid, line.parent_uuid, anchor=True, request=False)

    def loaded(self) -> Loaded:
        """The session as far as it was read, with the ``uuid``s of its lines."""
        left = self.tree.left()
        events = self._with_queued()
        active = [event for event in events if not isinstance(event, Record) or event.uuid not in left]
        log = assemble(active, left=left)
        skipped = [
            *self.source.skipped,
            *(
                Skipped(line=boundary.number, reason="a compaction boundary without a summary")
                for boundary in log.unsummarised
            ),
        ]
        abandoned = [event for event in events if isinstance(event, Record) and event.uuid in left]
        models = [message.model for message in log.messages if message.model]
        session = Session(
            format="claude_code",
            messages=tuple(log.messages),
            compactions=tuple(log.compactions),
            sidechains={name: tuple(assemble(records).messages) for name, records in self.sidechains.items()},
            abandoned=tuple(assemble(abandoned).messages),
            skipped=tuple(sorted(skipped, key=lambda skipped: skipped.line)),
            lines=tuple(log.lines),
            model=models[-1] if models else "",
            cwd=self.cwd,
            title=self.title,
            hour_cache=self.hour_cache,
        )
        return Loaded(session=session, uuids=tuple(map(tuple, log.uuids)))

    def _with_queued(self) -> list[Event]:
        queued: list[Event] = [
            Record(
                number=prompt.number,
                uuid="",
                role="user",
                parts=(Text(text=prompt.text),),
                synthetic=claude_speaker(prompt.text, queued=True) != "person",
                time=prompt.time,
                queued=True,
            )
            for prompt in self.queue.undelivered()
        ]
        return sorted(self.events + queued, key=_number) if queued else self.events


def _unframed(text: str) -> str:
    """The summary without the frame that the view puts around it again, where autocompact wrote it with one."""
    framed = _FRAMED.match(text)
    return framed[1] if framed else text


def _boundary(meta: _Compact, *, number: int, uuid: str, time: str) -> Boundary:
    segment, kept = meta.preserved_segment or _Segment(), meta.preserved_messages or _Preserved()
    shown = meta.autocompact
    return Boundary(
        number=number,
        uuid=uuid,
        through_seq=shown.through_seq if shown else None,
        kept_seqs=tuple(shown.keep) if shown else (),
        masks=tuple(shown.masks) if shown else (),
        author="autocompact" if shown else "claude_code",
        tokens=meta.pre_tokens or 0,
        tokens_after=meta.post_tokens or 0,
        time=time,
        segment=(segment.head_uuid or "", segment.tail_uuid or ""),
        kept=tuple(kept.all_uuids or kept.uuids or ()),
    )


def _number(event: Event) -> int:
    return event.number


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    # Anthropic's input_tokens are without what the cache read and wrote
    cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
    prompt = (usage.input_tokens or 0) + cached
    return Usage(prompt=prompt, completion=usage.output_tokens or 0) if prompt else None


def _is_for_an_hour(usage: _Usage | None) -> bool:
    """True if the client asked the provider's cache to hold for an hour what was written for this reply."""
    return (
        usage is not None
        and usage.cache_creation is not None
        and bool(usage.cache_creation.ephemeral_1h_input_tokens)
    )


def _words(parts: Iterable[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _origin_kind(raw: msgspec.Raw) -> str:
    """Origin of a line's text as the line states it; "" if it states none, or in a form that we do not know."""
    try:
        return _origin(raw).kind or ""
    except msgspec.DecodeError:
        return ""


def _queued_text(content: msgspec.Raw) -> str:
    """The words of a queued text, which is a string, or blocks where a picture was pasted."""
    try:
        return _words(parse_content(content))
    except msgspec.DecodeError:
        return ""


def _runs(
    parts: tuple[Part, ...], speaker_of: Callable[[str], Speaker], *, meta: bool
) -> list[tuple[tuple[Part, ...], bool]]:
    """A user line as runs of ``(parts, synthetic)``: what the person said apart from what others said.

    A line that carries a tool result stays whole: its text is the person's unless all of it is the program's.
    """
    if not parts:
        return []
    notes = tuple(
        part for part in parts if isinstance(part, Text) and (meta or speaker_of(part.text) != "person")
    )
    rest = tuple(part for part in parts if not any(part is note for note in notes))
    if any(isinstance(part, ToolResult) for part in parts):
        said = any(isinstance(part, Text | Image) for part in rest)
        return [(parts, bool(notes) and not said)]
    return [(run, synthetic) for run, synthetic in ((notes, True), (rest, meta)) if run]
