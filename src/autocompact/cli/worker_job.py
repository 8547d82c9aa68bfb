"""The work of a worker, as the settings describe it."""

from __future__ import annotations

import os
from pathlib import Path

from autocompact.gateway.config import Config
from autocompact.gateway.from_settings import access_tokens, summaries_of
from autocompact.gateway.retention import days_of
from autocompact.jobs.work import Work
from autocompact.settings import Settings, gateway_mode_of, mode_of
from autocompact.settings.schedule import schedule_of
from autocompact.stores.namespace_key import key_of
from autocompact.stores.naming import ServerUrl
from autocompact.stores.postgres import PostgresStore


def work_of(settings: Settings, url: ServerUrl) -> Work:
    """The work that the settings describe, on the store at ``url``.

    Raises:
        InvalidInput: a token file or a model that is not there.
        StoreUnavailable: the server cannot be reached.
    """
    gateway, key = settings.gateway, key_of(url)
    config = Config(
        upstreams={}, namespace_key=key, mode=gateway_mode_of(settings), unpriced_mode=mode_of(settings)
    )
    file = gateway.access_token_file
    tokens = access_tokens(Path(file)) if file else ()
    return Work(
        store=PostgresStore(url),
        mode=config.mode_for,
        windows=settings.models.windows,
        ctok=settings.models.ctok,
        summaries=summaries_of(settings.compaction.summary_model, os.environ),
        days=days_of(tokens, usual=gateway.expire_after_days, namespace_key=key),
        schedule=schedule_of(settings),
    )
