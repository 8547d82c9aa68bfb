"""The seams: what the engine asks of the world around it, as Protocols of at most eight methods.

Every one has two implementations or more: stores in `autocompact.stores`, models in `autocompact.models`, counters in
`autocompact.core.tokens` and `autocompact.models.vocabulary`, bridges in `autocompact.adapters`, clocks here and in
`autocompact.testing`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from autocompact.compaction.record import Compaction, Rung
from autocompact.core.messages import Dialect, Message, Usage
from autocompact.core.search import Kind, Passage
from autocompact.core.tokens import Cost, Counter

TokenCounter = Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Names a conversation. Nothing ever crosses a namespace (a tenant)."""

    conversation: str
    namespace: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """A conversation as the list shows it.

    Attributes:
        key: which one.
        last_seq: number of messages.
        created: ISO 8601 stamp (UTC).
        updated: ISO 8601 stamp (UTC) of the last append or compaction.
        title: first words of the first request, "" if none.
        compressed_context: the active summary, None if nothing is compacted.
        compressed_at: ISO 8601 stamp (UTC) of when that became active, None likewise.
    """

    key: Key
    last_seq: int
    created: str
    updated: str
    title: str = ""
    compressed_context: str | None = None
    compressed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The part of a conversation that its context needs.

    Attributes:
        key: which one.
        active: the active compaction.
        prepared: one that was made ahead and waits for the threshold.
        earlier: messages before ``messages`` that the context still shows: system prompt, kept ones.
        prompt: which of ``earlier`` (by ``seq``) are the system prompt: the log, as far as not replaced, begins so.
        messages: the log after what ``active`` covers, in order; less where `Store.load` was asked for less.
        last_seq: ``seq`` of the last message, 0 if the log is empty.
        state: what the engine keeps beside the log (breaker, calibration), as it was committed; b"" at first.
    """

    key: Key
    active: Compaction | None = None
    prepared: Compaction | None = None
    earlier: tuple[Message, ...] = ()
    prompt: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()
    last_seq: int = 0
    state: bytes = b""


NO_MESSAGES: Final = 2**63 - 1
"""For `Store.load`: the active compaction, the state and ``last_seq`` are wanted, however long the log is."""


class Store(Protocol):
    """Keeps logs and compaction records. Every method is atomic and durable when it returns.

    Raises (all methods): `autocompact.errors.StoreError` and its kinds; a driver's error never comes through.
    """

    async def append(
        self, key: Key, messages: Sequence[Message], *, after: int, resent: bool = False
    ) -> str | None:
        """Add messages ``after + 1``…; makes the conversation if it is new.

        Args:
            key: the conversation.
            messages: numbered on from ``after``.
            after: ``seq`` of the message that they follow.
            resent: the caller resends a history that other programs may be storing as well: messages that stand in the log
                already, each at its place, are left out. Two people who say the same are no such case.

        Returns:
            The id of the active compaction, so that whoever appends learns that somebody else moved it. None if there
            is none, or where it is not known before this returns (`Behind`).

        Raises:
            Conflict: the log does not end at ``after`` (somebody else appended). Of messages that are resent: it goes on
                after it with another message than the first of them.
        """
        ...

    async def load(self, key: Key, *, after: int = 0) -> Snapshot:
        """Load the part that the context needs; an empty snapshot for a conversation that does not exist.

        Args:
            key: the conversation.
            after: leave out ``messages`` through this ``seq``; `NO_MESSAGES` leaves out all of them.
        """
        ...

    async def read(
        self, key: Key, *, from_seq: int = 1, through_seq: int | None = None
    ) -> tuple[Message, ...]:
        """A range of the log, in order, replaced messages included; raw bytes as they came in."""
        ...

    async def commit(
        self,
        key: Key,
        *,
        records: Sequence[Compaction] = (),
        active: str | None,
        expected: str | None,
        fence: int,
        state: bytes | None = None,
    ) -> None:
        """Write records (new, or with a new status) and move the active compaction, all or nothing.

        Args:
            key: the conversation.
            records: replaced by id where they exist. At most one prepared record is kept: a new one drops the old.
            active: id of the compaction that is active from now on, None for the whole log.
            expected: the id of the one that must be active now.
            fence: the fencing token of the lease under which this was decided; 0 where no lease is needed.
            state: the engine's state to keep; None leaves it.

        Raises:
            Conflict: another compaction is active than ``expected``, a newer lease than ``fence`` was given, or the
                conversation was deleted since.
        """
        ...

    async def compactions(self, key: Key) -> tuple[Compaction, ...]:
        """Every record of the conversation, oldest first, undone ones included."""
        ...

    async def conversations(
        self,
        namespace: str,
        *,
        limit: int | None = None,
        after: ConversationInfo | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[ConversationInfo, ...]:
        """The conversations of the namespace, the last updated first.

        Args:
            namespace: whose.
            limit: how many at most; None for all.
            after: the last one of the page before, of which key and ``updated`` count.
            names: only those that are called so, without pages; None for all.
        """
        ...

    async def delete(self, key: Key) -> bool:
        """Remove log, records, index and leases of a conversation; whether there was one."""
        ...

    async def aclose(self) -> None:
        """Give back what the store opened."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A message that answers a search.

    Attributes:
        key: its conversation.
        seq: which message.
        score: the larger, the likelier; comparable within one search.
        passages: where in it, best first.
        weights: what each term of the query weighs in this search.
    """

    key: Key
    seq: int
    score: float
    passages: tuple[Passage, ...]
    weights: Mapping[str, float]


class Index(Protocol):
    """Finds messages by their words; kept up to date by the store it belongs to."""

    async def search(
        self,
        namespace: str,
        query: str,
        *,
        k: int,
        conversation: str | None = None,
        admit: Callable[[Key, int], bool] | None = None,
        kinds: Collection[Kind] | None = None,
    ) -> tuple[Hit, ...]:
        """The ``k`` likeliest messages, best first; fewer if fewer hold a word of the query.

        Args:
            namespace: nothing outside it is looked at.
            query: words, names, a question.
            k: messages at most.
            conversation: only this one; None for all of the namespace.
            admit: whether message ``seq`` of a conversation may be found; None admits all.
            kinds: only passages of these kinds; None for all.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to compact one conversation until it expires. ``fence`` grows with every lease given."""

    key: Key
    holder: str
    fence: int


@runtime_checkable
class Behind(Protocol):
    """A store that takes messages at once and writes them later: nothing can come between its log and the caller's."""

    async def room(self, key: Key) -> None:
        """Wait until it may take more of a conversation."""
        ...

    def take(self, key: Key, messages: Sequence[Message], *, after: int, active: str | None) -> None:
        """Add the messages that follow message ``after``.

        Args:
            key: the conversation.
            messages: of it.
            after: ``seq`` of its last message.
            active: id of the compaction that the caller has as active. That the store has another one is told as an
                append is told that could not be stored.

        Raises:
            Conflict: the log, as far as it is known here, does not end at ``after``.
        """
        ...


