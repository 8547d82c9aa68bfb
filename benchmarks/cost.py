"""What a session costs with the gateway's rhythm of compactions, and what it costs without.

    python -m benchmarks.cost [--turns 200] [--sessions 14] [--model claude-opus-4-5] [--hour]
    python -m benchmarks.cost --model gpt-5.2 --sessions 5 [--client claude_code]

Each session is gone through request by request, once for each way of keeping within the window; a simulated prompt cache
says what each request reads, writes and pays for, at the list prices of the model.

- *no gateway*: the whole history until the client's own compaction, where its session shows that it came, else at
  `CLIENT_THRESHOLD`; it asks the model for a summary of `CLIENT_SUMMARY` tokens with the whole context and goes on with what
  its recorded compactions left (`CLIENT_AFTER`).
- *gateway*: the engine as the gateway runs it, offline, with the settings' defaults. The memory tools come with the first
  compaction, which makes the provider write prompt and tools again; that the model uses them is not simulated.

A *break* is a compaction whose context the cache still held.

Anthropic's cache holds what one of the client's marks ended (system prompt with tools, the last message) for five minutes
from its last use (with ``--hour`` for one, at twice the input price); OpenAI's the longest beginning that an earlier request
had, for a day. The scripted session is what Claude Code sends: 25,000 tokens of system prompt and tools, then tool turns in
the sizes of the recorded sessions, 20 seconds each. Of recorded sessions, Claude Code's for Claude and Codex's for others,
the first ``--turns`` requests count, with their own messages and times; their prompt and tools are what the first request
reported beyond its messages. Claude counts `CLAUDE_FACTOR` tokens for one of o200k_base, which OpenAI's models count with;
the provider reports its count with each reply.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from msgspec import json, structs

from autocompact.compaction.modes import Mode
from autocompact.core.messages import Message, Text, ToolCall, ToolResult, Usage, text_message
from autocompact.core.prices import CacheRates, Price, cache_rates, price_for
from autocompact.core.tokens import message_cost
from autocompact.core.windows import budget_for
from autocompact.engine import Conversation
from autocompact.engine.compactor import NamedCompactor
from autocompact.gateway.memory_tools import offered_tools
from autocompact.models.vocabulary import default_counter
from autocompact.sessions import Session as Recording
from autocompact.sessions import read_session
from autocompact.settings import Settings, gateway_mode_of
from autocompact.stores.memory import MemoryStore
from autocompact.testing import FakeClock
from autocompact.what_if.course import requests
from benchmarks.speed import verdict

DATA = Path(__file__).parent.parent.parent / "shared" / "data"

WINDOW = 200_000
CLIENT_THRESHOLD = 167_000
"""Tokens at which Claude Code 2.1 compacts by itself, where a session does not show it (recorded: 152,000 to 174,000)."""

CLIENT_SUMMARY, CLIENT_AFTER = 3_500, 14_000
"""Of their compactions: tokens of the summary, and of the next request beyond prompt and tools (median of 20)."""

LEAST_FIXED = {"claude_code": 10_000, "codex": 1_000}
"""Tokens of prompt and tools that a client's first request has at least, if its recording begins at the beginning."""

