"""Makes the values for the upkeep of memory files from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autocompact.core.prices import Price
from autocompact.core.windows import window_for
from autocompact.errors import InvalidInput
from autocompact.history.paths import data_folder, database_path
from autocompact.memory.documents.policy import ObservationPolicy, TaskPolicy, UpkeepPolicy
from autocompact.settings.values import Models, Settings
from autocompact.stores.naming import IN_MEMORY, StorePlace, store_place


def upkeep_policy_of(settings: Settings) -> UpkeepPolicy:
    """The figures of the layers; a layer is off where its trigger or compaction as a whole is."""
    compaction = settings.compaction
    age, archive = compaction.triggers.observation_age, compaction.triggers.task_archive
    return UpkeepPolicy(
        observations=ObservationPolicy(
            enabled=compaction.enabled and age.enabled,
            archive_after_days=age.archive_after_days,
            escalate_after=age.escalate_after_confirmations,
        ),
        tasks=TaskPolicy(
            enabled=compaction.enabled and archive.enabled,
            keep_recent=archive.keep_recent_count,
            archive_format=compaction.archive_format,
        ),
    )


def window_of(models: Models, *, model: str, recorded: int | None = None) -> int | None:
    """Tokens of the window of ``model``; None where nobody knows.

    Args:
        models: the settings, which come first where they say something of their own.
        model: its name.
        recorded: what a recorded session says; it comes before the table of known models.
    """
    known = window_for(model)
    of_settings = models.window or window_for(model, overrides=models.windows)
    return of_settings if of_settings and of_settings != known else recorded or known


def prices_of(settings: Settings) -> dict[str, Price]:
    """The prices of models by the beginning of their names.

    Raises:
        InvalidInput: one has only a price for requests, or only one for replies.
    """
    input, output = settings.models.input_prices, settings.models.output_prices
    for name in input.keys() ^ output.keys():
        lacking = "outputPrices" if name in input else "inputPrices"
        raise InvalidInput(f"models.{lacking}: no price for {name!r}, which the other table has: give both")
    return {name: Price(input=price, output=output[name]) for name, price in input.items()}


def databases_of(settings: Settings, *, environ: Mapping[str, str] | None = None) -> tuple[StorePlace, ...]:
    """Databases of conversations, the chat's and the gateway's; files need not exist."""
    chat = settings.chat.db
    of_chat = None if chat == IN_MEMORY else store_place(chat) if chat else database_path(environ=environ)
    return tuple(filter(None, (of_chat, gateway_database_of(settings, environ=environ))))


def gateway_database_of(settings: Settings, *, environ: Mapping[str, str] | None = None) -> StorePlace | None:
    """Database of the gateway's conversations and access keys, which need not exist; None if they are kept in memory."""
    given = settings.gateway.db
    if given == IN_MEMORY:
        return None
    return store_place(given) if given else data_folder(environ=environ) / "gateway.db"


def memory_folder_of(settings: Settings, *, folder: Path | None = None) -> Path:
    """The memory folder that the settings name, else that of the project or the user; it need not exist.

    Args:
        settings: all of them.
        folder: that is worked in; None is the current one.
    """
    from autocompact.memory.paths import memory_folder

    named = settings.chat.memory_folder
    return (folder or Path()) / Path(named).expanduser() if named else memory_folder(folder)
