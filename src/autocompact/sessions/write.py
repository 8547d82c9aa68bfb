"""Write a compacted session: for Claude Code to resume, as a request body, and as Markdown for people."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from autocompact.compaction.record import Compaction
from autocompact.core.lookup import WITH_TOOLS, Lookup
from autocompact.core.messages import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from autocompact.core.plurals import plural
from autocompact.errors import UnreadableSession
from autocompact.ledger.summary import frame
from autocompact.sessions import claude_code
from autocompact.sessions.claude_attachments import FileAttachment, attachment_of
from autocompact.wire.request import export_messages

# The fields that a new line has in common with the lines around it.
_COMMON = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "timestamp")
_NAMESPACE = uuid.UUID("a4f0c1de-6c0b-5d53-9d0c-61c0de5e5510")
_BACKTICKS = re.compile(r"`{3,}")


class _Common(msgspec.Struct, rename="camel"):
    is_sidechain: bool | None = None
    user_type: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    slug: str | None = None
    timestamp: str | None = None
    uuid: str | None = None


_common = msgspec.json.Decoder(_Common).decode


def write_claude_code(
    source: Path, compaction: Compaction, *, lookup: Lookup = WITH_TOOLS, files: Sequence[FileAttachment] = ()
) -> Iterator[bytes]:
    """A Claude Code session that goes on from a compaction: the original lines, a boundary, the summary, the files in work.

    The original lines are the bytes of ``source``. The messages that stay verbatim are named in ``preservedSegment``
    and ``preservedMessages``, as Claude Code 2.1.217 writes them. Sessions of 2.0.74 to 2.1.37 have no such fields: a
    program of that age presumably resumes with the summary alone. Masks, and prompts that have no line of their own,
    are in a field that only autocompact reads. Same source and compaction, same bytes.

    Args:
        source: a Claude Code session.
        compaction: a record over the messages that `read_session` finds in it.
        lookup: how the agent opens what left its context.
        files: what is attached, the file touched last first.

    Raises:
        UnreadableSession: no line of ``source`` can be followed by a boundary.
    """
    with source.open("rb") as file:
        loaded = claude_code.load(file)
    last = next((uuids[-1] for uuids in reversed(loaded.uuids) if uuids), None)
    if last is None:
        raise UnreadableSession(f"{str(source)!r} has no Claude Code line with a uuid to continue from.")
    kept = [*compaction.keep, *range(compaction.through_seq + 1, len(loaded.uuids) + 1)]
    with source.open("rb") as file:
        common = _Common()
        line = b""
        for line in file:
            found = _line_fields(line)
            common = found if found is not None and found.uuid == last else common
            yield line
    if not line.endswith(b"\n"):
        yield b"\n"
    preserved = [id for seq in kept for id in loaded.uuids[seq - 1]]
    yield from _boundary(compaction, common=common, preserved=preserved, lookup=lookup)
    yield from _attached(files, compaction, common=common)


def _line_fields(line: bytes) -> _Common | None:
    try:
        return _common(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _boundary(
    compaction: Compaction, *, common: _Common, preserved: list[str], lookup: Lookup
) -> Iterator[bytes]:
    shared = _shared(common)
    boundary_id = _id(compaction, common.uuid or "", kind="boundary")
    summary_id = _id(compaction, common.uuid or "", kind="summary")
    framed = frame(compaction.summary, placement="user", lookup=lookup)
    receipt = compaction.receipt
    metadata: dict[str, object] = {
        "trigger": "manual" if receipt.trigger == "manual" else "auto",
        "preTokens": receipt.tokens_before,
        "postTokens": receipt.tokens_after,
        "autocompact": {
            "throughSeq": compaction.through_seq,
            "keep": compaction.keep,
            "masks": [{"seq": mask.seq, "part": mask.part, "stub": mask.stub} for mask in compaction.masks],
        },
    }
    if preserved:
        segment = {"headUuid": preserved[0], "anchorUuid": summary_id, "tailUuid": preserved[-1]}
        metadata["preservedSegment"] = segment
        uuids = {"uuids": preserved, "allUuids": preserved}
        metadata["preservedMessages"] = {"anchorUuid": summary_id, **uuids}
    yield _line(
        {
            "parentUuid": None,
            "logicalParentUuid": common.uuid,
            **shared,
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "uuid": boundary_id,
            "compactMetadata": metadata,
        }
    )
    yield _line(
        {
            "parentUuid": boundary_id,
            **shared,
            "type": "user",
            "message": {"role": "user", "content": framed},
            "isVisibleInTranscriptOnly": True,
            "isCompactSummary": True,
            "uuid": summary_id,
        }
    )


def _attached(files: Sequence[FileAttachment], compaction: Compaction, *, common: _Common) -> Iterator[bytes]:
    """A line a file, each the child of the one before, the first of the summary."""
    last = common.uuid or ""
    parent = _id(compaction, last, kind="summary")
    for file in files:
        own = _id(compaction, f"{last}\n{file.path}\n{file.text}", kind="file")
        fields = {"type": "attachment", "attachment": attachment_of(file), "uuid": own}
        yield _line({"parentUuid": parent, **_shared(common), **fields})
        parent = own


def _shared(common: _Common) -> dict[str, object]:
    known = msgspec.to_builtins(common)
    return {name: known[name] for name in _COMMON if known[name] is not None}


def _id(compaction: Compaction, last: str, *, kind: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}\n{last}\n{compaction.id}\n{compaction.summary}"))


def _line(fields: dict[str, object]) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def render_chat_json(messages: Iterable[Message], *, dialect: Literal["openai_chat", "anthropic"]) -> bytes:
    """A request body's ``messages`` (and ``system``, where Anthropic wants it apart) as one JSON object.

    Messages that came in this dialect and were not changed keep their bytes.
    """
    exported = export_messages(messages, dialect=dialect)
    system = b'"system":' + exported.system + b"," if exported.system is not None else b""
    return b"{" + system + b'"messages":[' + b",".join(exported.messages) + b"]}\n"


def render_markdown(
    messages: Iterable[Message], *, compaction: Compaction | None = None, title: str = "Conversation"
) -> str:
    """Messages for people to read.

    Words are quoted and everything else is fenced, so that no content, whatever it is, can look like a heading or
    swallow what follows.

    Args:
        messages: a context (with the summary as one of its messages), or a whole log.
        compaction: the record the context was folded with, for a line of figures.
        title: the heading.
    """
    messages = list(messages)
    blocks = [f"# {' '.join(title.split())}"]
    if compaction is not None:
        blocks.append(_figures(compaction, messages))
    for message in messages:
        blocks.append(f"## {_heading(message)}")
        blocks += [_markdown(part) for part in message.parts]
    return "\n\n".join(blocks) + "\n"


def _figures(compaction: Compaction, messages: Iterable[Message]) -> str:
    receipt = compaction.receipt
    masked = [mask.seq for mask in compaction.masks]
    requests = sum(message.is_request and message.changed and message.seq in masked for message in messages)
    cut = f", {plural(requests, 'request')} cut" if requests else ""
    return (
        f"Compacted through message {compaction.through_seq}: {receipt.tokens_before:,} tokens before, "
        f"{receipt.tokens_after:,} after; {plural(len(compaction.keep), 'earlier message')} kept, "
        f"{plural(len(masked) - requests, 'tool result')} masked{cut}."
    )


def _heading(message: Message) -> str:
    speaker = "program" if message.synthetic and message.role == "user" else message.role
    number = f"{message.seq} · " if message.seq else ""
    time = f" · {message.time}" if message.time else ""
    return f"{number}{speaker}{time}"


def _markdown(part: Part) -> str:
    match part:
        case Text():
            return _quoted(part.text)
        case Reasoning():
            return _quoted(f"*Thinking*\n\n{part.text}" if part.text else "*Thinking (sealed)*")
        case ToolCall():
            return f"Call {_code(part.name)} ({_code(part.id)}):\n\n{_fenced(part.arguments, info='json')}"
        case ToolResult():
            verb = "Error" if part.is_error else "Result"
            media = "".join(f"\n\n{_markdown(item)}" for item in part.media)
            return f"{verb} of {_code(part.call_id)}:\n\n{_fenced(part.text, info='text')}{media}"
        case Image():
            return f"Image {_code(part.media_type or part.url or 'of unknown type')}"
        case Document():
            named = f"Document {_code(part.name or part.media_type or 'without a name')}"
            return f"{named}\n\n{_fenced(part.text, info='text')}" if part.text else named
        case Opaque():
            return f"Part {_code(part.kind)}, {len(part.raw):,} bytes"


def _quoted(text: str) -> str:
    # Any of Python's line ends: a Markdown reader may take some of them for the end of the quote.
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines() or [""])


def _fenced(text: str, *, info: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def _code(text: str) -> str:
    """An inline code span on one line, whatever the text holds."""
    flat = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", flat)), default=0) + 1)
    space = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{ticks}{space}{flat}{space}{ticks}"
