"""How a failure of the gateway's own is counted and logged, where the request goes on without what failed."""

from __future__ import annotations

import logging

from autocompact.errors import StoreUnreachable, log_data
from autocompact.gateway.metrics import Metrics

log = logging.getLogger("autocompact.gateway")


def note_failure(error: Exception, text: str, *, metrics: Metrics) -> None:
    """Count a failure and log it.

    Args:
        error: what happened.
        text: what could not be done, for the log; constant.
        metrics: of the gateway.
    """
    metrics.failed(type(error).__name__)
    # each request fails so while the store's server is away, for which the store has one line in the log
    level = logging.DEBUG if isinstance(error, StoreUnreachable) else logging.WARNING
    log.log(level, text, extra=log_data(error))
