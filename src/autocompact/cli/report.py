"""The report of ``autocompact compact``: what became of the context, for a person."""

from __future__ import annotations

import textwrap
from collections import Counter as Counted
from collections.abc import Iterator, Sequence

import click

from autocompact.cli.defaults import window_source
from autocompact.cli.usages import OUTSIDE_IS, garbled, in_log, reported
from autocompact.compaction.record import DONE
from autocompact.core.messages import Message
from autocompact.core.plurals import plural
from autocompact.core.redaction import find_secrets
from autocompact.core.references import reference
from autocompact.core.tokens import message_cost
from autocompact.history.recorded import Compacted
from autocompact.sessions import LABELS, FileAttachment
from autocompact.ui.charts import bar
from autocompact.ui.text import visible

_INDENT = 12
_KINDS = {
    "rule": "rules",
    "request": "requests",
    "error": "errors",
    "todo": "plan items",
    "running": "background tasks",
    "change": "changes",
    "finding": "findings",
    "fact": "facts",
    "wish": "wishes",
    "file": "files",
    "command": "commands",
    "identifier": "identifiers",
}


def report(
    compacted: Compacted,
    name: str,
    *,
    files: Sequence[FileAttachment],
    preview: bool,
    written: str,
    width: int,
) -> str:
    """The report.

    Args:
        compacted: what happened, or would.
        name: of the session.
        files: what is attached to the context.
        preview: nothing was written.
        written: where the context went, "" for stdout.
        width: columns.
    """
    lines = [*_head(compacted, name, preview=preview), "", *_bars(compacted, width), ""]
    for label, text in _rows(compacted, files, preview=preview, written=written):
        lines += row(label, text, width=width)
    return "\n".join(lines)


def row(label: str, text: str, *, width: int) -> list[str]:
    """A labelled paragraph; a word is never broken, so a path can be copied."""
    wrapped = textwrap.wrap(
        visible(text), width - _INDENT, break_long_words=False, break_on_hyphens=False
    ) or [""]
    first = click.style(f"{label:<{_INDENT}}", bold=True) + wrapped[0]
    return [first, *(" " * _INDENT + line for line in wrapped[1:])]


def _head(compacted: Compacted, name: str, *, preview: bool) -> Iterator[str]:
    session, log = compacted.session, compacted.log
    many = plural(len(log), "message")
    through = f"the first {len(log):,} of {plural(len(session.messages), 'message')}"
    told = many if len(log) == len(session.messages) else through
    model = f", {session.model}" if session.model else ""
    title = click.style(visible(name), bold=True)
    yield f"{title}: {LABELS[session.format]}{visible(model)}, {told}"
    earlier = compacted.before.compaction
    if earlier is not None and earlier.through_seq:
        yield f"Compacted before, through {reference(earlier.through_seq)}: what follows starts from that summary."
    if preview:
        yield click.style("Preview: nothing is written.", fg="yellow")


def _bars(compacted: Compacted, width: int) -> Iterator[str]:
    window, before = compacted.window, compacted.usage.used
    after = compacted.usage.metered(compacted.after.cost.tokens)
    most = max(window, before)
    size = max(len(f"{most:,}"), 5)
    for label, tokens, color in (
        ("before", before, "yellow"),
        ("after", after, "green"),
    ):
        room = width - _INDENT - size - 14
        figures = f"{tokens:>{size},} tokens {tokens / window:>5.0%}"
        yield f"{label:<{_INDENT}}{bar(tokens, most=most, width=room, color=color)} {figures}"
    source = visible(window_source(window, compacted.session))
    yield f"{'':<{_INDENT}}of a window of {window:,} tokens{source}"


def _rows(
    compacted: Compacted, files: Sequence[FileAttachment], *, preview: bool, written: str
) -> Iterator[tuple[str, str]]:
    usage, counter = compacted.usage, compacted.receipt.counter
    if usage.reported:
        yield "usage", reported(usage)
        yield "in the log", in_log(usage, counter=counter)
    if usage.outside:
        yield "outside", f"{usage.outside:,} tokens that no compaction removes: {OUTSIDE_IS}"
    if compacted.record is None:
        yield "unchanged", _reason(compacted)
    else:
        yield from _changes(compacted, preview=preview)
    if files:
        yield "attached", _attached(files)
    yield from _cautions(compacted)
    receipt = compacted.receipt
    by = f"{receipt.model} summary, " if compacted.record and compacted.summary else ""
    yield "receipt", f"{DONE[receipt.rung]}, {by}{receipt.seconds:.2f} s, counted with {receipt.counter}"
    if preview:
        saved = usage.used - usage.metered(compacted.after.cost.tokens)
        yield "cost", f"no model is asked; every later request carries {saved:,} tokens less"
    elif written:
        yield "written", written


def _reason(compacted: Compacted) -> str:
    if compacted.before.cost.tokens <= compacted.goal.limit and compacted.goal.first_rung == "mask":
        return f"the context fits {compacted.target:,} tokens already; choose a smaller --to"
    goal = compacted.goal
    return (
        f"nothing would become smaller with --tail-tokens {goal.tail_tokens} and --summary-tokens "
        f"{goal.summary_tokens}; choose a smaller one"
    )


