"""The events of Anthropic Messages and of Responses, in which blocks or items are numbered. See `tool_stream`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from autocompact.core.messages import Dialect
from autocompact.gateway.raw_json import Members, object_of, parts_of
from autocompact.gateway.tool_reply import Echo, read_item
from autocompact.gateway.tool_stream import ChatSieve, Sieve, edited, with_payload
from autocompact.wire import json

Place: TypeAlias = int | Literal["hidden", "held"]
"""The number of a block or item for the client, or why it has none."""

_NUMBER = msgspec.json.Decoder(int)


class NumberedSieve(Sieve):
    """Blocks or items that begin, grow and end by a number."""

    number = "index"

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[int, Place] = {}
        self._held: list[tuple[bytes, Members]] = []
        self._count_shown = 0
        self._ours = self._theirs = False

    def begin(self, *, last: bool) -> None:
        """See `Sieve.begin`."""
        super().begin(last=last)
        self._places, self._held = {}, []
        self._ours = self._theirs = False

    def _begun(self, frame: bytes, members: Members, *, item: bytes) -> bytes:
        """A block or item begins."""
        index = self._index(members)
        kind = read_item(item).kind
        if kind == "ours":
            self._ours = True
            self._places[index] = "hidden"
            return b""
        if kind == "thinking":
            self._places[index] = "held"
            self._held.append((frame, members))
            return b""
        self._theirs = self._theirs or kind == "theirs"
        # an item of the client's after the thinking: that was the client's too, and has the lower number
        before = self._released()
        self._places[index] = self._count_shown
        self._count_shown += 1
        return before + self._moved(frame, members)

    def _grown(self, frame: bytes, members: Members) -> bytes:
        """A block or item grows or ends."""
        place = self._places.get(self._index(members))
        if place == "hidden":
            return b""
        if place == "held":
            self._held.append((frame, members))
            return b""
        return self._moved(frame, members)

    def _released(self) -> bytes:
        """What was held back, now that it is clear that it is the client's."""
        # in the order in which they began, whatever their events are mixed with
        for index in sorted(index for index, place in self._places.items() if place == "held"):
            self._places[index] = self._count_shown
            self._count_shown += 1
        held, self._held = self._held, []
        return b"".join(self._moved(frame, members) for frame, members in held)

    def _left(self) -> bytes:
        # it led to our calls alone, so it goes back to the model with them and not to the client
        if self._ours:
            dropped = [index for index, place in self._places.items() if place == "held"]
            self._places |= dict.fromkeys(dropped, "hidden")
            self._held = []
        return self._released()

    def _moved(self, frame: bytes, members: Members, *, edits: Mapping[str, bytes] | None = None) -> bytes:
        """The event with the client's number."""
        changes = dict(edits or {})
        if self.number in members:
            place = self._places.get(self._index(members))
            if isinstance(place, int) and place != self._index(members):
                changes[self.number] = json.encode(place)
        return self._sent(frame, members, edits=changes)

    def _sent(self, frame: bytes, members: Members, *, edits: Members) -> bytes:
        return edited(frame, members, edits=edits)

    def _index(self, members: Members) -> int:
        return json.decode(members.get(self.number, b"0"), _NUMBER, path=self.number)


class AnthropicSieve(NumberedSieve):
    """Events of Anthropic Messages. The message keeps the id with which it began.

    Thinking that led to our calls stands before what a later round says without thinking: see `AnthropicReplies`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._thought: list[tuple[bytes, Members]] = []

    def _begun(self, frame: bytes, members: Members, *, item: bytes) -> bytes:
        before = b""
        if read_item(item).kind not in ("ours", "thinking"):
            before = b"" if self._held else self._carried()
            self._thought = []
        return before + super()._begun(frame, members, item=item)

    def _left(self) -> bytes:
        if self._ours and self._held:
            self._thought = self._held
        return super()._left()

    def _carried(self) -> bytes:
        """The thinking of an earlier round, with the client's numbers."""
        numbers: dict[int, int] = {}
        events: list[bytes] = []
        for frame, members in self._thought:
            index = self._index(members)
            if index not in numbers:
                numbers[index] = self._count_shown
                self._count_shown += 1
            events.append(self._sent(frame, members, edits={self.number: json.encode(numbers[index])}))
        return b"".join(events)

    def _event(self, frame: bytes, data: bytes) -> bytes:
        event = parts_of(data)
        match json.string(event.get("type", b"null")):
            case "message_start":
                self._count(parts_of(event.get("message", b"{}")).get("usage"))
                return b"" if self._later else frame
            case "content_block_start":
                return self._begun(frame, event, item=event.get("content_block", b"{}"))
            case "content_block_delta" | "content_block_stop":
                return self._grown(frame, event)
            case "message_delta":
                return self._ending(frame, event)
            case "message_stop":
                return b"" if self.again else frame
            case "error":
                return self._left() + frame
            case _:
                return frame

    def _ending(self, frame: bytes, event: Members) -> bytes:
        before = self._left()
        delta = parts_of(event.get("delta", b"{}"))
        reason = json.string(delta.get("stop_reason", b"null"))
        told = self._ended(reason, ours=self._ours, theirs=self._theirs)
        edits = self._usage(event)
        if self.again:
            return before
        if told != reason:
            edits["delta"] = object_of(delta | {"stop_reason": json.encode(told)})
        return before + edited(frame, event, edits=edits)

    def error(self, body: bytes) -> bytes:
        """See `Sieve.error`."""
        return with_payload(b"event: error\n", body)


