"""Defaults of options, taken from the settings of the current folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from autocompact.cli.model_options import Asked
from autocompact.core.windows import DEFAULT_WINDOW, window_for
from autocompact.sessions import Session
from autocompact.settings import Loaded, Settings, load_settings, memory_folder_of, window_of
from autocompact.stores.naming import StorePlace, store_place
from autocompact.ui.terminal.output import tell

_TOLD, _SETTINGS = "autocompact.settings.warning", "autocompact.settings"


def loaded(folder: Path | None = None, *, options: Mapping[str, tuple[str, object]] | None = None) -> Loaded:
    """The settings of ``folder``, by default the current one; what is ignored of them is told once for each command.

    Args:
        folder: whose project.
        options: see `autocompact.settings.load_settings`.

    Raises:
        InvalidInput: a value in them cannot be used.
    """
    found = load_settings(folder, options=options)
    context = click.get_current_context(silent=True)
    told: dict[str, object] = context.meta if context else {}
    if found.warning and found.warning != told.get(_TOLD):
        told[_TOLD] = found.warning
        tell(found.warning)
    return found


def settings() -> Settings:
    """The settings of the current folder, loaded once for each command; see `loaded`."""
    context = click.get_current_context(silent=True)
    if context is None:
        return loaded().settings
    if _SETTINGS not in context.meta:
        context.meta[_SETTINGS] = loaded().settings
    return context.meta[_SETTINGS]


def summary_model(asked: Asked) -> Asked:
    """The options that name a model; ``compaction.summaryModel`` where they name none."""
    if asked["model"] is not None:
        return asked
    return {**asked, "model": settings().compaction.summary_model}


def window(given: int | None, session: Session) -> int | None:
    """Tokens of the window of the session's model; None where nobody knows.

    An option comes first, then the settings, what the session recorded, and the table of known models.
    """
    if given is not None:
        return given
    return window_of(settings().models, model=session.model, recorded=session.window)


def window_source(window: int, session: Session) -> str:
    """Source of the figure of a window, in brackets, to be shown after it; "" where the user gave it."""
    if window == session.window:
        return " (from the session)"
    known = window_for(session.model)
    if window == known:
        return f" (that of {session.model})"
    return " (assumed: --window says otherwise)" if known is None and window == DEFAULT_WINDOW else ""


def database(given: StorePlace | None) -> StorePlace | None:
    """The database of kept conversations: ``chat.db``; None is the file in the user's data folder."""
    if given is not None:
        return given
    named = settings().chat.db
    return store_place(named) if named else None


def memory_folders() -> tuple[Path, ...]:
    """The memory folders that conversations may have entries in: that of the settings or the project, and the user's."""
    from autocompact.history.paths import data_folder
    from autocompact.memory.paths import IN_DATA_FOLDER

    found = (memory_folder_of(settings()), data_folder() / IN_DATA_FOLDER)
    return tuple(dict.fromkeys(folder.absolute() for folder in found))
