"""Messages that a framework holds as objects of its own, written as items of a provider's API and read again.

A `Bridge` says how. What the items cannot say goes into the log beside them (`autocompact.wire.remainder`), under the
bridge's name. An object that stands in the context unchanged is handed back as the very object; only what was made or
changed here is read from items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from itertools import pairwise
from typing import Any, Generic, TypeVar, cast, get_args

from autocompact.core.messages import Message
from autocompact.core.validity import DIALECTS
from autocompact.errors import InvalidInput
from autocompact.ports import Bridge, Framework, Item
from autocompact.wire import render_message
from autocompact.wire.items import check_list
from autocompact.wire.json import plain
from autocompact.wire.mapping import encoded
from autocompact.wire.remainder import remainder, restored

T = TypeVar("T")

FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)


def bridge_for(dialect: object) -> Bridge[Any] | None:
    """The bridge of a framework that is named, or one that is given; None for a provider's API.

    Raises:
        InvalidInput: it is none of them.
        ImportError: the framework is not installed; the sentence names the extra.
    """
    if dialect in DIALECTS:
        return None
    # a name, since an adapter stands above the engine and its framework is installed or not
    found = import_module(f"autocompact.adapters.{dialect}").MESSAGES if dialect in FRAMEWORKS else dialect
    if isinstance(found, Bridge):
        return cast("Bridge[Any]", found)
    known = ", ".join(map(repr, (*DIALECTS, *FRAMEWORKS)))
    raise InvalidInput(
        f"dialect is {dialect!r}: choose one of {known}, or give an `autocompact.ports.Bridge`"
    )


class Bridged(Generic[T]):
    """Lists of one framework's messages in its bridge's items. What a list has from the last one is not written anew.

    Args:
        bridge: to the framework's messages.
    """

    def __init__(self, bridge: Bridge[T]) -> None:
        self.bridge = bridge
        self._known: dict[bytes, list[Item]] = {}

    def written(self, messages: Sequence[T]) -> list[list[Item]]:
        """The items of each message, new ones each time.

        Raises:
            InvalidInput: it is no list of the framework's messages.
        """
        check_list(messages)
        known: dict[bytes, list[Item]] = {}
        found: list[list[Item]] = []
        for place, message in enumerate(messages):
            # the messages can be changed in place, so what is compared is all that they say
            value = self._dumped(message, place=place)
            key = blake2b(encoded(value, path=f"messages[{place}]"), digest_size=16).digest()
            items = self._known.get(key) or written_as(message, bridge=self.bridge, value=value)
            known[key] = items
            # two equal messages are two items: what comes back is told apart by identity
            found.append([{**item} for item in items])
        self._known = known
        return found

    def _dumped(self, message: T, *, place: int) -> Any:
        types = self.bridge.types
        if not isinstance(message, types):
            names = " or ".join(each.__name__ for each in types)
            raise InvalidInput(
                f"messages[{place}] is of type {type(message).__name__}: {self.bridge.name!r} takes {names}"
            )
        return self.bridge.dump(message)

    def handed_back(
        self, messages: Sequence[T], *, written: Sequence[Sequence[Item]], shown: Sequence[Item]
    ) -> list[T]:
        """The context in the framework's messages.

        Args:
            messages: the list that came.
            written: its items.
            shown: the context in items, the unchanged ones of which are those of ``written``.
        """
        back: list[T] = []
        loose: list[Item] = []
        start = 0
        for one in (*_unchanged(written, shown), len(messages)):
            if not isinstance(one, int):
                loose.append(one)
                continue
            back += self._made(loose, shown, written=written[start:one], among=messages[start:one])
            back += messages[one : one + 1]
            loose, start = [], one + 1
        return back

    def _made(
        self,
        loose: Sequence[Item],
        shown: Sequence[Item],
        *,
        written: Sequence[Sequence[Item]],
        among: Sequence[T],
    ) -> list[T]:
        """Read what was made or changed; a message that was joined with such a neighbour is itself again, one of ``among``."""
        # roles alternate there, so a summary and the request behind it became one item
        joins = self.bridge.dialect == "anthropic"
        parts: list[tuple[Item | None, Sequence[T]]] = []
        end = len(written)
        for item in reversed(loose):
            rest, start = _taken_apart(item, written[:end]) if joins else (item, end)
            parts.append((rest, among[start:end]))
            # what is left is another message that was changed, or the summary before all of them
            end = start if rest is None else max(0, start - 1)
        back: list[T] = []
        new: list[Item] = []
        for rest, own in reversed(parts):
            new += [] if rest is None else [rest]
            if own:
                back += [*self._read(new, shown), *own]
                new = []
        return [*back, *self._read(new, shown)]

    def _read(self, items: Sequence[Item], shown: Sequence[Item]) -> list[T]:
        bare = [_bare(item, self.bridge.name) for item in items]
        return self.bridge.read(bare, names=tool_names(shown)) if bare else []


def _unchanged(written: Sequence[Sequence[Item]], shown: Sequence[Item]) -> Iterator[int | Item]:
    """The place of each message all items of which are shown, and each other item, in the order of ``shown``."""
    firsts = {id(items[0]): place for place, items in enumerate(written)}
    at = 0
    while at < len(shown):
        place = firsts.get(id(shown[at]))
        whole = written[place] if place is not None else ()
        if place is not None and list(map(id, whole)) == list(map(id, shown[at : at + len(whole)])):
            yield place
            at += len(whole)
        else:
            yield shown[at]
            at += 1


def _taken_apart(item: Item, written: Sequence[Sequence[Item]]) -> tuple[Item | None, int]:
    """An item without the messages that it ends with, and the place of the first of these.

    Args:
        item: one of Anthropic's API that was made or changed.
        written: the items of the messages up to the last one that can be in it.
    """
    blocks, start = _blocks(item), len(written)
    while start and len(written[start - 1]) == 1:
        (last,) = written[start - 1]
        own = _blocks(last)
        if not own or last["role"] != item["role"] or blocks[-len(own) :] != own:
            break
        start, blocks = start - 1, blocks[: -len(own)]
    if start == len(written):
        return item, start
    return ({**item, "content": blocks} if blocks else None), start


def _blocks(item: Item) -> list[Any]:
    if isinstance(item.get("content"), str):
        return [{"type": "text", "text": item["content"]}]
    return [*item["content"]]


def written_as(message: T, *, bridge: Bridge[T], value: Any) -> list[Item]:
    """The items of a message, with what they cannot say.

    Args:
        message: of the framework.
        bridge: to its messages.
        value: the message as the bridge dumps it.
    """
    items = bridge.write(message)
    again = bridge.read(items, names=tool_names(items))
    rest = remainder(value, bridge.dump(again[0])) if len(again) == 1 else {"is": value}
    first = {**items[0], bridge.name: rest}
    return [first, *({**item, bridge.name: {"goes_on": True}} for item in items[1:])]


def restored_from(log: Iterable[Message], *, bridge: Bridge[T]) -> Iterator[T]:
    """The framework's messages that a log was made from.

    Args:
        log: without what was replaced (`autocompact.engine.following.current`).
        bridge: to the framework's messages.
    """
    items = [cast("Item", plain(render_message(message, dialect=bridge.dialect))) for message in log]
    starts = [at for at, item in enumerate(items) if "goes_on" not in item.get(bridge.name, {})]
    for start, end in pairwise((*starts, len(items))):
        group = [_bare(item, bridge.name) for item in items[start:end]]
        rest: Mapping[str, Any] = items[start].get(bridge.name, {})
        if "is" in rest:
            yield bridge.load(rest["is"])
        else:
            (base,) = bridge.read(group, names=tool_names(group))
            yield bridge.load(restored(bridge.dump(base), rest))


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
