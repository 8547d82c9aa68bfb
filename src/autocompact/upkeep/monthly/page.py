"""A monthly report as one HTML file that loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from autocompact.upkeep.monthly.charts import chart_of
from autocompact.upkeep.monthly.figures import MonthlyReport
from autocompact.upkeep.monthly.telling import Part, Table, facts_of, opening_of, parts_of, title_of

LONG = 8
"""A table of more rows is folded away under its chart."""

_CODE = re.compile(r"`([^`]+)`")

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5b6470; --line: #d9dee5; --paper: #fff;
  --with: #1f6feb; --without: #c5d5ee; --mark: #d97706; --missing: #b42318; --inside: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #a2abb8; --line: #343b45; --paper: #15181d;
  --with: #6ea8fe; --without: #34486a; --mark: #f0a94a; --missing: #f0776b; --inside: #10131a } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 3rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem }
p { margin: .5rem 0; max-width: 44rem; overflow-wrap: anywhere }
.note { color: var(--soft) }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: .75rem 1.25rem; margin: 1.25rem 0 }
dl div { border-top: 1px solid var(--line); padding-top: .4rem }
dt { color: var(--soft); font-size: .85rem }
dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: .75rem 0 }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap }
th { color: var(--soft); font-weight: 500 }
td.name { white-space: normal; overflow-wrap: anywhere; min-width: 8rem }
summary { color: var(--soft); cursor: pointer; margin-top: .5rem }
.figures th + th, .figures td + td { text-align: right }
ul { padding-left: 1.2rem; overflow-wrap: anywhere }
figure { margin: .75rem 0; max-width: 44rem }
svg { display: block; width: 100%; height: auto }
svg text { font: 9px system-ui, sans-serif; fill: var(--soft) }
svg .inside { fill: var(--inside); font-weight: 600 }
.with { fill: var(--with); background: var(--with) }
.without { fill: var(--without); background: var(--without) }
.mark { fill: var(--mark); background: var(--mark) }
.missing { fill: var(--missing); background: var(--missing) }
.grid { stroke: var(--line); stroke-width: .7 }
figcaption { display: flex; flex-wrap: wrap; gap: .25rem 1rem; color: var(--soft); font-size: .85rem }
figcaption i { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin-right: .4em }
"""


def as_html(report: MonthlyReport) -> str:
    """The report as an HTML document: no script, nothing from elsewhere, light and dark."""
    title = escape(title_of(report))
    body = "\n".join(_body(report))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _body(report: MonthlyReport) -> Iterator[str]:
    for sentence in opening_of(report):
        yield f'<p class="note">{escape(sentence)}</p>'
    if report.records.is_empty:
        return
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts_of(report).rows
    )
    yield f"<dl>{facts}</dl>"
    for part in parts_of(report):
        yield f"<section>\n<h2>{escape(part.title)}</h2>"
        yield from _part(part, report)
        yield "</section>"


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
