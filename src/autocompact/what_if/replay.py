"""A recorded session once more, turn by turn, through the live engine: what would autocompact have done?

Every message is appended as it was said, and before every reply the context is asked for as an agent would: that is
where compactions happen. The reply is the recorded one, whatever the context was, so this shows when and how far a
conversation is compacted, not what the model would have answered.

Usage that the recording reports counts only as long as the replayed context is the one it was reported for: until the
first compaction, the recording program's or this engine's. After that its figures belong to another context, and the
engine goes by its own count, with what it learned until then of the model's tokenizer and of what every request
carried besides the messages (system prompt, tool schemas). With a window smaller
than the model's no figure of the recording is used: its program had chosen prompt and tools for the real one.

Compactions that are prepared in the background are waited for before the next message, as if the model took longer
for its reply than the preparation: so a replay without a model gives the same every time.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from msgspec import structs

from autocompact.compaction.record import Compaction
from autocompact.compaction.repair import problems
from autocompact.compaction.transcript import Transcript, View
from autocompact.core.messages import Message
from autocompact.core.tokens import message_cost
from autocompact.core.windows import window_for
from autocompact.engine import Compactor, Conversation
from autocompact.engine.shared import Shared
from autocompact.errors import IncompressibleContext, InvalidInput
from autocompact.events import BreakerOpened, CompactionCompleted, Event
from autocompact.sessions import Session

MOST_UNSEEN = 0.25
"""Share of the window that a program's own system prompt and tools may take (Claude Code's: about a tenth)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A position in the session: the ``turn`` (request of the user), the ``request`` to the model, and the last message."""

    turn: int
    request: int
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """A compaction took effect; tokens are those of the meter, with all that a request carries."""

    place: Place
    record: Compaction
    tokens_before: int
    tokens_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A request that was not sent, since it cannot be made to fit."""

    place: Place
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A compaction that failed, or automatic ones that stopped; the context stayed as it was."""

    place: Place
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """A request that an API would refuse; there should be none."""

    place: Place
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The whole replay. Tokens are those of the meter.

    Attributes:
        turns: requests of the user.
        requests: calls of the model.
        messages: of the log.
        compactions: that took effect.
        peak: the largest context that was sent.
        peak_without: the largest one that would have been sent without compaction.
        sent: tokens of all requests together.
        sent_without: likewise without compaction.
        refused: requests that could not be sent.
        refused_without: requests that would not have fit without compaction.
        invalid: requests that an API would refuse.
        limit: tokens that a request may take: the window less room for the reply.
        window: tokens of the model's window.
    """

    turns: int = 0
    requests: int = 0
    messages: int = 0
    compactions: int = 0
    peak: int = 0
    peak_without: int = 0
    sent: int = 0
    sent_without: int = 0
    refused: int = 0
    refused_without: int = 0
    invalid: int = 0
    limit: int = 0
    window: int = 0


Step: TypeAlias = Compacted | Refused | Failed | Invalid | Totals


async def replay(
    session: Session, compactor: Compactor, *, name: str, namespace: str = "default"
) -> AsyncGenerator[Step]:
    """Feed ``session`` through ``compactor``; yields what happens as it happens, and the totals at the end.

    Args:
        session: what was recorded.
        compactor: the engine, with its store, window, mode and summary model.
        name: of the conversation that is written to the store.
        namespace: of the store.

    Raises:
        InvalidInput: the store has a conversation of that name already.
        StoreError: the store cannot be used.
    """
    conversation = await compactor.open(name, namespace=namespace)
    if len(conversation):
        raise InvalidInput(
            f"the store has a conversation {name!r} already: a replay needs a new one, choose another --name"
        )
    run = _Replay(session, conversation)
    for message in session.messages:
        async for step in run.feed(message):
            yield step
    yield run.totals


