"""Help where the provider compacts by itself: its summary is checked against the log, and what is missing is put beside it.

A conversation whose requests ask the provider for its compaction is kept like any other, and never compacted here. When a
request brings the provider's block, the ledger of what stood before it is compared with what the block says (nothing is
known of a sealed one), and what is missing stands in a text of its own from then on (`autocompact.gateway.provider_blocks`
says where). That text is made once for a block, and kept as a record that is never active, so that each request of
the conversation brings the same bytes, after a restart too.

A client may send the whole history with the block in it, or begin with the block. Then the block's name, read along in the
answer that brought it, says which conversation goes on.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

import aiohttp
from msgspec import structs

from autocompact.compaction.record import Compaction, Receipt
from autocompact.core.lookup import Lookup
from autocompact.core.messages import Message, Text, ToolResult
from autocompact.core.redacted import EMPTY, edited, filled
from autocompact.core.redaction import Redacted, redact
from autocompact.core.tokens import Counter
from autocompact.engine import Compactor, Conversation
from autocompact.errors import InvalidRequest
from autocompact.gateway.conversations import Conversations, Incoming, Kept
from autocompact.gateway.exchange import Header
from autocompact.gateway.failures import note_failure
from autocompact.gateway.metrics import Metrics
from autocompact.gateway.native import asks_for_compaction, asks_now, history_is_elsewhere
from autocompact.gateway.provider_blocks import (
    Beside,
    Block,
    BlockReader,
    find_block,
    place_beside,
    with_text,
)
from autocompact.gateway.relay import Head, Send, relay
from autocompact.gateway.turns import Turn, as_sent
from autocompact.ledger.entries import Ledger
from autocompact.ledger.extraction import extract
from autocompact.ledger.summary import frame_beside
from autocompact.ledger.summary_repair import beside
from autocompact.ledger.verification import verify
from autocompact.ports import Key
from autocompact.runtime.off_loop import off_loop
from autocompact.wire import Request

ADDED_TOKENS = 1_500
"""Tokens that stand beside a provider's summary at most, the frame included."""

_LEAST_TOKENS = 200
"""Of less there is no use; the frame takes about 100."""

_OF_THE_BODY = frozenset({400, 413, 422})
"""What servers answer to a request that they do not take; it is sent once more as it came."""

_MOST_REMEMBERED = 1_024
_ID = "provider-"

K = TypeVar("K")
V = TypeVar("V")
Ask: TypeAlias = Callable[[bytes], Awaitable[aiohttp.ClientResponse]]
CompactorOf: TypeAlias = Callable[[Request, str], Compactor]
LookupOf: TypeAlias = Callable[[Conversation, Request], Lookup]

log = logging.getLogger("autocompact.gateway")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a provider's summary lacks.

    Attributes:
        text: what is put beside it, "" for nothing.
        ledger: of the history that it stands for.
        before: entries that are stated, only referenced, or missing in what the model sees without ``text``.
        after: the same with it.
    """

    text: Redacted
    ledger: Ledger
    before: tuple[int, int, int]
    after: tuple[int, int, int]


def check_summary(
    summary: str,
    history: Sequence[Message],
    *,
    recent: Sequence[Message] = (),
    previous: Ledger | None = None,
    budget: int,
    counter: Counter,
) -> Finding:
    """Compare a provider's summary with the history that it stands for.

    Args:
        summary: its words; "" for a sealed one.
        history: the messages that the model does not see any more, in order.
        recent: those that it sees besides the summary.
        previous: the ledger of an earlier compaction, which ``history`` goes on from.
        budget: tokens of what is put beside it.
        counter: measures it.
    """
    ledger = extract((*history, *recent), previous=previous, through=history[-1].seq)
    seen = redact("\n".join((summary, *(text for message in recent for text in _words(message)))))
    text = beside(seen, ledger, budget=budget, counter=counter)
    return Finding(
        text=text,
        ledger=ledger,
        before=_counted(seen, ledger),
        after=_counted(f"{seen}\n\n{text}", ledger) if text else _counted(seen, ledger),
    )


def _counted(text: str, ledger: Ledger) -> tuple[int, int, int]:
    checked = verify(text, ledger)
    return len(checked.stated), len(checked.referenced), len(checked.missing)


def _words(message: Message) -> Iterator[str]:
    yield from (part.text for part in message.parts if isinstance(part, Text | ToolResult))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Addition:
    """What stands beside a block, and its tokens."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Turn):
    """A request whose context the provider manages.

    Attributes:
        came: the body as it came.
        namespace: the client's.
        record: id of the record of what stands beside a block; "" where nothing does.
    """

    came: bytes
    namespace: str
    record: str = ""

    def headers(self) -> Iterator[Header]:
        """What the client is told."""
        yield b"x-autocompact-action", self.action.encode()
        if self.kept is not None:
            yield (
                b"x-autocompact-conversation",
                self.kept.conversation.internals.replica.key.conversation.encode(),
            )
            yield b"x-autocompact-compaction", (self.record or "none").encode()
            yield b"x-autocompact-tokens", str(self.used).encode()


