"""Rules for cutting a history: messages before the cut are folded into the summary, the rest stays verbatim.

A cut is an index ``i``: before ``messages[i]``; 0 folds nothing, ``len(messages)`` everything. Each rule is a small
class that says which cuts it allows; a cut is legal if all rules allow it. All of it is linear, and works on
histories that were not repaired.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, count
from operator import lt, not_
from typing import Protocol

from msgspec import Struct

from autocompact.core.messages import Message, Reasoning, ToolCall, ToolResult
from autocompact.core.pairing import holds, pairs


class Rule(Protocol):
    """A reason why a history must not be cut just anywhere."""

    def allowed(self, messages: Sequence[Message]) -> Iterable[int]:
        """The cuts that this rule allows, of 0 to ``len(messages)``, each once."""
        ...


class ToolPairs(Struct, frozen=True, kw_only=True):
    """Never between a call and its result, in whichever order they were recorded."""

    def allowed(self, messages: Sequence[Message]) -> Iterable[int]:
        """The cuts that part no call from its result."""
        spans = ((pair.call.message, pair.result.message) for pair in pairs(messages))
        return _outside(((min(span), max(span)) for span in spans), len(messages))


class ParallelGroups(Struct, frozen=True, kw_only=True):
    """Never between the calls of one run of assistant messages: they are one step."""

    def allowed(self, messages: Sequence[Message]) -> Iterable[int]:
        """The cuts that leave all calls of a run on one side."""
        spans: list[tuple[int, int]] = []
        # the last message of the run that has calls
        caller: int | None = None
        for index, message in enumerate(messages):
            if message.role != "assistant":
                caller = None
            elif holds(message, ToolCall):
                if caller is not None:
                    spans.append((caller, index))
                caller = index
        return _outside(spans, len(messages))


class ReasoningBlocks(Struct, frozen=True, kw_only=True):
    """Never between reasoning and what the model said or did with it."""

    def allowed(self, messages: Sequence[Message]) -> Iterable[int]:
        """The cuts that part no reasoning from the next message of the model, unless the user spoke in between."""
        spans: list[tuple[int, int]] = []
        thought: int | None = None
        for index, message in enumerate(messages):
            if message.role == "assistant":
                if thought is not None:
                    spans.append((thought, index))
                # reasoning in front of words in the same message is not parted by any cut
                thought = index if message.parts and isinstance(message.parts[-1], Reasoning) else None
            elif message.is_request:
                # the person spoke first: repair leaves that thought out
                thought = None
        return _outside(spans, len(messages))


class UserTurn(Struct, frozen=True, kw_only=True):
    """Only where a turn begins: before a request of the user, at the beginning and at the end.

    Attributes:
        split: also inside a turn, where one of its steps begins: before the first of a run of assistant messages,
            and before words of the program. For turns that are too long to stay whole.
    """

    split: bool = False

    def allowed(self, messages: Sequence[Message]) -> set[int]:
        """The cuts at which a turn, or with ``split`` a step, begins."""
        cuts = {0, len(messages)}
        before = ""
        for index, message in enumerate(messages):
            # a run of assistant messages is one step, so only its first one counts
            begins_step = (
                message.role != before if message.role == "assistant" else not holds(message, ToolResult)
            )
            if message.is_request or (self.split and begins_step):
                cuts.add(index)
            before = message.role
        return cuts


class LogOrder(Struct, frozen=True, kw_only=True):
    """Only where all that is before the cut stands before all that is after it in the log as well.

    Repair moves late results to their call; a record names what it covers by one ``seq``.
    """

    def allowed(self, messages: Sequence[Message]) -> Iterable[int]:
        """The cuts at which log and context agree; messages that are not in the log (``seq`` 0) do not count."""
        seqs = array("L", (message.seq for message in messages))
        latest = accumulate(seqs, max, initial=0)
        end = max(seqs, default=0) + 1
        earliest = array("L", accumulate(reversed(seqs), lambda low, seq: min(low, seq or low), initial=end))[
            ::-1
        ]
        return compress(count(), map(lt, latest, earliest))


class Unseen(Struct, frozen=True, kw_only=True):
    """Never after results or notes of a program that the model has not seen yet.

    With a summary in the place of results it would call again, and a request may speak of what was noted before it: the output
    of a command that the user ran, say.
    """

    def allowed(self, messages: Sequence[Message]) -> range:
        """The cuts before the last message of the model, if results follow it, and before the notes at the end."""
        last = max(
            (index for index, message in enumerate(messages) if message.role == "assistant"), default=0
        )
        # without results behind it, the last answer has been given and may be folded
        waits = any(message.results for message in messages[last + 1 :])
        return range((last if waits else _notes_begin(messages)) + 1)


def _notes_begin(messages: Sequence[Message]) -> int:
    """The index of the first of the notes of programs at the end, or right before the request at the end; the end for none."""
    end = len(messages) - (1 if messages and messages[-1].is_request else 0)
    begin = end
    while begin and _is_note(messages[begin - 1]):
        begin -= 1
    return begin if begin < end else len(messages)


def _is_note(message: Message) -> bool:
    return message.role == "user" and message.seq > 0 and not message.is_request and not message.results


DEFAULT: tuple[Rule, ...] = (ToolPairs(), ParallelGroups(), ReasoningBlocks(), UserTurn(split=True))


def legal_cuts(messages: Sequence[Message], *, rules: Iterable[Rule] = DEFAULT) -> tuple[int, ...]:
    """The cuts that all rules allow, ascending. 0 is always one."""
    asked = tuple(rules)
    # bytes, not sets: of a long log each set would take tens of megabytes
    allow = bytearray(len(messages) + 1)
    for rule in asked:
        for index in rule.allowed(messages):
            allow[index] += 1
    return tuple(index for index, number in enumerate(allow) if number == len(asked))


def tail_cut(
    messages: Sequence[Message],
    tokens: Sequence[int],
    *,
    tail_tokens: int,
    prefer_user_turn: bool = True,
    cuts: Sequence[int] | None = None,
) -> int:
    """The cut with the largest tail that weighs at most ``tail_tokens``; the smallest tail there is if none does.

    Args:
        messages: the history.
        tokens: what each message weighs, index as in ``messages``.
        tail_tokens: what the tail may weigh; 0 folds everything.
        prefer_user_turn: rather begin the tail with a request of the user, if that leaves at least half of it.
        cuts: the legal ones, ascending; None are those that `DEFAULT` allows.
    """
    cuts = legal_cuts(messages) if cuts is None else cuts
    if tail_tokens <= 0:
        return cuts[-1]
    weights = array("L", accumulate(reversed(tokens), initial=0))[::-1]
    fitting = [index for index in cuts if weights[index] <= tail_tokens]
    if not fitting:
        return cuts[-1]
    if prefer_user_turn:
        turns = UserTurn().allowed(messages)
        turn = next(index for index in fitting if index in turns or index == cuts[-1])
        if 2 * weights[turn] >= weights[fitting[0]]:
            return turn
    return fitting[0]


def _outside(spans: Iterable[tuple[int, int]], length: int) -> Iterable[int]:
    """The cuts that lie in none of these spans: a span forbids the cuts after its first through its last index."""
    changes = [0] * (length + 2)
    for first, last in spans:
        changes[first + 1] += 1
        changes[last + 1] -= 1
    return compress(count(), map(not_, accumulate(changes[: length + 1])))