class _Replay:
    """A replay, message by message."""

    def __init__(self, session: Session, conversation: Conversation) -> None:
        budget = conversation.internals.replica.shared.budget
        self.totals = Totals(limit=budget.limit, window=budget.window)
        self._conversation = conversation
        self._whole = View(Transcript(counter=conversation.internals.replica.shared.counter))
        self._believed = believable(session, conversation.internals.replica.shared)
        self._happened: list[Event] = []
        self._before = ""
        conversation.internals.replica.shared.subscribe(self._happened.append)

    async def feed(self, message: Message) -> AsyncIterator[Step]:
        """Say ``message``; where it is a reply of the model, after the request for it."""
        if message.role == "assistant" and self._before != "assistant":
            async for step in self._request():
                yield step
        believed = message.seq <= self._believed and self._conversation.records.active is None
        stored = await self._conversation.append(
            message if believed else structs.replace(message, usage=None)
        )
        self._whole.transcript.append(stored)
        self._before = message.role
        self._add(turns=int(message.is_request), messages=1)
        await self._conversation.internals.background.wait_idle()

    async def _request(self) -> AsyncIterator[Step]:
        self._add(requests=1)
        place = Place(turn=self.totals.turns, request=self.totals.requests, seq=self.totals.messages)
        used, active, without = (
            self._conversation.usage().used,
            self._conversation.internals.replica.active_id,
            self._without(),
        )
        self._add(sent_without=without, refused_without=int(without > self.totals.limit))
        self._raise(peak_without=without)
        try:
            context = await self._conversation.ready()
        except IncompressibleContext as error:
            self._add(refused=1)
            yield Refused(place=place, reason=str(error))
            return
        for step in self._told(place, active=active, used=used):
            yield step
        sent = self._conversation.usage().used
        self._add(sent=sent)
        self._raise(peak=sent)
        if wrong := problems(context.messages):
            self._add(invalid=1)
            yield Invalid(place=place, problems=tuple(wrong))

    def _told(self, place: Place, *, active: str, used: int) -> Iterator[Step]:
        """Yield the steps that happened while the context was made ready."""
        record = self._conversation.records.active
        if record is not None and record.id != active:
            self._add(compactions=1)
            after = self._conversation.usage().used
            yield Compacted(place=place, record=record, tokens_before=used, tokens_after=after)
        for event in self._happened:
            if isinstance(event, CompactionCompleted) and not event.success:
                yield Failed(place=place, reason=event.message)
            elif isinstance(event, BreakerOpened):
                yield Failed(place=place, reason=f"automatic compactions stopped: {event.reason}")
        self._happened.clear()

    def _without(self) -> int:
        """Tokens that the meter would show if nothing had been compacted."""
        load = replace(self._conversation.internals.replica.load(), tokens=self._whole.context().cost.tokens)
        return self._conversation.internals.replica.state.meter.read(load).used

    def _add(self, **more: int) -> None:
        self.totals = replace(
            self.totals, **{name: getattr(self.totals, name) + value for name, value in more.items()}
        )

    def _raise(self, **values: int) -> None:
        self.totals = replace(
            self.totals, **{name: max(getattr(self.totals, name), value) for name, value in values.items()}
        )


def believable(session: Session, shared: Shared) -> int:
    """The last message whose reported usage belongs to the replayed context; 0 if none does.

    The recording program's first compaction ends it. If the first report exceeds what was said until then by more
    than `MOST_UNSEEN` of the window, the file begins in the midst of a session, and nothing of it is used.
    """
    window = shared.budget.window
    if window < (window_for(session.model) or 0):
        return 0
    made = [max((record.through_seq, *(mask.seq for mask in record.masks))) for record in session.compactions]
    said = 0
    for message in session.messages:
        if message.role == "assistant" and message.usage is not None:
            if message.usage.prompt - said > MOST_UNSEEN * window:
                return 0
            break
        said += message_cost(message, shared.counter).tokens
    return min(made, default=len(session.messages))