CLAUDE_FACTOR = 1.25
FIXED = 25_000
TURN = timedelta(seconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What is gone through: the log, the tokens that each request carries besides it, and where its client compacts."""

    name: str
    messages: Sequence[Message]
    fixed: int = FIXED
    threshold: int = CLIENT_THRESHOLD

    def of(self, factor: float) -> Session:
        """The same with prompt and tools as another provider counts them."""
        return replace(self, fixed=round(self.fixed / CLAUDE_FACTOR * factor))


@dataclass(slots=True, kw_only=True)
class Bill:
    """What a session came to; tokens are the provider's, ``breaks`` and ``cold`` compactions."""

    requests: int = 0
    read: int = 0
    written: int = 0
    output: int = 0
    breaks: int = 0
    cold: int = 0
    peak: int = 0
    floors: list[int] = field(default_factory=list[int])

    def dollars(self, price: Price, write: float) -> float:
        """At list prices."""
        cached = price.input if price.cached is None else price.cached
        return (
            self.read * cached + self.written * price.input * write + self.output * price.output
        ) / 1_000_000


class Cache:
    """A provider's prompt cache for one session, as its client uses it; prompts are keys and tokens of segments."""

    def __init__(self, rates: CacheRates) -> None:
        self._rates = rates
        self._last: list[int] = []
        self._used: datetime | None = None

    def read(self, keys: Sequence[int], tokens: Sequence[int], *, at: datetime) -> int:
        """Tokens that are read from the cache; from now on it holds this prompt."""
        live = self._used is not None and (at - self._used).total_seconds() <= self._rates.seconds
        same = 0
        if live:
            for old, new in zip(self._last, keys, strict=False):
                if old != new:
                    break
                same += 1
            if self._rates.marked and same < len(self._last):
                same = min(same, 1)  # the end of prompt and tools is marked, then only the last message was
        self._last, self._used = list(keys), at
        return sum(tokens[:same])


class Weights:
    """Tokens of messages as the provider counts them, and keys that say which are the same."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.counter = default_counter()
        self._known: dict[int, tuple[Message, int, int]] = {}

    def of(self, message: Message) -> tuple[int, int]:
        """Key and tokens."""
        found = self._known.get(id(message))
        if found is None:
            tokens = round(message_cost(message, self.counter).tokens * self.factor)
            found = self._known[id(message)] = (message, hash((message.role, message.parts)), tokens)
        return found[1], found[2]


def scripted(turns: int, *, seed: int = 14, scale: float = 1.0) -> Session:
    """Tool turns as an agent makes them: reads, searches, edits, tests; a request of the user in each twelfth."""
    rng = random.Random(seed)
    clock = datetime(2026, 11, 1, tzinfo=UTC)
    messages: list[Message] = []

    def say(message: Message) -> None:
        nonlocal clock
        clock += TURN / 2
        messages.append(structs.replace(message, seq=len(messages) + 1, time=clock.isoformat()))

    for turn in range(turns):
        if turn % 12 == 0:
            say(
                text_message(
                    0, "user", f"Now mend the rounding of invoices in module_{turn} and run the tests."
                )
            )
        name, lines = rng.choices(
            (("Read", 75), ("Grep", 15), ("Edit", 6), ("Bash", 30)), weights=(4, 3, 3, 4)
        )[0]
        lines = max(1, round(lines * scale * rng.uniform(0.3, 1.7)))
        call = ToolCall(id=f"c{turn}", name=name, arguments=f'{{"file_path":"src/module_{turn % 40}.py"}}')
        words = (
            f"I look at module_{turn % 40} next, since the totals of item {turn} are rounded twice there. "
            * 2
        )
        say(Message(seq=0, role="assistant", parts=(Text(text=words), call)))
        text = "\n".join(
            f"{line}: def total_{rng.randrange(10_000)}(item): return round(item.price * {rng.randrange(90)}, 2)"
            for line in range(lines)
        )
        say(Message(seq=0, role="tool", parts=(ToolResult(call_id=call.id, text=text),)))
    say(text_message(0, "assistant", "All of it is done, and the tests pass."))
    return Session(name=f"scripted, {turns} tool turns", messages=messages)


def recorded(count: int, *, turns: int, client: str) -> Iterator[Session]:
    """The first requests of the longest recorded sessions that begin at their beginning, without what they reported."""
    factor = CLAUDE_FACTOR if client == "claude_code" else 1.0
    weights = Weights(factor)
    found: list[Session] = []
    for path in sorted((DATA / client).glob("*.jsonl")):
        session = read_session(path)
        first = next((m for m in session.messages if m.role == "assistant" and m.usage is not None), None)
        if first is None or first.usage is None:
            continue
        said = sum(weights.of(message)[1] for message in session.messages[: first.seq - 1])
        fixed = first.usage.prompt - said
        if LEAST_FIXED[client] < fixed < 50_000:
            plain = [structs.replace(message, usage=None) for message in session.messages]
            name = (
                path.stem if client == "claude_code" else path.stem.split("__")[-1].removeprefix("rollout-")
            )
            found.append(
                Session(
                    name=name[:19],
                    messages=plain,
                    fixed=round(fixed / factor * CLAUDE_FACTOR),
                    threshold=own_threshold(session),
                )
            )
    found.sort(key=lambda session: -len(session.messages))
    yield from (begun(session, turns=turns) for session in found[:count])


def begun(session: Session, *, turns: int) -> Session:
    """The session until so many requests are answered."""
    end = next(islice(requests(session.messages), turns - 1, None), (len(session.messages), None))[0]
    return replace(session, messages=session.messages[: end + 1])


def own_threshold(session: Recording) -> int:
    """Tokens of the last request before the recorded client compacted first; what is usual if it never did by itself."""
    ends = [record.through_seq for record in session.compactions if record.receipt.trigger != "manual"]
    used = [m.usage.prompt for m in session.messages if m.usage is not None and ends and m.seq <= ends[0]]
    return used[-1] if used and CLIENT_THRESHOLD * 3 // 4 < used[-1] < WINDOW else CLIENT_THRESHOLD


def pay(
    bill: Bill,
    cache: Cache,
    *,
    prompt: Iterable[tuple[int, int]],
    fixed: int,
    at: datetime,
    output: int,
) -> int:
    """Enter a request; returns the tokens of its prompt. Other tools make another beginning."""
    keys, tokens = [fixed], [fixed]
    for key, weight in prompt:
        keys.append(key)
        tokens.append(weight)
    total, read = sum(tokens), cache.read(keys, tokens, at=at)
    bill.requests += 1
    bill.read += read
    bill.written += total - read
    bill.output += output
    bill.peak = max(bill.peak, total)
    return total


def by_client(session: Session, *, rates: CacheRates, weights: Weights) -> Bill:
    """With the client's own compactions."""
    bill, cache = Bill(), Cache(rates)
    start, head = 0, list[tuple[int, int]]()
    for index, at in requests(session.messages):
        prompt = [*head, *map(weights.of, session.messages[start:index])]
        used = session.fixed + sum(tokens for _, tokens in prompt)
        if used > session.threshold:
            pay(bill, cache, prompt=prompt, fixed=session.fixed, at=at, output=CLIENT_SUMMARY)
            start = index - 1 if index else 0
            head = [(-1 - bill.breaks, CLIENT_AFTER)]
            bill.breaks += 1
            prompt = [*head, weights.of(session.messages[start])]
            bill.floors.append(session.fixed + sum(tokens for _, tokens in prompt))
        reply = weights.of(session.messages[index])[1]
        pay(bill, cache, prompt=prompt, fixed=session.fixed, at=at, output=reply)
    return bill


def _tools(tokens: int) -> bytes:
    """The client's, and whatever else every request carries: so many tokens by our own count."""
    return json.encode([" word" * tokens])


async def by_gateway(
    session: Session, *, model: str, mode: Mode, rates: CacheRates, weights: Weights
) -> Bill:
    """With the engine as the gateway runs it; the memory tools come with the first compaction."""
    budget = budget_for(model, window=WINDOW)
    compactor = NamedCompactor(MemoryStore(), name=model, budget=budget, mode=mode)
    compactor.clock = clock = FakeClock()
    bill, cache = Bill(), Cache(rates)
    tools = _tools(round(session.fixed / weights.factor))
    with_memory = offered_tools(tools, "anthropic")
    memory = round(weights.counter.count(offered_tools(None, "anthropic").decode()) * weights.factor)
    last: datetime | None = None
    async with compactor:
        conversation = await compactor.open("session")
        conversation.internals.replica.use_tools(tools, system="")
        conversation.internals.replica.use_hour_cache(rates.marked and rates.seconds > 300)
        said = 0
        for index, at in requests(session.messages):
            await conversation.extend(session.messages[said:index])
            active = conversation.internals.replica.active_id
            clock.advance((at - last).total_seconds() if last else 0.0)
            cold = last is not None and (at - last).total_seconds() > rates.seconds
            last = at
            prompt = [weights.of(message) for message in (await conversation.ready()).messages]
            reply = session.messages[index]
            output = weights.of(reply)[1]
            fixed = session.fixed
            if conversation.records.active is not None:
                conversation.internals.replica.use_tools(with_memory, system="")
                fixed += memory
            total = pay(bill, cache, prompt=prompt, fixed=fixed, at=at, output=output)
            if conversation.internals.replica.active_id != active:
                bill.breaks += not cold
                bill.cold += cold
                bill.floors.append(total)
            await conversation.append(structs.replace(reply, usage=Usage(prompt=total, completion=output)))
            await settle(conversation)
            said = index + 1
    return bill


async def settle(conversation: Conversation) -> None:
    """Wait for what is prepared: the model takes longer for its reply."""
    await conversation.internals.background.wait_idle()


def _row(session: Session, *, own: Bill, bill: Bill, price: Price, write: float) -> str:
    before, after = own.dollars(price, write), bill.dollars(price, write)
    figures = f"{own.requests} | ${before:.2f} | {own.breaks} | ${after:.2f} | {after / before:.0%}"
    floors = ", ".join(f"{tokens // 1_000}k" for tokens in bill.floors)
    return f"| {session.name} | {figures} | {bill.breaks} | {bill.cold} | {bill.peak:,} | {floors} |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--sessions", type=int, default=14)
    parser.add_argument("--model", default="claude-opus-4-5")
    parser.add_argument("--hour", action="store_true", help="the client's marks ask for an hour")
    parser.add_argument("--client", choices=sorted(LEAST_FIXED), help="whose recorded sessions")
    for name in ("ratio", "target", "prepare", "cold"):
        parser.add_argument(f"--{name}", type=float)
    parser.add_argument("--enough", type=int)
    parser.add_argument("--tail", type=int, dest="tail_tokens")
    return parser.parse_args()


