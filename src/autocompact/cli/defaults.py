"""What an option is where nobody gives it: as the settings of the current folder have it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autocompact.cli.models import Asked

if TYPE_CHECKING:
    from autocompact.settings import Settings


def settings() -> Settings:
    """The settings of the current folder.

    Raises:
        InvalidInput: a value in them cannot be used.
    """
    from autocompact.settings import load_settings

    return load_settings().settings


def summary_model(asked: Asked) -> Asked:
    """The options that name a model; ``compaction.summaryModel`` where they name none."""
    if asked["model"] is not None:
        return asked
    return {**asked, "model": settings().compaction.summary_model}


def window(given: int | None, model: str) -> int | None:
    """Tokens of the window of ``model``; None where nobody knows."""
    if given is not None:
        return given
    from autocompact.core.windows import window_for

    models = settings().models
    return models.window or window_for(model, overrides=models.windows)


def database(given: Path | None) -> Path | None:
    """The file of the kept conversations: ``chat.db``; None is the one in the user's data folder."""
    if given is not None:
        return given
    named = settings().chat.db
    return Path(named) if named else None
