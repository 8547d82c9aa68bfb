"""Values of options."""

from __future__ import annotations

from typing import Any

import click


class Count(click.ParamType[int]):
    """A whole number of at least ``least``."""

    name = "number"

    def __init__(self, *, least: int) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: PLR0917 - click's own signature
        """The number, or click's error that names the option."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        if number < self.least:
            self.fail(f"{number} is too small, the least is {self.least}.", param, ctx)
        return number
