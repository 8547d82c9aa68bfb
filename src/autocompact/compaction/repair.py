"""Repair: from whatever was recorded to a history that every API accepts.

A valid history is a sequence of *steps*: a run of assistant messages, then one result for every call of the run, in
any order, then words of the user or the program. `Repairer` keeps one step open: while nothing but assistant
messages came since it began, further ones join its run (an API's items, one message split over several lines);
with the first result the run is complete; with the first other message the step is closed, and calls that nobody
answered get a result saying so.

What does not fit waits or stays out; the log keeps it all:

- a result before its call waits for the call, and gives way to one that comes directly after it;
- a result after its step was closed takes the place of the result that said "no response";
- a further result of an answered call, and a result without any call, are left out;
- a call whose id was used before gets a new id, and its result with it, unless the same message was just repeated.
  A message that came in an OpenAI dialect keeps an id that an earlier step used: that API pairs within a step, and its
  servers expect their own ids back;
- thinking without words or calls waits for the message it led to, and is left out if the user spoke first.

A message that is valid where it stands is passed on as the very same object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from autocompact.core.messages import Message, Part, Reasoning, Role, ToolCall, ToolResult, text_message
from autocompact.core.pairing import Steps, is_blank, only_thinks

NO_RESPONSE = "Tool no response"
UNDERSTOOD = "Understood."

_FOREIGN: dict[Role, tuple[type[Part], ...]] = {
    "system": (ToolCall, ToolResult),
    "user": (ToolCall,),
    "tool": (ToolCall,),
    "assistant": (ToolResult,),
}


_Placed: TypeAlias = tuple[int, Part]
"""A part and its index in the message it comes from."""


class _Call(Struct, kw_only=True):
    """A call that has no answer yet: its id here, and a result (with its message and index) that came before it."""

    shown: str
    early: tuple[Message, int, ToolResult] | None
    place: int = -1


class Repairer:
    """Takes messages one by one and keeps a valid history of them in ``messages``.

    O(1) amortised per message, but for a result that comes after its step was closed: that one copies the list.
    ``messages`` is replaced, not changed, when something settled must be revised, so a list handed out earlier
    keeps saying what it said (appending to it is allowed).
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._first = 0
        self._steps: Steps[_Call, tuple[Message, int, ToolResult]] = Steps()
        self._shown: set[str] = set()
        self._in_step: set[str] = set()
        self._copies: dict[str, int] = {}
        self._thoughts: list[Message] = []

    def push(self, message: Message) -> int:
        """Add one; returns the index of the first message of ``messages`` that is new or different."""
        # lowered by whatever revises something earlier; the caller weighs anew from there on
        self._first = len(self.messages)
        for regular in _regular(message):
            if regular.role == "assistant":
                self._speak(regular)
            elif regular.results:
                self._answer(regular)
            else:
                self._say(regular)
        return self._first

    def pending(self) -> tuple[Message, ...]:
        """Results for the calls at the end that nobody answered yet: "Tool no response", or one that came early."""
        return tuple(_stand_in(call) for call in self._steps.unanswered())

    def closing(self) -> tuple[Message, ...]:
        """`pending`, and "Understood." from the model if the history would otherwise end on a tool result."""
        tail = self.pending()
        last = tail[-1] if tail else self.messages[-1] if self.messages else None
        if last is None or not last.results or _words(last):
            return tail
        return (*tail, text_message(0, "assistant", UNDERSTOOD, synthetic=True))

    def _speak(self, message: Message) -> None:
        if self._steps.is_repeat(message):
            self._thoughts.clear()
            return
        if only_thinks(message):
            # APIs refuse reasoning that leads to nothing; whether this does is known with the next message
            self._thoughts.append(message)
            return
        # the first result ended the run of assistant messages: this one begins the next step
        if self._steps.answering:
            self._close_step()
        self.messages += (*self._thoughts, self._register(message))
        self._thoughts.clear()

    def _register(self, message: Message) -> Message:
        if not message.calls:
            return message
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                shown = self._free_id(part.id, message)
                early = self._steps.early(part.id)
                self._steps.call(part.id, _Call(shown=shown, early=early), source=message, early=early)
                # a renamed call is written anew, so it cannot keep the bytes that it came as
                parts.append(part if shown == part.id else replace(part, id=shown, raw=None))
            else:
                parts.append(part)
        return _carry(message, enumerate(parts))

    def _free_id(self, wanted: str, message: Message) -> str:
        # servers of the OpenAI dialects send the same id again in later steps and expect it back
        taken = self._in_step if keeps_ids(message) else self._shown
        shown = wanted
        while shown in taken:
            self._copies[wanted] = self._copies.get(wanted, 1) + 1
            shown = f"{wanted}_{self._copies[wanted]}"
        self._in_step.add(shown)
        self._shown.add(shown)
        return shown

    def _say(self, message: Message) -> None:
        self._close_step()
        # the person spoke before the thought led anywhere: sealed
        # reasoning in front of their words would be refused
        if message.role == "user":
            self._thoughts.clear()
        self.messages.append(message)

    def _answer(self, message: Message) -> None:
        answers = self._match(message)
        words = _words(message)
        # nothing was taken out, so blank parts between results stay, and with them the message's own bytes
        if not words and len(answers) == len(message.results):
            answers = _with_blanks(message, answers)
        # words beside results are legal only when the step needs no more results; else they come after it
        if answers and words and self._steps.is_complete:
            answers, words = [*answers, *words], []
        if answers:
            self.messages.append(_carry(message, answers))
        if words:
            self._say(_carry(message, words))

    def _match(self, message: Message) -> list[_Placed]:
        """The results that answer the open step; late and early ones are put where they belong."""
        answers: list[_Placed] = []
        late: dict[int, Message] = {}
        for index, result in enumerate(message.parts):
            if not isinstance(result, ToolResult):
                continue
            if (call := self._steps.answer(result.call_id)) is not None:
                answers.append((index, _renamed(result, call)))
            # its place is taken by a stand-in, which it replaces
            elif (call := self._steps.answer_late(result.call_id)) is not None:
                late[call.place] = _carry(message, ((index, _renamed(result, call)),))
            else:
                self._steps.wait(result.call_id, (message, index, result))
        if late:
            self._revise(late)
        return answers

    def _revise(self, late: dict[int, Message]) -> None:
        self._first = min(self._first, *late)
        # a new list: contexts handed out earlier keep the old one
        self.messages = list(self.messages)
        for place, message in late.items():
            self.messages[place] = message

    def _close_step(self) -> None:
        # every call gets its result before anything else is said, or each later request is a 400
        for call in self._steps.close():
            call.place = len(self.messages)
            self.messages.append(_stand_in(call))
        self._in_step.clear()


