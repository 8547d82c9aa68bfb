"""Values of options."""

from __future__ import annotations

from collections.abc import Callable

import click


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
