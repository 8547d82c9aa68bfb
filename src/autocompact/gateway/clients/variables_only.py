"""Clients that read their base URL from a variable that everything gets: nothing else is to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autocompact.gateway.clients.launch import Launch, Where


@dataclass(frozen=True, slots=True, kw_only=True)
class VariablesOnly:
    """One of them."""

    title: str
    programs: Sequence[str]
    packages: Sequence[str] = ()

    def adapt(self, launch: Launch, where: Where, *, at: int) -> Launch:
        """See `Client`."""
        del where, at
        return launch
