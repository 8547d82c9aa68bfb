"""Tables as lines of a terminal: columns as wide as their cells, cells in several lines where the terminal is narrow.

Words and figures are never broken. Where not even the longest word of each column fits beside the others, each row becomes
a list of its cells, with the heads as their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from wcwidth import wcwidth

_GAP = 2
"""Columns of the terminal between two of the table."""


def table_lines(
    rows: Sequence[Sequence[str]], *, right: Sequence[bool], columns: int
) -> Iterator[tuple[str, bool]]:
    """The lines of a table, and whether each belongs to its head.

    Args:
        rows: of cells, the head first; shorter ones end with empty cells.
        right: whether a column is aligned to the right; missing ones are not.
        columns: of the terminal.
    """
    count = max(map(len, rows))
    filled = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = _widths(filled, most=columns - _GAP * (count - 1))
    if widths is None:
        yield from _listed(filled)
        return
    sides = [*right, *[False] * count]
    wrapped = [[_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)] for row in filled]
    apart = any(len(cell) > 1 for row in wrapped for cell in row)
    for number, row in enumerate(wrapped):
        if apart and number:
            yield "", False
        for parts in zip_longest(*row, fillvalue=""):
            padded = (
                _padded(part, width, right=side)
                for part, width, side in zip(parts, widths, sides, strict=False)
            )
            yield (" " * _GAP).join(padded).rstrip(), not number


def _widths(rows: Sequence[Sequence[str]], *, most: int) -> list[int] | None:
    """The widths of the columns; None if the longest words do not fit beside each other."""
    whole = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if sum(whole) <= most:
        return whole
    widths = [
        max((_width(word) for cell in column for word in cell.split()), default=0)
        for column in zip(*rows, strict=True)
    ]
    if sum(widths) > most:
        return None
    for _ in range(most - sum(widths)):
        at = max(range(len(widths)), key=lambda n: whole[n] - widths[n])
        widths[at] += 1
    return widths


def _listed(rows: Sequence[Sequence[str]]) -> Iterator[tuple[str, bool]]:
    head, *body = rows
    for number, row in enumerate(body):
        if number:
            yield "", False
        for name, cell in zip(head, row, strict=True):
            if cell:
                yield f"{name}: {cell}" if name else cell, False


def _wrapped(cell: str, width: int) -> list[str]:
    """The lines of a cell; one at least."""
    lines = [""]
    for word in cell.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if _width(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _padded(text: str, width: int, *, right: bool) -> str:
    spaces = " " * (width - _width(text))
    return f"{spaces}{text}" if right else f"{text}{spaces}"


def _width(text: str) -> int:
    """Columns of the terminal that a text takes."""
    return sum(max(0, wcwidth(char)) for char in text)
