"""Matches tool results to their calls by position in the history.

Ids alone do not tell: some servers count from ``call_0`` in every turn, some give no id at all. A history consists of
*steps*: a run of assistant messages, then the results of its calls, then words. A result answers the first unanswered
call of its id in the open step, else in the latest step that left one unanswered. A result that comes before any call
of its id waits for that call. Everything that asks what belongs to what asks here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from autocompact.core.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult

C = TypeVar("C")
R = TypeVar("R")


class Place(NamedTuple):
    """A part of a message: the index of the message among those that were given, and of the part in it."""

    message: int
    part: int


class Pair(NamedTuple):
    """A call and the result that answers it."""

    call: Place
    result: Place


class _Open(Struct, Generic[C, R]):
    call: C
    early: R | None


class Steps(Generic[C, R]):
    """The open step, the calls of earlier steps that nobody answered, and results that wait for their call.

    Args:
        C: what stands for a call.
        R: what stands for a result that came before its call.
    """

    def __init__(self) -> None:
        self.answering = False
        self._open: dict[str, deque[_Open[C, R]]] = {}
        self._silent: dict[str, list[C]] = {}
        self._early: dict[str, R] = {}
        self._sources: dict[str, Message] = {}

    def is_repeat(self, message: Message) -> bool:
        """True if the same message with the same calls came before: within the run, or with the same message id."""
        if not holds(message, ToolCall):
            return False
        call = message.calls[0]
        source = self._sources.get(call.id)
        if source is None or source.parts != message.parts:
            return False
        within_run = call.id in self._open and not self.answering
        return within_run or (message.id != "" and message.id == source.id)

    def early(self, id: str) -> R | None:
        """Take the result that waits for a call of this id."""
        return self._early.pop(id, None)

    def call(self, id: str, call: C, *, source: Message, early: R | None) -> None:
        """Add a call to the open step; ``early`` is the result that waited for it."""
        self._open.setdefault(id, deque()).append(_Open(call, early))
        self._sources[id] = source

    def answer(self, id: str) -> C | None:
        """The call of the open step that a result of this id answers; None if there is none."""
        queue = self._open.get(id)
        if queue is None:
            return None
        self.answering = True
        answered = queue.popleft().call
        if not queue:
            del self._open[id]
        return answered

    def answer_late(self, id: str) -> C | None:
        """The call of a closed step that a result of this id answers; None if there is none."""
        silent = self._silent.get(id)
        return silent.pop() if silent else None

    def wait(self, id: str, result: R) -> None:
        """Remember a result that answers no call so far, for the first call of its id."""
        if id not in self._sources:
            self._early.setdefault(id, result)

    def unanswered(self) -> Iterator[C]:
        """The calls of the open step that have no result after them."""
        return (each.call for queue in self._open.values() for each in queue)

    def close(self) -> list[C]:
        """End the open step; returns its calls that have no result after them."""
        self.answering = False
        if not self._open:
            return []
        closed = list(self.unanswered())
        for id, queue in self._open.items():
            # the first of the latest step is on top
            self._silent.setdefault(id, []).extend(
                each.call for each in reversed(queue) if each.early is None
            )
        self._open = {}
        return closed

    @property
    def is_complete(self) -> bool:
        """True if every call of the open step has its result."""
        return not self._open


class Pairing:
    """Pairs calls and results as messages come, any history, O(1) per part."""

    def __init__(self) -> None:
        self._steps: Steps[Place, Place] = Steps()
        self._next = 0

    def push(self, message: Message) -> list[Pair]:
        """The pairs that ``message`` completes, in the order of its parts."""
        index, self._next = self._next, self._next + 1
        pairs: list[Pair] = []
        if message.role == "assistant":
            pairs += self._speak(message, index)
        words = message.role in ("system", "user") and any(map(_says_something, message.parts))
        if words and message.role == "system":
            self._steps.close()
        if holds(message, ToolResult):
            pairs += self._answer(message, index)
        if words and message.role == "user":
            self._steps.close()
        return pairs

    def _speak(self, message: Message, index: int) -> Iterator[Pair]:
        own = message
        if holds(message, ToolResult):
            own = message.with_parts(part for part in message.parts if not isinstance(part, ToolResult))
        if only_thinks(own) or self._steps.is_repeat(own):
            return
        if self._steps.answering:
            self._steps.close()
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                here = Place(index, place)
                early = self._steps.early(part.id)
                self._steps.call(part.id, here, source=own, early=early)
                if early is not None:
                    yield Pair(here, early)

    def _answer(self, message: Message, index: int) -> Iterator[Pair]:
        for place, result in enumerate(message.parts):
            if not isinstance(result, ToolResult):
                continue
            here = Place(index, place)
            call = self._steps.answer(result.call_id) or self._steps.answer_late(result.call_id)
            if call is not None:
                yield Pair(call, here)
            else:
                self._steps.wait(result.call_id, here)


def pairs(messages: Iterable[Message]) -> Iterator[Pair]:
    """The calls of ``messages`` with the results that answer them, each pair when its second half is there."""
    pairing = Pairing()
    for message in messages:
        yield from pairing.push(message)


def answered_calls(messages: Sequence[Message]) -> dict[Place, ToolCall]:
    """The call that each result answers, by the place of the result; results without a call are left out."""
    found: dict[Place, ToolCall] = {}
    for pair in pairs(messages):
        call = messages[pair.call.message].parts[pair.call.part]
        assert isinstance(call, ToolCall), "a pair begins with a call"
        found[pair.result] = call
    return found


def holds(message: Message, kind: type[Part]) -> bool:
    """True if a part of ``message`` is of that kind."""
    return kind in map(type, message.parts)


def is_blank(part: Part) -> bool:
    """True if the part says nothing: empty text, or thinking that holds neither words nor a sealed block."""
    if isinstance(part, Reasoning) and part.raw is not None:
        return False
    return isinstance(part, (Text, Reasoning)) and (not part.text or part.text.isspace())


def _says_something(part: Part) -> bool:
    """True if it is neither a call nor a result, and not blank."""
    return not isinstance(part, (ToolCall, ToolResult)) and not is_blank(part)


def only_thinks(message: Message) -> bool:
    """True if the message holds nothing but thinking and blank text."""
    return all(isinstance(part, Reasoning) or is_blank(part) for part in message.parts)
