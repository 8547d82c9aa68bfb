"""What a gateway counts, for Prometheus. Labels hold kinds, never names of clients or conversations."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from autocompact.ports import Remote

# what is promised is a millisecond: most of the bounds lie around it
_BUCKETS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 30)


class Metrics:
    """The counters of one gateway, in a registry of their own.

    Args:
        store: of the gateway; one on a server is shown to be there or not.
    """

    def __init__(self, store: object = None) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests that a model answers.", "api", "action")
        self._passed = self._counter(
            "requests_passed", "Other requests that went upstream: lists of models, counts of tokens, files."
        )
        self._saved = self._counter("tokens_saved", "Tokens that compactions took out of contexts.")
        self._compactions = self._counter("compactions", "Compactions that took effect.", "trigger")
        self._failures = self._counter("failures", "Failures of the gateway's own.", "kind")
        self._refusals = self._counter(
            "refusals", "Requests that the gateway answered itself, with an error.", "status"
        )
        self._deleted = self._counter("conversations_deleted", "Conversations that were removed.", "reason")
        self._overhead = Histogram(
            "autocompact_overhead_seconds",
            "From the last byte of a request to its first byte upstream.",
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._recalls = self._counter("memory_calls", "Calls of the memory tools that were answered.", "tool")
        self._rounds = self._counter(
            "memory_rounds", "Requests sent after the first of a turn, with answers of the memory tools."
        )
        self._round_tokens = self._counter(
            "memory_prompt_tokens", "Prompt tokens that providers reported for these requests."
        )
        if isinstance(store, Remote):
            self._watch(store)

    def _watch(self, store: Remote) -> None:
        reachable = Gauge(
            "autocompact_store_reachable",
            "1 while the store's server is there, 0 while requests go on without it.",
            registry=self._registry,
        )
        reachable.set_function(lambda: not store.is_away)

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"autocompact_{name}", help_text, labels, registry=self._registry)

    def requested(self, api: str, *, action: str, seconds: float) -> None:
        """A request went upstream, ``seconds`` after it was here."""
        self._requests.labels(api, action).inc()
        self._overhead.observe(seconds)

    def passed(self) -> None:
        """A request went upstream that no model answers."""
        self._passed.inc()

    def compacted(self, trigger: str, *, saved: int) -> None:
        """A compaction took effect."""
        self._compactions.labels(trigger).inc()
        self._saved.inc(max(0, saved))

    def failed(self, kind: str) -> None:
        """Something of ours failed; the name of the error."""
        self._failures.labels(kind).inc()

    def deleted(self, count: int, *, reason: str) -> None:
        """Conversations were removed: "expired", or because a client "asked"."""
        self._deleted.labels(reason).inc(count)

    def refused(self, status: int) -> None:
        """A request got an answer of the gateway's own instead of a provider's."""
        self._refusals.labels(str(status)).inc()

    def recalled(self, tool: str) -> None:
        """A memory tool was called."""
        self._recalls.labels(tool).inc()

    def asked_again(self) -> None:
        """The model was asked again with what the memory tools answered."""
        self._rounds.inc()

    def paid_again(self, tokens: int) -> None:
        """What the prompt of such a request took, as the provider reports it."""
        self._round_tokens.inc(tokens)

    def text(self) -> bytes:
        """All of it in Prometheus' format."""
        return generate_latest(self._registry)