@runtime_checkable
class Remote(Protocol):
    """A store on a server, which may be away."""

    @property
    def is_away(self) -> bool:
        """True from when the server was waited for in vain until it answers; meanwhile everything raises `StoreUnreachable` at once."""
        ...


class Leases(Protocol):
    """Leases that allow one compaction at a time per conversation, also across processes. Stores implement it beside `Store`."""

    async def acquire(self, key: Key, *, holder: str, seconds: float) -> Lease | None:
        """The lease, or None while somebody else holds one that has not expired.

        A lease is given for a minute at most (`autocompact.stores.leases`), and one that ends later than that can end
        was given while the clock was wrong: it is void, so that nobody waits for a moment that may be years away.
        """
        ...

    async def renew(self, lease: Lease, *, seconds: float) -> bool:
        """Hold it for ``seconds`` from now; False if it was lost."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give it back; nothing happens if it was lost."""
        ...


class Retention(Protocol):
    """Forgetting what nobody has used for long. Stores implement it beside `Store`."""

    async def namespaces(self) -> tuple[str, ...]:
        """Namespaces that have conversations, in the order of their names."""
        ...

    async def idle(self, namespace: str, *, before: str) -> tuple[Key, ...]:
        """Conversations that were last updated before a stamp, and that nobody compacts now; the oldest first."""
        ...

    async def expire(self, key: Key, *, before: str) -> bool:
        """Do what `Store.delete` does, if the conversation is still idle; whether it was."""
        ...

    async def purge(self) -> None:
        """Clear the files of what deleted conversations left behind (index segments, copies of rows, write-ahead log).

        It takes time in proportion to all that is stored, and who writes may have to wait. Where nothing was deleted
        since the last time it does nothing, so it may be called at every start.
        """
        ...


