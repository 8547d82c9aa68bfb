"""Streamed answers in which some calls are ours: what of the events goes to the client, over all rounds of a turn.

The client gets one message with one beginning and one end. Events that need no change go on byte for byte; until the
model calls one of our tools that is all of them. From then on indices, ids and sequence numbers are those of what the
client saw. Thinking of Anthropic's and reasoning items of Responses are held back until it is clear what follows:
thinking that leads to our calls alone stays with them, because the API would not take it back without them.

The end of a round decides: if the model called our tools and nothing else, it is asked again, and the events that end
the message are left out.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from autocompact.errors import InvalidRequest
from autocompact.gateway.memory_tools import NAMES
from autocompact.gateway.raw_json import Members, items_of, object_of, parts_of
from autocompact.gateway.tool_reply import (
    AGAIN,
    BETWEEN,
    INSTEAD,
    NOTHING,
    TEXTS,
    Figures,
    figures_of,
    read_item,
    told_figures,
)
from autocompact.wire import json

# atomic: one CRLF must not be taken for a CR and an LF, which would be a blank line
_END = re.compile(rb"(?>\r\n|\n|\r){2}")


class Frames:
    """Cuts a stream of server-sent events into its events, each as its bytes up to the blank line. Cost: O(bytes)."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._looked = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that this chunk completes; it may begin and end anywhere."""
        buffer = self._buffer
        buffer += chunk
        frames: list[bytes] = []
        start, at = 0, self._looked
        while match := _END.search(buffer, at):
            if match.end() == len(buffer) and buffer.endswith(b"\r"):
                break  # an LF may follow that belongs to it
            frames.append(bytes(buffer[start : match.end()]))
            start = at = match.end()
        del buffer[:start]
        # a blank line has four bytes at most, so three of one may be here already
        self._looked = max(0, len(buffer) - 3)
        return frames

    def rest(self) -> bytes:
        """What came after the last blank line."""
        return bytes(self._buffer)


def payload(frame: bytes) -> bytes | None:
    """The data of an event; None for a comment."""
    lines = [line[5:].removeprefix(b" ") for line in frame.splitlines() if line.startswith(b"data:")]
    return b"\n".join(lines) if lines else None


def with_payload(frame: bytes, data: bytes) -> bytes:
    """The event with other data."""
    lines = [line for line in frame.splitlines() if line and not line.startswith(b"data:")]
    lines += (b"data: " + line for line in data.split(b"\n"))
    return b"\n".join(lines) + b"\n\n"


def edited(frame: bytes, members: Mapping[str, bytes], *, edits: Mapping[str, bytes]) -> bytes:
    """The event with some members changed; its very bytes if there are none to change."""
    return with_payload(frame, object_of({**members, **edits})) if edits else frame


class Sieve(ABC):
    """What of the events goes on; each API has its own.

    Attributes:
        again: the round that ran called our tools and nothing else: the model is to be asked again.
    """

    def __init__(self) -> None:
        self.again = False
        self._round = 0
        self._last = False
        self._frames = Frames()
        self._figures: list[Figures] = []

    def begin(self, *, last: bool) -> None:
        """The next round begins; after the ``last`` one the model is not asked again."""
        self.again = False
        self._round += 1
        self._last = last
        self._frames = Frames()
        self._figures.append({})

    def feed(self, chunk: bytes) -> bytes:
        """What the client gets for the next bytes of the answer."""
        return b"".join(self._taken(frame) for frame in self._frames.feed(chunk))

    def end(self) -> bytes:
        """What the client gets when the bytes of a round are over."""
        rest = self._frames.rest()
        taken = self._taken(rest) if rest else b""
        return self._left() + taken

    def _taken(self, frame: bytes) -> bytes:
        data = payload(frame)
        if data is None:
            return frame
        try:
            return self._event(frame, data)
        except InvalidRequest:
            return frame

    @abstractmethod
    def _event(self, frame: bytes, data: bytes) -> bytes:
        """What the client gets for an event with this data."""

    def _left(self) -> bytes:
        """What was held back and nothing followed."""
        return b""

    @abstractmethod
    def error(self, body: bytes) -> bytes:
        """The event that tells an error of a later round, whose JSON in the format of the API is ``body``."""

    @property
    def _later(self) -> bool:
        return self._round > 1

    def _count(self, usage: bytes | None) -> None:
        """The figures of this round so far."""
        self._figures[-1] = {**self._figures[-1], **figures_of(usage)}

    def _usage(self, members: Mapping[str, bytes]) -> Members:
        """The ``usage`` in these members as the client is told it, once there is more than one round."""
        self._count(members.get("usage"))
        given = bool(figures_of(members.get("usage")))
        return {"usage": told_figures(self._figures)} if self._later and given else {}

    def _ended(self, reason: str, *, ours: bool, theirs: bool) -> str:
        """How the client is told that the answer ended; "" if the model is asked again."""
        if not ours or theirs:
            return reason
        self.again = not self._last and reason in AGAIN
        return "" if self.again else INSTEAD.get(reason, reason)