def main() -> None:
    options = _options()
    priced = price_for(options.model)
    if priced is None:
        raise SystemExit(f"the price of {options.model!r} is not known")
    rates, price = cache_rates(options.model), priced.price
    if rates is None:
        raise SystemExit(f"the prompt cache of {options.model!r} has no known prices")
    rates = rates.for_an_hour if options.hour and rates.marked else rates
    weights = Weights(CLAUDE_FACTOR if "claude" in options.model else 1.0)
    mode = gateway_mode_of(Settings())
    names = ("ratio", "target", "prepare", "cold", "enough", "tail_tokens")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    mode = replace(mode, policy=replace(mode.policy, **given))
    client = options.client or ("claude_code" if "claude" in options.model else "codex")
    sessions = [scripted(options.turns), *recorded(options.sessions, turns=options.turns, client=client)]
    print(f"{options.model}, window {WINDOW:,}\n")
    print(
        "| session | requests | no gateway | breaks | gateway | share | breaks | at a cold cache | peak | left |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    shares: list[float] = []
    most, totals = 0, [0.0, 0.0]
    for session in (each.of(weights.factor) for each in sessions):
        own = by_client(session, rates=rates, weights=weights)
        bill = asyncio.run(by_gateway(session, model=options.model, mode=mode, rates=rates, weights=weights))
        print(_row(session, own=own, bill=bill, price=price, write=rates.write), flush=True)
        costs = [each.dollars(price, rates.write) for each in (own, bill)]
        totals = [total + cost for total, cost in zip(totals, costs, strict=True)]
        shares.append(costs[1] / costs[0])
        most = max(most, bill.breaks)
    print(f"\nAll: ${totals[0]:.2f} without, ${totals[1]:.2f} with the gateway.\n\nTargets:")
    verdict("of the cost without, scripted", shares[0], most=0.8)
    verdict("of the cost without, all", totals[1] / totals[0], most=0.8)
    verdict("of the cost without, the dearest session", max(shares), most=1.0)
    verdict("prefix breaks at most", most, most=4)


if __name__ == "__main__":
    main()
