"""The tool calls of the messages on the page, each with its result, as values.

A call is named by its place in the log: the ``seq`` of its message and its index among the parts. Ids do not name one,
since some servers count from ``call_0`` in every turn and some give none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from autocompact.chat.events import ToolFinished
from autocompact.chat.views import Entry, RunningCall
from autocompact.core.messages import ToolCall, ToolResult
from autocompact.core.pairing import Pairing, Place


class LogPlace(NamedTuple):
    """A part of the log: the number of its message, and its index among the parts of that message."""

    seq: int
    part: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call as it is shown: ``done`` tells a call that is running from one that never got an answer."""

    place: LogPlace
    id: str
    name: str
    arguments: str
    result: str = ""
    is_error: bool = False
    seconds: float | None = None
    done: bool = False
    seq: int = 0
    visibility: str = "sent"


class ShownCalls:
    """The calls of consecutive messages, paired with their results by position as the messages come."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._pairing = Pairing()
        self._entries: list[Entry] = []
        self._known: dict[LogPlace, Call] = {}
        self._answered: set[LogPlace] = set()
        self._last: tuple[LogPlace, ...] = ()
        for entry in entries:
            self.push(entry)

    @property
    def known(self) -> Mapping[LogPlace, Call]:
        """All calls by their place in the log."""
        return self._known

    def push(self, entry: Entry) -> list[LogPlace]:
        """Take in the next message; the places of the calls that it answers."""
        self._entries.append(entry)
        calls = {
            LogPlace(entry.seq, index): part
            for index, part in enumerate(entry.message.parts)
            if isinstance(part, ToolCall)
        }
        for place, call in calls.items():
            self._known[place] = Call(place=place, id=call.id, name=call.name, arguments=call.arguments)
        self._last = tuple(calls) or self._last
        answered: list[LogPlace] = []
        for pair in self._pairing.push(entry.message):
            call = self._located(pair.call)
            self._answered.add(self._located(pair.result))
            self._answer(call, self._entries[pair.result.message], index=pair.result.part)
            answered.append(call)
        return answered

    def _located(self, place: Place) -> LogPlace:
        return LogPlace(self._entries[place.message].seq, place.part)

    def _answer(self, place: LogPlace, entry: Entry, *, index: int) -> None:
        result = entry.message.parts[index]
        assert isinstance(result, ToolResult), "a pair ends with a result"
        self._known[place] = replace(
            self._known[place],
            result=result.text,
            is_error=result.is_error,
            seconds=entry.seconds,
            done=True,
            seq=entry.seq,
            visibility=entry.visibility,
        )

    def answers(self, entry: Entry) -> bool:
        """True if every result of the message belongs to a call that is shown."""
        results = (
            LogPlace(entry.seq, index)
            for index, part in enumerate(entry.message.parts)
            if isinstance(part, ToolResult)
        )
        return all(place in self._answered for place in results)

    def running(self, calls: Iterable[RunningCall]) -> list[LogPlace]:
        """Take in what the running turn knows of the calls of the last answer; the places of those that changed."""
        changed: list[LogPlace] = []
        for call in calls:
            place = self._open(call.id, call.index)
            if place is not None and call.seconds is not None:
                self._known[place] = replace(
                    self._known[place],
                    result=call.result,
                    is_error=call.is_error,
                    seconds=call.seconds,
                    done=True,
                )
                changed.append(place)
        return changed

    def finished(self, event: ToolFinished) -> list[LogPlace]:
        """Take in the end of a tool of the running turn; the place of its call, if it is shown."""
        place = self._open(event.call_id, event.index)
        if place is None:
            return []
        self._known[place] = replace(
            self._known[place],
            result=event.text,
            is_error=event.is_error,
            seconds=event.seconds,
            done=True,
        )
        return [place]

    def _open(self, id: str, index: int | None) -> LogPlace | None:
        """The call of the last answer at ``index``, or its first one of this id, unless it has a result already."""
        of_id = (place for place in self._last if self._known[place].id == id)
        at = self._last[index : index + 1] if index is not None else ()
        places = at if at and self._known[at[0]].id == id else of_id
        return next((place for place in places if not self._known[place].done), None)
