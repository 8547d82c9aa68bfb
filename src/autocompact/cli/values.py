"""Values of options."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from autocompact.stores.naming import store_place


def folder(value: str) -> Path:
    """A folder, which may be missing. An empty text is none: a variable that is not set would be the current folder."""
    if not value:
        raise click.BadParameter("it is empty: give a folder, . is the current one.")
    if (path := Path(value)).is_file():
        raise click.BadParameter(f"{value!r} is a file.")
    return path


def complete_file(*arguments: object) -> list[CompletionItem]:
    """Let the shell complete a path."""
    # click gives what is typed so far as the last of them
    return [CompletionItem(str(arguments[-1]), type="file")]


store_option = partial(
    click.option,
    type=store_place,
    metavar="FILE|URL",
    shell_complete=complete_file,
)
"""An option that names a store: a file, or a database on a server."""


def session_name(value: str) -> str:
    """The name of a session. An empty text is none: a variable that is not set would be the current folder."""
    if not value:
        raise click.BadParameter("it is empty: name a file, or - for stdin.")
    return value


session_argument = partial(click.argument, "session", type=session_name, shell_complete=complete_file)
"""The argument that names a session: a file, or - for stdin."""

_NUMBER = re.compile(r"(\d+(?:[_,]\d{3})*|\d+)(\.\d+)?([kKmM]?)")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def count(*, least: int) -> Callable[[str], int]:
    """A reader of whole numbers of at least ``least``: ``12000``, ``12,000``, ``12k`` or ``1.5m``.

    click adds the name of the option to its error.
    """

    def read(value: str) -> int:
        number = _number(value)
        if number < least:
            raise click.BadParameter(f"{number} is too small, the least is {least}.")
        return number

    return read


def _number(value: str) -> int:
    found = _NUMBER.fullmatch(value.strip())
    if found is None:
        if value.strip().lstrip("-+").isdecimal():
            return int(value)
        raise click.BadParameter(f"{value!r} is not a whole number: write 12000 or 12k.")
    digits, part, unit = found.groups()
    decimals = (part or ".")[1:]
    shifted = int(digits.replace(",", "").replace("_", "") + decimals) * _TIMES[unit.lower()]
    number, rest = divmod(shifted, 10 ** len(decimals))
    if rest:
        raise click.BadParameter(f"{value!r} is not a whole number: write 12000 or 12k.")
    return number
