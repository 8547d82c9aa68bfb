"""Checks of settings: a figure that cannot be used is refused where it is given, not where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autocompact.errors import InvalidInput


def check_whole(value: object, *, name: str, least: int = 0, unit: str = "tokens") -> None:
    """Check that ``value`` is a whole number of ``least`` or more; True, 1.5 and NaN are none.

    Args:
        value: as it was given.
        name: what it sets, for the message.
        least: smallest that can be used.
        unit: what it counts, for the message.

    Raises:
        InvalidInput: it cannot be used.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"{name} is {value!r}: give a whole number of {unit}, {least:,} or more")


def check_share(value: object, *, name: str) -> None:
    """Check that ``value`` is a number from 0 to 1; True and NaN are none.

    Raises:
        InvalidInput: it cannot be used.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} is {value!r}, it must be a share between 0 and 1")


def check_flag(value: object, *, name: str) -> None:
    """Check that ``value`` is True or False.

    Raises:
        InvalidInput: it is neither.
    """
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} is {value!r}: give True or False")


def check_choice(value: object, choices: Iterable[object], *, name: str) -> None:
    """Check that ``value`` is one of ``choices``.

    Raises:
        InvalidInput: it is none of them.
    """
    choices = tuple(choices)
    if value not in choices:
        raise InvalidInput(f"{name} is {value!r}: choose one of {', '.join(map(repr, choices))}")


def check_windows(windows: object) -> None:
    """Check a table of windows: model names, or their beginnings, to tokens.

    Raises:
        InvalidInput: it is no such table.
    """
    if not isinstance(windows, Mapping):
        raise InvalidInput(
            f"windows is {windows!r}: give a mapping of model names to tokens, e.g. {{'my-model': 32_000}}"
        )
    for model, tokens in windows.items():  # pyright: ignore[reportUnknownVariableType] - checked here
        if not isinstance(model, str):
            raise InvalidInput(f"windows has the key {model!r}: give the name of a model, or its beginning")
        check_whole(tokens, name=f"the window of {model!r}", least=1)  # pyright: ignore[reportUnknownArgumentType] - checked there