class ConversationStore(Store, Leases, Retention, Protocol):
    """A store that also gives leases and forgets what is old, as all of ours do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A compaction that a worker is to prepare: figures alone, nothing of what was said.

    Attributes:
        model: name of the conversation's model.
        window: tokens of it.
        reserve: tokens kept for the reply.
        limit: see `autocompact.compaction.goal.Goal`, as what follows.
        target: tokens.
        summary_tokens: of summary and ledger.
        tail_tokens: that stay verbatim.
        working_set_tokens: of files beside the summary.
        first_rung: the step to begin with.
        overhead: what the requests carry besides the messages.
    """

    model: str
    window: int
    reserve: int
    limit: int
    target: int
    summary_tokens: int
    tail_tokens: int
    first_rung: Rung
    overhead: Cost
    working_set_tokens: int = 0


class Workers(Protocol):
    """Other processes that do what need not be done at once."""

    async def prepare(self, key: Key, order: Order) -> bool:
        """Have a compaction of a conversation prepared; False if there is nobody who would: then it is the caller's to do.

        It raises nothing: whoever cannot be reached is not there.
        """
        ...

    async def there(self) -> bool:
        """True if a worker is at work on the same store, which then does upkeep and expiry as well; raises nothing."""
        ...

    async def aclose(self) -> None:
        """Give back what was opened."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's answer.

    Attributes:
        text: its words.
        usage: tokens as the provider reported them, None if it did not.
        stop_reason: the provider's word for why it ended ("stop", "length", "end_turn", "max_tokens"…).
        model: the name the provider gave.
    """

    text: str
    usage: Usage | None = None
    stop_reason: str = ""
    model: str = ""


class Model(Protocol):
    """Something that answers, used for summaries."""

    name: str

    async def complete(
        self, messages: Sequence[Message], *, max_tokens: int | None = None, tools: bytes | None = None
    ) -> ModelReply:
        """The reply to ``messages`` (valid, system prompt first).

        Args:
            messages: the request.
            max_tokens: cap on the reply.
            tools: the live request's tools as raw JSON, so that the provider's prompt cache can serve the prefix.

        Raises:
            ModelError: and its kinds, saying what the provider said.
        """
        ...

    async def count(self, messages: Sequence[Message], *, tools: bytes | None = None) -> int:
        """Exact tokens of the request: by the provider's counting endpoint, else by a probe of 16 tokens at most.

        Raises:
            ModelError: the provider did not answer.
        """
        ...

    async def aclose(self) -> None:
        """Give back what the model opened."""
        ...


Framework: TypeAlias = Literal["langchain", "pydantic_ai"]
"""Frameworks whose messages `Conversation.follow` takes by name; any other's go through a `Bridge`."""

Item: TypeAlias = dict[str, Any]
"""A message of a provider's API, as plain values."""

T = TypeVar("T")


@runtime_checkable
class Bridge(Protocol[T]):
    """How the messages that a framework holds, as objects of its own, stand in the log.

    Attributes:
        name: of the framework; the member of an item that holds what the item cannot say otherwise.
        dialect: the API whose items the messages become.
        types: the classes of the messages.
    """

    name: str
    dialect: Dialect
    types: tuple[type, ...]

    def write(self, message: T) -> list[Item]:
        """The items that say the message, one at least; they depend on nothing that `dump` leaves out."""
        ...

    def read(self, items: Sequence[Item], *, names: Mapping[str, str]) -> list[T]:
        """Messages that say the items: a summary, a result that was masked, or what `write` gave.

        Args:
            items: neighbours.
            names: of the tools, by the ids of the calls.
        """
        ...

    def dump(self, message: T) -> Any:
        """The message as the framework writes it: plain values that JSON can say."""
        ...

    def load(self, value: Any) -> T:
        """The message that `dump` wrote."""
        ...

    def usage(self, reply: Any) -> Usage | None:
        """The usage in a reply of the framework's model; None where it reports none.

        Raises:
            InvalidInput: it is no reply.
        """
        ...


class Clock(Protocol):
    """Time, as a port, so that tests decide what time it is."""

    def now(self) -> str:
        """ISO 8601, UTC, milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds, for spans."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> str:
        """ISO 8601, UTC, milliseconds."""
        return datetime.now(UTC).isoformat(timespec="milliseconds")

    def monotonic(self) -> float:
        """Seconds, for spans."""
        return time.monotonic()