def keeps_ids(message: Message) -> bool:
    """True if its calls may have ids that earlier steps used: it goes out in an API that pairs within a step."""
    return message.raw is not None and message.dialect in ("openai_chat", "openai_responses")


def repair(messages: Iterable[Message], *, closed: bool = False) -> list[Message]:
    """These messages as a valid history.

    Args:
        messages: any history, in the order of the log.
        closed: it must not end on a tool result, so the model's "Understood." follows one.
    """
    repairer = Repairer()
    for message in messages:
        repairer.push(message)
    return [*repairer.messages, *(repairer.closing() if closed else repairer.pending())]


def _regular(message: Message) -> Iterator[Message]:
    """The message in the form its role allows: only the model calls, and neither it nor the system answers."""
    foreign = _FOREIGN[message.role]
    # no copy for what is legal as it came
    if not any(isinstance(part, foreign) for part in message.parts):  # nearly every message
        if not all(map(is_blank, message.parts)) and (message.role != "tool" or message.results):
            yield message
        return
    own = [(index, part) for index, part in enumerate(message.parts) if not isinstance(part, foreign)]
    if not all(is_blank(part) for _, part in own) and (message.role != "tool" or message.results):
        yield _carry(message, own)
    if ToolResult in foreign and message.results:
        results = [(index, part) for index, part in enumerate(message.parts) if isinstance(part, ToolResult)]
        places = tuple(message.place_of(index) for index, _ in results)
        parts = tuple(part for _, part in results)
        yield Message(seq=message.seq, role="tool", parts=parts, time=message.time, places=places)


def _words(message: Message) -> list[_Placed]:
    """Parts of a message with results that are not results; none for a tool message, all of which belongs to the result."""
    if message.role == "tool":
        return []
    words: list[_Placed] = [
        (index, part) for index, part in enumerate(message.parts) if not isinstance(part, ToolResult)
    ]
    return [] if all(is_blank(part) for _, part in words) else words


