"""TASK_ARCHIVE.md: the tasks of each month, as rows of a table or as list items with a line of cells.

Both forms are read. A month that is there keeps its form; a table also keeps its columns, and a row with a cell that it
has no column for goes to a table of our own below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.dates import DATE, read_date, read_month
from autocompact.memory.documents.document import Edit
from autocompact.memory.documents.outline import Section
from autocompact.memory.documents.pages import Page
from autocompact.memory.documents.policy import ArchiveFormat
from autocompact.memory.documents.wording import block_at, one_line

COLUMNS = ("Task", "Date", "Outcome", "Files", "Tokens", "Pattern")
UNDATED = "Undated"
ONLY_ID = LazyPattern(r"[A-Za-z][A-Za-z0-9]{0,9}-\d+|#\d+")
"""A task that is named by its id alone."""
HEAD = (f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}")
_MONTHS = "January February March April May June July August September October November December".split()
_FORMS = ("{year}-{number}", "{name} {year}", "{short} {year}", "{year}/{number}")
RULER = LazyPattern(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_CELL = LazyPattern(r"(?<!\\)\|")
_COLUMN: Mapping[str, str] = {
    **dict.fromkeys(("task", "tasks", "task id", "id", "title", "description", "name"), "task"),
    **dict.fromkeys(("date", "completed", "done", "finished", "closed"), "date"),
    **dict.fromkeys(("outcome", "status", "result"), "outcome"),
    **dict.fromkeys(("files", "files changed"), "files"),
    **dict.fromkeys(("tokens", "tokens used"), "tokens"),
    **dict.fromkeys(("pattern", "patterns"), "pattern"),
}
_ITEM = LazyPattern(
    rf"\s*[-*+]\s+(?:\[[xX]\]\s+)?(?:(?P<id>[^\s\[\]]+)\s+)?(?:\[(?P<date>{DATE})\])?:?\s*(?P<title>.*)",
    re.IGNORECASE,
)
_FIELD = LazyPattern(r"\s*([A-Za-z][A-Za-z ]*):\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task in the archive: what it was, when, how it ended, how many files and tokens, which pattern it showed."""

    task: str
    date: date | None
    outcome: str
    files: str
    tokens: str
    pattern: str

    @property
    def cells(self) -> dict[str, str]:
        """Cells by the names of `COLUMNS` in lower case."""
        day = self.date.isoformat() if self.date else ""
        values = (self.task, day, self.outcome, self.files, self.tokens, self.pattern)
        return dict(zip((column.lower() for column in COLUMNS), values, strict=True))

    def render(self, columns: Iterable[str] | None = None) -> str:
        """The row as Markdown, for a table with ``columns`` (`COLUMNS` by default; "" for one that stays empty)."""
        cells = self.cells
        return f"| {' | '.join(_escaped(cells.get(each, '')) for each in columns or cells)} |"

    def listed(self) -> tuple[str, ...]:
        """The row as a list item: ``- TASK-42 [2026-03-15]: …`` and its cells on the next line."""
        id, _, title = self.task.partition(": ")
        has_id = bool(title) and " " not in id
        day = f"[{self.date}]" if self.date else ""
        head = " ".join(filter(None, (id if has_id else "", day)))
        told = [
            f"{name}: {_escaped(self.cells[name.lower()])}"
            for name in COLUMNS[2:]
            if self.cells[name.lower()]
        ]
        line = f"- {head}: {title if has_id else self.task}" if head else f"- {self.task}"
        return (one_line(line), f"  | {' | '.join(told or ['Outcome:'])} |")


def _escaped(cell: str) -> str:
    return one_line(cell).replace("|", "\\|")


def rows_in(texts: Sequence[str]) -> list[Row]:
    """The tasks of every table of a task archive, and of every list item with a line of cells."""
    found = [(line, row) for line, row in _listed_rows(texts)]
    for table in _tables(texts):
        found += [
            (line, _row(texts[line], columns=table.columns)) for line in range(table.start + 2, table.end)
        ]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table: its first line, the line after its last, and what its columns hold ("" for what is unknown)."""

    start: int
    end: int
    columns: tuple[str, ...]


def _tables(texts: Sequence[str]) -> Iterator[_Table]:
    line = 0
    while line + 1 < len(texts):
        columns = _columns(texts[line]) if RULER.fullmatch(texts[line + 1]) else ()
        if not columns:
            line += 1
            continue
        end = line + 2
        while end < len(texts) and texts[end].lstrip().startswith("|"):
            end += 1
        yield _Table(start=line, end=end, columns=columns)
        line = end


def _columns(line: str) -> tuple[str, ...]:
    """Columns of a table's head; none if it is not that of a table of tasks."""
    if not line.lstrip().startswith("|"):
        return ()
    columns = tuple(_COLUMN.get(cell.lower().strip("*_ "), "") for cell in _cells(line))
    is_of_tasks = "task" in columns and len({*columns} - {""}) > 1
    return columns if is_of_tasks else ()


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    if "\\|" not in inner:
        return [cell.strip() for cell in inner.split("|")]
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(inner)]


def _row(line: str, *, columns: Sequence[str]) -> Row:
    cells: dict[str, str] = {}
    for name, cell in zip(columns, _cells(line), strict=False):
        # An id and a title in columns of their own are one cell here.
        cells[name] = ": ".join(filter(None, (cells.get(name, ""), cell)))
    return _made(cells)


