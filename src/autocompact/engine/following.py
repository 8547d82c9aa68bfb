"""A conversation that its caller holds as a list: what of the list the log does not have yet.

A framework or a client keeps the messages itself and brings all of them each time. What it brings is the truth: the log
is made equal to it. Messages that follow are appended; one that was edited, and a list that was cut short or replaced,
take the place of what they differ from (`Message.replaces`), so that the log keeps both.

Equal means: the same JSON, whatever the order of its members. Marks for the prompt cache, which clients move, and whether
a lone text is a string or a list of one block do not count (`autocompact.wire.canonical`).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from autocompact.core.messages import Dialect, Message, Usage
from autocompact.core.usage import Load
from autocompact.core.validity import check_message
from autocompact.engine.bridges import Bridged, bridge_for
from autocompact.engine.replica import TRIES, Replica
from autocompact.errors import Conflict
from autocompact.ports import Bridge, Framework
from autocompact.runtime.off_loop import off_loop_if
from autocompact.wire import Renderer, check_raw, parse_message, render_message
from autocompact.wire.canonical import says_the_same
from autocompact.wire.items import Items
from autocompact.wire.json import check as check_json

T = TypeVar("T")

LARGE_JSON = 100_000
"""Bytes of messages that are parsed on the loop at most, which takes 1 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The log as the list that it was made from.

    Attributes:
        seqs: number of the message that stands for each item.
        raws: the JSON of each item; b"" for a message that the dialect cannot say as one item.
        end: ``seq`` of the last message of the log; another one means that others wrote to it.
    """

    seqs: tuple[int, ...] = ()
    raws: tuple[bytes, ...] = ()
    end: int = 0

    @classmethod
    def of(cls, log: Iterable[Message], *, dialect: Dialect) -> Followed:
        """Build the followed list that the messages of a whole log stand for."""
        log = tuple(log)
        live = current(log)
        return cls(
            seqs=tuple(message.seq for message in live),
            raws=tuple(_said(message, dialect=dialect) for message in live),
            end=log[-1].seq if log else 0,
        )

    def place(self, seq: int) -> int | None:
        """The index of the item that message ``seq`` stands for; None if there is none."""
        place = bisect_left(self.seqs, seq)
        return place if place < len(self.seqs) and self.seqs[place] == seq else None


def current(log: Iterable[Message]) -> list[Message]:
    """The messages of a log that nothing has replaced."""
    live: list[Message] = []
    for message in log:
        if message.replaces is not None:
            # a replacement replaces all that came after it too, since the caller's list went on from there
            del live[bisect_left(live, message.replaces, key=lambda one: one.seq) :]
        live.append(message)
    return live


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The edits that make the log equal to a list.

    Attributes:
        start: items at the beginning of the list that stay as they are; those from here on are appended.
        replaces: ``seq`` of the message from which on the log is replaced; None if the list goes on from its end.
    """

    start: int
    replaces: int | None = None

    def followed(self, before: Followed, raws: Sequence[bytes]) -> Followed:
        """The log once it was carried out."""
        new = range(before.end + 1, before.end + 1 + len(raws) - self.start)
        return Followed(seqs=(*before.seqs[: self.start], *new), raws=tuple(raws), end=before.end + len(new))


def change(followed: Followed, raws: Sequence[bytes]) -> Change:
    """Compute the edits that make the log equal to the list of these items.

    A list that was only cut short has nothing to append that could take the place of what is gone: its last item is
    appended once more.

    Args:
        followed: the log.
        raws: at least one.
    """
    before = followed.raws
    start = _alike(before, raws)
    if start == len(before):
        return Change(start=start)
    # a shorter list has no item to carry the mark `replaces`, so its last one is appended again
    start = min(start, len(raws) - 1)
    return Change(start=start, replaces=followed.seqs[start])


