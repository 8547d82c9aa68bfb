"""A compacted session in the formats of ``--format``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from autocompact.cli.compact_options import Format
from autocompact.cli.usages import as_json
from autocompact.errors import InvalidInput
from autocompact.history.recorded import Compacted
from autocompact.sessions import (
    FileAttachment,
    files_in_work,
    render_chat_json,
    render_markdown,
    write_claude_code,
)
from autocompact.wire.request import export_messages


def export(
    compacted: Compacted, format: Format, *, source: Path, files: Sequence[FileAttachment] = ()
) -> Iterable[bytes]:
    """The new context, in pieces.

    Args:
        compacted: what to write.
        format: how.
        source: the file the session was read from: Claude Code's form repeats its lines.
        files: what Claude Code's form attaches.

    Raises:
        InvalidInput: the session cannot be written in this form.
    """
    messages = compacted.after.messages
    match format:
        case "markdown":
            title = compacted.session.title or "Conversation"
            text = render_markdown(messages, compaction=compacted.record, title=title)
            return (text.encode("utf-8", "replace"),)
        case "openai":
            return (render_chat_json(messages, dialect="openai_chat"),)
        case "anthropic":
            return (render_chat_json(messages, dialect="anthropic"),)
        case "claude-code":
            return _claude_code(compacted, source, files=files)
        case "json":
            return (_json(compacted),)
        case _:
            assert_never(format)


def attached(compacted: Compacted, format: Format) -> Sequence[FileAttachment]:
    """The files in work that Claude Code's form attaches, as far as there is space for them."""
    session, record = compacted.session, compacted.record
    if format != "claude-code" or session.format != "claude_code" or record is None:
        return ()
    return files_in_work(
        session,
        record,
        counter=compacted.log.counter,
        budget=compacted.goal.limit - compacted.after.cost.tokens,
        home=Path.home(),
    )


def _claude_code(compacted: Compacted, source: Path, *, files: Sequence[FileAttachment]) -> Iterable[bytes]:
    if compacted.session.format != "claude_code":
        raise InvalidInput(
            f"--format claude-code goes on from a session of Claude Code, this one is {compacted.session.format}: "
            "choose markdown, openai, anthropic or json"
        )
    if len(compacted.log) < len(compacted.session.messages):
        raise InvalidInput(
            "--format claude-code keeps every line of the session, so it cannot end earlier: "
            "leave out --through, or choose another format"
        )
    if compacted.record is None:
        return (source.read_bytes(),)
    return write_claude_code(source, compacted.record, lookup=compacted.log.lookup, files=files)


def _json(compacted: Compacted) -> bytes:
    """The contract of compact.schema.json."""
    receipt, session = compacted.receipt, compacted.session
    figures = (
        "tokens_before tokens_after bytes_before bytes_after rung stated referenced missing seconds counter notes"
    ).split()
    found = compacted.found
    words = {"stated": found.stated, "referenced": found.referenced, "missing": found.missing}
    checked = {id(entry): word for word, entries in words.items() for entry in entries}
    exported = export_messages(compacted.after.messages, dialect="openai_chat")
    document = {
        "messages": [msgspec.Raw(message) for message in exported.messages],
        "summary": compacted.summary,
        "ledger": [
            {"kind": entry.kind, "text": entry.text, "seq": entry.seq, "check": checked[id(entry)]}
            for entry in compacted.ledger.entries
        ],
        "receipt": {name: getattr(receipt, name) for name in figures},
        "usage": as_json(compacted.usage) | {"after": compacted.usage.metered(compacted.after.cost.tokens)},
        "source": {
            "format": session.format,
            "messages": len(session.messages),
            "skipped_lines": len(session.skipped),
        },
    }
    return msgspec.json.encode(document) + b"\n"