class ProviderChecks:
    """Keeps the conversations that their provider compacts, and puts beside its summaries what they lack.

    Args:
        conversations: of the gateway.
        compactor: for a request of a namespace.
        lookup: how the model of a request opens what left its context.
        metrics: counts what happens.
    """

    def __init__(
        self, conversations: Conversations, *, compactor: CompactorOf, lookup: LookupOf, metrics: Metrics
    ) -> None:
        self._conversations = conversations
        self._compactor = compactor
        self._lookup = lookup
        self._metrics = metrics
        self._sources: OrderedDict[tuple[str, str], tuple[Key, int]] = OrderedDict()
        self._additions: OrderedDict[tuple[Key, str], _Addition | None] = OrderedDict()

    def concerns(self, request: Request, *, alone: bool = False) -> bool:
        """Whether the provider compacts this conversation, and the request brings its history.

        Args:
            request: of a client.
            alone: it asks for a compaction and nothing else, by its path.
        """
        if request.dialect == "openai_chat" or history_is_elsewhere(request):
            return False
        try:
            asks = alone or asks_for_compaction(request)
            return bool(request.messages.listed) and (asks or _block(request) is not None)
        except InvalidRequest:
            return False  # the provider says what is wrong with it

    async def prepare(self, request: Request, *, namespace: str, alone: bool = False) -> Checked:
        """What of a request that `concerns` us goes upstream; whatever fails here, it goes as it came.

        Args:
            request: of a client.
            namespace: the client's.
            alone: see `concerns`.
        """
        plain = Checked(body=request.raw, came=request.raw, namespace=namespace)
        try:
            if alone or asks_now(request):
                body = await as_sent(
                    request, conversations=self._conversations, namespace=namespace, with_tools=not alone
                )
                plain = replace(plain, body=body, action="forwarded" if body is request.raw else "compacted")
            incoming = await self._conversations.incoming(request, namespace=namespace)
            compactor = self._compactor(request, namespace)
            async with self._conversations.held(incoming, compactor=compactor) as kept:
                turn = await self._turn(kept, incoming, plain=replace(plain, kept=kept))
                self._conversations.learn(kept, incoming)
                return turn
        except Exception as error:  # noqa: BLE001 - whatever fails here must not cost the client its answer
            note_failure(error, "a provider's compaction could not be checked", metrics=self._metrics)
            return replace(plain, action="failed-open")

    async def exchange(self, turn: Checked, *, ask: Ask, send: Send) -> None:
        """Send it, once more as it came if it is refused, and relay the answer."""
        response = await ask(turn.body)
        try:
            if turn.record and response.status in _OF_THE_BODY:
                response.close()
                turn, response = await self._as_it_came(turn, ask=ask)
            reader = BlockReader(response, streams=Head(response).streams)
            await relay(Head(response), send=send, ours=tuple(turn.headers()), reader=reader)
            if turn.kept is not None:
                self._learn(turn.kept, reader.digests(), namespace=turn.namespace)
        finally:
            response.close()

    async def _as_it_came(self, turn: Checked, *, ask: Ask) -> tuple[Checked, aiohttp.ClientResponse]:
        """The same without what was put into it; if that is taken, nothing stands beside this block any more."""
        response = await ask(turn.came)
        if response.status not in _OF_THE_BODY and turn.kept is not None:
            self._metrics.failed("AdditionRefused")
            log.warning(
                "a server refused what stood beside its compaction", extra={"status": response.status}
            )
            _remember(self._additions, {(turn.kept.conversation.internals.replica.key, turn.record): None})
        return replace(turn, body=turn.came, record="", action="forwarded"), response

    def _learn(self, kept: Kept, digests: set[str], *, namespace: str) -> None:
        """These compactions stand for the conversation as far as it is logged now."""
        for digest in digests:
            _remember(
                self._sources,
                {(namespace, digest): (kept.conversation.internals.replica.key, len(kept.digests))},
            )

    async def _turn(self, kept: Kept, incoming: Incoming, *, plain: Checked) -> Checked:
        request = incoming.request
        block = _block(request)
        place = place_beside(request, block) if block is not None else None
        system = request.messages[0].text if request.messages.has_system else ""
        kept.conversation.internals.replica.use_tools(request.tools, system=system)
        used = _tokens(kept.conversation, (block.place if block else 0) + 1)
        plain = replace(plain, used=used)
        if block is None or place is None:
            return plain
        room = kept.conversation.internals.replica.shared.budget.limit - used
        addition = await self._addition(kept, incoming, block=block, place=place, room=room)
        if addition is None or addition.tokens > room:
            return plain
        return replace(
            plain,
            body=with_text(request, addition.text, beside=place),
            record=_id(block),
            action="checked",
            used=used + addition.tokens,
        )

    async def _addition(
        self, kept: Kept, incoming: Incoming, *, block: Block, place: Beside, room: int
    ) -> _Addition | None:
        conversation = kept.conversation
        known = (conversation.internals.replica.key, _id(block))
        if known in self._additions:
            self._additions.move_to_end(known)
            return self._additions[known]
        records = await _records(self._conversations, conversation.internals.replica.key)
        record = next((record for record in records if record.id == _id(block)), None)
        if record is None:
            record = await self._made(kept, incoming, block=block, place=place, room=room)
        addition = None
        if record is not None and record.summary:
            tokens = conversation.internals.replica.shared.counter.count(record.summary)
            addition = _Addition(text=record.summary, tokens=tokens)
        _remember(self._additions, {known: addition})
        return addition

    async def _made(
        self, kept: Kept, incoming: Incoming, *, block: Block, place: Beside, room: int
    ) -> Compaction | None:
        """The record of a check, stored; None where the history before the block is not known, or there is no room."""
        conversation, counter = kept.conversation, kept.conversation.internals.replica.shared.counter
        source, end = self._sources.get(
            (incoming.namespace, block.digest), (conversation.internals.replica.key, block.place)
        )
        store = self._conversations.store
        log_before = await store.read(source, through_seq=end) if end else ()
        earlier = await _records(self._conversations, source)
        previous = _latest(earlier, through=end, without=f"{_ID}{end + 1}-{block.digest}")
        covered = previous.through_seq if previous is not None else 0
        known = previous.ledger if previous is not None else None
        history = _numbered([message for message in log_before if message.seq > covered], after=known)
        # a reference names a message of this conversation's log, or nothing that the model could open
        is_here = source == conversation.internals.replica.key and history[-1:] == list(log_before[-1:])
        lookup = self._lookup(conversation, incoming.request) if is_here else Lookup(tools=False)
        budget = min(ADDED_TOKENS, room) - counter.count(frame_beside("", lookup=lookup))
        if not history or budget < _LEAST_TOKENS:
            return None
        evidence = max(block.place + 1, place.evidence)
        shown = await store.read(
            conversation.internals.replica.key, from_seq=block.place + 1, through_seq=evidence
        )
        # numbered on from the history, which may be another log's: later must stay later
        recent = [structs.replace(message, seq=seq) for seq, message in enumerate(shown, history[-1].seq + 1)]
        finding = await off_loop(
            lambda: check_summary(
                block.text, history, recent=recent, previous=known, budget=budget, counter=counter
            )
        )
        record = _record(finding, block, incoming=incoming, lookup=lookup, conversation=conversation)
        await self._stored(conversation, record)
        return record

    async def _stored(self, conversation: Conversation, record: Compaction) -> None:
        """Keep the record; without it the same is made again after a restart, as long as the history is known."""
        active = conversation.internals.replica.active_id or None
        try:
            await self._conversations.store.commit(
                conversation.internals.replica.key, records=[record], active=active, expected=active, fence=0
            )
        except Exception as error:  # noqa: BLE001 - the text is there, and the request can go
            note_failure(
                error, "a check of a provider's compaction could not be stored", metrics=self._metrics
            )


