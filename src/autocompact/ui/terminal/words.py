"""Lines that the terminal shows of a chat. All text of a model, a tool or a person goes through `visible`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click

from autocompact.chat.views import ConversationLine, Divider, Entry, HistoryPage, MeterReading
from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.messages import Text, ToolCall, ToolResult
from autocompact.core.pairing import answered_calls
from autocompact.core.plurals import plural
from autocompact.core.references import reference
from autocompact.ui.charts import bar
from autocompact.ui.terminal.output import is_styled
from autocompact.ui.terminal.painter import painted
from autocompact.ui.text import visible

_METER = 10
_LONGEST_ARGUMENTS, _LONGEST_MODEL = 60, 24
_RULE = re.compile(r"\|?(\s*:?-+:?\s*\|)+\s*")
_CELL = re.compile(r"(?<!\\)\|")
_CUTS = {
    "cancelled": "cancelled: the partial answer is kept",
    "failed": "failed: the partial answer is kept; /retry asks again",
    "interrupted": "interrupted: the program ended; /retry continues",
    "length": "cut off: the answer reached its token limit; ask for the rest",
}


def line(text: str, *, most: int) -> str:
    """``text`` as one line of at most ``most`` characters, safe to show."""
    shown = visible(" ".join(text[: 4 * most].split()))
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def prompt(model: str, meter: MeterReading) -> str:
    """The line that asks for words: who answers, and how full the context is."""
    full = meter.used / meter.threshold if meter.threshold else meter.ratio
    color = "red" if full >= 1 else "yellow" if meter.prepared or full >= 0.8 else "green"
    shown = bar(meter.used, most=meter.window, width=_METER, color=color)
    ready = " ready to compact" if meter.prepared else ""
    return f"{line(model, most=_LONGEST_MODEL)} {shown} {meter.ratio:.0%}{ready} > "


def tool_line(name: str, arguments: str, *, seconds: float | None, text: str | None, is_error: bool) -> str:
    """A call and its result, folded."""
    took = "" if seconds is None else f"{seconds:.1f} s"
    size = "no result" if text is None else plural(len(text.splitlines()), "line")
    outcome = f"failed: {line(text or '', most=_LONGEST_ARGUMENTS)}" if is_error else size
    called = f"{line(name, most=40)} {line(arguments, most=_LONGEST_ARGUMENTS)}"
    told = ", ".join(filter(None, (took, outcome)))
    return click.style(f"  * {called} ({told})", fg="red" if is_error else "cyan")


def thought_line(reasoning: str) -> str:
    """Reasoning, folded."""
    return click.style(f"  (reasoning: {plural(len(reasoning.split()), 'word')})", dim=True)


def compacted_line(receipt: Receipt, *, what: str = "compacted") -> str:
    """The line that says what a compaction did."""
    checked = (
        f", {receipt.stated:,} stated, {receipt.referenced:,} referenced, {receipt.missing:,} missing"
        if receipt.stated
        else ""
    )
    figures = f"{receipt.tokens_before:,} tokens became {receipt.tokens_after:,}"
    return _rule(f"{what}: {figures}{checked}, {receipt.seconds:.1f} s")


def divider_line(divider: Divider) -> str:
    """A compaction in the history."""
    record = divider.record
    covers = "tool outputs"
    if divider.left is not None:
        first, last = divider.left
        covers = f"{reference(first)} to {reference(last)}"
    return compacted_line(record.receipt, what=f"{_status(record, active=divider.active)}: {covers}")


def _status(record: Compaction, *, active: bool) -> str:
    return "compacted" if active or record.status == "active" else f"compaction {record.status}"


def _rule(text: str) -> str:
    return click.style(f"── {text} ──", fg="yellow")


# The history


def history_lines(page: HistoryPage) -> Iterator[str]:
    """The messages of ``page`` with the compactions between them."""
    if page.earlier is not None:
        hidden = plural(page.earlier - 1, "earlier message")
        yield click.style(f"({hidden}: /search WORDS finds them, /open m1 shows one)", dim=True)
    calls: dict[int, dict[int, ToolCall]] = {}
    for place, call in answered_calls([entry.message for entry in page.entries]).items():
        calls.setdefault(place.message, {})[place.part] = call
    for index, entry in enumerate(page.entries):
        yield from entry_lines(entry, calls=calls.get(index, {}))
        yield from map(divider_line, page.dividers_after(entry.seq))


def entry_lines(entry: Entry, *, calls: Mapping[int, ToolCall]) -> Iterator[str]:
    """A message; ``calls`` are those that its tool results answer, by the index of the result among the parts."""
    message = entry.message
    for index, part in enumerate(message.parts):
        match part:
            case Text() if message.role == "user" and not message.synthetic:
                yield click.style(f"{reference(entry.seq)} > {visible(part.text)}", bold=True)
            case Text():
                yield answer(part.text)
            case ToolResult():
                yield _result_line(part, entry=entry, call=calls.get(index))
            case _:
                pass
    if entry.cut and message.role == "assistant":
        yield cut_line(entry.cut)
    if entry.failure:
        yield click.style(f"[no answer: {line(entry.failure, most=400)}; /retry asks again]", fg="red")


def _result_line(result: ToolResult, *, entry: Entry, call: ToolCall | None) -> str:
    return tool_line(
        call.name if call else "tool",
        call.arguments if call else "",
        seconds=entry.seconds,
        text=result.text,
        is_error=result.is_error,
    )


def cut_line(cut: str) -> str:
    """Line that says why an answer is incomplete."""
    return click.style(f"[{_CUTS.get(cut, cut)}]", fg="yellow")


def conversation_lines(lines: Iterable[ConversationLine], *, current: str) -> Iterator[str]:
    """The list of conversations."""
    for each in lines:
        mark = "*" if each.id == current else " "
        compacted = ", compacted" if each.compacted else ""
        told = f"{plural(each.messages, 'message')}{compacted}"
        yield f"{mark} {line(each.id, most=60)}  {line(each.title, most=50)}  ({told})"


# Markdown


def answer(markdown: str) -> str:
    """An answer of a model: its Markdown painted on a terminal with colours, else as written."""
    text = visible(markdown)
    return painted(text).rstrip("\n") if is_styled(sys.stderr) else text


def plain(markdown: str) -> str:
    """The Markdown of a command's answer for a terminal: tables in columns, no backticks."""
    if is_styled(sys.stderr):
        return painted(visible(markdown)).strip("\n")
    lines: list[str] = []
    table: list[list[str]] = []
    for each in [*visible(markdown).split("\n"), ""]:
        if each.startswith("|"):
            if not _RULE.fullmatch(each):
                table.append([cell.strip().replace("`", "") for cell in _CELL.split(each.strip("| "))])
            continue
        lines += _aligned(table)
        table = []
        lines.append(each.replace("`", ""))
    return "\n".join(lines).strip("\n")


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    sizes = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(_columns(rows))]
    return [
        "  ".join(f"{cell:<{size}}" for cell, size in zip(row, sizes, strict=False)).rstrip() for row in rows
    ]


def _columns(rows: Sequence[Sequence[str]]) -> int:
    return max((len(row) for row in rows), default=0)


def coloured_diff(diff: str) -> str:
    """A unified diff with its lines in the colours of their signs."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    return "\n".join(
        click.style(visible(line), fg=colours[line[0]]) if line[:1] in colours else visible(line)
        for line in diff.splitlines()
    )
