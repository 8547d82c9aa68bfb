"""Small charts of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import click

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_FULL, _EMPTY = "█", "░"


def bar(value: float, *, most: float, width: int, color: str) -> str:
    """A horizontal bar: ``value`` of ``most``, in ``width`` columns; what is not nothing shows."""
    filled = round(width * min(1.0, value / most)) if most else 0
    filled = max(filled, 1) if value else 0
    return click.style(_FULL * filled, fg=color) + click.style(_EMPTY * (width - filled), dim=True)


def columns(values: Sequence[int], *, height: int) -> list[str]:
    """A column of up to ``height`` lines for each value, the lines from top to bottom."""
    most = max(values, default=0) or 1
    eighths = [max(round(8 * height * value / most), 1 if value else 0) for value in values]
    return [
        "".join(_EIGHTHS[max(0, min(8, size - 8 * level))] for size in eighths)
        for level in reversed(range(height))
    ]


def spread(points: Sequence[tuple[int, int]], *, last: int, width: int) -> list[int]:
    """``(position, value)`` pairs with positions 1..``last`` in ``width`` columns: the greatest value of each.

    A column without a point shows the value before it.
    """
    places = [0] * width
    for position, value in points:
        place = column(position, last=last, width=width)
        places[place] = max(places[place], value)
    known = {column(position, last=last, width=width) for position, _ in points}
    for place in range(1, width):
        if place not in known:
            places[place] = places[place - 1]
    return places


def column(position: int, *, last: int, width: int) -> int:
    """The column of a position in 1..``last``."""
    return min(width - 1, (position - 1) * width // max(1, last))


def marks(positions: Collection[int], *, last: int, width: int, sign: str) -> str:
    """A line with ``sign`` under the columns of ``positions``."""
    places = {column(position, last=last, width=width) for position in positions}
    return "".join(sign if place in places else " " for place in range(width)).rstrip()
