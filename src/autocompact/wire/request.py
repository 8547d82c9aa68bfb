"""Requests: their messages, and the bytes around these.

The list of a request is taken apart when somebody asks for its items (``request.raws``), and each message is parsed when
somebody looks at it. A gateway that lets a small request pass never asks, and one that finds a conversation again by the
bytes of its messages parses only the new ones.

A request may continue an earlier one (`EarlierRequest`): what both begin with is compared as one piece of memory and not
parsed again. At 200 KB that takes 0.6 ms off each request of a conversation, of 1.5 ms that all our work would take
without, and its items stay the objects that the conversation holds, so that they are recognised by identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import TypeAlias, overload

import msgspec
from msgspec import Struct

from autocompact.core.messages import Dialect, Message, Role
from autocompact.errors import InvalidRequest
from autocompact.wire import json
from autocompact.wire.dialects import codec_for
from autocompact.wire.pieces import Codec, Exported, intact

_NAME = msgspec.json.Decoder(str | None)
_COUNT = msgspec.json.Decoder(int | None)
_FLAG = msgspec.json.Decoder(bool | None)

_LEAST_BYTES = 3
"""Of a message in a list: two braces and a comma."""

_Listed: TypeAlias = memoryview | tuple[bytes, ...]
"""A list of messages as its JSON, or its items where these are known."""


class Parsed(Sequence[Message]):
    """The messages of a request, each parsed when it is first looked at, ``seq`` from 1.

    Looking at a list with something else than objects in it, or at a message that is not what the API describes, raises
    `InvalidRequest`; ``tuple(request.messages)`` checks them all.

    Args:
        listed: the list.
        system: the system prompt that stands outside of the list, None without.
        codec: of the API.

    Attributes:
        has_system: whether the first one stands outside of the list.
    """

    __slots__ = ("_codec", "_done", "_listed", "_raws", "_system", "has_system")

    def __init__(self, listed: _Listed, *, system: bytes | None, codec: Codec) -> None:
        self.has_system = system is not None
        self._listed = listed
        self._system = () if system is None else (system,)
        self._codec = codec
        self._raws: tuple[bytes, ...] | None = None
        self._done: list[Message | None] = []

    @property
    def raws(self) -> tuple[bytes, ...]:
        """The bytes of each, exactly as they came."""
        if self._raws is None:
            self._raws = (*self._system, *_items(self._listed, codec=self._codec))
            self._done = [None] * len(self._raws)
        return self._raws

    def are_more_than(self, most: int) -> bool:
        """True if there are more than so many; they are not counted where the list is too short for that."""
        # a list this short in bytes cannot hold so many messages, so it need not be taken apart
        is_short = isinstance(self._listed, memoryview) and len(self._listed) <= most * _LEAST_BYTES
        return not is_short and len(self) > most

    def __len__(self) -> int:
        return len(self.raws)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        count = len(self)
        done = self._done[index]
        if done is None:
            # negative indices share the cache of the positive ones
            place = index % count
            done = self._done[place] = self._parse(place)
        return done

    def __iter__(self) -> Iterator[Message]:
        return (self[place] for place in range(len(self)))

    @property
    def listed(self) -> range:
        """The places of the messages that stand in the list."""
        return range(int(self.has_system), len(self))

    def _parse(self, place: int) -> Message:
        raw, role = self.raws[place], "user"
        path = f"{self._codec.list_field}[{place - int(self.has_system)}]"
        if self.has_system and not place:
            # so that an error names the member that the client sent
            path, role = self._codec.system_field, "system"
        return self._codec.parse(raw, seq=place + 1, role=role, path=path)


class Request(Struct, frozen=True, kw_only=True):
    """A request to a model.

    Attributes:
        dialect: the API it is for.
        messages: the conversation, a system prompt that stands outside of the list (Anthropic ``system``, Responses
            ``instructions``) as its first message.
        fields: the other members of the body, unknown ones included, as their JSON, in their order.
        spans: where the value of each member of the body stands.
        tools: the JSON of ``tools``; None without.
        model: the model asked for, "" if none is named.
        max_output: the most tokens the reply may take; None if nothing limits it.
        stream: whether the reply is to be streamed.
        raw: the whole body as it came.
    """

    dialect: Dialect
    messages: Parsed
    fields: Mapping[str, bytes]
    spans: Mapping[str, json.Span]
    tools: bytes | None
    model: str
    max_output: int | None
    stream: bool
    raw: bytes

    @property
    def raws(self) -> tuple[bytes, ...]:
        """The bytes of each message."""
        return self.messages.raws


def parse_request(body: bytes, *, dialect: Dialect, earlier: Iterable[EarlierRequest] = ()) -> Request:
    """The request that ``body`` is.

    Args:
        body: what came.
        dialect: the API it is for.
        earlier: requests of which one may be the one before: what of its list stands here as well is not parsed
            again. The result is the same without.

    Raises:
        InvalidRequest: the body is not a JSON object, or the messages are not where they belong. Problems inside of the
            list show when it is looked at.
    """
    codec = codec_for(dialect)
    spans, listed = _continued(body, earlier, codec=codec) or _opened(body, codec=codec)
    # without the list, which is nearly all of the body: slicing it would copy it
    members = {name: body[start:end] for name, (start, end) in spans.items() if name != codec.list_field}
    system = members.pop(codec.system_field, None) if codec.system_field else None
    has_system = system is not None and bool(json.contents(system, path=codec.system_field))
    limits = (
        json.decode(members[name], _COUNT, path=name) for name in codec.output_fields if name in members
    )
    return Request(
        dialect=dialect,
        messages=Parsed(listed, system=system if has_system else None, codec=codec),
        fields=members,
        spans=spans,
        tools=members.get("tools"),
        model=json.decode(members.get("model", b"null"), _NAME, path="model") or "",
        max_output=next((limit for limit in limits if limit is not None), None),
        stream=bool(json.decode(members.get("stream", b"null"), _FLAG, path="stream")),
        raw=body,
    )


_Opened: TypeAlias = tuple[dict[str, json.Span], _Listed]
"""Where each member's value stands, and the list."""


