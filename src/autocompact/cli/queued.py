"""The workers of a gateway's store, as its settings have it."""

from __future__ import annotations

from autocompact.ports import Workers
from autocompact.settings import Settings
from autocompact.stores.naming import IN_MEMORY, ServerUrl, store_place


def workers_of(settings: Settings) -> Workers | None:
    """The workers on a gateway's store; None where there can be none."""
    url = server_of(settings)
    if url is None:
        return None
    try:
        from autocompact.jobs.orders import QueuedWorkers
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("autocompact"):
            raise
        return None
    return QueuedWorkers(url)


def server_of(settings: Settings) -> ServerUrl | None:
    """The server that a gateway keeps its conversations on; None if it is a file, or memory."""
    given = settings.gateway.db
    place = store_place(given) if given and given != IN_MEMORY else None
    return place if isinstance(place, ServerUrl) else None
