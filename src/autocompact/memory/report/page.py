"""A monthly report as one HTML file that loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from autocompact.memory.report.charts import chart_of
from autocompact.memory.report.figures import MonthlyReport
from autocompact.memory.report.telling import Part, Table, facts_of, opening_of, parts_of, title_of
from autocompact.ui.pages import document

LONG = 8
"""A table of more rows is folded away under its chart."""

_CODE = re.compile(r"`([^`]+)`")


def as_html(report: MonthlyReport) -> str:
    """The report as an HTML document: no script, nothing from elsewhere, light and dark."""
    title = title_of(report)
    body = "\n".join(_body(report))
    return document(title, f"<h1>{escape(title)}</h1>\n{body}")


def _body(report: MonthlyReport) -> Iterator[str]:
    for sentence in opening_of(report):
        yield f'<p class="note">{escape(sentence)}</p>'
    if report.records.is_empty:
        return
    yield f"<dl>{''.join(_fact(row, report) for row in facts_of(report).rows)}</dl>"
    for part in parts_of(report):
        yield f"<section>\n<h2>{escape(part.title)}</h2>"
        yield from _part(part, report)
        yield "</section>"


def _fact(row: Sequence[str], report: MonthlyReport) -> str:
    """A figure, and below it that of the month before."""
    name, value, *before = row
    was = (
        f"<dd><small>{escape(str(report.before.month))}: {escape(before[0])}</small></dd>"
        if report.before and before
        else ""
    )
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd>{was}</div>"


def _part(part: Part, report: MonthlyReport) -> Iterator[str]:
    for sentence in part.sentences:
        marked = _CODE.sub(r"<code>\1</code>", escape(sentence))
        yield f"<p>{marked}</p>"
    yield chart_of(report, part.chart)
    if part.table is not None:
        table = _table(part.table)
        is_long = len(part.table.rows) > LONG
        yield f"<details><summary>All figures</summary>{table}</details>" if is_long else table
    if part.items:
        yield f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in part.items)}</ul>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in table.rows)
    kind = ' class="figures"' if table.figures else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _cell(text: str) -> str:
    return f'<td class="name">{escape(text)}</td>' if len(text) > 24 else f"<td>{escape(text)}</td>"
