"""Limits on what a project's file may set.

Such a file may have come with a repository, so its author may be a stranger to who works there. It can say when and how
conversations are compacted. It cannot say where they are sent or kept, what they may cost, what is removed, which keys
are used, what is run, or that files outside of the project are read or changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import assert_never, cast

from autocompact.ledger.prompts import BUILT_IN
from autocompact.models.skills import is_text
from autocompact.settings.fields import Setting

OFFLINE = "offline"


def is_taken(setting: Setting, value: object, *, folder: Path) -> bool:
    """True if the file of the project in ``folder`` may give ``setting`` this value."""
    match setting.project:
        case "all":
            return True
        case "nothing":
            return False
        case "offline":
            return value == OFFLINE
        case "within":
            return all(_is_within(each, folder=folder) for each in _paths(setting, value))
        case _:
            assert_never(setting.project)


def _paths(setting: Setting, value: object) -> list[str]:
    """The paths in a value."""
    if isinstance(value, tuple):
        return list(cast("tuple[str, ...]", value))
    if not isinstance(value, str) or (setting.kind == "prompt" and not is_path_of_prompt(value)):
        return []
    return [value]


def is_path_of_prompt(given: str) -> bool:
    """True if what a setting gives as a prompt is a path: neither a shipped prompt's name nor the text itself."""
    return given not in BUILT_IN and not is_text(given)


def _is_within(path: str, *, folder: Path) -> bool:
    """True if a path leads into the folder; links are followed."""
    try:
        return (folder / Path(path).expanduser()).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, a user that is not there, a zero byte
        return False
