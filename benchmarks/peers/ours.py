"""autocompact: append, report the usage, read the gauge, decide, take the context; and the same with compactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import structs

from autocompact.compaction.cuts import legal_cuts, tail_cut
from autocompact.compaction.goal import Goal
from autocompact.compaction.ladder import RULES, climb_offline
from autocompact.compaction.record import Compaction
from autocompact.compaction.transcript import Transcript, View
from autocompact.core.budget import Budget, Compact, Policy, State, decide
from autocompact.core.messages import Message, Part, Role, Text, ToolCall, ToolResult, Usage
from autocompact.core.tokens import Cost, message_cost
from autocompact.core.usage import Gauge, Load
from benchmarks.peers.bench import Case, Count, Said, main

UNLIMITED = Budget(window=10**9)
WINDOW = Budget(window=125_000)
"""With a ratio of 0.8 it compacts at 100,000 tokens, about every 500 messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    count: Count
    name: str = "benchmark"


def message(said: Said) -> Message:
    part: Part
    role: Role
    match said.role:
        case "call":
            role, part = "assistant", ToolCall(id=said.call_id, name="read", arguments=said.text)
        case "result":
            role, part = "tool", ToolResult(call_id=said.call_id, text=said.text)
        case "user" | "answer":
            role, part = ("user" if said.role == "user" else "assistant"), Text(text=said.text)
    return Message(seq=said.number + 1, role=role, parts=(part,))


class Turns:
    """What `autocompact.engine.Conversation` does in a turn, without its store."""

    def __init__(self, said: Sequence[Said], count: Count, *, budget: Budget = UNLIMITED) -> None:
        self.budget, self.policy = budget, Policy(prepare=1.0)
        self.log = Transcript(counter=Counting(count=count))
        self.view = View(self.log)
        self.gauge = Gauge()
        self.active: Compaction | None = None
        self.after: Cost | None = None
        self.due: Compact | None = None
        self.messages = [message(one) for one in said]

    def add(self, index: int) -> None:
        self.turn(index)
        self.settle()

    def load(self, cost: Cost) -> Load:
        return Load(tokens=cost.tokens, context=self.active.id if self.active else "")

    def turn(self, index: int) -> None:
        new = self.messages[index]
        sent = self.load(self.view.context().cost)
        self.log.append(new)
        if new.role == "assistant":
            reply = self.log.cost(new.seq).tokens
            usage = Usage(prompt=sent.tokens, completion=reply)
            self.gauge = self.gauge.report(usage, sent=sent, reply=reply, window=self.budget.window)
        context = self.view.context()
        used = structs.replace(context.cost, tokens=self.gauge.read(self.load(context.cost)).used)
        decision = decide(used, self.budget, policy=self.policy, state=State(after=self.after))
        self.due = decision if isinstance(decision, Compact) else None

    def settle(self) -> None:
        if self.due is None:
            return
        goal = Goal(
            limit=self.budget.limit,
            target=self.due.target,
            summary_tokens=4_000,
            tail_tokens=self.policy.tail(self.budget),
            first_rung="summarise",
        )
        record = climb_offline(self.log, goal, active=self.active)
        assert record is not None
        self.log, self.active, self.due = self.log.after(record), record, None
        self.view = View(self.log, record)
        self.gauge = self.gauge.rebased(record.id)
        self.after = self.view.context().cost


class TurnsWithCompactions(Turns):
    """The same in a window that the conversation outgrows again and again."""

    def __init__(self, said: Sequence[Said], count: Count) -> None:
        super().__init__(said, count, budget=WINDOW)


class Cut(Turns):
    """Where a compaction would cut, with 8,000 tokens kept."""

    def add(self, index: int) -> None:
        self.log.append(self.messages[index])

    def turn(self, index: int) -> None:
        self.add(index)
        messages = self.view.context().messages
        tokens = [self.tokens(message) for message in messages]
        tail_cut(messages, tokens, tail_tokens=8_000, cuts=legal_cuts(messages, rules=RULES))

    def tokens(self, message: Message) -> int:
        cost = self.log.cost(message.seq) if message.seq else message_cost(message, self.log.counter)
        return cost.tokens


CASES = (
    Case(operation="append, usage, decide, context", make=Turns, sampled=False),
    Case(
        operation="the same, with compactions",
        make=TurnsWithCompactions,
        sampled=False,
        counters=("chars/4",),
        largest=10_000,
    ),
    Case(operation="tail_cut", make=Cut, once=True),
)

if __name__ == "__main__":
    main("autocompact", CASES)