def _made(cells: Mapping[str, str]) -> Row:
    return Row(
        task=cells.get("task", ""),
        date=read_date(cells.get("date", "")),
        outcome=cells.get("outcome", ""),
        files=cells.get("files", ""),
        tokens=cells.get("tokens", ""),
        pattern=cells.get("pattern", ""),
    )


def _listed_rows(texts: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """The line of each list item that is a task, and what it and the line of cells below it say."""
    for line, text in enumerate(texts[:-1]):
        below = texts[line + 1].strip()
        if not (below.startswith("|") and below.endswith("|") and (item := _ITEM.fullmatch(text))):
            continue
        fields = [match for cell in _cells(below) if (match := _FIELD.fullmatch(cell))]
        cells = {_COLUMN.get(match[1].lower(), ""): match[2] for match in fields}
        title = item["title"].strip()
        id = (item["id"] or "").rstrip(":")
        # Without a date in brackets the first word is no id, unless a colon says so.
        joint = ": " if item["date"] or (item["id"] or "").endswith(":") else " "
        cells["task"] = joint.join(filter(None, (id, title)))
        cells["date"] = item["date"] or cells.get("date", "")
        yield line, _made(cells)


def adding_rows(page: Page, rows: Sequence[Row], *, archive_format: ArchiveFormat) -> list[Edit]:
    """The edits that add ``rows``, each to its month; a month that is new gets its place among the others."""
    months: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.date or date.max):
        months.setdefault(row.date.isoformat()[:7] if row.date else UNDATED, []).append(row)
    sections = list(_sections(page.outline.root))
    lead, form = _form_of(sections)
    edits: list[Edit] = []
    new: dict[int, list[str]] = {}
    for month, found in months.items():
        section = next((each for each in sections if _month(each.title) == month), None)
        if section is None:
            later = (each.start for each in sections if _month(each.title) > month)
            lines = _new_lines(found, archive_format)
            new.setdefault(next(later, page.outline.end), []).extend(
                ("", f"{lead} {_named(month, form)}", "", *lines)
            )
        else:
            edits += _extending(page.texts, section, rows=found)
    return [*edits, *(block_at(page.document, at, lines=lines[1:]) for at, lines in new.items())]


def _form_of(sections: Iterable[Section]) -> tuple[str, str]:
    """Hashes of a month's heading, and the form of its title that all months of the file have."""
    months = [
        (section, month) for section in sections if (month := _month(section.title)) not in ("", UNDATED)
    ]
    for form in _FORMS if months else ():
        if all(_named(month, form) == section.title for section, month in months):
            return "#" * months[-1][0].level, form
    return "##", _FORMS[0]


def _named(month: str, form: str) -> str:
    """``2026-10`` in a form: the names are English whatever the locale."""
    if month == UNDATED:
        return month
    year, number = month.split("-")
    name = _MONTHS[int(number) - 1]
    return form.format(year=year, number=number, name=name, short=name[:3])


def _new_lines(rows: Sequence[Row], archive_format: ArchiveFormat) -> list[str]:
    if archive_format == "markdown":
        return [line for row in rows for line in row.listed()]
    return [*HEAD, *(row.render() for row in rows)]


def _extending(texts: Sequence[str], section: Section, *, rows: Sequence[Row]) -> list[Edit]:
    """The edits that add ``rows`` to a month in the form that it has."""
    tables = [table for table in _tables(texts) if section.start < table.start and table.end <= section.end]
    items = [line for line, _ in _listed_rows(texts) if section.start < line < section.end]
    if items and not any(table.start > items[-1] for table in tables):
        lines = tuple(line for row in rows for line in row.listed())
        return [Edit(start=items[-1] + 2, end=items[-1] + 2, lines=lines)]
    edits: list[Edit] = []
    apart: list[Row] = []
    if tables and _has_ids_only(texts, tables[-1]):
        rows = [_by_id(row) for row in rows]
    for row in rows:
        needed = {name for name, cell in row.cells.items() if cell}
        table = next((each for each in reversed(tables) if needed.issubset(each.columns)), None)
        if table is None:
            apart.append(row)
            continue
        # Of an id and a title in columns of their own the last takes both.
        last = len(table.columns) - 1 - table.columns[::-1].index("task")
        columns = [
            "" if name == "task" and place != last else name for place, name in enumerate(table.columns)
        ]
        edits.append(Edit(start=table.end, end=table.end, lines=(row.render(columns),)))
    if apart:
        lines = ("", *HEAD, *(row.render() for row in apart))
        edits.append(Edit(start=section.end, end=section.end, lines=lines))
    return edits


def _has_ids_only(texts: Sequence[str], table: _Table) -> bool:
    """True if the tasks of a table are ids, and what they were stands in their outcome."""
    tasks = [_row(texts[line], columns=table.columns).task for line in range(table.start + 2, table.end)]
    return bool(tasks) and all(map(ONLY_ID.fullmatch, tasks))


def _by_id(row: Row) -> Row:
    id, _, title = row.task.partition(": ")
    if not title or not ONLY_ID.fullmatch(id):
        return row
    return replace(row, task=id, outcome="; ".join(filter(None, (title, row.outcome))))


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
