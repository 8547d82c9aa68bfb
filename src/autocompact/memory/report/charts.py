"""The charts of a report, as SVG. They take their colours from the page (``--with``, ``--without``, …)."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from autocompact.memory.report.figures import MonthlyReport
from autocompact.memory.report.telling import dollars
from autocompact.ui.pages import label, rect, short, svg

WIDTH, HEIGHT = 360, 150
_LEFT, _TOP, _BOTTOM = 44, 10, 20
_MOST_ROWS = 12


def chart_of(report: MonthlyReport, name: str) -> str:
    """The chart of that name as an SVG element; "" if there is nothing to draw."""
    match name:
        case "tokens":
            return _by_day(report)
        case "compactions":
            return _compactions(report)
        case "retention":
            return _retention(report)
        case "cost":
            return _cost(report)
        case _:
            return ""


def _by_day(report: MonthlyReport) -> str:
    """A column for each day: what was sent, and above it what compaction kept out."""
    most = max((each.without for each in report.days), default=0)
    if not most:
        return ""
    step = (WIDTH - _LEFT) / len(report.days)
    room = HEIGHT - _TOP - _BOTTOM
    shapes = [*_axis(most)]
    for each in report.days:
        x, width = _LEFT + (each.day - 1) * step + 1, step - 2
        total, sent = room * each.without / most, room * each.tokens / most
        told = f"{report.month}-{each.day:02}: {each.tokens:,} sent, {each.without:,} without compaction"
        base = HEIGHT - _BOTTOM
        shapes.append(f"<g><title>{told}</title>")
        shapes.append(rect(x, base - total, width=width, height=total, kind="without"))
        shapes.append(rect(x, base - sent, width=width, height=sent, kind="with"))
        shapes.append("</g>")
        if each.compactions:
            shapes.append(f'<circle class="mark" cx="{x + width / 2:.1f}" cy="{HEIGHT - 4}" r="2.5"/>')
        if each.day in (1, 8, 15, 22, 29):
            shapes.append(label(x, HEIGHT - 8, text=str(each.day)))
    legend = (("with", "sent"), ("without", "kept out by compaction"), ("mark", "a compaction"))
    return svg(
        shapes, label="Tokens by day, with and without compaction", legend=legend, size=(WIDTH, HEIGHT)
    )


def _axis(most: int) -> Iterator[str]:
    room = HEIGHT - _TOP - _BOTTOM
    for share in (0, 0.5, 1):
        y = HEIGHT - _BOTTOM - room * share
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield label(_LEFT - 4, y + 3, text=short(most * share), anchor="end")


def _compactions(report: MonthlyReport) -> str:
    """Two bars for each compaction, before and after."""
    made = [
        each for each in report.records.compactions if each.tokens_before and each.tokens_after is not None
    ]
    made = made[-_MOST_ROWS:]
    most = max((each.tokens_before or 0 for each in made), default=0)
    if not most:
        return ""
    shapes: list[str] = []
    for row, each in enumerate(made):
        y = 4 + row * 20
        before, after = each.tokens_before or 0, each.tokens_after or 0
        room = WIDTH - 130
        told = f"{each.conversation}: {before:,} tokens before, {after:,} after"
        shapes += [
            f"<g><title>{escape(told)}</title>",
            label(62, y + 11, text=each.time[5:16].replace("T", " "), anchor="end"),
            rect(66, y, width=room * before / most, height=7, kind="without"),
            rect(66, y + 8, width=room * after / most, height=7, kind="with"),
            label(70 + room * before / most, y + 11, text=f"{short(before)} → {short(after)}"),
            "</g>",
        ]
    legend = (("without", "tokens before"), ("with", "tokens after"))
    return svg(
        shapes,
        label="Tokens before and after each compaction",
        legend=legend,
        size=(WIDTH, 8 + 20 * len(made)),
    )


def _retention(report: MonthlyReport) -> str:
    """Draw the bar of what is stated, referenced and missing."""
    checked = report.retention
    if checked is None:
        return ""
    shapes: list[str] = []
    x = 0.0
    for kind, value in (("with", checked.stated), ("mark", checked.referenced), ("missing", checked.missing)):
        width = WIDTH * value / checked.total
        shapes.append(rect(x, 2, width=width, height=22, kind=kind))
        if width > 40:
            shapes.append(
                f'<text class="inside" x="{x + width / 2:.1f}" y="17" text-anchor="middle">{value / checked.total:.0%}</text>'
            )
        x += width
    legend = (("with", "stated in the context"), ("mark", "referenced"), ("missing", "missing"))
    return svg(shapes, label="What became of the entries of the ledgers", legend=legend, size=(WIDTH, 26))


def _cost(report: MonthlyReport) -> str:
    """Two bars: with compaction and without."""
    with_it, without = report.cost, report.cost_without
    if with_it is None or without is None or not (most := max(with_it, without)):
        return ""
    shapes: list[str] = []
    rows = (("with", "with", with_it), ("without", "without", without))
    for row, (kind, name, value) in enumerate(rows):
        y, width = 4 + row * 24, (WIDTH - 130) * value / most
        shapes += [
            label(58, y + 13, text=name, anchor="end"),
            rect(62, y, width=width, height=18, kind=kind),
            label(66 + width, y + 13, text=dollars(value)),
        ]
    return svg(shapes, label="Cost with and without compaction", legend=(), size=(WIDTH, 52))
