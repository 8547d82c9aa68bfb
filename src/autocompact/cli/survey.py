"""Inspection of a session, and the output of ``autocompact inspect``: as text with small charts, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

import click
import msgspec

from autocompact.cli.counting import watched
from autocompact.cli.defaults import window as default_window
from autocompact.cli.defaults import window_source
from autocompact.cli.sources import Source
from autocompact.cli.usages import OUTSIDE_IS, as_json, garbled, in_log, reported
from autocompact.core.plurals import plural
from autocompact.core.redacted import edited
from autocompact.core.references import reference
from autocompact.history.recorded.inspecting import Inspection, Repeat, Share, inspect_session
from autocompact.models.vocabulary import brief_counter
from autocompact.sessions import LABELS
from autocompact.ui.charts import bar, columns, marks, spread
from autocompact.ui.terminal.output import progress
from autocompact.ui.text import visible

_HEIGHT = 6
_AXIS = 10
_ROWS = 10
_BAR = 12
_FIGURES = 18


def inspected(source: Source, *, through: int | None, window: int | None) -> Inspection:
    """The session of ``source``, looked at."""
    with progress(f"Reading {source.name}") as work:
        session = source.read()
        counter = watched(brief_counter(session.model), session, work=work)
        tokens = default_window(window, session)
        return inspect_session(session, counter=counter, through=through, window=tokens)


def survey(inspection: Inspection, name: str, *, width: int) -> str:
    """The text, ``width`` columns wide; ``name`` is the session's."""
    total = inspection.context.cost.tokens
    title, *told = _head(inspection, name)
    sections = (
        (title, *(part for line in told for part in textwrap.wrap(line, width))),
        _shares("By role", inspection.roles, total=total, width=width, times="message"),
        _shares("By tool, calls and results", inspection.tools, total=total, width=width, times="call"),
        _shares("By file", inspection.files, total=total, width=width, times=""),
        _largest(inspection),
        _repeats(inspection),
        _growth(inspection, width=width),
    )
    blocks = [[_cut(line, width) for line in section] for section in sections]
    blocks[0][0] = title
    return "\n\n".join("\n".join(lines) for lines in blocks if lines)


def _cut(line: str, width: int) -> str:
    plain = click.unstyle(line)
    return line if len(plain) <= width else f"{plain[: width - 1]}…"


def as_document(inspection: Inspection) -> bytes:
    """The JSON of ``--json``, with a line end."""
    session = inspection.session
    document = {
        "source": {
            "format": session.format,
            "model": session.model,
            "messages": len(session.messages),
            "skipped_lines": len(session.skipped),
            "garbled_lines": len(session.garbled),
        },
        "messages": inspection.messages,
        "window": inspection.window,
        "tokens": inspection.context.cost.tokens,
        "log_tokens": inspection.log_tokens,
        "counter": inspection.counter,
        "roles": inspection.roles,
        "tools": inspection.tools,
        "files": inspection.files,
        "largest": inspection.largest,
        "repeats": inspection.repeats,
        "usage": {
            **as_json(inspection.usage),
            "points": inspection.points,
            "points_reported": inspection.reported,
        },
        "compactions": [
            {"through": record.through_seq, "time": record.receipt.time, "rung": record.receipt.rung}
            for record in inspection.compactions
        ],
    }
    return msgspec.json.encode(document) + b"\n"


def _head(inspection: Inspection, name: str) -> Iterator[str]:
    session, tokens = inspection.session, inspection.context.cost.tokens
    model = f", {session.model}" if session.model else ""
    title = click.style(visible(name), bold=True)
    yield f"{title}: {LABELS[session.format]}{visible(model)}, {plural(inspection.messages, 'message')}"
    window, usage = inspection.window, inspection.usage
    where = f"{window:,} tokens{visible(window_source(window, session))}"
    if usage.reported:
        yield f"The context takes {usage.used:,} of {where}, {usage.used / window:.0%}: {reported(usage)}."
        yield f"In the log: {in_log(usage, counter=inspection.counter)}."
        yield f"All figures below are counted with {inspection.counter}."
    else:
        yield f"The context takes {tokens:,} of {where}, {tokens / window:.0%}; counted with {inspection.counter}."
    if usage.outside:
        yield f"{usage.outside:,} tokens are outside of the log: {OUTSIDE_IS}."
    if inspection.compactions and inspection.log_tokens > tokens:
        yield (
            f"{plural(len(inspection.compactions), 'compaction')} before this: of {inspection.log_tokens:,} tokens said, "
            "the rest is not in the context any more."
        )
    if session.garbled:
        yield f"Not UTF-8: {garbled(session)}."
    if session.skipped:
        yield f"{plural(len(session.skipped), 'line')} could not be used: {visible(session.skipped[0].reason)}"


