"""Requests with other messages in the place of their own: the bytes of all that was not changed stay.

Of a long conversation only the beginning differs from what the client sent: a summary stands there. What follows is the
request's own bytes, so each request costs what is new of it, and one copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from autocompact.core.messages import Dialect, Message
from autocompact.wire import json
from autocompact.wire.dialects import codec_for
from autocompact.wire.pieces import Exported, intact
from autocompact.wire.request import Parsed, Request

_SPACE = b" \t\r\n"


def render_request(request: Request, messages: Sequence[Message]) -> bytes:
    """The body of ``request`` with these messages in place of its own.

    Unchanged messages give ``request.raw`` itself. Otherwise everything outside of the messages and of the system
    prompt stays byte for byte, and so does each message that came with the request and was not changed.
    """
    return Renderer(request.dialect).render(request, messages)


class Renderer:
    """Renders the requests of one conversation, each of which goes on from the one before.

    What was exported for the last request is not exported again as long as it is the same, and where messages were seen
    to need no joining it is not looked again. The result is that of `render_request`.

    Args:
        dialect: the API that the conversation speaks.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._codec = codec_for(dialect)
        self._last: tuple[tuple[Message, ...], Exported] | None = None
        self._apart = (0, 0)

    def render(
        self,
        request: Request,
        messages: Sequence[Message],
        *,
        standing: int = 0,
        tools: bytes | None = None,
    ) -> bytes:
        """The body of ``request`` with these messages in place of its own.

        Args:
            request: what came.
            messages: what the model is to see.
            standing: the last so many are the last so many of the request itself, and their ``seq`` goes up by one. The
                request's bytes are taken for them, and most of them are not looked at, however many they are.
            tools: the JSON of ``tools`` in place of the request's own; None leaves that as it is.
        """
        codec = self._codec
        added = {} if tools is None else {"tools": tools}
        if messages is request.messages:
            return with_members(request, added) if added else request.raw
        changed, behind = self._split(messages, own=request.messages, standing=standing)
        if len(messages) == len(request.raws) and _same(request, changed):
            return with_members(request, added) if added else request.raw
        exported = self._export(changed)
        listed = [*exported.messages, *request.raws[len(request.raws) - behind :]]
        values = added | {codec.list_field: _list(request, listed)}
        if exported.system is not None:
            values[codec.system_field] = exported.system
        elif request.messages.has_system:
            values[codec.system_field] = codec.no_system
        return with_members(request, values)

    def export(self, messages: Sequence[Message], *, own: Parsed, standing: int) -> Exported:
        """The messages as the API takes them; what came with a list and stays as it was is the very bytes of that list.

        Args:
            messages: what the model is to see.
            own: the messages of the list.
            standing: see `render`; of ``own``.
        """
        changed, behind = self._split(messages, own=own, standing=standing)
        exported = self._export(changed)
        return replace(exported, messages=(*exported.messages, *own.raws[len(own) - behind :]))

    def _split(
        self, messages: Sequence[Message], *, own: Parsed, standing: int
    ) -> tuple[tuple[Message, ...], int]:
        """The messages that have to be exported, and how many bytes of ``own`` follow as they came."""
        first = len(messages) - standing
        behind = len(messages) - self._standing_from(messages, first)
        return (*messages[:first], *own[len(own) - standing : len(own) - behind]), behind

    def _export(self, messages: tuple[Message, ...]) -> Exported:
        if self._last is None or self._last[0] != messages:
            self._last = messages, self._codec.export(messages)
        return self._last[1]

    def _standing_from(self, messages: Sequence[Message], first: int) -> int:
        """The place from ``first`` on from which no message has to be joined with one before it; the end if none.

        It is an answer of the model: what was put off until the results before it are complete stands there. And
        something was said before: a list that begins with the model may need an opening.
        """
        place = self._apart_from(messages, first)
        while place < len(messages) and (
            messages[place].role != "assistant"
            or self._join(messages, place)
            or all(message.role == "system" for message in islice(messages, place))
        ):
            place += 1
        return place

    def _apart_from(self, messages: Sequence[Message], first: int) -> int:
        """The place from ``first`` on behind which no message has to be joined with the one before it."""
        place = last = len(messages)
        known_from, known_to = self._apart
        while place > first and (place == last or not self._join(messages, place)):
            place -= 1
            if messages[place].seq == known_to:
                # seen apart for an earlier request, and these messages have not changed since
                place = max(first, place - (known_to - known_from))
        if place < last:
            self._apart = messages[place].seq, messages[last - 1].seq
        return place

    def _join(self, messages: Sequence[Message], place: int) -> bool:
        """True if the message at ``place`` may have to be joined with the one before it."""
        return place > 0 and self._codec.joins(messages[place - 1], messages[place])


def _same(request: Request, messages: Sequence[Message]) -> bool:
    """True if these are the first messages of the request."""
    return all(
        message.raw == raw and intact(message, request.dialect)
        for message, raw in zip(messages, request.raws, strict=False)
    )


def with_members(request: Request, values: Mapping[str, bytes]) -> bytes:
    """The body with these values in place of the old ones; members that it did not have stand at its beginning."""
    body = request.raw
    start = json.space(body, 0) + 1
    places = {request.spans[name]: value for name, value in values.items() if name in request.spans}
    new = [json.encode(name) + b":" + value for name, value in values.items() if name not in request.spans]
    places[start, start] = b",".join(new) + (b"," if new and request.spans else b"")
    pieces: list[bytes] = []
    end = 0
    # in the order of the body, in which they lie apart
    for (first, last), value in sorted(places.items()):
        pieces += (body[end:first], value)
        end = last
    return b"".join((*pieces, body[end:]))


def _list(request: Request, messages: list[bytes]) -> bytes:
    """The array of messages, with the white space that the old one had before, between and after its items."""
    body, name = request.raw, codec_for(request.dialect).list_field
    raws = request.raws[request.messages.listed.start :]
    if len(raws) < 2 or not messages:
        return json.array(messages)
    start, end = request.spans[name]
    # as the client wrote it: of a request that is changed, nothing but the change may differ
    first = json.space(body, start + 1)
    second = json.space(body, body.index(b",", first + len(raws[0])) + 1)
    last = end - 1
    while body[last - 1] in _SPACE:
        last -= 1
    messages[0] = body[start:first] + messages[0]
    messages[-1] += body[last:end]
    return body[first + len(raws[0]) : second].join(messages)
