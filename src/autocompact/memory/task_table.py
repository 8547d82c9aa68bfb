"""TASK_ARCHIVE.md: a table of tasks for each month."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from autocompact.memory.dates import read_date, read_month
from autocompact.memory.document import Edit
from autocompact.memory.outline import Section
from autocompact.memory.pages import Page
from autocompact.memory.wording import block_at, one_line

COLUMNS = ("Task", "Date", "Outcome", "Files", "Tokens", "Pattern")
UNDATED = "Undated"
HEAD = (f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}")
_CELL = re.compile(r"(?<!\\)\|")
RULER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task in the archive: what it was, when, how it ended, how many files and tokens, which pattern it showed."""

    task: str
    date: date | None
    outcome: str
    files: str
    tokens: str
    pattern: str

    def render(self) -> str:
        """The row as Markdown."""
        day = self.date.isoformat() if self.date else ""
        cells = (self.task, day, self.outcome, self.files, self.tokens, self.pattern)
        return f"| {' | '.join(one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def rows_in(texts: Sequence[str]) -> list[Row]:
    """The rows of every table whose columns are those of a task archive."""
    return [_row(line) for start, end in _tables(texts) for line in texts[start + 2 : end]]


def _tables(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """First line of each table, and the line after its last."""
    line = 0
    while line + 1 < len(texts):
        if not (_is_head(texts[line]) and RULER.fullmatch(texts[line + 1])):
            line += 1
            continue
        end = line + 2
        while end < len(texts) and texts[end].lstrip().startswith("|"):
            end += 1
        yield line, end
        line = end


def _is_head(line: str) -> bool:
    return line.lstrip().startswith("|") and tuple(cell.lower() for cell in _cells(line)) == tuple(
        column.lower() for column in COLUMNS
    )


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    if "\\|" not in inner:
        return [cell.strip() for cell in inner.split("|")]
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(inner)]


def _row(line: str) -> Row:
    task, day, outcome, files, tokens, pattern = (_cells(line) + [""] * len(COLUMNS))[: len(COLUMNS)]
    return Row(task=task, date=read_date(day), outcome=outcome, files=files, tokens=tokens, pattern=pattern)


def adding_rows(page: Page, rows: Sequence[Row]) -> list[Edit]:
    """The edits that add ``rows``, each to the table of its month; a month that is new gets one, in its place."""
    months: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.date or date.max):
        months.setdefault(row.date.isoformat()[:7] if row.date else UNDATED, []).append(row)
    tables = list(_tables(page.texts))
    sections = list(_sections(page.outline.root))
    edits: list[Edit] = []
    new: dict[int, list[str]] = {}
    for month, found in months.items():
        lines = tuple(row.render() for row in found)
        section = next((each for each in sections if _month(each.title) == month), None)
        if section is None:
            later = (each.start for each in sections if _month(each.title) > month)
            new.setdefault(next(later, page.outline.end), []).extend(("", f"## {month}", "", *HEAD, *lines))
        else:
            edits.append(_extending(section, lines, tables=tables))
    return [*edits, *(block_at(page.document, at, lines=lines[1:]) for at, lines in new.items())]


def _extending(section: Section, lines: tuple[str, ...], *, tables: Sequence[tuple[int, int]]) -> Edit:
    for start, end in reversed(tables):
        if section.start < start and end <= section.end:
            return Edit(start=end, end=end, lines=lines)
    return Edit(start=section.end, end=section.end, lines=("", *HEAD, *lines))


def _sections(section: Section) -> Iterator[Section]:
    yield section
    for inner in section.sections:
        yield from _sections(inner)


def _month(title: str) -> str:
    """``2026-10`` of a title that names a month; "" of any other."""
    if title == UNDATED:
        return UNDATED
    last = read_month(title.strip(" :"))
    return f"{last:%Y-%m}" if last else ""
