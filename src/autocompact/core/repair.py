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
- a call whose id was used before gets a new id, and its result with it, unless the same message was just repeated;
- thinking without words or calls waits for the message it led to, and is left out if the user spoke first.

A message that is valid where it stands is passed on as the very same object.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from autocompact.core.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult, text_message

NO_RESPONSE = "Tool no response"
UNDERSTOOD = "Understood."

_FOREIGN: dict[Role, tuple[type[Part], ...]] = {
    "system": (ToolCall, ToolResult),
    "user": (ToolCall,),
    "tool": (ToolCall,),
    "assistant": (ToolResult,),
}


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call that has no answer yet: its id in the log, its id here, and a result that came before it."""

    id: str
    shown: str
    early: tuple[Message, ToolResult] | None
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
        self._open: dict[str, deque[_Call]] = {}
        self._silent: dict[str, deque[_Call]] = {}
        self._early: dict[str, tuple[Message, ToolResult]] = {}
        self._sources: dict[str, Message] = {}
        self._shown: set[str] = set()
        self._copies: dict[str, int] = {}
        self._thoughts: list[Message] = []
        self._answering = False

    def push(self, message: Message) -> int:
        """Add one; returns the index of the first message of ``messages`` that is new or different."""
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
        return tuple(_stand_in(call) for queue in self._open.values() for call in queue)

    def closing(self) -> tuple[Message, ...]:
        """`pending`, and "Understood." from the model if the history would otherwise end on a tool result."""
        tail = self.pending()
        last = tail[-1] if tail else self.messages[-1] if self.messages else None
        if last is None or not last.results or _words(last):
            return tail
        return (*tail, text_message(0, "assistant", UNDERSTOOD, synthetic=True))

    def _speak(self, message: Message) -> None:
        if self._is_repeat(message):
            self._thoughts.clear()
            return
        if _only_thinks(message):
            self._thoughts.append(message)
            return
        if self._answering:
            self._close_step()
        self.messages += (*self._thoughts, self._register(message))
        self._thoughts.clear()

    def _is_repeat(self, message: Message) -> bool:
        """The same calls in the same message: again within one run, or by the id of the message."""
        call = next(iter(message.calls), None)
        source = self._sources.get(call.id) if call else None
        if call is None or source is None or source.parts != message.parts:
            return False
        within_run = call.id in self._open and not self._answering
        return within_run or (message.id != "" and message.id == source.id)

    def _register(self, message: Message) -> Message:
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolCall):
                shown = self._free_id(part.id)
                call = _Call(id=part.id, shown=shown, early=self._early.pop(part.id, None))
                self._open.setdefault(part.id, deque()).append(call)
                self._sources[part.id] = message
                parts.append(part if shown == part.id else replace(part, id=shown, raw=None))
            else:
                parts.append(part)
        return _carry(message, parts)

    def _free_id(self, wanted: str) -> str:
        shown = wanted
        while shown in self._shown:
            self._copies[wanted] = self._copies.get(wanted, 1) + 1
            shown = f"{wanted}_{self._copies[wanted]}"
        self._shown.add(shown)
        return shown

    def _say(self, message: Message) -> None:
        self._close_step()
        if message.role == "user":
            self._thoughts.clear()
        self.messages.append(message)

    def _answer(self, message: Message) -> None:
        answers = self._match(message)
        words = _words(message)
        if not words and len(answers) == len(message.results):
            answers = _with_blanks(message, answers)
        if answers and words and not self._open:
            answers, words = [*answers, *words], []
        if answers:
            self._answering = True
            self.messages.append(_carry(message, answers))
        if words:
            self._say(_carry(message, words))

    def _match(self, message: Message) -> list[Part]:
        """The results that answer the open step; late and early ones are put where they belong."""
        answers: list[Part] = []
        late: dict[int, Message] = {}
        for result in message.results:
            if queue := self._open.get(result.call_id):
                answers.append(_renamed(result, _take(self._open, queue)))
            elif queue := self._silent.get(result.call_id):
                call = _take(self._silent, queue)
                late[call.place] = _carry(message, (_renamed(result, call),))
            elif result.call_id not in self._sources:
                self._early.setdefault(result.call_id, (message, result))
        if late:
            self._revise(late)
        return answers

    def _revise(self, late: dict[int, Message]) -> None:
        self._first = min(self._first, *late)
        self.messages = list(self.messages)
        for place, message in late.items():
            self.messages[place] = message

    def _close_step(self) -> None:
        for queue in self._open.values():
            for call in queue:
                call.place = len(self.messages)
                self.messages.append(_stand_in(call))
                if call.early is None:
                    self._silent.setdefault(call.id, deque()).append(call)
        self._open = {}
        self._answering = False


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
    own = [part for part in message.parts if not isinstance(part, foreign)]
    if not all(_is_blank(part) for part in own) and (message.role != "tool" or message.results):
        yield _carry(message, own)
    if ToolResult in foreign and (results := message.results):
        yield Message(seq=message.seq, role="tool", parts=results, time=message.time)


def _is_blank(part: Part) -> bool:
    if isinstance(part, Reasoning) and part.raw is not None:
        return False
    return isinstance(part, Text | Reasoning) and (not part.text or part.text.isspace())


def _only_thinks(message: Message) -> bool:
    return all(isinstance(part, Reasoning) or _is_blank(part) for part in message.parts)


def _words(message: Message) -> list[Part]:
    """What a message with results says besides; of a tool message nothing: all of it belongs to the result."""
    if message.role == "tool":
        return []
    words: list[Part] = [part for part in message.parts if not isinstance(part, ToolResult)]
    return [] if all(_is_blank(part) for part in words) else words


def _with_blanks(message: Message, answers: list[Part]) -> list[Part]:
    """The parts of ``message`` with its results replaced by ``answers``: what is blank beside them stays."""
    rest = iter(answers)
    return [next(rest) if isinstance(part, ToolResult) else part for part in message.parts]


def _carry(message: Message, parts: Iterable[Part]) -> Message:
    """``message`` with these parts; the same object if it has them."""
    new = tuple(parts)
    same = len(new) == len(message.parts) and all(a is b for a, b in zip(new, message.parts, strict=True))
    return message if same else message.with_parts(new)


def _take(calls: dict[str, deque[_Call]], queue: deque[_Call]) -> _Call:
    call = queue.popleft()
    if not queue:
        del calls[call.id]
    return call


def _renamed(result: ToolResult, call: _Call) -> ToolResult:
    return result if call.shown == result.call_id else replace(result, call_id=call.shown, raw=None)


def _stand_in(call: _Call) -> Message:
    if call.early is None:
        return Message(
            seq=0, role="tool", parts=(ToolResult(call_id=call.shown, text=NO_RESPONSE),), synthetic=True
        )
    message, result = call.early
    return _carry(message, (_renamed(result, call),))


def problems(messages: Sequence[Message]) -> list[str]:
    """What an API would refuse in this history, one sentence each; empty if it is valid.

    Independent of `Repairer`: it looks at whole steps, not message by message.
    """
    found = [sentence for index, message in enumerate(messages) for sentence in _own_problems(index, message)]
    blocks = [
        (kind, [index for index, _ in group]) for kind, group in groupby(enumerate(messages), key=_block)
    ]
    ids = Counter(call.id for message in messages for call in message.calls)
    found += (f"call id {id!r} is used {count} times" for id, count in ids.items() if count > 1)
    before: list[int] = []
    for kind, block in [*blocks, ("words", [])]:
        answers = block if kind == "answers" else []
        found += _step_problems(messages, run=before, answers=answers)
        before = block if kind == "run" else []
    return found


def _block(numbered: tuple[int, Message]) -> str:
    message = numbered[1]
    if message.role == "assistant":
        return "run"
    return "answers" if message.results else "words"


def _own_problems(index: int, message: Message) -> Iterator[str]:
    name = f"messages[{index}] ({message.role})"
    said = [part for part in message.parts if not _is_blank(part)]
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
    """What is wrong with a run of assistant messages and the results directly after it."""
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
            not isinstance(p, ToolResult) and not _is_blank(p) for p in message.parts
        ):
            yield f"messages[{index}] holds words between the results of one step"
    if run and all(isinstance(part, Reasoning) or _is_blank(part) for part in messages[run[-1]].parts):
        yield f"messages[{run[-1]}] is reasoning without what it led to"