def _block(request: Request) -> Block | None:
    if b'"compaction' not in request.raw:
        return None
    return find_block(request.raws[request.messages.listed.start :], request.dialect)


def _id(block: Block) -> str:
    """The id of the record of what stands beside a block."""
    return f"{_ID}{block.place + 1}-{block.digest}"


def _tokens(conversation: Conversation, from_seq: int) -> int:
    """Tokens of the messages from ``from_seq`` on, with what every request brings."""
    transcript = conversation.internals.replica.transcript
    seqs = (seq for seq in range(from_seq, len(conversation) + 1) if transcript.holds(seq))
    return (
        sum(transcript.cost(seq).tokens for seq in seqs)
        + conversation.internals.replica.state.meter.overhead.tokens
    )


async def _records(conversations: Conversations, key: Key) -> list[Compaction]:
    """The checks that a conversation has, the last one last."""
    records = await conversations.store.compactions(key)
    return [record for record in records if record.id.startswith(_ID)]


def _latest(records: Sequence[Compaction], *, through: int, without: str) -> Compaction | None:
    """The last check of what stood before message ``through``, but for that of the block itself in another branch."""
    found = (record for record in reversed(records) if record.through_seq <= through)
    return next((record for record in found if record.id != without), None)


def _numbered(messages: Sequence[Message], *, after: Ledger | None) -> list[Message]:
    """The messages with their own numbers, or with such as go on from those of an earlier log's ledger."""
    last = max((entry.seq for entry in after.entries), default=0) if after is not None else 0
    first = max(last + 1, messages[0].seq) if messages else 1
    return [structs.replace(message, seq=seq) for seq, message in enumerate(messages, first)]