def _title(text: str) -> str:
    return click.style(text, bold=True)


def _shares(title: str, shares: Sequence[Share], *, total: int, width: int, times: str) -> Iterator[str]:
    if not shares:
        return
    yield _title(title)
    shown = shares[:_ROWS]
    room = width - _BAR - _FIGURES - 22
    shown = [replace(share, name=edited(share.name, visible)) for share in shown]
    longest = min(room, max(len(share.name) for share in shown))
    for share in shown:
        note = plural(share.times, times) if times else share.note
        figures = f"{share.tokens:>9,} {share.tokens / total:>6.1%}"
        drawn = bar(share.tokens, most=shown[0].tokens, width=_BAR, color="cyan")
        yield f"  {_end(share.name, longest):<{longest}}  {drawn} {figures}  {note}"
    if len(shares) > _ROWS:
        rest = sum(share.tokens for share in shares[_ROWS:])
        yield f"  and {len(shares) - _ROWS:,} more: {rest:,}"


def _end(text: str, length: int) -> str:
    """``text`` cut at its beginning: the end of a path tells more."""
    return text if len(text) <= length else f"…{text[-length + 1 :]}"


def _largest(inspection: Inspection) -> Iterator[str]:
    yield _title("Largest parts")
    for piece in inspection.largest:
        place = reference(piece.seq) if piece.seq else ""
        yield f"{piece.tokens:>9,}  {place:<6} {visible(piece.what)}"


def _repeats(inspection: Inspection) -> Iterator[str]:
    if not inspection.repeats:
        return
    wasted = sum(repeat.tokens for repeat in inspection.repeats)
    share = wasted / inspection.context.cost.tokens
    yield _title(f"More than once: {wasted:,} tokens ({share:.0%}) that a later output shows again")
    for repeat in inspection.repeats[:_ROWS]:
        yield _repeat(repeat)
    if len(inspection.repeats) > _ROWS:
        yield f"  and {len(inspection.repeats) - _ROWS:,} more"


def _repeat(repeat: Repeat) -> str:
    places = ", ".join(reference(seq) for seq in repeat.seqs[:5])
    return f"{repeat.tokens:>9,}  {visible(repeat.what)} ({places}{', …' if len(repeat.seqs) > 5 else ''})"


def _growth(inspection: Inspection, *, width: int) -> Iterator[str]:
    """The context over time, a column for some messages each; compactions are marked below."""
    source = "as the provider reported it" if inspection.reported else "counted"
    yield _title(f"The context over time, {source}")
    room = width - _AXIS - 1
    last = inspection.messages
    values = spread([(point.seq, point.tokens) for point in inspection.points], last=last, width=room)
    for level, line in enumerate(columns(values, height=_HEIGHT)):
        label = f"{max(values):,}" if level == 0 else "0" if level == _HEIGHT - 1 else ""
        yield f"{label:>{_AXIS - 1}} {click.style(line.rstrip(), fg='cyan')}"
    made = [max(1, record.through_seq) for record in inspection.compactions]
    if made:
        yield " " * _AXIS + click.style(marks(made, last=last, width=room, sign="▲"), fg="yellow")
    end = reference(last)
    yield " " * _AXIS + f"m1{end:>{room - 2}}"
    if made:
        yield f"{'▲':>{_AXIS + 1}} compacted, last through {reference(made[-1])}: --through {made[-1]} shows the time before"