class Following:
    """Makes the log equal to the list that a caller brings, and keeps what the next call needs.

    Args:
        replica: the conversation's log and state.

    Attributes:
        lock: held while a list is taken over.
        followed: the log as the list that came last; None if it is not known.
        rewrites: of the conversation's state when that was so.
        dialect: of that list.
        renderer: renders the contexts in that dialect.
        sent: the request that came of it last; None before the first one.
        usage: what was reported for that request, until the list brings the reply.
        bridged: writes the messages of the framework whose list came last; None after a list of an API's items.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self.lock = asyncio.Lock()
        self.followed: Followed | None = None
        self.rewrites = 0
        self.dialect: Dialect = "openai_chat"
        self.renderer = Renderer(self.dialect)
        self.sent: Load | None = None
        self.usage: Usage | None = None
        self.bridged: Bridged[Any] | None = None

    def bridge(self, dialect: Dialect | Framework | Bridge[T]) -> Bridged[T] | None:
        """What writes the messages of a framework; None for a provider's API.

        Raises:
            InvalidInput: ``dialect`` is neither.
            ImportError: the framework is not installed.
        """
        bridge = bridge_for(dialect)
        if bridge is None:
            self.bridged = None
        elif self.bridged is None or self.bridged.bridge is not bridge:
            self.bridged = Bridged(bridge)
        return self.bridged

    def use(self, dialect: Dialect) -> None:
        """Go on in another dialect."""
        if dialect != self.dialect:
            self.dialect, self.renderer, self.followed = dialect, Renderer(dialect), None

    async def take_over(self, items: Items) -> Followed:
        """The log once it is equal to ``items``.

        Raises:
            InvalidRequest: one of them is not what the API describes.
            Conflict: others write to it all the time.
        """
        replica, tries = self._replica, TRIES
        while True:
            followed = self.followed
            # others wrote, or the log was found to be another one: what we remember of it is void. Otherwise
            # nothing older than the new items is looked at, so a turn costs O(new).
            if followed is None or (followed.end, self.rewrites) != (len(replica), replica.state.rewrites):
                followed = Followed.of(await replica.history(), dialect=items.dialect)
            todo = change(followed, items.raws)
            # a thread costs more than parsing a few small messages
            large = sum(map(len, items.raws[todo.start :])) > LARGE_JSON
            new = await off_loop_if(large, partial(self._added, items, todo))
            for message in new:
                check_message(message)
            try:
                await replica.extend(new, after=followed.end, check=check_raw)
            except Conflict:
                tries -= 1
                if not tries:
                    raise
                await replica.sync()
                # somebody else's messages are in the log now: compare with all of it
                self.followed = None
            else:
                self.followed = todo.followed(followed, items.raws)
                # used up by the reply that was among the new messages
                self.usage = None if new else self.usage
                self.rewrites = replica.state.rewrites
                return self.followed

    async def record(
        self, messages: Sequence[T], *, dialect: Dialect | Framework | Bridge[T] = "openai_chat"
    ) -> None:
        """Make the log equal to a list that the caller keeps, where no model call follows; as `Conversation.follow`.

        An answer that ends a turn is stored so. Nothing is decided and nothing compacted; an empty list changes nothing.

        Raises:
            InvalidInput: the list, or one of its new items, is not what the API describes; nothing was stored.
            StoreError: what is new could not be stored.
        """
        self._replica.check_usable()
        bridged = self.bridge(dialect)
        if not messages:
            return
        if bridged is None:
            items = Items(messages, dialect=cast("Dialect", dialect))
        else:
            written = bridged.written(messages)
            items = Items([item for group in written for item in group], dialect=bridged.bridge.dialect)
        async with self.lock:
            self.use(items.dialect)
            await self.take_over(items)

    def _added(self, items: Items, todo: Change) -> tuple[Message, ...]:
        """The messages to append; the first reply among them brings the usage that was reported for it.

        Raises:
            InvalidRequest: one of them is not what the API describes.
        """
        # only what is new is parsed
        new = items.messages(todo.start)
        if new and todo.replaces is not None:
            new = (replace(new[0], replaces=todo.replaces), *new[1:])
        sent = self.sent
        # a compaction came between: the report says nothing about the context that is active now
        known = sent is not None and sent.context == self._replica.active_id
        return _with_usage(new, self.usage if known else None)


async def extend_raw(
    replica: Replica, raws: Sequence[bytes], *, dialect: Dialect, after: int, usage: Usage | None = None
) -> tuple[Message, ...]:
    """Add messages that came as the JSON of a provider's API to the end of the log, all or none.

    Args:
        replica: the conversation's log and state.
        raws: the JSON of each.
        dialect: the API.
        after: ``seq`` of the message that they have to follow directly.
        usage: what was reported for the request that ended with that message; it is stored with the reply to it.

    Raises:
        InvalidRequest: one of them is not what the API describes; the log is as it was.
        Conflict: the log does not end at ``after``.
        StoreError: they could not be stored; the log is as it was.
    """
    replica.check_usable()

    def parsed() -> tuple[Message, ...]:
        for raw in raws:
            check_json(raw, path="message")
        return tuple(parse_message(raw, seq=seq, dialect=dialect) for seq, raw in enumerate(raws, after + 1))

    messages = await off_loop_if(sum(map(len, raws)) > LARGE_JSON, parsed)
    return await replica.extend(_with_usage(messages, usage), after=after, check=None)


def _with_usage(messages: Sequence[Message], usage: Usage | None) -> tuple[Message, ...]:
    place = next((place for place, message in enumerate(messages) if message.role == "assistant"), None)
    if usage is None or place is None:
        return tuple(messages)
    return (*messages[:place], replace(messages[place], usage=usage), *messages[place + 1 :])


def _alike(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Length of the common beginning of two lists, in items."""
    length = min(len(one), len(other))
    # the usual case, one comparison of tuples; the careful one parses JSON for each item
    if one[:length] == other[:length]:
        return length
    return next(
        (place for place in range(length) if not (one[place] and says_the_same(one[place], other[place]))),
        length,
    )


def _said(message: Message, *, dialect: Dialect) -> bytes:
    try:
        return render_message(message, dialect=dialect)
    # such a message cannot come back in a list of this dialect, so it is equal to nothing
    except ValueError:
        return b""