def _record(
    finding: Finding, block: Block, *, incoming: Incoming, lookup: Lookup, conversation: Conversation
) -> Compaction:
    """A record of the check that is never active: what was put beside the block, and the ledger it comes from."""
    counter = conversation.internals.replica.shared.counter
    text = edited(finding.text, partial(frame_beside, lookup=lookup)) if finding.text else EMPTY
    seen = counter.count(block.text)
    stated, referenced, missing = finding.after
    receipt = Receipt(
        tokens_before=seen,
        tokens_after=seen + counter.count(text),
        bytes_before=len(block.text.encode("utf-8", "replace")),
        bytes_after=len(block.text.encode("utf-8", "replace")) + len(text.encode("utf-8", "replace")),
        rung="none",
        stated=stated,
        referenced=referenced,
        missing=missing,
        counter=counter.name,
        model=incoming.request.model,
        trigger="import",
        time=conversation.internals.replica.shared.clock.now(),
        notes=(
            filled(
                "The provider's own compaction: {} of its entries were missing, {} with what stands beside it.",
                finding.before[2],
                missing,
            ),
        ),
    )
    return Compaction(
        id=_id(block),
        from_seq=1,
        through_seq=block.place,
        summary=text,
        ledger=finding.ledger,
        # made upon itself, of a log that there is not: nobody can activate it
        parent=_id(block),
        prefix=_ID,
        status="undone",
        receipt=receipt,
    )


def _remember(table: OrderedDict[K, V], new: Mapping[K, V]) -> None:
    """Add what is new; of more than `_MOST_REMEMBERED` the oldest is forgotten."""
    table.update(new)
    while len(table) > _MOST_REMEMBERED:
        table.popitem(last=False)