def _opened(body: bytes, *, codec: Codec) -> _Opened:
    """Parse a body: one pass finds the members, a walk then skips over them."""
    spans = json.spans(body, json.members(body, path=""))
    start, end = spans.get(codec.list_field, (0, 0))
    return spans, _listed(memoryview(body)[start:end], codec=codec)


def _listed(value: memoryview, *, codec: Codec) -> _Listed:
    """The list that this JSON is, or the one message that it stands for; empty JSON is no list.

    Raises:
        InvalidRequest: it is none.
    """
    path = codec.list_field
    if json.is_array(value):
        return value
    if not value or bytes(value) == b"null":
        if codec.list_required:
            raise InvalidRequest(f"{path}: a request must have a list of messages")
        return ()
    # the Responses API takes a bare string as one message of the user
    if not codec.list_required and json.is_string(value):
        return (bytes(value),)
    raise InvalidRequest(f"{path}: expected a list of messages")


def _items(listed: _Listed, *, codec: Codec) -> tuple[bytes, ...]:
    if not isinstance(listed, memoryview):
        return listed
    raws = tuple(json.raw_items(listed))
    firsts = bytes(map(itemgetter(0), raws))
    # one pass in C over first bytes instead of a test for each item
    if firsts.strip(b"{"):
        index = next(place for place, first in enumerate(firsts) if first not in b"{")
        raise InvalidRequest(f"{codec.list_field}[{index}]: expected an object")
    return raws


_MOST_CHANGED = 4
"""Messages at the end of an earlier request that may be others in the next one: clients move their cache marks."""

_ANCHOR = 64
_BETWEEN = b" \t\r\n,"


