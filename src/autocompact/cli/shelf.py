"""Output about kept conversations: as text for a person, and as JSON."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

import click
import msgspec

from autocompact.compaction.record import DONE, Compaction, Receipt
from autocompact.compaction.transcript import Context
from autocompact.core.excerpts import marked
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
from autocompact.core.references import reference
from autocompact.core.search import parse_query
from autocompact.engine.deletion import Traces
from autocompact.history import CompactedKept, Excerpt, Restored, TakenIn, Undone
from autocompact.history.archive import encode, message_document
from autocompact.history.recall import Found
from autocompact.ports import ConversationInfo
from autocompact.ui.charts import bar
from autocompact.ui.text import one_line, visible
from autocompact.wire import export_messages

_LEAST_TITLE, _LEAST_SOURCE = 16, 40
_MINUTE = len("2026-01-01T00:00")
_EXCERPT_LINES = 8
_BAR = 24
_MARK, _UNMARK = "\x1b[1m", "\x1b[22m"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _minute(stamp: str) -> str:
    return visible(stamp[:_MINUTE].replace("T", " "))


def _document(value: object) -> bytes:
    return encode(value) + b"\n"


# autocompact list


def table(infos: Sequence[ConversationInfo], *, width: int) -> str:
    """A line for each conversation; only the title is cut, so that names can be copied."""
    rows = [("NAME", "MESSAGES", "UPDATED (UTC)", "COMPACTED", "FIRST REQUEST")]
    for info in infos:
        cells = f"{info.last_seq:,}", _minute(info.updated), "yes" if info.compressed_at else "-"
        rows.append((one_line(info.key.conversation), *cells, one_line(info.title)))
    sizes = [max(len(row[column]) for row in rows) for column in range(4)]
    room = max(_LEAST_TITLE, width - sum(sizes) - 2 * len(sizes))
    return "\n".join(_row(row, sizes, room=room) for row in rows)


def _row(row: Sequence[str], sizes: Sequence[int], *, room: int) -> str:
    name, messages, updated, compacted, title = row
    cells = (
        f"{name:<{sizes[0]}}",
        f"{messages:>{sizes[1]}}",
        f"{updated:<{sizes[2]}}",
        f"{compacted:<{sizes[3]}}",
    )
    return "  ".join((*cells, _cut(title, room))).rstrip()


def list_document(infos: Sequence[ConversationInfo]) -> bytes:
    """The JSON of ``list``."""
    return _document({"conversations": [_about(info) for info in infos]})


def _about(info: ConversationInfo) -> Mapping[str, object]:
    return {
        "name": info.key.conversation,
        "namespace": info.key.namespace,
        "messages": info.last_seq,
        "created": info.created,
        "updated": info.updated,
        "title": info.title,
        "compressed_context": info.compressed_context,
        "compressed_at": info.compressed_at,
    }


# autocompact show


def transcript(excerpt: Excerpt) -> str:
    """The messages, each under a line that says who speaks and what became of it."""
    return "\n\n".join(_messages(excerpt.messages, marks=excerpt.marks, calls=excerpt.calls))


def context_text(info: ConversationInfo, context: Context) -> str:
    """The context, after a line of figures."""
    record = context.compaction
    by = (
        f"compaction {record.id} through {reference(record.through_seq)}"
        if record
        else "nothing is compacted"
    )
    head = f"{one_line(info.key.conversation)}: {context.cost.tokens:,} tokens, {by}"
    return "\n\n".join((click.style(head, bold=True), *_messages(context.messages, marks={}, calls={})))


def _messages(
    messages: Iterable[Message], *, marks: Mapping[int, str], calls: Mapping[str, str]
) -> Iterator[str]:
    """The messages; ``calls`` are the tools called before them, by id: of one id that is used again, the nearest counts."""
    known = dict(calls)
    for message in messages:
        known |= {call.id: call.name for call in message.calls}
        yield _message(message, note=marks.get(message.seq, ""), calls=known)


def _message(message: Message, *, note: str, calls: Mapping[str, str]) -> str:
    speaker = "program" if message.synthetic and message.role == "user" else message.role
    name = reference(message.seq) if message.seq else "added"
    told = ", ".join(filter(None, (speaker, _minute(message.time), note)))
    head = click.style(f"── {name} {told} ──", bold=True, fg="yellow" if note else "cyan")
    return "\n".join((head, *(_part(part, calls=calls) for part in message.parts)))


def _part(part: Part, *, calls: Mapping[str, str]) -> str:
    match part:
        case Text():
            return visible(part.text)
        case Reasoning():
            return click.style(f"(thinking) {visible(part.text) or 'sealed'}", dim=True)
        case ToolCall():
            return f"call of {one_line(part.name)}: {visible(part.arguments)}"
        case ToolResult():
            verb = "error" if part.is_error else "result"
            media = "".join(f"\n{_part(item, calls=calls)}" for item in part.media)
            return (
                f"{verb} of {one_line(calls.get(part.call_id, part.call_id))}:\n{visible(part.text)}{media}"
            )
        case Image():
            return f"[image {one_line(part.media_type or part.url)}, {len(part.data) * 3 // 4:,} bytes]"
        case Document():
            return f"[document {one_line(part.name or part.media_type)}]\n{visible(part.text)}".rstrip()
        case Opaque():
            return f"[{one_line(part.kind)}, {len(part.raw):,} bytes]"
    assert_never(part)


def excerpt_document(excerpt: Excerpt) -> bytes:
    """The JSON of ``show``: messages as in an archive."""
    messages = [message_document(message) for message in excerpt.messages]
    shown = {message.seq for message in excerpt.messages}
    marks = {str(seq): mark for seq, mark in sorted(excerpt.marks.items()) if seq in shown}
    return _document({"conversation": _about(excerpt.info), "messages": messages, "marks": marks})


def context_document(info: ConversationInfo, context: Context, *, counter: str) -> bytes:
    """The JSON of ``show --context``: OpenAI chat messages."""
    record = context.compaction
    exported = export_messages(context.messages, dialect="openai_chat")
    return _document(
        {
            "conversation": _about(info),
            "tokens": context.cost.tokens,
            "counter": counter,
            "compaction": record.id if record else None,
            "messages": [msgspec.Raw(message) for message in exported.messages],
        }
    )


# autocompact import, autocompact search


def taken_text(taken: TakenIn, left_out: Iterable[str]) -> str:
    """Text on what an import did."""
    name = one_line(taken.name)
    if taken.is_known:
        told = f"{name} is here already, with {plural(taken.messages, 'message')}: nothing changed"
    elif taken.new_messages == taken.messages:
        made = f" and {plural(taken.compactions, 'compaction')}" if taken.compactions else ""
        told = f"{name}: {plural(taken.messages, 'message')}{made} imported"
    else:
        made = f" and {plural(taken.new_compactions, 'compaction')}" if taken.new_compactions else ""
        told = (
            f"{name} has grown: {plural(taken.new_messages, 'message')}{made} added, {taken.messages:,} now"
        )
    missing = "".join(f"\nnot taken in: {one_line(each)}" for each in left_out)
    return f"{told}{missing}"


def taken_document(taken: TakenIn) -> bytes:
    """The JSON of ``import``."""
    return _document({"name": taken.name, "known": taken.is_known, **_fields(taken)})


def _fields(taken: TakenIn) -> Mapping[str, int]:
    return {
        "messages": taken.messages,
        "compactions": taken.compactions,
        "new_messages": taken.new_messages,
        "new_compactions": taken.new_compactions,
    }


def found_text(found: Sequence[Found], *, width: int, query: str = "") -> str:
    """The results, likeliest first, each a few lines; the words that ``query`` finds stand out."""
    wanted = frozenset(parse_query(query).terms)
    return "\n\n".join("\n".join(_result(one, wanted, width=width)) for one in found)


def _result(one: Found, wanted: frozenset[str], *, width: int) -> Iterator[str]:
    name = one_line(one.reference)
    told = "  ".join(filter(None, (_minute(one.time), one_line(one.source))))
    yield f"{click.style(name, bold=True, fg='cyan')}  {_cut(told, max(_LEAST_SOURCE, width - len(name) - 2))}"
    lines = [line for line in visible(one.excerpt).split("\n") if line.strip()]
    for line in lines[:_EXCERPT_LINES]:
        yield f"  {marked(_cut(line, width - 2), wanted, before=_MARK, after=_UNMARK)}"
    if len(lines) > _EXCERPT_LINES:
        yield click.style(f"  … {plural(len(lines) - _EXCERPT_LINES, 'line')} more", dim=True)
    for beside in textwrap.wrap(one_line(one.beside), width - 2, subsequent_indent="  "):
        yield f"  {beside}"
    if one.note:
        yield click.style(f"  ({_cut(one_line(one.note), width - 4)})", dim=True)


def found_document(found: Sequence[Found]) -> bytes:
    """The JSON of ``search``."""
    return _document({"results": found})


# autocompact undo, autocompact restore, autocompact compactions


def deleted_text(traces: Traces) -> str:
    """Text on what deleting a conversation removed."""
    entries = sum(each.entries + each.tasks + each.in_backups for each in traces.archives)
    archived = f", {plural(entries, 'memory entry', many='memory entries')}" if entries else ""
    return f"{one_line(traces.key.conversation)}: deleted, {plural(traces.messages, 'message')}{archived}"


def compacted_text(compacted: CompactedKept) -> str:
    """Text on what a compaction of a kept conversation did."""
    record, kept = compacted.record, one_line(compacted.name)
    tokens = f"{compacted.tokens_before:,} tokens became {compacted.tokens_after:,}"
    return (
        f"{kept}: {tokens}, compaction {one_line(record.id)}, {one_line(record.receipt.model)} summary\n"
        f"`autocompact show {shlex.quote(kept)} --context` shows what the model sees now, "
        f"`autocompact undo {shlex.quote(kept)}` takes it back"
    )


def undone_text(undone: Undone) -> str:
    """Text on what an undo did."""
    now = (
        f"{undone.restored.id} is active again"
        if undone.restored
        else "the whole log is in the context again"
    )
    tokens = f"{undone.tokens_before:,} tokens became {undone.tokens_after:,}"
    return (
        f"{one_line(undone.name)}: compaction {one_line(undone.record.id)} undone, {one_line(now)}; {tokens}"
    )


def undone_document(undone: Undone, *, counter: str) -> bytes:
    """The JSON of ``undo``."""
    return _document(
        {
            "name": undone.name,
            "undone": undone.record.id,
            "in_force": undone.restored.id if undone.restored else None,
            "tokens_before": undone.tokens_before,
            "tokens_after": undone.tokens_after,
            "counter": counter,
        }
    )


def restored_text(restored: Restored) -> str:
    """Text on what a restore did."""
    tokens = f"{restored.tokens_before:,} tokens became {restored.tokens_after:,}"
    return f"{one_line(restored.name)}: compaction {one_line(restored.record.id)} is active again; {tokens}"


def restored_document(restored: Restored, *, counter: str) -> bytes:
    """The JSON of ``restore``."""
    return _document(
        {
            "name": restored.name,
            "in_force": restored.record.id,
            "tokens_before": restored.tokens_before,
            "tokens_after": restored.tokens_after,
            "counter": counter,
        }
    )


def records_text(
    info: ConversationInfo, records: Sequence[Compaction], *, active: str | None, width: int
) -> str:
    """A paragraph for each record, oldest first."""
    most = max(max(record.receipt.tokens_before, record.receipt.tokens_after) for record in records)
    head = f"{one_line(info.key.conversation)}: {plural(len(records), 'compaction')}, {plural(info.last_seq, 'message')}"
    blocks = ("\n".join(_record(record, active=active, most=most, width=width)) for record in records)
    return "\n\n".join((click.style(head, bold=True), *blocks))


def _record(record: Compaction, *, active: str | None, most: int, width: int) -> Iterator[str]:
    status = "active" if record.id == active else "superseded" if record.status == "active" else record.status
    receipt = record.receipt
    color = "green" if record.id == active else None
    yield f"{click.style(one_line(record.id), bold=True)}  {click.style(status, fg=color)}  {_minute(receipt.time)}".rstrip()
    for label, tokens, shade in (
        ("before", receipt.tokens_before, "yellow"),
        ("after", receipt.tokens_after, "green"),
    ):
        if tokens:
            yield f"  {label:<7} {bar(tokens, most=most, width=_BAR, color=shade)} {tokens:>9,} tokens"
    for line in _facts(record, receipt):
        yield from textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ")


def _facts(record: Compaction, receipt: Receipt) -> Iterator[str]:
    covers = (
        f"{reference(record.from_seq)} to {reference(record.through_seq)}"
        if record.through_seq
        else "nothing"
    )
    told = [f"summarises {covers}"]
    told += [f"{len(record.keep):,} of these kept verbatim"] if record.keep else []
    told += [plural(len(record.masks), "tool output") + " masked"] if record.masks else []
    yield ", ".join(told)
    if receipt.stated or receipt.referenced or receipt.missing:
        yield f"checked: {receipt.stated:,} stated, {receipt.referenced:,} referenced, {receipt.missing:,} missing"
    if receipt.trigger == "import":
        yield f"made by {one_line(receipt.model)} when the session was recorded"
    else:
        cost = f", ${receipt.cost:.4f}" if receipt.cost is not None else ""
        by = f", {one_line(receipt.model)} summary" if record.summary else ""
        yield f"{DONE[receipt.rung]}{by}, {receipt.trigger}, {receipt.seconds:.2f} s{cost}"
    if receipt.problem:
        yield f"problem: {one_line(receipt.problem)}"
    yield from (f"note: {one_line(note)}" for note in receipt.notes)


def records_document(info: ConversationInfo, records: Sequence[Compaction], *, active: str | None) -> bytes:
    """The JSON of ``compactions``."""
    return _document({"conversation": _about(info), "in_force": active, "compactions": records})
