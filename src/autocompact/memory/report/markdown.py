"""A monthly report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autocompact.memory.documents.wording import one_line
from autocompact.memory.report.figures import MonthlyReport
from autocompact.memory.report.telling import Part, Table, facts_of, opening_of, parts_of, title_of

_SPECIAL = re.compile(r"([\\`*_<>\[\]|#])")


def as_markdown(report: MonthlyReport) -> str:
    """The report as a Markdown document."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: MonthlyReport) -> Iterator[str]:
    yield f"# {title_of(report)}"
    for sentence in opening_of(report):
        yield from ("", sentence)
    if report.records.is_empty:
        return
    yield from ("", *_table(facts_of(report)))
    for part in parts_of(report):
        yield from ("", f"## {part.title}", *_part(part))


def _part(part: Part) -> Iterator[str]:
    for sentence in part.sentences:
        yield from ("", sentence)
    if part.table is not None:
        yield from ("", *_table(part.table))
    if part.items:
        yield ""
        yield from (f"- {_plain(item)}" for item in part.items)


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.columns)} |"
    figure = "---:|" if table.figures else "---|"
    yield f"|---|{figure * (len(table.columns) - 1)}"
    for row in table.rows:
        yield f"| {' | '.join(_plain(cell) for cell in row)} |"


def _plain(text: str) -> str:
    """``text`` from a record: on one line, and nothing in it is Markdown."""
    return _SPECIAL.sub(r"\\\1", one_line(text))