class EarlierRequest:
    """A request that the next one may continue.

    Args:
        request: the earlier one.
    """

    def __init__(self, request: Request) -> None:
        self._dialect = request.dialect
        self._body = request.raw
        start, end = request.spans.get(codec_for(request.dialect).list_field, (0, 0))
        is_list = self._body[start : start + 1] == b"["
        self._raws = request.raws[request.messages.listed.start :] if is_list else ()
        self._start = start + 1
        # clients move cache marks and drop reminders at the end, so the
        # common part may end a few messages earlier
        self._ends = [*islice(self._ends_back(end - 1), _MOST_CHANGED + 1)]
        oldest = self._ends[-1] if self._ends else 0
        self._anchor_at = max(0, oldest - _ANCHOR)
        # a few bytes just before the part that may differ: compared first,
        # they turn away other conversations at once
        self._anchor = self._body[self._anchor_at : oldest]

    def _ends_back(self, close: int) -> Iterator[int]:
        """Yield the ends of the items, the last one first; ``close`` is the position of the list's end."""
        for raw in reversed(self._raws):
            while self._body[close - 1] in _BETWEEN:
                close -= 1
            yield close
            close -= len(raw)

    def shared(self, body: bytes, *, dialect: Dialect) -> tuple[int, int, int]:
        """Common beginning of this list and ``body``: number of items, first byte, byte after the last; zeros if there is none.

        The list of ``body`` may be another one all the same, where a member is repeated.
        """
        if dialect != self._dialect or not self._anchor or not body.startswith(self._anchor, self._anchor_at):
            return 0, 0, 0
        for back, end in enumerate(self._ends):
            count = len(self._raws) - back
            last = self._raws[count - 1]
            # the last item first: it differs most often, and comparing it is cheap
            if body.startswith(last, end - len(last)) and body.startswith(self._body[:end]):
                return count, self._start, end
        return 0, 0, 0

    def first(self, count: int) -> tuple[bytes, ...]:
        """The first items."""
        return self._raws[:count]


def _continued(body: bytes, earlier: Iterable[EarlierRequest], *, codec: Codec) -> _Opened | None:
    """Parse a body whose list begins with that of an earlier one, like `_opened`; None if it does not.

    What was parsed before is cut out, and what is left is parsed as a whole.
    """
    for request in earlier:
        count, start, end = request.shared(body, dialect=codec.name)
        if not count:
            continue
        rest = json.space(body, end)
        if body[rest : rest + 1] == b",":
            rest = json.space(body, rest + 1)
            # what was cut out leaves a list that begins with the next item, so there must be one
            if body[rest : rest + 1] != b"{":
                return None
        elif body[rest : rest + 1] != b"]":
            return None  # two items without a comma between them are no list
        try:
            # the rest is parsed as a body of its own: no second parser for continued requests
            spans, listed = _opened(body[:start] + body[rest:], codec=codec)
            new = _items(listed, codec=codec)
        except InvalidRequest:
            return None  # the path of what is wrong would be another one
        # a repeated member: the last one counts, and it is not the list that was compared
        if spans[codec.list_field][0] + 1 != start:
            return None
        cut = rest - start
        moved = {
            name: (first + cut if first >= start else first, last + cut if last > start else last)
            for name, (first, last) in spans.items()
        }
        return moved, (*request.first(count), *new)
    return None


def parse_message(raw: bytes, *, seq: int, dialect: Dialect, role: Role = "user") -> Message:
    """The message that ``raw`` is, as it stood in a request's list.

    Args:
        raw: its JSON; for a system prompt outside of the list the value of that member.
        seq: its number in the log.
        dialect: the API it was for.
        role: what a bare value says: "system" for a system prompt, "user" for Responses ``input`` as a string.

    Raises:
        InvalidRequest: it is not what the API describes; the message names the path, from ``message`` on.
    """
    return codec_for(dialect).parse(raw, seq=seq, role=role, path="message")


def check_raw(message: Message) -> None:
    """Check that the bytes of a message that is sent as it came are what its API describes.

    Raises:
        InvalidRequest: they are not; the sentence names the path, from ``message`` on.
    """
    if message.raw is not None and message.dialect is not None:
        json.check(message.raw, path="message")
        parse_message(message.raw, seq=message.seq, dialect=message.dialect, role=message.role)


def is_intact(message: Message) -> bool:
    """True if `check_raw` has nothing against ``message``."""
    try:
        check_raw(message)
    except InvalidRequest:
        return False
    return True


def render_message(message: Message, *, dialect: Dialect) -> bytes:
    """The JSON of one message; for a message that came in ``dialect`` and is unchanged the very bytes.

    Raises:
        ValueError: the API needs several messages (or none) to say it: use `export_messages`.
    """
    if message.raw is not None and intact(message, dialect):
        return message.raw
    bodies = codec_for(dialect).render(message)
    if len(bodies) != 1:
        raise ValueError(
            f"{dialect} takes {len(bodies)} messages to say message {message.seq}: export_messages"
        )
    return bodies[0]


def export_messages(messages: Iterable[Message], *, dialect: Dialect) -> Exported:
    """The messages as the API takes them, whichever dialects they came in.

    Args:
        messages: a valid context: each call answered right after it, no orphans (see ``core.repair``).
        dialect: the API.
    """
    return codec_for(dialect).export(messages)
