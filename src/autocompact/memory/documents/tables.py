"""Tables whose rows are notes: where the cells of a row are, what its columns hold, and how a row is written.

A row is one line, so what has no column stands behind ``<br>`` in the cell that says what was noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autocompact.core.patterns import LazyPattern
from autocompact.memory.documents.dialects import Dialect

BREAK = "<br>"
BREAKS = LazyPattern(r"\s*<br\s*/?>\s*", re.IGNORECASE)
"""Parts the words of a cell."""
_RULER = LazyPattern(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*")
_PIPE = LazyPattern(r"(?<!\\)\|")
_NUMBERS = frozenset(("#", "no", "no.", "nr", "nr.", "number", "rule #"))
_SESSIONS = frozenset(("sessions", "sitzungen", "sesiones", "会话"))

Column: TypeAlias = str
"""What a column holds: a field of the dialect, "text", "number" or "sessions", or its own name where it is none of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Words in a cell and the columns of the line between which they stand; those of all of it if it is empty."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of notes: its rows as lines of the document, and for each column its name and what it holds."""

    rows: range
    names: tuple[str, ...]
    columns: tuple[Column, ...]

    def cells(self, line: str) -> list[tuple[str, Column, Cell]]:
        """The cells of a row, each with the name of its column and what that holds."""
        return list(zip(self.names, self.columns, cells_in(line), strict=False))

    def text(self, line: str) -> Cell | None:
        """The cell that says what was noted; None in a row that ends before."""
        return next((cell for _, column, cell in self.cells(line) if column == "text"), None)

    def row(self, told: Mapping[Column, str], fields: Sequence[str]) -> str:
        """A new row.

        Args:
            told: words by column, "text" among them; those of other columns are left out.
            fields: further ones as ``Name: value``.
        """
        cells = {column: told.get(column, "") for column in self.columns}
        cells["text"] = BREAK.join([told["text"], *fields])
        return f"| {' | '.join(escaped(cells[column]) for column in self.columns)} |"


def escaped(text: str) -> str:
    """``text`` as it stands in a cell."""
    return " ".join(text.split()).replace("|", "\\|")


def cells_in(line: str) -> list[Cell]:
    """The cells of a line of a table."""
    pipes = [match.start() for match in _PIPE.finditer(line)]
    ends = [*pipes[1:], len(line)] if pipes and line[pipes[-1] + 1 :].strip() else pipes[1:]
    found: list[Cell] = []
    for pipe, end in zip(pipes, ends, strict=False):
        inner = line[pipe + 1 : end]
        text = inner.strip()
        start = pipe + 1 + (len(inner) - len(inner.lstrip()) if text else 0)
        found.append(Cell(start=start, end=start + len(text) if text else end, text=text.replace("\\|", "|")))
    return found


def tables_in(texts: Sequence[str], lines: range, *, dialect: Dialect) -> Iterator[Table]:
    """The tables of notes in ``lines`` at the left margin, outside of fences and comments.

    A table of notes has a column that says what was noted, and one more that the dialect knows.
    """
    if not any(texts[line].startswith("|") for line in lines):
        return
    line, is_fenced, is_comment = lines.start, False, False
    while line < lines.stop:
        text = texts[line].lstrip()
        is_fenced ^= text.startswith(("```", "~~~"))
        is_comment = (is_comment or text.startswith("<!--")) and "-->" not in text
        if is_fenced or is_comment or not (table := _table_at(texts, line, stop=lines.stop, dialect=dialect)):
            line += 1
            continue
        if table.columns:
            yield table
        line = table.rows.stop


def table_of(texts: Sequence[str], row: int, *, dialect: Dialect) -> Table | None:
    """The table of notes that the line ``row`` belongs to."""
    start = row
    while start and texts[start - 1].startswith("|"):
        start -= 1
    return _table_at(texts, start, stop=len(texts), dialect=dialect)


def _table_at(texts: Sequence[str], line: int, *, stop: int, dialect: Dialect) -> Table | None:
    """The table whose head is at ``line``, without columns if it is none of notes."""
    if not texts[line].startswith("|") or line + 1 >= stop or not _RULER.fullmatch(texts[line + 1]):
        return None
    end = line + 2
    while end < stop and texts[end].startswith("|"):
        end += 1
    names = tuple(cell.text.strip("*_ ") for cell in cells_in(texts[line]))
    return Table(
        rows=range(line + 2, end), names=names, columns=_columns([name.lower() for name in names], dialect)
    )


def _columns(names: Sequence[str], dialect: Dialect) -> tuple[Column, ...]:
    """What the columns hold; none if it is no table of notes."""
    said = next((name for name in dialect.texts if name in names), None)
    if said is None:
        return ()
    columns: list[Column] = []
    for name in names:
        column = "text" if name == said else _column(name, dialect)
        # of two dates the first is the note's
        columns.append(name if column in columns else column)
    known = {"number", "sessions", *dialect.names.values()}
    return tuple(columns) if len(set(columns)) == len(columns) and not known.isdisjoint(columns) else ()


def _column(name: str, dialect: Dialect) -> Column:
    if dialect.numbered and name in _NUMBERS:
        return "number"
    return "sessions" if name in _SESSIONS else dialect.names.get(name, name)