def _changes(compacted: Compacted, *, preview: bool) -> Iterator[tuple[str, str]]:
    receipt = compacted.receipt
    yield "verbatim", _verbatim(compacted)
    if (request := _last_request(compacted)) is not None and request.changed:
        yield "cut", f"your last request ({reference(request.seq)}), to its head and tail"
    folded = _folded(compacted)
    if folded:
        tokens = compacted.log.counter.count(compacted.summary)
        yield (
            "summarised",
            f"{plural(len(folded), 'message')}, {_range(folded)}, in {tokens:,} tokens with the ledger",
        )
    if receipt.masked:
        yield "masked", f"{plural(receipt.masked, 'tool output')}, each shown as one line"
    if preview:
        for index, piece in enumerate(compacted.leaving(5)):
            yield "" if index else "leaves", f"{reference(piece.seq)} {piece.what}: {piece.tokens:,} tokens"
    if compacted.ledger.entries:
        yield (
            "checked",
            (
                f"{len(compacted.ledger.entries):,} things found: {receipt.stated:,} stated, "
                f"{receipt.referenced:,} referenced, {receipt.missing:,} missing"
            ),
        )
        yield "stated", _stated(compacted)


def _attached(files: Sequence[FileAttachment]) -> str:
    shown = [
        f"{file.name}{' (as the session shows it)' * (file.origin == 'log')}"
        for file in files
        if file.origin != "named"
    ]
    named = [file.name for file in files if file.origin == "named"]
    told = [", ".join(shown)] if shown else []
    told += [f"only named: {', '.join(named)}"] if named else []
    return f"{'; '.join(told)} ({sum(file.tokens for file in files):,} tokens, outside of the log)"


def _verbatim(compacted: Compacted) -> str:
    through = compacted.record.through_seq if compacted.record else 0
    own = [message for message in compacted.after.messages if message.seq]
    recent = [message for message in own if message.seq > through]
    asked = _last_request(compacted)
    tokens = sum(message_cost(message, compacted.log.counter).tokens for message in recent)
    told = (
        [f"{plural(len(recent), 'recent message')} ({_range(recent)}, {tokens:,} tokens)"] if recent else []
    )
    if asked is not None and not asked.changed:
        told.append(f"your last request ({reference(asked.seq)})")
    if any(message.role == "system" for message in own):
        told.append("the system prompt")
    pinned = [reference(seq) for seq in sorted(compacted.goal.pins)]
    told += [f"pinned {', '.join(pinned)}"] if pinned else []
    told += [plural(len(compacted.goal.notes), "pinned text")] if compacted.goal.notes else []
    return "; ".join(told) or "nothing but the summary"


def _last_request(compacted: Compacted) -> Message | None:
    asked = [message for message in compacted.after.messages if message.seq and message.is_request]
    return asked[-1] if asked else None


def _folded(compacted: Compacted) -> list[Message]:
    """The messages that the summary stands for, of those that were in the context."""
    stay = {message.seq for message in compacted.after.messages}
    return [message for message in compacted.before.messages if message.seq and message.seq not in stay]


def _range(messages: list[Message]) -> str:
    seqs = [message.seq for message in messages]
    return reference(seqs[0]) if len(seqs) == 1 else f"{reference(min(seqs))} to {reference(max(seqs))}"


def _stated(compacted: Compacted) -> str:
    stated = Counted(entry.kind for entry in compacted.found.stated)
    found = Counted(entry.kind for entry in compacted.ledger.entries)
    return ", ".join(
        f"{name} {stated[kind]} of {found[kind]}" for kind, name in _KINDS.items() if found[kind]
    )


def _cautions(compacted: Compacted) -> Iterator[tuple[str, str]]:
    """Yield warnings for the user: secrets, what was not read, what could not be done as asked."""
    session = compacted.session
    replaced = compacted.summary.count("[secret: ")
    known = compacted.log.secrets
    open_ones = sum(len(find_secrets(text, known)) for text in compacted.texts()) if compacted.record else 0
    told = [f"{replaced:,} replaced in the summary"] if replaced and compacted.record else []
    told += (
        [f"{open_ones:,} still in what stays verbatim: treat it like the session itself"] if open_ones else []
    )
    if told:
        yield "secrets", "; ".join(told)
    if session.skipped:
        first = session.skipped[0]
        where = f"line {first.line}: " if first.line else ""
        yield (
            "skipped",
            f"{plural(len(session.skipped), 'line')} that could not be used ({where}{first.reason})",
        )
    if session.garbled:
        yield "not UTF-8", garbled(session)
    if session.sidechains or session.abandoned:
        apart = (
            [plural(len(session.sidechains), "sub-agent") + "'s own messages"] if session.sidechains else []
        )
        apart += [plural(len(session.abandoned), "message") + " of a branch that was left"] * bool(
            session.abandoned
        )
        yield "not in it", "; ".join(apart)
    if compacted.receipt.problem:
        yield "problem", compacted.receipt.problem
    for note in compacted.receipt.notes:
        yield "note", note
