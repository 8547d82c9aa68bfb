"""Where databases and memory files are, by the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from autocompact.history.paths import data_folder, database_path
from autocompact.settings.values import Settings
from autocompact.stores.naming import IN_MEMORY, StorePlace, store_place


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
