"""Windows that a provider told by refusing a request: they may be smaller than what the gateway was told."""

from __future__ import annotations

from autocompact.models.overflow import Overflow

_MOST = 1_000
_LEAST_WINDOW = 1_024
"""Tokens below which a figure in an error is not believed to be a window."""


class LearnedWindows:
    """Who was refused a request, and what the provider said that fits. Kept in memory, for the latest thousand.

    A model may have other windows for other accounts, so what one namespace learned is not used for another.
    """

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], int] = {}

    def learn(self, namespace: str, *, model: str, overflow: Overflow) -> None:
        """A request of ``namespace`` was too large for ``model``."""
        known = self._tokens.pop((namespace, model), 0)
        while len(self._tokens) >= _MOST:
            del self._tokens[next(iter(self._tokens))]
        told = overflow.limit or 0
        self._tokens[namespace, model] = told if told >= _LEAST_WINDOW else known

    def was_refused(self, namespace: str, *, model: str) -> bool:
        """Whether the size of a request is no longer a reason to believe that it fits."""
        return (namespace, model) in self._tokens

    def window(self, namespace: str, *, model: str) -> int | None:
        """Tokens that fit, None where the provider never named a figure."""
        return self._tokens.get((namespace, model)) or None
