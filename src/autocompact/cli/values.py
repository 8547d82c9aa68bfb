"""Values of options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click


def folder(value: str) -> Path:
    """A folder, which may be missing. An empty text is none: a variable that is not set would be the current folder."""
    if not value:
        raise click.BadParameter("it is empty: give a folder, . is the current one.")
    if (path := Path(value)).is_file():
        raise click.BadParameter(f"{value!r} is a file.")
    return path


def count(*, least: int) -> Callable[[str], int]:
    """What reads a whole number of at least ``least``; click adds the name of the option to its error."""

    def read(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is not a whole number.") from None
        if number < least:
            raise click.BadParameter(f"{number} is too small, the least is {least}.")
        return number

    return read
