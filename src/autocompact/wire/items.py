"""A list of messages as an API's client library holds it, and the same list again where the model is to see another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import msgspec
from msgspec.structs import replace

from autocompact.core.messages import Dialect, Message, Usage
from autocompact.core.validity import DIALECTS
from autocompact.errors import InvalidInput, InvalidRequest
from autocompact.wire import json
from autocompact.wire.canonical import without_marks
from autocompact.wire.dialects import codec_for
from autocompact.wire.mapping import encoded, of_an_sdk
from autocompact.wire.rendering import Renderer
from autocompact.wire.reply import parse_usage
from autocompact.wire.request import Parsed

_ENCODE = msgspec.json.Encoder(enc_hook=of_an_sdk).encode
_EXAMPLE = 'give e.g. {"role": "user", "content": "Hello."}'


class Items:
    """A caller's list of messages.

    Args:
        messages: mappings, objects of a provider's SDK (with ``model_dump``; they may stand inside of a mapping, too), or
            the JSON of each as bytes.
        dialect: the API that they are for.

    Attributes:
        raws: the JSON of each; bytes as they were given.

    Raises:
        InvalidInput: it is no list, or an item cannot be written as JSON; the sentence says which.
    """

    def __init__(self, messages: Sequence[object], *, dialect: Dialect) -> None:
        if dialect not in DIALECTS:
            raise InvalidInput(f"dialect is {dialect!r}: choose one of {', '.join(map(repr, DIALECTS))}")
        check_list(messages)
        self.dialect: Dialect = dialect
        self._given = tuple(messages)
        self.raws = _raws(self._given, path="messages")
        self._parsed = Parsed(self.raws, system=None, codec=codec_for(dialect))

    def __len__(self) -> int:
        return len(self.raws)

    def messages(self, start: int) -> tuple[Message, ...]:
        """The messages from index ``start`` on as a log holds them: numbered from 1, without cache marks.

        Raises:
            InvalidRequest: one of them is not what the API describes.
        """
        codec = codec_for(self.dialect)
        found: list[Message] = []
        for place, raw in enumerate(self.raws[start:], start):
            path = f"messages[{place}]"
            message = codec.parse(without_marks(raw), seq=place + 1, role="user", path=path)
            if message.synthetic:
                raise InvalidRequest(
                    f"{path}.role: {self.dialect} has no message with this role, or it is missing: {_EXAMPLE}"
                )
            found.append(message)
        return tuple(found)

    def shown(
        self,
        context: Sequence[Message],
        *,
        standing: int,
        place: Callable[[int], int | None],
        renderer: Renderer,
    ) -> list[object]:
        """The context as a list of the same kind; an item that stands in it unchanged is the very object that came.

        Args:
            context: what the model is to see.
            standing: the last so many messages of it are the last items of the list.
            place: the index of the item that the message of a ``seq`` stands for; None if there is none.
            renderer: renders the contexts of this conversation.
        """
        first = len(context) - standing
        places = [None if message.changed else place(message.seq) for message in context[:first]]
        if len(context) == len(self) and places == list(range(first)):
            return list(self._given)
        shown = [
            self._own_prompt(message) if at is None else self._parsed[at]
            for message, at in zip(context[:first], places, strict=True)
        ]
        exported = renderer.export([*shown, *context[first:]], own=self._parsed, standing=standing)
        made = _same if isinstance(self._given[-1], bytes) else json.plain
        items = {id(raw): item for raw, item in zip(self.raws, self._given, strict=True)}
        # the renderer may hand back the bytes of an earlier list; the very same bytes may stand in this one twice
        equal = {raw: id(raw) for raw in self.raws}
        own = [id(raw) if id(raw) in items else equal.get(raw) for raw in exported.messages]
        return [
            made(raw) if at is None else items[at] for at, raw in zip(own, exported.messages, strict=True)
        ]

    def _own_prompt(self, message: Message) -> Message:
        """A message that was made here; where the system prompt stands outside of the list, that is the caller's."""
        is_made = message.role == "system" and message.seq <= 0
        return replace(message, role="user") if is_made and codec_for(self.dialect).system_field else message


def check_list(messages: object) -> None:
    """Check that it is a list with something in it.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidInput(f"messages is of type {type(messages).__name__}: give the whole list of messages")
    if not messages:
        raise InvalidInput("messages is empty: give the whole list, the message to be answered included")


def tools_json(tools: Sequence[object] | bytes | None) -> bytes | None:
    """Tool schemas as JSON; None without.

    Raises:
        InvalidInput: they are no list, or cannot be written as JSON.
    """
    if tools is None or isinstance(tools, bytes):
        return tools
    if not isinstance(tools, Sequence) or isinstance(tools, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not every caller is typed
        raise InvalidInput(f"tools is of type {type(tools).__name__}: give the list of tool schemas")
    return json.array(_raws(tools, path="tools"))


def system_text(system: object, *, dialect: Dialect) -> str:
    """The words of a system prompt that stands outside of the list; "" without.

    Raises:
        InvalidInput: it is neither a text nor a list of the API's blocks.
    """
    if system is None or isinstance(system, str):
        return system or ""
    if not isinstance(system, Sequence) or isinstance(system, bytes):
        raise InvalidInput(f"system is of type {type(system).__name__}: give a text, or a list of blocks")
    raw = json.array(_raws(cast("Sequence[object]", system), path="system"))
    return codec_for(dialect).parse(raw, seq=0, role="system", path="system").text


def reported_usage(reply: object) -> Usage | None:
    """The usage that an API's whole response reports; None where it reports none.

    Raises:
        InvalidInput: it is no response.
    """
    return parse_usage(_raw(reply, path="the reply"))


def _raws(items: Sequence[object], *, path: str) -> tuple[bytes, ...]:
    try:
        # the usual list at once; one that holds something else is gone through again, to name the item
        return tuple([_ENCODE(item) if type(item) is dict else _raw(item, path="") for item in items])
    except (InvalidInput, TypeError, ValueError, RecursionError, OverflowError):
        return tuple(_raw(item, path=f"{path}[{place}]") for place, item in enumerate(items))


def _raw(item: object, *, path: str) -> bytes:
    if isinstance(item, bytes):
        json.check(item, path=path)
        if not json.is_object(item):
            raise InvalidRequest(f"{path}: expected an object")
        return item
    if not (isinstance(item, Mapping) or hasattr(item, "model_dump")):
        raise InvalidInput(f"{path} is of type {type(item).__name__}: {_EXAMPLE}")
    return encoded(cast("object", item), path=path)


def _same(raw: bytes) -> bytes:
    return raw
