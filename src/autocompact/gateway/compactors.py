"""The compactor for a request: whose window and reserve its model has, and what its provider told by refusing.

A client's ``max_tokens`` is no reserve by itself: Claude Code asks for 128,000 whatever the window is. Anthropic and OpenAI
take a request whose input and answer exceed the window together, or refuse it and say so; a server that runs one model
(vLLM) refuses each. So for the two nothing but a share of the window is reserved until they refuse; for others the answer
counts from the start, unless it is so large that a server that counted it would take hardly any request.
"""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import urlsplit

from autocompact.core.factors import reconstruction_of, vocabulary_of
from autocompact.core.messages import Dialect
from autocompact.core.windows import DEFAULT_WINDOW, budget_for, default_reserve, window_for
from autocompact.engine.compactor import Compactor, NamedCompactor
from autocompact.gateway.config import Config
from autocompact.models.overflow import Overflow
from autocompact.models.vocabulary import default_counter
from autocompact.ports import Clock, ConversationStore, Model, Workers
from autocompact.runtime.off_loop import off_loop
from autocompact.wire import Request

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

_MOST, _MOST_COMPACTORS = 1_000, 64
_OPENAI: frozenset[Dialect] = frozenset({"openai_chat", "openai_responses"})
_LEAST_WINDOW = 1_024
"""Tokens below which a figure in an error is not believed to be a window."""


class Compactors:
    """The compactors of a gateway, one for each model, window and reserve, and what providers said that fits.

    What was refused is kept in memory, for the latest thousand models of namespaces: a model may have other windows for
    other accounts, so what one namespace learned is not used for another.

    Args:
        config: how the gateway runs.
        store: where conversations are kept.
        summaries: the model that makes summaries; None makes them offline.
        clock: by which a provider's cache expires.
        workers: prepare compactions in place of this process; None if nobody does.

    Attributes:
        tasks: what runs in the background for any of their conversations.
    """

    def __init__(
        self,
        config: Config,
        *,
        store: ConversationStore,
        summaries: Model | None,
        clock: Clock | None,
        workers: Workers | None,
    ) -> None:
        self._config = config
        self._store = store
        self._summaries = summaries
        self._clock = clock
        self._workers = workers
        self.tasks: set[asyncio.Task[None]] = set()
        self._known: dict[tuple[str, int, int], Compactor] = {}
        self._loaded: set[str] = set()
        self._refused: dict[tuple[str, str], int] = {}
        self._counts_output: set[tuple[str, str]] = set()
        self._counting = _OPENAI if counts_output(config.upstreams.get("openai")) else frozenset[Dialect]()

    async def load_vocabulary(self, model: str) -> None:
        """Load what counts the tokens of ``model`` before its first compactor is made: it takes some tenths of a second."""
        own = (self._config.ctok and reconstruction_of(model)) or vocabulary_of(model)
        if own and own not in self._loaded:
            await off_loop(partial(default_counter, model, ctok=self._config.ctok))
            self._loaded.add(own)

    def of(self, request: Request, *, namespace: str) -> Compactor:
        """The compactor for a request, with the room that its provider keeps for the reply."""
        counts = request.dialect in self._counting
        return self._with_room(request.model, request.max_output, namespace=namespace, counts=counts)

    def of_model(self, model: str, *, namespace: str) -> Compactor:
        """The compactor for a model of which no request is at hand."""
        return self._with_room(model, None, namespace=namespace, counts=False)

    def _with_room(self, model: str, max_output: int | None, *, namespace: str, counts: bool) -> Compactor:
        account, window = (namespace, model), self._config.window
        if window is None:
            window = window_for(model, overrides=self._config.windows) or DEFAULT_WINDOW
        window = min(window, self._refused.get(account) or window)
        learned = account in self._counts_output
        reserve = reserve_for(window, max_output, counts=counts, learned=learned)
        known = self._known.get((model, window, reserve))
        if known is None:
            # the oldest goes: a conversation keeps hold of its own as long as it needs it
            while len(self._known) >= _MOST_COMPACTORS:
                del self._known[next(iter(self._known))]
            known = self._known[model, window, reserve] = NamedCompactor(
                self._store,
                name=model,
                budget=budget_for(model, window=window, reserve=reserve),
                mode=self._config.mode_for(model),
                windows=self._config.windows,
                ctok=self._config.ctok,
                summaries=self._summaries,
                clock=self._clock,
                workers=self._workers,
            )
            # one set for all: a compactor that was dropped here may still have one run
            known.tasks = self.tasks
        return known

    def learn(self, namespace: str, *, model: str, overflow: Overflow) -> None:
        """A request of ``namespace`` was too large for ``model``."""
        # out and in again: the order of the table is that of the last refusal
        known = self._refused.pop((namespace, model), 0)
        while len(self._refused) >= _MOST:
            oldest = next(iter(self._refused))
            del self._refused[oldest]
            self._counts_output.discard(oldest)
        if overflow.output:
            self._counts_output.add((namespace, model))
        told = overflow.limit or 0
        self._refused[namespace, model] = told if told >= _LEAST_WINDOW else known

    def was_refused(self, namespace: str, *, model: str) -> bool:
        """Whether the size of a request is no longer a reason to believe that it fits."""
        return (namespace, model) in self._refused


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
        # it counts as the server said; but with all of the window reserved no request would ever fit
        asked = min(asked, window - window // _LEAST_SHARE)
    elif not counts or asked > window // 2:
        asked = 0
    return max(default_reserve(window), asked)