def _with_blanks(message: Message, answers: list[_Placed]) -> list[_Placed]:
    """The parts of ``message`` with its results replaced by ``answers``: what is blank beside them stays."""
    rest = iter(answers)
    return [
        next(rest) if isinstance(part, ToolResult) else (index, part)
        for index, part in enumerate(message.parts)
    ]


def _carry(message: Message, placed: Iterable[_Placed]) -> Message:
    """``message`` with these parts; the same object if it has them."""
    indices, parts = tuple(zip(*placed, strict=True)) or ((), ())
    # identity: who gets the very object back may send its original bytes
    if len(parts) == len(message.parts) and all(a is b for a, b in zip(parts, message.parts, strict=True)):
        return message
    return replace(message.with_parts(parts), places=tuple(message.place_of(index) for index in indices))


def _renamed(result: ToolResult, call: _Call) -> ToolResult:
    return result if call.shown == result.call_id else replace(result, call_id=call.shown, raw=None)


def _stand_in(call: _Call) -> Message:
    if call.early is None:
        return Message(
            seq=0, role="tool", parts=(ToolResult(call_id=call.shown, text=NO_RESPONSE),), synthetic=True
        )
    message, index, result = call.early
    return _carry(message, ((index, _renamed(result, call)),))


def problems(messages: Sequence[Message]) -> list[str]:
    """List what an API would refuse in this history, one sentence each; empty if it is valid.

    Independent of `Repairer`: it looks at whole steps, not message by message.
    """
    found = [sentence for index, message in enumerate(messages) for sentence in _own_problems(index, message)]
    blocks = [
        (kind, [index for index, _ in group]) for kind, group in groupby(enumerate(messages), key=_block)
    ]
    found += _repeated_ids([messages[index] for index in block] for kind, block in blocks if kind == "run")
    before: list[int] = []
    for kind, block in [*blocks, ("words", [])]:
        answers = block if kind == "answers" else []
        found += _step_problems(messages, run=before, answers=answers)
        before = block if kind == "run" else []
    return found


def _repeated_ids(runs: Iterable[Sequence[Message]]) -> Iterator[str]:
    """The ids of calls that an API would not take twice: within a step, and unless it `keeps_ids` in all of it."""
    seen: set[str] = set()
    again: Counter[str] = Counter()
    for run in runs:
        in_step: set[str] = set()
        for message in run:
            for call in message.calls:
                again[call.id] += call.id in (in_step if keeps_ids(message) else seen)
                in_step.add(call.id)
                seen.add(call.id)
    yield from (f"call id {id!r} is used {count + 1} times" for id, count in again.items() if count)


def _block(numbered: tuple[int, Message]) -> str:
    message = numbered[1]
    if message.role == "assistant":
        return "run"
    return "answers" if message.results else "words"


def _own_problems(index: int, message: Message) -> Iterator[str]:
    name = f"messages[{index}] ({message.role})"
    said = [part for part in message.parts if not is_blank(part)]
    if not said:
        yield f"{name} is empty"
    if message.role != "assistant" and message.calls:
        yield f"{name} calls a tool, which only the model does"
    if message.role in ("assistant", "system") and message.results:
        yield f"{name} holds a tool result"
    if message.role == "tool" and not message.results:
        yield f"{name} holds no tool result"
    if message.role == "user" and message.results and len(said) > len(message.results):
        results = len(message.results)
        if not all(isinstance(part, ToolResult) for part in message.parts[:results]):
            yield f"{name} holds words before a tool result"


def _step_problems(messages: Sequence[Message], *, run: list[int], answers: list[int]) -> Iterator[str]:
    """Yield the faults of a run of assistant messages and the results directly after it."""
    calls = {call.id: index for index in run for call in messages[index].calls}
    results = [(result.call_id, index) for index in answers for result in messages[index].results]
    answered = Counter(id for id, _ in results)
    for id, index in calls.items():
        if answered[id] != 1:
            yield f"call {id!r} of messages[{index}] has {answered[id]} results directly after it, not one"
    for id, index in results:
        if id not in calls:
            yield f"the result of {id!r} in messages[{index}] has no call directly before it"
    for index in answers[:-1]:
        message = messages[index]
        if message.role == "user" and any(
            not isinstance(p, ToolResult) and not is_blank(p) for p in message.parts
        ):
            yield f"messages[{index}] holds words between the results of one step"
    if run and all(isinstance(part, Reasoning) or is_blank(part) for part in messages[run[-1]].parts):
        yield f"messages[{run[-1]}] is reasoning without what it led to"
