"""A conversation whose messages a framework holds, as objects of its own.

A `Bridge` says how one of them is written as items of a provider's API, and read again. What the items cannot say goes into
the log beside them (`autocompact.adapters.remainder`), under the bridge's name. An object that stands in the context
unchanged is handed back as the very same object; only what was made or changed here is read from items.
"""

from __future__ import annotations

from asyncio import get_running_loop
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from autocompact.adapters.remainder import remainder, restored
from autocompact.core.lookup import Lookup
from autocompact.core.messages import Dialect, Message, Usage
from autocompact.engine import Compactor, Conversation
from autocompact.errors import IncompressibleContext
from autocompact.models.sdk_errors import is_overflow
from autocompact.wire import render_message
from autocompact.wire.json import plain

T = TypeVar("T")
Item: TypeAlias = dict[str, Any]

_NO_TOOLS = Lookup(tools=False)
"""A framework's agent does not have the memory tools."""


class Bridge(Protocol[T]):
    """How a framework's messages stand in the log.

    Attributes:
        name: of the framework; the member of an item that holds its remainder.
        dialect: the API whose items they become.
    """

    name: str
    dialect: Dialect

    def write(self, message: T) -> list[Item]:
        """The items that say the message, one at least."""
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


class Held(Generic[T]):
    """One conversation, followed in a framework's messages.

    Args:
        conversation: its log.
        bridge: to the framework's messages.
    """

    def __init__(self, conversation: Conversation, *, bridge: Bridge[T]) -> None:
        self.conversation = conversation
        self._bridge = bridge

    async def follow(
        self, messages: Sequence[T], *, system: str = "", tools: Sequence[object] = ()
    ) -> list[T]:
        """Make the log equal to ``messages``; what to send in their place. See `Conversation.follow`."""
        written = [written_as(message, bridge=self._bridge) for message in messages]
        shown = await self.conversation.follow(
            [item for items in written for item in items],
            dialect=self._bridge.dialect,
            system=system or None,
            tools=tools or None,
        )
        return self._handed_back(messages, written=written, shown=shown)

    async def record(self, messages: Sequence[T]) -> None:
        """Make the log equal to ``messages``, where no model call follows, as after the answer that ends a turn."""
        items = [item for message in messages for item in written_as(message, bridge=self._bridge)]
        if items:
            await self.conversation.internals.following.record(items, dialect=self._bridge.dialect)

    async def heard(self, usage: Usage | None) -> None:
        """Take over what the provider reported for the messages of the last `follow`; None reported nothing."""
        if usage is not None:
            await self.conversation.heard(usage=usage)

    async def has_shrunk(self, error: BaseException) -> bool:
        """Compact after a failed model call, if that says that the request was too large; True if something was gained.

        Then `follow` gives a smaller list for the same messages.
        """
        return await has_shrunk(self.conversation, error)

    async def restored(self) -> list[T]:
        """The framework's messages, as the log holds them."""
        return list(restored_from(await self.conversation.history(), bridge=self._bridge))

    def _handed_back(
        self, messages: Sequence[T], *, written: Sequence[Sequence[Item]], shown: Sequence[Item]
    ) -> list[T]:
        firsts = {id(items[0]): place for place, items in enumerate(written)}
        back: list[T] = []
        loose: list[Item] = []
        at = behind = 0
        while at < len(shown):
            place = firsts.get(id(shown[at]))
            whole = written[place] if place is not None else ()
            if place is not None and list(map(id, whole)) == list(map(id, shown[at : at + len(whole)])):
                back += self._read(loose, shown, among=messages[behind:place])
                loose = []
                back.append(messages[place])
                behind = place + 1
                at += len(whole)
            else:
                loose.append(shown[at])
                at += 1
        return [*back, *self._read(loose, shown, among=messages[behind:])]

    def _read(self, loose: Sequence[Item], shown: Sequence[Item], *, among: Sequence[T]) -> list[T]:
        """Read what was made; a message that became one item with a changed neighbour is itself again, one of ``among``."""
        if not loose:
            return []
        made = self._bridge.read([_bare(item, self._bridge.name) for item in loose], names=tool_names(shown))
        if len(made) <= len(loose):
            return made
        dump = self._bridge.dump
        known = [(dump(message), message) for message in among]
        return [next((each for value, each in known if value == dump(one)), one) for one in made]


class Conversations:
    """The conversations of one compactor, each opened once in an event loop.

    Args:
        compactor: opens them.
        namespace: where they are.
    """

    def __init__(self, compactor: Compactor, *, namespace: str = "default") -> None:
        self._compactor = compactor
        self._namespace = namespace
        self._opened: WeakKeyDictionary[object, dict[str, Conversation]] = WeakKeyDictionary()

    async def get(self, name: str) -> Conversation:
        """The conversation of that name, for the running event loop."""
        opened = self._opened.setdefault(get_running_loop(), {})
        if name not in opened:
            opened[name] = await self._compactor.open(name, namespace=self._namespace)
        opened[name].internals.replica.use_lookup(_NO_TOOLS)
        return opened[name]


async def has_shrunk(conversation: Conversation, error: BaseException) -> bool:
    """Compact after a failed model call, if that says that the request was too large; True if something was gained."""
    if is_overflow(error) is None:
        return False
    await conversation.internals.background.wait_idle()
    try:
        return await conversation.internals.fitting.shrink()
    except IncompressibleContext:  # what the provider said is the better error
        return False


def written_as(message: T, *, bridge: Bridge[T]) -> list[Item]:
    """The items of a message, with what they cannot say."""
    items = bridge.write(message)
    again = bridge.read(items, names=tool_names(items))
    value = bridge.dump(message)
    rest = remainder(value, bridge.dump(again[0])) if len(again) == 1 else {"is": value}
    first = {**items[0], bridge.name: rest}
    return [first, *({**item, bridge.name: {"goes_on": True}} for item in items[1:])]


def restored_from(log: Iterable[Message], *, bridge: Bridge[T]) -> Iterator[T]:
    """The framework's messages that a log was made from; what was replaced is left out."""
    items = [cast("Item", plain(render_message(message, dialect=bridge.dialect))) for message in current(log)]
    starts = [at for at, item in enumerate(items) if "goes_on" not in item.get(bridge.name, {})]
    for start, end in pairwise((*starts, len(items))):
        group = [_bare(item, bridge.name) for item in items[start:end]]
        rest: Mapping[str, Any] = items[start].get(bridge.name, {})
        if "is" in rest:
            yield bridge.load(rest["is"])
        else:
            (base,) = bridge.read(group, names=tool_names(group))
            yield bridge.load(restored(bridge.dump(base), rest))


def current(log: Iterable[Message]) -> list[Message]:
    """The messages of a log that nothing has replaced."""
    found: list[Message] = []
    for message in log:
        if message.replaces is not None:
            while found and found[-1].seq >= message.replaces:
                found.pop()
        found.append(message)
    return found


def tool_names(items: Iterable[Item]) -> dict[str, str]:
    """The names of the tools by the ids of the calls, in the items of whichever API."""
    found: dict[str, str] = {}
    for item in items:
        for call in item.get("tool_calls") or ():
            found[call["id"]] = call.get("function", {}).get("name", "")
        content = item.get("content")
        for block in cast("list[Any]", content) if isinstance(content, list) else ():
            if isinstance(block, dict) and cast("Item", block).get("type") == "tool_use":
                found[block["id"]] = block["name"]
        if item.get("type") == "function_call":
            found[item["call_id"]] = item["name"]
    return found


def _bare(item: Item, name: str) -> Item:
    return {key: value for key, value in item.items() if key != name}