class ResponsesSieve(NumberedSieve):
    """Events of Responses, numbered one after the other. The response keeps the id with which it began."""

    number = "output_index"

    def __init__(self) -> None:
        super().__init__()
        self._echo = Echo()
        self._head: Members = {}
        self._output: list[bytes] = []
        self._next = 0
        self._renumbered = False

    def _event(self, frame: bytes, data: bytes) -> bytes:
        event = parts_of(data)
        kind = json.string(event.get("type", b"null"))
        if self.again:
            return b""
        match kind:
            case "response.output_item.added":
                sent = self._begun(frame, event, item=event.get("item", b"{}"))
            case "response.completed" | "response.incomplete" | "response.failed":
                sent = self._completed(frame, event)
            case "error":
                sent = self._left() + self._sent(frame, event, edits={})
            case _ if "response" in event:
                sent = b"" if self._later else self._sent(frame, event, edits=self._told(event, {}))
            case _ if self.number in event:
                sent = self._grown(frame, event)
            case _ if self._held:
                self._held.append((frame, event))
                sent = b""
            case _:
                sent = self._sent(frame, event, edits={})
        return sent

    def _sent(self, frame: bytes, members: Members, *, edits: Members) -> bytes:
        if members.get("type") == b'"response.output_item.done"':
            self._output.append(members.get("item", b"{}"))
        if "sequence_number" in members:
            given = json.decode(members["sequence_number"], _NUMBER, path="sequence_number")
            # until an event is left out the provider's own numbers stand, gaps included
            number = self._next if self._renumbered or self._later else given
            self._next = number + 1
            if number != given:
                edits = edits | {"sequence_number": json.encode(number)}
        return edited(frame, members, edits=edits)

    def _begun(self, frame: bytes, members: Members, *, item: bytes) -> bytes:
        sent = super()._begun(frame, members, item=item)
        self._renumbered = self._renumbered or self._ours
        return sent

    def _completed(self, frame: bytes, event: Members) -> bytes:
        before = self._left()
        response = parts_of(event.get("response", b"{}"))
        status = json.string(response.get("status", b"null"))
        self._ended(status, ours=self._ours, theirs=self._theirs)
        edits = self._usage(response)
        if self.again:
            return before
        if self._ours or self._later:
            edits["output"] = json.array(self._output)
        return before + self._sent(frame, event, edits=self._told(event, edits))

    def _told(self, event: Members, edits: Members) -> Members:
        """The edits of the event for these edits of its response."""
        response = parts_of(event["response"])
        if not self._later:
            self._head = {name: response[name] for name in ("id", "created_at") if name in response}
        changes = {name: value for name, value in self._head.items() if response.get(name) != value}
        edits = self._echo.edits(response) | changes | edits
        return {"response": object_of(response | edits)} if edits else {}

    def error(self, body: bytes) -> bytes:
        """See `Sieve.error`."""
        error = parts_of(body).get("error", b"{}")
        told = parts_of(error)
        names = ("code", "message", "param")
        event: Members = {"type": b'"error"', **{name: told.get(name, b"null") for name in names}}
        # described is the flat form, sent is also the nested one, by which the official clients raise
        event |= {"error": error, "sequence_number": json.encode(self._next)}
        return with_payload(b"event: error\n", object_of(event))


SIEVES: Mapping[Dialect, type[Sieve]] = MappingProxyType(
    {"openai_chat": ChatSieve, "openai_responses": ResponsesSieve, "anthropic": AnthropicSieve}
)
