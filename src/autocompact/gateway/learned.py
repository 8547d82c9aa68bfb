"""What a provider told by refusing a request: its window, and whether the answer that was asked for counts.

A client's ``max_tokens`` is no reserve by itself: Claude Code asks for 128,000 whatever the window is. Anthropic and OpenAI
take a request whose input and answer exceed the window together, or refuse it and say so; a server that runs one model
(vLLM) refuses each. So for the two nothing but a share of the window is reserved until they refuse; for others the answer
counts from the start, unless it is so large that a server that counted it would take hardly any request.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from autocompact.core.windows import default_reserve
from autocompact.models.overflow import Overflow

_PROVIDERS = (
    ".openai.com",
    ".anthropic.com",
    ".azure.com",
    ".openai.azure.com",
    ".amazonaws.com",
    ".googleapis.com",
)
_LEAST_SHARE = 8
"""A window is kept free for input by one in so many parts, however long an answer is asked for."""

_MOST = 1_000
_LEAST_WINDOW = 1_024
"""Tokens below which a figure in an error is not believed to be a window."""


class LearnedWindows:
    """Who was refused a request, and what the provider said that fits. Kept in memory, for the latest thousand.

    A model may have other windows for other accounts, so what one namespace learned is not used for another.
    """

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], int] = {}
        self._counts_output: set[tuple[str, str]] = set()

    def learn(self, namespace: str, *, model: str, overflow: Overflow) -> None:
        """A request of ``namespace`` was too large for ``model``."""
        known = self._tokens.pop((namespace, model), 0)
        while len(self._tokens) >= _MOST:
            oldest = next(iter(self._tokens))
            del self._tokens[oldest]
            self._counts_output.discard(oldest)
        if overflow.output:
            self._counts_output.add((namespace, model))
        told = overflow.limit or 0
        self._tokens[namespace, model] = told if told >= _LEAST_WINDOW else known

    def was_refused(self, namespace: str, *, model: str) -> bool:
        """Whether the size of a request is no longer a reason to believe that it fits."""
        return (namespace, model) in self._tokens

    def counts_output(self, namespace: str, *, model: str) -> bool:
        """Whether the provider refused a request because of the answer that it asked for."""
        return (namespace, model) in self._counts_output

    def window(self, namespace: str, *, model: str) -> int | None:
        """Tokens that fit, None where the provider never named a figure."""
        return self._tokens.get((namespace, model)) or None


def counts_output(address: str | None) -> bool:
    """Whether a server at this address may be expected to count the answer that a request asks for from the start."""
    host = urlsplit(address or "").hostname or ""
    return not f".{host}".endswith(_PROVIDERS)


def reserve_for(window: int, max_output: int | None, *, counts: bool, learned: bool) -> int:
    """Tokens of a window that are kept for the reply.

    Args:
        window: tokens.
        max_output: the longest answer that the request asks for; None if it does not say.
        counts: the server may be expected to count it; one above half of the window is not believed to count all the same.
        learned: the server said that it counts it.
    """
    asked = max_output or 0
    if learned:
        asked = min(asked, window - window // _LEAST_SHARE)
    elif not counts or asked > window // 2:
        asked = 0
    return max(default_reserve(window), asked)
