"""The summary: made offline, framed, checked against the ledger and repaired."""

from __future__ import annotations

from autocompact.core.messages import Role


def frame(summary: str, *, placement: Role) -> str:
    """The text that goes to the model: the summary marked as a record, not as instructions."""
    raise NotImplementedError