class ChatSieve(Sieve):
    """Chunks of Chat Completions. The chunks of later rounds get the id of the first."""

    def __init__(self) -> None:
        super().__init__()
        self._head: Members = {}
        self._places: dict[int, int | None] = {}
        self._called = self._ours = 0
        self._said: dict[str, bool] = {}

    def begin(self, *, last: bool) -> None:
        """See `Sieve.begin`."""
        super().begin(last=last)
        self._places = {}
        self._called = self._ours = 0
        self._said = dict.fromkeys(self._said, True)

    def _event(self, frame: bytes, data: bytes) -> bytes:
        if data.strip() == b"[DONE]":
            return b"" if self.again else frame
        chunk = parts_of(data)
        if "error" in chunk:
            return frame
        edits = self._usage(chunk)
        return b"" if self.again else self._chunk(frame, chunk, edits=edits)

    def _chunk(self, frame: bytes, chunk: Members, *, edits: Members) -> bytes:
        if self._later:
            # clients put chunks together by their id
            edits |= {name: value for name, value in self._head.items() if chunk.get(name) != value}
        else:
            self._head = {name: chunk[name] for name in ("id", "created") if name in chunk}
        choices = items_of(chunk.get("choices"))
        if choices:
            choice = self._choice(choices[0])
            if not choice:
                return b""
            if choice is not choices[0]:
                edits["choices"] = json.array([choice, *choices[1:]])
        if self.again and "usage" in chunk:
            edits["usage"] = b"null"
        return edited(frame, chunk, edits=edits)

    def _choice(self, raw: bytes) -> bytes:
        """The choice as the client gets it; empty if nothing of it is left."""
        choice = parts_of(raw)
        given = choice.get("delta", b"null")
        delta = parts_of(given) if json.is_object(given) else {}
        changed = self._delta(delta)
        reason = json.string(choice.get("finish_reason", b"null"))
        told = self._ended(reason, ours=bool(self._ours), theirs=bool(self._called))
        # only chunks that we emptied are left out: an empty one of the provider's own may be a sign of life
        if (changed != delta or self._later or told != reason) and not told and _says_nothing(changed):
            return b""
        edits: Members = {}
        if changed != delta:
            edits["delta"] = object_of(changed)
        if told != reason:
            edits["finish_reason"] = json.encode(told or None)
        return object_of(choice | edits) if edits else raw

    def _delta(self, delta: Members) -> Members:
        changed = dict(delta)
        given = items_of(delta.get("tool_calls"))
        calls = list(self._calls(given))
        if given and not calls:
            del changed["tool_calls"]
        elif calls != given:
            changed["tool_calls"] = json.array(calls)
        if self._later:
            changed.pop("role", None)
        for name in TEXTS:
            said = changed.get(name, b"null")
            # blocks, as Mistral's thinking models stream them, go on as they came
            if said in NOTHING or not json.is_string(said):
                continue
            if self._said.get(name):
                changed[name] = json.encode(BETWEEN + json.string(said))
            self._said[name] = False
        return changed

    def _calls(self, given: list[bytes]) -> Iterator[bytes]:
        """The client's calls, numbered without ours."""
        for place, raw in enumerate(given):
            call = read_item(raw)
            index = place if call.index is None else call.index
            if call.called:
                self._begun(index, name=call.called)
            # a later piece of a call has no name: its number tells whose it is
            target = self._places.get(index, index)
            if target is not None:
                yield raw if target == index else object_of(parts_of(raw) | {"index": json.encode(target)})

    def _begun(self, index: int, *, name: str) -> None:
        """A call begins: it gets its number for the client, if it is the client's."""
        if name in NAMES:
            self._places[index] = None
            self._ours += 1
        elif self._places.get(index) is None:
            self._places[index] = self._called
            self._called += 1

    def error(self, body: bytes) -> bytes:
        """See `Sieve.error`."""
        return with_payload(b"", body)


def _says_nothing(delta: Mapping[str, bytes]) -> bool:
    return all(value in NOTHING for value in delta.values())
