"""Traces of requests by OpenTelemetry, where somebody set it up: spans of the request, the store, the plan and the way upstream.

Spans hold names, figures and kinds of errors, never what was said and no credential. Nothing is sent from here: where spans go is
the business of the SDK that the operator configures (``opentelemetry-instrument autocompact serve``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from autocompact.compaction.record import Compaction
from autocompact.core.messages import Message
from autocompact.errors import InvalidInput
from autocompact.ports import ConversationInfo, ConversationStore, Key, Lease, Snapshot
from autocompact.runtime.extras import install_command

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

Attribute: TypeAlias = str | int | float | bool
Kind: TypeAlias = Literal["server", "internal", "client"]
Note: TypeAlias = Callable[[str, Attribute], object]
"""Adds an attribute to the span that runs."""


class Tracer(Protocol):
    """Makes spans."""

    def span(
        self, name: str, *, kind: Kind = "internal", headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> AbstractContextManager[Note]:
        """A span around a block, below the one that runs.

        Args:
            name: of what the block does.
            kind: "server" for a client's request, "client" for one to a provider.
            headers: of a client's request, which may name the trace that it belongs to.
        """
        ...


class NoTraces:
    """Implements `Tracer` where there are none."""

    def span(
        self, name: str, *, kind: Kind = "internal", headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> AbstractContextManager[Note]:
        """See `Tracer.span`."""
        del name, kind, headers
        return nullcontext(_nothing)


class OpenTelemetry:
    """Implements `Tracer`.

    Args:
        provider: of tracers; None is the one that the process was started with.

    Raises:
        InvalidInput: OpenTelemetry is not installed.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry import propagate, trace
        except ImportError as error:
            raise InvalidInput(f"traces need an extra: {install_command('traces')}") from error
        self._trace = trace
        self._extract = propagate.extract
        self._tracer = trace.get_tracer("autocompact", tracer_provider=provider)

    @contextmanager
    def span(
        self, name: str, *, kind: Kind = "internal", headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> Generator[Note]:
        """See `Tracer.span`."""
        named = {key.decode("latin-1"): value.decode("latin-1") for key, value in headers}
        # the messages of errors may quote what was said: their kind alone is noted
        with self._tracer.start_as_current_span(
            f"autocompact.{name}",
            context=self._extract(named) if named else None,
            kind=self._trace.SpanKind[kind.upper()],
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span.set_attribute
            except BaseException as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(self._trace.StatusCode.ERROR)
                raise


class TracedStore:
    """Implements `ConversationStore` over another one: what a request waits for has spans.

    Args:
        store: that does it.
        tracer: makes the spans.
    """

    def __init__(self, store: ConversationStore, tracer: Tracer) -> None:
        self._store = store
        self._tracer = tracer

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        """See `Store.append`."""
        with self._tracer.span("append") as note:
            note("autocompact.messages", len(messages))
            return await self._store.append(key, messages, after=after, resent=resent)

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        """See `Store.load`."""
        with self._tracer.span("load") as note:
            snapshot = await self._store.load(key, after=after)
            note("autocompact.messages", len(snapshot.messages))
            return snapshot

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """See `Store.read`."""
        with self._tracer.span("read") as note:
            messages = await self._store.read(key, from_seq=from_seq, through_seq=through_seq)
            note("autocompact.messages", len(messages))
            return messages

    async def commit(self, key: Key, **what: Any) -> None:
        """See `Store.commit`."""
        with self._tracer.span("commit"):
            await self._store.commit(key, **what)

    async def compactions(self, key: Key) -> tuple[Compaction, ...]:
        """See `Store.compactions`."""
        return await self._store.compactions(key)

    async def conversations(
        self,
        namespace: str,
        *,
        limit: int | None = None,
        after: ConversationInfo | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[ConversationInfo, ...]:
        """See `Store.conversations`."""
        with self._tracer.span("read"):
            return await self._store.conversations(namespace, limit=limit, after=after, names=names)

    async def delete(self, key: Key) -> bool:
        """See `Store.delete`."""
        return await self._store.delete(key)

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        await self._store.aclose()

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        """See `Leases.acquire`."""
        with self._tracer.span("lease") as note:
            lease = await self._store.acquire(key, holder=holder, seconds=seconds)
            note("autocompact.granted", lease is not None)
            return lease

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        """See `Leases.renew`."""
        return await self._store.renew(lease, seconds=seconds)

    async def release(self, lease: Lease) -> None:
        """See `Leases.release`."""
        await self._store.release(lease)

    async def namespaces(self) -> tuple[str, ...]:
        """See `Retention.namespaces`."""
        return await self._store.namespaces()

    async def idle(self, namespace: str, *, before: str) -> tuple[Key, ...]:
        """See `Retention.idle`."""
        return await self._store.idle(namespace, before=before)

    async def expire(self, key: Key, *, before: str) -> bool:
        """See `Retention.expire`."""
        return await self._store.expire(key, before=before)

    async def purge(self) -> None:
        """See `Retention.purge`."""
        await self._store.purge()


def _nothing(_: str, __: Attribute) -> None:
    """Note nothing."""
